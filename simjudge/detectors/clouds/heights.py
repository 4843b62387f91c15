"""Heights of clusters, and of the ground below them; compiled loops."""

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def extents(z, numbers, count):  # type: ignore[no-untyped-def]
    """The lowest and the highest z of each cluster.

    Args:
        z: float64 (N,), metres.
        numbers: int64 (N,), of each point's cluster; -1 for none.
    """
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    for row in range(len(z)):
        if numbers[row] >= 0:
            low[numbers[row]] = min(low[numbers[row]], z[row])
            high[numbers[row]] = max(high[numbers[row]], z[row])
    return low, high


@njit(cache=True, nogil=True)
def nearest_z(ground, places):  # type: ignore[no-untyped-def]
    """The z of the ground point nearest to each place, as seen from above; NaN without ground.

    Args:
        ground: float64 (N, 3), metres.
        places: float64 (K, 2), metres.
    """
    out = np.full(len(places), np.nan)
    for place in range(len(places)):
        least = math.inf
        for row in range(len(ground)):
            distance = (ground[row, 0] - places[place, 0]) ** 2 + (ground[row, 1] - places[place, 1]) ** 2
            if distance < least:
                least, out[place] = distance, ground[row, 2]
    return out
