"""How sure one can be of a gap: noise, p, the gap with its interval, and a verdict (method, section 6).

W1 over few samples is above zero even where nothing differs, so a bare W1 says little. Beside it stand the W1 that
chance makes of sets that do not differ (noise), and the gap between the populations that endless frames would show.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.method.bootstrap import Bootstrap
from simjudge.method.gap import GapCurve, estimate_gap, expected_w1, folded_variance, gap_behind
from simjudge.method.multiple_tests import step_down
from simjudge.method.verdicts import (
    FEWEST_UNITS,
    MARGIN,
    SIGNIFICANCE,
    Reason,
    Scope,
    Verdict,
    turns,
    verdict_by_margin,
)

NOISE_DOUBT = 0.8
"""Over the units of a batch: the relative error of its noise. Draws cannot tell it from a gap however many contexts."""
LEAST_TOLD = 0.5
"""Share of the contexts that must have two or more units on either side before a class is judged."""
_STEPS = 60
"""Bisections: more than a double has bits for."""
_NUMBERS = 20
"""Normal numbers beside each shift, from which an interval is read."""
POWER_QUANTILE = 0.8416
"""Of the normal distribution at 0.8: a gap this many spreads above what must be passed is shown in 80 of 100 cases."""


@dataclass(frozen=True)
class SampleSize:
    """How many sampling units of each side hold a class, whether the detector predicts it anywhere, and how many do."""

    units_a: int
    units_b: int
    predicted: bool = True
    fewest: int = FEWEST_UNITS

    @property
    def few(self) -> bool:
        """Whether a side has fewer than a verdict needs."""
        return min(self.units_a, self.units_b) < self.fewest

    @classmethod
    def of_units(
        cls, held: tuple[IntArray, IntArray], *, predicted: bool = True, fewest: int = FEWEST_UNITS
    ) -> SampleSize:
        """Count the units of A and of B that hold a class; each number may stand several times."""
        return cls(len(np.unique(held[0])), len(np.unique(held[1])), predicted, fewest)


NO_UNITS = SampleSize(0, 0)
"""Nothing was counted."""


@dataclass(frozen=True, repr=False)
class Evidence(ShortRepr):
    """What the certainty of one class, or of all classes together, rests on.

    Attributes:
        mean_w1: mean of the W1 list; None where nothing was compared.
        bootstrap: of one class, or of all together; None where nothing was drawn.
        size: how many sampling units there are.
        adjusted: whether W1 of the draws is of adjusted performance.
        tried: how many draws were made, whether or not a context could carry them.
        scope: what a verdict on it speaks of.
    """

    mean_w1: float | None
    bootstrap: Bootstrap | None = None
    size: SampleSize = NO_UNITS
    adjusted: bool = False
    tried: int = 0
    scope: Scope = Scope.UNKNOWN


@dataclass(frozen=True)
class Certainty:
    """What stands beside a mean W1. Numbers are None where nothing was compared or nothing was drawn.

    Attributes:
        adjusted_w1: mean W1 of performance adjusted for unlike objects, which all that follows is of; None where it is
            of the plain W1.
        noise: mean W1 of sets that do not differ: chance alone.
        noise_q95: what p compares with: W1 above this has p <= 0.05.
        gap: mean over contexts of W1 between the populations, as endless frames would show it.
        gap_share, gap_size: a gap of gap_size in the share gap_share of the contexts makes the gap.
        detectable_gap: the gap that these sizes would have shown in about 80 of 100 cases; None also where there is too
            little to show any.
        p_value: (1 + draws with W* at least as large) / (1 + draws).
        p_adjusted: p_value for one class among several; p_value itself for all together. None where there is too little
            to be tested.
        drawn_share: share of the compared contexts that carry the draws.
        units_a, units_b: sampling units that hold the class; 0 where nothing was drawn.
        margin: difference of performance from which a gap matters.
        verdict: see `simjudge.method.verdicts`.
        verdict_reason: why there is too little to tell.
        verdict_below, verdict_above: the verdicts at a threshold 0.1 below and above; None where nobody looked there.
        scope: what the verdict speaks of.
    """

    adjusted_w1: float | None = None
    noise: float | None = None
    noise_q95: float | None = None
    gap: float | None = None
    gap_low: float | None = None
    gap_high: float | None = None
    gap_share: float | None = None
    gap_size: float | None = None
    detectable_gap: float | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    draws: int = 0
    drawn_share: float | None = None
    units_a: int = 0
    units_b: int = 0
    margin: float = MARGIN
    verdict: Verdict = Verdict.NOT_TESTED
    verdict_reason: Reason = Reason.NONE
    verdict_below: Verdict | None = None
    verdict_above: Verdict | None = None
    scope: Scope = Scope.UNKNOWN

    def __post_init__(self) -> None:
        """Take a verdict's code, as files hold it, for the verdict."""
        object.__setattr__(self, "verdict", Verdict(self.verdict))

    def beside(self, below: Verdict | None, above: Verdict | None) -> Certainty:
        """The same, knowing the verdicts at the thresholds around it: a "predicts" that turns there is not given."""
        known = replace(self, verdict_below=below, verdict_above=above)
        turned = any(each is not None and turns(self.verdict, each) for each in (below, above))
        if not turned or self.verdict != Verdict.PREDICTS:
            return known
        return replace(known, verdict=Verdict.CANNOT_TELL, verdict_reason=Reason.TURNS_WITH_THETA)


def estimate_certainty(
    classes: Sequence[Evidence], overall: Evidence, margin: float = MARGIN
) -> tuple[list[Certainty], Certainty]:
    """Judge each class as one of several, and all classes together.

    Of twenty classes that do not differ, one would have p <= 0.05 by chance. The draws are the same in all classes, so
    p_adjusted is from the largest studentized W* of the classes, step by step (Romano and Wolf, Econometrica 73, 2005);
    and it is at least the p of all classes together: a class is called a gap only where the sets as a whole differ.
    """
    together = _estimate(overall, 1)
    together = _judged(together, _reason(overall), together.p_value, margin)
    reasons = [_reason(evidence) for evidence in classes]
    tested = [i for i, evidence in enumerate(classes) if evidence.bootstrap is not None and not reasons[i]]
    boots = [boot for i in tested if (boot := classes[i].bootstrap) is not None]
    adjusted = dict(zip(tested, step_down([b.mean_w1 for b in boots], [b.chance for b in boots]), strict=True))
    least = together.p_value or 0.0
    corrected = [max(adjusted[i], least) if i in adjusted else None for i in range(len(classes))]
    return [
        _judged(_estimate(evidence, max(1, len(tested))), reason, p, margin)
        for evidence, reason, p in zip(classes, reasons, corrected, strict=True)
    ], together


def p_value(observed: float, chance: FloatArray) -> float:
    """(1 + draws at least as large) / (1 + draws). The slack covers rounding, in the cautious direction."""
    return float((1 + np.sum(chance >= observed * (1 - 1e-9))) / (1 + len(chance)))


def _reason(evidence: Evidence) -> Reason:
    """Why a class could not be called a gap however large its difference; empty where it could."""
    size, boot = evidence.size, evidence.bootstrap
    if not size.predicted:
        return Reason.NEVER_PREDICTED
    if size.few:
        return Reason.FEW_UNITS
    if boot is None:
        return Reason.NONE
    if boot.told < LEAST_TOLD:
        return Reason.LONE_UNITS
    if 1 / (1 + boot.draws) > SIGNIFICANCE:
        return Reason.FEW_DRAWS
    # Had all of A the performance 0 and all of B 1, W1 would be 1: do few heavy units make that by chance?
    return Reason.UNEVEN_UNITS if p_value(1.0, boot.extreme) > SIGNIFICANCE else Reason.NONE


def _judged(certainty: Certainty, reason: Reason, p: float | None, margin: float) -> Certainty:
    certainty = replace(certainty, margin=margin)
    low, high = certainty.gap_low, certainty.gap_high
    if certainty.verdict == Verdict.NO_OVERLAP or certainty.p_value is None or low is None or high is None:
        # Whatever was not drawn: no verdict.
        return replace(certainty, p_adjusted=p)
    if reason or p is None:
        why = reason or Reason.FEW_UNITS
        return replace(certainty, detectable_gap=None, verdict=Verdict.TOO_FEW, verdict_reason=why)
    return replace(certainty, p_adjusted=p, verdict=verdict_by_margin(p, low, high, margin))


def _estimate(evidence: Evidence, classes: int) -> Certainty:
    """The numbers of one class among several, without a verdict."""
    boot, size = evidence.bootstrap, evidence.size
    verdict = Verdict.NOT_TESTED if evidence.mean_w1 is not None else Verdict.NO_OVERLAP
    sure = Certainty(verdict=verdict, scope=evidence.scope)
    if evidence.mean_w1 is None or boot is None:
        few = evidence.mean_w1 is not None and evidence.tried > 0
        if not few:
            return sure
        held = replace(sure, draws=evidence.tried, units_a=size.units_a, units_b=size.units_b)
        reason = Reason.FEW_UNITS if size.few else Reason.LONE_UNITS
        return replace(held, verdict=Verdict.TOO_FEW, verdict_reason=reason)
    gap = estimate_gap(boot.w1, boot.noise, boot.square, boot.weight, boot.largest)
    units = min(size.units_a, size.units_b)
    error, p = gap_error(boot, units), p_value(boot.mean_w1, boot.chance)
    needed = float(np.quantile(boot.chance, 1 - SIGNIFICANCE / classes)) + POWER_QUANTILE * float(boot.around.std())
    return replace(
        sure,
        adjusted_w1=boot.mean_w1 if evidence.adjusted else None,
        noise=boot.mean_noise,
        noise_q95=float(np.quantile(boot.chance, 1 - SIGNIFICANCE)),
        gap=gap.mean,
        # What p does not rule out, the interval does not either: noise around the pooled distribution holds the gap.
        gap_low=0.0 if p > SIGNIFICANCE else max(0.0, doubted_gap(boot, 1.0) - error),
        gap_high=min(boot.largest, max(doubted_gap(boot, -1.0) + error, largest_even_gap(boot, units))),
        gap_share=gap.share,
        gap_size=gap.size,
        detectable_gap=gap_behind(needed, boot.noise, boot.weight),
        p_value=p,
        draws=boot.draws,
        drawn_share=boot.drawn_share,
        units_a=size.units_a,
        units_b=size.units_b,
    )


def gap_error(boot: Bootstrap, units: int) -> float:
    """Half the width of the gap's 95 % interval: from the spread of the gap that each draw estimates."""
    return half_width(boot, units, math.hypot(float(gap_draws(boot).std()), boot.row_error))


def half_width(boot: Bootstrap, units: int, spread: float) -> float:
    """Half the width of a 95 % interval, of something that the draws spread so far.

    How far recordings move it is known by few of them: their part is as the shift of W*, what is left is of units.
    """
    wide = interval_spreads(boot, units)
    if not boot.moved.any():
        return spread * wide
    of_units = math.sqrt(max(0.0, spread**2 - float(boot.moved_normal.var())))
    normal = np.random.default_rng(0).standard_normal((_NUMBERS, len(boot.moved)))
    return float(np.quantile(np.abs(of_units * wide / interval_width(math.inf) * normal + boot.moved), 0.95))


def interval_spreads(boot: Bootstrap, units: int) -> float:
    """Spreads from the middle of an interval to its end; blocks in doubt widen it as they do W*."""
    doubt = interval_width(boot.degrees) / interval_width(math.inf)
    return interval_width(max(1, units - 1)) * doubt


def doubted_gap(boot: Bootstrap, sign: float) -> float:
    """The gap if the noise is larger (1) or smaller (-1) than it seems, as few units in a batch leave open."""
    factor = 1 + sign * NOISE_DOUBT / boot.units
    return estimate_gap(boot.w1, boot.noise * factor, boot.square * factor**2, boot.weight, boot.largest).mean


def largest_even_gap(boot: Bootstrap, units: int) -> float:
    """The largest gap that is not ruled out by W1 alone.

    W1 grows faster than the gap of a context, so that none hides better than one that is alike in all of them. Where W1
    is near 0, its draws lie folded at 0 and vary less than those of a true gap would: their spread is that at the gap,
    as far as contexts vary together.
    """
    noise = boot.noise * (1 - NOISE_DOUBT / boot.units)
    spread = half_width(boot, units, math.hypot(float(boot.around.std()), boot.row_error))
    found = gap_behind(boot.mean_w1, boot.noise, boot.weight)
    here = float(boot.weight @ folded_variance(found, boot.noise))
    each = float(boot.around_square.mean() - boot.around.mean() ** 2)
    common = min(1.0, float(boot.around.var()) / each) if each > 0 else 1.0
    low, high = 0.0, boot.largest
    for _ in range(_STEPS):
        gap = (low + high) / 2
        there = float(boot.weight @ folded_variance(gap, boot.noise))
        wider = math.sqrt(1 + common * max(0.0, there / here - 1)) if here > 0 else 1.0
        if float(boot.weight @ expected_w1(gap, noise)) - spread * wider <= boot.mean_w1:
            low = gap
        else:
            high = gap
    return low


def gap_draws(boot: Bootstrap) -> FloatArray:
    """(draws,) the gap that each draw estimates: their spread is that of the gap, their place is not.

    A draw of D + D* holds the noise twice, once in D: its moments are taken with sqrt(2) times the noise.
    """
    curve = GapCurve.of_contexts(boot.noise * math.sqrt(2), boot.weight, boot.largest)
    above = boot.around - math.sqrt(2) * boot.mean_noise
    return curve.gaps(above, boot.around_square - 2 * float(boot.weight @ boot.square))


def interval_width(degrees: float) -> float:
    """Student's t at 0.975, to 2 in 10,000 from five degrees of freedom on (Cornish-Fisher; Hill, 1970)."""
    z = 1.959963984540054
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / math.pow(degrees, power) for power, term in enumerate(terms, 1))
