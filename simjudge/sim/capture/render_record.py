"""What is written of a rendering, and what is known of it later: where its camera stood, and with which seeds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.files import check_file, record_beside
from simjudge.core.frames import FrameSet
from simjudge.core.names import NO_STAMP
from simjudge.core.text import Json, JsonMapping
from simjudge.data.formats.yolo import write_yolo
from simjudge.data.rosbag2.interfaces import FRAME_ID, optical_frame, standard_types
from simjudge.data.rosbag2.recorded_poses import read_poses
from simjudge.data.rosbag2.storage import STORAGE_SUFFIXES
from simjudge.data.rosbag2.writing import MessageMaker, frame_messages, write_recording
from simjudge.geometry.poses import Pose, Trajectory
from simjudge.geometry.trajectories import TrajectoryInterpolator
from simjudge.sim.capture.camera_poses import parse_pose
from simjudge.sim.capture.frame_store import FrameStore
from simjudge.sim.capture.ground_truth import Labelling
from simjudge.sim.capture.render_plan import PlacedScene, RenderPlan
from simjudge.sim.capture.replaying import replay_record_path
from simjudge.sim.capture.sensor_record import FIXED_FRAME, RenderedSensors
from simjudge.sim.engines.contract import Engine
from simjudge.sim.sensors.camera.camera import SECOND, Camera, frame_stamp_offset, middle_stamp
from simjudge.sim.sensors.camera.depth_filters import encode_depth_png
from simjudge.sim.sensors.sensor_messages import LABEL_IMAGES, CameraMessages, decode_label_png


@dataclass(frozen=True)
class KnownPoses:
    """Poses of the optical frame that are known at one moment of each frame."""

    name: str  # of what the poses were read from
    frame_name: tuple[str, ...]
    stamp: tuple[int, ...]  # start of each exposure, nanoseconds
    cameras: tuple[Pose, ...]  # poses of the optical frame in the world, one for each frame
    offset: int = 0  # nanoseconds from a frame's stamp to the moment of its pose
    moving: bool = False  # whether the camera goes on from frame to frame; else it stands still for each

    def __post_init__(self) -> None:
        if not len(self.frame_name) == len(self.stamp) == len(self.cameras) > 0:
            raise SimjudgeError(f"{self.name}: one pose and one stamp for each frame are needed")

    @property
    def mount(self) -> Pose:
        """The poses are those of the optical frame itself."""
        return Pose()

    @property
    def moves(self) -> bool:
        """Whether the camera is known to move while any frame is exposed."""
        path = self._path
        if path is None:
            return False
        middle = (path.stamp[:-1] + path.stamp[1:]) // 2
        return not bool(self._between.in_gap(middle).all())

    def at(self, index: int, stamps: Sequence[int], engine: Engine) -> list[Pose]:
        """The optical frame at times in the exposure (nanoseconds from the stamp): straight between known poses."""
        del engine
        path = self._path
        still = [self.cameras[index]] * len(stamps)
        if path is None or len(set(stamps)) == 1:
            return still
        # The first exposure begins before the first pose is known, the last one ends after the last.
        first, last = (int(path.stamp[end]) for end in (0, -1))
        inside = np.clip(np.asarray(stamps, np.int64), first, last)
        if self._between.in_gap(inside).any() or len(self._between.jumps(int(inside.min()), int(inside.max()))):
            return still
        return list(self._between.poses(inside))

    def path(self) -> Trajectory | None:
        """The poses with their times; None where each frame stands by itself."""
        return self._path

    @cached_property
    def _path(self) -> Trajectory | None:
        if not self.moving or len(self.stamp) < 2:
            return None
        times = np.array(self.stamp, np.int64) + self.offset
        rows = np.unique(times, return_index=True)[1]
        position = np.array([self.cameras[row].position for row in rows])
        orientation = np.array([self.cameras[row].orientation for row in rows])
        return Trajectory(self.name, "", "", times[rows], position, orientation)

    @cached_property
    def _between(self) -> TrajectoryInterpolator:
        path = self._path
        if path is None:
            raise SimjudgeError(f"{self.name}: the camera stands still")
        return TrajectoryInterpolator(path)


def write_rendering(
    plan: RenderPlan,
    placed: PlacedScene,
    store: FrameStore,
    out: Path,
    about: JsonMapping,
    sides: Sequence[str] = (),
    others: Sequence[tuple[RenderPlan, FrameStore]] = (),
) -> Losses:
    """Write all frames, and OUT.render.json, which says what was done and what each frame shows."""
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


def _describe_frames(plan: RenderPlan, store: FrameStore) -> list[Json]:
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


@dataclass(frozen=True)
class RenderRecord:
    """How a set was rendered, frame by frame."""

    poses: KnownPoses
    scene_seeds: tuple[int, ...]  # the scene's seed in each frame
    seed: int
    labelling: Labelling
    engine: str


def read_render_record(path: Path, frames: FrameSet, camera: Camera) -> RenderRecord:
    """Read how a set was rendered, from the file that `simjudge sim render` or `replay` wrote beside it."""
    rendered, replayed = render_record_path(path), replay_record_path(path)
    if rendered.is_file():
        return _of_rendering(rendered, _read(rendered), frames, camera)
    if replayed.is_file():
        return _of_replay(path, replayed, _read(replayed), frames)
    raise SimjudgeError(
        f"{path}: neither {rendered.name} nor {replayed.name} lies beside it: it is not known where its camera stood"
    )


def _read(path: Path) -> JsonMapping:
    check_file(path)
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise SimjudgeError(f"{path}: cannot be read as JSON") from error
    if not isinstance(content, dict):
        raise _damaged(path, "it is no object")
    return content


def _of_rendering(path: Path, content: JsonMapping, frames: FrameSet, camera: Camera) -> RenderRecord:
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


def _of_replay(recording: Path, path: Path, content: JsonMapping, frames: FrameSet) -> RenderRecord:
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
    content: JsonMapping,
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
