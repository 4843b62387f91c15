"""Where things are: poses and recorded trajectories, the vocabulary of world, sensing, bags and nodes.

Frames follow REP 103 and REP 105: the world has z up; a body has x forward, y left, z up; a camera's optical frame has
x right, y down, z forward. Metres, seconds where not nanoseconds, quaternions (x, y, z, w) as ROS has them. A pose of a
body in the world maps the body's coordinates to the world's: p_world = R p_body + position.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation, Slerp

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.core.documents import Fields
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.field_types import Number, Vector

# Orientation (x, y, z, w) of a camera's optical frame in its body frame (REP 103: z ahead, x right, y down).
OPTICAL_ORIENTATION = (-0.5, 0.5, -0.5, 0.5)
NEAR_UNIT = 1e-12  # How far a quaternion's length may be from 1 for it to be kept as it is
_SURELY_NEAR_UNIT = 0.9 * NEAR_UNIT


@dataclass(frozen=True)
class Pose:
    """A rigid pose."""

    position: tuple[float, float, float] = (0.0, 0.0, 0.0)  # x, y, z, metres
    orientation: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)  # unit quaternion x, y, z, w; made unit here

    def __post_init__(self) -> None:
        """Check the numbers, and make the quaternion a unit one."""
        position = tuple(float(value) for value in self.position)
        orientation = tuple(float(value) for value in self.orientation)
        # Nearly all poses are fine as they are, and thousands are made: NumPy is slow for four numbers.
        near_unit = len(orientation) == 4 and abs(math.hypot(*orientation) - 1) < _SURELY_NEAR_UNIT
        if near_unit and len(position) == 3 and math.isfinite(sum(position)):
            object.__setattr__(self, "position", position)
            object.__setattr__(self, "orientation", orientation)
            return
        quaternion = np.asarray(self.orientation, np.float64)
        with np.errstate(over="ignore"):
            length = float(np.linalg.norm(quaternion))
        if len(position) != 3 or quaternion.shape != (4,) or not math.isfinite(length + sum(position)) or length < 1e-9:
            raise SimjudgeError(f"position {position}, quaternion (x, y, z, w) {quaternion.tolist()}: no pose")
        unit = tuple(quaternion.tolist()) if abs(length - 1) < NEAR_UNIT else tuple((quaternion / length).tolist())
        object.__setattr__(self, "position", position)
        object.__setattr__(self, "orientation", unit)

    @classmethod
    def from_euler(
        cls, x: float, y: float, z: float = 0.0, *, yaw: float = 0.0, pitch: float = 0.0, roll: float = 0.0
    ) -> Pose:
        """Make a pose from REP 103's fixed-axis angles (x: metres; y: metres; z: metres; roll: radians)."""
        quaternion = Rotation.from_euler("ZYX", [yaw, pitch, roll]).as_quat()
        return cls((x, y, z), tuple(quaternion.tolist()))

    @classmethod
    def from_matrix(cls, matrix: npt.ArrayLike) -> Pose:
        """Make a pose from a homogeneous matrix (matrix: (4, 4) or (3, 4))."""
        m = np.asarray(matrix, np.float64)
        quaternion = Rotation.from_matrix(m[:3, :3]).as_quat()
        return cls((float(m[0, 3]), float(m[1, 3]), float(m[2, 3])), tuple(quaternion.tolist()))

    def rotation_matrix(self) -> FloatArray:
        """The 3 x 3 rotation matrix, body to world."""
        return self._rotation.copy()

    @cached_property
    def _rotation(self) -> FloatArray:
        # By hand: this is asked for thousands of times a second, and SciPy is slow for a single quaternion.
        x, y, z, w = self.orientation
        twice = 2 / (x * x + y * y + z * z + w * w)
        return np.array(
            [
                [1 - twice * (y * y + z * z), twice * (x * y - z * w), twice * (x * z + y * w)],
                [twice * (x * y + z * w), 1 - twice * (x * x + z * z), twice * (y * z - x * w)],
                [twice * (x * z - y * w), twice * (y * z + x * w), 1 - twice * (x * x + y * y)],
            ]
        )

    def matrix(self) -> FloatArray:
        """The 4 x 4 homogeneous matrix, body to world."""
        out = np.eye(4)
        out[:3, :3], out[:3, 3] = self._rotation, self.position
        return out

    def angles(self) -> tuple[float, float, float]:
        """Yaw, pitch and roll, radians, as `facing` takes them."""
        yaw, pitch, roll = Rotation.from_quat(self.orientation).as_euler("ZYX")
        return float(yaw), float(pitch), float(roll)

    def __matmul__(self, other: Pose) -> Pose:
        """The pose in the world of something whose pose in this body is `other`."""
        here = Rotation.from_quat(self.orientation)
        position = here.apply(other.position) + self.position
        return Pose(tuple(position.tolist()), tuple((here * Rotation.from_quat(other.orientation)).as_quat().tolist()))

    def inverse(self) -> Pose:
        """The pose of the world in this body."""
        back = Rotation.from_quat(self.orientation).inv()
        return Pose(tuple((-back.apply(self.position)).tolist()), tuple(back.as_quat().tolist()))

    def to_world(self, points: npt.ArrayLike) -> FloatArray:
        """Map points of the body to the world: float64 (..., 3); points (..., 3), metres, body coordinates."""
        world: FloatArray = np.asarray(points, np.float64) @ self._rotation.T + self.position
        return world

    def to_body(self, points: npt.ArrayLike) -> FloatArray:
        """Map points of the world to the body: float64 (..., 3), metres, body coordinates (points (..., 3), metres)."""
        body: FloatArray = (np.asarray(points, np.float64) - self.position) @ self._rotation
        return body

    def optical_frame(self) -> Pose:
        """The optical frame of a camera whose body (x ahead, y left, z up) has this pose."""
        return self @ Pose(orientation=OPTICAL_ORIENTATION)


def interpolate_pose(begin: Pose, end: Pose, share: float) -> Pose:
    """The pose between two poses: linear in position, along the shortest arc in orientation (share: 0 to 1)."""
    if begin == end:
        return begin
    ends = Rotation.from_quat([begin.orientation, end.orientation])
    position = (1 - share) * np.array(begin.position) + share * np.array(end.position)
    return Pose(tuple(position.tolist()), tuple(Slerp([0, 1], ends)(share).as_quat().tolist()))


@dataclass(frozen=True, repr=False)
class Trajectory(ShortRepr):
    """Recorded poses of one body in one fixed frame, in order of time."""

    name: str  # of what it was read from: file and topic, for messages
    # frame_id, child_frame_id: the fixed frame and the body's, as the recording names them ("" where it does not).
    frame_id: str
    child_frame_id: str
    stamp: IntArray  # int64 (N,), nanoseconds, strictly increasing
    position: FloatArray  # float64 (N, 3), metres
    orientation: FloatArray  # float64 (N, 4), unit quaternions x, y, z, w
    # The transforms that these poses are made of, from the fixed frame on, where tf gave several. Between two stamps
    # each link is interpolated by itself, as tf2 does it; () for poses that came as they are.
    links: tuple[TrajectoryLink, ...] = ()
    is_timed: bool = True  # whether the stamps are times; else they only number the poses

    def __len__(self) -> int:
        return len(self.stamp)

    def pose(self, row: int) -> Pose:
        """Give one pose: the pose of the body in the fixed frame."""
        return Pose(tuple(self.position[row].tolist()), tuple(self.orientation[row].tolist()))

    def shifted(self, offset: int) -> Trajectory:
        """The same poses at other times (offset: nanoseconds that are added to every stamp)."""
        links = tuple(replace(link, trajectory=link.trajectory.shifted(offset)) for link in self.links)
        return replace(self, stamp=self.stamp + offset, links=links)


@dataclass(frozen=True)
class TrajectoryLink:
    """One transform on the way from a fixed frame to a body."""

    trajectory: Trajectory  # the poses of its child in its parent; one alone for a transform that stands
    is_upward: bool  # whether the way goes from the child to the parent


_STREAM = 0x706F7365  # Keeps these numbers apart from those of the filters, which follow from seed and frame name too


@dataclass(frozen=True)
class PoseNoise:
    """Normal errors, independent of one another and from frame to frame."""

    angle: float = math.radians(1.0)  # standard deviation of yaw, pitch and roll each, radians
    position: float = 0.01  # standard deviation of x, y and z each, metres

    def __post_init__(self) -> None:
        if not (0 <= self.angle < math.inf and 0 <= self.position < math.inf):
            raise UsageError(f"pose noise of {self.angle} rad and {self.position} m: 0 or more are needed")

    def error(self, seed: int, frame_name: str) -> Pose:
        """Draw the error of one frame; the same seed and name give the same error."""
        entropy = (_STREAM, seed, zlib.crc32(frame_name.encode()))
        yaw, pitch, roll, x, y, z = np.random.default_rng(entropy).standard_normal(6).tolist()
        angle, metres = self.angle, self.position
        return Pose.from_euler(
            metres * x, metres * y, metres * z, yaw=angle * yaw, pitch=angle * pitch, roll=angle * roll
        )


_LARGEST = 1e6  # Metres or degrees; no mount has larger figures

Position = Annotated[tuple[float, float, float], Vector("x y z", largest=_LARGEST)]
Degrees = Annotated[float, Number(largest=_LARGEST)]


class MountFields(Fields):
    """Where a sensor sits, in base_link (x ahead, y left, z up)."""

    position: Position
    """x, y, z, metres."""
    yaw: Degrees = 0.0
    """Degrees to the left."""
    pitch: Degrees = 0.0
    """Degrees nose down."""
    roll: Degrees = 0.0
    """Degrees to the right."""

    def pose(self) -> Pose:
        """The sensor's frame in base_link."""
        yaw, pitch, roll = (math.radians(angle) for angle in (self.yaw, self.pitch, self.roll))
        return Pose.from_euler(*self.position, yaw=yaw, pitch=pitch, roll=roll)
