"""What is known of a set that simjudge rendered: where its camera stood in each frame, and with which seeds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.names import NO_STAMP
from simjudge.data.rosbag2.recorded_poses import read_poses
from simjudge.data.rosbag2.writing import FRAME_ID
from simjudge.geometry.poses import Pose
from simjudge.geometry.trajectories import TrajectoryInterpolator
from simjudge.sim.capture.camera_path import parse_pose
from simjudge.sim.capture.known_poses import KnownPoses
from simjudge.sim.capture.label_rules import Labelling
from simjudge.sim.capture.render_output import render_record_path
from simjudge.sim.capture.replay_output import replay_record_path
from simjudge.sim.sensors.camera.camera import Camera
from simjudge.sim.sensors.camera.shutter import SECOND, frame_stamp_offset, middle_stamp


@dataclass(frozen=True)
class RenderRecord:
    """How a set was rendered, frame by frame.

    Attributes:
        scene_seeds: the scene's seed in each frame.
    """

    poses: KnownPoses
    scene_seeds: tuple[int, ...]
    seed: int
    labelling: Labelling
    engine: str


def read_render_record(path: Path, frames: FrameSet, camera: Camera) -> RenderRecord:
    """Read how a set was rendered, from the file that `simjudge render` or `simjudge replay` wrote beside it.

    Args:
        camera: through which it was rendered; the moment of a pose is that of its exposure.
    """
    rendered, replayed = render_record_path(path), replay_record_path(path)
    if rendered.is_file():
        return _of_rendering(rendered, _read(rendered), frames, camera)
    if replayed.is_file():
        return _of_replay(path, replayed, _read(replayed), frames)
    raise SimjudgeError(
        f"{path}: neither {rendered.name} nor {replayed.name} lies beside it: it is not known where its camera stood"
    )


def _read(path: Path) -> Mapping[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise SimjudgeError(f"{path}: cannot be read as JSON") from error
    if not isinstance(content, dict):
        raise _damaged(path, "it is no object")
    return content


def _of_rendering(path: Path, content: Mapping[str, Any], frames: FrameSet, camera: Camera) -> RenderRecord:
    try:
        rows = {str(row["name"]): row for row in content["frames"]}
        numbers = {name: number for number, name in enumerate(rows)}
        independent = bool(content["poses"]["independent"])
    except (KeyError, TypeError) as error:
        raise _damaged(path, str(error)) from error
    missing = next((name for name in frames.frame_name if name not in rows), None)
    if missing is not None:
        raise SimjudgeError(f"{path}: has no frame {missing}; it is not the record of {frames.name}")
    stamps = [
        int(stamp) if stamp != NO_STAMP else SECOND + frame_stamp_offset(camera.rate, numbers[name])
        for name, stamp in zip(frames.frame_name, frames.stamp, strict=True)
    ]
    try:
        chosen = [rows[name] for name in frames.frame_name]
        cameras = tuple(_pose(row["camera"]) for row in chosen)
        seeds = tuple(int(row["scene_seed"]) for row in chosen)
        return _record(path, content, frames, (stamps, cameras, seeds), (middle_stamp(camera, 0), not independent))
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(path, str(error)) from error


def _of_replay(recording: Path, path: Path, content: Mapping[str, Any], frames: FrameSet) -> RenderRecord:
    """The camera's poses are in the recording, in the poses' fixed frame; the record says where that is."""
    found = read_poses(recording, "/tf", None, FRAME_ID).trajectory
    stamps = [int(stamp) for stamp in frames.stamp]
    between = TrajectoryInterpolator(found)
    outside = np.flatnonzero(~between.covers(stamps))
    if len(outside):
        raise SimjudgeError(f"{recording}: frame {frames.frame_name[int(outside[0])]} has no pose of its camera")
    try:
        alignment = parse_pose("align", str(content.get("align", "0,0,0")))
        cameras = tuple(alignment @ pose for pose in between.poses(stamps))
        seeds = (int(content["scene"]["seed"]),) * len(frames)
        return _record(path, content, frames, (stamps, cameras, seeds), (0, True))
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(path, str(error)) from error


def _record(
    path: Path,
    content: Mapping[str, Any],
    frames: FrameSet,
    known: tuple[list[int], tuple[Pose, ...], tuple[int, ...]],
    motion: tuple[int, bool],
) -> RenderRecord:
    stamps, cameras, seeds = known
    poses = KnownPoses(path.name, tuple(frames.frame_name), tuple(stamps), cameras, *motion)
    rules = content["labelling"]
    labelling = Labelling(float(rules["min_size"]), float(rules["min_visible"]))
    return RenderRecord(poses, seeds, int(content["seed"]), labelling, str(content["engine"]["name"]))


def _pose(numbers: Any) -> Pose:
    x, y, z, *quaternion = (float(number) for number in numbers)
    if len(quaternion) != 4:
        raise ValueError("a pose of seven numbers is needed")
    return Pose((x, y, z), (quaternion[0], quaternion[1], quaternion[2], quaternion[3]))


def _damaged(path: Path, reason: str) -> SimjudgeError:
    return SimjudgeError(f"{path}: is no whole record of a rendering ({reason}); render the set again")
