"""The control: the same judge between two halves of one set, where there is nothing to find (method, section 6)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from simjudge.core.arrays import IntArray
from simjudge.judging.compare_settings import CompareSettings
from simjudge.judging.pair import PairResult, entry_numbers
from simjudge.judging.set_comparison import SetComparison
from simjudge.method.entry_numbers import Control, EntryNumbers
from simjudge.method.join_parts import PartRunner
from simjudge.method.verdicts import GAPS

SPLITS = 5
"""Ways to halve a set: of a single one, chance makes a gap in one of twenty reports."""
CONTROL_DRAWS = 400
"""Draws of a split at most: its verdict is looked at, its p is not quoted."""
MOST_OBJECTS = 4_000
"""Objects of a set that are halved at most, so that the control costs less than the comparison."""


def with_control(
    result: PairResult, settings: CompareSettings, *, deadline: float | None = None, run: PartRunner | None = None
) -> PairResult:
    """The same result with what the judge says between halves of A, and between halves of B."""
    if not settings.draws:
        return result
    control = {}
    for side, which in enumerate(("a", "b")):
        splits = [_between_halves(result, side, settings, split, deadline, run) for split in range(SPLITS)]
        splits.sort(key=lambda entry: -1.0 if entry.p_value is None else entry.p_value)
        gaps = sum(entry.verdict in GAPS for entry in splits)
        control[which] = Control(splits[SPLITS // 2], SPLITS, gaps)
    return replace(result, numbers=replace(result.numbers, control=control))


def _between_halves(
    result: PairResult, side: int, settings: CompareSettings, split: int, deadline: float | None, run: PartRunner | None
) -> EntryNumbers:
    """All classes together. A unit is of one half, so that the halves have nothing in common."""
    judged, units = (result.a, result.b)[side], result.units
    unit = units.unit[side]
    half = drawn_halves(unit, np.random.default_rng([settings.seed, 2, split]))
    first, second = (replace(judged, chosen=half == number) for number in range(2))
    of_set = replace(
        units,
        unit=(unit, unit),
        block=None if units.block is None else (units.block[side], units.block[side]),
        sides=(units.sides[side], units.sides[side]),
    )
    comparison = SetComparison((first, second), of_set, result.method, adjusts=settings.preset != "cpd")
    fewer = replace(settings, draws=min(settings.draws, CONTROL_DRAWS))
    [by_class], drawn = comparison.compare(comparison.schedule(fewer, deadline), run=run)
    _, overall = comparison.certainty(by_class, drawn, 0, settings.margin)
    return entry_numbers(list(by_class.values()), overall)


def drawn_halves(unit: IntArray, random: np.random.Generator) -> IntArray:
    """(N,) the half of each object, 0 or 1; -1 for what MOST_OBJECTS leaves out. Units are dealt in random order."""
    known, of, count = np.unique(unit, return_inverse=True, return_counts=True)
    order = random.permutation(len(known))
    half = np.full(len(known), -1)
    half[order] = np.arange(len(known)) % 2
    # A unit is never cut: those that would pass the limit stay out, but for the first of each half.
    half[order[2:][np.cumsum(count[order])[2:] > MOST_OBJECTS]] = -1
    return half[of]
