"""What the clouds of a lidar hold: points, fields, rate, rings, times, and what of them cannot be used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from simjudge.core.display import SummaryTable
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.stamps import NO_STAMP
from simjudge.data.clouds.cloud_set import Table
from simjudge.data.clouds.lidar_points import LATE_POINTS, late_points, lidar_points

_COLUMNS = ["clouds of", "fields", "clouds", "rate", "points", "no return", "rings", "times"]
_LATE = "clouds whose stamp is not later than the one before"


class CloudSummary:
    """Takes the clouds of one lidar one by one."""

    def __init__(self, name: str, losses: Losses) -> None:
        """Begin without clouds."""
        self.name, self._losses = name, losses
        self._fields: list[str] = []
        self._stamps: list[int] = []
        self._points: list[int] = []
        self._empty: list[int] = []
        self._spans: list[float] = []
        self._rings: set[int] = set()
        self._troubles: dict[str, int] = {}
        self._unordered = 0

    def add(self, table: Table, stamp: int, where: str) -> None:
        """Take in a cloud; one that has no coordinates is counted.

        Args:
            stamp: nanoseconds, NO_STAMP where it has none.
        """
        try:
            points = lidar_points(table, where)
        except SimjudgeError as error:
            self._losses.add("clouds that cannot be used", str(error))
            return
        if stamp != NO_STAMP:
            if self._stamps and stamp <= self._stamps[-1] and (stamp or self._stamps[-1]):
                self._losses.add(_LATE, where)
            self._stamps.append(stamp)
        fields = ", ".join(_field(table.dtype, name) for name in table.dtype.names or ())
        if fields not in self._fields:
            self._fields.append(fields)
        self._points.append(len(table))
        self._empty.append(points.empty)
        if points.ring is not None:
            self._rings.update(np.unique(points.ring).tolist())
        if points.time is None:
            if len(points):
                self._troubles[points.time_trouble] = self._troubles.get(points.time_trouble, 0) + 1
            return
        self._spans.append(float(points.time.max()))
        if points.ring is not None:
            self._unordered += int(late_points(points.ring, points.time).sum())

    def row(self) -> list[str]:
        """The cells of a table with the columns of `cloud_table`."""
        number = len(self._points)
        if not number:
            return [self.name, "-", "0", *["-"] * 5]
        total = max(sum(self._points), 1)
        return [
            self.name, "; or ".join(self._fields), str(number), self._rate(), f"{np.median(self._points):.0f}",
            f"{100 * sum(self._empty) / total:.3g} %", str(len(self._rings) or "-"),
            f"{1e3 * float(np.median(self._spans)):.4g} ms" if self._spans else "-",
        ]  # fmt: skip

    def notes(self) -> list[str]:
        """What a person should know of the times, a line each."""
        number = len(self._points)
        lines = [
            f"{self.name}: times cannot be used in {count} of {number} clouds: {trouble}"
            for trouble, count in self._troubles.items()
        ]
        if len(self._stamps) > 1 and not any(self._stamps):
            lines.append(f"{self.name}: no stamps in its headers; the time of recording stands for them")
        if self._unordered:
            lines.append(f"{self.name}: {self._unordered} {LATE_POINTS}")
        return lines

    def _rate(self) -> str:
        steps = np.diff(np.array(self._stamps, np.int64))
        steps = steps[steps > 0]
        return f"{1e9 / float(np.median(steps)):.3g} Hz" if len(steps) else "-"


def cloud_table(summaries: Iterable[CloudSummary]) -> tuple[SummaryTable, list[str]]:
    """Lay out what the lidars of one source hold.

    Returns:
        A table with medians over the clouds ("times" is the time from the first to the last point), and notes.
    """
    each = list(summaries)
    rows: list[Sequence[str]] = [summary.row() for summary in each]
    return SummaryTable(_COLUMNS, rows, text_columns=2), [line for summary in each for line in summary.notes()]


def _field(layout: np.dtype[np.void], name: str) -> str:
    """A field's name; with its type where it is not float32, and how many numbers it has."""
    kind = layout.fields[name][0]  # type: ignore[index]
    count = f"[{kind.shape[0]}]" if kind.shape else ""
    return f"{name}{count}" if kind.base == np.float32 else f"{name}{count} {kind.base}"
