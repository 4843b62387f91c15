"""The compiled loops of `simjudge.context.resampling`: W1 of every row under every relabelling and reweighting."""
# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import math

import numpy as np
from numba import njit

LEAST_CHANCE = 1e-6
"""A row that is hardly ever compared counts for no more than a million."""


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
def add_relabelled(start, rank, own_start, own_frame, frame, performance, labels, chance, min_batch, sums, counts):
    """Add W1 of every row that the truth compares under every relabelling, as if both sides had the truth's sizes.

    A row counts once for each of its own samples that truly is A's. A relabelling compares only the rows that it leaves
    with both sides, and those that few frames show are left so more rarely. So a row counts for more in a relabelling,
    the less likely it is compared there: then it weighs in the floor what it weighs in the truth (Horvitz and Thompson,
    J. Am. Stat. Assoc. 47, 1952). `chance` is that of each frame to count for A; empty: all rows count alike.
    """
    tries = labels.shape[1]
    seen_in = np.full(len(labels), -1)
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
        rarely = 1.0
        if len(chance) > 0:
            all_a, all_b = 1.0, 1.0
            for k in range(first, last):
                held = frame[rank[k]]
                if seen_in[held] != r:
                    seen_in[held] = r
                    all_a *= chance[held]
                    all_b *= 1 - chance[held]
            rarely = 1 / max(1 - all_a - all_b, LEAST_CHANCE)
        _add_scaled(own, rarely, area, n_a, last - first, min_batch, sums, counts)


@njit(cache=True, nogil=True)
def _add_scaled(own, rarely, area, n_a, whole, min_batch, sums, counts):
    """Add W1 of a row as if the sizes were those of column 0: `own` times to this, `rarely` as often to the others."""
    true_size = expected_w1(n_a[0], whole - n_a[0])
    for p in range(len(area)):
        n_b = whole - n_a[p]
        if n_a[p] < min_batch or n_b < min_batch:
            continue
        weight = own if p == 0 else own * rarely
        w1 = area[p] / (n_a[p] * n_b)
        if n_a[p] != n_a[0]:
            w1 *= true_size / expected_w1(n_a[p], n_b)
        sums[p] += weight * w1
        counts[p] += weight


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
def add_odds(start, rank, own_start, own_frame, frame, count_a, share, prior, total, count):
    """Add to each unit the log odds that a sample like one of its own is A's, given `prior` more samples."""
    times, held = np.zeros(len(total)), np.empty(len(total), np.int64)
    base = math.log(share / (1 - share))
    for r in range(len(start) - 1):
        units = _count_units(start[r], start[r + 1], rank, frame, times, held)
        n_a, n_b = 0.0, 0.0
        for j in range(units):
            if held[j] < count_a:
                n_a += times[held[j]]
            else:
                n_b += times[held[j]]
        for m in range(own_start[r], own_start[r + 1]):
            unit = own_frame[m]
            mine_a = times[unit] if unit < count_a else 0.0
            mine_b = times[unit] - mine_a
            odds = (n_a - mine_a + prior * share) / (n_b - mine_b + prior * (1 - share))
            total[unit] += math.log(odds) - base
            count[unit] += 1
        for j in range(units):
            times[held[j]] = 0
