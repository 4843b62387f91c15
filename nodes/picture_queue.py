"""Pictures on their way from the thread that receives them to the one that works on them."""

from __future__ import annotations

from collections import deque
from threading import Condition
from typing import Any, NamedTuple


class Waiting(NamedTuple):
    """A picture's message, and when it came (time.monotonic, seconds)."""

    message: Any
    arrived: float


class PictureQueue:
    """A queue that keeps either the newest picture only, or every picture while there is memory for it."""

    def __init__(self, room: int | None) -> None:
        """Start empty.

        Args:
            room: bytes of pictures that may wait; None to keep the newest picture only.
        """
        self._room = room
        self._bytes = 0
        self._items: deque[Waiting] = deque()
        self._change = Condition()
        self._closed = False

    def __len__(self) -> int:
        """The number of pictures that wait."""
        return len(self._items)

    @property
    def megabytes(self) -> float:
        """The memory of the pictures that wait, MB."""
        return self._bytes / 1e6

    def has_room(self) -> bool:
        """Whether a picture may be put: always where only the newest is kept, else while the memory is not used up."""
        return self._room is None or self._bytes < self._room

    def put(self, item: Waiting) -> int:
        """Add a picture; returns how many it pushed out because they are older."""
        with self._change:
            pushed = 0
            if self._room is None:
                pushed = len(self._items)
                self._items.clear()
                self._bytes = 0
            self._items.append(item)
            self._bytes += len(item.message.data)
            self._change.notify()
            return pushed

    def take(self) -> Waiting | None:
        """The picture that waits longest, once there is one; None where the queue is closed and empty."""
        with self._change:
            self._change.wait_for(lambda: self._items or self._closed)
            if not self._items:
                return None
            item = self._items.popleft()
            self._bytes -= len(item.message.data)
            return item

    def close(self) -> None:
        """Take nothing more; what waits can still be taken."""
        with self._change:
            self._closed = True
            self._change.notify_all()

    def clear(self) -> list[Waiting]:
        """Remove what waits."""
        with self._change:
            left = list(self._items)
            self._items.clear()
            self._bytes = 0
            return left
