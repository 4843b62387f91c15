"""Drives cut into stretches of the course: the context of each, and how well the car drove there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from simjudge.core.arrays import BoolArray, FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.data.drive_logs import DriveLog
from simjudge.scene.model import Course
from simjudge.studies.drives.cone_places import LaneCones, next_cones
from simjudge.studies.drives.course_line import SPACING, along_line, line_curvature, line_heading, line_length
from simjudge.studies.drives.drive_metrics import METRICS

AHEAD = 3
"""Stretches whose curvature is the context: the window's own, and those that the driver sees ahead."""


@dataclass(frozen=True, eq=False, repr=False)
class DrivenLine(ShortRepr):
    """A drive by distance along the course, every SPACING metres.

    Attributes:
        distance: float64 (G,), metres along the course, ascending; on a closed course from lap to lap.
        values: float64 (G, 3), lateral error in metres (left positive), heading error in degrees, speed in m/s.
        position: float64 (G, 2), x and y, metres.
        steering: float64 (G,), how much the steering has changed in all up to there; NaN where it is not known.
    """

    distance: FloatArray
    values: FloatArray
    position: FloatArray
    steering: FloatArray


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


@dataclass(frozen=True)
class ConesAhead:
    """Which cones a window's context holds.

    Attributes:
        cones: that stand along the course.
        count: how many of each side.
    """

    cones: LaneCones
    count: int


def driven_line(course: Course, drive: DriveLog) -> DrivenLine:
    """Measure a drive along a line.

    Args:
        course: the line, its points SPACING apart.
        drive: the drive.
    """
    distance, lateral = along_line(course, drive)
    length, heading = line_length(course), line_heading(course)
    axis = np.linspace(0.0, length, len(heading))
    if course.closed:
        lap = np.floor(distance / length)
        way = np.interp(distance - lap * length, axis, heading)
    else:
        way = np.interp(distance, axis, heading)
    error = np.degrees((drive.yaw - way + np.pi) % (2 * np.pi) - np.pi)
    # Before its first command the driver changes nothing.
    known = np.maximum.accumulate(np.isfinite(drive.steering))
    step = np.where(known[:-1] | ~known.any(), np.abs(np.diff(drive.steering)), 0.0)
    change = np.concatenate([[0.0], np.cumsum(step)])
    # Where the car stands or rolls back, the last instant at a distance counts.
    ahead = np.flatnonzero(distance > np.maximum.accumulate(np.concatenate([[-np.inf], distance[:-1]])))
    first, last = np.ceil(distance[ahead[0]] / SPACING), np.floor(distance[ahead[-1]] / SPACING)
    grid = SPACING * np.arange(first, last + 1)

    def at(values: FloatArray) -> FloatArray:
        return np.interp(grid, distance[ahead], values[ahead])

    values = np.stack([at(lateral), at(error), at(drive.speed)], 1)
    position = np.stack([at(drive.position[:, 0]), at(drive.position[:, 1])], 1)
    return DrivenLine(grid, values, position, at(change))


def median_speed(course: Course, lines: Sequence[DrivenLine]) -> FloatArray:
    """The usual speed at each place, over all drives of both sides alike.

    Args:
        course: the line.
        lines: the drives.

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
        course: the line.
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
        course: the line.
        lines: the drives.
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
        if not len(line.distance):
            continue
        first, last = int(np.ceil(line.distance[0] / width - 1e-9)), int(np.floor(line.distance[-1] / width + 1e-9))
        if not course.closed:
            first, last = max(first, 0), min(last, per_lap)
        starts = np.searchsorted(line.distance, width * np.arange(first, last + 1) - 1e-9)
        speed_error = line.values[:, 2] - usual[line_points(course, line.distance)]
        for window, (begin, end) in enumerate(pairwise(starts), first):
            # The next window's first point closes this one: it is measured to its end.
            stop = min(end + 1, len(line.distance))
            effort = (line.steering[stop - 1] - line.steering[begin]) / width
            of_lap = window % per_lap
            performance = [*line.values[begin:end, :2].mean(0), speed_error[begin:end].mean(), effort]
            rows.append((np.array([number, window, (of_lap + 0.5) * width, line.values[begin, 2]]), ahead[of_lap],
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
