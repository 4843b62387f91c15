"""Kinds of result folders beside comparisons and sweeps: each question says how its own is loaded and shown."""

from __future__ import annotations

from abc import ABC, abstractmethod
from importlib import import_module
from pathlib import Path

from simjudge.core.progress import Log
from simjudge.page.report_settings import Report, ReportSettings
from simjudge.results.result_folder import DRIVES, OBJECTS, SETS


class ResultKind(ABC):
    """A kind of result folder.

    Attributes:
        noun: what a folder of it is called, as in "one of objects".
    """

    noun: str

    @abstractmethod
    def load(self, folder: Path) -> object:
        """Read a folder, as a KeptResult.

        Raises:
            SimjudgeError: a file in it is damaged.
        """

    @abstractmethod
    def report(self, folder: Path, out: Path, settings: ReportSettings, log: Log) -> Report:
        """Write its page.

        Raises:
            UsageError: a setting is given that such a result has no use for.
            SimjudgeError: the folder is damaged, or something cannot be written.
        """


_HOMES = {
    OBJECTS: "simjudge.questions.objects.kind",
    DRIVES: "simjudge.questions.drives.kind",
    SETS: "simjudge.questions.many_sets.kind",
}
"""The file by which a kind is known, and the module that has it as KIND."""


def kind_of(folder: str | Path) -> ResultKind | None:
    """The kind of a result folder; None for a comparison, a sweep, and whatever is no result."""
    for name, home in _HOMES.items():
        if (Path(folder) / name).is_file():
            kind: ResultKind = import_module(home).KIND
            return kind
    return None
