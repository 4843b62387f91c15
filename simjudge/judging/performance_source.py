"""Where a performance of one's own comes from, as settings say it: a table, a column, or a function; and its range."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from simjudge.core.errors import UsageError

TABLES = (".csv", ".parquet")
"""Endings of the tables that are read."""
_LOWER = "lower"
METAVAR = "FILE|COLUMN[:low:high][:lower]"

PerformanceFunction: TypeAlias = Callable[..., float]
"""From a `JudgedObject` and the `PredictedObject`s of its frame (any class, score of min_score or more) to a number."""


@dataclass(frozen=True)
class OwnPerformance:
    """What gives every object, patch or frame its number, and the range of that number.

    Attributes:
        source: path of a table (.csv, .parquet); name of a column of the tables beside both sets, or of their labels
            (distance, visible); or a function of a `JudgedObject` and the predictions of its frame.
        low: its lowest value; None to find the range in both sets.
        high: its highest value; None to find it.
        lower: whether a lower number is better.
        column: the column of a table that has several.
        name: what to call it; "" for the name of the column or function.
    """

    source: str | Path | PerformanceFunction
    low: float | None = None
    high: float | None = None
    lower: bool = False
    column: str = ""
    name: str = ""

    def __post_init__(self) -> None:
        """Check the range."""
        if (self.low is None) != (self.high is None):
            raise UsageError("performance: give both ends of its range, or neither")
        if self.low is not None and self.high is not None and not -math.inf < self.low < self.high < math.inf:
            raise UsageError(f"performance: its range {self.low:g} to {self.high:g} does not go up")

    @property
    def function(self) -> PerformanceFunction | None:
        """The function; None for a table or column."""
        return None if isinstance(self.source, str | Path) else self.source

    @property
    def path(self) -> Path | None:
        """The table; None for a function, or for a column of the tables beside both sets."""
        if self.function is not None or Path(str(self.source)).suffix.lower() not in TABLES:
            return None
        return Path(str(self.source))

    def text(self) -> str:
        """The option's text."""
        source = str(self.source) if self.function is None else self.called
        parts = [source, *([self.column] if self.column else [])]
        parts += [] if self.low is None or self.high is None else [f"{self.low:g}", f"{self.high:g}"]
        return ":".join([*parts, *([_LOWER] if self.lower else [])])

    @property
    def called(self) -> str:
        """What it is called: the name given, else that of the column or function."""
        if self.name or self.function is not None:
            return self.name or str(getattr(self.function, "__name__", "performance"))
        return self.column or ("" if self.path is not None else str(self.source))


def parse_performance(given: Any) -> OwnPerformance:
    """Read the setting: text as of the command line, a path, a function, or what it is already."""
    if isinstance(given, OwnPerformance):
        return given
    if not isinstance(given, str):
        if isinstance(given, Path) or callable(given):
            return OwnPerformance(given)
        raise UsageError(f"performance {given!r}: give a table, a column, a function or an OwnPerformance")
    parts = given.split(":")
    lower = len(parts) > 1 and parts[-1] == _LOWER
    parts = parts[:-1] if lower else parts
    low = high = None
    if len(parts) > 2:
        try:
            low, high = float(parts[-2]), float(parts[-1])
            parts = parts[:-2]
        except ValueError:
            pass
    source, column = parts[0], ":".join(parts[1:])
    if not source or (column and Path(source).suffix.lower() not in TABLES):
        raise UsageError(f"performance {given!r}: write {METAVAR}; a file with several columns is FILE:COLUMN")
    return OwnPerformance(source, low, high, lower, column)
