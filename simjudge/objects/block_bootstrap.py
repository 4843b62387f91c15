"""The mean of a series over time, with an interval that holds although neighbouring frames resemble each other.

The circular block bootstrap (Politis and Romano 1992, A circular block-resampling procedure for stationary data) draws
blocks of neighbouring frames with replacement. Of a mean, its spread over endless draws has a closed form, so nothing
is drawn and the interval has no noise of its own. The number of blocks is small where frames resemble each other. The
interval therefore uses Student's t with as many degrees of freedom as there are blocks, less one, and the spread is
widened by the same share as in the formula of independent samples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.method.block_length import estimate_block_length

FEWEST_FRAMES = 5
"""Frames below which no interval is given."""
SIGNIFICANCE = 0.05
"""Of intervals and tests."""
ROUNDING = 1e-12
"""What is smaller than so much of the values that it comes from is rounding."""


@dataclass(frozen=True)
class MeanInterval:
    """A mean over time and how sure it is.

    Attributes:
        p: of a mean of 0, two-sided.
        block: how many neighbouring frames are drawn together.
        limited: whether longer blocks would be needed than the series allows: the interval may be too narrow.
    """

    mean: float
    low: float
    high: float
    p: float
    frames: int
    block: int
    limited: bool = False

    @property
    def farthest(self) -> float:
        """The greatest size of the mean that the interval admits."""
        return max(abs(self.low), abs(self.high))


def differences(first: FloatArray, second: FloatArray) -> FloatArray:
    """Subtract a series from another one, so that equal values differ by 0 whatever rounding has left between them.

    Args:
        first, second: float64 (N,), of any size: Hu's moments of gray pictures go down to 1e-24.

    Returns:
        float64 (N,), second less first; 0 where that is at most 1e-12 of the larger one.
    """
    difference = second - first
    size = np.maximum(np.abs(first), np.abs(second))
    return np.where(np.abs(difference) <= ROUNDING * size, 0.0, difference)


def mean_interval(value: FloatArray, slot: IntArray | None = None, block: int | None = None) -> MeanInterval | None:
    """The mean of a series over time, with its 95 % interval over blocks of time.

    Args:
        value: float64 (N,), NaN where there is none.
        slot: int64 (N,), the number of each frame in its recording, ascending; None: none is missing.
        block: how many neighbouring frames are drawn together; None: estimated from the autocorrelation
            (`simjudge.method.block_length`).

    Returns:
        The mean and the interval; None for fewer than FEWEST_FRAMES values.
    """
    known = ~np.isnan(value)
    found = value[known]
    count = len(found)
    if count < FEWEST_FRAMES:
        return None
    limited = False
    if block is None:
        slots = np.arange(len(value)) if slot is None else slot
        estimated = estimate_block_length(np.zeros(count, np.int64), slots[known], found)
        block, limited = estimated.frames, estimated.limited
    mean, spread = float(found.mean()), block_spread(found, block)
    freedom = count / block - 1
    half = float(stats.t.ppf(1 - SIGNIFICANCE / 2, freedom)) * spread
    p = float(2 * stats.t.sf(abs(mean) / spread, freedom)) if spread > 0 else float(mean == 0)
    return MeanInterval(mean, mean - half, mean + half, p, count, block, limited)


def block_spread(value: FloatArray, block: int) -> float:
    """The standard error of a mean by the circular block bootstrap.

    Args:
        value: float64 (N,), a series without gaps.
        block: how many neighbours are drawn together, 1 to N / 2.

    Returns:
        The standard error over endless draws, times sqrt(blocks / (blocks - 1)). With blocks of one frame it is the
        sample's standard deviation by sqrt(N).
    """
    count = len(value)
    series = value - value.mean()
    # What rounding leaves of equal values is no spread.
    if np.abs(series).max() <= ROUNDING * float(np.abs(value).max()):
        return 0.0
    summed = np.concatenate([[0.0], np.cumsum(np.concatenate([series, series]))])
    whole, rest = divmod(count, block)
    variance = whole * float(np.mean((summed[block : block + count] - summed[:count]) ** 2))
    if rest:
        variance += float(np.mean((summed[rest : rest + count] - summed[:count]) ** 2))
    blocks = count / block
    return math.sqrt(variance) / count * math.sqrt(blocks / (blocks - 1))


def holm(p: FloatArray) -> FloatArray:
    """Adjust p values of several tests, so that a difference is claimed by mistake in 5 of 100 tables, not rows.

    Args:
        p: float64 (N,), NaN where nothing was tested.

    Returns:
        float64 (N,), the adjusted values, at most 1.
    Source: Holm 1979, A simple sequentially rejective multiple test procedure.
    """
    out = np.full(len(p), np.nan)
    order = np.argsort(p, kind="stable")
    order = order[~np.isnan(p[order])]
    factor = np.arange(len(order), 0, -1)
    out[order] = np.minimum(np.maximum.accumulate(p[order] * factor), 1.0)
    return out
