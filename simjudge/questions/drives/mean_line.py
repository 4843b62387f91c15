"""The mean line of drives, where no scene has the course."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.errors import SimjudgeError
from simjudge.data.drive_logs import DriveLog
from simjudge.questions.drives.course_line import (
    SPACING,
    line_heading,
    line_length,
    on_course,
    resampled,
    smoothed,
)
from simjudge.questions.drives.driven_line import driven_line
from simjudge.scene.model import Course

_ROUNDS = 3
"""Times that the line is moved by the mean offset."""
_AWAY = 3.0
"""A drive is in laps if it comes back to its start after it was this many times as far away as it comes near."""
_NEAR = 1.0
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

    Args:
        drives: of both sides, at least one.

    Raises:
        SimjudgeError: no drive goes anywhere.
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
    left = np.flatnonzero(away > _AWAY * _NEAR)
    if not len(left):
        return drive.position, False
    turned = np.abs((drive.yaw - drive.yaw[0] + np.pi) % (2 * np.pi) - np.pi)
    back = np.flatnonzero((away < _NEAR) & (turned < _TURN))
    back = back[back > left[0]]
    if not len(back):
        return drive.position, False
    # The first visit's nearest instant.
    visit = back[: np.argmax(np.append(np.diff(back) > 1, True)) + 1]
    end = int(visit[np.argmin(away[visit])])
    return np.concatenate([drive.position[: end + 1], drive.position[:1]]), True
