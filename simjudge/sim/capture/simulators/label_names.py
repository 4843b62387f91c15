"""What a simulator's numbers mean, as it says itself beside its pictures: JSON in std_msgs/String."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from simjudge.core.errors import Losses

_STAMP = "time_stamp"
"""Isaac Sim's key of the stamp; the message has no header."""


@dataclass
class LabelNames:
    """Tables of names, one a message; the numbers may mean something else in each.

    Attributes:
        times: when each table was received, nanoseconds, rising.
    """

    times: list[int] = field(default_factory=list)
    tables: list[dict[int, str]] = field(default_factory=list)
    by_stamp: dict[int, int] = field(default_factory=dict)

    def add(self, text: str, time: int, where: str, losses: Losses) -> None:
        """Take in a message.

        Args:
            time: when it was received, nanoseconds.
        """
        try:
            content = json.loads(text)
            table = {int(key): _name(value) for key, value in content.items() if key != _STAMP}
            stamp = _stamp(content.get(_STAMP))
        except (ValueError, AttributeError, TypeError, KeyError, RecursionError):
            losses.add("messages of names that are no JSON table of numbers", where)
            return
        if stamp is not None:
            self.by_stamp[stamp] = len(self.tables)
        self.times.append(time)
        self.tables.append(table)

    def forget(self, kept: int) -> None:
        """Drop all tables but the newest."""
        gone = len(self.tables) - kept
        if gone > 0:
            del self.times[:gone], self.tables[:gone]
            self.by_stamp = {stamp: index - gone for stamp, index in self.by_stamp.items() if index >= gone}

    def at(self, stamp: int, time: int) -> Mapping[int, str] | None:
        """Find the table for a message.

        Args:
            stamp: of the message, nanoseconds.
            time: when it was received, nanoseconds.

        Returns:
            The table of the same stamp, else the last one received before the message, else the first one; None
            without any.
        """
        if stamp in self.by_stamp:
            return self.tables[self.by_stamp[stamp]]
        if not self.tables:
            return None
        return self.tables[max(bisect_right(self.times, time) - 1, 0)]


def _name(value: Any) -> str:
    """A class: Isaac Sim has {"class": "cone,large"} (several where a thing has several), or the path of a prim."""
    if isinstance(value, Mapping):
        return str(value["class"]).split(",", maxsplit=1)[0]
    return str(value)


def _stamp(value: Any) -> int | None:
    return None if value is None else int(value["sec"]) * 1_000_000_000 + int(value["nanosec"])
