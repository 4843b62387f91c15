"""Camera poses for the frames that are to be rendered: random, along a course, from a file or a body's path.

All of them are poses of the optical frame in the world, and the same ones for the same arguments.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.names import stamp_to_name
from simjudge.data.pose_text import SUFFIXES, read_pose_text, read_scene_seeds
from simjudge.geometry.poses import OPTICAL_ORIENTATION, Pose, PoseNoise, Trajectory
from simjudge.geometry.trajectories import TrajectoryInterpolator
from simjudge.sim.engines.contract import Engine, Poses
from simjudge.sim.scene.ground import Ground
from simjudge.sim.scene.model import Course, Scene
from simjudge.sim.scene.read import read_scene
from simjudge.sim.sensors.camera.camera import SECOND, Camera, frame_stamp_offset
from simjudge.sim.vehicle.vehicle import DEFAULT_CAR, read_vehicle

MOUNTS = ("body", "optical")
_CAMERA = "camera"  # The name of its mount in a vehicle's file


@dataclass(frozen=True)
class CameraPath:
    """A camera's path through a scene."""

    body: TrajectoryInterpolator  # poses of the body in the recording's fixed frame
    mount: Pose  # pose of the camera's optical frame in the body
    alignment: Pose = field(default_factory=Pose)  # pose of the recording's fixed frame in the scene
    offset: int = 0  # nanoseconds that are added to a frame's stamp to get the poses' time
    noise: PoseNoise | None = None  # errors of the body's poses, one for each frame; None for none
    seed: int = 0

    def recorded(self, stamp: npt.ArrayLike, frame_name: str) -> list[Pose]:
        """The optical frame in the recording's fixed frame at stamps int64 (N,), nanoseconds, noise included."""
        error = Pose() if self.noise is None else self.noise.error(self.seed, frame_name)
        mount = error @ self.mount
        return [pose @ mount for pose in self.body.poses(np.asarray(stamp, np.int64) + self.offset)]

    def in_scene(self, stamp: npt.ArrayLike, frame_name: str) -> list[Pose]:
        """The optical frame in the scene's world at times during one frame, noise included (stamp: int64 (N,))."""
        return [self.alignment @ pose for pose in self.recorded(stamp, frame_name)]


def carrying_vehicle(vehicle: str | Path | None, mount: str | None, scene: Scene) -> str | Path | None:
    """The car that carries the camera: the given one, else the scene's own; None with a mount, or for `DEFAULT_CAR`."""
    return vehicle or (scene.vehicle if mount is None else None)


def camera_mount(vehicle: str | Path | None, mount: str | None) -> tuple[Pose, str]:
    """The optical frame in the body whose poses are recorded."""
    if mount is not None:
        if vehicle is not None:
            raise UsageError("--vehicle brings a mount for the camera: leave out --mount, or --vehicle")
        return parse_mount(mount), f"at {mount} of the body"
    car = read_vehicle(vehicle or DEFAULT_CAR)
    if _CAMERA not in car.mounts:
        mounts = ", ".join(car.mounts) or "none"
        raise SimjudgeError(f"vehicle {car.name}: has no mount {_CAMERA!r} (it has {mounts}); give --mount")
    return car.mounts[_CAMERA].optical_frame(), f"where {car.name} carries it"


def parse_mount(text: str) -> Pose:
    """The optical frame in the body, from "x,y,z[,yaw,pitch,roll]" (metres, degrees), "body" or "optical"."""
    if text == "optical":
        return Pose()
    return (
        Pose(orientation=OPTICAL_ORIENTATION) if text == "body" else parse_pose("mount", text, (3, 6)).optical_frame()
    )


def parse_pose(option: str, text: str, counts: Sequence[int] = (3, 4, 6)) -> Pose:
    """A pose from text (text: "x,y,z", "x,y,z,yaw" or "x,y,z,yaw,pitch,roll"; metres and degrees)."""
    forms = {3: "x,y,z", 4: "x,y,z,yaw", 6: "x,y,z,yaw,pitch,roll"}
    parts = text.split(",")
    try:
        numbers = [float(part) for part in parts]
        yaw, pitch, roll = (math.radians(angle) for angle in [*numbers[3:], 0, 0, 0][:3])
        pose = Pose.from_euler(*[*numbers, 0, 0][:3], yaw=yaw, pitch=pitch, roll=roll)
    except (ValueError, SimjudgeError):
        parts = []
    if len(parts) not in counts:
        usual = " or ".join(forms[count] for count in counts)
        words = f", or {' or '.join(MOUNTS)}" if option == "mount" else ""
        raise UsageError(f"--{option} {text}: give {usual} in metres and degrees{words}")
    return pose


MOST_FRAMES = 1_000_000  # Frames of one rendering at most

CLEARANCE = 0.12  # Least distance between a random camera and any thing, metres
HEIGHTS = (0.7, 1.4)  # Least and largest height of a random camera, as factors of its mount's height
TILT = (math.radians(3), math.radians(1.5))  # Standard deviations of a random camera's pitch and roll, radians
_PATH_STEP = 20_000_000  # Nanoseconds between the poses of a course's path
_PARTS = ("position", "orientation")
_TRIES = 2000  # Random poses that are tried for one frame
_DIRECTIONS = 400  # Rays that search for things too near: 2 cm apart on a ball as large as the clearance
_AIM_SPREAD = 0.45  # A camera aims at a thing to within this share of its field of view, to either side
_HEIGHT_CLEARANCE = 0.6  # The floor may be nearer than the clearance, down to this share of the camera's height


class CameraPoses(Protocol):
    """Poses of a camera, one for each frame."""

    @property
    def frame_name(self) -> Sequence[str]:
        """Names of the frames, unique."""

    @property
    def stamp(self) -> Sequence[int]:
        """Start of each exposure, nanoseconds."""

    def at(self, index: int, stamps: Sequence[int], engine: Engine) -> list[Pose]:
        """The optical frame in the world at times (nanoseconds from the frame's stamp) during its exposure."""

    @property
    def mount(self) -> Pose:
        """The optical frame in the body that moves."""

    def path(self) -> Trajectory | None:
        """Poses of the body with their times; None where each frame stands by itself."""


@dataclass(frozen=True)
class RandomPoses:
    """A camera that stands still anywhere on the floor, mostly so that something labelled may be in view.

    For the share `aimed` of the frames, a class is drawn, then a thing of this class, then its distance (uniform in the
    logarithm, so that things of all sizes are seen), its bearing, and its place in the image. In the other frames the
    camera stands and looks anywhere. Height, pitch and roll vary around those of the mount. The camera is never within
    a thing, nor nearer to one than `clearance`, nor outside the scene's area.
    """

    name: str  # name of the scene, for the frames' names
    count: int
    rate: float  # frames a second, for their stamps
    mount: Pose  # the optical frame above the floor, as a car carries it; its height, pitch and roll count
    field: float  # horizontal field of view of the lens, degrees
    seed: int = 0
    heights: tuple[float, float] = HEIGHTS  # least and largest factor of the mount's height
    tilt: tuple[float, float] = TILT  # standard deviations of pitch and roll, radians
    # Least and largest distance across the floor to the thing that is aimed at, metres.
    distances: tuple[float, float] = (0.5, 6.0)
    aimed: float = 0.85  # share of the frames that aim at a thing, 0 to 1
    clearance: float = CLEARANCE  # least distance between the camera and any thing, metres

    def __post_init__(self) -> None:
        if self.count < 1:
            raise UsageError(f"{self.count} frames: at least one is needed")
        if self.mount.position[2] <= 0:
            raise UsageError("random poses vary around a camera above the floor: give --vehicle, or --mount x,y,z,...")

    @cached_property
    def frame_name(self) -> Sequence[str]:
        """Scene, seed and number: frames of another seed have other names."""
        return [f"{self.name}_{self.seed}_{index:06d}" for index in range(self.count)]

    @cached_property
    def stamp(self) -> Sequence[int]:
        """At the camera's rate, from 1 s on."""
        return [SECOND + frame_stamp_offset(self.rate, index) for index in range(self.count)]

    def at(self, index: int, stamps: Sequence[int], engine: Engine) -> list[Pose]:
        """The same pose at all times (stamps: times from the frame's stamp on, nanoseconds)."""
        if engine.scene.area is None:
            raise UsageError(
                f"scene {engine.scene.name}: has no area for random cameras; give it area: [x0, y0, x1, y1]"
            )
        random = np.random.default_rng((self.seed, index))
        scripted = engine.scene.scripted_poses((stamps[0] - self.stamp[0]) / SECOND)
        bodies = {**engine.poses(), **scripted}
        for _ in range(_TRIES):
            body = self._draw(random, engine, scripted)
            if body is not None and is_free_position(body.position, engine, bodies, self.clearance):
                return [body.optical_frame()] * len(stamps)
        raise SimjudgeError(f"scene {engine.scene.name}: {_TRIES} tries found no free place for a camera in its area")

    def path(self) -> None:
        """None: each frame stands by itself."""
        return

    def _draw(self, random: np.random.Generator, engine: Engine, scripted: Poses) -> Pose | None:
        """A camera's body anywhere; None where it is outside the area."""
        scene = engine.scene
        assert scene.area is not None  # noqa: S101 - `at` has looked
        x0, y0, x1, y1 = scene.area
        _, pitch, roll = (self.mount @ Pose(orientation=OPTICAL_ORIENTATION).inverse()).angles()
        height = self.mount.position[2] * random.uniform(*self.heights)
        pitch, roll = pitch + random.normal(0, self.tilt[0]), roll + random.normal(0, self.tilt[1])
        x, y, yaw = random.uniform(x0, x1), random.uniform(y0, y1), random.uniform(-math.pi, math.pi)
        targets = scene.labelled()
        if targets and random.random() < self.aimed:
            kind = random.choice(sorted({thing.class_id for thing in targets}))
            places = {t.instance: scripted.get(t.name, t.pose).position for t in targets if t.class_id == kind}
            target = list(places.values())[random.integers(len(places))]
            distance = math.exp(random.uniform(*np.log(self.distances)))
            x, y = target[0] - distance * math.cos(yaw), target[1] - distance * math.sin(yaw)
            yaw += math.radians(self.field) * random.uniform(-_AIM_SPREAD, _AIM_SPREAD)
        inside = x0 <= x <= x1 and y0 <= y <= y1
        height += Ground.of(scene.things).height(x, y)
        return Pose.from_euler(x, y, height, yaw=yaw, pitch=pitch, roll=roll) if inside else None


@dataclass(frozen=True)
class CoursePoses:
    """A camera on a car that drives along a scene's course, from its first point to its last, on the line.

    The car drives at `speed`, and slower where the course would otherwise be too short for `count` frames. Frames are
    due at the camera's rate; where there are more than `count`, they are thinned evenly.
    """

    course: Course
    mount: Pose
    rate: float  # frames a second
    count: int | None = None  # number of frames; None for all that are due
    speed: float = 1.0  # highest speed, m/s
    ground: Ground = field(default_factory=Ground)  # what is uneven of the scene's ground

    def __post_init__(self) -> None:
        if self.count is not None and self.count < 1:
            raise UsageError(f"{self.count} frames: at least one is needed")

    @property
    def actual_speed(self) -> float:
        """Speed that the car really drives, m/s."""
        needed = max((self.count or 1) - 1, 1) / self.rate
        return min(self.speed, self.length / needed)

    @property
    def length(self) -> float:
        """Length of the whole course, metres."""
        return float(self._distances()[-1])

    @cached_property
    def stamp(self) -> Sequence[int]:
        """Stamps on the drive's clock, from 1 s on."""
        most = int(self.length / self.actual_speed * self.rate + 1e-9) + 1
        count = most if self.count is None else min(self.count, most)
        numbers = np.rint(np.linspace(0, most - 1, count)).astype(int).tolist()
        return [SECOND + frame_stamp_offset(self.rate, number) for number in numbers]

    @cached_property
    def frame_name(self) -> Sequence[str]:
        """The stamps as text."""
        return [stamp_to_name(stamp) for stamp in self.stamp]

    def at(self, index: int, stamps: Sequence[int], engine: Engine) -> list[Pose]:
        """The optical frame at the car's position by then (stamps: times from the frame's stamp on, nanoseconds)."""
        del index, engine
        return [self._base((stamp - SECOND) / SECOND * self.actual_speed) @ self.mount for stamp in stamps]

    def path(self) -> Trajectory:
        """base_link from the first frame's stamp to the last one's, 50 times a second."""
        stamps = np.unique([*range(SECOND, self.stamp[-1], _PATH_STEP), self.stamp[-1]])
        poses = [self._base((stamp - SECOND) / SECOND * self.actual_speed) for stamp in stamps.tolist()]
        position, orientation = (np.array([getattr(pose, name) for pose in poses]) for name in _PARTS)
        return Trajectory("the course", "map", "base_link", stamps, position, orientation)

    def _base(self, metres: float) -> Pose:
        """base_link at a distance along the line; its yaw goes smoothly from piece to piece of the line."""
        line, distances = self.course.centre_line, self._distances()
        headings = np.unwrap(np.arctan2(*np.diff(line, axis=0).T[::-1]))
        yaw = float(np.interp(metres, (distances[:-1] + distances[1:]) / 2, headings))
        x, y = (float(np.interp(metres, distances, line[:, axis])) for axis in (0, 1))
        return self.ground.stand(Pose.from_euler(x, y, yaw=yaw))

    def _distances(self) -> FloatArray:
        """Metres from the start to each point of the line."""
        steps = np.linalg.norm(np.diff(self.course.centre_line, axis=0), axis=1)
        return np.concatenate([[0.0], np.cumsum(steps)])


@dataclass(frozen=True)
class FilePoses:
    """A camera on a body whose poses are given, one for each frame.

    During an exposure the body goes on towards its next pose, unless that pose is too far away in time or a jump.
    Where the file says which placement of the scene each pose sees, or has no times, the camera stands still for each
    frame.
    """

    body: Trajectory  # poses of the body in the world
    mount: Pose  # the optical frame in the body
    rows: Sequence[int]  # rows of the poses, one for each frame
    scene_seeds: tuple[int, ...] = ()  # the scene's seed of each frame; empty where the file gives none

    @classmethod
    def of(
        cls, body: Trajectory, mount: Pose, count: int | None = None, seeds: Mapping[int, int] | None = None
    ) -> FilePoses:
        """Frames at all poses, or `count` of them, evenly chosen; `seeds` are the scene's, by stamp (nanoseconds)."""
        poses = len(body)
        if count is not None and not 1 <= count <= poses:
            raise UsageError(f"{body.name}: {count} frames of {poses} poses; 1 to {poses} can be had")
        rows = np.rint(np.linspace(0, poses - 1, poses if count is None else count)).astype(int).tolist()
        return cls(body, mount, rows, tuple(seeds[int(body.stamp[row])] for row in rows) if seeds else ())

    @cached_property
    def stamp(self) -> Sequence[int]:
        """Stamps of the poses, nanoseconds."""
        return [int(self.body.stamp[row]) for row in self.rows]

    @cached_property
    def frame_name(self) -> Sequence[str]:
        """The stamps as text."""
        return [stamp_to_name(stamp) for stamp in self.stamp]

    def at(self, index: int, stamps: Sequence[int], engine: Engine) -> list[Pose]:
        """The optical frame at the body's pose by then (stamps: times from the frame's stamp on, nanoseconds)."""
        del engine
        row = self.rows[index]
        if not self._moves_on(int(self.body.stamp[row]), max(stamps)):
            return [self.body.pose(row) @ self.mount] * len(stamps)
        return [pose @ self.mount for pose in TrajectoryInterpolator(self.body).poses(stamps)]

    def path(self) -> Trajectory | None:
        """The poses that were given; None where each sees a placement of its own, or nobody knows their times."""
        return None if self.scene_seeds or not self.body.is_timed else self.body

    def _moves_on(self, first: int, last: int) -> bool:
        if first == last or len(self.body) < 2 or self.path() is None:
            return False
        path = TrajectoryInterpolator(self.body)
        return bool(path.covers([last])[0] and not path.in_gap([last])[0] and not len(path.jumps(first, last)))


@dataclass(frozen=True)
class CarriedPoses:
    """A camera on the body that carries another camera, at the same times."""

    first: CameraPoses
    mount: Pose  # the optical frame in the body

    @property
    def stamp(self) -> Sequence[int]:
        """Those of the other camera, nanoseconds."""
        return self.first.stamp

    @property
    def frame_name(self) -> Sequence[str]:
        """Those of the other camera."""
        return self.first.frame_name

    def at(self, index: int, stamps: Sequence[int], engine: Engine) -> list[Pose]:
        """The optical frame where the body is by then (stamps: times from the frame's stamp on, nanoseconds)."""
        other = self.first.mount.inverse() @ self.mount
        return [pose @ other for pose in self.first.at(index, stamps, engine)]

    def path(self) -> Trajectory | None:
        """Poses of the body."""
        return self.first.path()


def is_free_position(
    position: tuple[float, float, float], engine: Engine, bodies: Poses, clearance: float = CLEARANCE
) -> bool:
    """Tell whether a camera may stand at x, y, z: nothing is nearer than `clearance` (metres), the floor aside."""
    hits = engine.cast_rays(np.tile(position, (_DIRECTIONS, 1)), _BALL, bodies)
    hit = hits.thing >= 0
    # Faces are seen from outside: from within a thing all look away.
    behind = np.einsum("ij,ij->i", hits.normal[hit], _BALL[hit]) > 0
    near = min(clearance, _HEIGHT_CLEARANCE * position[2])
    return bool(hits.distance.min() >= near and np.count_nonzero(behind) <= np.count_nonzero(hit) / 2)


def _ball(count: int) -> FloatArray:
    """Unit vectors spread evenly in all directions (Fibonacci's lattice), (N, 3)."""
    number = np.arange(count) + 0.5
    z, azimuth = 1 - 2 * number / count, math.pi * (1 + math.sqrt(5)) * number
    across = np.sqrt(1 - z * z)
    return np.stack([across * np.cos(azimuth), across * np.sin(azimuth), z], 1)


_BALL = _ball(_DIRECTIONS)


log = logging.getLogger(__name__)

RANDOM_FRAMES = 10  # Random poses of whoever does not say how many


def choose_camera_poses(
    poses: str | Path, scene: str | Path, camera: Camera, count: int | None, seed: int, mount: Pose
) -> tuple[CameraPoses, Losses]:
    """The camera poses that a word or a file asks for (count: number of frames; None for all of a course or a file)."""
    if count is not None and not 1 <= count <= MOST_FRAMES:
        raise UsageError(f"-n {count}: must be 1 to {MOST_FRAMES} frames")
    if str(poses) == "random":
        field = camera.lens.horizontal_field()
        return RandomPoses(Path(scene).stem, count or RANDOM_FRAMES, camera.rate, mount, field, seed), Losses()
    if str(poses) == "path":
        described = read_scene(scene, seed)
        if described.course is None:
            raise UsageError(
                f"--poses path: scene {scene} has no course to drive along; a path in its placements is one"
            )
        ground = Ground.of(described.things)
        return CoursePoses(described.course, mount, camera.rate, count, ground=ground), Losses()
    path = Path(poses)
    if not path.is_file() or path.suffix not in SUFFIXES:
        raise UsageError(f"--poses {poses}: random, path, or a file ({', '.join(SUFFIXES)}) is needed")
    trajectory, lost = read_pose_text(path, camera.rate)
    if not trajectory.is_timed:
        log.warning(
            "%s: its poses have no stamps: frames are numbered at the camera's %g Hz, and the camera stands"
            " still for each",
            path,
            camera.rate,
        )
    return FilePoses.of(trajectory, mount, count, read_scene_seeds(path)), lost


@dataclass(frozen=True)
class StillPoses:
    """A camera that stands still for each frame; the frames have nothing to do with each other."""

    name: str
    cameras: tuple[Pose, ...]  # poses of the optical frame in the world, one for each frame
    rate: float  # frames a second, for their stamps

    def __post_init__(self) -> None:
        if not self.cameras:
            raise UsageError(f"{self.name}: no pose; at least one is needed")

    @cached_property
    def frame_name(self) -> Sequence[str]:
        """Name and number."""
        return [f"{self.name}_{index:06d}" for index in range(len(self.cameras))]

    @cached_property
    def stamp(self) -> Sequence[int]:
        """At the camera's rate, from 1 s on."""
        return [SECOND + frame_stamp_offset(self.rate, index) for index in range(len(self.cameras))]

    @property
    def mount(self) -> Pose:
        """The poses are those of the optical frame itself."""
        return Pose()

    def at(self, index: int, stamps: Sequence[int], engine: Engine) -> list[Pose]:
        """The same pose at all times (stamps: times from the frame's stamp on, nanoseconds)."""
        del engine
        return [self.cameras[index]] * len(stamps)

    def path(self) -> None:
        """None: each frame stands by itself."""
        return
