"""Whether a recording whose things cannot be followed shows a course again and again, and how long a lap is."""

from __future__ import annotations

import math

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.judging.units.box_tracks import PlacedBoxes

_FEWEST = 40
"""Frames in which a lap can be told."""
_DOUBT = 0.1
"""Chance of performance that does not come back to seem so at the likeliest lag."""
_ALIKE = 0.9
"""Share of the other lags at which labels must be less alike: chance alone would have it in 1 of 10."""
_TRIED_LAGS, _TRIED_FRAMES = 60, 80
"""Lags, and frames of each, at which labels are held against each other."""
_SHORTEST = 0.85
"""Share of the best correlation from which on a shorter lap is taken: two laps are as good a period as one."""
_SECOND = 2.0
"""Standard errors beyond which a correlation is none of chance."""


def lap_of(boxes: PlacedBoxes, slot: IntArray, frame: IntArray, value: FloatArray) -> int:
    """The steps after which a sequence comes back; 0 where it does not.

    Performance must be correlated at a lag beyond what correlated neighbours make of it at the likeliest of all lags,
    and labels must be arranged alike there. Where performance does not come back, it matters little that places do.

    Args:
        boxes: of all frames.
        slot: int64 (K,), place of each frame of the sequence, in steps.
        frame: int64 (K,), the frames.
        value: float64 (K,), what frames are compared by; NaN where a frame has none.

    Source:
        M. S. Bartlett, On the theoretical specification and sampling properties of autocorrelated time-series, 1946:
        the variance of a correlation at a lag beyond those of neighbours.
    """
    order = np.argsort(slot, kind="stable")
    slot, frame, value = slot[order] - slot[order[0]] if len(order) else slot, frame[order], value[order]
    known = ~np.isnan(value)
    count = int(slot[-1]) + 1 if len(slot) else 0
    if known.sum() < _FEWEST or known.sum() < count / 2:
        return 0
    series, there = np.zeros(count), np.zeros(count)
    series[slot[known]] = value[known] - value[known].mean()
    there[slot[known]] = 1
    correlation, pairs = _correlations(series, there)
    near = np.flatnonzero(correlation < _SECOND / math.sqrt(known.sum()))
    first = max(2 * int(near[0]), _FEWEST // 2) if len(near) else count
    last = count - max(_FEWEST // 2, count // 4)
    if last <= first:
        return 0
    # Bartlett: the sum of squared correlations of neighbours, both signs of the lag.
    width = 1 + 2 * float((correlation[1 : first + 1] ** 2).sum())
    score = correlation[first:last] * np.sqrt(pairs[first:last] / width)
    from scipy.stats import norm  # noqa: PLC0415 - slow to import

    limit = float(norm.isf(_DOUBT / max(1.0, (last - first) / width)))
    best = int(score.argmax())
    if score[best] < limit:
        return 0
    good = (correlation[first:last] >= _SHORTEST * correlation[first + best]) & (score >= limit)
    lap = first + int(np.flatnonzero(good)[0])
    # To the top of the peak whose flank that is.
    lap = lap + int(correlation[lap : lap + max(1, first // 2)].argmax())
    return lap if _labels_come_back(boxes, slot, frame, lap, first) else 0


def _correlations(series: FloatArray, there: FloatArray) -> tuple[FloatArray, FloatArray]:
    """By lag from 0 on the correlation over all pairs of known values, and how many there are."""
    size = 2 * len(series)
    both = [np.fft.irfft(np.abs(np.fft.rfft(part, size)) ** 2, size)[: len(series)] for part in (series, there)]
    pairs = np.maximum(np.rint(both[1]), 1.0)
    covariance = both[0] / pairs
    return covariance / max(float(covariance[0]), 1e-300), pairs


def _labels_come_back(boxes: PlacedBoxes, slot: IntArray, frame: IntArray, lap: int, first: int) -> bool:
    """Whether labels are arranged more alike a lap later than so many steps later in general."""
    rng = np.random.default_rng(0)
    others = rng.permutation(np.arange(first, int(slot[-1]) - _FEWEST // 2))[:_TRIED_LAGS]
    at = np.full(int(slot[-1]) + 1, -1, np.int64)
    at[slot] = frame
    alike = [_alike(boxes, at, int(lag), rng) for lag in others]
    own = max(_alike(boxes, at, lag, rng) for lag in (lap - 1, lap, lap + 1))
    return bool(np.mean(np.array(alike) < own) >= _ALIKE)


def _alike(boxes: PlacedBoxes, at: IntArray, lag: int, rng: np.random.Generator) -> float:
    """The mean share of labels with a partner of their place and size so many steps later."""
    begin = np.flatnonzero((at[: len(at) - lag] >= 0) & (at[lag:] >= 0))
    if len(begin) > _TRIED_FRAMES:
        begin = rng.choice(begin, _TRIED_FRAMES, replace=False)
    matched = labels = 0
    for one in begin.tolist():
        a, b = boxes.rows(int(at[one])), boxes.rows(int(at[one + lag]))
        matched += 2 * len(boxes.match(a, b, 0.5, 0.3)[0])
        labels += len(a) + len(b)
    return matched / max(labels, 1)
