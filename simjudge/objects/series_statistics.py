"""Statistics of a series over time: its mean with an interval, and by how much it is later than another series.

Neighbouring frames resemble each other, and the interval holds nevertheless. The circular block bootstrap (Politis and
Romano 1992, A circular block-resampling procedure for stationary data) draws blocks of neighbouring frames with
replacement. Of a mean, its spread over endless draws has a closed form, so nothing is drawn and the interval has no
noise of its own. The number of blocks is small where frames resemble each other. The interval therefore uses Student's
t with as many degrees of freedom as there are blocks, less one, and the spread is widened by the same share as in the
formula of independent samples.

A shift in time is found by cross-correlation, finer than a frame.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.method.block_length import estimate_block_length
from simjudge.objects.series import median_period

FEWEST_FRAMES = 5
"""Frames below which no interval is given."""
SIGNIFICANCE = 0.05
"""Of intervals and tests."""
ROUNDING = 1e-12
"""What is smaller than so much of the values that it comes from is rounding."""


@dataclass(frozen=True)
class MeanInterval:
    """A mean over time and how sure it is."""

    mean: float
    low: float
    high: float
    p: float  # of a mean of 0, two-sided
    frames: int
    block: int  # how many neighbouring frames are drawn together
    # whether longer blocks would be needed than the series allows: the interval may be too narrow
    limited: bool = False

    @property
    def farthest(self) -> float:
        """The greatest size of the mean that the interval admits."""
        return max(abs(self.low), abs(self.high))


def differences(first: FloatArray, second: FloatArray) -> FloatArray:
    """Subtract a series from another one, so that equal values differ by 0 whatever rounding has left between them.

    `first`, `second`: float64 (N,), of any size: Hu's moments of gray pictures go down to 1e-24; returns float64 (N,),
    second less first; 0 where that is at most 1e-12 of the larger one.
    """
    difference = second - first
    size = np.maximum(np.abs(first), np.abs(second))
    return np.where(np.abs(difference) <= ROUNDING * size, 0.0, difference)


def mean_interval(value: FloatArray, slot: IntArray | None = None, block: int | None = None) -> MeanInterval | None:
    """The mean of a series over time, with its 95 % interval over blocks of time.

    `value`: float64 (N,), NaN where there is none; `slot`: int64 (N,), the number of each frame in its recording,
    ascending; None: none is missing.
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
    """The standard error of a mean by the circular block bootstrap. `value`: float64 (N,), a series without gaps."""
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

    `p`: float64 (N,), NaN where nothing was tested; returns float64 (N,), the adjusted values, at most 1. Source: Holm
    1979, A simple sequentially rejective multiple test procedure.
    """
    out = np.full(len(p), np.nan)
    order = np.argsort(p, kind="stable")
    order = order[~np.isnan(p[order])]
    factor = np.arange(len(order), 0, -1)
    out[order] = np.minimum(np.maximum.accumulate(p[order] * factor), 1.0)
    return out


LEAST_CORRELATION = 0.5
"""A weaker correlation tells no shift."""
LEAST_PEAK = 2.0
"""How many times the share that is not explained (1 less the correlation squared) must grow on both sides of the peak:
what only rises or falls steadily looks alike at every shift."""
FEWEST_SAMPLES = 16
"""Samples in common below which no shift is looked for."""
SURE = 2.0
"""A shift within so many standard deviations of 0 may as well be none."""
IN_STEP = 0.25
"""Periods; a shift that is surely below is as good as none, and told."""


@dataclass(frozen=True)
class TimeShift:
    """How two series lie in time."""

    seconds: float  # by how much the virtual series is later than the real one; negative where it is earlier
    correlation: float  # of the two, once the virtual one is moved back by it
    # standard deviation of `seconds`, if what one series does and the other does not is independent from frame to
    # frame; too small where it is not
    spread: float


def time_shift(
    real: tuple[FloatArray, FloatArray], virtual: tuple[FloatArray, FloatArray], limit: float
) -> TimeShift | None:
    """Find by how much the virtual series is later than the real one.

    Both are interpolated onto one grid of times and correlated at each shift of the
    grid over the samples that both have. A parabola through the peak gives the part of a sample. (A search with
    interpolation between the samples would prefer half samples, for interpolating averages noise.) `real`: time,
    float64 (R,), seconds, ascending; and value, float64 (R,), NaN where there is none; `limit`: the greatest shift that
    is looked for, seconds.
    """
    known = [_known(*series) for series in (real, virtual)]
    period = min(median_period(time) for time, _ in known)
    if not period > 0 or min(len(time) for time, _ in known) < FEWEST_SAMPLES:
        return None
    begin = min(time[0] for time, _ in known)
    end = max(time[-1] for time, _ in known)
    grid = np.arange(begin, end + period / 2, period)
    a, b = (_interpolated(time, value, grid) for time, value in known)
    # Twice the limit, so that a shift near it is seen to be a peak.
    lags = min(math.ceil(2 * limit / period), len(grid) - 1)
    samples = min(len(time) for time, _ in known)
    found = _peak(correlations(a, b, lags), lags, samples)
    if found is None or abs(found.seconds) * period > limit:
        return None
    # In units of the period. What may as well be none, and is not known to be near none either, tells nothing.
    if abs(found.seconds) <= SURE * found.spread and SURE * found.spread > IN_STEP:
        return None
    return TimeShift(found.seconds * period, found.correlation, found.spread * period)


def correlations(a: FloatArray, b: FloatArray, lags: int) -> FloatArray:
    """Correlate two series at each shift, each time over the samples that both have.

    `a`: float64 (N,), NaN where there is no value; `b`: float64 (N,), at the same times; returns float64 (2 lags + 1,):
    Pearson's correlation of a[i] with b[i + k], for k from -lags to lags; NaN where fewer than FEWEST_SAMPLES, or fewer
    than half of those of the shorter series, are common, or one does not vary.
    """
    least = max(FEWEST_SAMPLES, min(np.count_nonzero(~np.isnan(a)), np.count_nonzero(~np.isnan(b))) / 2)
    out = np.full(2 * lags + 1, np.nan)
    for number, lag in enumerate(range(-lags, lags + 1)):
        first = a[max(0, -lag) : len(a) - max(0, lag)]
        second = b[max(0, lag) : len(b) - max(0, -lag)]
        both = ~(np.isnan(first) | np.isnan(second))
        if np.count_nonzero(both) < least:
            continue
        x, y = first[both] - first[both].mean(), second[both] - second[both].mean()
        scale = math.sqrt(float(x @ x) * float(y @ y))
        if scale > 0:
            out[number] = float(x @ y) / scale
    return out


def _known(time: FloatArray, value: FloatArray) -> tuple[FloatArray, FloatArray]:
    known = ~np.isnan(value)
    return time[known], value[known]


def _interpolated(time: FloatArray, value: FloatArray, wanted: FloatArray) -> FloatArray:
    """Values at other times; NaN outside of the series, and where it has a gap of more than three periods."""
    out = np.interp(wanted, time, value, left=np.nan, right=np.nan)
    after = np.clip(np.searchsorted(time, wanted), 1, len(time) - 1)
    return np.where(time[after] - time[after - 1] > 3 * median_period(time), np.nan, out)


def _peak(correlation: FloatArray, lags: int, samples: int) -> TimeShift | None:
    """The peak, times in samples of the grid; None where it is weak or does not fall off on both sides.

    With independent errors, samples x log(unexplained) is twice a log-likelihood: its bend gives the spread.
    """
    if np.isnan(correlation).all():
        return None
    peak = int(np.nanargmax(correlation))
    height = float(correlation[peak])
    if height < LEAST_CORRELATION:
        return None
    unexplained = 1 - np.maximum(correlation, 0.0) ** 2
    outside = unexplained > max(LEAST_PEAK * unexplained[peak], 1e-9)
    before, after = np.flatnonzero(outside[:peak]), peak + 1 + np.flatnonzero(outside[peak + 1 :])
    if not (len(before) and len(after)):
        return None
    # A sharp peak has its two neighbours alone; a flat one is told by all that lie on it.
    first, last = min(int(before[-1]) + 1, peak - 1), max(int(after[0]) - 1, peak + 1)
    place = np.arange(first, last + 1)
    known = ~np.isnan(unexplained[place])
    if np.count_nonzero(known) < 3:
        return None
    bend, slope, _ = np.polyfit(place[known] - peak, unexplained[place[known]], 2)
    if not bend > 0:
        return None
    spread = math.sqrt(max(float(unexplained[peak]), 0.0) / (samples * float(bend)))
    return TimeShift(peak - lags - float(slope) / (2 * float(bend)), height, spread)
