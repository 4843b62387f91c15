"""What a check of point clouds says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from simjudge.core.display import Summary, SummaryTable
from simjudge.core.errors import Losses

PASS, FAIL, NOT_CHECKED = "pass", "FAIL", "not checked"


@dataclass(frozen=True)
class CheckOutcome:
    """What one check says.

    Attributes:
        figure: what was measured, with its unit; "" where it was not checked.
        note: where it is worst, or why it was not checked; "" for nothing.
    """

    check: str
    verdict: str
    figure: str
    limit: str
    note: str = ""

    @classmethod
    def measured(cls, check: str, figure: str, limit: str, note: str = "", *, good: bool) -> CheckOutcome:
        """An outcome with a figure."""
        return cls(check, PASS if good else FAIL, figure, limit, "" if good else note)

    @classmethod
    def unknown(cls, check: str, limit: str, why: str) -> CheckOutcome:
        """An outcome of a check that cannot be made."""
        return cls(check, NOT_CHECKED, "", limit, why)


@dataclass(frozen=True)
class LidarContract:
    """A lidar's clouds held to what a spinning lidar is. It prints as the table of `simjudge check lidar`.

    Attributes:
        losses: clouds that could not be read.
    """

    name: str
    scans: int
    outcomes: Sequence[CheckOutcome]
    losses: Losses = field(default_factory=Losses)

    @property
    def passed(self) -> bool:
        """Whether no check failed. Checks that cannot be made do not count."""
        return all(each.verdict != FAIL for each in self.outcomes)

    @property
    def failed(self) -> list[str]:
        """The names of the checks that failed."""
        return [each.check for each in self.outcomes if each.verdict == FAIL]

    @property
    def headline(self) -> str:
        """How many checks passed, failed and cannot be made."""
        count = {
            verdict: sum(each.verdict == verdict for each in self.outcomes) for verdict in (PASS, FAIL, NOT_CHECKED)
        }
        scans = f"{self.scans} scan{'s' if self.scans != 1 else ''}"
        return f"{scans}: {count[PASS]} checks passed, {count[FAIL]} failed, {count[NOT_CHECKED]} cannot be made"

    @property
    def table(self) -> SummaryTable:
        """A row a check."""
        rows = [[each.check, each.verdict, each.figure, each.limit, each.note] for each in self.outcomes]
        return SummaryTable(["check", "verdict", "measured", "limit", "note"], rows, text_columns=5)

    def summary(self) -> Summary:
        """What it says, for a person to read."""
        return Summary(self.name, self.headline, [self.table, *self.losses.lines()])

    def __str__(self) -> str:
        """The table."""
        return self.summary().text()

    def _repr_html_(self) -> str:
        """The same for notebooks."""
        return self.summary().html()
