"""Series of a real and of a virtual sensor, compared: which differ, by how much, and by more than real from real.

The difference is virtual less real, averaged over the common times. A row differs if its difference is significant
among all rows of its kind (Holm, 5 %) and greater than the floor. The floor is what a real recording differs by from a
second real one; without a second one, from itself: every other frame against what its two neighbours say of its
instant.

Rows of whole pictures or scans and of all objects are one kind, rows of single objects are the other: many objects do
not hide what differs in all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import SimjudgeError
from simjudge.objects.all_objects import with_all_objects
from simjudge.objects.block_bootstrap import SIGNIFICANCE, differences, holm, mean_interval
from simjudge.objects.common_times import common_times
from simjudge.objects.compared_series import ComparedSeries, SeriesComparison, SeriesFloor
from simjudge.objects.series import Series
from simjudge.objects.time_shift import time_shift
from simjudge.results.verdict_words import (
    AGAIN,
    DIFFERS,
    HALVES,
    NOT_SHOWN,
    SERIES_VERDICTS,
    TOO_FEW,
    WITHIN_FLOOR,
)


def compare_series(
    real: Sequence[Series],
    virtual: Sequence[Series],
    real_again: Sequence[Series] = (),
    *,
    shift_limit: float,
) -> ComparedSeries:
    """Compare all series of a real and of a virtual sensor.

    Args:
        virtual: those of the virtual one; the same metric and subject are compared.
        real_again: those of a second real recording, for the floor; empty: the floor is the real recording's halves.
        shift_limit: the greatest shift in time that is looked for, seconds.
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
    """The rows with verdicts, in order."""
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
    above = row.floor.value is None or abs(row.difference.mean) > row.floor.value
    return DIFFERS if above else WITHIN_FLOOR


def _clearness(row: SeriesComparison) -> tuple[float, ...]:
    """Rows that differ before the others; among them the one with the most floors, then the surest."""
    times = row.times_floor
    rank = SERIES_VERDICTS.index(row.verdict)
    p = 1.0 if np.isnan(row.adjusted_p) else row.adjusted_p
    return (rank, -times if times is not None else (-np.inf if row.verdict == DIFFERS else 0.0), p)
