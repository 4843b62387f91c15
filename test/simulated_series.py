"""Pairs of recordings of one kind, whose frames follow each other (AR(1)), many times over: how often a gap is called.

`python test/simulated_series.py 2000` prints the table of docs/measurements/certainty.md.
"""

from __future__ import annotations

import math
import sys
from typing import NamedTuple

import numpy as np

from simjudge.context.block_length import estimate_block_length
from simjudge.core.arrays import FloatArray, IntArray
from simjudge.data.frame_sequences import NUMBERS, FrameSequence
from simjudge.studies.sampling_units import SamplingUnits, match_units

PERMUTATIONS = 99


class Alarms(NamedTuple):
    """Of all pairs: the share that is called a gap, the share without a verdict; the mean length of a block."""

    gaps: float
    short: float
    block: float


def autoregressive(count: int, coefficient: float, random: np.random.Generator) -> FloatArray:
    """An AR(1) series of variance 1."""
    noise = random.standard_normal(count) * math.sqrt(1 - coefficient**2)
    series = np.empty(count)
    series[0] = random.standard_normal()
    for i in range(1, count):
        series[i] = coefficient * series[i - 1] + noise[i]
    return series


def p_value(pair: list[FloatArray], units: list[IntArray], random: np.random.Generator) -> float:
    """Permute the units of two sets whose contexts are all alike."""
    count = [int(each[-1]) + 1 for each in units]
    pooled, unit = np.concatenate(pair), np.concatenate([units[0], units[1] + count[0]])
    order = np.argsort(pooled)
    first = np.arange(sum(count)) < count[0]
    labels = np.stack([first, *(random.permutation(first) for _ in range(PERMUTATIONS))])[:, unit[order]]
    share = [np.cumsum(each, 1) / each.sum(1, keepdims=True) for each in (labels, ~labels)]
    w1 = (np.abs(share[0] - share[1])[:, :-1] * np.diff(pooled[order])).sum(1)
    return float(np.mean(w1 >= w1[0] - 1e-12))


class Series(NamedTuple):
    """A kind of recording: how many frames it has, and the correlation of neighbours."""

    count: int
    coefficient: float


def units_of(series: FloatArray, *, independent: bool = False) -> SamplingUnits:
    """The sampling units of a series, as `sampling_units` finds those of a numbered set.

    Args:
        series: float64 (N,).
        independent: whether its frames are known to be independent.
    """
    count = len(series)
    if independent:
        return SamplingUnits(np.arange(count), count, independent=True)
    run, slot = np.zeros(count, np.int64), np.arange(count)
    block = estimate_block_length(run, slot, series)
    of_frame = slot // block.frames
    return SamplingUnits(of_frame, int(of_frame[-1]) + 1, block, FrameSequence(run, slot, 1, NUMBERS))


def false_alarms(
    a: Series, b: Series, runs: int, seed: int = 0, *, shift: float = 0.0, block: bool = True, match: bool = True
) -> Alarms:
    """Compare pairs of recordings.

    Args:
        a, b: of what kind; frames of a correlation of exactly 0 on side B alone are known to be independent.
        runs: pairs.
        seed: of everything random.
        shift: by how many standard deviations B is off.
        block: False for frames by themselves, which any comparison with `--block 0` does.
        match: whether units are matched, as `comparison_units` does.
    """
    random = np.random.default_rng(seed)
    gaps, short, blocks = 0, 0, []
    for _ in range(runs):
        pair = [autoregressive(a.count, a.coefficient, random), autoregressive(b.count, b.coefficient, random) + shift]
        units = [units_of(pair[0]), units_of(pair[1], independent=b.coefficient == 0 < a.coefficient)]
        if block and any(each.short for each in units):
            short += 1
            continue
        drawn = match_units(units[0], units[1]) if match else units
        frames = [each.of_frame if block else np.arange(len(each.of_frame)) for each in drawn]
        blocks += [len(each.of_frame) / each.count for each in drawn]
        gaps += p_value(pair, frames, random) <= 0.05
    return Alarms(gaps / runs, short / runs, float(np.mean(blocks)) if blocks else math.nan)


UNEQUAL = [
    (Series(65, 0.3), Series(60, 0.0)), (Series(65, 0.5), Series(120, 0.0)), (Series(65, 0.5), Series(600, 0.0)),
    (Series(300, 0.8), Series(60, 0.0)), (Series(300, 0.8), Series(300, 0.0)), (Series(300, 0.8), Series(2000, 0.0)),
    (Series(1000, 0.9), Series(3000, 0.0)), (Series(300, 0.9), Series(1000, 0.5)),
    (Series(300, 0.8), Series(2000, 0.3)), (Series(100, 0.6), Series(1000, 0.6)),
    (Series(1000, 0.9), Series(1000, 0.3)), (Series(300, 0.3), Series(300, 0.8)),
]  # fmt: skip
"""Pairs of unlike recordings; correlation 0: frames that are known to be independent."""


def main(runs: int) -> None:
    """Print the tables."""
    print("| correlation of neighbours | frames | gap | too few | mean block | gap with `--block 0` |")
    print("| --- | --- | --- | --- | --- | --- |")
    for coefficient in (0.0, 0.1, 0.2, 0.3, 0.4, 0.6, 0.9):
        for count in (20, 30, 40, 50, 100, 200):
            kind = Series(count, coefficient)
            found, alone = false_alarms(kind, kind, runs), false_alarms(kind, kind, runs, block=False)
            numbers = f"{100 * found.gaps:.1f} % | {100 * found.short:.0f} % | {found.block:.1f}"
            print(f"| {coefficient} | {count} | {numbers} | {100 * alone.gaps:.1f} % |", flush=True)
    print("\n| A | B | gap | unmatched | gap where B is shifted by 0.5 | unmatched |")
    print("| --- | --- | --- | --- | --- | --- |")
    for a, b in UNEQUAL:
        cells = [f"{100 * false_alarms(a, b, runs, shift=shift, match=match).gaps:.1f} %"
                 for shift in (0.0, 0.5) for match in (True, False)]  # fmt: skip
        kinds = [f"{each.count:,} of {each.coefficient}" if each.coefficient else f"{each.count:,} independent"
                 for each in (a, b)]  # fmt: skip
        print(f"| {' | '.join([*kinds, *cells])} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
