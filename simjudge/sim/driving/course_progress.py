"""How far along a course a car is, and how far beside its line."""

from __future__ import annotations

import math

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.sim.scene.model import Course

SEARCH_BACK = 1.0
"""Metres of line before the last position within which the car is searched: a line may pass itself nearby."""
SEARCH_AHEAD = 3.0
"""Metres of line after the last position, likewise."""
SMALLEST_SQUARE = 1e-18
"""Square metres; keeps a piece of line without length from dividing by zero."""


class CourseProgress:
    """Follows a car along a course.

    Attributes:
        distance: metres from the line's first point to the point of the line that the car is beside. On a closed course
            it goes on from lap to lap.
        offset: metres between the car and the line, left positive.
        length: metres from start to finish, or of a lap.
    """

    def __init__(self, course: Course) -> None:
        """Stand at the start."""
        self._closed = course.closed
        self._points: FloatArray = np.asarray(course.centre_line, np.float64)
        self._steps = np.diff(self._points, axis=0)
        self._lengths = np.linalg.norm(self._steps, axis=1)
        self._distances = np.concatenate([[0.0], np.cumsum(self._lengths)])
        self.length = float(self._distances[-1])
        self.distance = self.offset = 0.0

    def advance_to(self, x: float, y: float) -> None:
        """Move on to a position near the last one.

        Args:
            x: position in the world, metres.
        """
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
        """Move to a position anywhere, beside the nearest part of the line.

        Args:
            x: position in the world, metres.
        """
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
