"""A drive measured along a line: how far along, how far beside it, how it is turned, how fast."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.spatial import cKDTree

from simjudge.core.arrays import BoolArray, FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.data.drive_logs import DriveLog
from simjudge.questions.drives.course_line import (
    SPACING,
    line_heading,
    line_length,
    on_course,
    resampled,
    smoothed,
)
from simjudge.sim.driving.course import follow_line
from simjudge.sim.scene.model import Course

FARTHEST_ASIDE = 10.0
"""Metres beside the line from which on a car does not drive along it."""
_NEAR = 1.0
"""Metres farther than the nearest one that a part of the line may be away to be the one that a car drives along."""
_STEP = 1.0
"""Metres between positions, at most, with which a car is followed along the line."""
_BACK = 1.0
"""Metres that a car may roll back before it is said that it drives against the course."""


@dataclass(frozen=True, eq=False, repr=False)
class DrivenLine(ShortRepr):
    """A drive by distance along the course, every SPACING metres.

    Where the drive has a hole, jumps or leaves the course, points are missing; after it they may begin farther back.

    Attributes:
        distance: float64 (G,), metres along the course, whole multiples of SPACING; on a closed course from lap to lap.
        values: float64 (G, 3), lateral error in metres (left positive), heading error in degrees, speed in m/s.
        position: float64 (G, 2), x and y, metres.
        steering: float64 (G,), how much the steering has changed in all up to there; NaN where it is not known.
    """

    distance: FloatArray
    values: FloatArray
    position: FloatArray
    steering: FloatArray

    def parts(self) -> list[slice]:
        """Its unbroken parts."""
        broken = np.rint(np.diff(self.distance) / SPACING) != 1
        ends = [0, *(np.flatnonzero(broken) + 1).tolist(), len(self.distance)]
        return [slice(first, last) for first, last in pairwise(ends) if last > first]


def driven_line(course: Course, drive: DriveLog, losses: Losses | None = None) -> DrivenLine:
    """Measure a drive along a line, each unbroken piece by itself.

    Args:
        losses: takes what lies far beside the course or goes against its direction.
    """
    losses = Losses() if losses is None else losses
    tree, length = cKDTree(course.centre_line), line_length(course)
    rows, begin = [np.empty((0, 7))], -np.inf
    for piece in drive.pieces():
        away, _ = tree.query(piece.position)
        for part in _runs(piece, away <= FARTHEST_ASIDE, losses):
            distance, lateral = _followed(course, part)
            if course.closed and np.isfinite(begin):
                distance = distance + length * max(0.0, np.ceil((begin - _BACK - distance[0]) / length))
            begin = float(distance.max())
            back = np.maximum.accumulate(distance) - distance
            if back.max() > _BACK:
                losses.add("parts of drives against the direction of the course", f"{drive.name}: {back.max():.1f} m"
                           f" up to {part.time[back.argmax()]:.3f} s")  # fmt: skip
            found = _on_grid(course, part, distance, lateral)
            # What the driver did in a hole is not known; what he did before it is not done once more.
            found[:, 6] += rows[-1][-1, 6] if len(rows[-1]) else 0.0
            rows.append(found)
    table = np.concatenate(rows)
    return DrivenLine(table[:, 0], table[:, 1:4], table[:, 4:6], table[:, 6])


def _runs(piece: DriveLog, near: BoolArray, losses: Losses) -> list[DriveLog]:
    """The parts of a piece that are near the line."""
    if not near.all():
        losses.add(f"instants more than {FARTHEST_ASIDE:g} m beside the course",
                   f"{piece.name} at {piece.time[~near][0]:.3f} s", int((~near).sum()))  # fmt: skip
    ends = np.flatnonzero(np.diff(near)) + 1
    runs = np.split(np.arange(len(near)), ends)
    return [piece[rows] for rows in runs if near[rows[0]] and len(rows) > 1]


def _followed(course: Course, drive: DriveLog) -> tuple[FloatArray, FloatArray]:
    """Metres along the line and beside it. Where the line passes itself, the heading tells where the car begins."""
    heading, first = line_heading(course), drive.position[0]
    away = np.linalg.norm(course.centre_line - first, axis=1)
    there = np.flatnonzero((away <= away.min() + _NEAR) & (np.cos(heading - drive.yaw[0]) > 0))
    point = int(there[away[there].argmin()]) if len(there) else int(away.argmin())
    start = point / (len(heading) - 1) * line_length(course)
    # A car is sought a few metres around its last place: no two positions may be farther apart.
    step = np.linalg.norm(np.diff(drive.position, axis=0), axis=1)
    row = np.concatenate([[0], np.cumsum(np.maximum(1, np.ceil(step / _STEP)).astype(np.int64))])
    fine = np.interp(np.arange(row[-1] + 1), row, np.arange(len(drive)))
    path = np.stack([np.interp(fine, np.arange(len(drive)), axis) for axis in drive.position.T], 1)
    distance, lateral = follow_line(course, path, start)
    return distance[row], lateral[row]


def _on_grid(course: Course, drive: DriveLog, distance: FloatArray, lateral: FloatArray) -> FloatArray:
    """Distance, lateral and heading error, speed, x, y and steering effort so far, at whole multiples of SPACING."""
    length, heading = line_length(course), line_heading(course)
    place = distance % length if course.closed else distance
    way = np.interp(place, np.linspace(0.0, length, len(heading)), heading)
    error = np.degrees((drive.yaw - way + np.pi) % (2 * np.pi) - np.pi)
    effort = _effort(drive.steering)
    # Where the car stands or rolls back, the first instant at a distance counts.
    ahead = np.flatnonzero(distance > np.maximum.accumulate(np.concatenate([[-np.inf], distance[:-1]])))
    grid = np.arange(np.ceil(distance[ahead[0]] / SPACING), np.floor(distance[ahead[-1]] / SPACING) + 1) * SPACING
    columns = (lateral, error, drive.speed, drive.position[:, 0], drive.position[:, 1], effort)
    return np.stack([grid, *(np.interp(grid, distance[ahead], values[ahead]) for values in columns)], 1)


def _effort(steering: FloatArray) -> FloatArray:
    """How much the steering has changed in all. A command holds until the next; before the first nothing changes."""
    known = np.isfinite(steering)
    if not known.any():
        return np.full(len(steering), np.nan)
    last = np.maximum.accumulate(np.where(known, np.arange(len(steering)), -1))
    held = np.where(last >= 0, steering[last], steering[known.argmax()])
    return np.concatenate([[0.0], np.cumsum(np.abs(np.diff(held)))])


_ROUNDS = 3
"""Times that the line is moved by the mean offset."""
_AWAY = 3.0
"""A drive is in laps if it comes back to its start after it was this many times as far away as it comes near."""
_NEAR_LINE = 1.0
"""Metres to its start at which a drive has come back, heading the same way."""
_TURN = np.pi / 3
"""Radians by which its heading may then differ."""
_THIN = 0.2
"""Metres between the positions that a first guess is made of."""
_GUESSES = 8
"""Longest pieces that are tried as first guesses."""
_ENOUGH = 0.8
"""Share of all metres driven along a guess from which no other is tried."""


def mean_line(drives: Sequence[DriveLog]) -> Course:
    """The mean line of several drives of one course, in which each passage of a place weighs alike.

    So no drive is nearer to the line than another by construction, whichever side it is of and however many drives that
    side has. The piece or lap along which most of the drives run is the first guess; their mean offset moves it.
    """
    points, closed = _first_guess(drives)
    for turn in range(_ROUNDS):
        course = Course(points, 0.0, closed)
        offset, heading = _mean_offset(course, drives), line_heading(course)
        # First the line itself is smoothed, so that nothing of the guess stays; what this moves inwards in bends comes
        # back with the next offsets.
        offset = offset if turn == 0 else smoothed(offset, closed=closed)
        moved = points + offset[:, np.newaxis] * np.stack([-np.sin(heading), np.cos(heading)], 1)
        moved = smoothed(moved, closed=closed) if turn == 0 else moved
        if closed:
            moved[-1] = moved[0]
        points = resampled(moved, closed=closed)
    return Course(points, 0.0, closed)


def _first_guess(drives: Sequence[DriveLog]) -> tuple[FloatArray, bool]:
    """The piece or lap along which most metres are driven in its direction; and whether it is a lap."""
    pieces = [piece for drive in drives for piece in drive.pieces()]
    thinned = [_thinned(piece.position) for piece in pieces]
    metres = [float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum()) for points, _ in thinned]
    best, most = None, 0
    for number in sorted(range(len(pieces)), key=lambda k: -metres[k])[:_GUESSES]:
        lap, closed = _first_lap(pieces[number][thinned[number][1]])
        points = smoothed(resampled(lap, closed=closed), closed=closed)
        if len(points) < 4:
            continue
        course = Course(points, 0.0, closed)
        along = sum(int(on_course(course, driven_line(course, drive).distance).sum()) for drive in drives)
        if along > most:
            best, most = (points, closed), along
        if most * SPACING >= _ENOUGH * sum(metres):
            break
    if best is None:
        raise SimjudgeError(f"{drives[0].name}: moves less than {4 * SPACING:.1f} m, as all drives do; a line cannot be"
                            " made of them")  # fmt: skip
    return best


def _thinned(points: FloatArray) -> tuple[FloatArray, IntArray]:
    """Points at least _THIN apart, so that noise where a car stands makes no line; and their rows."""
    places = points.tolist()
    rows = [0]
    for row, place in enumerate(places):
        if math.dist(place, places[rows[-1]]) >= _THIN:
            rows.append(row)
    return points[rows], np.array(rows)


def _mean_offset(course: Course, drives: Sequence[DriveLog]) -> FloatArray:
    """Mean offset of all drives at each point of a line, metres; interpolated where nobody drove."""
    # By distance driven and not by time: a slow drive, or one recorded more often, weighs no more.
    lines = [driven_line(course, drive) for drive in drives]
    distance = np.concatenate([line.distance for line in lines])
    offset = np.concatenate([line.values[:, 0] for line in lines])
    length, last = line_length(course), len(course.centre_line) - 1
    kept = on_course(course, distance)
    place = distance[kept] % length if course.closed else distance[kept]
    point = np.rint(place / length * last).astype(np.int64)
    total, count = np.bincount(point, offset[kept], last + 1), np.bincount(point, minlength=last + 1)
    if course.closed:
        total[0], count[0] = total[0] + total[-1], count[0] + count[-1]
        total[-1], count[-1] = total[0], count[0]
    known = np.flatnonzero(count)
    return np.interp(np.arange(last + 1), known, total[known] / count[known])


def _first_lap(drive: DriveLog) -> tuple[FloatArray, bool]:
    """The positions of a drive up to where it comes back to its start; and whether it does."""
    away = np.linalg.norm(drive.position - drive.position[0], axis=1)
    left = np.flatnonzero(away > _AWAY * _NEAR_LINE)
    if not len(left):
        return drive.position, False
    turned = np.abs((drive.yaw - drive.yaw[0] + np.pi) % (2 * np.pi) - np.pi)
    back = np.flatnonzero((away < _NEAR_LINE) & (turned < _TURN))
    back = back[back > left[0]]
    if not len(back):
        return drive.position, False
    # The first visit's nearest instant.
    visit = back[: np.argmax(np.append(np.diff(back) > 1, True)) + 1]
    end = int(visit[np.argmin(away[visit])])
    return np.concatenate([drive.position[: end + 1], drive.position[:1]]), True
