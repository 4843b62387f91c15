"""What a coverage search says: the overlap before and after, and what stays uncovered, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import Losses
from simjudge.core.version import version
from simjudge.questions.cover.newly_covered import NewlyCovered
from simjudge.questions.cover.unreachable import REASONS
from simjudge.results.saved_result import write_json, write_rows

COVER, CURVE, UNCOVERED = "cover.json", "curve.csv", "uncovered.csv"
"""Names of the files in the folder of a coverage search."""


@dataclass(frozen=True, repr=False, eq=False)
class CoverageCurve(ShortRepr):
    """Shares of A's contexts after 0, 1, ... pictures.

    Attributes:
        overlap: float64 (N + 1,), O_A: those in the overlap of Algorithm 1.
        resembled: float64 (N + 1,), those that a context of the simulation resembles directly.
    """

    overlap: FloatArray
    resembled: FloatArray


@dataclass(frozen=True)
class UncoveredContext:
    """A context that no picture resembles."""

    row: int
    frame: str
    class_name: str
    reason: str


@dataclass(frozen=True, repr=False, eq=False)
class CoverResult(ShortRepr):
    """What to simulate next.

    Attributes:
        names: of A and of B; None where there is no B.
        contexts: labelled objects of A.
        wanted: those that B does not resemble.
        curve: measured on the labels of the rendered pictures.
        random: the same for random pictures, by the labels that they would have.
        pictures: path of the rendered set; None where none was rendered.
        same_labels: rendered pictures whose labels are exactly those that were predicted.
        uncovered: contexts that stay uncovered.
        candidates: pictures whose labels were looked at.
        parameters: settings and inputs.
        losses: what was left out.
        newly_covered: W1 on the newly covered contexts; None where no detector was given, or no picture rendered.
    """

    names: tuple[str, str | None]
    contexts: int
    wanted: int
    curve: CoverageCurve
    random: CoverageCurve
    pictures: Path | None
    same_labels: int
    uncovered: tuple[UncoveredContext, ...]
    candidates: int
    parameters: dict[str, Any] = field(default_factory=dict)
    losses: Losses = field(default_factory=Losses)
    newly_covered: NewlyCovered | None = None

    @property
    def count(self) -> int:
        """The number of new pictures."""
        return len(self.curve.overlap) - 1

    def reasons(self) -> dict[str, int]:
        """How many contexts stay uncovered for each reason, in the order of REASONS; none that is 0."""
        counts = Counter(each.reason for each in self.uncovered)
        return {reason: counts[reason] for reason in REASONS if counts[reason]}

    def content(self) -> dict[str, Any]:
        """The content of cover.json (docs/cover.md)."""
        return {
            "version": version(),
            "a": self.names[0],
            "b": self.names[1],
            "contexts": self.contexts,
            "wanted": self.wanted,
            "pictures": self.count,
            "path": None if self.pictures is None else str(self.pictures),
            "overlap_before": float(self.curve.overlap[0]),
            "overlap_after": float(self.curve.overlap[-1]),
            "overlap_random": float(self.random.overlap[-1]),
            "resembled_before": float(self.curve.resembled[0]),
            "resembled_after": float(self.curve.resembled[-1]),
            "resembled_random": float(self.random.resembled[-1]),
            "random_pictures": len(self.random.overlap) - 1,
            "same_labels": self.same_labels,
            "candidates": self.candidates,
            "uncovered": self.reasons(),
            "newly_covered": None if self.newly_covered is None else self.newly_covered.content(),
            "parameters": self.parameters,
            "losses": self.losses.lines(),
        }

    def save(self, folder: Path) -> None:
        """Write cover.json, curve.csv and uncovered.csv.

        Args:
            folder: where; it exists.

        Raises:
            SimjudgeError: a file cannot be written.
        """
        write_json(folder / COVER, self.content())
        write_rows(folder / CURVE, curve_rows(self.curve, self.random))
        write_rows(folder / UNCOVERED, [vars(each) for each in self.uncovered])


def curve_rows(curve: CoverageCurve, random: CoverageCurve) -> list[dict[str, Any]]:
    """The rows of curve.csv: O_A and the share resembled by number of pictures, chosen and random."""
    columns = {"overlap": curve.overlap, "resembled": curve.resembled, "random_overlap": random.overlap,
               "random_resembled": random.resembled}  # fmt: skip
    return [
        {"pictures": k} | {name: round(float(values[k]), 6) if k < len(values) else "" for name, values in
                           columns.items()}
        for k in range(max(map(len, columns.values())))
    ]  # fmt: skip


def uncovered_rows(rows: IntArray, reasons: Sequence[str], frames: Any) -> tuple[UncoveredContext, ...]:
    """The contexts that stay uncovered.

    Args:
        rows: (N,) rows of the objects of a set.
    """
    frame = np.asarray(frames.objects.frame)[rows]
    return tuple(
        UncoveredContext(row, frames.frame_name[index], frames.class_name(int(frames.objects.class_id[row])), reason)
        for row, index, reason in zip(rows.tolist(), frame.tolist(), reasons, strict=True)
    )
