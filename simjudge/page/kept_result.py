"""What every result can do: be reported as a page, and be saved as a folder."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from simjudge.core.arrays import Summary, SummaryTable
from simjudge.core.errors import Log, no_log
from simjudge.core.settings import takes_setting_keywords
from simjudge.core.text import JsonMapping
from simjudge.page.report_settings import DEFAULT_OUT, Report, ReportSettings
from simjudge.results.saved_result import atomic_result
from simjudge.terminal.common import table_text

if TYPE_CHECKING:
    from simjudge.page.figures import Figures
    from simjudge.page.kit import ResultPage


class KeptResult(ABC):
    """A result in a folder, or one that was just computed.

    Attributes:
        folder: where it lies; None for one that was not saved.
    """

    def __init__(self, folder: Path | None, write: Callable[[Path], None] | None) -> None:
        """Keep a result.

        Args:
            folder: where it lies; None for one that was not saved.
            write: writes what was computed as a result folder; None for a result that was read again.
        """
        self.folder, self._write_fresh = folder, write

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the folder, or of what was compared."""

    @property
    @abstractmethod
    def figures(self) -> Figures:
        """All figures by name, not drawn yet: `result.figures["overview"]()` draws one; `savefig` saves it."""

    def save_figures(self, folder: str | Path) -> list[Path]:
        """Save every figure as SVG, PDF and PNG, and the numbers that it shows as CSV.

        Args:
            folder: where; made if it does not exist, files of the same names are replaced.

        Returns:
            The files that were written. What has no data has no file.

        Raises:
            SimjudgeError: a file cannot be written.
        """
        from simjudge.page.figures import save_drawn  # noqa: PLC0415 - matplotlib is slow to import

        return save_drawn(self.figures, Path(folder))

    @takes_setting_keywords
    def report(self, out: str | Path | None = None, *, settings: ReportSettings) -> Report:
        """Write the report: one self-contained HTML page.

        Args:
            out: the page; an earlier page there is replaced. None for the default name.
            settings: all settings at once; keywords change single ones.

        Returns:
            The report.

        Raises:
            SimjudgeError: something cannot be written.
        """
        place = Path(DEFAULT_OUT[settings.to] if out is None else out)
        if self.folder is not None:
            return self._report(self.folder, place, settings)
        with TemporaryDirectory() as temporary:
            folder = Path(temporary) / self.name.replace("/", "_")
            self._write(folder)
            return self._report(folder, place, settings)

    @abstractmethod
    def _report(self, folder: Path, out: Path, settings: ReportSettings) -> Report:
        """Write the report of a folder that holds this result."""

    def save(self, folder: str | Path) -> None:
        """Write the result folder; `load_result` reads it again.

        Args:
            folder: an earlier result there is replaced.

        Raises:
            SimjudgeError: the folder holds something that no result has, or cannot be written.
        """
        self._write(Path(folder))
        self.folder = Path(folder)

    def _write(self, folder: Path) -> None:
        if self._write_fresh is not None:
            self._write_fresh(folder)
        elif self.folder is not None and self.folder.resolve() != folder.resolve():
            with atomic_result(folder) as temporary:
                shutil.copytree(self.folder, temporary, dirs_exist_ok=True)


class SavedContent(Protocol):
    """What a result folder holds: its name, and the content of its JSON file."""

    @property
    def name(self) -> str:
        """The name of the folder, or of what was compared."""

    @property
    def content(self) -> JsonMapping:
        """What the file holds."""


Saved = TypeVar("Saved", bound=SavedContent)


class TabledResult(KeptResult, Generic[Saved]):
    """A result with a table and a verdict in words. Printing it gives the command's table.

    Attributes:
        saved: the result as figures and pages read it.
    """

    saved: Saved
    page: ClassVar[ResultPage[Any]]
    """How results of the kind are shown."""

    @property
    def name(self) -> str:
        """The name of the folder, or of what was compared."""
        return self.saved.name

    @property
    def content(self) -> JsonMapping:
        """Everything that the result's JSON file holds."""
        return self.saved.content

    @property
    def losses(self) -> Sequence[str]:
        """What was left out, one line a kind; empty where nothing was."""
        return list(self.content["losses"])

    @property
    @abstractmethod
    def table(self) -> SummaryTable:
        """The table that the command prints."""

    @property
    def lines(self) -> list[str]:
        """The verdict and what it rests on, a sentence or two each."""
        return self.page.sentences(self.saved)

    @property
    def meaning(self) -> str:
        """The verdict in words."""
        return " ".join(self.lines)

    @property
    def figures(self) -> Figures:
        """All figures by name, not drawn yet: `figure()` draws one; `savefig` saves it."""
        return self.page.figures(self.saved)

    def _report(self, folder: Path, out: Path, settings: ReportSettings) -> Report:
        return self.page.report(folder, out, settings, no_log)

    def __str__(self) -> str:
        """The table that the command prints."""
        return table_text(self.table)

    def _repr_html_(self) -> str:
        """The table, for notebooks."""
        return Summary(self.name, type(self).__name__, [self.meaning, self.table, *self.losses]).html()


@dataclass(frozen=True)
class ResultKind:
    """A kind of result folder."""

    noun: str  # what a folder of it is called, as in "one of objects"
    load: Callable[[Path], object]  # reads a folder, as a KeptResult
    report: Callable[[Path, Path, ReportSettings, Log], Report]  # writes the page of a folder
