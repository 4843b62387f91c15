"""The divergence of A's lidar, from how the points on labelled things fall off with distance.

B was rendered with several divergences. Of each rendering, the ratio of its points on things to A's is taken in bins of
distance. The divergence is the one at which this ratio is the same at all distances (least squares, weighted by the
bins' variances, between the renderings by monotone cubic interpolation); what it is, is free, because things of another
size or with fewer returns change it alike near by and far away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.stats import t as student

from simjudge.core.arrays import FloatArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.sim.sensors.lidar.cloud_statistics import ObjectPoints

_BINS = 6
_LEAST_IN_BIN = 8
"""Things that a bin needs in each set."""
_LEAST_BINS = 3
_BLOCKS = 10
"""Blocks of neighbouring clouds that are left out in turn, for the interval."""
_FINE = 1001
"""Divergences between the first and the last rendering that are looked at."""


@dataclass(frozen=True, repr=False, eq=False)
class DivergenceFit(ShortRepr):
    """What points on things tell of the width of beams.

    Attributes:
        low, high: 95 % interval, by blocks of clouds left out in turn (jackknife).
        rendered: (K,), divergences of the renderings, ascending, mrad.
        misfit: (K,), chi square of each: how unlike the ratios are in the bins, over their number less one.
        edges: (M + 1,), of the bins of distance, metres.
        points: (K + 1, M), mean points on a thing: of A, then of each rendering.
        at_edge: whether the value is the least or the largest that was rendered.
    """

    value: float
    low: float
    high: float
    rendered: FloatArray
    misfit: FloatArray
    edges: FloatArray
    points: FloatArray
    at_edge: bool

    @property
    def nearest(self) -> int:
        """Number of the rendering whose divergence is nearest to the value."""
        return int(np.argmin(np.abs(self.rendered - self.value)))

    def content(self) -> dict[str, Any]:
        """The entry of fit.json."""
        names = ("rendered", "misfit", "edges", "points")
        arrays = {name: getattr(self, name).tolist() for name in names}
        return {"value": self.value, "low": self.low, "high": self.high, "at_edge": self.at_edge, **arrays}


def fit_divergence(
    a: ObjectPoints, renderings: Sequence[ObjectPoints], divergences: Sequence[float], clouds: int
) -> DivergenceFit:
    """Find the divergence at which points on things fall off with distance as A's do.

    Args:
        divergences: of these, horizontal, mrad, ascending.
    """
    edges = _bins(a, renderings)
    given = np.asarray(divergences, np.float64)
    points, misfit, value = _estimate(a, renderings, given, edges)
    blocks = np.arange(clouds) * _BLOCKS // max(clouds, 1)
    values: list[float] = []
    for block in np.unique(blocks):
        rows = np.flatnonzero(blocks != block)
        some = [each.of_clouds(rows) for each in renderings]
        values.append(_estimate(a.of_clouds(rows), some, given, edges)[2])
    left, count = np.array(values), len(values)
    half = student.ppf(0.975, count - 1) * np.sqrt((count - 1) / count * ((left - left.mean()) ** 2).sum())
    low, high = max(0.0, value - float(half)), value + float(half)
    return DivergenceFit(value, low, high, given, misfit, edges, points, value in {given[0], given[-1]})


def _bins(a: ObjectPoints, renderings: Sequence[ObjectPoints]) -> FloatArray:
    """Edges between which A has as many things each, and every set enough."""
    for count in range(_BINS, _LEAST_BINS - 1, -1):
        if len(a.distance) < count:
            continue
        edges: FloatArray = np.quantile(a.distance, np.linspace(0, 1, count + 1))
        edges[-1] = np.nextafter(edges[-1], np.inf)
        least = min(int(np.histogram(each.distance, edges)[0].min()) for each in (a, *renderings))
        if least >= _LEAST_IN_BIN and (np.diff(edges) > 0).all():
            return edges
    raise SimjudgeError(
        f"{len(a.distance)} labelled things with points in A, {min(len(each.distance) for each in renderings)} in B:"
        f" {_LEAST_BINS} distances with {_LEAST_IN_BIN} each are needed to tell the divergence"
    )


def _estimate(
    a: ObjectPoints, renderings: Sequence[ObjectPoints], divergences: FloatArray, edges: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Mean points of A and the renderings, the renderings' misfit, and the divergence."""
    sums = [_moments(each, edges) for each in (a, *renderings)]
    points = np.array([mean for mean, _ in sums])
    variance = np.array([spread for _, spread in sums])
    ratio = np.log(points[1:] / points[0])
    # The renderings share their noise, and A's is in all of them: one variance a bin serves all.
    weight = 1 / (variance[0] + variance[1:].mean(axis=0))
    fine = np.linspace(divergences[0], divergences[-1], _FINE)
    between = PchipInterpolator(divergences, ratio, axis=0)(fine)
    misfit = _unlike(ratio, weight)
    return points, misfit / (len(edges) - 2), float(fine[np.argmin(_unlike(between, weight))])


def _moments(given: ObjectPoints, edges: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Of each bin: mean points of a thing, and the variance of its logarithm."""
    place = np.digitize(given.distance, edges) - 1
    means, spreads = [], []
    for number in range(len(edges) - 1):
        points = given.points[place == number]
        mean = points.mean() if len(points) else np.nan
        means.append(mean)
        spreads.append(max(points.var(), mean) / max(len(points), 1) / mean**2)
    return np.array(means), np.array(spreads)


def _unlike(ratio: FloatArray, weight: FloatArray) -> FloatArray:
    """Chi square of logarithms of ratios (K, M) about their weighted means."""
    middle = (ratio * weight).sum(axis=1, keepdims=True) / weight.sum()
    unlike: FloatArray = (weight * (ratio - middle) ** 2).sum(axis=1)
    return unlike
