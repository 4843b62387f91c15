"""Replay: one synthetic frame for each real one, seen from where the real camera was at that time.

The camera moves along the recorded poses while it is exposed; everything else stands where the scene has it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from simjudge.capture.camera_path import CameraPath
from simjudge.capture.exposure import gather, shot_of
from simjudge.capture.frame_store import FrameStore
from simjudge.capture.ground_truth import Labelling, ground_truth
from simjudge.capture.replay_source import Source
from simjudge.core.digest import hash_value
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.files import atomic_file
from simjudge.core.version import version
from simjudge.data.rosbag2.writing import write_recording
from simjudge.engines.contract import Engine, Labels, SceneState
from simjudge.sensors.camera.camera import Camera
from simjudge.sensors.camera.camera_messages import CameraMessages
from simjudge.sensors.camera.shutter import exposure_stamps, middle_stamp

FIXED_FRAME = "map"
"""The fixed frame's name where the poses do not say it."""


@dataclass(frozen=True)
class Replay:
    """What is replayed.

    Attributes:
        source: frames and poses.
        path: the camera's way through the scene.
        camera: sees it.
        labelling: what is worth a label.
        seed: of the camera's noise.
    """

    source: Source
    path: CameraPath
    camera: Camera
    labelling: Labelling = field(default_factory=Labelling)
    seed: int = 0


class Seen(NamedTuple):
    """What an engine gave for one frame.

    Attributes:
        scene_state: the middle of the exposure, which the labels are of.
        light: linear radiance (H, W, 3) on the sensor.
        labels: class, instance and depth.
    """

    scene_state: SceneState
    light: npt.NDArray[np.float32]
    labels: Labels


def exposure_around(camera: Camera) -> tuple[int, int]:
    """Nanoseconds before and after its stamp that a frame needs poses for."""
    return 0, exposure_stamps(camera, 0)[-1]


def look(engine: Engine, camera: Camera, path: CameraPath, stamp: int, frame_name: str) -> Seen:
    """Light and labels of one frame.

    Args:
        engine: with the scene.
        camera: sees it.
        path: where it is.
        stamp: of the frame, nanoseconds: when its exposure begins.
        frame_name: tells the frame's pose noise.
    """
    middle, *places = path.in_scene([middle_stamp(camera, stamp), *exposure_stamps(camera, stamp)], frame_name)
    light = gather(engine, camera, [SceneState(place) for place in places])
    return Seen(SceneState(middle), light, engine.labels(camera.lens, SceneState(middle)))


def render(engine: Engine, replay: Replay, store: FrameStore, advance: Callable[[int, int], None]) -> None:
    """Render the frames that the store does not have yet; what is finished stays in it, whatever happens.

    Developing and writing a frame goes on beside the rendering of the next ones.
    """
    names, stamps = replay.source.frame_name, replay.source.stamp.tolist()
    camera = replay.camera

    def seen(index: int) -> Callable[[], None]:
        found = look(engine, camera, replay.path, stamps[index], names[index])

        def finish() -> None:
            truth = ground_truth(engine.scene, camera.lens, found.scene_state, found.labels, replay.labelling)
            store.add(index, shot_of(camera, found.light, names[index], replay.seed).stored(), truth.objects)

        return finish

    store.fill(len(names), seen, advance)


def write(
    replay: Replay, store: FrameStore, class_names: Mapping[int, str], out: Path, about: Mapping[str, Any]
) -> Losses:
    """Write the recording of all frames, and OUT.replay.json, which tells what was done.

    Args:
        replay: what was replayed.
        store: with all its frames.
        class_names: of the scene.
        out: a name ending in .mcap or .db3, or a folder's.
        about: what was done; kept in the recording's metadata too.

    Raises:
        SimjudgeError: the recording cannot be written.
    """
    source = replay.source
    frames = store.frames(out.name, source.frame_name, source.stamp, replay.camera.lens.size, dict(class_names))
    info = replay.camera.lens.camera_info(replay.camera.name)
    messages = CameraMessages(info.calibration, source.trajectory.frame_id or FIXED_FRAME)

    def beside(index: int) -> Iterator[tuple[str, Any]]:
        stamp = int(source.stamp[index])
        return messages.at(stamp, replay.path.recorded([stamp], source.frame_name[index])[0])

    text = json.dumps(about, indent=2)
    lost = write_recording(frames, out, extra_messages=beside, custom_data={"simjudge": text})
    with atomic_file(about_file(out)) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")
    return lost


def about_file(out: Path) -> Path:
    """Where it is written what a recording shows."""
    return out.with_name(out.name + ".replay.json")


def without_floor(engine: Engine, replay: Replay) -> list[int]:
    """Frames that are seen from where nothing of the scene lies below the camera: outside its floor, or beneath it."""
    names, stamps = replay.source.frame_name, replay.source.stamp.tolist()
    poses = [replay.path.in_scene([stamp], name)[0] for name, stamp in zip(names, stamps, strict=True)]
    down = np.tile([0.0, 0.0, -1.0], (len(poses), 1))
    hits = engine.cast_rays(np.array([pose.position for pose in poses]), down)
    return [int(index) for index in np.flatnonzero(hits.thing < 0)]


def refuse_existing(out: Path) -> None:
    """Make sure, before hours of work, that a recording can be written.

    Raises:
        SimjudgeError: there is something of that name.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise SimjudgeError(f"{out}: exists already; choose another name or remove it")


def described(replay: Replay, engine: Engine, given: Mapping[str, str | None]) -> dict[str, Any]:
    """All that the frames depend on, as JSON has it.

    Args:
        replay: what is replayed.
        engine: with the scene.
        given: what else is worth telling, as it was given.
    """
    source, path, camera, scene = replay.source, replay.path, replay.camera, engine.scene
    limits = path.body.limits
    return {
        "version": version(),
        **given,
        "poses": source.poses_from,
        "time_offset": path.offset,
        "frames": {"count": len(source.frame_name), "sha256": _ways_digest(replay)},
        "limits": {"max_gap": limits.max_gap, "max_speed": limits.max_speed, "max_turn": limits.max_turn},
        "pose_noise": None if path.noise is None else {"angle": path.noise.angle, "position": path.noise.position},
        "scene": {"name": scene.name, "path": str(scene.path), "seed": scene.seed, "sha256": hash_value(scene)},
        "camera": {"name": camera.name, "path": str(camera.path), "sha256": hash_value(camera)},
        "labelling": {"min_size": replay.labelling.min_size, "min_visible": replay.labelling.min_visible},
        "engine": {"name": engine.name, "variant": engine.variant},
        "seed": replay.seed,
    }


def _ways_digest(replay: Replay) -> str:
    """A fingerprint of the frames' names and stamps, and of where the camera is in each."""
    names, stamps = list(replay.source.frame_name), replay.source.stamp
    poses = [
        [*pose.position, *pose.orientation]
        for name, stamp in zip(names, stamps.tolist(), strict=True)
        for pose in replay.path.in_scene(exposure_stamps(replay.camera, stamp), name)
    ]
    return hash_value([names, stamps, np.array(poses).round(12)])
