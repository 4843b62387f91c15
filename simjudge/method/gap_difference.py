"""Which of several simulations is nearer to one reality: differences of gaps under joint draws (method, section 6).

Every simulation is compared with the same A. A draw gives A's units the same numbers in all comparisons, so what A's
own frames do by chance moves all gaps together, and their difference is surer than either of them. Draws say what the
performance in each context might have been; which contexts A's frames show is chance too, and moves the difference
where the simulations fail in unlike kinds of contexts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.core.string_enum import StrEnum
from simjudge.method.bootstrap import Bootstrap
from simjudge.method.certainty import doubted_gap, gap_draws, interval_spreads
from simjudge.method.gap import estimate_gap
from simjudge.method.multiple_tests import step_down
from simjudge.method.verdicts import MARGIN, SIGNIFICANCE


class Nearness(StrEnum):
    """What is said of two simulations."""

    FIRST = "first_is_nearer"
    SECOND = "second_is_nearer"
    ALIKE = "alike"
    CANNOT_TELL = "cannot_tell"
    NOT_TESTED = "not_tested"


@dataclass(frozen=True, repr=False)
class JointGap(ShortRepr):
    """The gap of one comparison, whose draws are those of others too."""

    bootstrap: Bootstrap
    units: int  # sampling units of the poorer side
    w1: FloatArray  # (N,) of the contexts of A, the same ones in every comparison
    groups: tuple[IntArray, ...]  # (N,) the sampling unit of each, and its block of time where there are such


@dataclass(frozen=True)
class GapDifference:
    """By how much the gap of the second simulation is larger than that of the first.

    Attributes:
        low, high: of the 95 % interval.
        p_value: of this pair alone; p_adjusted is over all pairs of simulations.
    """

    first: int
    second: int
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    nearness: Nearness = Nearness.NOT_TESTED


def compare_gaps(
    groups: Sequence[Sequence[JointGap | None]], margin: float = MARGIN, overall: Sequence[GapDifference] = ()
) -> list[list[GapDifference]]:
    """Compare the gaps of every two simulations in each group, such as a class; None stands for one not compared.

    All gaps of a group are of the same contexts of A. p is corrected over all groups and pairs by the largest
    studentized difference over the joint draws, step by step (Romano and Wolf, Econometrica 73, 2005). Two are called
    alike where p is larger and the interval lies within the margin. `overall`: the pairs over all classes, whose p no
    class has less than.
    """
    found: dict[tuple[int, int, int], GapDifference] = {}
    chance: list[FloatArray] = []
    tested: list[float] = []
    for number, gaps in enumerate(groups):
        drawn = [None if gap is None else gap_draws(gap.bootstrap) for gap in gaps]
        for i, j in combinations(range(len(gaps)), 2):
            a, b, of_a, of_b = gaps[i], gaps[j], drawn[i], drawn[j]
            if a is None or b is None or of_a is None or of_b is None:
                continue
            one, observed, by_chance = _difference((i, j), (a, b), of_b - of_a)
            found[number, i, j] = one
            tested.append(observed)
            chance.append(by_chance)
    least = {(one.first, one.second): one.p_adjusted or 0.0 for one in overall}
    told = {
        key: _told(one, max(p, one.p_value or 0.0, least.get(key[1:], 0.0)), margin)
        for (key, one), p in zip(found.items(), step_down(tested, chance), strict=True)
    }
    return [
        [told.get((number, *pair), GapDifference(*pair)) for pair in combinations(range(len(gaps)), 2)]
        for number, gaps in enumerate(groups)
    ]


def _difference(
    pair: tuple[int, int], gaps: tuple[JointGap, JointGap], drawn: FloatArray
) -> tuple[GapDifference, float, FloatArray]:
    """A difference with its interval and p; what is tested of it, and what chance makes of that."""
    first, second = gaps
    spreads = max(interval_spreads(gap.bootstrap, gap.units) for gap in gaps)
    centred = np.abs(drawn - drawn.mean())
    shown = max(mean_error(second.w1 - first.w1, group) for group in first.groups)
    spread = math.hypot(float(drawn.std()), first.bootstrap.row_error, second.bootstrap.row_error, shown)
    plain, *doubted = (_gap(second, sign) - _gap(first, sign) for sign in (0.0, 1.0, -1.0))
    ends = min(plain, *doubted), max(plain, *doubted)
    # Noise in doubt moves both gaps: what it could make of none is no difference.
    observed = 0.0 if ends[0] <= 0 <= ends[1] else min(map(abs, ends))
    widened = spreads / NORMAL_SPREADS * (spread / float(drawn.std()) if drawn.std() else 1.0)
    chance: FloatArray = centred * widened
    p = float((1 + (chance >= observed * (1 - 1e-9)).sum()) / (1 + len(chance)))
    low, high = ends[0] - spreads * spread, ends[1] + spreads * spread
    return GapDifference(*pair, plain, low, high, p), observed, chance


def mean_error(values: FloatArray, group: IntArray) -> float:
    """Standard error of a mean over (N,) contexts that come in groups, as endless frames would show them."""
    parts = np.bincount(group, values - values.mean())
    held = int(np.count_nonzero(np.bincount(group)))
    return math.sqrt(float(parts @ parts) * held / max(1, held - 1)) / len(values)


NORMAL_SPREADS = 1.959963984540054
"""From the middle of a normal distribution to the ends of its middle 95 %."""


def _gap(gap: JointGap, sign: float) -> float:
    """G, or what it is if the noise is larger (1) or smaller (-1) than it seems."""
    boot = gap.bootstrap
    if sign:
        return doubted_gap(boot, sign)
    return estimate_gap(boot.w1, boot.noise, boot.square, boot.weight, boot.largest).mean


def _told(one: GapDifference, p: float, margin: float) -> GapDifference:
    difference, low, high = one.difference or 0.0, one.low or 0.0, one.high or 0.0
    nearness = Nearness.CANNOT_TELL
    if p <= SIGNIFICANCE:
        nearness = Nearness.FIRST if difference > 0 else Nearness.SECOND
    elif -margin < low and high < margin:
        nearness = Nearness.ALIKE
    return GapDifference(one.first, one.second, difference, low, high, one.p_value, p, nearness)
