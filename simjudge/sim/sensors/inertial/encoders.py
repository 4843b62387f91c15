"""Wheel encoders: ticks with slip and resolution, and the odometry that is integrated from them.

The odometry drifts: it knows only whole ticks, takes slip for way, and believes the radius and the track of its file.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import UsageError
from simjudge.sim.sensors.inertial.inertial_sensor import FilteredReadings, ReadingClock, Readings, WindowAverage
from simjudge.sim.sensors.inertial.motion import SECOND, Motion, rotate_back
from simjudge.sim.sensors.inertial.sensor_tables import WHEELS, EncodersSpec, Wheel

REAR: tuple[Wheel, Wheel] = ("rear_left", "rear_right")  # The wheels that tell the odometry: they do not steer


@dataclass(frozen=True, eq=False, repr=False)
class WheelMotion(ShortRepr):
    """How wheels turn, in dense samples in order of time."""

    stamp: IntArray  # int64 (N,), nanoseconds, strictly increasing
    angle: FloatArray  # float64 (N, 4), radians since the start, forwards positive, wheels in the order of `WHEELS`


def rolling_wheels(motion: Motion, wheelbase: float, track: float, wheel_radius: float) -> WheelMotion:
    """How the wheels of a car turn that roll without slip; front wheels, which steer, go along their own way."""
    velocity = rotate_back(motion.orientation, motion.velocity)
    turn = motion.angular_velocity[:, 2]
    left, right = velocity[:, 0] - turn * track / 2, velocity[:, 0] + turn * track / 2
    across = velocity[:, 1] + turn * wheelbase
    front = [np.copysign(np.hypot(along, across), along) for along in (left, right)]
    speed = np.stack([*front, left, right], -1) / wheel_radius
    seconds = np.diff(motion.stamp)[:, None] / SECOND
    angle = np.cumsum(np.concatenate([np.zeros((1, 4)), (speed[:-1] + speed[1:]) * seconds / 2]), axis=0)
    return WheelMotion(motion.stamp, angle)


class WheelEncoders:
    """The encoders of a car."""

    def __init__(self, spec: EncodersSpec, seed: int = 0, start: int | None = None) -> None:
        """Make the encoders; they have counted nothing yet (start: nanoseconds of the first reading)."""
        self.spec = spec
        entropy = spec.entropy(seed)
        self._random = np.random.default_rng((*entropy, 0))
        self._filters = FilteredReadings(spec, entropy)
        self._clock = None if start is None else ReadingClock(spec.rate, 0.0, start)
        self._columns = [WHEELS.index(wheel) for wheel in spec.wheels]
        self._angles = WindowAverage(0.0, len(self._columns))
        self._last: WheelMotion | None = None
        self._first: FloatArray | None = None
        self._before = self._slipped = np.zeros(len(self._columns))

    def read(self, wheels: WheelMotion) -> Readings:
        """Read what has become due."""
        stamp, angle = wheels.stamp, wheels.angle[:, self._columns]
        if self._last is not None:
            stamp = np.concatenate([self._last.stamp, stamp])
            angle = np.concatenate([self._last.angle, angle])
        if np.any(np.diff(stamp) <= 0):
            raise UsageError(f"{self.spec.name}: the wheels' stamps must increase from sample to sample")
        if not len(stamp):
            return self._finish(stamp, np.zeros((0, len(self._columns))))
        self._last = WheelMotion(stamp[-1:], angle[-1:])
        if len(stamp) < 2:
            return self._finish(stamp[:0], angle[:0])
        if self._clock is None:
            self._clock = ReadingClock(self.spec.rate, 0.0, int(stamp[0]))
        self._angles.add(stamp, angle[:-1], angle[1:])
        due = self._clock.due(int(stamp[-1]))
        turned = self._angles.read(due)
        self._angles.forget(self._clock.next_stamp())
        return self._finish(due, turned)

    def _finish(self, stamp: IntArray, angle: FloatArray) -> Readings:
        slipped = np.zeros_like(angle)
        if len(stamp):
            if self._first is None:
                self._first = self._before = angle[0]
            mean, deviation = self.spec.slip
            gained = np.diff(np.concatenate([self._before[None], angle]), axis=0)
            slip = gained * (mean + deviation * self._random.standard_normal(angle.shape))
            slipped = np.cumsum(np.concatenate([self._slipped[None], slip]), axis=0)[1:]
            self._before, self._slipped = angle[-1], slipped[-1]
            angle = angle - self._first
        per_radian = self.spec.ticks * self.spec.gear / (2 * math.pi)

        def count(turned: FloatArray, rows: slice) -> FloatArray:
            return np.floor(turned + slipped[rows] * per_radian)

        return self._filters.run(stamp, angle * per_radian, count)


@dataclass(frozen=True, eq=False, repr=False)
class WheelOdometry(ShortRepr):
    """Where a car believes to be by its ticks."""

    stamp: IntArray  # int64 (N,), nanoseconds
    # x, y: float64 (N,), metres in the frame where it began.
    x: FloatArray
    y: FloatArray
    yaw: FloatArray  # float64 (N,), radians
    speed: FloatArray  # float64 (N,), m/s, since the reading before
    turn_rate: FloatArray  # float64 (N,), rad/s, likewise


def wheel_odometry(readings: Readings, spec: EncodersSpec, wheel_radius: float, track: float) -> WheelOdometry:
    """Integrate ticks: the way of the axle's middle and its turn between two readings, as an arc."""
    if not set(REAR) <= set(spec.wheels):
        raise UsageError(f"{spec.name}: an odometry needs encoders on both rear wheels")
    per_tick = 2 * math.pi / (spec.ticks * spec.gear) * (spec.wheel_radius or wheel_radius)
    gained = np.diff(readings.values, axis=0, prepend=readings.values[:1]) * per_tick
    left, right = (gained[:, spec.wheels.index(wheel)] for wheel in REAR)
    way, turn = (left + right) / 2, (right - left) / (spec.track or track)
    yaw = np.cumsum(turn)
    # Along an arc the chord is shorter than the way by sin(turn / 2) / (turn / 2), and points half the turn ahead.
    chord = way * np.sinc(turn / (2 * math.pi))
    x, y = (np.cumsum(chord * along(yaw - turn / 2)) for along in (np.cos, np.sin))
    seconds = np.diff(readings.stamp, prepend=readings.stamp[:1]) / SECOND
    seconds[:1] = np.inf
    return WheelOdometry(readings.stamp, x, y, yaw, way / seconds, turn / seconds)
