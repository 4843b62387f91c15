"""Drives cut into stretches of the course: the context of each, and how well the car drove there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from simjudge.core.arrays import BoolArray, FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.questions.drives.course_line import LaneCones, line_curvature, line_length, next_cones
from simjudge.questions.drives.driven_line import DrivenLine
from simjudge.questions.drives.settings import METRICS
from simjudge.sim.scene.model import Course

AHEAD = 3
"""Stretches whose curvature is the context: the window's own, and those that the driver sees ahead."""


@dataclass(frozen=True, eq=False, repr=False)
class DriveWindows(ShortRepr):
    """The windows of several drives: N in all.

    Attributes:
        drive: int64 (N,), the drive of each.
        window: int64 (N,), number along the course from its start, on from lap to lap.
        place: float64 (N,), metres along the course, or lap, to the window's middle.
        curvature: float64 (N, AHEAD), mean curvature of the window and of the stretches ahead, 1/m.
        speed: float64 (N,), m/s on entry.
        performance: float64 (N, 4), by METRICS; NaN where steering is not known.
        cones: float64 (N, K), places of the next cones as `next_cones` has them; K is 0 where they are not asked for.
    """

    drive: IntArray
    window: IntArray
    place: FloatArray
    curvature: FloatArray
    speed: FloatArray
    performance: FloatArray
    cones: FloatArray

    def chosen(self, rows: BoolArray) -> DriveWindows:
        """Some of the windows.

        Args:
            rows: bool (N,).
        """
        return DriveWindows(**{name: values[rows] for name, values in vars(self).items()})


@dataclass(frozen=True)
class ConesAhead:
    """Which cones a window's context holds."""

    cones: LaneCones
    count: int


def median_speed(course: Course, lines: Sequence[DrivenLine]) -> FloatArray:
    """The usual speed at each place, over all drives of both sides alike.

    Returns:
        float64 (P,), m/s at each of the line's points; interpolated where nobody drove, 0 where nobody drove at all.
    """
    count = len(course.centre_line)
    place = np.concatenate([line_points(course, line.distance) for line in lines])
    speed = np.concatenate([line.values[:, 2] for line in lines])
    order = np.lexsort((speed, place))
    place, speed = place[order], speed[order]
    start = np.searchsorted(place, np.arange(count + 1))
    known = np.flatnonzero(np.diff(start))
    if not len(known):
        return np.zeros(count)
    medians = [float(np.median(speed[start[k] : start[k + 1]])) for k in known]
    return np.interp(np.arange(count), known, medians)


def line_points(course: Course, distance: FloatArray) -> IntArray:
    """The number of the line's point nearest to each distance along it.

    Args:
        distance: metres, on a closed course from lap to lap.
    """
    last, length = len(course.centre_line) - 1, line_length(course)
    share = (distance % length if course.closed else distance) / length
    return np.clip(np.rint(share * last), 0, last).astype(np.int64)


def cut_windows(
    course: Course, lines: Sequence[DrivenLine], usual: FloatArray, size: float, cones: ConesAhead | None = None
) -> DriveWindows:
    """Cut drives into windows that are covered from end to end.

    Args:
        usual: the speed that speed errors are from, at each of the line's points, m/s.
        size: wanted length of a window, metres; on a closed course a lap has a whole number of them.
        cones: whose places are part of the context, seen as far ahead as curvature is; None for none.
    """
    length = line_length(course)
    per_lap = max(1, round(length / size)) if course.closed else max(1, int(length / size))
    width = length / per_lap if course.closed else size
    ahead = _curvature_ahead(course, width, per_lap)
    cones_ahead = (
        np.empty((per_lap, 0))
        if cones is None
        else next_cones(course, cones.cones, width * np.arange(per_lap, dtype=np.float64), cones.count, AHEAD * width)
    )
    rows: list[tuple[FloatArray, ...]] = []
    for number, line in enumerate(lines):
        speed_error = line.values[:, 2] - usual[line_points(course, line.distance)]
        for part in line.parts():
            distance, steering = line.distance[part], line.steering[part]
            first, last = int(np.ceil(distance[0] / width - 1e-9)), int(np.floor(distance[-1] / width + 1e-9))
            if not course.closed:
                first, last = max(first, 0), min(last, per_lap)
            starts = np.searchsorted(distance, width * np.arange(first, last + 1) - 1e-9)
            for window, (begin, end) in enumerate(pairwise(starts), first):
                # The next window's first point closes this one: it is measured to its end.
                stop = min(end + 1, len(distance))
                effort = (steering[stop - 1] - steering[begin]) / width
                of_lap, values = window % per_lap, line.values[part][begin:end]
                performance = [*values[:, :2].mean(0), speed_error[part][begin:end].mean(), effort]
                rows.append((np.array([number, window, (of_lap + 0.5) * width, values[0, 2]]), ahead[of_lap],
                             np.array(performance)))  # fmt: skip
    named = np.array([row[0] for row in rows]).reshape(-1, 4)
    return DriveWindows(
        drive=named[:, 0].astype(np.int64), window=named[:, 1].astype(np.int64), place=named[:, 2],
        curvature=np.array([row[1] for row in rows]).reshape(-1, AHEAD), speed=named[:, 3],
        performance=np.array([row[2] for row in rows]).reshape(-1, len(METRICS)),
        cones=cones_ahead[named[:, 1].astype(np.int64) % per_lap],
    )  # fmt: skip


def _curvature_ahead(course: Course, width: float, count: int) -> FloatArray:
    """Mean curvature of each window and of those ahead of it: (count, AHEAD). An open line goes on straight."""
    curvature = line_curvature(course)[:-1]
    axis = np.linspace(0.0, line_length(course), len(curvature), endpoint=False)
    number = np.minimum((axis / width + 1e-9).astype(np.int64), count - 1)
    inside: BoolArray = axis < count * width
    held = np.bincount(number[inside], minlength=count)
    mean = np.bincount(number[inside], curvature[inside], count) / np.maximum(held, 1)
    further = np.concatenate([mean, mean[: AHEAD - 1] if course.closed else np.zeros(AHEAD - 1)])
    if len(further) < count + AHEAD - 1:
        further = np.resize(further, count + AHEAD - 1)
    return np.stack([further[k : k + count] for k in range(AHEAD)], 1)
