"""The comparison of drives as Python has it: `compare_drives`, and its result that shows itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from simjudge.core.display import Summary, SummaryTable
from simjudge.core.progress import Log, no_log
from simjudge.core.settings import takes_setting_keywords
from simjudge.page.kept_result import KeptResult, ResultKind
from simjudge.page.report_figure import Figures
from simjudge.questions.drives.comparison import DriveComparison, DriveSource, compare_drive_sets
from simjudge.questions.drives.figures import drive_figures
from simjudge.questions.drives.page import report_drives
from simjudge.questions.drives.saved import SavedDrives, load_drive_result
from simjudge.questions.drives.settings import DriveComparisonSettings
from simjudge.questions.drives.words import drives_table, headline, lead, metric_sentence
from simjudge.results.result_folder import check_result_folder
from simjudge.terminal.tables import table_text


class DriveComparisonResult(KeptResult):
    """How simulated drives differ from real ones. Printing it gives the command's table.

    Attributes:
        saved: the result as figures and pages read it.
    """

    def __init__(self, saved: SavedDrives, folder: Path | None, comparison: DriveComparison | None = None) -> None:
        """Wrap a result; `compare_drives` and `load_result` make one."""
        super().__init__(folder, None if comparison is None else comparison.save)
        self.saved = saved

    @property
    def name(self) -> str:
        """The name of the folder, or of both sides."""
        return self.saved.name

    @property
    def content(self) -> Mapping[str, Any]:
        """Everything that drives.json holds (docs/drives.md)."""
        return self.saved.content

    @property
    def metrics(self) -> Sequence[Mapping[str, Any]]:
        """The table as numbers: a row each metric."""
        return self.saved.metrics

    @property
    def losses(self) -> Sequence[str]:
        """What was left out, one line a kind; empty where nothing was."""
        return list(self.content["losses"])

    @property
    def table(self) -> SummaryTable:
        """The table that the command prints."""
        return drives_table(self.saved)

    @property
    def figures(self) -> Figures:
        """All figures by name, not drawn yet: `figure()` draws one; `savefig` saves it."""
        return drive_figures(self.saved)

    @property
    def meaning(self) -> str:
        """The verdict in words."""
        return " ".join([f"{headline(self.saved)}: {lead(self.saved)}", *map(metric_sentence, self.metrics)])

    def __str__(self) -> str:
        """The table that the command prints."""
        return table_text(self.table)

    def __repr__(self) -> str:
        """What it is, in a line."""
        return f"DriveComparisonResult({self.name!r}, {headline(self.saved)})"

    def _repr_html_(self) -> str:
        """The table, for notebooks."""
        return Summary(self.name, type(self).__name__, [self.meaning, self.table, *self.losses]).html()


@takes_setting_keywords
def compare_drives(
    real: Sequence[DriveSource],
    sim: Sequence[DriveSource],
    out: str | Path | None = None,
    *,
    settings: DriveComparisonSettings,
    log: Log = no_log,
) -> DriveComparisonResult:
    """Compare simulated drives with real ones of the same course.

    Args:
        real, sim: recordings with odometry, CSV files (time, x, y, yaw, speed, steering, throttle), or drives that were
            read; at least one each, six or more for an answer that holds for drives.
        out: folder to save the result in; None saves nothing.
        settings: all settings at once; keywords change single ones.
        log: receives lines that a person should read; `print` does.

    Returns:
        The result. Printing it gives a table; it saves and reports itself.

    Raises:
        UsageError: a setting makes no sense.
        SimjudgeError: a drive cannot be read, none passes a stretch in full, or `out` cannot be written.
    """
    if out is not None and check_result_folder(Path(out)):
        log(f"note: {out} holds an earlier result, which will be replaced")
    found = compare_drive_sets(real, sim, settings)
    for note in found.notes:
        log(f"note: {note}")
    if out is not None:
        found.save(Path(out))
        return DriveComparisonResult(load_drive_result(Path(out)), Path(out), found)
    return DriveComparisonResult(SavedDrives.of_content(found.name, found.content(), found.tables()), None, found)


KIND = ResultKind(
    "one of compare-drives", lambda folder: DriveComparisonResult(load_drive_result(folder), folder), report_drives
)
