"""Readings that average a signal over a window: when they are due, and what they are.

Reading k begins to collect at start + k / rate, and its stamp is the end of its window. The signal runs straight from
the start to the end of each segment between two samples; segments need not meet. Averages are exact for such a signal:
differences of its integral. The integral is summed up sample by sample, so that samples give the same readings to the
last bit however they come, one at a time or all at once.
"""

from __future__ import annotations

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.sim.sensors.inertial.motion import SECOND


class ReadingClock:
    """When the readings of a sensor are due, in simulated time alone."""

    def __init__(self, rate: float, window: float, start: int) -> None:
        """Begin.

        Args:
            rate: readings a second.
            window: seconds.
            start: nanoseconds at which the first reading begins to collect.
        """
        self._rate, self._first, self._taken = rate, start + round(window * SECOND), 0

    def due(self, now: int) -> IntArray:
        """The stamps that have come since the last call.

        Args:
            now: nanoseconds.

        Returns:
            int64 (N,), nanoseconds.
        """
        before = self._taken
        count = max(0, int((now - self._first) * self._rate / SECOND) + 2 - before)
        stamps = self._stamps(np.arange(before, before + count))
        stamps = stamps[stamps <= now]
        self._taken += len(stamps)
        return stamps

    def next_stamp(self) -> int:
        """The stamp of the next reading."""
        return int(self._stamps(np.array([self._taken]))[0])

    def _stamps(self, number: IntArray) -> IntArray:
        stamps: IntArray = self._first + np.rint(number * (SECOND / self._rate)).astype(np.int64)
        return stamps


class WindowAverage:
    """Averages a signal over the window of each reading."""

    def __init__(self, window: float, size: int) -> None:
        """Nothing is known yet.

        Args:
            window: seconds; 0 reads the signal at the stamp.
        """
        self._window = round(window * SECOND)
        self._knot = np.zeros(0, np.int64)
        self._begin, self._end, self._integral = np.zeros((0, size)), np.zeros((0, size)), np.zeros((1, size))

    def add(self, stamp: IntArray, begin: FloatArray, end: FloatArray) -> None:
        """Add segments of the signal.

        Args:
            stamp: int64 (N + 1,), nanoseconds, of their ends; the first is the last one of the segments before.
            begin: float64 (N, D), at the start of each segment.
            end: float64 (N, D), at its end.
        """
        seconds = np.diff(stamp)[:, None] / SECOND
        gained = (begin + end) * (seconds * 0.5)
        integral = np.cumsum(np.concatenate([self._integral[-1:], gained]), axis=0)[1:]
        self._knot = np.concatenate([self._knot, stamp[1:] if len(self._knot) else stamp])
        self._begin, self._end = np.concatenate([self._begin, begin]), np.concatenate([self._end, end])
        self._integral = np.concatenate([self._integral, integral])

    def read(self, stamp: IntArray) -> FloatArray:
        """The readings at stamps that the segments cover.

        Args:
            stamp: int64 (N,), nanoseconds.

        Returns:
            float64 (N, D).
        """
        row, passed, whole = self._find(stamp)
        if not self._window:
            out: FloatArray = self._begin[row] + (self._end[row] - self._begin[row]) * (passed / whole)
            return out
        return (self._integral_at(stamp) - self._integral_at(stamp - self._window)) / (self._window / SECOND)

    def forget(self, stamp: int) -> None:
        """Drop what no reading needs any more.

        Args:
            stamp: nanoseconds, of the next reading.
        """
        needed = int(np.searchsorted(self._knot, stamp - self._window, "left")) - 1
        needed = min(max(needed, 0), max(len(self._begin) - 1, 0))
        self._knot, self._integral = self._knot[needed:], self._integral[needed:]
        self._begin, self._end = self._begin[needed:], self._end[needed:]

    def _integral_at(self, stamp: IntArray) -> FloatArray:
        row, passed, whole = self._find(stamp)
        begin, end = self._begin[row], self._end[row]
        at: FloatArray = self._integral[row] + begin * passed + (end - begin) * (passed * passed / (2 * whole))
        return at

    def _find(self, stamp: IntArray) -> tuple[IntArray, FloatArray, FloatArray]:
        """The segment of each time, seconds since its start, and its length; a knot belongs to the segment before."""
        row = np.maximum(np.searchsorted(self._knot, stamp, "left") - 1, 0)
        passed = (stamp - self._knot[row])[:, None] / SECOND
        return row, passed, (self._knot[row + 1] - self._knot[row])[:, None] / SECOND
