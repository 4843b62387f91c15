"""Playing a recording: the order of its messages, and a clock that says when each is due."""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterable, Iterator
from threading import Condition

from simjudge.data.rosbag2.storage import StoredMessage

REORDER_WINDOW_NS = 1_000_000_000  # Nanoseconds within which messages of a recording are sorted by time


class PlaybackClock:
    """The playback time of a recording, driven by the monotonic clock. All methods may be called from any thread."""

    def __init__(self, rate: float, *, paused: bool = False) -> None:
        self._rate, self._paused = rate, paused
        # The playback time `_playback_ns` was reached at the monotonic time `_monotonic_ns`.
        self._playback_ns = 0
        self._monotonic_ns = time.monotonic_ns()
        self._changed = Condition()

    def start(self, time_ns: int) -> None:
        """Set the playback time; it runs on from there unless paused (time_ns: the new playback time, nanoseconds)."""
        with self._changed:
            self._playback_ns, self._monotonic_ns = time_ns, time.monotonic_ns()
            self._changed.notify_all()

    def now(self) -> int:
        """The playback time, nanoseconds."""
        with self._changed:
            return self._now()

    @property
    def paused(self) -> bool:
        """Whether the playback time stands still."""
        return self._paused

    def pause(self, *, on: bool) -> None:
        """Stop the playback time, or let it run on."""
        with self._changed:
            self._playback_ns, self._monotonic_ns = self._now(), time.monotonic_ns()
            self._paused = on
            self._changed.notify_all()

    def set_rate(self, rate: float) -> None:
        """Change the rate from now on (rate: seconds of the recording for each second of real time)."""
        with self._changed:
            self._playback_ns, self._monotonic_ns = self._now(), time.monotonic_ns()
            self._rate = rate
            self._changed.notify_all()

    def wait(self, until_ns: int, timeout: float) -> bool:
        """Wait for a playback time (nanoseconds), `timeout` seconds of real time at most."""
        end = time.monotonic_ns() + round(timeout * 1e9)
        with self._changed:
            while True:
                left = end - time.monotonic_ns()
                if not self._paused:
                    due = round((until_ns - self._now()) / self._rate)
                    if due <= 0:
                        return True
                    left = min(left, due)
                elif left <= 0:
                    return False
                if left <= 0:
                    return False
                self._changed.wait(left / 1e9)

    def _now(self) -> int:
        elapsed = 0 if self._paused else time.monotonic_ns() - self._monotonic_ns
        return self._playback_ns + round(elapsed * self._rate)


def sort_by_time(messages: Iterable[StoredMessage], window_ns: int = REORDER_WINDOW_NS) -> Iterator[StoredMessage]:
    """Sort messages by their recording time, with bounded memory: out of order by `window_ns` at most."""
    waiting: list[tuple[int, int, StoredMessage]] = []
    for number, message in enumerate(messages):
        heapq.heappush(waiting, (message.time, number, message))
        while waiting[0][0] < message.time - window_ns:
            yield heapq.heappop(waiting)[2]
    while waiting:
        yield heapq.heappop(waiting)[2]
