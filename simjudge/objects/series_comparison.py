"""Series of a real and of a virtual sensor, compared: which differ, by how much, and by more than real from real.

The difference is virtual less real, averaged over the common times. A row differs if its difference is significant
among all rows (Holm, 5 %) and greater than the floor. The floor is what a real recording differs by from a second real
one; without a second one, from itself: every other frame against what its two neighbours say of its instant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from simjudge.core.display import ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FloatArray
from simjudge.objects.block_bootstrap import SIGNIFICANCE, MeanInterval, holm, mean_interval
from simjudge.objects.common_times import common_times
from simjudge.objects.series import Series
from simjudge.objects.time_shift import TimeShift, time_shift

DIFFERS = "differs"
"""The difference is significant among all rows, and greater than the floor."""
WITHIN_FLOOR = "within the floor"
"""The difference is significant, but real differs from real by as much."""
NOT_SHOWN = "no difference shown"
"""The interval holds 0, or chance gives such a row among so many."""
TOO_FEW = "too few frames"
"""Fewer frames than an interval needs have a value in both."""
VERDICTS = (DIFFERS, WITHIN_FLOOR, NOT_SHOWN, TOO_FEW)

AGAIN = "another real recording"
HALVES = "halves of the real recording"
SHIFT_LIMIT = 1.0
"""Seconds: the greatest shift in time that is looked for."""


@dataclass(frozen=True)
class Floor:
    """What real differs by from real.

    Attributes:
        interval: of the difference.
        source: AGAIN or HALVES.
    """

    interval: MeanInterval
    source: str

    @property
    def value(self) -> float:
        """The difference that real from real still explains: the far end of its interval."""
        return self.interval.farthest


@dataclass(frozen=True, eq=False, repr=False)
class SeriesComparison(ShortRepr):
    """One metric of one subject in real and virtual: a row of the table.

    Attributes:
        metric, unit, subject: as in `Series`.
        time: float64 (N,), the real stamps of the common times, seconds.
        real, virtual: float64 (N,), the values then; NaN where there is none.
        unpaired: how many frames of real and of virtual have no partner in time.
        missing: at how many of the common times real alone and virtual alone have no value, and both.
        difference: virtual less real, over the frames where both have a value; None for too few.
        floor: real against real; None where there is none.
        shift: by how much virtual is later; None where none can be told.
        adjusted_p: p of no difference among all rows of the table; NaN for too few frames.
        verdict: one of VERDICTS.
    """

    metric: str
    unit: str
    subject: str
    time: FloatArray
    real: FloatArray
    virtual: FloatArray
    unpaired: tuple[int, int]
    missing: tuple[int, int, int]
    difference: MeanInterval | None
    floor: Floor | None
    shift: TimeShift | None
    adjusted_p: float = float("nan")
    verdict: str = TOO_FEW

    @property
    def means(self) -> tuple[float, float]:
        """Mean of real and of virtual where both have a value; NaN where that is nowhere."""
        both = ~(np.isnan(self.real) | np.isnan(self.virtual))
        if not both.any():
            return float("nan"), float("nan")
        return float(self.real[both].mean()), float(self.virtual[both].mean())

    @property
    def times_floor(self) -> float | None:
        """The size of the difference in floors; None without a floor, or where it is 0."""
        if self.difference is None or self.floor is None or self.floor.value == 0:
            return None
        return abs(self.difference.mean) / self.floor.value


@dataclass(frozen=True, eq=False, repr=False)
class ComparedSeries(ShortRepr):
    """All series of two sensors, compared.

    Attributes:
        rows: a row each metric and subject that both have; those that differ first, the clearest of them first.
        only_real, only_virtual: metric and subject of the series that one sensor alone has.
    """

    rows: Sequence[SeriesComparison]
    only_real: Sequence[tuple[str, str]]
    only_virtual: Sequence[tuple[str, str]]

    @property
    def shift(self) -> float | None:
        """Seconds by which virtual is later: the median over the rows that tell; None where none does."""
        shifts = [row.shift.seconds for row in self.rows if row.shift is not None]
        return float(np.median(shifts)) if shifts else None


def compare_series(
    real: Sequence[Series],
    virtual: Sequence[Series],
    real_again: Sequence[Series] = (),
    *,
    shift_limit: float = SHIFT_LIMIT,
) -> ComparedSeries:
    """Compare all series of a real and of a virtual sensor.

    Args:
        real: the series of the real sensor.
        virtual: those of the virtual one; the same metric and subject are compared.
        real_again: those of a second real recording, for the floor; empty: the floor is the real recording's halves.
        shift_limit: the greatest shift in time that is looked for, seconds.

    Returns:
        The rows, and what one side alone has.

    Raises:
        SimjudgeError: one sensor has two series of one metric and subject, or two units of one metric.
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
    adjusted = holm(np.array([np.nan if row.difference is None else row.difference.p for row in rows]))
    judged = [
        replace(row, adjusted_p=float(p), verdict=_verdict(row, float(p)))
        for row, p in zip(rows, adjusted, strict=True)
    ]
    return ComparedSeries(
        sorted(judged, key=_clearness),
        [name for name in first if name not in second],
        [name for name in second if name not in first],
    )


def _by_name(series: Sequence[Series]) -> dict[tuple[str, str], Series]:
    named: dict[tuple[str, str], Series] = {}
    for each in series:
        name = (each.metric, each.subject)
        if name in named:
            raise SimjudgeError(f"{_title(name)}: there are two series of it on one side; give each subject a name")
        named[name] = each
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
        missing=tuple(int(np.count_nonzero(each)) for each in (no_a & ~no_b, no_b & ~no_a, no_a & no_b)),  # type: ignore[arg-type]
        difference=mean_interval(b - a, common.real),
        floor=_floor(real, again),
        shift=time_shift((real.time, real.value), (virtual.time, virtual.value), shift_limit),
    )


def _floor(real: Series, again: Series | None) -> Floor | None:
    """Real against another real recording; where that does not tell, against its own other half."""
    if again is not None:
        common = common_times(real.time, again.time)
        found = mean_interval(again.value[common.virtual] - real.value[common.real], common.real)
        if found is not None:
            return Floor(found, AGAIN)
    found = mean_interval(halves_difference(real.time, real.value))
    return None if found is None else Floor(found, HALVES)


def halves_difference(time: FloatArray, value: FloatArray) -> FloatArray:
    """The two halves of a series against each other: every other frame less what its neighbours say of its instant.

    Neighbours are interpolated linearly, so that a steady change, as of an object that is approached, is no difference.

    Args:
        time: float64 (N,), seconds, ascending.
        value: float64 (N,), NaN where there is none.

    Returns:
        float64 (M,), a difference for every second frame that has two neighbours; NaN where one of the three has none.
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
    above = row.floor is None or abs(row.difference.mean) > row.floor.value
    return DIFFERS if above else WITHIN_FLOOR


def _clearness(row: SeriesComparison) -> tuple[float, ...]:
    """Rows that differ before the others; among them the one with the most floors, then the surest."""
    times = row.times_floor
    rank = VERDICTS.index(row.verdict)
    p = 1.0 if np.isnan(row.adjusted_p) else row.adjusted_p
    return (rank, -times if times is not None else (-np.inf if row.verdict == DIFFERS else 0.0), p)
