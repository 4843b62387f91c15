"""Result folders of every kind: which question wrote one, and reading it again."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TypeVar, overload

from simjudge.core.errors import UsageError
from simjudge.page.kept_result import KeptResult, ResultKind
from simjudge.questions.compare.result import ComparisonResult, SweepResult
from simjudge.results.saved_result import (
    DRIVES,
    LABEL_ERROR,
    OBJECTS,
    POLICIES,
    POLICY_WATCH,
    RANKING,
    SETS,
    TRACKS,
    TRAJECTORIES,
)
from simjudge.results.saved_result import load_result as read_result

KindOfResult = TypeVar("KindOfResult", bound=KeptResult)
_HOMES = {
    OBJECTS: "simjudge.questions.objects.run",
    DRIVES: "simjudge.questions.drives.run",
    TRACKS: "simjudge.questions.tracks.run",
    TRAJECTORIES: "simjudge.questions.trajectories.run",
    POLICIES: "simjudge.questions.policies.run",
    POLICY_WATCH: "simjudge.questions.policies.watch",
    SETS: "simjudge.questions.many_sets.page",
    LABEL_ERROR: "simjudge.questions.label_error.page",
    RANKING: "simjudge.questions.rank.page",
}
"""The file by which a kind is known, and the module that has it as KIND."""


def kind_of(folder: str | Path) -> ResultKind | None:
    """The kind of a result folder; None for a comparison, a sweep, and whatever is no result."""
    for name, home in _HOMES.items():
        if (Path(folder) / name).is_file():
            kind: ResultKind = import_module(home).KIND
            return kind
    return None


@overload
def load_result(folder: str | Path) -> KeptResult: ...
@overload
def load_result(folder: str | Path, kind: type[KindOfResult]) -> KindOfResult: ...
def load_result(folder: str | Path, kind: type[KeptResult] = KeptResult) -> KeptResult:
    """Read a result folder again.

    Args:
        folder: as `compare`, `sweep`, `compare_objects`, `compare_drives` or a comparison of many sets wrote it.
        kind: what it must be, such as ComparisonResult, for type checkers and to be sure.

    Returns:
        The comparison, with the sweep beside it if there is one; the sweep where there is no comparison; the
        comparison by objects; that of many sets; that of drives; the ranking of simulations; the price
        of labels' errors.

    Raises:
        UsageError: the result is of another kind.
        SimjudgeError: the folder holds no result, or a file in it is damaged.
    """
    known = kind_of(folder)
    if known is not None:
        found: object = known.load(Path(folder))
    else:
        saved = read_result(Path(folder))
        found = (SweepResult if saved.contexts is None else ComparisonResult)(saved, Path(folder))
    if not isinstance(found, kind):
        raise UsageError(f"{folder}: is no {kind.__name__} but a {type(found).__name__}")
    return found
