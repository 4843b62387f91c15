"""How many neighbouring frames chance draws together, estimated from the frames themselves.

Politis and White, Automatic block-length selection for the dependent bootstrap, Econometric Reviews 23 (2004), with the
circular bootstrap's constant as corrected by Patton, Politis and White, Econometric Reviews 28 (2009). Gaps are
allowed: frames that are missing take part in no pair.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.method.verdicts import FEWEST_UNITS

LEAST_UNITS = FEWEST_UNITS
"""Blocks that a set is cut into at least where it is worth as many independent frames: fewer have no verdict."""
_FACTOR = 2.0
"""Blocks are longer than the length that serves a variance best, because they are drawn one by one and so must not
resemble their neighbours: on AR(1) series of 300 with coefficients 0.97 and 0.9, p fell below 0.05 in 25 of 100 cases
with the plain length, and in 15 with twice of it; with 0.9 and 0.9 in 12 and 10."""
HALF_BLOCK = 2.5
"""Five integrated correlation times, in design effects: that is twice the correlation time."""
_ONE_SIDED = 1.645
"""Standard errors up to the end of the one-sided 95 % interval."""
_WHOLE = 0.8
"""Share of the neighbours that a recording without gaps would have, from which on a set is taken for one."""
_HIGHEST = 0.99
"""Correlation beyond which none is told from another."""
_FEWEST = 10
"""Frames below which no correlation can be told."""
_SUSPECTED = 1.0
"""Standard errors of the correlation of neighbours above which blocks are made although it is within chance."""
_NEAREST = 5
"""Lags over which independent frames are looked at together."""
_TOLD_APART = 2.0
"""Standard errors of a variance from which what a frame's objects have in common is told from what each has."""
_DECAY, _DECAY_ERROR = 7, 1.5
"""Lags whose decay is looked at, and its standard error in 1 / sqrt(frames)."""
_ALARM = 2.326
"""Standard errors beyond which frames that should be independent are not: a chance of 1 in 100, one-sided."""


@dataclass(frozen=True)
class BlockLength:
    """A number of neighbouring frames that are one sampling unit.

    Attributes:
        frames: the number; 1 where neighbours tell nothing of each other.
        design_effect: frames that tell as much as one independent frame: the spectral density at frequency 0 by the
            variance, at least 1.
        limited: whether blocks would have to be longer than the set allows, or may have to.
        worth: how many independent frames the set is worth at most by the best estimate; 0 where nobody can tell.
    """

    frames: int
    design_effect: float = 1.0
    limited: bool = False
    worth: float = math.inf

    @property
    def too_short(self) -> bool:
        """Whether the set is worth too few independent frames for any verdict."""
        return self.worth < LEAST_UNITS


def estimate_block_length(
    run: IntArray, slot: IntArray, value: FloatArray, *, own: float = 0.0, independent: bool = False
) -> BlockLength:
    """Estimate how many neighbouring frames must be drawn together.

    Args:
        run: int64 (N,), the number of the sequence that each frame is in; frames of two sequences are no neighbours.
        slot: int64 (N,), place in its sequence: neighbours differ by 1, and numbers may be missing.
        value: float64 (N,), what the frames are compared by; NaN where a frame has none.
        own: variance that the values have because each is the mean of few objects; 0 where nobody knows.
        independent: whether the frames were drawn one by one. Then their length is 1 unless they show otherwise: the
            mean correlation of the five nearest neighbours would be as large in 1 of 100 sets by chance.

    Returns:
        The length. Where the first autocorrelations are all within their band of chance, it is that of an AR(1) series
        with the correlation of neighbours, or 1 where that is less than a standard error; but where so few frames may
        hide one that would leave fewer than LEAST_UNITS independent ones, as long as LEAST_UNITS blocks allow. Never
        longer than that.
    """
    known = ~np.isnan(value)
    place, series = _on_one_axis(run[known], slot[known], value[known])
    count = len(series)
    most = longest_block(count)
    if count < _FEWEST:
        follow = count > 1 and np.count_nonzero(np.diff(place) == 1) >= _WHOLE * (count - 1)
        return BlockLength(1, limited=True, worth=0.0) if follow and not independent else BlockLength(1)
    # K_N of Politis and White: so many correlations in a row must be within chance.
    tried = max(5, math.ceil(math.sqrt(math.log10(count))))
    covariance, pairs = _autocovariance(place, series, min(math.ceil(math.sqrt(count)) + tried, count - 1))
    if not covariance[0] > 0:
        return BlockLength(1)
    correlation = covariance / covariance[0]
    last = _last_correlated(correlation, pairs, count, tried)
    if independent:
        if not _go_together(correlation, pairs, count):
            return BlockLength(1)
        last = max(last, _NEAREST)
    slow, slower = _slow_effects(covariance, own, count)
    if last == 0:
        return _within_chance(float(correlation[1]), count, int(pairs[1]), slow, slower)
    best, design_effect = _optimal_length(covariance, min(2 * last, len(covariance) - 1), count)
    frames = max(1, min(math.ceil(_FACTOR * best), most))
    # A window over few lags misses what is slow.
    design_effect = max(design_effect, slow)
    worth = count / max(design_effect, _design_effect(_without_bias(float(correlation[1]), count)))
    limited = max(_FACTOR * best, HALF_BLOCK * slower) > most or worth < LEAST_UNITS
    return BlockLength(frames, design_effect, limited=limited, worth=worth)


def _slow_effects(covariance: FloatArray, own: float, count: int) -> tuple[float, float]:
    """Frames that are worth one where an AR(1) series lies under noise of known variance; one standard error more.

    Noise hides how long light lasts: of 60 frames of three objects whose light has a correlation of 0.8, neighbours
    show one of 0.45. 1 where nothing stands out of the noise.
    """
    common = float(covariance[0]) - own
    least = _TOLD_APART * math.sqrt(2 / count) * float(covariance[0])
    if not own > 0 or common < least or not covariance[1] > 0:
        return 1.0, 1.0
    decay = float(covariance[2:_DECAY] @ covariance[1 : _DECAY - 1]) / float((covariance[1 : _DECAY - 1] ** 2).sum())
    # Objects that stay in sight have their own part in common with the next frame: then the decay tells.
    longest = _without_bias(decay, count) + _DECAY_ERROR / math.sqrt(count)
    correlation = min(_without_bias(float(covariance[1]) / common, count), longest)
    share = common / float(covariance[0])
    slow, slower = (
        1 + share * (_design_effect(correlation + errors / (share * math.sqrt(count))) - 1) for errors in (0, 1)
    )
    return slow, slower


def _within_chance(correlation: float, count: int, pairs: int, slow: float, slower: float) -> BlockLength:
    """Blocks where correlation is within chance, but a harmful one may be: the longest where it may be most harmful.

    The band of chance of 40 frames reaches to 0.4. With blocks of one frame, series with a correlation of 0.3 are a gap
    in 11 of 100 cases, with the blocks of such a series in 3 to 4.
    """
    # Random frames of a long sequence have few neighbours among them; that is no short recording.
    if pairs < _WHOLE * (count - 1):
        return BlockLength(1)
    # Estimates of few frames are too low by (1 + 3 r) / N on average.
    unbiased = min(max(_without_bias(correlation, count), 0.0), _HIGHEST)
    most, design_effect = longest_block(count), _design_effect(unbiased)
    if independent_frames(correlation, count) < LEAST_UNITS:
        return BlockLength(most, design_effect, limited=True, worth=count / design_effect)
    if unbiased * math.sqrt(count) <= _SUSPECTED:
        return BlockLength(1)
    if count / slow < LEAST_UNITS:
        return BlockLength(most, slow, limited=True, worth=count / slow)
    # (2 G^2 / D)^(1/3) with the autocovariance of an AR(1) series, c^|k|.
    wanted = _FACTOR * (6 * unbiased**2 / (1 - unbiased**2) ** 2 * count) ** (1 / 3)
    frames = max(1, min(math.ceil(wanted), most))
    return BlockLength(frames, max(design_effect, slow), limited=HALF_BLOCK * slower > most)


def longest_block(count: int) -> int:
    """The longest block of which so many frames hold LEAST_UNITS; the last one may be shorter."""
    return max(1, (count - 1) // (LEAST_UNITS - 1))


def _design_effect(correlation: float) -> float:
    """Frames of an AR(1) series that are worth one."""
    bounded = min(max(correlation, 0.0), _HIGHEST)
    # The sum of c^|k| over all lags.
    return (1 + bounded) / (1 - bounded)


def independent_frames(correlation: float, count: int) -> float:
    """How many independent frames a recording is worth at least, if its frames follow an AR(1) series.

    Short recordings show no correlation that they do not have often, but hide one that they have: of 20 frames with a
    correlation of 0.4, most show none beyond chance, though they are worth 9 independent ones alone. So the upper end
    of the correlation counts: Bartlett's standard error, and the bias of Kendall (Biometrika 41, 1954).

    Returns:
        count (1 - r) / (1 + r), r the end of the one-sided 95 % interval.
    """
    unbiased = _without_bias(correlation, count)
    # Bartlett: variance (1 - r^2) / N of the first autocorrelation of an AR(1) series.
    error = math.sqrt(max(1 - unbiased**2, 1 - _HIGHEST**2) / count)
    highest = min(unbiased + _ONE_SIDED * error, _HIGHEST)
    return count * (1 - highest) / (1 + highest)


def _without_bias(correlation: float, count: int) -> float:
    """The correlation of neighbours without the bias that Kendall (Biometrika 41, 1954) found."""
    return correlation + (1 + 3 * correlation) / count


def _go_together(correlation: FloatArray, pairs: IntArray, count: int) -> bool:
    """Whether the nearest neighbours are more alike than independent frames are, by the mean over all their pairs."""
    lags = np.arange(1, _NEAREST + 1)
    near = pairs[1 : _NEAREST + 1]
    # Back from the shrunken correlation to the sum of products, which has variance 1 a pair.
    products = correlation[1 : _NEAREST + 1] * near / (1 - lags / count)
    return bool(products.sum() > _ALARM * math.sqrt(max(int(near.sum()), 1)))


def _on_one_axis(run: IntArray, slot: IntArray, value: FloatArray) -> tuple[IntArray, FloatArray]:
    """Sequences behind each other, too far apart to be neighbours; frames of one slot are one, with their mean."""
    # More than any lag that is looked at.
    apart = len(value) + 1
    numbers, of_run = np.unique(run, return_inverse=True)
    first, last = np.full(len(numbers), np.iinfo(np.int64).max), np.full(len(numbers), np.iinfo(np.int64).min)
    np.minimum.at(first, of_run, slot)
    np.maximum.at(last, of_run, slot)
    begin = np.concatenate([[0], np.cumsum(last - first + apart)])[:-1]
    place, same = np.unique(slot - first[of_run] + begin[of_run], return_inverse=True)
    mean = np.bincount(same, value) / np.maximum(np.bincount(same), 1)
    return place, mean - mean.mean() if len(mean) else mean


def _autocovariance(place: IntArray, series: FloatArray, lags: int) -> tuple[FloatArray, IntArray]:
    """By lag from 0 on: autocovariance and the number of pairs. Without gaps it is the sum over pairs by N."""
    count = len(series)
    covariance, pairs = np.zeros(lags + 1), np.zeros(lags + 1, np.int64)
    for lag in range(lags + 1):
        partner = np.minimum(np.searchsorted(place, place + lag), count - 1)
        there = place[partner] == place + lag
        pairs[lag] = np.count_nonzero(there)
        if pairs[lag]:
            total = float(series[there] @ series[partner[there]])
            # The mean over the pairs that exist, shrunk as the usual estimator is: that one is never indefinite.
            covariance[lag] = total / pairs[lag] * (1 - lag / count)
    return covariance, pairs


def _last_correlated(correlation: FloatArray, pairs: IntArray, count: int, tried: int) -> int:
    """The lag before `tried` correlations in a row that are within chance; the last one outside if there is none."""
    lag = np.arange(1, len(correlation))
    # As many frames as would have so many pairs, so that gaps widen the band.
    whole = np.maximum(pairs[1:], 1) / (1 - lag / count)
    outside = np.abs(correlation[1:]) >= 2 * np.sqrt(math.log10(count) / whole)
    for first in range(max(1, len(outside) - tried + 1)):
        if not outside[first : first + tried].any():
            return first
    return int(np.flatnonzero(outside)[-1]) + 1


def _optimal_length(covariance: FloatArray, window: int, count: int) -> tuple[float, float]:
    """(2 G^2 / D)^(1/3) N^(1/3), with a flat-top lag window (Politis and White 2004, section 3); the design effect."""
    lag = np.arange(1, window + 1)
    # Flat up to half of the window, then falling to 0 (trapezoid of Politis and Romano).
    weight = np.clip(2 * (1 - lag / window), 0, 1)
    # G = sum |k| R(k), of both signs of the lag.
    bias = 2 * float((weight * lag * covariance[1 : window + 1]).sum())
    spectrum = float(covariance[0] + 2 * (weight * covariance[1 : window + 1]).sum())
    most = min(3 * math.sqrt(count), count / 3)
    if not spectrum > 0:
        return most, 1.0
    # D = 4/3 g(0)^2, the constant of the circular bootstrap.
    best = min((2 * bias**2 / (4 / 3 * spectrum**2)) ** (1 / 3) * count ** (1 / 3), most)
    return float(best), max(1.0, spectrum / float(covariance[0]))
