"""How sure one can be of a W1: floor, p, the interval of the excess, and a verdict (method, section 6).

W1 over few samples is above zero even where nothing differs, so a bare W1 says little. Sampling units (frames), not
objects, are relabelled and resampled, because the objects of a frame are not independent.

**What the interval is of.** Endless samples would show a W1 without chance in it: the gap. The noise of a finite sample
hides a part of it, for noise and gap do not simply add. So W1 - floor is at most the gap, and serves as its lower end.
For the upper end we ask which gap could have been hidden. Where F_A - F_B is D at some value, its estimate is about
normal around D with a spread s, and contributes E|N(D, s)| = s f(D / s), f(x) = sqrt(2/pi) exp(-x^2 / 2) + x erf(x /
sqrt 2). f is convex. By Jensen's inequality, over all values and contexts, E[W1] is at least S f(gap / S), where S sums
the spreads, and S f(0) is the floor. So the gap is at most S f^-1(E[W1] / S).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from simjudge.context.multiple_tests import holm
from simjudge.context.resampling import ResampledW1
from simjudge.context.sample_size import NO_UNITS, SampleSize
from simjudge.context.verdicts import FEWEST_UNITS, MARGIN, SIGNIFICANCE, Reason, Verdict, verdict_by_margin
from simjudge.core.display import ShortRepr

POWER_QUANTILE = 0.8416
"""Of the normal distribution at 0.8: a gap this many spreads above what must be passed is shown in 80 of 100 cases."""


@dataclass(frozen=True, repr=False)
class Evidence(ShortRepr):
    """What the certainty of one class, or of all classes together, rests on.

    Attributes:
        mean_w1: mean of the W1 list; None where nothing was compared.
        resampled: of one class, or the sum over classes; None where nothing was resampled.
        size: how many sampling units there are.
    """

    mean_w1: float | None
    resampled: ResampledW1 | None = None
    size: SampleSize = NO_UNITS


@dataclass(frozen=True)
class Certainty:
    """What stands beside a mean W1. Numbers are None where nothing was compared or nothing was tried.

    Attributes:
        noise, noise_q95: mean W1 if A and B did not differ: mean and 95 % quantile over permutations.
        gap: mean W1 less noise.
        gap_low, gap_high: 95 % interval of the excess: of the W1 that endless samples would show.
        detectable_gap: the gap that these sizes would have shown in about 80 of 100 cases; None also where there is too
            little to show any.
        gap_share, gap_size: a gap of `gap_size` in the share `gap_share` of the contexts.
        adjusted_w1: mean W1 as if the objects in like contexts had like sizes.
        p_value: (1 + permutations with W1 at least as large) / (1 + permutations).
        p_adjusted: p_value for one class among several; p_value itself for all together. None where there is too little
            to be tested.
        permutations, bootstrap: how many were made.
        units_a, units_b: sampling units that hold the class; 0 where nothing was tried.
        margin: difference of performance from which a gap matters.
        verdict: what this says.
        verdict_reason: why there is too little to tell.
    """

    noise: float | None = None
    noise_q95: float | None = None
    gap: float | None = None
    gap_low: float | None = None
    gap_high: float | None = None
    detectable_gap: float | None = None
    gap_share: float | None = None
    gap_size: float | None = None
    adjusted_w1: float | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    permutations: int = 0
    bootstrap: int = 0
    units_a: int = 0
    units_b: int = 0
    margin: float = MARGIN
    verdict: Verdict = Verdict.NOT_TESTED
    verdict_reason: Reason = Reason.NONE


def estimate_certainty(
    classes: Sequence[Evidence], overall: Evidence, margin: float = MARGIN
) -> tuple[list[Certainty], Certainty]:
    """Judge each class as one of several, and all classes together.

    Of twenty classes that do not differ, one would have p <= 0.05 by chance. p_adjusted is Holm's (Scand. J. Statist.
    6, 1979), and at least the p of all classes together: a class is called a gap only where the sets as a whole differ.
    Classes in which no difference could become significant do not count as tested (Tarone, Biometrics 46, 1990).

    Args:
        classes: of each class by itself.
        overall: of all classes together.
        margin: difference of performance from which a gap matters.

    Returns:
        The certainty of each class, and of all classes together.
    """
    together = _estimate(overall, 1)
    together = _judged(together, _reason(overall, together, 1), together.p_value, margin)
    testable = [i for i, one in enumerate(classes) if one.mean_w1 is not None and not _lacking(one.size)]
    testable.sort(key=lambda i: classes[i].size.smallest_p)
    while testable and len(testable) * classes[testable[-1]].size.smallest_p > SIGNIFICANCE:
        testable.pop()
    count = max(1, len(testable))
    each = [_estimate(one, count) for one in classes]
    reasons = [_reason(one, sure, count) for one, sure in zip(classes, each, strict=True)]
    tested = {i for i in testable if not reasons[i]}
    adjusted = holm([sure.p_value if i in tested else None for i, sure in enumerate(each)])
    least = together.p_value or 0.0
    return [
        _judged(sure, reason, None if p is None else max(p, least), margin)
        for sure, reason, p in zip(each, reasons, adjusted, strict=True)
    ], together


def _lacking(size: SampleSize) -> Reason:
    """What no number of permutations would mend."""
    if not size.predicted:
        return Reason.NEVER_PREDICTED
    if min(size.units_a, size.units_b) < FEWEST_UNITS:
        return Reason.FEW_UNITS
    return Reason.SHORT_RECORDING if size.short else Reason.NONE


def _reason(evidence: Evidence, certainty: Certainty, classes: int) -> Reason:
    """Why a class could not be called a gap however large its difference; empty where it could."""
    lacking = _lacking(evidence.size)
    if lacking:
        return lacking
    if classes * evidence.size.smallest_p > SIGNIFICANCE:
        return Reason.FEW_RELABELLINGS
    return Reason.FEW_PERMUTATIONS if classes / (1 + certainty.permutations) > SIGNIFICANCE else Reason.NONE


def _judged(certainty: Certainty, reason: Reason, p: float | None, margin: float) -> Certainty:
    if certainty.p_value is not None:
        certainty = replace(certainty, margin=margin)
    low, high = certainty.gap_low, certainty.gap_high
    if certainty.verdict == Verdict.NO_OVERLAP or certainty.p_value is None or low is None or high is None:
        # Whatever was not tried: no verdict. p alone says nothing about how large a gap is.
        return replace(certainty, p_adjusted=p)
    if reason or p is None:
        why = reason or Reason.FEW_RELABELLINGS
        return replace(certainty, detectable_gap=None, verdict=Verdict.TOO_FEW, verdict_reason=why)
    return replace(certainty, p_adjusted=p, verdict=verdict_by_margin(p, low, high, margin))


def _estimate(evidence: Evidence, classes: int) -> Certainty:
    """The numbers of one class among several, without a verdict."""
    resampled, w1, size = evidence.resampled, evidence.mean_w1, evidence.size
    sure = Certainty(verdict=Verdict.NOT_TESTED if w1 is not None else Verdict.NO_OVERLAP)
    if w1 is None or resampled is None:
        return sure
    relabelled, reweighted = resampled.label_means(), resampled.weight_means()[1:]
    tries, draws = relabelled[1:], reweighted[~np.isnan(reweighted)]
    sure = replace(sure, permutations=len(tries), bootstrap=len(reweighted), units_a=size.units_a, units_b=size.units_b)
    # Undefined tries (no overlap) say nothing against chance: they count as at least as large.
    defined = tries[~np.isnan(tries)]
    if not len(tries):
        return sure
    # The slack only covers rounding, in the cautious direction.
    as_large = int(np.sum(defined >= relabelled[0] * (1 - 1e-12))) + len(tries) - len(defined)
    sure = replace(sure, p_value=(1 + as_large) / (1 + len(tries)))
    if not len(defined):
        return sure
    floor = float(defined.mean())
    sure = replace(sure, noise=floor, noise_q95=float(np.quantile(defined, 0.95)), gap=w1 - floor)
    if not len(draws):
        return sure
    # A redrawn W1 is biased upward, so the spread of the draws is used and not their place.
    # Near 0 it cannot go down as far as up; the larger distance holds for both ends.
    spread = float(np.abs(np.quantile(draws, [0.025, 0.975]) - draws.mean()).max())
    needed = float(np.quantile(defined, 1 - SIGNIFICANCE / classes)) + POWER_QUANTILE * float(draws.std())
    return replace(
        sure,
        gap_low=w1 - floor - spread,
        gap_high=largest_gap(w1 + spread, floor),
        detectable_gap=largest_gap(needed, floor),
    )


def largest_gap(w1: float, floor: float) -> float:
    """The largest gap that noise can hide in an expected W1 (see the module's docstring).

    Args:
        w1: the expected W1.
        floor: the expected W1 without a gap.

    Returns:
        S f^-1(w1 / S), 0 where `w1` is not above the floor; w1 itself where the floor is 0.
    """
    spread = floor / _fold(0.0)
    if w1 <= floor:
        return 0.0
    if spread == 0:
        return w1
    low, high = 0.0, w1 / spread
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _fold(middle) < w1 / spread else (low, middle)
    return spread * high


def _fold(x: float) -> float:
    """Mean of |X| for a normal X of mean x and spread 1."""
    return math.sqrt(2 / math.pi) * math.exp(-x * x / 2) + x * math.erf(x / math.sqrt(2))
