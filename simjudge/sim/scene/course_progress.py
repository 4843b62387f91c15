"""How far along a line a car is, and how far beside it."""
# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import math

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.numba_cache import njit
from simjudge.sim.scene.model import Course

# Metres of line before the last position within which the car is searched: a line may pass itself nearby.
SEARCH_BACK = 1.0
SEARCH_AHEAD = 3.0  # Metres of line after the last position, likewise
SMALLEST_SQUARE = 1e-18  # Square metres; keeps a piece of line without length from dividing by zero


class CourseProgress:
    """Follows a car along a course.

    Attributes:
        distance: metres from the line's first point to the point of the line that the car is beside. On a closed course
            it goes on from lap to lap.
        offset: metres between the car and the line, left positive.
        length: metres from start to finish, or of a lap.
    """

    def __init__(self, course: Course) -> None:
        self._closed = course.closed
        self._points: FloatArray = np.asarray(course.centre_line, np.float64)
        self._steps = np.diff(self._points, axis=0)
        self._lengths = np.linalg.norm(self._steps, axis=1)
        self._distances = np.concatenate([[0.0], np.cumsum(self._lengths)])
        self.length = float(self._distances[-1])
        self.distance = self.offset = 0.0

    def advance_to(self, x: float, y: float) -> None:
        """Move on to a position near the last one (x: position in the world, metres)."""
        laps = self.length * math.floor(self.distance / self.length) if self._closed else 0.0
        # Of an open line a car beyond an end is near that end.
        now = self.distance - laps if self._closed else min(max(self.distance, 0.0), self.length)
        # Of a closed line the parts before and behind are looked at a lap further, too.
        shifts = (-self.length, 0.0, self.length) if self._closed else (0.0,)
        near = np.zeros(len(self._steps), np.bool_)
        for shift in shifts:
            near |= (self._distances[1:] + shift >= now - SEARCH_BACK) & (
                self._distances[:-1] + shift <= now + SEARCH_AHEAD
            )
        self._project(np.array([x, y]), np.flatnonzero(near))
        if self._closed:
            self.distance += laps + self.length * round((now - self.distance) / self.length)

    def locate(self, x: float, y: float) -> None:
        """Move to a position anywhere, beside the nearest part of the line (x: position in the world, metres)."""
        self._project(np.array([x, y]), np.arange(len(self._steps)))

    def _project(self, position: FloatArray, rows: IntArray) -> None:
        """Take the nearest point on some pieces of the line."""
        steps, starts = self._steps[rows], self._points[rows]
        squares = np.maximum(self._lengths[rows] ** 2, SMALLEST_SQUARE)
        share = np.einsum("ij,ij->i", position - starts, steps) / squares
        on_piece = np.clip(share, 0.0, 1.0)
        away = position - (starts + on_piece[:, None] * steps)
        best = int(np.argmin(np.einsum("ij,ij->i", away, away)))
        row = int(rows[best])
        # Before the start and after the finish an open line goes on straight, for a car that is nearest to that end: of
        # a line that ends near its start, the finish goes on through the start.
        low = -math.inf if row == 0 and not self._closed else 0.0
        high = math.inf if row == len(self._steps) - 1 and not self._closed else 1.0
        along = min(max(float(share[best]), low), high)
        beside = position - (self._points[row] + along * self._steps[row])
        self.distance = float(self._distances[row] + along * self._lengths[row])
        left = np.array([-self._steps[row, 1], self._steps[row, 0]])
        sign = 1.0 if float(left @ beside) >= 0 else -1.0
        self.offset = sign * float(np.linalg.norm(beside))


def follow_line(course: Course, positions: FloatArray, start: float | None = None) -> tuple[FloatArray, FloatArray]:
    """Follow a car along a course, from wherever it starts: float64 (N,); positions (N, 2)."""
    points = np.ascontiguousarray(course.centre_line, np.float64)
    steps = np.diff(points, axis=0)
    lengths = np.linalg.norm(steps, axis=1)
    distances = np.concatenate([[0.0], np.cumsum(lengths)])
    out = np.empty((len(positions), 2))
    _follow(
        points,
        steps,
        lengths,
        distances,
        course.closed,
        np.ascontiguousarray(positions, np.float64),
        np.nan if start is None else start,
        out,
    )
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
