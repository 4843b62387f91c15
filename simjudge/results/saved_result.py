"""Reading result folders, as `compare` and `sweep` write them, and checking that they are what they should be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from simjudge.core.errors import SimjudgeError
from simjudge.method.detector_measures import DetectorMeasure
from simjudge.method.entry_numbers import ComparisonNumbers, Control, EntryNumbers
from simjudge.method.verdicts import Verdict, worst_verdict
from simjudge.results.context_table import OVERALL, ContextTable, read_contexts
from simjudge.results.result_folder import CONTEXTS, RESULT, SWEEP
from simjudge.results.verdict_words import verdict_words


@dataclass(frozen=True)
class ResultEntry:
    """The numbers of one class, or of all classes together.

    Attributes:
        key: the class id as written in the file, or "overall".
        label: what to call it on the page.
    """

    key: str
    label: str
    numbers: EntryNumbers

    @property
    def verdict(self) -> Verdict:
        """What it says."""
        return self.numbers.verdict

    @property
    def verdict_words(self) -> str:
        """The verdict as a person reads it, with the margin where it speaks of one."""
        return verdict_words(self.verdict, self.margin)

    @property
    def margin(self) -> float:
        """Difference of performance from which a gap matters."""
        return self.numbers.margin


@dataclass(frozen=True)
class Curve:
    """One point of a sweep: the numbers at one theta and one patch (height, width)."""

    theta: float
    patch: tuple[int, int]
    entries: tuple[ResultEntry, ...]


@dataclass(frozen=True)
class Result:
    """One result folder.

    Attributes:
        name: what to call it, the folder's name.
        header: version, parameters, inputs, class_names, losses as in the file.
        overall: all classes together; None where the folder holds only a sweep.
        classes: one entry a class, by class id.
        contexts: the table `contexts.parquet`; None where the folder holds only a sweep.
        curves: the sweep, empty where there is none.
        sweep_header: as `header`, of sweep.json.
        control: by "a" and "b", that of each set; empty where nothing was drawn.
    """

    name: str
    folder: Path
    header: Mapping[str, Any]
    overall: ResultEntry | None
    classes: tuple[ResultEntry, ...]
    contexts: ContextTable | None
    curves: tuple[Curve, ...] = ()
    sweep_header: Mapping[str, Any] = field(default_factory=dict)
    control: Mapping[str, Control] = field(default_factory=dict)

    @property
    def controls(self) -> list[ResultEntry]:
        """The control of each set, as an entry among others."""
        return [ResultEntry(f"control_{side}", halves_of(side), found.entry) for side, found in self.control.items()]

    @property
    def measures(self) -> tuple[DetectorMeasure, ...]:
        """What else the detector does; empty for a sweep, and in results of earlier versions."""
        return tuple(DetectorMeasure.from_json(*each) for each in (self.header.get("measures") or {}).items())

    @property
    def verdict(self) -> Verdict:
        """The worst of all that was judged: performance over all classes together, and the measures."""
        performance = Verdict.NOT_TESTED if self.overall is None else self.overall.verdict
        return worst_verdict(performance, *(one.verdict for one in self.measures))

    @property
    def entries(self) -> tuple[ResultEntry, ...]:
        """All classes together first, then class by class."""
        return self.classes if self.overall is None else (self.overall, *self.classes)

    def set_name(self, which: str) -> str:
        """What a set is called: its letter where it has no name."""
        inputs = self.header.get("inputs", {})
        given = inputs.get(which) or {}
        return str(given.get("name") or Path(str(given.get("path", ""))).name or which.upper())


def halves_of(side: str) -> str:
    """What the control of set "a" or "b" is called in tables."""
    return f"halves of {side.upper()} (control)"


def load_results(folders: Sequence[Path]) -> list[Result]:
    """Read result folders; folders of the same name are told apart by number."""
    results: list[Result] = []
    taken: dict[str, int] = {}
    for folder in folders:
        name = folder.resolve().name
        taken[name] = taken.get(name, 0) + 1
        results.append(load_result(folder, name if taken[name] == 1 else f"{name} ({taken[name]})"))
    return results


def load_result(folder: Path, name: str | None = None) -> Result:
    """Read one result folder."""
    from simjudge.results.result_fields import read_result, read_sweep  # noqa: PLC0415 - pydantic is slow to import

    name = folder.resolve().name if name is None else name
    if not folder.is_dir():
        raise SimjudgeError(f"{folder}: no such folder; give a folder that simjudge compare or sweep wrote")
    result, sweep = folder / RESULT, folder / SWEEP
    if not result.exists() and not sweep.exists():
        raise SimjudgeError(f"{folder}: holds neither result.json nor sweep.json; run simjudge compare or sweep first")
    swept = sweep_from_content(read_sweep(sweep), name, folder) if sweep.exists() else None
    if swept is not None and not result.exists():
        return swept
    found = comparison_from_content(read_result(result), read_contexts(folder / CONTEXTS), name, folder)
    return found if swept is None else replace(found, curves=swept.curves, sweep_header=swept.sweep_header)


def comparison_from_content(content: Mapping[str, Any], contexts: ContextTable, name: str, folder: Path) -> Result:
    """The result that the content of a result.json says."""
    overall, *classes = result_entries(content, content)
    control = ComparisonNumbers.from_json(content).control
    return Result(name, folder, content, overall, tuple(classes), contexts, control=control)


def sweep_from_content(content: Mapping[str, Any], name: str, folder: Path) -> Result:
    """The result that the content of a sweep.json says."""
    curves = []
    for point in content["curves"]:
        height, width = point["patch"]
        curves.append(Curve(float(point["theta"]), (int(height), int(width)), result_entries(point, content)))
    return Result(name, folder, content, None, (), None, tuple(curves), content)


def result_entries(numbers: Mapping[str, Any], header: Mapping[str, Any]) -> tuple[ResultEntry, ...]:
    """All classes together first, then class by class."""
    names, found = header.get("class_names") or {}, ComparisonNumbers.from_json(numbers)
    ordered = sorted(found.by_class.items(), key=lambda pair: int(pair[0]))
    classes = [ResultEntry(key, names.get(key) or f"class {key}", entry) for key, entry in ordered]
    return (ResultEntry(OVERALL, "all classes", found.overall), *classes)
