"""The line that drives are measured against: a scene's course, or the mean of the real drives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.ndimage import gaussian_filter1d

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import SimjudgeError
from simjudge.data.drive_logs import DriveLog
from simjudge.driving.line_following import follow_line
from simjudge.scene.model import Course

SPACING = 0.05
"""Metres between the points of a line."""
_SMOOTH = 0.3
"""Metres: standard deviation of the window that a mean line is smoothed by."""
_ROUNDS = 3
"""Times that the line is moved by the mean offset."""
_AWAY = 3.0
"""A drive is in laps if it comes back to its start after it was this many times as far away as it comes near."""
_NEAR = 1.0
"""Metres to its start at which a drive has come back, heading the same way."""
_TURN = np.pi / 3
"""Radians by which its heading may then differ."""


def mean_line(drives: Sequence[DriveLog]) -> Course:
    """The mean line of several drives of one course.

    The first drive, or its first lap, is the first guess. All drives are measured against it; their mean offset moves
    it.

    Args:
        drives: at least one.

    Raises:
        SimjudgeError: the first drive goes nowhere.
    """
    lap, closed = _first_lap(drives[0])
    points = _resampled(lap, closed=closed)
    if len(points) < 4:
        raise SimjudgeError(f"{drives[0].name}: moves less than {4 * SPACING:.1f} m; a line cannot be made of it")
    # Without the kink where a lap closes; what this moves inwards in bends comes back with the mean offset.
    points = _smoothed(points, closed=closed)
    for _ in range(_ROUNDS):
        course = Course(points, 0.0, closed)
        offset = _smoothed(_mean_offset(course, drives), closed=closed)
        heading = line_heading(course)
        moved = points + offset[:, np.newaxis] * np.stack([-np.sin(heading), np.cos(heading)], 1)
        if closed:
            moved[-1] = moved[0]
        points = _resampled(moved, closed=closed)
    return Course(points, 0.0, closed)


def _mean_offset(course: Course, drives: Sequence[DriveLog]) -> FloatArray:
    """Mean offset of all drives at each point of a line, metres; interpolated where nobody drove."""
    distance, offset = (np.concatenate(each) for each in zip(*(along_line(course, d) for d in drives), strict=True))
    length, last = line_length(course), len(course.centre_line) - 1
    place = distance % length if course.closed else distance
    kept = (place >= 0) & (place <= length)
    point = np.rint(place[kept] / length * last).astype(np.int64)
    total, count = np.bincount(point, offset[kept], last + 1), np.bincount(point, minlength=last + 1)
    if course.closed:
        total[0], count[0] = total[0] + total[-1], count[0] + count[-1]
        total[-1], count[-1] = total[0], count[0]
    known = np.flatnonzero(count)
    return np.interp(np.arange(last + 1), known, total[known] / count[known])


def _smoothed(values: FloatArray, *, closed: bool) -> FloatArray:
    """Values along a line, smoothed over _SMOOTH metres; of a closed line the last one is the first."""
    if not closed:
        return np.asarray(gaussian_filter1d(values, _SMOOTH / SPACING, axis=0, mode="nearest"))
    smooth = gaussian_filter1d(values[:-1], _SMOOTH / SPACING, axis=0, mode="wrap")
    return np.concatenate([smooth, smooth[:1]])


def fine_line(course: Course) -> Course:
    """A course with points SPACING apart.

    Args:
        course: as a scene has it.
    """
    points = np.asarray(course.centre_line, np.float64)
    return Course(_resampled(points, closed=course.closed), course.width, course.closed)


def along_line(course: Course, drive: DriveLog) -> tuple[FloatArray, FloatArray]:
    """Where a drive is along a line, and how far beside it.

    Args:
        course: the line.
        drive: the drive.

    Returns:
        float64 (N,), metres along the line, on a closed one from lap to lap; and (N,), metres beside it, left positive.
    """
    return follow_line(course, drive.position)


def line_heading(course: Course) -> FloatArray:
    """Heading of the line at each of its points, radians, continuous.

    Args:
        course: the line.
    """
    points = course.centre_line
    if course.closed:
        step = np.roll(points[:-1], -1, 0) - np.roll(points[:-1], 1, 0)
        step = np.concatenate([step, step[:1]])
    else:
        step = np.gradient(points, axis=0)
    return np.unwrap(np.arctan2(step[:, 1], step[:, 0]))


def line_curvature(course: Course) -> FloatArray:
    """Curvature of the line at each of its points, 1/m, left positive, smoothed as a mean line is.

    Args:
        course: the line, its points SPACING apart.
    """
    heading = line_heading(course)
    if course.closed:
        # One turn more or less from the last point to the first.
        step = np.diff(heading)
        return _smoothed(np.concatenate([step, step[:1]]) / SPACING, closed=True)
    return _smoothed(np.gradient(heading, SPACING), closed=False)


def line_length(course: Course) -> float:
    """Metres from its start to its finish, or of a lap.

    Args:
        course: the line.
    """
    return float(np.linalg.norm(np.diff(course.centre_line, axis=0), axis=1).sum())


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


def _resampled(points: FloatArray, *, closed: bool) -> FloatArray:
    """Points SPACING apart, about: a whole number of equal steps."""
    step = np.linalg.norm(np.diff(points, axis=0), axis=1)
    points = points[np.concatenate([[True], step > 1e-9])]
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    if not along[-1] > 0:
        return points
    count = max(1, round(float(along[-1]) / SPACING))
    wanted = np.linspace(0.0, along[-1], count + 1)
    out = np.stack([np.interp(wanted, along, axis) for axis in points.T], 1)
    if closed:
        out[-1] = out[0]
    return out
