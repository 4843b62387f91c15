"""Messages that publishers sent and that did not come: gaps in the numbers that the middleware gives them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class MessageGaps:
    """Follows the numbers of the messages of one topic. Before the first message of a publisher nothing is missing."""

    def __init__(self, publisher_count: Callable[[], int]) -> None:
        """Start with nothing.

        Args:
            publisher_count: says how many publishers the topic has; asked where a message does not name its publisher.
        """
        self._publisher_count = publisher_count
        # By publisher: the number of its newest message, and when it was sent.
        self._last: dict[bytes | None, tuple[int, int]] = {}

    def missing_before(self, info: Any) -> int:
        """How many messages are missing between the last one of a publisher and this one.

        Returns:
            The number, 0 where it is not known; negative: the message has come before.
        """
        number, publisher = info.get("publication_sequence_number"), info.get("publisher_gid")
        # Before Kilted rclpy does not tell publishers apart.
        if number is None or (publisher is None and self._publisher_count() != 1):
            return 0
        who, sent = publisher and bytes(publisher["data"]), info.get("source_timestamp", 0)
        last, last_sent = self._last.get(who, (number - 1, sent))
        if number <= last and sent > last_sent:
            # Another publisher, which has taken the place of the last one: a driver was started again.
            last = number - 1
        missing: int = number - last - 1
        if missing >= 0:
            self._last[who] = number, sent
        return missing
