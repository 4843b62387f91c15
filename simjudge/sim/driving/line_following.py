"""How far along a line a whole drive is, all at once: `course_progress.CourseProgress`, compiled."""
# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import numpy as np
from numba import njit

from simjudge.core.arrays import FloatArray
from simjudge.sim.driving.course_progress import SEARCH_AHEAD, SEARCH_BACK, SMALLEST_SQUARE
from simjudge.sim.scene.model import Course


def follow_line(course: Course, positions: FloatArray, start: float | None = None) -> tuple[FloatArray, FloatArray]:
    """Follow a car along a course, from wherever it starts.

    Args:
        positions: (N, 2), x and y in the world, metres, in order of time.
        start: metres along the line near which the first position is sought; None: anywhere.

    Returns:
        float64 (N,), metres along the line, on a closed course from lap to lap; and (N,), metres beside it, left
        positive: what `CourseProgress.locate` for the first position and `advance_to` for the others give.
    """
    points = np.ascontiguousarray(course.centre_line, np.float64)
    steps = np.diff(points, axis=0)
    lengths = np.linalg.norm(steps, axis=1)
    distances = np.concatenate([[0.0], np.cumsum(lengths)])
    out = np.empty((len(positions), 2))
    _follow(
        points, steps, lengths, distances, course.closed, np.ascontiguousarray(positions, np.float64),
        np.nan if start is None else start, out,
    )  # fmt: skip
    return out[:, 0], out[:, 1]


@njit(cache=True, nogil=True)
def _is_near(first, last, now, length, closed):
    """Whether a piece of line lies around the last position; of a closed line also a lap before or behind."""
    if first <= now + SEARCH_AHEAD and last >= now - SEARCH_BACK:
        return True
    if not closed:
        return False
    return (first - length <= now + SEARCH_AHEAD and last - length >= now - SEARCH_BACK) or (
        first + length <= now + SEARCH_AHEAD and last + length >= now - SEARCH_BACK
    )


@njit(cache=True, nogil=True)
def _project(points, steps, lengths, distances, closed, now, x, y):
    """The nearest point on the pieces near `now` (all pieces where it is NaN): distance along, and offset."""
    best, row_of_best, share_of_best = np.inf, 0, 0.0
    for row in range(len(steps)):
        if not np.isnan(now) and not _is_near(distances[row], distances[row + 1], now, distances[-1], closed):
            continue
        away_x, away_y = x - points[row, 0], y - points[row, 1]
        square = max(lengths[row] ** 2, SMALLEST_SQUARE)
        share = (away_x * steps[row, 0] + away_y * steps[row, 1]) / square
        on_piece = min(max(share, 0.0), 1.0)
        off_x, off_y = x - (points[row, 0] + on_piece * steps[row, 0]), y - (points[row, 1] + on_piece * steps[row, 1])
        square = off_x * off_x + off_y * off_y
        if square < best:
            best, row_of_best, share_of_best = square, row, share
    row, share = row_of_best, share_of_best
    if closed or row > 0:
        share = max(share, 0.0)
    if closed or row < len(steps) - 1:
        share = min(share, 1.0)
    off_x = x - (points[row, 0] + share * steps[row, 0])
    off_y = y - (points[row, 1] + share * steps[row, 1])
    left = -steps[row, 1] * off_x + steps[row, 0] * off_y
    offset = np.sqrt(off_x * off_x + off_y * off_y)
    return distances[row] + share * lengths[row], offset if left >= 0 else -offset


@njit(cache=True, nogil=True)
def _follow(points, steps, lengths, distances, closed, positions, start, out):
    length, distance = distances[-1], start
    for n in range(len(positions)):
        laps = length * np.floor(distance / length) if closed and n > 0 else 0.0
        # Of an open line a car beyond an end is near that end; the first position may be anywhere.
        now = distance - laps if closed or n == 0 else min(max(distance, 0.0), length)
        here, offset = _project(points, steps, lengths, distances, closed, now, positions[n, 0], positions[n, 1])
        if closed and n > 0:
            here += laps + length * np.round((now - here) / length)
        distance = here
        out[n, 0], out[n, 1] = distance, offset
