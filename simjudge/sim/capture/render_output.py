"""Writing rendered frames: a recording or a data set, and beside it OUT.render.json, which says what was done."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from simjudge.core.errors import Losses
from simjudge.core.files import record_beside
from simjudge.core.frames import FrameSet
from simjudge.data.formats.yolo import write_yolo
from simjudge.data.rosbag2.interfaces import standard_types
from simjudge.data.rosbag2.storage import STORAGE_SUFFIXES
from simjudge.data.rosbag2.writing import MessageMaker, frame_messages, optical_frame, write_recording
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.frame_store import FrameStore
from simjudge.sim.capture.render_plan import PlacedScene, RenderPlan
from simjudge.sim.capture.render_sensors import FIXED_FRAME, RenderedSensors
from simjudge.sim.sensors.camera.camera_messages import CameraMessages
from simjudge.sim.sensors.camera.depth import encode_depth_png
from simjudge.sim.sensors.camera.label_images import LABEL_IMAGES, decode_label_png


def write_rendering(
    plan: RenderPlan,
    placed: PlacedScene,
    store: FrameStore,
    out: Path,
    about: Mapping[str, Any],
    sides: Sequence[str] = (),
    others: Sequence[tuple[RenderPlan, FrameStore]] = (),
) -> Losses:
    """Write all frames, and OUT.render.json, which says what was done and what each frame shows.

    Args:
        placed: makes the engine with the placement of each frame, for the scans of lidars.
        out: x.mcap or x.db3, or the folder of a YOLO data set.
        about: from `describe_rendering`; goes into the recording's metadata or the data set's data.yaml too.
        others: plans and frames of further cameras of the same body, for a recording.
    """
    class_names = dict(placed.engine.scene.class_names)
    frames = _frames(plan, store, out, class_names)
    head = json.dumps({**about, "frames": []}, indent=2).removesuffix("[]\n}")
    rows = ",\n".join(f"    {json.dumps(frame)}" for frame in _describe_frames(plan, store))
    with record_beside(render_record_path(out), f"{head}[\n{rows}\n  ]\n}}\n"):
        if out.suffix in STORAGE_SUFFIXES:
            first = _CameraOutput(plan, store, frames)
            more = [_CameraOutput(*other, _frames(*other, out, class_names)) for other in others]
            sensors = RenderedSensors(plan, placed) if plan.sensors else None

            def beside(index: int) -> Iterator[tuple[str, Any]]:
                yield from first.beside(index)
                for other in more:
                    yield from other.all(index)
                if sensors is not None:
                    yield from sensors.messages(index)

            custom = {"simjudge": json.dumps(about)}
            return write_recording(frames, out, extra_messages=beside, custom_data=custom, camera=plan.name)
        losses = Losses()
        pictures: dict[str, Callable[[int], bytes]] = {}
        if plan.camera.depth is not None:
            pictures["depth"] = partial(_depth_file, store, losses)
        if plan.label_images:
            pictures |= {kind: partial(store.label_image, kind=kind) for kind in LABEL_IMAGES}
        write_yolo(frames, out, sides, {"rendered": dict(about)}, pictures)
        return losses


def render_record_path(out: Path) -> Path:
    """Path of the file that says what was rendered."""
    return out.with_name(out.name + ".render.json")


def _describe_frames(plan: RenderPlan, store: FrameStore) -> list[dict[str, Any]]:
    """Of each frame: its name, its placement's seed, the camera's pose, and the visible share of each object."""
    return [{"name": name, **store.about(index)} for index, name in enumerate(plan.poses.frame_name)]


def _depth_file(store: FrameStore, losses: Losses, index: int) -> bytes:
    """A frame's depth as a PNG; what is too far for one is counted."""
    data, far = encode_depth_png(store.depth(index))
    if far:
        losses.add("pixels farther than a PNG holds (65.535 m), stored as 0", f"frame {index}", far)
    return data


def _frames(plan: RenderPlan, store: FrameStore, out: Path, class_names: dict[int, str]) -> FrameSet:
    """The frames of one camera as a set."""
    stamps = np.array(plan.poses.stamp, np.int64)
    frames = store.frames(out.name, plan.poses.frame_name, stamps, plan.camera.lens.size, class_names)
    return replace(frames, independent=plan.independent)


class _CameraOutput:
    """The messages of one camera, frame by frame."""

    def __init__(self, plan: RenderPlan, store: FrameStore, frames: FrameSet) -> None:
        self._plan, self._store = plan, store
        frame_id, stamps = optical_frame(plan.name), np.array(plan.poses.stamp, np.int64)
        self._messages = CameraMessages(plan.mounted.calibration(), FIXED_FRAME, frame_id)
        self._maker = MessageMaker(standard_types(), frames, stamps, frame_id)

    def all(self, index: int) -> Iterator[tuple[str, Any]]:
        """Topic and message of all that there is of a frame."""
        stamp = self._plan.poses.stamp[index]
        # An image of the store can be read: nothing is lost.
        for message in frame_messages(self._maker, index, stamp, Losses(), self._plan.name):
            yield message.topic, message.content
        yield from self.beside(index)

    def beside(self, index: int) -> Iterator[tuple[str, Any]]:
        """Topic and message of what is beside a frame's image and labels."""
        x, y, z, *quaternion = self._store.about(index)["camera"]
        stamp, name = self._plan.poses.stamp[index], self._plan.name
        yield from self._messages.at(stamp, Pose((x, y, z), tuple(quaternion)), name)
        if self._plan.camera.depth is not None:
            yield from self._messages.depth(stamp, self._store.depth(index), name)
        if self._plan.label_images:
            for kind in LABEL_IMAGES:
                values = decode_label_png(self._store.label_image(index, kind))
                yield self._messages.label_image(stamp, kind, values, name)
