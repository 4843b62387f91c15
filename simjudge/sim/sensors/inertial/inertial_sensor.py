"""Sensors computed from the motion of their body, encoders among them: signal, window, noise, filters, lag, readings.

Reading k begins to collect at start + k / rate, and its stamp is the end of its window. The signal runs straight from
the start to the end of each segment between two samples; segments need not meet. Averages are exact for such a signal:
differences of its integral. The integral is summed up sample by sample, so that samples give the same readings to the
last bit however they come, one at a time or all at once.

    sensor = InertialSensor(spec, seed)
    readings = sensor.read(motion)         # of a whole drive, or again and again of the next samples

The truth is averaged over the window, then come the filters of the stage "generate", noise, the stage "filter", and,
when the lag is over, the stage "access".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr
from simjudge.core.errors import UsageError
from simjudge.sim.sensors.filter_registry import STAGES, FilterChain, SensorReading
from simjudge.sim.sensors.inertial.motion import (
    SECOND,
    Motion,
    Segments,
    enu_to_geodetic,
    field_in_sensor,
    magnetic_field,
    place,
    rotate_back,
    specific_force,
    turn_rate,
)
from simjudge.sim.sensors.inertial.sensor_tables import (
    IDENTITY,
    WHEELS,
    EncodersSpec,
    GpsSpec,
    ImuSpec,
    InertialSpec,
    MagnetometerSpec,
    NoiseSource,
    Wheel,
)
from simjudge.sim.sensors.sensor_spec import SensorSpec


@dataclass(frozen=True, eq=False, repr=False)
class Readings(ShortRepr):
    """Readings of one sensor in order of time."""

    # sensor, kind: its name, and what it is.
    sensor: str
    kind: str
    stamp: IntArray  # int64 (N,), nanoseconds, the end of each reading's window
    available: IntArray  # int64 (N,), nanoseconds from which on each can be read
    # (N, D): gyroscope rad/s, accelerometer m/s^2, imu both, magnetometer T, all in the sensor's axes; gps latitude,
    # longitude (degrees), altitude (m); encoders ticks of each wheel since the start.
    values: npt.NDArray[np.float64]
    truth: FloatArray  # (N, D), the same without noise and filters

    def __len__(self) -> int:
        return len(self.stamp)

    def where(self, chosen: BoolArray) -> Readings:
        """Some of the readings (chosen: bool (N,))."""
        return Readings(
            self.sensor, self.kind, self.stamp[chosen], self.available[chosen], self.values[chosen], self.truth[chosen]
        )

    def join(self, later: Readings) -> Readings:
        """These readings and later ones of the same sensor."""
        return Readings(
            self.sensor,
            self.kind,
            np.concatenate([self.stamp, later.stamp]),
            np.concatenate([self.available, later.available]),
            np.concatenate([self.values, later.values]),
            np.concatenate([self.truth, later.truth]),
        )


class HeldReadings:
    """Readings that wait until their lag is over."""

    def __init__(self) -> None:
        self._held: Readings | None = None

    def put(self, readings: Readings) -> None:
        """Take readings in."""
        self._held = readings if self._held is None else self._held.join(readings)

    def take(self, now: int) -> Readings | None:
        """Hand over what can be read now, each reading once: the readings (now: nanoseconds of simulated time)."""
        if self._held is None:
            return None
        ready = self._held.available <= now
        if not ready.any():
            return None
        out, self._held = self._held.where(ready), self._held.where(~ready)
        return out


class ReadingClock:
    """When the readings of a sensor are due, in simulated time alone."""

    def __init__(self, rate: float, window: float, start: int) -> None:
        """Begin (window: seconds; start: nanoseconds at which the first reading begins to collect)."""
        self._rate, self._first, self._taken = rate, start + round(window * SECOND), 0

    def due(self, now: int) -> IntArray:
        """The stamps that have come since the last call: int64 (N,), nanoseconds (now: nanoseconds)."""
        before = self._taken
        # Two more than needed, cut by the exact stamps below: float rounding must not lose a reading.
        count = max(0, int((now - self._first) * self._rate / SECOND) + 2 - before)
        stamps = self._stamps(np.arange(before, before + count))
        stamps = stamps[stamps <= now]
        self._taken += len(stamps)
        return stamps

    def next_stamp(self) -> int:
        """The stamp of the next reading."""
        return int(self._stamps(np.array([self._taken]))[0])

    def _stamps(self, number: IntArray) -> IntArray:
        # From the number and not from the stamp before, so that rounding never adds up.
        stamps: IntArray = self._first + np.rint(number * (SECOND / self._rate)).astype(np.int64)
        return stamps


class WindowAverage:
    """Averages a signal over the window of each reading."""

    def __init__(self, window: float, size: int) -> None:
        """Nothing is known yet (window: seconds; 0 reads the signal at the stamp)."""
        self._window = round(window * SECOND)
        self._knot = np.zeros(0, np.int64)
        self._begin, self._end, self._integral = np.zeros((0, size)), np.zeros((0, size)), np.zeros((1, size))

    def add(self, stamp: IntArray, begin: FloatArray, end: FloatArray) -> None:
        """Add segments of the signal (stamp: int64 (N + 1,); begin: float64 (N, D); end: float64 (N, D))."""
        seconds = np.diff(stamp)[:, None] / SECOND
        # A signal that is linear within a segment: the trapezoid is exact.
        gained = (begin + end) * (seconds * 0.5)
        integral = np.cumsum(np.concatenate([self._integral[-1:], gained]), axis=0)[1:]
        self._knot = np.concatenate([self._knot, stamp[1:] if len(self._knot) else stamp])
        self._begin, self._end = np.concatenate([self._begin, begin]), np.concatenate([self._end, end])
        self._integral = np.concatenate([self._integral, integral])

    def read(self, stamp: IntArray) -> FloatArray:
        """The readings at stamps that the segments cover: float64 (N, D); stamp: int64 (N,), nanoseconds."""
        row, passed, whole = self._find(stamp)
        if not self._window:
            out: FloatArray = self._begin[row] + (self._end[row] - self._begin[row]) * (passed / whole)
            return out
        return (self._integral_at(stamp) - self._integral_at(stamp - self._window)) / (self._window / SECOND)

    def forget(self, stamp: int) -> None:
        """Drop what no reading needs any more (stamp: nanoseconds, of the next reading)."""
        needed = int(np.searchsorted(self._knot, stamp - self._window, "left")) - 1
        needed = min(max(needed, 0), max(len(self._begin) - 1, 0))
        self._knot, self._integral = self._knot[needed:], self._integral[needed:]
        self._begin, self._end = self._begin[needed:], self._end[needed:]

    def _integral_at(self, stamp: IntArray) -> FloatArray:
        row, passed, whole = self._find(stamp)
        begin, end = self._begin[row], self._end[row]
        # The integral of the line from the start of the segment: b t + (e - b) t^2 / (2 T).
        at: FloatArray = self._integral[row] + begin * passed + (end - begin) * (passed * passed / (2 * whole))
        return at

    def _find(self, stamp: IntArray) -> tuple[IntArray, FloatArray, FloatArray]:
        """The segment of each time, seconds since its start, and its length; a knot belongs to the segment before."""
        row = np.maximum(np.searchsorted(self._knot, stamp, "left") - 1, 0)
        passed = (stamp - self._knot[row])[:, None] / SECOND
        return row, passed, (self._knot[row + 1] - self._knot[row])[:, None] / SECOND


# What a device makes of rows of the truth: they, and which of the rows they are.
Measure = Callable[[FloatArray, slice], FloatArray]
_GYROSCOPE, _ACCELEROMETER = 1, 2  # Which of an IMU's noises, for their seeds


class InertialSensor:
    """A gyroscope, accelerometer, IMU, magnetometer or GPS receiver."""

    def __init__(self, spec: SensorSpec, seed: int = 0, start: int | None = None) -> None:
        """Make the sensor from its seed and name; the first reading collects from `start` (nanoseconds) on."""
        self.spec = spec
        self._noise = _noise_sources(spec, seed)
        entropy = spec.entropy(seed)
        self._filters = FilteredReadings(spec, entropy)
        self._average = WindowAverage(spec.window, 3 * len(self._noise))
        self._field = np.zeros(3)
        if isinstance(spec, MagnetometerSpec):
            self._field = np.array(magnetic_field(spec.reference, spec.year) if spec.field is None else spec.field)
        self._clock = None if start is None else ReadingClock(spec.rate, spec.window, start)
        self._last: Motion | None = None

    def read(self, motion: Motion) -> Readings:
        """Read what has become due."""
        known = motion if self._last is None else self._last.join(motion)
        if len(known) < 2:
            self._last = known if len(known) else None
            return self._finish(np.zeros(0, np.int64), np.zeros((0, 3 * len(self._noise))))
        if self._clock is None:
            self._clock = ReadingClock(self.spec.rate, self.spec.window, int(known.stamp[0]))
        self._average.add(known.stamp, *self._signal(known))
        self._last = known[-1:]
        stamp = self._clock.due(int(known.stamp[-1]))
        truth = self._average.read(stamp)
        self._average.forget(self._clock.next_stamp())
        return self._finish(stamp, truth)

    def _signal(self, motion: Motion) -> Segments:
        spec = self.spec
        if isinstance(spec, GpsSpec):
            return place(motion, spec.mount)
        if isinstance(spec, MagnetometerSpec):
            return field_in_sensor(motion, spec.mount, self._field)
        if isinstance(spec, ImuSpec):
            turn, force = turn_rate(motion, spec.mount), specific_force(motion, spec.mount)
            return np.hstack([turn[0], force[0]]), np.hstack([turn[1], force[1]])
        return (turn_rate if spec.kind == "gyroscope" else specific_force)(motion, spec.mount)

    def _finish(self, stamp: IntArray, truth: FloatArray) -> Readings:
        noise = np.hstack([source.draw(len(stamp)) for source in self._noise])

        def measure(truth: FloatArray, rows: slice) -> FloatArray:
            return self._with_iron(truth) + noise[rows]

        readings = self._filters.run(stamp, truth, measure)
        if not isinstance(self.spec, GpsSpec):
            return readings
        values, exact = (enu_to_geodetic(points, self.spec.reference) for points in (readings.values, readings.truth))
        return Readings(readings.sensor, readings.kind, readings.stamp, readings.available, values, exact)

    def _with_iron(self, truth: FloatArray) -> FloatArray:
        """What iron on the car makes of the field; every other signal as it is."""
        spec = self.spec
        if not isinstance(spec, MagnetometerSpec) or (spec.soft_iron == IDENTITY and not any(spec.hard_iron)):
            return truth
        # Column by column, so that a row gives the same bits alone and among many; BLAS would not promise that.
        columns = np.array(spec.soft_iron).T
        bent: FloatArray = truth[:, :1] * columns[0] + truth[:, 1:2] * columns[1] + truth[:, 2:] * columns[2]
        bent += np.array(spec.hard_iron)
        return bent


class FilteredReadings:
    """Makes readings of one sensor out of truth and noise, with its filters."""

    def __init__(self, spec: SensorSpec, entropy: tuple[int, ...]) -> None:
        self._spec, self._lag = spec, round(spec.lag * SECOND)
        self._before, self._middle, self._after = (FilterChain(spec.filters, stage, entropy) for stage in STAGES)

    def run(self, stamp: IntArray, truth: FloatArray, measure: Measure) -> Readings:
        """Make readings (stamp: int64 (N,), nanoseconds; truth (N, D), what there is to measure)."""
        spec, available = self._spec, stamp + self._lag
        made = Readings(spec.name, spec.kind, stamp, available, measure(truth, slice(None)), truth)
        if not (self._before or self._middle or self._after):
            return made
        kept, values = np.zeros(len(stamp), np.bool_), made.values.copy()
        for row in range(len(stamp)):
            times = int(stamp[row]), int(available[row])
            reading = self._before.run(SensorReading(spec.name, spec.kind, *times, truth[row], truth[row]))
            if reading is not None:
                measured = measure(np.asarray(reading.values)[None], slice(row, row + 1))[0]
                reading = self._middle.run(replace(reading, values=measured))
            if reading is not None:
                reading = self._after.run(reading)
            if reading is not None:
                kept[row], values[row] = True, reading.values
        return replace(made, values=values).where(kept)


def _noise_sources(spec: SensorSpec, seed: int) -> list[NoiseSource]:
    """The noise of each three axes of a reading."""
    entropy = spec.entropy(seed)
    if isinstance(spec, ImuSpec):
        return [
            NoiseSource(spec.gyroscope, spec.rate, (*entropy, _GYROSCOPE)),
            NoiseSource(spec.accelerometer, spec.rate, (*entropy, _ACCELEROMETER)),
        ]
    if isinstance(spec, InertialSpec):
        return [NoiseSource(spec.noise, spec.rate, (*entropy, 0))]
    raise UsageError(f"{spec.name}: a sensor of kind {spec.kind} is not computed from motion alone")


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
    # Rigid body: v + omega x r at the wheels, half a track to each side.
    left, right = velocity[:, 0] - turn * track / 2, velocity[:, 0] + turn * track / 2
    across = velocity[:, 1] + turn * wheelbase
    # A wheel that steers points along its own velocity, and rolls at its length.
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
