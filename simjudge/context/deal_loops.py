"""The compiled loops of `simjudge.context.power`: W1 of every row in every deal of the sampling units."""
# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import numpy as np
from numba import njit

from simjudge.context.resample_loops import add_row, integrate


@njit(cache=True, nogil=True)
def add_dealt(start, rank, own_start, own_frame, units, frame, performance, in_a, in_b, min_batch, sums, counts):
    """Add W1 of every row in every deal, once for each of its own samples that then counts for A."""
    tries = in_a.shape[1]
    a, b, n_a, n_b = np.empty(tries), np.empty(tries), np.empty(tries), np.empty(tries)
    area, own = np.empty(tries), np.empty(tries)
    for r in range(len(start) - 1):
        first, last = start[r], start[r + 1]
        n_a[:] = 0
        n_b[:] = 0
        for k in range(first, last):
            add_row(n_a, in_a[frame[rank[k]]])
            add_row(n_b, in_b[frame[rank[k]]])
        own[:] = 0
        for m in range(own_start[r], own_start[r + 1]):
            add_row(own, in_a[own_frame[m]])
            add_row(own, in_a[own_frame[m] + units])
        a[:] = 0
        b[:] = 0
        area[:] = 0
        for k in range(first, last - 1):
            f = frame[rank[k]]
            add_row(a, in_a[f])
            add_row(b, in_b[f])
            step = performance[rank[k + 1]] - performance[rank[k]]
            if step > 0:
                integrate(area, a, n_a, b, n_b, step)
        for p in range(tries):
            if own[p] > 0 and n_a[p] >= min_batch and n_b[p] >= min_batch:
                sums[p] += own[p] * area[p] / (n_a[p] * n_b[p])
                counts[p] += own[p]
