"""Writing rendered frames: a recording or a data set, and beside it OUT.render.json, which says what was done."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from simjudge.capture.frame_store import FrameStore
from simjudge.capture.render_plan import PlacedScene, RenderPlan
from simjudge.capture.render_sensors import FIXED_FRAME, RenderedSensors
from simjudge.core.errors import Losses
from simjudge.core.files import record_beside
from simjudge.core.frames import FrameSet
from simjudge.data.formats.yolo import write_yolo
from simjudge.data.rosbag2.recording_files import STORAGE_SUFFIXES
from simjudge.data.rosbag2.writing import write_recording
from simjudge.geometry.poses import Pose
from simjudge.sensors.camera.camera_messages import CameraMessages
from simjudge.sensors.camera.depth import encode_depth_png


def write_rendering(
    plan: RenderPlan,
    placed: PlacedScene,
    store: FrameStore,
    out: Path,
    about: Mapping[str, Any],
    sides: Sequence[str] = (),
) -> Losses:
    """Write all frames, and OUT.render.json, which says what was done and what each frame shows.

    Args:
        plan: what was rendered.
        placed: makes the engine with the placement of each frame, for the scans of lidars.
        store: holds all frames of the plan.
        out: x.mcap or x.db3, or the folder of a YOLO data set.
        about: from `describe_rendering`; goes into the recording's metadata or the data set's data.yaml too.
        sides: from `assign_sides`, for a data set.

    Returns:
        What the format could not hold.

    Raises:
        SimjudgeError: the output cannot be written.
    """
    stamps = np.array(plan.poses.stamp, np.int64)
    class_names = dict(placed.engine.scene.class_names)
    frames = store.frames(out.name, plan.poses.frame_name, stamps, plan.camera.lens.size, class_names)
    head = json.dumps({**about, "frames": []}, indent=2).removesuffix("[]\n}")
    rows = ",\n".join(f"    {json.dumps(frame)}" for frame in _describe_frames(plan, store))
    with record_beside(render_record_path(out), f"{head}[\n{rows}\n  ]\n}}\n"):
        if out.suffix in STORAGE_SUFFIXES:
            return _write_recording(plan, placed, store, frames, out, about)
        losses = Losses()
        depth = None if plan.camera.depth is None else partial(_depth_file, store, losses)
        write_yolo(frames, out, sides, {"rendered": dict(about)}, depth)
        return losses


def render_record_path(out: Path) -> Path:
    """Path of the file that says what was rendered.

    Args:
        out: the rendered recording or data set.
    """
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


def _write_recording(
    plan: RenderPlan, placed: PlacedScene, store: FrameStore, frames: FrameSet, out: Path, about: Mapping[str, Any]
) -> Losses:
    sensors = RenderedSensors(plan, placed) if plan.sensors else None
    messages = CameraMessages(plan.camera.lens.camera_info(plan.camera.name).calibration, FIXED_FRAME)

    def camera_messages(index: int) -> Iterator[tuple[str, Any]]:
        x, y, z, *quaternion = store.about(index)["camera"]
        stamp = plan.poses.stamp[index]
        yield from messages.at(stamp, Pose((x, y, z), tuple(quaternion)))
        if plan.camera.depth is not None:
            yield from messages.depth(stamp, store.depth(index))
        if sensors is not None:
            yield from sensors.messages(index)

    return write_recording(frames, out, extra_messages=camera_messages, custom_data={"simjudge": json.dumps(about)})
