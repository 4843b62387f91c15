"""The noise of an IMU from readings of it while it stands, by overlapping Allan deviations, and its sensor file.

For readings y of a constant, averaged over clusters of m readings (tau = m / rate), the Allan variance is half the
mean square of the difference of neighbouring clusters; overlapping: of all clusters, wherever they begin. White noise
of density N gives N^2 / tau (slope -1/2 of the deviation), a random walk K of the bias gives K^2 tau / 3 (slope +1/2).

Source:
    IEEE Std 952-1997, annex C; D. W. Allan, "Statistics of atomic frequency standards", Proc. IEEE 54 (1966).
    W. J. Riley, "Handbook of frequency stability analysis", NIST SP 1065 (2008), 5.2.4 and 5.4.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.sim.sensors.inertial.motion import GRAVITY, SECOND
from simjudge.sim.sensors.inertial.sensor_tables import FLATNESS

_FEWEST_CLUSTERS = 9  # Clusters that do not overlap and yet are averaged: fewer tell a variance to a factor of two only
_PER_DECADE = 10
# How many times what independent octaves would give N^2 and K^2 scatter at most: found with simulated series (N 1.4, K
# 1.4 to 2.1 times; `test_stated_errors_are_those_of_repetitions`).
_CORRELATED = np.array([1.4, 2.0])
_SIGNIFICANT = 2.0  # Standard errors that a random walk must be above 0 by to be believed


@dataclass(frozen=True, eq=False, repr=False)
class AllanDeviation(ShortRepr):
    """Allan deviation of one or several axes."""

    tau: FloatArray  # float64 (T,), seconds
    deviation: FloatArray  # float64 (T, D), in the readings' unit
    size: IntArray  # int64 (T,), readings of a cluster
    count: int


@dataclass(frozen=True)
class FittedNoise:
    """Noise of one axis."""

    density: float  # N, unit / sqrt(Hz)
    density_error: float
    walk: float  # K, unit / sqrt(s); 0 where none is seen
    walk_error: float  # its standard error; where none is seen, a K of twice that would have been
    lowest: float
    lowest_at: float  # where it is, seconds

    def deviation(self, rate: float) -> float:
        """s_a: standard deviation of the white noise of one reading (rate: readings a second)."""
        return self.density * math.sqrt(rate)

    @property
    def bias(self) -> float:
        """b0: the bias instability that the lowest Allan deviation stands for; 0 where no walk is seen."""
        return self.lowest / FLATNESS if self.walk else 0.0

    @property
    def bias_time(self) -> float:
        """t_b, seconds: the bias walks by b0 in it."""
        return (self.bias / self.walk) ** 2 if self.walk else 1.0


def allan_deviation(readings: FloatArray, rate: float) -> AllanDeviation:
    """Overlapping Allan deviation of readings (N, D) or (N,) at ten times a decade, from one to a ninth of all."""
    values = readings.reshape(len(readings), -1)
    values = values - values.mean(axis=0)
    summed = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)])
    largest = len(values) // _FEWEST_CLUSTERS
    steps = np.arange(int(math.log10(max(largest, 1)) * _PER_DECADE + 1e-9) + 1) / _PER_DECADE
    sizes = np.unique(np.rint(10**steps).astype(np.int64))
    rows = []
    for size in sizes.tolist():
        second = summed[2 * size :] - 2 * summed[size:-size] + summed[: -2 * size]
        rows.append(np.sqrt(np.mean(np.square(second), axis=0) / 2) / size)
    return AllanDeviation(sizes / rate, np.array(rows).reshape(len(sizes), -1), sizes, len(values))


def fit_noise(allan: AllanDeviation, axis: int) -> FittedNoise:
    """White noise and random walk that give an Allan deviation.

    Allan variances an octave apart are fitted by N^2 / tau + K^2 tau / 3, both terms 0 or more, each weighted by its
    relative error: sqrt(2 / degrees of freedom). They are of the same readings, which widens the stated errors.
    """
    variance = np.square(allan.deviation[:, axis])
    lowest = int(np.argmin(variance))
    if not variance.any():
        return FittedNoise(0.0, 0.0, 0.0, 0.0, 0.0, float(allan.tau[lowest]))
    white, drift, covariance = _fit(allan, np.where(variance > 0, variance, variance[variance > 0].min()))
    errors = _CORRELATED * np.sqrt(np.diag(covariance))
    if drift <= _SIGNIFICANT * errors[1]:
        drift = 0.0
    density, walk = math.sqrt(white), math.sqrt(drift)
    return FittedNoise(
        density=density,
        density_error=float(errors[0]) / (2 * density) if density else 0.0,
        walk=walk,
        walk_error=float(errors[1]) / (2 * walk) if walk else math.sqrt(errors[1]),
        lowest=float(allan.deviation[lowest, axis]),
        lowest_at=float(allan.tau[lowest]),
    )


def _fit(allan: AllanDeviation, variance: FloatArray) -> tuple[float, float, FloatArray]:
    """N^2, K^2 and their covariance; weighted by the fit itself, again and again, so that no scatter pulls it down."""
    octaves = 2.0 ** np.arange(math.floor(math.log2(allan.size[-1])) + 1)
    rows = np.unique(np.abs(np.log(allan.size[:, None] / octaves)).argmin(axis=0))
    tau, variance, freedom = allan.tau[rows], variance[rows], _degrees_of_freedom(allan.size[rows], allan.count)
    terms = np.stack([1 / tau, tau / 3], -1)
    expected, found = variance, np.zeros(2)
    for _ in range(20):
        weight = np.sqrt(freedom / 2) / expected
        scale = np.linalg.norm(terms * weight[:, None], axis=0)
        found = nnls(terms * weight[:, None] / scale, variance * weight)[0] / scale
        expected = np.maximum(terms @ found, 1e-12 * variance)
    covariance = np.asarray(np.linalg.inv((terms * weight[:, None]).T @ (terms * weight[:, None])), np.float64)
    return float(found[0]), float(found[1]), covariance


def _degrees_of_freedom(size: IntArray, count: int) -> FloatArray:
    """Of overlapping Allan variances: the fewer of white noise's and of a random walk's (NIST SP 1065, table 5)."""
    n, m = float(count), size.astype(np.float64)
    white = (3 * (n - 1) / (2 * m) - 2 * (n - 2) / n) * 4 * m**2 / (4 * m**2 + 5)
    walk = (n - 2) / m * ((n - 1) ** 2 - 3 * m * (n - 1) + 4 * m**2) / (n - 3) ** 2
    fewest: FloatArray = np.minimum(white, walk)
    return fewest


PARTS = ("gyroscope", "accelerometer")
UNITS = {"gyroscope": "rad/s", "accelerometer": "m/s^2"}
SHORTEST = 60.0  # Seconds: what is shorter tells the white noise only roughly, and of a drift nothing
_FEWEST = 1000  # Readings
# How far the mean over a second may be from the median: about 1 degree/s, and what 0.9 degrees of tilt make of g.
_MOVED = {"gyroscope": 0.02, "accelerometer": 0.15}
_SIGMAS = 6.0  # Standard errors of such a mean that are believed to be noise
_TURNING = 0.2  # Rad/s: no gyroscope in use is off by so much
_OFF = 1.0  # M/s^2 that the mean acceleration may differ from gravity by
_MOST_MISSING = 0.01  # Share of the readings that may be missing
_LONG = 5.0  # Times the usual interval: longer ones lack readings


@dataclass(frozen=True, eq=False, repr=False)
class ImuSeries(ShortRepr):
    """Readings of an IMU, in order of time."""

    name: str  # what they were read from, for messages
    stamp: IntArray  # int64 (N,), nanoseconds, strictly increasing
    # By "gyroscope" (rad/s) and "accelerometer" (m/s^2), as far as the IMU has them: float64 (N, 3).
    parts: dict[str, FloatArray]

    @property
    def seconds(self) -> float:
        """From the first reading to the last."""
        return float(self.stamp[-1] - self.stamp[0]) / SECOND if len(self.stamp) else 0.0

    def between(self, begin: float, end: float | None) -> ImuSeries:
        """A part of the series (begin, end: seconds since the first reading; None: the last)."""
        at = (self.stamp - self.stamp[:1]) / SECOND
        kept = (at >= begin) & (at <= (np.inf if end is None else end))
        return ImuSeries(self.name, self.stamp[kept], {part: values[kept] for part, values in self.parts.items()})


@dataclass(frozen=True, eq=False, repr=False)
class ImuCalibration(ShortRepr):
    """What a standing IMU tells of its noise."""

    series: ImuSeries
    rate: float  # readings a second
    missing: int  # readings that are missing between the others
    allan: dict[str, AllanDeviation]  # Allan deviation of each part, its three axes
    noise: dict[str, tuple[FittedNoise, ...]]
    mean: dict[str, FloatArray]  # of each part, (3,), in its unit

    def sensor_file(self) -> str:
        """The sensor file with this noise."""
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        series, last = self.series, max(allan.tau[-1] for allan in self.allan.values())
        count, seconds = len(series.stamp), f"{series.seconds:.0f}"
        yield f"# Noise of {' '.join(series.name.split())}."
        yield f"# {count} readings in {seconds} s, standing, by simjudge sim calibrate imu: overlapping Allan deviation"
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
    noise = {part: tuple(fit_noise(deviation, axis) for axis in range(3)) for part, deviation in allan.items()}
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
