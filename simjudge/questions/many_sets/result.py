"""A comparison of many sets as Python has it: read again, it draws, saves and reports itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from simjudge.core.display import Summary, SummaryTable
from simjudge.page.figures import Figures
from simjudge.page.kept_result import KeptResult, ResultKind
from simjudge.page.number_format import format_number
from simjudge.questions.many_sets.figures import set_figures
from simjudge.questions.many_sets.page import report_sets
from simjudge.questions.many_sets.saved import ManySetsResult, load_many_sets
from simjudge.questions.many_sets.tables import KindRow, kind_rows, kind_sentences
from simjudge.terminal.common import table_text

_COLUMNS = ("net", "class", "kind", "comparisons", "gap", "W1 least", "mean", "most", "noise", "O_A", "gaps")


class SetsComparisonResult(KeptResult):
    """How well each of many sets predicts each other one. Printing it gives the table by kind of pair.

    Attributes:
        saved: the result as figures and pages read it.
    """

    def __init__(self, saved: ManySetsResult, folder: Path) -> None:
        """Wrap a result; `load_result` makes one."""
        super().__init__(folder, None)
        self.saved, self._place = saved, folder

    @property
    def name(self) -> str:
        """The name of the folder."""
        return self._place.resolve().name

    @property
    def rows(self) -> list[KindRow]:
        """Least, mean and most by net, class and kind of pair."""
        return kind_rows(self.saved)

    @property
    def losses(self) -> Sequence[str]:
        """What was left out, one line a kind; empty where nothing was."""
        return self.saved.losses

    @property
    def meaning(self) -> str:
        """What each net's numbers show."""
        return " ".join(kind_sentences(self.saved))

    @property
    def table(self) -> SummaryTable:
        """Least, mean and most by net, class and kind of pair."""
        return SummaryTable(_COLUMNS, [_cells(row) for row in self.rows], text_columns=3)

    @property
    def figures(self) -> Figures:
        """All figures by name, not drawn yet: `result.figures["bars"]()` draws one; `savefig` saves it."""
        return set_figures(self.saved)

    def __str__(self) -> str:
        """The table by kind of pair."""
        return table_text(self.table)

    def __repr__(self) -> str:
        """What it is, in a line."""
        return f"SetsComparisonResult({self.name!r}, {len(self.saved.comparisons)} comparisons)"

    def _repr_html_(self) -> str:
        """The table, for notebooks."""
        return Summary(self.name, type(self).__name__, [self.meaning, self.table, *self.losses]).html()


def _cells(row: KindRow) -> list[str]:
    w1, overlap = row.w1 or (None, None, None), row.overlap or (None, None, None)
    gap = None if row.gap is None else row.gap[1]
    numbers = [format_number(value) for value in (gap, *w1, row.noise)]
    gaps = f"{row.gaps} of {row.comparisons}"
    return [row.net, row.label, row.kind, str(row.comparisons), *numbers, format_number(overlap[1], 2), gaps]


KIND = ResultKind("one of many sets", lambda folder: SetsComparisonResult(load_many_sets(folder), folder), report_sets)
