"""Comparisons of runs metric by metric: what drives, localizations and trackers have in common.

A question says what is its own by a `MetricQuestion`; result folders, their words and the result in Python come from
here, and the parts of their pages from `simjudge.judging.metric_page`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from simjudge.core.arrays import FloatArray, ShortRepr, SummaryTable
from simjudge.core.errors import Log, Losses, SimjudgeError
from simjudge.core.installed import version
from simjudge.core.settings import Settings, declared
from simjudge.core.text import JsonMapping
from simjudge.method.verdicts import FEWEST_UNITS, Scope, Verdict
from simjudge.page.kept_result import ResultKind, TabledResult
from simjudge.results.context_table import read_columns, write_columns
from simjudge.results.metric_rows import COLUMNS, MetricFields, MetricWords, table_row, verdict_words, worst_of_metrics
from simjudge.results.result_fields import OpenFields, read_checked
from simjudge.results.saved_result import atomic_result, write_json

if TYPE_CHECKING:
    from typing_extensions import Self

REAL, SIM = 0, 1
"""Sides, as the tables number them."""
Tables = Mapping[str, Mapping[str, FloatArray]]
"""By the name of the file, float64 by column."""
Side = TypeVar("Side")


class BothSides(OpenFields, Generic[Side]):
    """What each side has."""

    real: Side
    sim: Side


class MetricsFile(OpenFields):
    """The JSON file of a comparison of metrics."""

    parameters: dict[str, object]
    drawn: str
    metrics: list[MetricFields]
    notes: list[str]
    losses: list[str]


File = TypeVar("File", bound=MetricsFile)


@dataclass(frozen=True)
class MetricQuestion(Generic[File]):
    """What is a question's own: its file, its tables, its words."""

    command: str  # that writes its results, such as "compare-drives"
    file_name: str
    file: type[File]
    columns: Callable[[Sequence[str]], Mapping[str, Sequence[str]]]  # of each table, by the names of the metrics
    agrees: str  # the headline where every metric is predicted
    words: MetricWords

    def load(self, folder: Path) -> SavedMetrics[File]:
        """Read a result folder."""
        path = folder / self.file_name
        if not path.is_file():
            raise SimjudgeError(f"{folder}: holds no {self.file_name}; run simjudge {self.command} first")
        return self.saved(
            folder.resolve().name, read_checked(path, self.file, f"result of simjudge {self.command}"), folder
        )

    def saved(
        self, name: str, content: JsonMapping, folder: Path = Path(), tables: Tables | None = None
    ) -> SavedMetrics[File]:
        """A result by its content, with the defaults of what a file need not say."""
        return SavedMetrics(name, folder, self.file.model_validate(content).model_dump(), self, tables)


@dataclass(frozen=True, eq=False, repr=False)
class SavedMetrics(ShortRepr, Generic[File]):
    """One result folder."""

    name: str
    folder: Path
    content: JsonMapping
    question: MetricQuestion[File] = field(repr=False)
    # the tables of a result that was just computed; None: they are read from the folder
    fresh: Tables | None = None

    @property
    def metrics(self) -> Sequence[MetricFields]:
        """A row each metric."""
        return self.file.metrics

    @cached_property
    def file(self) -> File:
        """What the JSON file says."""
        return self.question.file.model_validate(self.content)

    @cached_property
    def tables(self) -> Tables:
        """The tables of samples and of what is drawn."""
        if self.fresh is not None:
            return self.fresh
        columns = self.question.columns([row.metric for row in self.metrics])
        again = f"run simjudge {self.question.command} again"
        return {name: read_columns(self.folder / name, held, again) for name, held in columns.items()}

    @property
    def table(self) -> SummaryTable:
        """The table that the command prints."""
        return SummaryTable(COLUMNS, [table_row(row) for row in self.metrics], text_columns=3)

    @property
    def headline(self) -> str:
        """The verdict in a few words."""
        verdict = worst_of_metrics(self.metrics)
        said = self.question.agrees if verdict == Verdict.PREDICTS else verdict_words(verdict, 0.0).capitalize()
        these = any(row.scope == Scope.THESE for row in self.metrics) and verdict.decided
        return f"{said}, in these {self.question.words.samples}" if these else said

    @property
    def overlaps(self) -> tuple[str, str]:
        """The share of the real samples that have a simulated one that is alike, and the reverse, such as "95 %"."""
        first = self.metrics[0]
        return f"{100 * (first.overlap_a or 0.0):.0f} %", f"{100 * (first.overlap_b or 0.0):.0f} %"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class MetricComparison(ShortRepr, ABC):
    """Simulated runs compared with real ones, just now."""

    settings: Settings  # tolerances filled in
    notes: Sequence[str] = ()
    losses: Losses = field(default_factory=Losses)

    question: ClassVar[MetricQuestion[Any]]

    @property
    @abstractmethod
    def run_names(self) -> tuple[Sequence[str], Sequence[str]]:
        """Of the real runs, and of the simulated ones."""

    @abstractmethod
    def own_content(self) -> dict[str, object]:
        """The fields of the JSON file between parameters and notes."""

    @abstractmethod
    def tables(self) -> Tables:
        """The tables of the result folder."""

    @property
    def name(self) -> str:
        """Both sides, by their first runs."""
        real, sim = (names[0] + (f" and {len(names) - 1} more" if len(names) > 1 else "") for names in self.run_names)
        return f"{real} against {sim}"

    def content(self) -> dict[str, object]:
        """The content of the JSON file."""
        values = [(row, getattr(self.settings, row.name)) for row in declared(type(self.settings))]
        return {
            "version": version(),
            "parameters": {row.name: row.text(value) for row, value in values if value is not None},
            **self.own_content(),
            "notes": list(self.notes),
            "losses": self.losses.lines(),
        }

    def save(self, out: Path) -> None:
        """Write the result folder; it appears whole or not at all."""
        with atomic_result(out) as temporary:
            for name, table in self.tables().items():
                write_columns(temporary / name, table)
            write_json(temporary / self.question.file_name, self.content())


def few_runs_note(runs: str, blocks: str, fewest: int = FEWEST_UNITS) -> str:
    """What is said where a side has too few runs to draw them whole."""
    return (
        f"fewer than {fewest} {runs} on a side: {blocks} are drawn instead; how {runs} differ from each other is"
        " not in noise and interval"
    )


def share_of(given: float | None, share: float, value: float, least: float) -> float:
    """A tolerance that was given, or else a share of what the real runs show."""
    return given if given is not None else float(f"{max(least, share * value):.3g}")


Kept = TypeVar("Kept", bound="MetricComparisonResult[Any]")


class MetricComparisonResult(TabledResult[SavedMetrics[File]]):
    """How simulated runs differ from real ones. Printing it gives the command's table.

    Attributes:
        saved: the result as figures and pages read it.
    """

    def __init__(
        self, saved: SavedMetrics[File], folder: Path | None, comparison: MetricComparison | None = None
    ) -> None:
        """Wrap a result; the question's function and `load_result` make one."""
        super().__init__(folder, None if comparison is None else comparison.save)
        self.saved = saved

    @classmethod
    def keep(cls, found: MetricComparison, out: str | Path | None, log: Log) -> Self:
        """Tell the notes of a comparison, and save it where a place is given."""
        for note in found.notes:
            log(f"note: {note}")
        if out is None:
            saved = found.question.saved(found.name, found.content(), tables=found.tables())
            return cls(saved, None, found)
        found.save(Path(out))
        return cls(found.question.load(Path(out)), Path(out), found)

    @classmethod
    def kind(cls) -> ResultKind:
        """How folders of such results are known."""
        return ResultKind(cls.page.noun, lambda folder: cls(cls.page.load(folder), folder), cls.page.report)

    @property
    def metrics(self) -> Sequence[JsonMapping]:
        """The table as numbers: a row each metric."""
        return list(self.content["metrics"])

    @property
    def table(self) -> SummaryTable:
        """The table that the command prints."""
        return self.saved.table

    def __repr__(self) -> str:
        """What it is, in a line."""
        return f"{type(self).__name__}({self.name!r}, {self.saved.headline})"
