"""Pairs of recordings of one kind, whose frames follow each other (AR(1)), many times over: how often a gap is called.

`python test/simulated_series.py 150` prints the table of docs/measurements/certainty.md.
"""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.method.block_length import BlockLength, estimate_block_length, longest_block
from simjudge.method.small_batches import shortfall
from simjudge.method.verdicts import FEWEST_UNITS

DRAWS = 99


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


def p_value(
    pair: list[FloatArray], units: list[IntArray], random: np.random.Generator, doubted: int | None = None
) -> float:
    """Draw the units of two sets whose contexts are all alike (method, section 6).

    Args:
        doubted: units of the poorer set whose blocks may have to be longer than it allows.
    """
    pooled, unit = np.concatenate(pair), np.concatenate([units[0], units[1] + int(units[0][-1]) + 1])
    order = np.argsort(pooled)
    share = np.concatenate([np.full(len(pair[0]), 1 / len(pair[0])), np.full(len(pair[1]), -1 / len(pair[1]))])[order]
    steps, below = np.diff(pooled[order]), np.arange(1, len(pooled)) / len(pooled)
    drawn = np.cumsum(random.standard_normal((DRAWS, int(unit[-1]) + 1))[:, unit[order]] * share, 1)
    chance = np.abs(drawn[:, :-1] - below * drawn[:, -1:]) @ steps
    chance *= shortfall(*(len(np.unique(each)) for each in units))[0]
    if doubted is not None:
        chance *= np.sqrt((doubted - 1) / random.chisquare(doubted - 1, DRAWS))
    return float((1 + np.sum(chance >= np.abs(np.cumsum(share))[:-1] @ steps)) / (1 + DRAWS))


class Series(NamedTuple):
    """A kind of recording: how many frames it has, and the correlation of neighbours."""

    count: int
    coefficient: float


def units_of(series: FloatArray) -> tuple[IntArray, BlockLength]:
    """(N,) the block of each frame of a series, and what was estimated."""
    slot = np.arange(len(series))
    block = estimate_block_length(np.zeros(len(series), np.int64), slot, series)
    frames = 1 if block.frames == 1 else max(block.frames, math.ceil(2.5 * block.design_effect))
    longest = longest_block(len(series))
    return slot // min(frames, longest), replace(block, limited=block.limited or frames > longest)


def false_alarms(a: Series, b: Series, runs: int, seed: int = 0, *, block: bool = True) -> Alarms:
    """Compare pairs of recordings.

    Args:
        a, b: of what kind.
        runs: pairs.
        seed: of everything random.
        block: False for frames by themselves, which any comparison with `--block 0` does.
    """
    random = np.random.default_rng(seed)
    gaps, short, blocks = 0, 0, []
    for _ in range(runs):
        pair = [autoregressive(each.count, each.coefficient, random) for each in (a, b)]
        units = [units_of(each) for each in pair]
        if block and any(length.too_short or unit[-1] + 1 < FEWEST_UNITS for unit, length in units):
            short += 1
            continue
        frames = [unit if block else np.arange(len(unit)) for unit, _ in units]
        blocks += [length.frames for _, length in units]
        doubted = min((int(unit[-1]) + 1 for unit, length in units if block and length.limited), default=None)
        gaps += p_value(pair, frames, random, doubted) <= 0.05
    return Alarms(gaps / runs, short / runs, float(np.mean(blocks)) if blocks else math.nan)


def main(runs: int) -> None:
    """Print the tables."""
    correlations = (0.0, 0.2, 0.3, 0.4, 0.6, 0.9)
    print("| frames |", " | ".join(map(str, correlations)), "|")
    print("| --- |" + " --- |" * len(correlations))
    for count in (10, 16, 20, 24, 26, 30, 40, 60, 100, 200):
        cells = []
        for coefficient in correlations:
            kind = Series(count, coefficient)
            found = false_alarms(kind, kind, runs)
            of_given = found.gaps / (1 - found.short) if found.short < 1 else 0.0
            cells.append(f"{100 * found.gaps:.1f} % ({100 * found.short:.0f} %; {100 * of_given:.0f} %)")
        print(f"| {count} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
