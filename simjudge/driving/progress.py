"""How far along a course a car is, and how far beside its line."""

from __future__ import annotations

import numpy as np

from simjudge.core.frames import FloatArray, IntArray
from simjudge.scene.model import Course

_BACK, _ON = 1.0, 3.0
"""Metres along the line within which the car is looked for, from where it was: a line may pass itself nearby."""


class Progress:
    """Follows a car along a course.

    Attributes:
        way: metres from the start to the point of the line that the car is beside.
        beside: metres by which the car is to the left of the line.
        length: metres from start to finish.
    """

    def __init__(self, course: Course) -> None:
        """Stand at the start."""
        self._points: FloatArray = np.asarray(course.centre_line, np.float64)
        self._steps = np.diff(self._points, axis=0)
        self._lengths = np.linalg.norm(self._steps, axis=1)
        self._ways = np.concatenate([[0.0], np.cumsum(self._lengths)])
        self.length = float(self._ways[-1])
        self.way = self.beside = 0.0

    def at(self, x: float, y: float) -> None:
        """The car has come here, from where it was."""
        near = (self._ways[1:] >= self.way - _BACK) & (self._ways[:-1] <= self.way + _ON)
        self._find(np.array([x, y]), np.flatnonzero(near))

    def anywhere(self, x: float, y: float) -> None:
        """Something is here, beside whatever part of the line is nearest."""
        self._find(np.array([x, y]), np.arange(len(self._steps)))

    def _find(self, place: FloatArray, rows: IntArray) -> None:
        steps, starts = self._steps[rows], self._points[rows]
        squares = np.maximum(self._lengths[rows] ** 2, 1e-18)
        share = np.einsum("ij,ij->i", place - starts, steps) / squares
        # Before the start and behind the finish the line goes on straight.
        low = np.where(rows == 0, -np.inf, 0.0)
        high = np.where(rows == len(self._steps) - 1, np.inf, 1.0)
        share = np.clip(share, low, high)
        away = place - (starts + share[:, None] * steps)
        best = int(np.argmin(np.einsum("ij,ij->i", away, away)))
        row = int(rows[best])
        self.way = float(self._ways[row] + share[best] * self._lengths[row])
        left = np.array([-self._steps[row, 1], self._steps[row, 0]])
        sign = 1.0 if float(left @ away[best]) >= 0 else -1.0
        self.beside = sign * float(np.linalg.norm(away[best]))
