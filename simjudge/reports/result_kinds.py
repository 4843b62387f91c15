"""Kinds of result folders beside comparisons and sweeps: each question says how its own is loaded and shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from simjudge.core.progress import Log
from simjudge.reports.report_settings import Report, ReportSettings
from simjudge.results.result_folder import DRIVES, OBJECTS, SETS


@dataclass(frozen=True)
class ResultKind:
    """A kind of result folder.

    Attributes:
        noun: what a folder of it is called, as in "one of objects".
        load: reads a folder, as a KeptResult.
        report: writes the page of a folder.
    """

    noun: str
    load: Callable[[Path], object]
    report: Callable[[Path, Path, ReportSettings, Log], Report]


_HOMES = {
    OBJECTS: "simjudge.questions.objects.result",
    DRIVES: "simjudge.questions.drives.result",
    SETS: "simjudge.questions.many_sets.result",
}
"""The file by which a kind is known, and the module that has it as KIND."""


def kind_of(folder: str | Path) -> ResultKind | None:
    """The kind of a result folder; None for a comparison, a sweep, and whatever is no result."""
    for name, home in _HOMES.items():
        if (Path(folder) / name).is_file():
            kind: ResultKind = import_module(home).KIND
            return kind
    return None
