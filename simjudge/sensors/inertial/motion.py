"""How a body moves, in dense samples: what inertial sensors are computed from.

The world has x east, y north and z up (REP 103), metres and seconds. Functions here use operations on single elements
only, so that a sample gives the same bits alone and among many.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation, RotationSpline

from simjudge.core.display import ShortRepr
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.frames import FloatArray, IntArray
from simjudge.geometry.poses import Trajectory
from simjudge.geometry.trajectories import DEFAULT_MOTION_LIMITS, MotionLimits

SECOND = 1_000_000_000
_FEWEST = 4
"""Poses that a smooth motion needs."""


@dataclass(frozen=True, eq=False, repr=False)
class Motion(ShortRepr):
    """Samples of the motion of a body, in order of time.

    Attributes:
        stamp: int64 (N,), nanoseconds, strictly increasing.
        position: float64 (N, 3), of the body's origin in the world, metres.
        orientation: float64 (N, 4), unit quaternions x, y, z, w, body to world.
        velocity: float64 (N, 3), of the body's origin, in the world's axes, m/s.
        angular_velocity: float64 (N, 3), in the body's axes, rad/s.
        acceleration: float64 (N, 3), of the body's origin, in the world's axes, m/s^2, without gravity; None: it
            follows from the velocities, as their change from sample to sample.
        angular_acceleration: float64 (N, 3), in the body's axes, rad/s^2; given where `acceleration` is.

    Raises:
        UsageError: the arrays differ in length, or the times do not increase.
    """

    stamp: IntArray
    position: FloatArray
    orientation: FloatArray
    velocity: FloatArray
    angular_velocity: FloatArray
    acceleration: FloatArray | None = None
    angular_acceleration: FloatArray | None = None

    def __post_init__(self) -> None:
        """Check lengths and times."""
        arrays = [self.position, self.orientation, self.velocity, self.angular_velocity]
        if (self.acceleration is None) != (self.angular_acceleration is None):
            raise UsageError("motion: acceleration and angular_acceleration are given both or not at all")
        arrays += [each for each in (self.acceleration, self.angular_acceleration) if each is not None]
        if any(len(each) != len(self.stamp) for each in arrays):
            raise UsageError("motion: all arrays need as many rows as there are stamps")
        if np.any(np.diff(self.stamp) <= 0):
            raise UsageError("motion: stamps must increase from sample to sample")

    def __len__(self) -> int:
        """The number of samples."""
        return len(self.stamp)

    def __getitem__(self, part: slice) -> Motion:
        """Some of the samples.

        Args:
            part: which.
        """
        optional = [None if each is None else each[part] for each in (self.acceleration, self.angular_acceleration)]
        return Motion(
            self.stamp[part], self.position[part], self.orientation[part], self.velocity[part],
            self.angular_velocity[part], *optional,
        )  # fmt: skip

    def join(self, later: Motion) -> Motion:
        """These samples and later ones.

        Args:
            later: with accelerations where these have them.

        Returns:
            All of them.
        """
        if (self.acceleration is None) != (later.acceleration is None):
            raise UsageError("motion: some samples have accelerations and some have none")
        both: tuple[FloatArray, FloatArray] | tuple[None, None] = None, None
        if self.acceleration is not None and later.acceleration is not None:
            assert self.angular_acceleration is not None  # noqa: S101 - checked when they were made
            assert later.angular_acceleration is not None  # noqa: S101
            both = (
                np.concatenate([self.acceleration, later.acceleration]),
                np.concatenate([self.angular_acceleration, later.angular_acceleration]),
            )
        return Motion(
            np.concatenate([self.stamp, later.stamp]),
            np.concatenate([self.position, later.position]),
            np.concatenate([self.orientation, later.orientation]),
            np.concatenate([self.velocity, later.velocity]),
            np.concatenate([self.angular_velocity, later.angular_velocity]),
            *both,
        )


def motion_of_trajectory(
    trajectory: Trajectory, step: float = 0.001, limits: MotionLimits = DEFAULT_MOTION_LIMITS
) -> Motion:
    """The smooth motion through recorded poses.

    Positions follow a cubic spline, orientations the spline whose angular velocity is continuous (SciPy's
    `RotationSpline`). Noise of the poses grows in the accelerations: an error of e metres in poses that are T apart is
    about 4 e / T^2 there.

    Args:
        trajectory: the poses.
        step: seconds between the samples.
        limits: the longest gap between poses that is believed.

    Returns:
        Samples from the first pose to the last.

    Raises:
        UsageError: the step is not above 0.
        SimjudgeError: there are too few poses, or a gap between them is too long.
    """
    if not step > 0:
        raise UsageError(f"motion: a step of {step} s; a number above 0 is needed")
    if len(trajectory) < _FEWEST:
        raise SimjudgeError(f"{trajectory.name}: holds {len(trajectory)} poses; a motion needs {_FEWEST} or more")
    first = int(trajectory.stamp[0])
    seconds = (trajectory.stamp - first) / SECOND
    gap = int(np.argmax(np.diff(seconds)))
    if seconds[gap + 1] - seconds[gap] > limits.max_gap:
        raise SimjudgeError(
            f"{trajectory.name}: has no pose for {seconds[gap + 1] - seconds[gap]:.3g} s from"
            f" {trajectory.stamp[gap] / SECOND:.3f} s on; no motion is made up beyond {limits.max_gap:g} s"
        )
    count = int(np.floor(seconds[-1] / step + 1e-9)) + 1
    stamp = first + np.rint(np.arange(count) * (step * SECOND)).astype(np.int64)
    stamp = stamp[stamp <= trajectory.stamp[-1]]
    at = (stamp - first) / SECOND
    way = CubicSpline(seconds, trajectory.position)
    turn = RotationSpline(seconds, Rotation.from_quat(trajectory.orientation))
    rotation = turn(at)
    # SciPy's rates are in the axes of the body that turns.
    return Motion(stamp, way(at), rotation.as_quat(), way(at, 1), turn(at, 1), way(at, 2), turn(at, 2))


def rotate(orientation: FloatArray, vector: FloatArray) -> FloatArray:
    """Turn vectors by unit quaternions: v + 2 w (u x v) + 2 u x (u x v).

    Args:
        orientation: (N, 4), x, y, z, w.
        vector: (N, 3) or (3,), body axes.

    Returns:
        float64 (N, 3), world axes.
    """
    axis, w = orientation[:, :3], orientation[:, 3:]
    across = cross(axis, vector)
    turned: FloatArray = vector + 2.0 * (w * across + cross(axis, across))
    return turned


def rotate_back(orientation: FloatArray, vector: FloatArray) -> FloatArray:
    """Turn vectors by the inverses of unit quaternions.

    Args:
        orientation: (N, 4), x, y, z, w.
        vector: (N, 3) or (3,), world axes.

    Returns:
        float64 (N, 3), body axes.
    """
    return rotate(orientation * np.array([-1.0, -1.0, -1.0, 1.0]), vector)


def cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """The cross product of vectors.

    Args:
        a: (..., 3).
        b: (..., 3).

    Returns:
        float64 (..., 3).
    """
    ax, ay, az = a[..., 0], a[..., 1], a[..., 2]
    bx, by, bz = b[..., 0], b[..., 1], b[..., 2]
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], -1)
