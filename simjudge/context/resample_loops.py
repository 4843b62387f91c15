"""The compiled loops of `simjudge.context.resampling`: W1 of every row under every relabelling and reweighting."""
# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import math

import numpy as np
from numba import njit

GROUP = 50
"""Permutations that lend each other W1 of a row. Batches end where groups end, so that how the permutations are cut
into batches changes nothing."""


@njit(cache=True, nogil=True)
def add_row(into, row):
    """Add a row elementwise, for a row of small integers."""
    for p in range(into.shape[0]):
        into[p] += row[p]


@njit(cache=True, nogil=True)
def integrate(area, a, n_a, b, n_b, step):
    """Add |a[p] n_b[p] - b[p] n_a[p]| step. It is the same where b and n_b count both sets and not B alone."""
    for p in range(area.shape[0]):
        area[p] += abs(a[p] * n_b[p] - b[p] * n_a[p]) * step


@njit(cache=True, nogil=True)
def expected_w1(n_a, n_b):
    """The mean W1 of two samples from a uniform distribution of width 1, to 4 %.

    For large samples, F_A - F_B is about normal with the variance F (1 - F) (1 / n_a + 1 / n_b). The mean of its size
    over F is pi / 8 sqrt(2 / pi) = 0.3133 times sqrt(1 / n_a + 1 / n_b). One value against any number is 1 / 3. The
    second factor leads from the one to the other.
    """
    less, more = min(n_a, n_b), max(n_a, n_b)
    ratio = less / more
    few = (0.064 - 0.5 * ratio / (1 + 0.6 * ratio)) / math.sqrt(less * math.sqrt(less))
    return 0.3133 * math.sqrt(1 / n_a + 1 / n_b) * (1 + few)


@njit(cache=True, nogil=True)
def add_relabelled(start, rank, own_start, own_frame, frame, performance, labels, min_batch, sums, counts):
    """Add W1 of every row that the truth compares under every relabelling, as if both sides had the truth's sizes.

    A row counts once for each of its own samples that truly is A's.
    """
    tries = labels.shape[1]
    a, n_a, area = np.empty(tries), np.empty(tries), np.empty(tries)
    seen, whole = np.empty(tries), np.empty(tries)
    for r in range(len(start) - 1):
        first, last = start[r], start[r + 1]
        own = 0
        for m in range(own_start[r], own_start[r + 1]):
            own += labels[own_frame[m], 0]
        if own == 0 or last - first < 2:
            continue
        n_a[:] = 0
        for k in range(first, last):
            add_row(n_a, labels[frame[rank[k]]])
        if n_a[0] < min_batch or last - first - n_a[0] < min_batch:
            continue
        a[:] = 0
        area[:] = 0
        whole[:] = last - first
        for k in range(first, last - 1):
            add_row(a, labels[frame[rank[k]]])
            step = performance[rank[k + 1]] - performance[rank[k]]
            if step > 0:
                seen[:] = k + 1 - first
                integrate(area, a, n_a, seen, whole, step)
        _scale(area, n_a, last - first, min_batch)
        sums[0] += own * area[0]
        counts[0] += own
        for begin in range(1, tries, GROUP):
            end = min(begin + GROUP, tries)
            add_group(own, area[begin:end], sums[begin:end], counts[begin:end])


@njit(cache=True, nogil=True)
def _scale(area, n_a, whole, min_batch):
    """Make W1 of a row's areas, as if the sizes were those of column 0; NaN where a side is too small."""
    true_size = expected_w1(n_a[0], whole - n_a[0])
    for p in range(len(area)):
        n_b = whole - n_a[p]
        if n_a[p] < min_batch or n_b < min_batch:
            area[p] = np.nan
            continue
        area[p] /= n_a[p] * n_b
        if n_a[p] != n_a[0]:
            area[p] *= true_size / expected_w1(n_a[p], n_b)


@njit(cache=True, nogil=True)
def add_group(own, w1, sums, counts):
    """Add a row's W1 under the permutations of a group; NaN is W1 of those that leave the row with one side only.

    These borrow the W1 of the next permutation that compares the row; after the last comes the first. A permutation
    leaves rows with one side the more often, the fewer units show them, and few units make W1 large. If it did without
    these rows, the floor would be that of other rows than the truth's. A row that no permutation compares is left out.
    """
    lent = np.nan
    for p in range(len(w1)):
        if not np.isnan(w1[p]):
            lent = w1[p]
            break
    if np.isnan(lent):
        return
    for p in range(len(w1) - 1, -1, -1):
        if not np.isnan(w1[p]):
            lent = w1[p]
        sums[p] += own * lent
        counts[p] += own


@njit(cache=True, nogil=True)
def add_reweighted(start, rank, own_start, own_frame, frame, performance, count_a, weights, min_batch, sums, counts):
    """Add W1 of every row under every reweighting, as often as its own samples of A were drawn."""
    draws = weights.shape[1]
    a, n_a, area = np.empty(draws), np.empty(draws), np.empty(draws)
    seen, whole, own = np.empty(draws), np.empty(draws), np.empty(draws)
    for r in range(len(start) - 1):
        first, last = start[r], start[r + 1]
        if last - first < 2 or own_start[r] == own_start[r + 1] or own_frame[own_start[r]] >= count_a:
            continue
        a[:] = 0
        n_a[:] = 0
        area[:] = 0
        seen[:] = 0
        whole[:] = 0
        own[:] = 0
        for m in range(own_start[r], own_start[r + 1]):
            if own_frame[m] < count_a:
                add_row(own, weights[own_frame[m]])
        for k in range(first, last):
            f = frame[rank[k]]
            add_row(whole, weights[f])
            if f < count_a:
                add_row(n_a, weights[f])
        for k in range(first, last - 1):
            f = frame[rank[k]]
            add_row(seen, weights[f])
            if f < count_a:
                add_row(a, weights[f])
            step = performance[rank[k + 1]] - performance[rank[k]]
            if step > 0:
                integrate(area, a, n_a, seen, whole, step)
        _add_compared(own, area, n_a, whole, min_batch, sums, counts)


@njit(cache=True, nogil=True)
def _add_compared(own, area, n_a, whole, min_batch, sums, counts):
    for p in range(len(own)):
        n_b = whole[p] - n_a[p]
        if own[p] > 0 and n_a[p] >= min_batch and n_b >= min_batch:
            sums[p] += own[p] * (area[p] / (n_a[p] * n_b))
            counts[p] += own[p]


@njit(cache=True, nogil=True)
def _count_units(start, end, rank, frame, times, held):
    """Count the samples of each unit among some neighbours; returns how many units there are.

    `times` must be 0 for all units, and is the count afterwards; `held` is the units.
    """
    units = 0
    for k in range(start, end):
        unit = frame[rank[k]]
        if times[unit] == 0:
            held[units] = unit
            units += 1
        times[unit] += 1
    return units


@njit(cache=True, nogil=True)
def add_odds(start, rank, own_start, own_frame, frame, count_a, share, priors, total, count, moments):
    """Add to each unit the log odds that a sample like one of its own is A's, for so many more samples in `priors`.

    `total` is (priors, units). `moments` adds up over the own samples, for k of A's among the m units that show
    the like: k, m, k k, k m, m m, and the number of samples that are like it.
    """
    times, held = np.zeros(len(count)), np.empty(len(count), np.int64)
    base = math.log(share / (1 - share))
    for r in range(len(start) - 1):
        units = _count_units(start[r], start[r + 1], rank, frame, times, held)
        n_a, n_b, k = 0.0, 0.0, 0
        for j in range(units):
            if held[j] < count_a:
                n_a += times[held[j]]
                k += 1
            else:
                n_b += times[held[j]]
        _add_moments(moments, own_start[r + 1] - own_start[r], k, units, n_a + n_b)
        for m in range(own_start[r], own_start[r + 1]):
            unit = own_frame[m]
            mine_a = times[unit] if unit < count_a else 0.0
            mine_b = times[unit] - mine_a
            for i in range(len(priors)):
                odds = (n_a - mine_a + priors[i] * share) / (n_b - mine_b + priors[i] * (1 - share))
                total[i, unit] += math.log(odds) - base
            count[unit] += 1
        for j in range(units):
            times[held[j]] = 0


@njit(cache=True, nogil=True)
def _add_moments(moments, times, k, m, samples):
    moments[0] += times * k
    moments[1] += times * m
    moments[2] += times * k * k
    moments[3] += times * k * m
    moments[4] += times * m * m
    moments[5] += times * samples
