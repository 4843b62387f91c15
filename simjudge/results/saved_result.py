"""Reading result folders, as `compare` and `sweep` write them, and checking that they are what they should be."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from simjudge.context.verdicts import REASONS, VERDICTS, verdict_words
from simjudge.core.errors import SimjudgeError
from simjudge.core.text import load_json
from simjudge.results.context_table import OVERALL, ContextTable, read_contexts
from simjudge.results.result_folder import CONTEXTS, RESULT, SWEEP


@dataclass(frozen=True)
class ResultEntry:
    """The numbers of one class, or of all classes together.

    Attributes:
        key: the class id as written in the file, or "overall".
        label: what to call it on the page.
        fields: docs/results.md, undefined is None.
    """

    key: str
    label: str
    fields: Mapping[str, Any]

    def number(self, name: str) -> float | None:
        """A number, None where undefined.

        Args:
            name: of the field, see docs/results.md.
        """
        value = self.fields.get(name)
        return None if value is None else float(value)

    def count(self, name: str) -> int:
        """A count, 0 where undefined.

        Args:
            name: of the field, see docs/results.md.
        """
        return int(self.number(name) or 0)

    @property
    def verdict(self) -> str:
        """One of VERDICTS."""
        return str(self.fields["verdict"])

    @property
    def verdict_words(self) -> str:
        """The verdict as a person reads it, with the margin where it speaks of one."""
        return verdict_words(self.verdict, self.margin)

    @property
    def margin(self) -> float:
        """Difference of performance from which a gap matters."""
        return self.number("margin") or 0.0


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
        folder: where it is.
        header: version, parameters, inputs, class_names, losses as in the file.
        overall: all classes together; None where the folder holds only a sweep.
        classes: one entry a class, by class id.
        contexts: the table `contexts.parquet`; None where the folder holds only a sweep.
        curves: the sweep, empty where there is none.
        sweep_header: as `header`, of sweep.json.
    """

    name: str
    folder: Path
    header: Mapping[str, Any]
    overall: ResultEntry | None
    classes: tuple[ResultEntry, ...]
    contexts: ContextTable | None
    curves: tuple[Curve, ...] = ()
    sweep_header: Mapping[str, Any] = field(default_factory=dict)

    @property
    def entries(self) -> tuple[ResultEntry, ...]:
        """All classes together first, then class by class."""
        return self.classes if self.overall is None else (self.overall, *self.classes)

    def set_name(self, which: str) -> str:
        """What a set is called: its letter where it has no name.

        Args:
            which: "a" or "b".
        """
        inputs = self.header.get("inputs", {})
        given = inputs.get(which) or {}
        return str(given.get("name") or Path(str(given.get("path", ""))).name or which.upper())


def load_results(folders: Sequence[Path]) -> list[Result]:
    """Read result folders; folders of the same name are told apart by number.

    Args:
        folders: each as `compare` or `sweep` wrote it.

    Raises:
        SimjudgeError: a folder holds no result, or a file in it is damaged.
    """
    results: list[Result] = []
    taken: dict[str, int] = {}
    for folder in folders:
        name = folder.resolve().name
        taken[name] = taken.get(name, 0) + 1
        results.append(load_result(folder, name if taken[name] == 1 else f"{name} ({taken[name]})"))
    return results


def load_result(folder: Path, name: str | None = None) -> Result:
    """Read one result folder.

    Args:
        folder: as `compare` or `sweep` wrote it.
        name: what to call the result; by default the folder's name.

    Raises:
        SimjudgeError: the folder holds no result, or a file in it is damaged.
    """
    from simjudge.results.result_fields import check_result  # noqa: PLC0415 - pydantic is slow to import

    name = folder.resolve().name if name is None else name
    if not folder.is_dir():
        raise SimjudgeError(f"{folder}: no such folder; give a folder that simjudge compare or sweep wrote")
    result, sweep = folder / RESULT, folder / SWEEP
    if not result.exists() and not sweep.exists():
        raise SimjudgeError(f"{folder}: holds neither result.json nor sweep.json; run simjudge compare or sweep first")
    if not result.exists():
        return _load_sweep(sweep, name)
    content = load_json(result)
    check_result(content, result)
    found = comparison_from_content(content, read_contexts(folder / CONTEXTS), name, folder)
    if not sweep.exists():
        return found
    swept = _load_sweep(sweep, name)
    return replace(found, curves=swept.curves, sweep_header=swept.sweep_header)


def _load_sweep(path: Path, name: str) -> Result:
    from simjudge.results.result_fields import check_sweep  # noqa: PLC0415 - pydantic is slow to import

    content = load_json(path)
    check_sweep(content, path)
    return sweep_from_content(content, name, path.parent)


def comparison_from_content(content: Mapping[str, Any], contexts: ContextTable, name: str, folder: Path) -> Result:
    """The result that the content of a result.json says.

    Args:
        content: as docs/results.md has it.
        contexts: the table that goes with it.
        name: what to call the result.
        folder: where its gallery is.

    Raises:
        SimjudgeError: something is missing, or no number where one belongs.
    """
    path = folder / RESULT
    names = _mapping(content, "class_names", path)
    by_class = _mapping(content, "by_class", path)
    classes = tuple(_entry(key, fields, names, path) for key, fields in _by_id(by_class, path))
    overall = _entry(OVERALL, content.get("overall"), names, path)
    for entry in (overall, *classes):
        for field_name, known in (("verdict", VERDICTS), ("verdict_reason", REASONS)):
            value = entry.fields.get(field_name)
            if value not in known:
                raise SimjudgeError(f"{path}: {entry.key}: {field_name} is {value!r}; run compare again")
    return Result(name, folder, content, overall, classes, contexts)


def sweep_from_content(content: Mapping[str, Any], name: str, folder: Path) -> Result:
    """The result that the content of a sweep.json says.

    Args:
        content: as docs/results.md has it.
        name: what to call the result.
        folder: where it is.

    Raises:
        SimjudgeError: it holds no curves, or a curve lacks something.
    """
    curves = _curves(content, folder / SWEEP)
    return Result(name, folder, content, None, (), None, curves, content)


def _curves(header: Mapping[str, Any], path: Path) -> tuple[Curve, ...]:
    names = _mapping(header, "class_names", path)
    curves = []
    for number, given in enumerate(header.get("curves") or []):
        try:
            height, width = (int(v) for v in given["patch"])
            theta, by_class = float(given["theta"]), given["by_class"]
        except (KeyError, TypeError, ValueError) as error:
            raise SimjudgeError(f"{path}: curve {number} has no theta, patch and by_class; run sweep again") from error
        found = _by_id(by_class if isinstance(by_class, dict) else {}, path)
        if given.get("overall"):
            found.insert(0, (OVERALL, given["overall"]))
        curves.append(Curve(theta, (height, width), tuple(_entry(k, f, names, path) for k, f in found)))
    if not curves:
        raise SimjudgeError(f"{path}: holds no curves; run simjudge sweep again")
    return tuple(curves)


def _entry(key: str, fields: Any, names: Mapping[str, Any], path: Path) -> ResultEntry:
    if not isinstance(fields, dict):
        raise SimjudgeError(f"{path}: has no numbers for {key}; run simjudge compare again")
    checked = {name: _checked(value, f"{path}: {key}: {name}") for name, value in fields.items()}
    label = "all classes" if key == OVERALL else str(names.get(key, f"class {key}"))
    return ResultEntry(key, label, checked)


def _checked(value: Any, where: str) -> Any:
    """A field's value; NaN and infinity, which JSON does not have but Python reads, are undefined."""
    if isinstance(value, dict):
        return {k: _checked(v, where) for k, v in value.items()}
    if isinstance(value, str) and not where.endswith((": verdict", ": verdict_reason")):
        raise SimjudgeError(f"{where} is {value!r}, not a number")
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _by_id(by_class: dict[str, Any], path: Path) -> list[tuple[str, Any]]:
    try:
        return sorted(by_class.items(), key=lambda item: int(item[0]))
    except ValueError as error:
        raise SimjudgeError(f"{path}: by_class holds a class id that is no number ({error})") from error


def _mapping(header: Mapping[str, Any], name: str, path: Path) -> dict[str, Any]:
    value = header.get(name, {} if name == "class_names" else None)
    if not isinstance(value, dict):
        raise SimjudgeError(f"{path}: has no {name}; run simjudge compare or sweep again")
    return value
