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

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.objects.series import WHOLE, Series, common_times
from simjudge.objects.series_statistics import (
    SIGNIFICANCE,
    MeanInterval,
    TimeShift,
    differences,
    holm,
    mean_interval,
    time_shift,
)
from simjudge.results.verdict_words import AGAIN, DIFFERS, HALVES, NOT_SHOWN, SERIES_VERDICTS, TOO_FEW, WITHIN_FLOOR


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
