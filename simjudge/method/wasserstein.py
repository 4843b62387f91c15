"""W1 of two empirical distributions by one sorted merge.

W1 = integral |F_A - F_B|. Over pooled values sorted ascending, with a_k of the first k values from A and b_k from B, it
is sum_k |a_k nB - b_k nA| (v_(k+1) - v_k) / (nA nB): the counts stay integers, so A and B are exactly alike in it.
"""

from __future__ import annotations

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.numba_cache import njit
from simjudge.method.loop_choice import has_numpy_form


def wasserstein_distance(a: FloatArray, b: FloatArray) -> float:
    """The 1-Wasserstein distance of two empirical distributions, unweighted (arXiv 2208.01022, Algorithm 1).

    Args:
        a: (n,), n at least 1.
        b: (m,), m at least 1.

    Returns:
        The distance, in the unit of the values; equal to `scipy.stats.wasserstein_distance`.
    """
    values = np.concatenate([a, b])
    from_a = np.concatenate([np.ones(len(a), np.bool_), np.zeros(len(b), np.bool_)])
    order = np.argsort(values, kind="stable")
    return float(_merge(values[order], from_a[order], len(a), len(b)))


@njit(cache=True, nogil=True)
def _merge(values, from_a, n_a, n_b):  # type: ignore[no-untyped-def]
    total, a = 0.0, 0
    for k in range(len(values) - 1):
        # A truth value counts as 0 or 1.
        a += from_a[k]
        step = values[k + 1] - values[k]
        if step > 0:
            # |a / n_a - b / n_b| times n_a n_b, in whole numbers.
            total += abs(a * n_b - (k + 1 - a) * n_a) * step
    return total / (n_a * n_b)


@njit(cache=True, nogil=True)
def _compare_row(r, start, rank, level, performance, from_a, theta_count, min_batch, w1, difference, batch):  # type: ignore[no-untyped-def]
    """`compare_rows` for one row."""
    count = start[r + 1] - start[r]
    values, labels = np.empty(count, np.float64), np.empty(count, np.bool_)
    for t in range(theta_count):
        kept, n_a, sum_a, sum_b = 0, 0, 0.0, 0.0
        for k in range(start[r], start[r + 1]):
            if level[k] > t:
                value = performance[rank[k]]
                values[kept], labels[kept] = value, from_a[rank[k]]
                kept += 1
                if from_a[rank[k]]:
                    n_a += 1
                    sum_a += value
                else:
                    sum_b += value
        n_b = kept - n_a
        batch[r, t, 0], batch[r, t, 1] = n_a, n_b
        if n_a >= min_batch and n_b >= min_batch:
            w1[r, t] = _merge(values[:kept], labels[:kept], n_a, n_b)
            difference[r, t] = sum_a / n_a - sum_b / n_b
        else:
            w1[r, t] = difference[r, t] = np.nan


@has_numpy_form
@njit(cache=True, nogil=True)
def compare_rows(start, rank, level, performance, from_a, theta_count, min_batch, w1, difference, batch):  # type: ignore[no-untyped-def]
    """W1, difference of means and batch sizes of every row at every theta.

    Args:
        performance, from_a: (N,) in order of performance.
        w1, difference: (R, T) out, NaN where a row is not compared; difference is mean A - mean B.
        batch: (R, T, 2) out.
    """
    for r in range(len(start) - 1):
        _compare_row(r, start, rank, level, performance, from_a, theta_count, min_batch, w1, difference, batch)


@has_numpy_form
@njit(cache=True, nogil=True)
def mark_overlap(start, rank, level, compared_level, overlap):  # type: ignore[no-untyped-def]
    """Raise overlap[rank] to the highest theta number at which a compared row holds that context.

    Args:
        compared_level: (R,) the number of thetas, from the lowest, at which each row is compared.
        overlap: (N,) uint8 in and out.
    """
    for r in range(len(start) - 1):
        if compared_level[r] > 0:
            for k in range(start[r], start[r + 1]):
                overlap[rank[k]] = max(overlap[rank[k]], min(level[k], compared_level[r]))


@njit(cache=True, nogil=True)
def compare_lists(  # type: ignore[no-untyped-def]
    rows,
    items_a,
    start_a,
    length_a,
    performance_a,
    items_b,
    start_b,
    length_b,
    performance_b,
    min_batch,
    w1,
    difference,
    overlap_a,
    overlap_b,
):
    """W1 and difference of means of some rows; marks the members of compared rows.

    Args:
        rows: int64 (R,), the rows to compute.
        performance_a: (n_a,).
        performance_b: (n_b,).
        w1, difference: by row, out where a row is compared; difference is mean A - mean B.
        overlap_a, overlap_b: bool (n_a,) and (n_b,), out: set for the members of compared rows.
    """
    for r in range(len(rows)):
        row = rows[r]
        n_a, n_b = length_a[row], length_b[row]
        if n_a < min_batch or n_b < min_batch:
            continue
        a = items_a[start_a[row] : start_a[row] + n_a]
        b = items_b[start_b[row] : start_b[row] + n_b]
        values, from_a = np.empty(n_a + n_b), np.empty(n_a + n_b, np.bool_)
        i, j, sum_a, sum_b = 0, 0, 0.0, 0.0
        while i < n_a or j < n_b:
            # Both lists are sorted, so one merge orders the pool; ties enclose no area, whoever goes first.
            take_a = j >= n_b or (i < n_a and performance_a[a[i]] <= performance_b[b[j]])
            from_a[i + j] = take_a
            if take_a:
                values[i + j] = performance_a[a[i]]
                sum_a += values[i + j]
                overlap_a[a[i]] = True
                i += 1
            else:
                values[i + j] = performance_b[b[j]]
                sum_b += values[i + j]
                overlap_b[b[j]] = True
                j += 1
        w1[row] = _merge(values, from_a, n_a, n_b)
        difference[row] = sum_a / n_a - sum_b / n_b
