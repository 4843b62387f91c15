"""What two lidars say of objects over range: means in bins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.objects.lidar_measurements import OBJECT_METRICS, LidarMeasurements


@dataclass(frozen=True, eq=False, repr=False)
class RangeMeans(ShortRepr):
    """One metric of one lidar in B bins of range, over all objects and scans.

    Attributes:
        mean: float64 (B,), NaN where there is no value.
        deviation: float64 (B,), standard deviation, likewise.
        count: int64 (B,), values.
    """

    mean: FloatArray
    deviation: FloatArray
    count: IntArray


@dataclass(frozen=True, eq=False, repr=False)
class RangeTable(ShortRepr):
    """One metric of objects over range, real and virtual.

    Attributes:
        metric: its name, as in the series.
        edges: float64 (B + 1,), metres; a bin holds its lower edge.
    """

    metric: str
    unit: str
    edges: FloatArray
    real: RangeMeans
    virtual: RangeMeans


def range_tables(real: LidarMeasurements, virtual: LidarMeasurements, edges: tuple[float, ...]) -> list[RangeTable]:
    """Take the mean of each metric of objects in bins of range.

    Args:
        edges: metres, ascending.
    """
    out = []
    bounds = np.array(edges, np.float64)
    for metric, unit in OBJECT_METRICS.items():
        means = [_means(each.range, each.objects[metric], bounds) for each in (real, virtual)]
        if any(each.count.any() for each in means):
            out.append(RangeTable(metric, unit, bounds, *means))
    return out


def _means(distance: FloatArray, values: FloatArray, edges: FloatArray) -> RangeMeans:
    known = np.isfinite(distance) & np.isfinite(values)
    bins = np.searchsorted(edges, distance[known], side="right") - 1
    inside = (bins >= 0) & (bins < len(edges) - 1)
    bins, chosen = bins[inside], values[known][inside]
    size = len(edges) - 1
    count = np.bincount(bins, minlength=size)
    with np.errstate(invalid="ignore"):
        mean = np.bincount(bins, chosen, size) / count
        deviation = np.sqrt(np.bincount(bins, (chosen - mean[bins]) ** 2, size) / count)
    return RangeMeans(mean, deviation, count.astype(np.int64))
