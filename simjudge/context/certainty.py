"""How sure one can be of a W1: the floor at equal sizes, its p-value, and a bootstrap interval (method, section 6).

W1 over few samples is biased upward, so a bare W1 says little. Frames, not objects, are relabelled and resampled,
because the objects of a frame are not independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from simjudge.context.method import MOST_TRIES
from simjudge.context.resampling import ResampledW1, Resamples
from simjudge.context.verdicts import GAP, NO_GAP, NO_OVERLAP, NOT_TESTED, SIGNIFICANCE
from simjudge.core.errors import UsageError
from simjudge.core.frames import FloatArray


@dataclass(frozen=True)
class Certainty:
    """What stands beside a mean W1. Fields are None where nothing was compared or nothing was tried.

    Attributes:
        w1_low, w1_high: 95 % bootstrap interval of the mean W1 at these sizes, frames resampled.
        floor_mean, floor_q95: mean W1 if A and B did not differ: mean and 95 % quantile over permutations.
        excess_w1: mean W1 less floor_mean.
        p_value: (1 + permutations with W1 at least as large) / (1 + permutations).
        p_adjusted: p_value for one class among several (see `correct_for_classes`); p_value itself for all together.
        verdict: GAP, NO_GAP, NO_OVERLAP or NOT_TESTED.
    """

    w1_low: float | None
    w1_high: float | None
    floor_mean: float | None
    floor_q95: float | None
    excess_w1: float | None
    p_value: float | None
    p_adjusted: float | None
    verdict: str


def draw_resamples(
    frames_a: int, frames_b: int, permutations: int, bootstrap: int, seed: int, *, paired: bool = False
) -> Resamples:
    """Draw relabellings and reweightings of frames, or of whatever is drawn as one (photographs, blocks of time).

    Args:
        frames_a, frames_b: frames of each set, or how many such things it has.
        permutations: relabellings beside the truth. The sizes of both sets stay as they are.
        bootstrap: draws with replacement, within each set.
        seed: of the random numbers.
        paired: frame i of A and frame i of B are a pair: labels are swapped within pairs, and pairs are drawn.

    Raises:
        UsageError: a negative or absurd number of tries, or paired sets of different length.
    """
    if not (0 <= permutations <= MOST_TRIES and 0 <= bootstrap <= MOST_TRIES):
        raise UsageError(f"permutations and bootstrap draws must be 0 to {MOST_TRIES}")
    if paired and frames_a != frames_b:
        raise UsageError(f"paired sets must have the same frames, not {frames_a} and {frames_b}")
    random = np.random.default_rng(seed)
    count = frames_a + frames_b
    labels = np.zeros((count, 1 + permutations if permutations else 0), np.uint8)
    labels[:frames_a] = 1
    for p in range(1, labels.shape[1]):
        if paired:
            swapped = random.integers(0, 2, frames_a).astype(np.uint8)
            labels[:, p] = np.concatenate([1 - swapped, swapped])
        else:
            labels[:, p] = random.permutation(labels[:, 0])
    weights = np.ones((count, 1 + bootstrap if bootstrap else 0), np.uint8)
    for d in range(1, weights.shape[1]):
        drawn = _times_drawn(random, frames_a)
        weights[:, d] = np.concatenate([drawn, drawn if paired else _times_drawn(random, frames_b)])
    return Resamples(labels, weights)


def estimate_certainty(mean_w1: float | None, resampled: ResampledW1 | None) -> Certainty:
    """Judge a mean W1 by what relabelling and reweighting give.

    The bootstrap is centred: a reweighted W1 is itself biased upward, so its spread is used, not its place. The
    interval says how far the number would move if other frames had been recorded; the floor says how much is bias.

    Args:
        mean_w1: mean of the W1 list; None where nothing was compared.
        resampled: of one class, or the sum over classes.
    """
    nothing = Certainty(None, None, None, None, None, None, None, NOT_TESTED if mean_w1 is not None else NO_OVERLAP)
    if mean_w1 is None or resampled is None:
        return nothing
    low = high = floor = q95 = p_value = None
    if len(resampled.weight_sum):
        draws = _means(resampled.weight_sum, resampled.weight_count)[1:]
        draws = draws[~np.isnan(draws)]
        if len(draws):
            spread = np.quantile(draws, [0.025, 0.975]) - draws.mean()
            low, high = max(0.0, mean_w1 + float(spread[0])), mean_w1 + float(spread[1])
    verdict = NOT_TESTED
    if len(resampled.label_sum):
        tries = _means(resampled.label_sum, resampled.label_count)
        truth, tries = tries[0], tries[1:]
        # Undefined tries (no overlap) say nothing against chance: they count as at least as large.
        defined = tries[~np.isnan(tries)]
        # The slack only covers rounding, in the cautious direction.
        as_large = int(np.sum(defined >= truth * (1 - 1e-12))) + len(tries) - len(defined)
        p_value = (1 + as_large) / (1 + len(tries))
        if len(defined):
            floor, q95 = float(defined.mean()), float(np.quantile(defined, 0.95))
        verdict = GAP if p_value <= SIGNIFICANCE else NO_GAP
    excess = None if floor is None else mean_w1 - floor
    return Certainty(low, high, floor, q95, excess, p_value, p_value, verdict)


def correct_for_classes(classes: Sequence[Certainty], overall: Certainty) -> list[Certainty]:
    """Judge each class as one of several: of twenty classes that do not differ, one would have p <= 0.05 by chance.

    p_adjusted is Holm's (Scand. J. Statist. 6, 1979), and at least the p of all classes together: a gap in a class is
    called one only where the sets as a whole differ.

    Args:
        classes: of each class by itself.
        overall: of all classes together.
    """
    tested = [i for i, one in enumerate(classes) if one.p_value is not None]
    out = list(classes)
    largest = 0.0 if overall.p_value is None else overall.p_value
    for place, i in enumerate(sorted(tested, key=lambda i: classes[i].p_value or 0.0)):
        largest = min(1.0, max(largest, (len(tested) - place) * (classes[i].p_value or 0.0)))
        verdict = GAP if largest <= SIGNIFICANCE else NO_GAP
        out[i] = replace(classes[i], p_adjusted=largest, verdict=verdict)
    return out


def _means(total: FloatArray, count: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(count > 0, total / np.maximum(count, 1), np.nan))


def _times_drawn(random: np.random.Generator, count: int) -> FloatArray:
    if count == 0:
        return np.zeros(0)
    return np.minimum(np.bincount(random.integers(0, count, count), minlength=count), 255)
