"""A bounded queue of image messages, between the thread that receives them and the thread that works on them."""

from __future__ import annotations

from collections import deque
from threading import Condition
from typing import Any, NamedTuple


class QueuedImage(NamedTuple):
    """An image message in the queue."""

    message: Any  # the message; its `data` are the image's bytes
    arrived: float  # when it was received, seconds of `time.monotonic`


class ImageQueue:
    """A queue that keeps either the newest image only, or every image while there is memory for it."""

    def __init__(self, capacity_bytes: int | None) -> None:
        """Create an empty queue."""
        self._capacity_bytes = capacity_bytes
        self._bytes = 0
        self._items: deque[QueuedImage] = deque()
        self._change = Condition()
        self._closed = False

    def __len__(self) -> int:
        """The number of images that wait."""
        return len(self._items)

    @property
    def megabytes(self) -> float:
        """The memory of the images that wait, MB."""
        return self._bytes / 1e6

    def has_room(self) -> bool:
        """Whether an image may be put: always where only the newest is kept, else while the memory is not used up."""
        return self._capacity_bytes is None or self._bytes < self._capacity_bytes

    def put(self, item: QueuedImage) -> int:
        """Add an image."""
        with self._change:
            replaced = 0
            if self._capacity_bytes is None:
                replaced = len(self._items)
                self._items.clear()
                self._bytes = 0
            self._items.append(item)
            self._bytes += len(item.message.data)
            self._change.notify()
            return replaced

    def take(self) -> QueuedImage | None:
        """Wait for an image and remove it from the queue."""
        with self._change:
            self._change.wait_for(lambda: self._items or self._closed)
            if not self._items:
                return None
            item = self._items.popleft()
            self._bytes -= len(item.message.data)
            return item

    def close(self) -> None:
        """Announce that no more images come; images that wait can still be taken."""
        with self._change:
            self._closed = True
            self._change.notify_all()

    def clear(self) -> list[QueuedImage]:
        """Remove all images that wait."""
        with self._change:
            removed = list(self._items)
            self._items.clear()
            self._bytes = 0
            return removed
