"""The compiled loop of `simjudge.method.bootstrap`: W1 of every row, and what chance makes of it in every draw."""
# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import math

import numpy as np

from simjudge.core.numba_cache import njit
from simjudge.method.loop_choice import has_numpy_form
from simjudge.method.small_batches import UNTOLD, crossed_share, inflation, shortfall

_NOTHING, _NONE = np.zeros(0), np.zeros(0, np.int64)
NO_SHIFT = (_NONE, _NOTHING, np.zeros((0, 0)), _NOTHING, _NOTHING, 0.0)
"""In place of recording, mean, own, doubted, normal and width of `recordings.ShiftNumbers`, where nothing shifts."""
LANES = 128
"""Draws that one pass over a batch serves: their sums stay in the cache next to the core."""


@njit(cache=True, nogil=True)
def fill_batch(first, last, rank, samples, expected, adjusted, value, weight, share_a, share_b):
    """Values and normalized signed weights of a batch, and its distribution functions by place.

    `samples` is (residual, found, found_share, from_a, unit, block, cell) by rank; `expected` is (m, pi) at the
    context, to which performance is adjusted or not. Returns how many samples are A's and B's.
    """
    # Inverse probability weights: each batch is reweighted to the shares of found and missed expected at its context.
    residual, found, found_share, from_a = samples[0], samples[1], samples[2], samples[3]
    total_a, total_b, n_a, n_b = 0.0, 0.0, 0, 0
    for k in range(first, last):
        j, i = rank[k], k - first
        if found[j]:
            value[i] = min(max(residual[j] + expected[0], 0.0), 1.0) if adjusted else residual[j]
            weight[i] = expected[1] / found_share[j]
        else:
            value[i] = 0.0
            weight[i] = (1 - expected[1]) / (1 - found_share[j])
        if from_a[j]:
            total_a += weight[i]
            n_a += 1
        else:
            total_b += weight[i]
            n_b += 1
    sum_a, sum_b = 0.0, 0.0
    for k in range(first, last):
        i = k - first
        if from_a[rank[k]]:
            # A weighs +1 in all and B -1, so that running sums of the weights are F_a - F_b, of which W1 is the area.
            weight[i] /= total_a
            sum_a += weight[i]
        else:
            weight[i] = -weight[i] / total_b
            sum_b -= weight[i]
        share_a[i], share_b[i] = sum_a, sum_b
    return n_a, n_b


@njit(cache=True, nogil=True)
def count_units(first, last, rank, from_a, of_a, unit, seen):
    """How many units of one side, or of both (`of_a` 2), are in a batch. `seen` is all False before and after."""
    count = 0
    for k in range(first, last):
        j = rank[k]
        if (of_a == 2 or from_a[j] == of_a) and not seen[unit[j]]:
            seen[unit[j]] = True
            count += 1
    for k in range(first, last):
        # Clearing by the batch costs its size; clearing the whole array would cost the number of units.
        seen[unit[rank[k]]] = False
    return count


@njit(cache=True, nogil=True)
def sum_of_squares(first, last, rank, number, of_block, blocks, share, total):
    """The squares of what the samples of each number sum to; those of no block are left out. `total` is all zeros."""
    square = 0.0
    for k in range(first, last):
        # Numbers from `blocks` on stand for samples without a block (`DrawnSamples.counted_block`).
        if of_block[rank[k]] < blocks:
            total[number[rank[k]]] += share[k - first]
    for k in range(first, last):
        square += total[number[rank[k]]] ** 2
        total[number[rank[k]]] = 0.0
    return square


@njit(cache=True, nogil=True)
def crossed_scale(first, last, rank, samples, blocks, value, weight, share, totals):
    """By what to multiply the draws of a batch, by the variance of its difference of means: see `crossed_share`."""
    if blocks == 0:
        return 1.0
    from_a, unit, block, cell = samples[3], samples[4], samples[5], samples[6]
    mean_a, mean_b = 0.0, 0.0
    for k in range(first, last):
        if from_a[rank[k]]:
            mean_a += weight[k - first] * value[k - first]
        else:
            mean_b -= weight[k - first] * value[k - first]
    for k in range(first, last):
        # The influence of a sample on the difference of the weighted means.
        share[k - first] = weight[k - first] * (value[k - first] - (mean_a if from_a[rank[k]] else mean_b))
    # No block number reaches this limit: every sample counts towards its unit.
    all_numbers = len(totals[1])
    by_unit = sum_of_squares(first, last, rank, unit, block, all_numbers, share, totals[0])
    by_block = sum_of_squares(first, last, rank, block, block, blocks, share, totals[1])
    by_both = sum_of_squares(first, last, rank, cell, block, blocks, share, totals[2])
    return crossed_share(by_unit, by_block, by_both)


@njit(cache=True, nogil=True)
def fill_shifts(first, last, rank, samples, value, weight, shift, moved_doubted, moved_normal):
    """(draws,) the shift of a batch in each draw: the common one, and what its recordings add to it."""
    recording, mean, own, doubted, normal = shift[0], shift[1], shift[2], shift[3], shift[4]
    moved_doubted[:], moved_normal[:] = doubted, normal
    sums = np.zeros((2, len(mean)))
    count = np.zeros((2, len(mean)), np.int64)
    mean_a, mean_b = 0.0, 0.0
    for k in range(first, last):
        j, i = rank[k], k - first
        if samples[3][j]:
            mean_a += weight[i] * value[i]
        else:
            mean_b -= weight[i] * value[i]
    for k in range(first, last):
        j, i = rank[k], k - first
        side = 0 if samples[3][j] else 1
        sums[side, recording[j]] += weight[i] * (value[i] - (mean_b if side else mean_a))
        count[side, recording[j]] += 1
    for side in range(2):
        held = 0
        for r in range(len(mean)):
            held += count[side, r] > 0
        more = inflation(held) if held > 1 else 0.0
        for r in range(len(mean)):
            sums[side, r] *= more
    for r in range(len(mean)):
        part = sums[0, r] + sums[1, r] - mean[r]
        for d in range(len(doubted)):
            moved_doubted[d] += part * own[r, d]
            moved_normal[d] += part * own[r, d]


@njit(cache=True, nogil=True)
def fill_profile(count, value, pooled, width, sign, profile):
    """By how much F_c differs in each step from F_c shifted by `sign * width`, in proportion to a shift of 1.

    The steps from 0 to the first value, and from the last to 1, come last: performance is clipped there.
    """
    low, high = 0, 0
    area_low, area_high = 0.0, 0.0
    for i in range(count + 1):
        # Step i runs from value[i - 1] to value[i], with 0 before the first one and 1 behind the last one.
        begin = value[i - 1] if i > 0 else 0.0
        end = value[i] if i < count else 1.0
        own = (end - begin) * (pooled[i - 1] if i > 0 else 0.0)
        # The area under F up to a point: up to the sample behind it, less what is between; behind the last one F is 1.
        while low < count and value[low] <= begin - sign * width:
            area_low += pooled[low] * ((value[low + 1] if low + 1 < count else 2.0) - value[low])
            low += 1
        while high < count and value[high] <= end - sign * width:
            area_high += pooled[high] * ((value[high + 1] if high + 1 < count else 2.0) - value[high])
            high += 1
        behind_low, behind_high = value[low] if low < count else 2.0, value[high] if high < count else 2.0
        at_low = 0.0 if low == 0 else area_low - pooled[low - 1] * (behind_low - begin + sign * width)
        at_high = 0.0 if high == 0 else area_high - pooled[high - 1] * (behind_high - end + sign * width)
        profile[i] = sign * (own - (at_high - at_low)) / width


@njit(cache=True, nogil=True)
def draw_signs(first, last, rank, cell, sign, value, weight, pooled, moved, profiles, more, whole, so_far, area):
    """The integral of |D*| of (cells, draws) signs in place of normal numbers; `pooled` is F_c by place."""
    draws = sign.shape[1]
    whole[:draws], so_far[:draws], area[:draws] = 0.0, 0.0, 0.0
    for k in range(first, last):
        numbers = sign[cell[rank[k]]]
        for d in range(draws):
            whole[d] += weight[k - first] * numbers[d]
    for k in range(first, last - 1):
        i = k - first
        numbers, step = sign[cell[rank[k]]], value[i + 1] - value[i]
        for d in range(draws):
            # D*(v) = sum s g ([y <= v] - F(v)): the part so far, less F(v) times the whole.
            so_far[d] += weight[i] * numbers[d]
            if len(moved) == 0:
                area[d] += abs(so_far[d] - pooled[i] * whole[d]) * step
            else:
                part = profiles[0, i + 1] if moved[d] > 0 else profiles[1, i + 1]
                area[d] += abs(more * (so_far[d] - pooled[i] * whole[d]) * step + moved[d] * part)


@njit(cache=True, nogil=True)
def add_ends(count, moved, profiles, area):
    """Add what lies below the first sample and above the last one, where a shift alone makes a difference."""
    for d in range(len(moved)):
        side = 0 if moved[d] > 0 else 1
        area[d] += abs(moved[d]) * (profiles[side, 0] + profiles[side, count])


@has_numpy_form
@njit(cache=True, nogil=True)
def add_drawn(
    start,
    rank,
    own,
    expected,
    adjusted,
    samples,
    normal,
    sign,
    blocks,
    shift,
    min_batch,
    seen_unit,
    seen_block,
    row_units,
    row_scale,
    row_w1,
    row_noise,
    row_square,
    chance,
    around,
    around_square,
    extreme,
    moved,
    moved_normal,
):
    """Add to the sums over draws what every row gives that is compared.

    Args:
        own: float64 (R,), how often each row counts; 0 for those that do not.
        expected: float64 (R, 2), what was expected at the row's context.
        normal: float32 (cells, draws), a normal number for each cell and draw.
        sign: the same for W* around the pooled distribution, with signs for units of both sets; (cells, 0): `normal`.
        blocks: the numbers of blocks below it carry normal numbers beside those of units; 0: none do.
        shift: how recordings move performance in each draw, see `recordings.ShiftNumbers.arrays`; NO_SHIFT: they do
            not.
        seen_unit, seen_block: all False, by number of the unit and of the block.
        row_units: float64 (R,), out: how many units A and B have in it.
        row_scale: float64 (R,), out: see `crossed_scale`.
        row_w1, row_noise, row_square: float64 (R,), out: W1, and the sums of W* and of its square with the noise
            within the sets. W1 is NaN where a row is not compared, and UNTOLD where a side of it is one unit: nothing
            tells its noise from a gap, and it takes no part in the draws.
        chance, around, around_square, extreme: float64 (draws,), grow by `own` times the integral of |D*|; that of
            |D + D*| with the noise within, and its square; and that of |D*| had all of A the performance 0 and all of
            B 1.
        moved, moved_normal: float64 (draws,), grow by `own` times the shift: as for W*, and as for the noise.
    """
    from_a, unit, block, cell = samples[3], samples[4], samples[5], samples[6]
    draws, longest = normal.shape[1], 0
    for r in range(len(start) - 1):
        longest = max(longest, start[r + 1] - start[r])
    value, weight = np.empty(longest), np.empty(longest)
    share_a, share_b = np.empty(longest), np.empty(longest)
    lanes = min(LANES, draws)
    so_far_a, so_far_b, all_a, all_b = np.empty(lanes), np.empty(lanes), np.empty(lanes), np.empty(lanes)
    area, within, redrawn = np.empty(lanes), np.empty(lanes), np.empty(lanes)
    share, totals = np.empty(longest), (np.zeros(len(seen_unit)), np.zeros(len(seen_block)), np.zeros(len(normal)))
    shifted, profiles = len(shift[3]) > 0, np.empty((2, longest + 1))
    row_moved, row_normal = np.empty(len(shift[3])), np.empty(len(shift[3]))
    for r in range(len(start) - 1):
        first, last = start[r], start[r + 1]
        # A row of B alone stands for no context of A; another may be left out of the part that carries the draws.
        if own[r] == 0 or last - first < 2:
            continue
        n_a, n_b = fill_batch(first, last, rank, samples, expected[r], adjusted, value, weight, share_a, share_b)
        if n_a < min_batch or n_b < min_batch or n_a == 0 or n_b == 0:
            continue
        # Blocks may be fewer than units: what is scarcer limits what the draws can show.
        units_a = min(
            count_units(first, last, rank, from_a, 1, unit, seen_unit),
            count_units(first, last, rank, from_a, 1, block, seen_block),
        )
        units_b = min(
            count_units(first, last, rank, from_a, 0, unit, seen_unit),
            count_units(first, last, rank, from_a, 0, block, seen_block),
        )
        if units_a < 2 or units_b < 2:
            row_w1[r] = UNTOLD
            continue
        row_units[r] = units_a + units_b
        more_a, more_b = inflation(units_a), inflation(units_b)
        more_chance, more, more_square = shortfall(units_a, units_b)
        flips, part_a = sign.shape[1] > 0, n_a / (n_a + n_b)
        if flips and units_a == units_b and count_units(first, last, rank, from_a, 2, unit, seen_unit) == units_a:
            # Both sides of every unit can change places: their W* is no estimate that lacks anything.
            more_chance = 1.0
        w1 = 0.0
        for i in range(last - first - 1):
            w1 += abs(share_a[i] - share_b[i]) * (value[i + 1] - value[i])
        row_w1[r] = w1
        if draws == 0:
            continue
        scale = crossed_scale(first, last, rank, samples, blocks, value, weight, share, totals)
        row_scale[r] = scale
        more_a, more_b, more_chance = scale * more_a, scale * more_b, scale * more_chance
        # NaN marks a row that was not compared; sums go on over batches of draws.
        row_noise[r] = 0.0 if math.isnan(row_noise[r]) else row_noise[r]
        row_square[r] = 0.0 if math.isnan(row_square[r]) else row_square[r]
        if shifted:
            fill_shifts(first, last, rank, samples, value, weight, shift, row_moved, row_normal)
            pooled = part_a * share_a + (1 - part_a) * share_b
            fill_profile(last - first, value, pooled, shift[5], 1.0, profiles[0])
            fill_profile(last - first, value, pooled, shift[5], -1.0, profiles[1])
            for d in range(draws):
                moved[d] += own[r] * row_moved[d]
                moved_normal[d] += own[r] * row_normal[d]
        # Draws innermost and contiguous: the compiler vectorizes over them, and a block of sums stays in cache.
        for begin in range(0, draws, lanes):
            count = min(lanes, draws - begin)
            all_a[:], all_b[:], so_far_a[:], so_far_b[:] = 0.0, 0.0, 0.0, 0.0
            area[:], within[:], redrawn[:] = 0.0, 0.0, 0.0
            for k in range(first, last):
                numbers, s = normal[cell[rank[k]], begin : begin + count], weight[k - first]
                if from_a[rank[k]]:
                    for d in range(count):
                        all_a[d] += s * numbers[d]
                else:
                    for d in range(count):
                        all_b[d] += s * numbers[d]
            for k in range(first, last - 1):
                i = k - first
                numbers, s = normal[cell[rank[k]], begin : begin + count], weight[i]
                if from_a[rank[k]]:
                    for d in range(count):
                        so_far_a[d] += s * numbers[d]
                else:
                    for d in range(count):
                        so_far_b[d] += s * numbers[d]
                step = value[i + 1] - value[i]
                # Equal values enclose no area, and performances of 0 and 1 are many.
                if step > 0:
                    together, f_a, f_b = part_a * share_a[i] + (1 - part_a) * share_b[i], share_a[i], share_b[i]
                    apart = share_a[i] - share_b[i]
                    if shifted:
                        up, down = profiles[0, i + 1] / step, profiles[1, i + 1] / step
                        for d in range(count):
                            by_chance, by_noise = row_moved[begin + d], row_normal[begin + d]
                            by_chance *= up if by_chance > 0 else down
                            by_noise *= up if by_noise > 0 else down
                            drawn = so_far_a[d] + so_far_b[d] - together * (all_a[d] + all_b[d])
                            area[d] += abs(more_chance * drawn + by_chance) * step
                            inside = more_a * (so_far_a[d] - f_a * all_a[d]) + more_b * (so_far_b[d] - f_b * all_b[d])
                            within[d] += abs(inside + by_noise) * step
                            redrawn[d] += abs(apart + inside + by_noise) * step
                        continue
                    for d in range(count):
                        area[d] += abs(so_far_a[d] + so_far_b[d] - together * (all_a[d] + all_b[d])) * step
                        inside = more_a * (so_far_a[d] - f_a * all_a[d]) + more_b * (so_far_b[d] - f_b * all_b[d])
                        within[d] += abs(inside) * step
                        redrawn[d] += abs(apart + inside) * step
            if shifted:
                for ends in (within, redrawn):
                    add_ends(last - first, row_normal[begin : begin + count], profiles, ends)
                add_ends(last - first, row_moved[begin : begin + count], profiles, area)
            for d in range(count):
                around[begin + d] += own[r] * redrawn[d]
                around_square[begin + d] += own[r] * redrawn[d] * redrawn[d]
                # With A at 0 and B at 1 there is one step of length 1, where D* = S_a - p (S_a + S_b).
                extreme[begin + d] += own[r] * abs((1 - part_a) * all_a[d] - part_a * all_b[d])
                row_noise[r] += more * within[d]
                row_square[r] += more_square * within[d] * within[d]
            if flips:
                pooled = part_a * share_a + (1 - part_a) * share_b
                some = sign[:, begin : begin + count]
                ours = row_moved[begin : begin + count] if shifted else row_moved
                draw_signs(
                    first,
                    last,
                    rank,
                    cell,
                    some,
                    value,
                    weight,
                    pooled,
                    ours,
                    profiles,
                    more_chance,
                    all_a,
                    so_far_a,
                    area,
                )
                add_ends(last - first, ours, profiles, area)
            for d in range(count):
                # With a shift, what few units lack is made up for before it is added.
                chance[begin + d] += own[r] * (1.0 if shifted else more_chance) * area[d]
