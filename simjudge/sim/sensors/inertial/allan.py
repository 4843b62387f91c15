"""Overlapping Allan deviation, and the noise that it tells: white noise N and a bias that walks at random K.

For readings y of a constant, averaged over clusters of m readings (tau = m / rate), the Allan variance is half the
mean square of the difference of neighbouring clusters; overlapping: of all clusters, wherever they begin. White noise
of density N gives N^2 / tau (slope -1/2 of the deviation), a random walk K of the bias gives K^2 tau / 3 (slope +1/2).

Source:
    IEEE Std 952-1997, annex C; D. W. Allan, "Statistics of atomic frequency standards", Proc. IEEE 54 (1966).
    W. J. Riley, "Handbook of frequency stability analysis", NIST SP 1065 (2008), 5.2.4 and 5.4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.sim.sensors.inertial.noise import FLATNESS

_FEWEST_CLUSTERS = 9
"""Clusters that do not overlap and yet are averaged: fewer tell a variance to a factor of two only."""
_PER_DECADE = 10
_CORRELATED = np.array([1.4, 2.0])
"""How many times what independent octaves would give N^2 and K^2 scatter at most: found with simulated series (N 1.4,
K 1.4 to 2.1 times; `test_stated_errors_are_those_of_repetitions`)."""
_SIGNIFICANT = 2.0
"""Standard errors that a random walk must be above 0 by to be believed."""


@dataclass(frozen=True, eq=False, repr=False)
class AllanDeviation(ShortRepr):
    """Allan deviation of one or several axes.

    Attributes:
        tau: float64 (T,), seconds.
        deviation: float64 (T, D), in the readings' unit.
        size: int64 (T,), readings of a cluster.
    """

    tau: FloatArray
    deviation: FloatArray
    size: IntArray
    count: int


@dataclass(frozen=True)
class FittedNoise:
    """Noise of one axis.

    Attributes:
        density: N, unit / sqrt(Hz).
        walk: K, unit / sqrt(s); 0 where none is seen.
        walk_error: its standard error; where none is seen, a K of twice that would have been.
        lowest_at: where it is, seconds.
    """

    density: float
    density_error: float
    walk: float
    walk_error: float
    lowest: float
    lowest_at: float

    def deviation(self, rate: float) -> float:
        """s_a: standard deviation of the white noise of one reading.

        Args:
            rate: readings a second.
        """
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
    """Overlapping Allan deviation at ten times a decade, from one reading to a ninth of all.

    Args:
        readings: (N, D) or (N,), of a sensor that does not move.
        rate: readings a second.
    """
    values = readings.reshape(len(readings), -1)
    values = values - values.mean(axis=0)
    summed = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)])
    sizes = _cluster_sizes(len(values))
    rows = []
    for size in sizes.tolist():
        second = summed[2 * size :] - 2 * summed[size:-size] + summed[: -2 * size]
        rows.append(np.sqrt(np.mean(np.square(second), axis=0) / 2) / size)
    return AllanDeviation(sizes / rate, np.array(rows).reshape(len(sizes), -1), sizes, len(values))


def _cluster_sizes(count: int) -> IntArray:
    largest = count // _FEWEST_CLUSTERS
    steps = np.arange(int(math.log10(max(largest, 1)) * _PER_DECADE + 1e-9) + 1) / _PER_DECADE
    return np.unique(np.rint(10**steps).astype(np.int64))


def fit_noise(allan: AllanDeviation, axis: int) -> FittedNoise:
    """White noise and random walk that give an Allan deviation.

    Allan variances an octave apart are fitted by N^2 / tau + K^2 tau / 3, both terms 0 or more, each weighted by its
    relative error: sqrt(2 / degrees of freedom). They are of the same readings, which widens the stated errors.

    Returns:
        The noise of that axis; a walk within two standard errors of 0 is none.
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
