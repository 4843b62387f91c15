"""How a body moves, in dense samples, and what ideal sensors on it measure, on the earth that it moves on.

The world has x east, y north and z up (REP 103), metres and seconds. Vectors are turned row by row in compiled loops:
a sample gives the same bits alone and among many, and few samples cost little, which a running simulation needs.

A signal is given by its values at the start and at the end of each segment between two samples of the motion, in the
sensor's axes. Accelerations that are not given follow from the change of the velocity of the sensor's place.

The ellipsoid is WGS 84's. Positions go through earth-centred coordinates, so that they are exact at any distance:
nothing is taken as flat.

Source:
    National Imagery and Mapping Agency, "Department of Defense World Geodetic System 1984", TR8350.2, 3rd edition.
    H. Vermeille, "Direct transformation from geocentric coordinates to geodetic coordinates", Journal of Geodesy 76
    (2002), 451-454.
"""

from __future__ import annotations

import importlib
import logging
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.interpolate import CubicSpline
from scipy.ndimage import gaussian_filter1d
from scipy.spatial.transform import Rotation, RotationSpline

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.installed import install_command
from simjudge.core.numba_cache import njit
from simjudge.core.text import one_line
from simjudge.geometry.poses import Pose, Trajectory
from simjudge.geometry.trajectories import DEFAULT_MOTION_LIMITS, MotionLimits, TrajectoryInterpolator
from simjudge.sim.sensors.inertial.sensor_tables import Triple

SECOND = 1_000_000_000
_FEWEST = 4  # Poses that a smooth motion needs
_STRONG = 50.0  # M/s^2: no car accelerates so strongly
log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False, repr=False)
class Motion(ShortRepr):
    """Samples of the motion of a body, in order of time."""

    stamp: IntArray  # int64 (N,), nanoseconds, strictly increasing
    position: FloatArray  # float64 (N, 3), of the body's origin in the world, metres
    orientation: FloatArray  # float64 (N, 4), unit quaternions x, y, z, w, body to world
    velocity: FloatArray  # float64 (N, 3), of the body's origin, in the world's axes, m/s
    angular_velocity: FloatArray  # float64 (N, 3), in the body's axes, rad/s
    # float64 (N, 3), of the body's origin, in the world's axes, m/s^2, without gravity; None: it follows from the
    # velocities, as their change from sample to sample.
    acceleration: FloatArray | None = None
    # float64 (N, 3), in the body's axes, rad/s^2; given where `acceleration` is.
    angular_acceleration: FloatArray | None = None

    def __post_init__(self) -> None:
        arrays = [self.position, self.orientation, self.velocity, self.angular_velocity]
        if (self.acceleration is None) != (self.angular_acceleration is None):
            raise UsageError("motion: acceleration and angular_acceleration are given both or not at all")
        arrays += [array for array in (self.acceleration, self.angular_acceleration) if array is not None]
        if any(len(array) != len(self.stamp) for array in arrays):
            raise UsageError("motion: all arrays need as many rows as there are stamps")
        if np.any(np.diff(self.stamp) <= 0):
            raise UsageError("motion: stamps must increase from sample to sample")

    def __len__(self) -> int:
        return len(self.stamp)

    def __getitem__(self, part: slice) -> Motion:
        optional = [None if array is None else array[part] for array in (self.acceleration, self.angular_acceleration)]
        return Motion(
            self.stamp[part],
            self.position[part],
            self.orientation[part],
            self.velocity[part],
            self.angular_velocity[part],
            *optional,
        )

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
    trajectory: Trajectory, step: float = 0.001, smoothing: float = 0.0, limits: MotionLimits = DEFAULT_MOTION_LIMITS
) -> Motion:
    """The smooth motion through or along recorded poses.

    Without smoothing, positions follow a cubic spline and orientations the spline whose angular velocity is continuous
    (SciPy's `RotationSpline`). Noise of the poses grows in the accelerations: an error of e metres in poses that are T
    apart is about 4 e / T^2 there. With smoothing, poses are joined by straight lines and averaged with a Gaussian;
    noise of the deviation e then leaves e sqrt(3 T / (8 sqrt(pi) smoothing^5)) in the accelerations, and an oscillation
    of angular frequency w is weakened by exp(-(w smoothing)^2 / 2).
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
        log.warning(
            "%s: its poses have accelerations of up to %.0f m/s^2, which is their noise; a smoothing of some"
            " tenths of a second takes it away",
            trajectory.name,
            strongest,
        )
    return motion


def _through(trajectory: Trajectory, stamp: IntArray, seconds: FloatArray) -> Motion:
    at = (stamp - trajectory.stamp[0]) / SECOND
    way = CubicSpline(seconds, trajectory.position)
    turn = RotationSpline(seconds, Rotation.from_quat(trajectory.orientation))
    # SciPy's rates are in the axes of the body that turns.
    return Motion(stamp, way(at), turn(at).as_quat(), way(at, 1), turn(at, 1), way(at, 2), turn(at, 2))


def _smoothed(trajectory: Trajectory, stamp: IntArray, step: float, smoothing: float) -> Motion:
    """The motion that a Gaussian leaves of straight lines between the poses."""
    position, orientation = TrajectoryInterpolator(trajectory).sample(stamp)
    # q and -q are one orientation; averaging needs neighbours on one side of the sphere.
    flips = np.cumprod(np.where((orientation[1:] * orientation[:-1]).sum(axis=1) < 0, -1.0, 1.0))
    orientation[1:] *= flips[:, None]
    way, turn = _gaussian(position, smoothing / step), _gaussian(orientation, smoothing / step)
    # The average of unit quaternions is shorter; its direction is the mean rotation for small spreads.
    turn /= np.linalg.norm(turn, axis=1, keepdims=True)
    velocity = _rate_of_change(way, step)
    # q' = q w / 2, so that w = 2 vec(q* q').
    spin = 2 * _vector_part(turn, _rate_of_change(turn, step))
    return Motion(stamp, way, turn, velocity, spin, _rate_of_change(velocity, step), _rate_of_change(spin, step))


def _gaussian(values: FloatArray, sigma: float) -> FloatArray:
    """The average over samples; beyond the ends the values go on as their mirror image about the end's point."""
    reach = min(int(4 * sigma + 0.5), len(values) - 1)
    # Point mirror: value and slope go on at the ends, which a plain mirror would bend to slope 0.
    before, after = 2 * values[0] - values[reach:0:-1], 2 * values[-1] - values[-2 : -reach - 2 : -1]
    out: FloatArray = gaussian_filter1d(np.concatenate([before, values, after]), sigma, axis=0, mode="nearest")
    return out[reach : reach + len(values)]


def _rate_of_change(values: FloatArray, step: float) -> FloatArray:
    return np.asarray(np.gradient(values, step, axis=0, edge_order=2), np.float64)


def _vector_part(turn: FloatArray, change: FloatArray) -> FloatArray:
    """The vector part of conj(q) times p, quaternions x, y, z, w."""
    return turn[:, 3:] * change[:, :3] - change[:, 3:] * turn[:, :3] - cross(turn[:, :3], change[:, :3])


def rotate(orientation: FloatArray, vector: FloatArray) -> FloatArray:
    """Turn vectors by unit quaternions: float64 (N, 3); orientation: (N, 4) or (1, 4); vector: (N, 3) or (3,)."""
    return _turned(orientation, vector, 1.0)


def rotate_back(orientation: FloatArray, vector: FloatArray) -> FloatArray:
    """Turn vectors by the inverses of unit quaternions: float64 (N, 3), body axes (vector: (N, 3) or (3,))."""
    return _turned(orientation, vector, -1.0)


def cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """The cross product of vectors: float64 (N, 3); a (N, 3); b: (N, 3) or (3,)."""
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
        # u x v, which both terms share.
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


GRAVITY = 9.81  # m/s^2, down; the engines' own
Segments = tuple[FloatArray, FloatArray]


def turn_rate(motion: Motion, mount: Pose) -> Segments:
    """What a gyroscope measures, rad/s: float64 (N - 1, 3) each."""
    rate = _to_sensor(mount, motion.angular_velocity)
    return rate[:-1], rate[1:]


def specific_force(motion: Motion, mount: Pose) -> Segments:
    """What an accelerometer measures, m/s^2: acceleration less gravity, +9.81 upwards at rest.

    At r from the body's origin it is a + alpha x r + omega x (omega x r) - g. Returns float64 (N - 1, 3) each.
    """
    arm, up = np.array(mount.position), np.array([0.0, 0.0, GRAVITY])
    if motion.acceleration is not None and motion.angular_acceleration is not None:
        # Euler and centripetal acceleration of a lever arm.
        turning = cross(motion.angular_acceleration, arm)
        turning = turning + cross(motion.angular_velocity, cross(motion.angular_velocity, arm))
        felt = _to_sensor(mount, rotate_back(motion.orientation, motion.acceleration + up) + turning)
        return felt[:-1], felt[1:]
    velocity = motion.velocity + rotate(motion.orientation, cross(motion.angular_velocity, arm))
    seconds = np.diff(motion.stamp)[:, None] / SECOND
    # The change of velocity over the step keeps sums of readings true to the motion, whatever its rate.
    force = (velocity[1:] - velocity[:-1]) / seconds + up
    begin, end = rotate_back(motion.orientation[:-1], force), rotate_back(motion.orientation[1:], force)
    return _to_sensor(mount, begin), _to_sensor(mount, end)


def field_in_sensor(motion: Motion, mount: Pose, field: FloatArray) -> Segments:
    """What a magnetometer measures: float64 (N - 1, 3) each, in the field's unit (field (3,))."""
    seen = _to_sensor(mount, rotate_back(motion.orientation, field))
    return seen[:-1], seen[1:]


def place(motion: Motion, mount: Pose) -> Segments:
    """Where a sensor is in the world, metres: float64 (N - 1, 3) each."""
    position = motion.position + rotate(motion.orientation, np.array(mount.position))
    return position[:-1], position[1:]


def _to_sensor(mount: Pose, vector: FloatArray) -> FloatArray:
    return rotate_back(np.array([mount.orientation]), vector)


SEMI_MAJOR = 6378137.0  # Metres
FLATTENING = 1 / 298.257223563
_SQUARED = FLATTENING * (2 - FLATTENING)  # Square of the first eccentricity
_NANO = 1e-9


def geodetic_to_ecef(longitude: float, latitude: float, altitude: float) -> FloatArray:
    """Earth-centred, earth-fixed coordinates of a place: float64 (3,), metres (longitude: degrees east)."""
    return _ecef(longitude, latitude, altitude)


def _ecef(longitude: npt.ArrayLike, latitude: npt.ArrayLike, altitude: npt.ArrayLike) -> FloatArray:
    """Of one place or of many: (..., 3)."""
    lam, phi, high = np.radians(longitude), np.radians(latitude), np.asarray(altitude, np.float64)
    # Radius of curvature in the prime vertical.
    normal = SEMI_MAJOR / np.sqrt(1 - _SQUARED * np.sin(phi) ** 2)
    around = (normal + high) * np.cos(phi)
    up = (normal * (1 - _SQUARED) + high) * np.sin(phi)
    return np.stack([around * np.cos(lam), around * np.sin(lam), up], -1)


def enu_to_geodetic(metres: FloatArray, reference: Triple) -> FloatArray:
    """Latitude, longitude and altitude of points near a place: float64 (N, 3); metres (N, 3); reference: longitude."""
    lam, phi = math.radians(reference[0]), math.radians(reference[1])
    east, north, up = metres[:, 0], metres[:, 1], metres[:, 2]
    outward = math.cos(phi) * up - math.sin(phi) * north
    x, y, z = geodetic_to_ecef(*reference)
    return ecef_to_geodetic(
        np.stack(
            [
                x + math.cos(lam) * outward - math.sin(lam) * east,
                y + math.sin(lam) * outward + math.cos(lam) * east,
                z + math.cos(phi) * north + math.sin(phi) * up,
            ],
            -1,
        )
    )


def geodetic_to_enu(places: FloatArray, reference: Triple) -> FloatArray:
    """Metres east, north and up of a place: float64 (N, 3); places (N, 3); reference: longitude."""
    lam, phi = math.radians(reference[0]), math.radians(reference[1])
    x, y, z = (_ecef(places[:, 1], places[:, 0], places[:, 2]) - geodetic_to_ecef(*reference)).T
    outward = math.cos(lam) * x + math.sin(lam) * y
    return np.stack(
        [
            math.cos(lam) * y - math.sin(lam) * x,
            math.cos(phi) * z - math.sin(phi) * outward,
            math.sin(phi) * z + math.cos(phi) * outward,
        ],
        -1,
    )


def ecef_to_geodetic(points: FloatArray) -> FloatArray:
    """Latitude, longitude (degrees), altitude (metres) of earth-centred points (N, 3), by Vermeille's closed form."""
    x, y, z = points[:, 0], points[:, 1], points[:, 2]
    fourth = _SQUARED * _SQUARED
    p = (x * x + y * y) / SEMI_MAJOR**2
    q = (1 - _SQUARED) / SEMI_MAJOR**2 * (z * z)
    r = (p + q - fourth) / 6
    s = fourth * p * q / (4 * r * r * r)
    # Real for points outside of the evolute of the ellipse, which lies deep inside of the earth (Vermeille).
    t = np.cbrt(1 + s + np.sqrt(s * (2 + s)))
    u = r * (1 + t + 1 / t)
    v = np.sqrt(u * u + fourth * q)
    w = _SQUARED * (u + v - q) / (2 * v)
    k = np.sqrt(u + v + w * w) - w
    around = np.sqrt(x * x + y * y)
    d = k * around / (k + _SQUARED)
    far = np.sqrt(d * d + z * z)
    # Half-angle form: exact at the poles too, where d is 0.
    latitude = 2 * np.arctan2(z, d + far)
    longitude = np.arctan2(y, x)
    altitude = (k + _SQUARED - 1) / k * far
    return np.stack([np.degrees(latitude), np.degrees(longitude), altitude], -1)


def magnetic_field(reference: Triple, year: float | None) -> Triple:
    """The earth's magnetic field at a place by the World Magnetic Model, as the package pygeomag computes it."""
    if year is None:
        raise SimjudgeError("magnetometer: the earth's field needs a year, or field: [east, north, up]")
    try:
        model = importlib.import_module("pygeomag").GeoMag()
    except ImportError as error:
        raise SimjudgeError(
            "magnetometer: the earth's field at a place and year needs pygeomag:"
            f" {install_command('pygeomag')}; or give field: [east, north, up]"
        ) from error
    longitude, latitude, altitude = reference
    try:
        found = model.calculate(glat=latitude, glon=longitude, alt=altitude / 1000, time=year)
    except ValueError as error:
        raise SimjudgeError(f"magnetometer: year {year:g}: {one_line(error)}; give field: [east, north, up]") from error
    # The model has north, east and down in nanotesla.
    return found.y * _NANO, found.x * _NANO, -found.z * _NANO
