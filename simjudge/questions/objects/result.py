"""The second judge as Python has it: `compare_objects`, and its result that shows itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from simjudge.core.display import Summary, SummaryTable
from simjudge.core.progress import Log, ProgressBar, no_log, no_progress
from simjudge.core.settings import takes_setting_keywords
from simjudge.page.kept_result import KeptResult, ResultKind
from simjudge.page.report_figure import Figures
from simjudge.questions.objects.comparison import ObjectComparison, compare_by_objects
from simjudge.questions.objects.figures import object_figures
from simjudge.questions.objects.inputs import ObjectSource
from simjudge.questions.objects.page import report_objects
from simjudge.questions.objects.pictures import object_pictures
from simjudge.questions.objects.saved import ObjectResult, load_object_result
from simjudge.questions.objects.settings import ObjectSettings
from simjudge.questions.objects.words import fact_lines, headline, lead, objects_table, rest_line
from simjudge.results.result_folder import check_result_folder
from simjudge.terminal.tables import table_text


class ObjectComparisonResult(KeptResult):
    """How a virtual sensor differs from a real one, by the same objects. Printing it gives the command's table.

    Attributes:
        saved: the result as figures and pages read it.
        comparison: what was computed, with the series; None for a result that was read again.
    """

    def __init__(self, saved: ObjectResult, folder: Path | None, comparison: ObjectComparison | None = None) -> None:
        """Wrap a result; `compare_objects` and `load_result` make one."""
        super().__init__(folder, None if comparison is None else self._save_comparison)
        self.saved, self.comparison = saved, comparison

    @property
    def name(self) -> str:
        """The name of the folder, or of both sides."""
        return self.saved.name

    @property
    def content(self) -> Mapping[str, Any]:
        """Everything that objects.json holds (docs/objects.md)."""
        return self.saved.content

    @property
    def rows(self) -> Sequence[Mapping[str, Any]]:
        """The table as numbers: a row each metric and subject, those that differ first."""
        return self.saved.rows

    @property
    def losses(self) -> Sequence[str]:
        """What was left out, one line a kind; empty where nothing was."""
        return list(self.content["losses"])

    @property
    def table(self) -> SummaryTable:
        """The table that the command prints."""
        return objects_table(self.saved)

    @property
    def figures(self) -> Figures:
        """All figures by name, not drawn yet: `figure()` draws one; `savefig` saves it."""
        return object_figures(self.saved)

    @property
    def meaning(self) -> str:
        """The verdict in words."""
        return " ".join([f"{headline(self.saved)}: {lead(self.saved)}", *fact_lines(self.saved)])

    @property
    def rest(self) -> str:
        """How many rows the table leaves out; "" for none."""
        return rest_line(self.saved)

    def __str__(self) -> str:
        """The table that the command prints, and how many rows it leaves out."""
        return "\n".join(filter(None, [table_text(self.table), self.rest]))

    def __repr__(self) -> str:
        """What it is, in a line."""
        return f"ObjectComparisonResult({self.name!r}, {headline(self.saved)})"

    def _repr_html_(self) -> str:
        """The table, for notebooks."""
        return Summary(self.name, type(self).__name__, [self.meaning, self.table, *self.losses]).html()

    def _save_comparison(self, folder: Path) -> None:
        if self.comparison is not None:
            self.comparison.save(folder, object_pictures(self.comparison))


@takes_setting_keywords
def compare_objects(
    real: ObjectSource,
    virtual: ObjectSource,
    out: str | Path | None = None,
    *,
    real_again: ObjectSource | None = None,
    settings: ObjectSettings,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> ObjectComparisonResult:
    """Compare what a real and a virtual sensor say of the same objects, and of the whole signal, over time.

    Args:
        real: the real sensor's recording or set: a FrameSet, a CloudSet, or a path.
        virtual: the virtual sensor's, over the same course at the same stamps.
        out: folder to save the result in; None saves nothing.
        real_again: another real recording of the course: what real differs by from real is the floor. None: the floor
            is what every other frame of the real recording differs by from its neighbours.
        settings: all settings at once; keywords change single ones.
        log: receives lines that a person should read; `print` does.
        progress: opens a progress bar.

    Returns:
        The result. Printing it gives a table; it saves and reports itself.

    Raises:
        UsageError: a setting makes no sense.
        SimjudgeError: a side cannot be read, they have no sensor, no time or no object in common, or `out` cannot be
            written.
    """
    if out is not None and check_result_folder(Path(out)):
        log(f"note: {out} holds an earlier result, which will be replaced")
    found = compare_by_objects(real, virtual, real_again, settings, log=log, progress=progress)
    if out is None:
        return ObjectComparisonResult(ObjectResult(found.name, Path(), found.content()), None, found)
    found.save(Path(out), object_pictures(found))
    return ObjectComparisonResult(load_object_result(Path(out)), Path(out), found)


KIND = ResultKind(
    "one of objects", lambda folder: ObjectComparisonResult(load_object_result(folder), folder), report_objects
)
