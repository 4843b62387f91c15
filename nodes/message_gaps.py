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
        self._last: dict[bytes | None, int] = {}

    def missing_before(self, info: Any) -> int:
        """How many messages are missing between the last one of a publisher and this one.

        Args:
            info: of the message, as rclpy hands it to a callback.

        Returns:
            The number, 0 where it is not known; negative: the message has come before.
        """
        number, publisher = info.get("publication_sequence_number"), info.get("publisher_gid")
        # Before Kilted rclpy does not tell publishers apart.
        if number is None or (publisher is None and self._publisher_count() != 1):
            return 0
        who = publisher and bytes(publisher["data"])
        missing: int = number - self._last.get(who, number - 1) - 1
        if missing >= 0:
            self._last[who] = number
        return missing
