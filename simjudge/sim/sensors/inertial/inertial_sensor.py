"""Sensors computed from the motion of the body that carries them: generate, noise, filters, lag.

    sensor = InertialSensor(spec, seed)
    readings = sensor.read(motion)         # of a whole drive, or again and again of the next samples

The truth is averaged over the window, then come the filters of the stage "generate", noise, the stage "filter", and,
when the lag is over, the stage "access". Samples give the same readings one at a time and all at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.errors import UsageError
from simjudge.sim.sensors.inertial.earth import enu_to_geodetic, magnetic_field
from simjudge.sim.sensors.inertial.inertial_fields import ImuSpec, InertialSpec
from simjudge.sim.sensors.inertial.motion import SECOND, Motion
from simjudge.sim.sensors.inertial.noise import NoiseSource
from simjudge.sim.sensors.inertial.position_fields import IDENTITY, GpsSpec, MagnetometerSpec
from simjudge.sim.sensors.inertial.readings import Readings
from simjudge.sim.sensors.inertial.signals import Segments, field_in_sensor, place, specific_force, turn_rate
from simjudge.sim.sensors.inertial.window import ReadingClock, WindowAverage
from simjudge.sim.sensors.reading_filters import STAGES, FilterChain, SensorReading
from simjudge.sim.sensors.sensor_spec import SensorSpec

Measure = Callable[[FloatArray, slice], FloatArray]
"""What a device makes of rows of the truth: they, and which of the rows they are."""
_GYROSCOPE, _ACCELEROMETER = 1, 2
"""Which of an IMU's noises, for their seeds."""


class InertialSensor:
    """A gyroscope, accelerometer, IMU, magnetometer or GPS receiver."""

    def __init__(self, spec: SensorSpec, seed: int = 0, start: int | None = None) -> None:
        """Make the sensor; it has read nothing yet.

        Args:
            seed: of its random numbers, which follow from the seed and the sensor's name.
            start: nanoseconds at which the first reading begins to collect; None: the first sample.
        """
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
        """Read what has become due.

        Args:
            motion: of the body that carries the sensor: all of it, or the samples since the last call.

        Returns:
            The readings whose windows end within the motion; when they may be read, they say themselves.
        """
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
        """Noise, filters, and the unit of a reading."""
        noise = np.hstack([source.draw(len(stamp)) for source in self._noise])

        def measure(truth: FloatArray, rows: slice) -> FloatArray:
            return self._with_iron(truth) + noise[rows]

        readings = self._filters.run(stamp, truth, measure)
        if not isinstance(self.spec, GpsSpec):
            return readings
        values, exact = (enu_to_geodetic(each, self.spec.reference) for each in (readings.values, readings.truth))
        return Readings(readings.sensor, readings.kind, readings.stamp, readings.available, values, exact)

    def _with_iron(self, truth: FloatArray) -> FloatArray:
        """What iron on the car makes of the field; every other signal as it is."""
        spec = self.spec
        if not isinstance(spec, MagnetometerSpec) or (spec.soft_iron == IDENTITY and not any(spec.hard_iron)):
            return truth
        columns = np.array(spec.soft_iron).T
        bent: FloatArray = truth[:, :1] * columns[0] + truth[:, 1:2] * columns[1] + truth[:, 2:] * columns[2]
        bent += np.array(spec.hard_iron)
        return bent


class FilteredReadings:
    """Makes readings of one sensor out of truth and noise, with its filters."""

    def __init__(self, spec: SensorSpec, entropy: tuple[int, ...]) -> None:
        """Prepare the filters of all stages."""
        self._spec, self._lag = spec, round(spec.lag * SECOND)
        self._before, self._middle, self._after = (FilterChain(spec.filters, stage, entropy) for stage in STAGES)

    def run(self, stamp: IntArray, truth: FloatArray, measure: Measure) -> Readings:
        """Make readings.

        Args:
            stamp: int64 (N,), nanoseconds.
            truth: (N, D), what there is to measure.
        """
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
