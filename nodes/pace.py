"""When each message of a recording is due: the recording's time against the wall's, with rate and pause."""

from __future__ import annotations

import time
from threading import Condition


class Pace:
    """The recording's time as it goes by. All times are nanoseconds; all methods may be called from any thread."""

    def __init__(self, rate: float, *, paused: bool = False) -> None:
        """Stand still until `start`.

        Args:
            rate: seconds of the recording for each second of the wall.
            paused: start paused.
        """
        self._rate, self._paused = rate, paused
        self._there = 0
        self._here = time.monotonic_ns()
        self._changed = Condition()

    def start(self, at: int) -> None:
        """Set the recording's time; it runs from now on unless paused."""
        with self._changed:
            self._there, self._here = at, time.monotonic_ns()
            self._changed.notify_all()

    def now(self) -> int:
        """The recording's time."""
        with self._changed:
            return self._now()

    @property
    def paused(self) -> bool:
        """Whether the recording's time stands still."""
        return self._paused

    def pause(self, *, on: bool) -> None:
        """Stop the recording's time, or let it go on from where it stands."""
        with self._changed:
            self._there, self._here = self._now(), time.monotonic_ns()
            self._paused = on
            self._changed.notify_all()

    def set_rate(self, rate: float) -> None:
        """Go on at another rate."""
        with self._changed:
            self._there, self._here = self._now(), time.monotonic_ns()
            self._rate = rate
            self._changed.notify_all()

    def wait(self, until: int, longest: float) -> bool:
        """Wait for a time of the recording.

        Args:
            until: the time.
            longest: give up after this many seconds of the wall.

        Returns:
            Whether that time is reached.
        """
        end = time.monotonic_ns() + round(longest * 1e9)
        with self._changed:
            while True:
                left = end - time.monotonic_ns()
                if not self._paused:
                    due = round((until - self._now()) / self._rate)
                    if due <= 0:
                        return True
                    left = min(left, due)
                elif left <= 0:
                    return False
                if left <= 0:
                    return False
                self._changed.wait(left / 1e9)

    def _now(self) -> int:
        gone = 0 if self._paused else time.monotonic_ns() - self._here
        return self._there + round(gone * self._rate)
