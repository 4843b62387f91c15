"""The compiled loop of `simjudge.method.kinds`: differences within batches, sample by sample, summed by unit."""
# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import numpy as np
from numba import uint64

from simjudge.core.numba_cache import njit
from simjudge.method.bits import WORD
from simjudge.method.bootstrap_loops import fill_batch
from simjudge.method.loop_choice import has_numpy_form
from simjudge.method.small_batches import inflation


@njit(cache=True, nogil=True)
def _is_of(bits, sample, kind):
    return (bits[sample, kind // WORD] >> uint64(kind % WORD)) & uint64(1) != 0


@njit(cache=True, nogil=True)
def _count(number, seen, mark):
    """1 where a unit is seen for the first time since the mark was raised."""
    if seen[number] == mark:
        return 0
    seen[number] = mark
    return 1


@has_numpy_form
@njit(cache=True, nogil=True)
def add_kinds(
    start,
    rank,
    expected,
    adjusted,
    samples,
    bits,
    first_own,
    own,
    own_bits,
    min_batch,
    seen_unit,
    seen_block,
    contexts,
    performance,
    chance,
    noise,
    held,
):
    """Add to the sums of every kind what the rows give that are of it and are compared.

    For a row and a kind, A_c and B_c hold the similar samples that are of that kind too.

    Args:
        expected: float64 (R, 2), what was expected at the row's context.
        samples: see `bootstrap_loops.fill_batch`; in place of its cell the block of time of each sample, or -1, and
            after that what one unit shows in one block.
        bits: uint64 (N, W), the kinds of each sample, by rank.
        first_own: int64 (R + 1,), where the samples of A of each row start below.
        own: int64 (M,), their numbers.
        own_bits: uint64 (A, W), the kinds of A's samples by number.
        seen_unit, seen_block: int64 (2, units), zeros, by number of the unit, and of the block as it is counted.
        contexts: float64 (K,), grows by the number of contexts.
        performance: float64 (K, 2), grows by the mean performance of A_c and of B_c of each.
        chance, noise: float64 (K, units) and (K, blocks), of the noise also (K, cells): grow by the share of each in
            the difference: around the mean of the batch, and around that of each side.
        held: uint8 (K, units), gets 1 for a unit of A and 2 for one of B.
    """
    from_a, unit, block, time, cell = samples[3], samples[4], samples[5], samples[6], samples[7]
    kinds, longest = len(contexts), 0
    for r in range(len(start) - 1):
        longest = max(longest, start[r + 1] - start[r])
    value, weight = np.empty(longest), np.empty(longest)
    share_a, share_b = np.empty(longest), np.empty(longest)
    inside = np.empty(longest, np.int64)
    total, mean, count = np.empty(2), np.empty(2), np.empty(2, np.int64)
    units, blocks, more = np.empty(2, np.int64), np.empty(2, np.int64), np.empty(2)
    mark = 0
    for r in range(len(start) - 1):
        first, last = start[r], start[r + 1]
        fill_batch(first, last, rank, samples, expected[r], adjusted, value, weight, share_a, share_b)
        for k in range(kinds):
            times = 0
            for m in range(first_own[r], first_own[r + 1]):
                times += _is_of(own_bits, own[m], k)
            if times == 0:
                continue
            # A new mark empties `seen` without clearing it.
            mark += 1
            total[:], mean[:], count[:], units[:], blocks[:], kept = 0.0, 0.0, 0, 0, 0, 0
            for i in range(last - first):
                j = rank[first + i]
                if not _is_of(bits, j, k):
                    continue
                inside[kept] = i
                kept += 1
                side = 0 if from_a[j] else 1
                total[side] += abs(weight[i])
                mean[side] += abs(weight[i]) * value[i]
                count[side] += 1
                units[side] += _count(unit[j], seen_unit[side], mark)
                blocks[side] += _count(block[j], seen_block[side], mark)
            # Things and blocks of time both limit how much is independent; the scarcer counts.
            for side in range(2):
                units[side] = min(units[side], blocks[side])
            # A single unit tells no noise from a gap.
            if min(count) < min_batch or min(units) < 2:
                continue
            for side in range(2):
                mean[side] /= total[side]
                more[side] = inflation(units[side])
            pooled = (count[0] * mean[0] + count[1] * mean[1]) / (count[0] + count[1])
            # A mean that is taken from k units of the batch itself lowers the variance around it by 1 / k.
            more_pooled = inflation(units[0] + units[1])
            contexts[k] += times
            performance[k] += times * mean
            for n in range(kept):
                i = inside[n]
                j = rank[first + i]
                side = 0 if from_a[j] else 1
                # A weighs positive and B negative: the sign makes sums B less A.
                s = -times * weight[i] / total[side]
                by_chance, within = s * (value[i] - pooled) * more_pooled, s * (value[i] - mean[side]) * more[side]
                chance[0][k, unit[j]] += by_chance
                noise[0][k, unit[j]] += within
                # Two bits: a unit of both sides holds 3.
                held[k, unit[j]] |= 1 + side
                if time[j] >= 0:
                    chance[1][k, time[j]] += by_chance
                    noise[1][k, time[j]] += within
                    noise[2][k, cell[j]] += within
