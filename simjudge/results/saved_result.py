"""Reading result folders, as `compare` and `sweep` write them, and checking that they are what they should be."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from simjudge.context.verdicts import VERDICTS
from simjudge.core.errors import SimjudgeError

OVERALL = "overall"

_TEXT_COLUMNS = ("set", "frame", "class_name")
_NUMBER_COLUMNS = (
    "object", "width", "height", "class_id", "x0", "y0", "x1", "y1", "predicted_x0", "predicted_y0", "predicted_x1",
    "predicted_y1", "score", "performance", "in_overlap", "w1", "mean_difference", "batch_a", "batch_b", "match_row",
    "match_similarity",
)  # fmt: skip

Column = npt.NDArray[np.float64]


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
        """A field's number, None where undefined."""
        value = self.fields.get(name)
        return None if value is None else float(value)

    def count(self, name: str) -> int:
        """A field that counts, 0 where undefined."""
        return int(self.number(name) or 0)

    @property
    def verdict(self) -> str:
        """One of VERDICTS."""
        return str(self.fields["verdict"])


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
        """What set "a" or "b" is called, where it is called anything else than its letter."""
        inputs = self.header.get("inputs", {})
        given = inputs.get(which) or {}
        return str(given.get("name") or Path(str(given.get("path", ""))).name or which.upper())


class ContextTable:
    """The columns of `contexts.parquet`; numbers as float64 with NaN for null, made when first asked for."""

    def __init__(self, table: pa.Table) -> None:
        """Wrap a table that has all columns."""
        self.table = table
        self._columns: dict[str, Column] = {}
        self.is_a: npt.NDArray[np.bool_] = pc.equal(_text(table["set"]), "a").to_numpy()
        self.class_id: npt.NDArray[np.int64] = self["class_id"].astype(np.int64)

    def __len__(self) -> int:
        """The number of contexts of both sets."""
        return len(self.is_a)

    def __getitem__(self, name: str) -> Column:
        """A column of numbers, float64 (N,)."""
        if name not in self._columns:
            numbers = self.table[name].cast(pa.float64())
            self._columns[name] = pc.fill_null(numbers, math.nan).to_numpy().astype(np.float64)
        return self._columns[name]

    def text(self, name: str, rows: npt.ArrayLike) -> list[str]:
        """A text column at some rows."""
        return [str(v) for v in _text(self.table[name]).take(pa.array(np.asarray(rows, np.int64))).to_pylist()]

    def frame_number(self) -> npt.NDArray[np.int64]:
        """A number for each row's frame, the same for rows of the same set and frame name."""
        codes = _text(self.table["frame"]).combine_chunks().dictionary_encode().indices.to_numpy().astype(np.int64)
        return np.asarray(codes * 2 + self.is_a)

    def of(self, entry: ResultEntry) -> npt.NDArray[np.bool_]:
        """Which rows an entry is about, bool (N,)."""
        if entry.key == OVERALL:
            return np.ones(len(self), np.bool_)
        return np.asarray(self.class_id == int(entry.key))


def load_results(folders: list[Path]) -> list[Result]:
    """Read result folders; folders of the same name are told apart by number.

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


def load_result(folder: Path, name: str) -> Result:
    """Read one result folder."""
    if not folder.is_dir():
        raise SimjudgeError(f"{folder}: no such folder; give a folder that simjudge compare or sweep wrote")
    result, sweep = folder / "result.json", folder / "sweep.json"
    if not result.exists() and not sweep.exists():
        raise SimjudgeError(f"{folder}: holds neither result.json nor sweep.json; run simjudge compare or sweep first")
    curves, sweep_header = _curves(sweep) if sweep.exists() else ((), {})
    if not result.exists():
        return Result(name, folder, sweep_header, None, (), None, curves, sweep_header)
    header = _object(result)
    names = _mapping(header, "class_names", result)
    by_class = _mapping(header, "by_class", result)
    classes = tuple(_entry(key, fields, names, result) for key, fields in _by_id(by_class, result))
    overall = _entry(OVERALL, header.get("overall"), names, result)
    for entry in (overall, *classes):
        if entry.fields.get("verdict") not in VERDICTS:
            raise SimjudgeError(f"{result}: {entry.key}: verdict is {entry.fields.get('verdict')!r}; run compare again")
    contexts = read_contexts(folder / "contexts.parquet")
    return Result(name, folder, header, overall, classes, contexts, curves, sweep_header)


def read_contexts(path: Path) -> ContextTable:
    """Read `contexts.parquet`.

    Raises:
        SimjudgeError: it is missing, damaged, or lacks a column.
    """
    try:
        table = pq.read_table(path)
    except FileNotFoundError as error:
        raise SimjudgeError(f"{path}: is missing; run simjudge compare again") from error
    except (OSError, pa.ArrowException) as error:
        raise SimjudgeError(f"{path}: cannot be read as a table ({_first_line(error)})") from error
    missing = [c for c in (*_TEXT_COLUMNS, *_NUMBER_COLUMNS) if c not in table.column_names]
    if missing:
        raise SimjudgeError(f"{path}: lacks the column {missing[0]}; run simjudge compare again")
    try:
        contexts = ContextTable(table)
        for column in _NUMBER_COLUMNS:
            contexts[column]
    except (pa.ArrowException, ValueError) as error:
        raise SimjudgeError(f"{path}: a column does not hold what it should ({_first_line(error)})") from error
    rows = contexts["match_row"]
    if np.any((rows < 0) | (rows >= len(contexts))):
        raise SimjudgeError(f"{path}: match_row names a row that is not in the table; run simjudge compare again")
    return contexts


def read_json(path: Path) -> Any:
    """A JSON file's content.

    Raises:
        SimjudgeError: it cannot be read or is no JSON.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SimjudgeError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise SimjudgeError(f"{path}: is cut off or no JSON ({_first_line(error)})") from error


def _curves(path: Path) -> tuple[tuple[Curve, ...], dict[str, Any]]:
    header = _object(path)
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
    return tuple(curves), header


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
    if isinstance(value, str) and not where.endswith(": verdict"):
        raise SimjudgeError(f"{where} is {value!r}, not a number")
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _by_id(by_class: dict[str, Any], path: Path) -> list[tuple[str, Any]]:
    try:
        return sorted(by_class.items(), key=lambda item: int(item[0]))
    except ValueError as error:
        raise SimjudgeError(f"{path}: by_class holds a class id that is no number ({error})") from error


def _object(path: Path) -> dict[str, Any]:
    content = read_json(path)
    if not isinstance(content, dict):
        raise SimjudgeError(f"{path}: is not what simjudge writes; run compare or sweep again")
    return content


def _mapping(header: Mapping[str, Any], name: str, path: Path) -> dict[str, Any]:
    value = header.get(name, {} if name == "class_names" else None)
    if not isinstance(value, dict):
        raise SimjudgeError(f"{path}: has no {name}; run simjudge compare or sweep again")
    return value


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.string())


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
