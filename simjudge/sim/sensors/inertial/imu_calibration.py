"""The noise of an IMU from readings of it while it stands: white noise, drift, and the sensor file that has them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.sim.sensors.inertial.allan import AllanDeviation, FittedNoise, allan_deviation, fit_noise
from simjudge.sim.sensors.inertial.motion import SECOND
from simjudge.sim.sensors.inertial.signals import GRAVITY

PARTS = ("gyroscope", "accelerometer")
UNITS = {"gyroscope": "rad/s", "accelerometer": "m/s^2"}
SHORTEST = 60.0
"""Seconds: what is shorter tells the white noise only roughly, and of a drift nothing."""
_FEWEST = 1000
"""Readings."""
_MOVED = {"gyroscope": 0.02, "accelerometer": 0.15}
"""How far the mean over a second may be from the median: about 1 degree/s, and what 0.9 degrees of tilt make of g."""
_SIGMAS = 6.0
"""Standard errors of such a mean that are believed to be noise."""
_TURNING = 0.2
"""Rad/s: no gyroscope in use is off by so much."""
_OFF = 1.0
"""M/s^2 that the mean acceleration may differ from gravity by."""
_MOST_MISSING = 0.01
"""Share of the readings that may be missing."""
_LONG = 5.0
"""Times the usual interval: longer ones lack readings."""


@dataclass(frozen=True, eq=False, repr=False)
class ImuSeries(ShortRepr):
    """Readings of an IMU, in order of time.

    Attributes:
        name: what they were read from, for messages.
        stamp: int64 (N,), nanoseconds, strictly increasing.
        parts: by "gyroscope" (rad/s) and "accelerometer" (m/s^2), as far as the IMU has them: float64 (N, 3).
    """

    name: str
    stamp: IntArray
    parts: dict[str, FloatArray]

    @property
    def seconds(self) -> float:
        """From the first reading to the last."""
        return float(self.stamp[-1] - self.stamp[0]) / SECOND if len(self.stamp) else 0.0

    def between(self, begin: float, end: float | None) -> ImuSeries:
        """A part of the series.

        Args:
            begin, end: seconds since the first reading; None: the last.
        """
        at = (self.stamp - self.stamp[:1]) / SECOND
        kept = (at >= begin) & (at <= (np.inf if end is None else end))
        return ImuSeries(self.name, self.stamp[kept], {part: values[kept] for part, values in self.parts.items()})


@dataclass(frozen=True, eq=False, repr=False)
class ImuCalibration(ShortRepr):
    """What a standing IMU tells of its noise.

    Attributes:
        rate: readings a second.
        missing: readings that are missing between the others.
        allan: Allan deviation of each part, its three axes.
        mean: of each part, (3,), in its unit.
    """

    series: ImuSeries
    rate: float
    missing: int
    allan: dict[str, AllanDeviation]
    noise: dict[str, tuple[FittedNoise, ...]]
    mean: dict[str, FloatArray]

    def sensor_file(self) -> str:
        """The sensor file with this noise."""
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        series, last = self.series, max(allan.tau[-1] for allan in self.allan.values())
        count, seconds = len(series.stamp), f"{series.seconds:.0f}"
        yield f"# Noise of {' '.join(series.name.split())}."
        yield f"# {count} readings in {seconds} s of standing, by simjudge calibrate imu: overlapping Allan deviation"
        yield f"# up to {last:.4g} s. mean: what the gyroscope read. bias: deviation is b0, time is t_b in seconds;"
        yield "# they count as b0 / sqrt(t_b)."
        yield "imu:"
        yield "  kind: imu"
        yield f"  rate: {self.rate:.6g}"
        yield "  noise:"
        for part, noise in self.noise.items():
            yield f"    {part}:   # {UNITS[part]}"
            if part == "gyroscope":
                yield f"      mean: {_listed(self.mean[part].tolist())}"
            yield f"      deviation: {_listed([axis.deviation(self.rate) for axis in noise])}"
            if any(axis.walk for axis in noise):
                bias, time = [axis.bias for axis in noise], [axis.bias_time for axis in noise]
                yield f"      bias: {{deviation: {_listed(bias)}, time: {_listed(time)}}}"
            else:
                yield f"      # no drift is seen in {seconds} s; a longer recording may show one"


def calibrate_series(series: ImuSeries) -> ImuCalibration:
    """Fit the noise of an IMU that stands."""
    _check_length(series)
    rate, missing = _rate(series)
    for part, values in series.parts.items():
        _check_standing(series, part, values, rate)
    allan = {part: allan_deviation(values, rate) for part, values in series.parts.items()}
    noise = {part: tuple(fit_noise(each, axis) for axis in range(3)) for part, each in allan.items()}
    mean = {part: values.mean(axis=0) for part, values in series.parts.items()}
    return ImuCalibration(series, rate, missing, allan, noise, mean)


def _check_length(series: ImuSeries) -> None:
    if series.seconds < SHORTEST or len(series.stamp) < _FEWEST:
        raise SimjudgeError(
            f"{series.name}: {len(series.stamp)} readings in {series.seconds:.3g} s are too few; record {SHORTEST:g} s"
            f" or more with {_FEWEST} readings (an hour shows the drift)"
        )


def _rate(series: ImuSeries) -> tuple[float, int]:
    """Readings a second, and how many are missing."""
    gaps = np.diff(series.stamp)
    usual = float(np.median(gaps))
    typical = float(np.mean(gaps[gaps <= _LONG * max(usual, 1.0)]))
    long = gaps > _LONG * typical
    missing = round(float((gaps[long] / typical - 1).sum()))
    if missing > _MOST_MISSING * len(series.stamp):
        row = int(np.argmax(gaps))
        raise SimjudgeError(
            f"{series.name}: {missing} readings are missing, the most ({gaps[row] / SECOND:.3g} s) from"
            f" {(series.stamp[row] - series.stamp[0]) / SECOND:.3f} s on; take a part without gaps (--begin, --end)"
        )
    return SECOND / typical, missing


def _check_standing(series: ImuSeries, part: str, values: FloatArray, rate: float) -> None:
    """Refuse an IMU that moves, or whose readings are in other units."""
    count = max(1, round(rate))
    blocks = values[: len(values) // count * count].reshape(-1, count, 3)
    means, middle = blocks.mean(axis=1), np.median(values, axis=0)
    white = np.median(blocks.std(axis=1), axis=0) / np.sqrt(count)
    away = np.abs(means - middle)
    if (away > np.maximum(_MOVED[part], _SIGMAS * white)).any():
        row = int(np.argmax(away.max(axis=1)))
        raise SimjudgeError(
            f"{series.name}: the IMU moves: after {row * count / rate:.0f} s its {part} is"
            f" {away[row].max():.3g} {UNITS[part]} from the rest; take a part in which it stands (--begin, --end)"
        )
    if part == "gyroscope" and np.abs(middle).max() > _TURNING:
        raise SimjudgeError(
            f"{series.name}: the IMU turns by {np.abs(middle).max():.3g} rad/s all the time; record it while it stands"
        )
    strength = float(np.linalg.norm(middle))
    # Drivers that take gravity off are common; their noise is the same.
    if part == "accelerometer" and strength > _OFF / 2 and abs(strength - GRAVITY) > _OFF:
        unit = "is it in g? " if 0.9 < strength < 1.1 else ""
        raise SimjudgeError(
            f"{series.name}: a standing accelerometer reads 9.81 m/s^2 (0 without gravity), this one {strength:.3g};"
            f" {unit}sensor_msgs/Imu holds m/s^2"
        )


def _listed(values: list[float]) -> str:
    return f"[{', '.join(f'{value:.5g}' if value else '0.0' for value in values)}]"
