"""Series of a real and of a virtual sensor, compared: which differ, by how much, and by more than real from real.

The difference is virtual less real, averaged over the common times. A row differs if its difference is significant
among all rows of its kind (Holm, 5 %) and greater than the floor. The floor is what a real recording differs by from a
second real one; without a second one, from itself: every other frame against what its two neighbours say of its
instant.

Rows of whole pictures or scans and of all objects are one kind, rows of single objects are the other: many objects do
not hide what differs in all of them. What differs a little in each object shows in the mean over all objects.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.method.block_length import estimate_block_length
from simjudge.objects.series import WHOLE, Series, common_times, median_period
from simjudge.results.metric_rows import AGAIN, DIFFERS, HALVES, NOT_SHOWN, SERIES_VERDICTS, TOO_FEW, WITHIN_FLOOR

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


@dataclass(frozen=True, eq=False, repr=False)
class SeriesFloor(ShortRepr):
    """What real differs by from real."""

    time: FloatArray  # float64 (N,), seconds
    difference: FloatArray  # float64 (N,), of real from real then; NaN where it is not known
    interval: MeanInterval | None  # of its mean; None for too few
    source: str

    @property
    def value(self) -> float | None:
        """The difference that real from real still explains, the far end of its interval; None for too few frames."""
        return None if self.interval is None else self.interval.farthest


@dataclass(frozen=True, eq=False, repr=False)
class SeriesComparison(ShortRepr):
    """One metric of one subject in real and virtual: a row of the table."""

    metric: str  # metric, unit, subject: as in `Series`
    unit: str
    subject: str
    time: FloatArray  # float64 (N,), the real stamps of the common times, seconds
    real: FloatArray  # real, virtual: float64 (N,), the values then; NaN where there is none
    virtual: FloatArray
    unpaired: tuple[int, int]  # how many frames of real and of virtual have no partner in time
    # at how many of the common times real alone and virtual alone have no value, and both
    missing: tuple[int, int, int]
    difference: MeanInterval | None  # virtual less real, over the frames where both have a value; None for too few
    floor: SeriesFloor
    shift: TimeShift | None  # by how much virtual is later; None where none can be told
    adjusted_p: float = float("nan")  # p of no difference among all rows of the kind; NaN for too few frames
    is_single: bool = False  # whether it is of one object, and another row is of all objects
    verdict: str = TOO_FEW

    @property
    def means(self) -> tuple[float, float]:
        """Mean of real and of virtual where both have a value; NaN where that is nowhere."""
        both = ~(np.isnan(self.real) | np.isnan(self.virtual))
        if not both.any():
            return float("nan"), float("nan")
        return float(self.real[both].mean()), float(self.virtual[both].mean())

    @property
    def frames(self) -> int:
        """At how many of the common times both have a value."""
        return len(self.time) - sum(self.missing)

    @property
    def times_floor(self) -> float | None:
        """The size of the difference in floors; None without a floor, or where it is 0."""
        if self.difference is None or not self.floor.value:
            return None
        return abs(self.difference.mean) / self.floor.value


@dataclass(frozen=True, eq=False, repr=False)
class ComparedSeries(ShortRepr):
    """All series of two sensors, compared."""

    # a row each metric and subject that both have. Those of single objects stand behind the others; in each part those
    # that differ come first, the clearest of them first.
    rows: Sequence[SeriesComparison]
    # only_real, only_virtual: metric and subject of the series that one sensor alone has
    only_real: Sequence[tuple[str, str]]
    only_virtual: Sequence[tuple[str, str]]

    @property
    def shift(self) -> float | None:
        """Seconds by which virtual is later: the median over the rows that tell; None where none does."""
        shifts = [row.shift.seconds for row in self.rows if row.shift is not None]
        return float(np.median(shifts)) if shifts else None


ALL_OBJECTS = "all objects"
"""The subject of a metric that is averaged over all objects."""


def with_all_objects(rows: Sequence[SeriesComparison]) -> list[SeriesComparison]:
    """Add a row over all objects for each metric of several objects."""
    by_metric: dict[str, list[SeriesComparison]] = {}
    for row in rows:
        if row.subject != WHOLE:
            by_metric.setdefault(row.metric, []).append(row)
    several = {metric: item for metric, item in by_metric.items() if len(item) > 1}
    singles = [replace(row, is_single=row.subject != WHOLE and row.metric in several) for row in rows]
    return [*(pool_objects(group) for group in several.values()), *singles]


def pool_objects(rows: Sequence[SeriesComparison]) -> SeriesComparison:
    """Average a metric over all objects: in each frame, over the objects that both sensors have a value of.

    Metrics with a single value for each object, such as its first sight, are averaged over the objects.
    """
    first = rows[0]
    once = all(len(row.time) <= 1 for row in rows)
    parts = [(row.time, np.stack([row.real, row.virtual])) for row in rows]
    time, values, slot = _joined(parts) if once else _mean_by_time(parts)
    difference = mean_interval(differences(values[0], values[1]), slot, block=1 if once else None)
    return SeriesComparison(
        first.metric,
        first.unit,
        ALL_OBJECTS,
        time,
        values[0],
        values[1],
        unpaired=(max(row.unpaired[0] for row in rows), max(row.unpaired[1] for row in rows)),
        missing=(0, 0, int(np.count_nonzero(np.isnan(values).any(axis=0)))),
        difference=difference,
        floor=_pooled_floor([row.floor for row in rows], once=once),
        shift=_pooled_shift([row.shift for row in rows if row.shift is not None]),
    )


def _pooled_floor(floors: Sequence[SeriesFloor], *, once: bool) -> SeriesFloor:
    source = AGAIN if any(floor.source == AGAIN for floor in floors) else HALVES
    parts = [(floor.time, floor.difference[np.newaxis]) for floor in floors if floor.source == source]
    time, values, slot = _joined(parts) if once else _mean_by_time(parts)
    return SeriesFloor(time, values[0], mean_interval(values[0], slot, block=1 if once else None), source)


def _pooled_shift(shifts: Sequence[TimeShift]) -> TimeShift | None:
    if len(shifts) < 2:
        return None
    seconds = np.array([shift.seconds for shift in shifts])
    spread = math.sqrt(math.pi / 2 / len(shifts)) * float(seconds.std(ddof=1))
    return TimeShift(float(np.median(seconds)), float(np.median([shift.correlation for shift in shifts])), spread)


Part = tuple[FloatArray, FloatArray]
"""Times (N,), and values (K, N) then, which are NaN where one of them is not known."""


def _joined(parts: Sequence[Part]) -> tuple[FloatArray, FloatArray, IntArray]:
    """All values behind each other: times, values, and their numbers."""
    time, values = np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts], axis=1)
    return time, values, np.arange(len(time))


def _mean_by_time(parts: Sequence[Part]) -> tuple[FloatArray, FloatArray, IntArray]:
    """Times, the mean at each over the parts that know all values then, NaN where none does; and their numbers."""
    time, values, _ = _joined(parts)
    times, place = np.unique(time, return_inverse=True)
    known = ~np.isnan(values).any(axis=0)
    count = np.bincount(place[known], minlength=len(times))
    sums = np.stack([np.bincount(place[known], row[known], minlength=len(times)) for row in values])
    means = np.divide(sums, count, out=np.full(sums.shape, np.nan), where=count > 0)
    return times, means, np.arange(len(times))


def compare_series(
    real: Sequence[Series], virtual: Sequence[Series], real_again: Sequence[Series] = (), *, shift_limit: float
) -> ComparedSeries:
    """Compare all series of a real and of a virtual sensor.

    `real_again`: those of a second real recording, for the floor; empty: the floor is the real recording's halves;
    `shift_limit`: the greatest shift in time that is looked for, seconds.
    """
    sides = [_by_name(series) for series in (real, virtual, real_again)]
    first, second, again = sides
    both = [name for name in first if name in second]
    rows = []
    for name in both:
        if first[name].unit != second[name].unit:
            units = f"{first[name].unit or 'none'} in real, {second[name].unit or 'none'} in virtual"
            raise SimjudgeError(f"{_title(name)}: its unit is {units}; give both in one unit")
        rows.append(_compare(first[name], second[name], again.get(name), shift_limit))
    return ComparedSeries(
        _judged(with_all_objects(rows)),
        [name for name in first if name not in second],
        [name for name in second if name not in first],
    )


def _judged(rows: Sequence[SeriesComparison]) -> list[SeriesComparison]:
    out: list[SeriesComparison] = []
    for is_single in (False, True):
        kind = [row for row in rows if row.is_single == is_single]
        adjusted = holm(np.array([np.nan if row.difference is None else row.difference.p for row in kind]))
        judged = (
            replace(row, adjusted_p=float(p), verdict=_verdict(row, float(p)))
            for row, p in zip(kind, adjusted, strict=True)
        )
        out += sorted(judged, key=_clearness)
    return out


def _by_name(series: Sequence[Series]) -> dict[tuple[str, str], Series]:
    named: dict[tuple[str, str], Series] = {}
    for one_series in series:
        name = (one_series.metric, one_series.subject)
        if name in named:
            raise SimjudgeError(f"{_title(name)}: there are two series of it on one side; give each subject a name")
        named[name] = one_series
    return named


def _title(name: tuple[str, str]) -> str:
    metric, subject = name
    return f"{metric} of {subject}" if subject else metric


def _compare(real: Series, virtual: Series, again: Series | None, shift_limit: float) -> SeriesComparison:
    common = common_times(real.time, virtual.time)
    a, b = real.value[common.real], virtual.value[common.virtual]
    no_a, no_b = np.isnan(a), np.isnan(b)
    return SeriesComparison(
        real.metric,
        real.unit,
        real.subject,
        real.time[common.real],
        a,
        b,
        unpaired=(len(real) - len(common), len(virtual) - len(common)),
        missing=tuple(int(np.count_nonzero(lacking)) for lacking in (no_a & ~no_b, no_b & ~no_a, no_a & no_b)),  # type: ignore[arg-type]
        difference=mean_interval(differences(a, b), common.real),
        floor=_floor(real, again),
        shift=time_shift((real.time, real.value), (virtual.time, virtual.value), shift_limit),
    )


def _floor(real: Series, again: Series | None) -> SeriesFloor:
    """Real against another real recording; where that shares no value with it, against its own other half."""
    if again is not None:
        common = common_times(real.time, again.time)
        found = differences(real.value[common.real], again.value[common.virtual])
        if not np.isnan(found).all():
            return SeriesFloor(real.time[common.real], found, mean_interval(found, common.real), AGAIN)
    found = halves_difference(real.time, real.value)
    return SeriesFloor(real.time[1:-1:2], found, mean_interval(found), HALVES)


def halves_difference(time: FloatArray, value: FloatArray) -> FloatArray:
    """The two halves of a series against each other: every other frame less what its neighbours say of its instant.

    Neighbours are interpolated linearly, so that a steady change, as of an object that is approached, is no difference.
    `time`: float64 (N,), seconds, ascending; `value`: float64 (N,), NaN where there is none; returns float64 (M,), a
    difference for every second frame that has two neighbours; NaN where one of the three has none.
    """
    middle = np.arange(1, len(time) - 1, 2)
    span = time[middle + 1] - time[middle - 1]
    share = np.divide(time[middle] - time[middle - 1], span, out=np.full(len(middle), 0.5), where=span > 0)
    return np.asarray(value[middle] - ((1 - share) * value[middle - 1] + share * value[middle + 1]))


def _verdict(row: SeriesComparison, adjusted: float) -> str:
    if row.difference is None:
        return TOO_FEW
    if adjusted > SIGNIFICANCE:
        return NOT_SHOWN
    above = row.floor.value is None or abs(row.difference.mean) > row.floor.value
    return DIFFERS if above else WITHIN_FLOOR


def _clearness(row: SeriesComparison) -> tuple[float, ...]:
    """Rows that differ before the others; among them the one with the most floors, then the surest."""
    times = row.times_floor
    rank = SERIES_VERDICTS.index(row.verdict)
    p = 1.0 if np.isnan(row.adjusted_p) else row.adjusted_p
    return (rank, -times if times is not None else (-np.inf if row.verdict == DIFFERS else 0.0), p)
