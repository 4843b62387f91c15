"""How a body moves, in dense samples: what inertial sensors are computed from.

The world has x east, y north and z up (REP 103), metres and seconds. Vectors are turned row by row in compiled loops:
a sample gives the same bits alone and among many, and few samples cost little, which a running simulation needs.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np
from numba import njit
from scipy.interpolate import CubicSpline
from scipy.ndimage import gaussian_filter1d
from scipy.spatial.transform import Rotation, RotationSpline

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.geometry.poses import Trajectory
from simjudge.geometry.trajectories import DEFAULT_MOTION_LIMITS, MotionLimits, TrajectoryInterpolator

SECOND = 1_000_000_000
_FEWEST = 4
"""Poses that a smooth motion needs."""
_STRONG = 50.0
"""M/s^2: no car accelerates so strongly."""
log = logging.getLogger(__name__)


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
        """Some of the samples."""
        optional = [None if each is None else each[part] for each in (self.acceleration, self.angular_acceleration)]
        return Motion(
            self.stamp[part], self.position[part], self.orientation[part], self.velocity[part],
            self.angular_velocity[part], *optional,
        )  # fmt: skip

    def join(self, later: Motion) -> Motion:
        """These samples and later ones."""
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
    trajectory: Trajectory,
    step: float = 0.001,
    smoothing: float = 0.0,
    limits: MotionLimits = DEFAULT_MOTION_LIMITS,
) -> Motion:
    """The smooth motion through or along recorded poses.

    Without smoothing, positions follow a cubic spline and orientations the spline whose angular velocity is continuous
    (SciPy's `RotationSpline`). Noise of the poses grows in the accelerations: an error of e metres in poses that are T
    apart is about 4 e / T^2 there. With smoothing, poses are joined by straight lines and averaged with a Gaussian;
    noise of the deviation e then leaves e sqrt(3 T / (8 sqrt(pi) smoothing^5)) in the accelerations, and an
    oscillation of angular frequency w is weakened by exp(-(w smoothing)^2 / 2).

    Args:
        step: seconds between the samples.
        smoothing: standard deviation of the Gaussian, seconds; 0: the motion goes through every pose.
    """
    if not (step > 0 and smoothing >= 0):
        raise UsageError(f"motion: a step of {step} s above 0 and a smoothing of {smoothing} s, 0 or more, are needed")
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
    motion = _smoothed(trajectory, stamp, step, smoothing) if smoothing else _through(trajectory, stamp, seconds)
    strongest = float(np.abs(motion.acceleration).max()) if motion.acceleration is not None else 0.0
    if strongest > _STRONG:
        log.warning("%s: its poses have accelerations of up to %.0f m/s^2, which is their noise; a smoothing of some"
                    " tenths of a second takes it away", trajectory.name, strongest)  # fmt: skip
    return motion


def _through(trajectory: Trajectory, stamp: IntArray, seconds: FloatArray) -> Motion:
    """The motion that goes through every pose."""
    at = (stamp - trajectory.stamp[0]) / SECOND
    way = CubicSpline(seconds, trajectory.position)
    turn = RotationSpline(seconds, Rotation.from_quat(trajectory.orientation))
    # SciPy's rates are in the axes of the body that turns.
    return Motion(stamp, way(at), turn(at).as_quat(), way(at, 1), turn(at, 1), way(at, 2), turn(at, 2))


def _smoothed(trajectory: Trajectory, stamp: IntArray, step: float, smoothing: float) -> Motion:
    """The motion that a Gaussian leaves of straight lines between the poses."""
    position, orientation = TrajectoryInterpolator(trajectory).sample(stamp)
    flips = np.cumprod(np.where((orientation[1:] * orientation[:-1]).sum(axis=1) < 0, -1.0, 1.0))
    orientation[1:] *= flips[:, None]
    way, turn = _gaussian(position, smoothing / step), _gaussian(orientation, smoothing / step)
    turn /= np.linalg.norm(turn, axis=1, keepdims=True)
    velocity = _rate_of_change(way, step)
    # q' = q w / 2, so that w = 2 vec(q* q').
    spin = 2 * _vector_part(turn, _rate_of_change(turn, step))
    return Motion(stamp, way, turn, velocity, spin, _rate_of_change(velocity, step), _rate_of_change(spin, step))


def _gaussian(values: FloatArray, sigma: float) -> FloatArray:
    """The average over samples; beyond the ends the values go on as their mirror image about the end's point."""
    reach = min(int(4 * sigma + 0.5), len(values) - 1)
    before, after = 2 * values[0] - values[reach:0:-1], 2 * values[-1] - values[-2 : -reach - 2 : -1]
    out: FloatArray = gaussian_filter1d(np.concatenate([before, values, after]), sigma, axis=0, mode="nearest")
    return out[reach : reach + len(values)]


def _rate_of_change(values: FloatArray, step: float) -> FloatArray:
    return np.asarray(np.gradient(values, step, axis=0, edge_order=2), np.float64)


def _vector_part(turn: FloatArray, change: FloatArray) -> FloatArray:
    """The vector part of conj(q) times p, quaternions x, y, z, w."""
    return turn[:, 3:] * change[:, :3] - change[:, 3:] * turn[:, :3] - cross(turn[:, :3], change[:, :3])


def rotate(orientation: FloatArray, vector: FloatArray) -> FloatArray:
    """Turn vectors by unit quaternions.

    Args:
        orientation: (N, 4) or (1, 4), x, y, z, w.
        vector: (N, 3) or (3,), body axes.

    Returns:
        float64 (N, 3), world axes.
    """
    return _turned(orientation, vector, 1.0)


def rotate_back(orientation: FloatArray, vector: FloatArray) -> FloatArray:
    """Turn vectors by the inverses of unit quaternions.

    Args:
        orientation: (N, 4) or (1, 4), x, y, z, w.
        vector: (N, 3) or (3,), world axes.

    Returns:
        float64 (N, 3), body axes.
    """
    return _turned(orientation, vector, -1.0)


def cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """The cross product of vectors.

    Args:
        a: (N, 3).
        b: (N, 3) or (3,).

    Returns:
        float64 (N, 3).
    """
    out = np.empty((len(a), 3))
    _cross_rows(np.ascontiguousarray(a), np.ascontiguousarray(b).reshape(-1, 3), out)
    return out


def _turned(orientation: FloatArray, vector: FloatArray, sense: float) -> FloatArray:
    vectors = np.ascontiguousarray(vector).reshape(-1, 3)
    out = np.empty((max(len(orientation), len(vectors)), 3))
    _turn_rows(np.ascontiguousarray(orientation), vectors, sense, out)
    return out


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _turn_rows(orientation: FloatArray, vector: FloatArray, sense: float, out: FloatArray) -> None:
    """Turn row by row, v + 2 w (u x v) + 2 u x (u x v); a single row is for all."""
    for row in range(len(out)):
        x, y, z, w = orientation[row if len(orientation) > 1 else 0]
        x, y, z = sense * x, sense * y, sense * z
        a, b, c = vector[row if len(vector) > 1 else 0]
        p, q, r = y * c - z * b, z * a - x * c, x * b - y * a
        out[row, 0] = a + 2.0 * (w * p + (y * r - z * q))
        out[row, 1] = b + 2.0 * (w * q + (z * p - x * r))
        out[row, 2] = c + 2.0 * (w * r + (x * q - y * p))


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _cross_rows(left: FloatArray, right: FloatArray, out: FloatArray) -> None:
    for row in range(len(out)):
        a, b, c = left[row]
        d, e, f = right[row if len(right) > 1 else 0]
        out[row, 0], out[row, 1], out[row, 2] = b * f - c * e, c * d - a * f, a * e - b * d
