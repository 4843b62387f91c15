"""What a replay consists of: frames and poses of a recording, and the path of its camera through the scene."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from simjudge.core.arrays import IntArray, ShortRepr, hash_value
from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.installed import version
from simjudge.core.names import NO_STAMP, stamp_to_name
from simjudge.core.settings import LONGEST_TIME, MotionLimitSettings
from simjudge.data.pose_text import SUFFIXES, read_pose_text
from simjudge.data.rosbag2.interfaces import COMPRESSED_IMAGE, IMAGE
from simjudge.data.rosbag2.reading import read_recording
from simjudge.data.rosbag2.recorded_poses import image_clock_offset, read_poses
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.rosbag2.storage import is_recording
from simjudge.geometry.poses import Pose, PoseNoise, Trajectory
from simjudge.geometry.trajectories import FrameTiming, MotionLimits, TrajectoryInterpolator, frames_with_poses
from simjudge.sim.capture.camera_poses import CameraPath, camera_mount, parse_pose
from simjudge.sim.capture.capture_settings import (
    MountSettings,
    PoseNoiseSettings,
    RecordedFrameSettings,
    RecordedPoseSettings,
    SceneSeedSettings,
)
from simjudge.sim.capture.ground_truth import Labelling
from simjudge.sim.engines.contract import Engine
from simjudge.sim.sensors.camera.camera import Camera, exposure_stamps

_SECOND = 1_000_000_000  # Nanoseconds
_MOST_FRAMES = 1_000_000  # Frames of one replay: nine hours at 30 Hz. More are asked for by a stamp that is wrong.
ImageSizes = frozenset[tuple[int, int]]  # Widths and heights, pixels


@dataclass(frozen=True)
class ReplayOptions:
    """What is to be read."""

    path: Path  # a recording, or a text file of poses
    # Topic of the poses, or a text file of poses; None where the recording has one topic of poses only.
    poses: str | None = None
    parent: str | None = None  # fixed frame, for poses from tf; None for the root
    child: str | None = None  # the body's frame, for poses from tf; None for base_link
    image_topic: str | None = None  # topic of the real camera, where the recording has several
    offset: int = 0  # nanoseconds that are added to images' stamps to get the poses' time
    start: float = 0.0  # seconds after the first frame at which the replay begins
    duration: float | None = None  # seconds that are replayed; None for all
    # Frames a second, at most; None for the camera's rate where there are no images, and for all otherwise.
    rate: float | None = None

    def __post_init__(self) -> None:
        if not (abs(self.offset) <= LONGEST_TIME * 1e9 and 0 <= self.start <= LONGEST_TIME):
            raise UsageError(f"start {self.start:g} s, offset {self.offset:g} ns: at most {LONGEST_TIME:g} s each")
        for name in ("duration", "rate"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise UsageError(f"--{name} {value:g}: must be above 0")


@dataclass(frozen=True, repr=False)
class ReplaySource(ShortRepr):
    """What was read."""

    trajectory: Trajectory
    poses_from: str  # where the poses are from, for people and for the record
    frame_name: Sequence[str]  # names of the frames to make
    stamp: IntArray  # stamps of the frames to make, int64 (N,), nanoseconds
    sizes: ImageSizes | None  # sizes of the real images; None where there are none
    losses: Losses


def read_source(options: ReplayOptions, rate: float, span: tuple[int, int], limits: MotionLimits) -> ReplaySource:
    """Read poses and frames, and keep the frames that have poses within `span` nanoseconds of their stamp."""
    losses = Losses()
    trajectory, poses_from, clock = _poses(options, limits, losses)
    names, stamps, sizes = _images(options, losses)
    if sizes is None:
        if options.offset:
            raise UsageError(f"--time-offset moves the stamps of pictures, and {options.path} has none")
        stamps = _stamps_at_rate(trajectory, options.rate or rate, span)
        names = [stamp_to_name(stamp) for stamp in stamps.tolist()]
    chosen = _select_frames(stamps, options, thin=sizes is not None)
    names, stamps = [names[index] for index in chosen.tolist()], stamps[chosen]

    def clock_offset() -> int | None:
        image_offset = image_clock_offset(options.path, options.image_topic) if clock is not None else None
        return None if clock is None or image_offset is None else clock - image_offset

    usable = frames_with_poses(
        TrajectoryInterpolator(trajectory, limits),
        stamps,
        lambda index: f"{options.path}: frame {names[index]}",
        losses,
        FrameTiming(*span, offset=options.offset),
        clock_offset,
    )
    names = [names[index] for index in np.flatnonzero(usable).tolist()]
    return ReplaySource(trajectory, poses_from, names, stamps[usable], sizes, losses)


def read_source_poses(options: ReplayOptions, limits: MotionLimits, losses: Losses) -> tuple[Trajectory, str]:
    """Read the poses alone (limits: how far apart poses may be, and how fast the body may move)."""
    trajectory, poses_from, _ = _poses(options, limits, losses)
    return trajectory, poses_from


def _poses(options: ReplayOptions, limits: MotionLimits, losses: Losses) -> tuple[Trajectory, str, int | None]:
    """The trajectory, where it is from, and by how much its stamps are ahead of the time of recording."""
    text = options.path if not is_recording(options.path) else Path(options.poses or "")
    if text.suffix in SUFFIXES and text.is_file():
        if options.parent is not None or options.child is not None:
            raise UsageError(f"{text}: --parent and --child choose frames of tf; a text file has none")
        if text == options.path and options.poses is not None:
            raise UsageError(f"{text}: holds one trajectory; leave out --poses {options.poses}")
        trajectory, lost = read_pose_text(text)
        losses.extend(lost)
        return trajectory, str(text), None
    if text == options.path:
        known = ", ".join(SUFFIXES)
        raise SimjudgeError(f"{options.path}: neither a recording nor a text file of poses ({known})")
    found = read_poses(options.path, options.poses, options.parent, options.child, limits)
    losses.extend(found.losses)
    ends = f" {found.trajectory.frame_id} -> {found.trajectory.child_frame_id or '(its body)'}"
    return found.trajectory, f"{found.topic} ({found.type}){ends}", found.clock


def _images(options: ReplayOptions, losses: Losses) -> tuple[list[str], IntArray, ImageSizes | None]:
    """Names and stamps of the real pictures, and their sizes; None where there are no pictures."""
    none: tuple[list[str], IntArray, None] = ([], np.zeros(0, np.int64), None)
    if not is_recording(options.path):
        return none
    has_images = any(info.type in (IMAGE, COMPRESSED_IMAGE) for info in Recording(options.path).topic_infos())
    if not has_images and options.image_topic is None:
        return none
    frames = read_recording(options.path, image_topic=options.image_topic)
    losses.extend(frames.losses)
    shown = [index for index in range(len(frames)) if frames.images is not None and frames.images.has(index)]
    bare = [index for index in shown if frames.stamp[index] == NO_STAMP]
    if bare:
        raise SimjudgeError(
            f"{frames.describe_frame(bare[0])}: has no stamp: poses are found by time; it cannot be replayed"
        )
    if not shown:
        raise SimjudgeError(f"{options.path}: holds no picture that can be read")
    shown.sort(key=lambda index: int(frames.stamp[index]))
    sizes = frozenset((int(width), int(height)) for width, height in frames.size[shown].tolist())
    return [frames.frame_name[index] for index in shown], frames.stamp[shown], sizes


def _stamps_at_rate(trajectory: Trajectory, rate: float, span: tuple[int, int]) -> IntArray:
    """Stamps at a steady rate for as long as there are poses."""
    first, last = int(trajectory.stamp[0]) + span[0], int(trajectory.stamp[-1]) - span[1]
    count = max(int((last - first) * rate / _SECOND) + 1, 1)
    if count > _MOST_FRAMES:
        steps = trajectory.stamp[1:] - trajectory.stamp[:-1]
        longest = int(steps.argmax())
        before, after = (int(stamp) / _SECOND for stamp in trajectory.stamp[longest : longest + 2])
        raise SimjudgeError(
            f"{trajectory.name}: poses from {first / _SECOND:.3f} s to {last / _SECOND:.3f} s ask for {count} frames at"
            f" {rate:g} Hz, and at most {_MOST_FRAMES} are made; no pose is between {before:.3f} s and {after:.3f} s:"
            f" remove the {longest + 1} before, if their stamps are wrong, or give a lower --rate"
        )
    return np.asarray(first + np.rint(np.arange(count) * (_SECOND / rate)).astype(np.int64), np.int64)


def _select_frames(stamps: IntArray, options: ReplayOptions, *, thin: bool) -> IntArray:
    begin = int(stamps.min()) + round(options.start * _SECOND)
    end = np.inf if options.duration is None else begin + options.duration * _SECOND
    inside = np.flatnonzero((stamps >= begin) & (stamps < end))
    if not len(inside):
        length = (int(stamps.max()) - int(stamps.min())) / _SECOND
        raise UsageError(f"--start, --duration: no frame is there; the frames are from 0 s to {length:.3f} s")
    if not thin or options.rate is None:
        return np.asarray(inside, np.int64)
    # The frame nearest to each time that is due, so that jitter does not change how many there are.
    kept = stamps[inside]
    # Of the times due in a pause, only the first and the last can choose another frame than one at its ends.
    place = (kept - begin) * (options.rate / _SECOND)
    due = np.unique(np.concatenate([np.floor(place), np.ceil(place)])) * (_SECOND / options.rate)
    due = begin + due[due <= kept[-1] - begin]
    after = np.clip(np.searchsorted(kept, due), 1, max(len(kept) - 1, 1))
    nearer = np.where(due - kept[after - 1] <= kept[np.minimum(after, len(kept) - 1)] - due, after - 1, after)
    return np.asarray(np.unique(inside[np.minimum(nearer, len(kept) - 1)]), np.int64)


@dataclass(frozen=True)
class ReplayPlan:
    """What is replayed."""

    source: ReplaySource
    path: CameraPath  # the camera's path through the scene
    camera: Camera  # the camera that sees the scene
    labelling: Labelling = field(default_factory=Labelling)
    seed: int = 0

    def __len__(self) -> int:
        return len(self.source.frame_name)


def exposure_span(camera: Camera) -> tuple[int, int]:
    """Nanoseconds before and after its stamp for which a frame needs poses."""
    return 0, exposure_stamps(camera, 0)[-1]


def frames_without_floor(engine: Engine, plan: ReplayPlan) -> list[int]:
    """Frames with nothing of the scene below the camera: it is outside the scene's floor, or beneath it."""
    names, stamps = plan.source.frame_name, plan.source.stamp.tolist()
    poses = [plan.path.in_scene([stamp], name)[0] for name, stamp in zip(names, stamps, strict=True)]
    down = np.tile([0.0, 0.0, -1.0], (len(poses), 1))
    hits = engine.cast_rays(np.array([pose.position for pose in poses]), down)
    return [int(index) for index in np.flatnonzero(hits.thing < 0)]


def describe_replay(plan: ReplayPlan, engine: Engine, given: Mapping[str, str | None]) -> dict[str, object]:
    """All that the frames depend on, as JSON has it."""
    source, path, camera, scene = plan.source, plan.path, plan.camera, engine.scene
    limits = path.body.limits
    return {
        "version": version(),
        **given,
        "poses": source.poses_from,
        "time_offset": path.offset,
        "frames": {"count": len(plan), "sha256": _camera_path_digest(plan)},
        "limits": {"max_gap": limits.max_gap, "max_speed": limits.max_speed, "max_turn": limits.max_turn},
        "pose_noise": None if path.noise is None else {"angle": path.noise.angle, "position": path.noise.position},
        "scene": {"name": scene.name, "path": str(scene.path), "seed": scene.seed, "sha256": hash_value(scene)},
        "camera": {"name": camera.name, "path": str(camera.path), "sha256": hash_value(camera)},
        "labelling": {"min_size": plan.labelling.min_size, "min_visible": plan.labelling.min_visible},
        "engine": {"name": engine.name, "variant": engine.variant},
        "seed": plan.seed,
    }


def _camera_path_digest(plan: ReplayPlan) -> str:
    """A fingerprint of the frames' names and stamps, and of where the camera is in each."""
    names, stamps = list(plan.source.frame_name), plan.source.stamp
    poses = [
        [*pose.position, *pose.orientation]
        for name, stamp in zip(names, stamps.tolist(), strict=True)
        for pose in plan.path.in_scene(exposure_stamps(plan.camera, stamp), name)
    ]
    return hash_value([names, stamps, np.array(poses).round(12)])


@dataclass(frozen=True, kw_only=True)
class CameraPathOptions(
    RecordedPoseSettings,
    RecordedFrameSettings,
    SceneSeedSettings,
    MountSettings,
    MotionLimitSettings,
    PoseNoiseSettings,
):
    """Where the poses are, where the camera is on the body, and which frames are made."""

    @property
    def alignment(self) -> Pose:
        """Pose of the poses' fixed frame in the scene."""
        return parse_pose("align", self.align)

    @property
    def offset(self) -> int:
        """Nanoseconds that are added to an image's stamp to find its pose."""
        return round(self.time_offset * _SECOND)

    @property
    def limits(self) -> MotionLimits:
        """How far apart poses may be, and how fast the body may move."""
        return MotionLimits(self.max_gap, self.max_speed, math.radians(self.max_turn), self.skip_gaps)


@dataclass(frozen=True)
class RecordedCameraPath:
    """What was read."""

    source: ReplaySource
    path: CameraPath
    mounted: str  # a phrase for people: where the camera is on the body


def read_camera_path(recording: str | Path, options: CameraPathOptions, camera: Camera) -> RecordedCameraPath:
    """Read poses and frames of a recording, and make the camera's path of them."""
    limits, alignment = options.limits, options.alignment
    mount, mounted = camera_mount(options.vehicle, options.mount)
    wanted = ReplayOptions(
        Path(recording),
        None if options.poses is None else str(options.poses),
        options.parent,
        options.child,
        options.image_topic,
        options.offset,
        options.start,
        options.duration,
        options.rate,
    )
    source = read_source(wanted, camera.rate, exposure_span(camera), limits)
    noise = PoseNoise(math.radians(options.noise_angle), options.noise_position) if options.noise else None
    body = TrajectoryInterpolator(source.trajectory, limits)
    path = CameraPath(body, mount, alignment, options.offset, noise, options.seed)
    return RecordedCameraPath(source, path, mounted)
