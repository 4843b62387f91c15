"""How range noise and drop-out of lidars are distributed: A's, B's, and B's with the fitted numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.sim.sensors.lidar.cloud_statistics import RingSamples, RingStatistics

LIDAR_NAMES = ("a", "before", "after")
"""Whose: A's clouds, B's as they are, and B's with the fitted numbers."""
_BINS = 41
_WIDEST = 4.0
"""Half width of the histogram, in standard deviations of the noisiest lidar."""
_LEAST_WIDTH = 0.001
"""Half width of a histogram without noise, metres."""
_LEAST_PAIRS = 30
"""Pairs of points on which a ring's drop-out is shown."""


@dataclass(frozen=True, repr=False, eq=False)
class RingDistributions(ShortRepr):
    """Range noise and drop-out of three lidars, in the order of `LIDAR_NAMES`.

    Attributes:
        edges: of the bins of range noise, (K + 1,), metres.
        density: (3, K), share of the points per metre of deviation.
        outside: (3,), share of the points beyond the outermost edges.
        ring: of each, numbers of the rings with enough points, (R,).
        ring_drop_out: of each, drop-out of these rings, (R,), 0 to 1.
    """

    statistics: tuple[RingStatistics, ...]
    edges: FloatArray
    density: FloatArray
    outside: FloatArray
    ring: tuple[IntArray, ...]
    ring_drop_out: tuple[FloatArray, ...]

    def content(self) -> dict[str, Any]:
        """The entry of fit.json."""
        return {name: vars(each) for name, each in zip(LIDAR_NAMES, self.statistics, strict=True)}


def ring_distributions(samples: Sequence[RingSamples]) -> RingDistributions:
    """The distributions of three lidars, with the same bins.

    Args:
        samples: of A, of B as it is, and of B with the fitted numbers.
    """
    statistics = tuple(each.statistics() for each in samples)
    half = max(_LEAST_WIDTH, _WIDEST * max(each.range_noise for each in statistics))
    edges = np.linspace(-half, half, _BINS + 1)
    counts = np.array([np.histogram(each.deviation, edges)[0] for each in samples], np.float64)
    total = np.array([len(each.deviation) for each in samples], np.float64)[:, None]
    shown = [each.whole + each.lost >= _LEAST_PAIRS for each in samples]
    return RingDistributions(
        statistics, edges, counts / total / np.diff(edges), 1 - counts.sum(axis=1) / total[:, 0],
        tuple(each.ring[keep] for each, keep in zip(samples, shown, strict=True)),
        tuple((each.lost / np.maximum(each.whole + each.lost, 1))[keep]
              for each, keep in zip(samples, shown, strict=True)),
    )  # fmt: skip
