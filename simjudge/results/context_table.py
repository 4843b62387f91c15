"""The table of all contexts (contexts.parquet), other tables of numbers, and Arrow columns from arrays and back.

`pyarrow.array` and `to_numpy` import pandas where it is installed, which takes longer than many a comparison.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from weakref import finalize

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from simjudge.core.arrays import FloatArray, Summary, SummaryTable
from simjudge.core.errors import SimjudgeError
from simjudge.core.files import is_file, plain_os_errors
from simjudge.core.parquet import read_parquet

_LONGEST = 200
"""Characters of another library's reason that are shown."""


def unreadable_table(path: Path, error: Exception) -> SimjudgeError:
    """What is said of a file that pyarrow refuses."""
    reason = first_line(error, after=f"'{path}': ")
    return SimjudgeError(f"{path}: cannot be read as a table ({reason})")


def first_line(error: Exception, *, after: str = "") -> str:
    """The first line of an error, at most 200 characters."""
    line = (str(error).splitlines() or [type(error).__name__])[0]
    return (line.rpartition(after)[2] if after else line)[:_LONGEST]


def number_column(values: npt.NDArray[Any], mask: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """Make a column of numbers or of truth values.

    `values`: int64, float64 or bool (N,); `mask`: bool (N,), where the column is null; None for nowhere.
    """
    known = None if mask is None or not mask.any() else pa.py_buffer(np.packbits(~mask, bitorder="little"))
    kind = pa.from_numpy_dtype(values.dtype)
    plain = np.packbits(values, bitorder="little") if values.dtype == np.bool_ else np.ascontiguousarray(values)
    return pa.Array.from_buffers(kind, len(values), [known, pa.py_buffer(plain)])


class ContextParts:
    """Contexts of several comparisons, on the disk until they are saved: a million of them take 150 MB each time."""

    def __init__(self, tables: Iterable[pa.Table] = ()) -> None:
        self._where = Path(tempfile.gettempdir())
        self._open = ExitStack()
        self._file = self._open.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - it is gone with this object
        self._writer: pq.ParquetWriter | None = None
        self.count = 0
        finalize(self, self._open.close)
        for table in tables:
            self.add(table)

    def add(self, table: pa.Table) -> None:
        """Take the contexts of one comparison more, all with the same columns."""
        with plain_os_errors(self._where):
            if self._writer is None:
                self._writer = pq.ParquetWriter(self._file, table.schema)
                self._open.callback(self._writer.close)
            self._writer.write_table(table)
        self.count += 1

    def write(self, path: Path) -> None:
        """Write them as one table; there is no further one afterwards."""
        if self._writer is not None:
            self._writer.close()
        self._file.seek(0)
        with path.open("wb") as stream:
            shutil.copyfileobj(self._file, stream)


def text_column(texts: Sequence[str]) -> pa.Array:
    """Make a column of texts."""
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), len(texts), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))])


def column_numbers(column: pa.ChunkedArray | pa.Array) -> npt.NDArray[np.float64]:
    """Read a column of numbers or of truth values.

    `column`: N values of any type that can be cast to float64; returns float64 (N,), NaN where the column is null.
    """
    numbers = column.cast(pa.float64())
    whole = numbers.combine_chunks() if isinstance(numbers, pa.ChunkedArray) else numbers
    count, begin = len(whole), whole.offset
    if count == 0:
        return np.empty(0)
    known, data = whole.buffers()
    values = np.frombuffer(data, np.float64, begin + count)[begin:].copy()
    if whole.null_count:
        bits = np.unpackbits(np.frombuffer(known, np.uint8), count=begin + count, bitorder="little")[begin:]
        values[bits == 0] = np.nan
    return values


OVERALL = "overall"
"""Key of all classes together."""
SHOWN_ROWS = 5
"""Contexts that a notebook shows of the table."""
_TEXT_COLUMNS = ("set", "frame", "class_name")
_NUMBER_COLUMNS = (
    "object",
    "width",
    "height",
    "class_id",
    "distance",
    "visible",
    "x0",
    "y0",
    "x1",
    "y1",
    "predicted_x0",
    "predicted_y0",
    "predicted_x1",
    "predicted_y1",
    "score",
    "performance",
    "in_overlap",
    "w1",
    "mean_difference",
    "batch_a",
    "batch_b",
    "match_row",
    "match_similarity",
)
_MAY_BE_EMPTY = (
    "distance",
    "visible",
    "predicted_x0",
    "predicted_y0",
    "predicted_x1",
    "predicted_y1",
    "score",
    "w1",
    "mean_difference",
    "batch_a",
    "batch_b",
    "match_row",
    "match_similarity",
)
_LARGEST_NUMBER = 2**32
"""Of rows, objects and pixels: boxes reach to a billion pixels at most."""

Column = npt.NDArray[np.float64]


class ContextTable:
    """All contexts of a comparison, one a row: those of A first. docs/reference/results.md says what the columns are.

    `table`: the columns as they are in `contexts.parquet`; `is_a`: bool (N,), whether a context is of set A;
    `class_id`: int64 (N,), the class of its anchor.
    """

    def __init__(self, table: pa.Table) -> None:
        """Wrap a table."""
        self.table = table
        self._columns: dict[str, Column] = {}
        self.is_a: npt.NDArray[np.bool_] = column_numbers(pc.equal(_text(table["set"]), text_column(["a"])[0])) == 1
        self.class_id: npt.NDArray[np.int64] = self["class_id"].astype(np.int64)

    def __len__(self) -> int:
        """The number of contexts of both sets."""
        return len(self.is_a)

    def __getitem__(self, name: str) -> Column:
        """A column of numbers, float64 (N,)."""
        if name not in self._columns:
            self._columns[name] = column_numbers(self.table[name])
        return self._columns[name]

    def text(self, name: str, rows: npt.ArrayLike) -> list[str]:
        """A text column at some rows. `rows`: int (K,), numbers of contexts."""
        return [str(v) for v in _text(self.table[name]).take(number_column(np.asarray(rows, np.int64))).to_pylist()]

    def frame_number(self) -> npt.NDArray[np.int64]:
        """A number for each row's frame, the same for rows of the same set and frame name."""
        codes = column_numbers(_text(self.table["frame"]).combine_chunks().dictionary_encode().indices)
        return np.asarray(codes.astype(np.int64) * 2 + self.is_a)

    def class_mask(self, key: str) -> npt.NDArray[np.bool_]:
        """Which contexts are of a class. Returns bool (N,)."""
        if key == OVERALL:
            return np.ones(len(self), np.bool_)
        return np.asarray(self.class_id == int(key))

    def to_arrow(self) -> pa.Table:
        """The table as it is in `contexts.parquet`; docs/reference/results.md says what the columns are."""
        return self.table

    def to_pandas(self) -> Any:
        """The table as a pandas.DataFrame, one context a row."""
        if find_spec("pandas") is None:
            raise SimjudgeError("to_pandas() needs pandas: pip install pandas (or use to_arrow())")
        return self.table.to_pandas()

    def __repr__(self) -> str:
        """The sizes, in a line."""
        of_a = int(np.count_nonzero(self.is_a))
        return f"ContextTable({of_a} contexts of A, {len(self) - of_a} of B, {self.table.num_columns} columns)"

    def _repr_html_(self) -> str:
        """The first contexts, for notebooks."""
        shown = self.table.slice(0, SHOWN_ROWS)
        columns = [[_cell(value) for value in column.to_pylist()] for column in shown.columns]
        table = SummaryTable(shown.column_names, list(zip(*columns, strict=True)), text_columns=2)
        more = [f"and {len(self) - SHOWN_ROWS} more"] if len(self) > SHOWN_ROWS else []
        return Summary("contexts", repr(self), [table, *more]).html()


def read_contexts(path: Path) -> ContextTable:
    """Read `contexts.parquet`."""
    if not is_file(path):
        raise SimjudgeError(f"{path}: is missing; run simjudge compare again")
    try:
        table = read_parquet(path)
    except (OSError, pa.ArrowException) as error:
        raise unreadable_table(path, error) from error
    try:
        names = table.column_names
        missing = [c for c in (*_TEXT_COLUMNS, *_NUMBER_COLUMNS) if c not in names]
        if missing:
            raise SimjudgeError(f"{path}: lacks the column {missing[0]}; run simjudge compare again")
        contexts = ContextTable(table)
        for column in _NUMBER_COLUMNS:
            _check_numbers(contexts[column], column, path)
        for column in _TEXT_COLUMNS:
            contexts.text(column, range(len(contexts)))
    except (pa.ArrowException, ValueError) as error:
        raise SimjudgeError(f"{path}: a column does not hold what it should ({first_line(error)})") from error
    rows = contexts["match_row"]
    if np.any((rows < 0) | (rows >= len(contexts))):
        raise SimjudgeError(f"{path}: match_row names a row that is not in the table; run simjudge compare again")
    return contexts


def _check_numbers(values: Column, name: str, path: Path) -> None:
    """Refuse numbers that no comparison writes: they come of a damaged file."""
    empty = np.isnan(values)
    if (empty.any() and name not in _MAY_BE_EMPTY) or (np.abs(values[~empty]) > _LARGEST_NUMBER).any():
        raise SimjudgeError(f"{path}: {name} holds what is no number of a comparison; run simjudge compare again")


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.string())


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def write_columns(path: Path, table: Mapping[str, FloatArray]) -> None:
    """Write a table; NaN is an empty cell."""
    pq.write_table(pa.table({name: number_column(values, np.isnan(values)) for name, values in table.items()}), path)


def read_columns(path: Path, columns: Sequence[str], again: str) -> Mapping[str, FloatArray]:
    """Read columns of a table; `again`: what makes the file anew, for refusals."""
    if not path.exists():
        raise SimjudgeError(f"{path}: is missing; {again}")
    try:
        table = read_parquet(path)
        missing = [name for name in columns if name not in table.column_names]
        if missing:
            raise SimjudgeError(f"{path}: lacks the column {missing[0]}; {again}")
        return {name: np.asarray(column_numbers(table.column(name)), np.float64) for name in columns}
    except (OSError, pa.ArrowException, ValueError) as error:
        raise unreadable_table(path, error) from error
