"""A metric over all objects: what differs a little in each of them shows in their mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.objects.block_bootstrap import differences, mean_interval
from simjudge.objects.compared_series import SeriesComparison, SeriesFloor
from simjudge.objects.series import WHOLE
from simjudge.objects.time_shift import TimeShift
from simjudge.results.verdict_words import AGAIN, HALVES

ALL_OBJECTS = "all objects"
"""The subject of a metric that is averaged over all objects."""


def with_all_objects(rows: Sequence[SeriesComparison]) -> list[SeriesComparison]:
    """Add a row over all objects for each metric of several objects.

    Returns:
        The rows; `is_single` where there is a row over all objects.
    """
    by_metric: dict[str, list[SeriesComparison]] = {}
    for row in rows:
        if row.subject != WHOLE:
            by_metric.setdefault(row.metric, []).append(row)
    several = {metric: each for metric, each in by_metric.items() if len(each) > 1}
    singles = [replace(row, is_single=row.subject != WHOLE and row.metric in several) for row in rows]
    return [*(pool_objects(each) for each in several.values()), *singles]


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
    source = AGAIN if any(each.source == AGAIN for each in floors) else HALVES
    parts = [(each.time, each.difference[np.newaxis]) for each in floors if each.source == source]
    time, values, slot = _joined(parts) if once else _mean_by_time(parts)
    return SeriesFloor(time, values[0], mean_interval(values[0], slot, block=1 if once else None), source)


def _pooled_shift(shifts: Sequence[TimeShift]) -> TimeShift | None:
    """The median, with the spread of a median of normal samples."""
    if len(shifts) < 2:
        return None
    seconds = np.array([each.seconds for each in shifts])
    spread = math.sqrt(math.pi / 2 / len(shifts)) * float(seconds.std(ddof=1))
    return TimeShift(float(np.median(seconds)), float(np.median([each.correlation for each in shifts])), spread)


Part = tuple[FloatArray, FloatArray]
"""Times (N,), and values (K, N) then, which are NaN where one of them is not known."""


def _joined(parts: Sequence[Part]) -> tuple[FloatArray, FloatArray, IntArray]:
    """All values behind each other: times, values, and their numbers."""
    time, values = np.concatenate([each[0] for each in parts]), np.concatenate([each[1] for each in parts], axis=1)
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
