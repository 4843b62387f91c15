"""Arrays by what they hold; objects that hold them: how they show themselves, and the fingerprint of their content."""

from __future__ import annotations

import hashlib
import struct
import tokenize
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simjudge.core.errors import SimjudgeError

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

# What NumPy raises for bytes that are no .npy or .npz file.
NO_ARRAYS = (
    ValueError,
    TypeError,
    OSError,
    LookupError,
    EOFError,
    NotImplementedError,
    MemoryError,
    AttributeError,
    OverflowError,
    struct.error,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)


_LABEL_WIDTH = 12  # Characters of a row's label, which a space and the value follow
_LONGEST_VALUE = 60  # Characters of a field's value in a short representation


@dataclass(frozen=True)
class SummaryTable:
    """A small table of a summary."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]  # the cells, one list of texts a row
    text_columns: int = 1  # how many columns from the left hold text; numbers in the others are aligned to the right


@dataclass(frozen=True)
class Summary:
    """What an object holds, in about ten lines."""

    name: str
    kind: str
    # Rows (label, value), tables and single lines, in the order in which a person reads them.
    blocks: Sequence[tuple[str, str] | SummaryTable | str] = field(default_factory=list)

    def text(self) -> str:
        """The summary as lines of text, without a line end at the end."""
        lines = [f"{self.name}: {self.kind}"]
        for block in self.blocks:
            if isinstance(block, SummaryTable):
                lines += _text_rows(block)
            else:
                lines.append(summary_line(block))
        return "\n".join(lines)

    def html(self) -> str:
        """The summary as HTML, for notebooks."""
        parts = [f"<b>{escape(self.name)}</b>: {escape(self.kind)}"]
        rows: list[str] = []
        for block in self.blocks:
            if isinstance(block, SummaryTable):
                parts += [_html_table(rows), _html_table(_cells(block))]
                rows = []
            elif isinstance(block, str):
                rows.append(f"<tr><td colspan='2'>{escape(block)}</td></tr>")
            else:
                rows.append(f"<tr><th style='text-align:left'>{escape(block[0])}</th><td>{escape(block[1])}</td></tr>")
        return "".join([*parts, _html_table(rows)])


def summary_line(block: tuple[str, str] | str) -> str:
    """Lay out a row of a summary as one line of text (block: a label and its value, or a line as it is)."""
    return block if isinstance(block, str) else f"{block[0]:<{_LABEL_WIDTH}} {block[1]}"


class SummaryRepr(ABC):
    """Representation by a summary: as text, and as HTML in notebooks.

    A dataclass that inherits from this class is declared with `repr=False`.
    """

    @abstractmethod
    def summary(self) -> Summary:
        """What the object holds, for a person to read."""

    def __repr__(self) -> str:
        return self.summary().text()

    def _repr_html_(self) -> str:
        return self.summary().html()


class ShortRepr:
    """Representation of a dataclass in one line: arrays by type and shape, other values cut after 60 characters.

    A dataclass that inherits from this class is declared with `repr=False`.
    """

    def __repr__(self) -> str:
        shown = [f"{f.name}={_short(getattr(self, f.name))}" for f in fields(self) if f.repr]  # type: ignore[arg-type]
        return f"{type(self).__name__}({', '.join(shown)})"


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}"
    if isinstance(value, list | tuple | dict | set) and len(value) > 4:
        return f"{type(value).__name__} of {len(value)}"
    text = repr(value)
    return text if len(text) <= _LONGEST_VALUE or isinstance(value, ShortRepr) else f"{text[:_LONGEST_VALUE]}..."


def _text_rows(table: SummaryTable) -> list[str]:
    rows = [list(table.columns), *(list(row) for row in table.rows)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(table.columns))]

    def line(row: Sequence[str]) -> str:
        cells = [
            cell.ljust(width) if i < table.text_columns else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()

    return [line(row) for row in rows]


def _cells(table: SummaryTable) -> list[str]:
    head = "".join(f"<th>{escape(column)}</th>" for column in table.columns)
    rows = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in table.rows]
    return [f"<tr>{row}</tr>" for row in [head, *rows]]


def _html_table(rows: Sequence[str]) -> str:
    return f"<table>{''.join(rows)}</table>" if rows else ""


def hash_value(value: Any) -> str:
    """Hash a value by its content; two runs give the same hash."""
    digest = hashlib.sha256()
    _add(digest, value)
    return digest.hexdigest()


def _scalar_text(value: str | bytes | float | np.generic | None) -> str:
    """A scalar's type and value as NumPy 2 shows them; older ones show less."""
    kind = "bool" if isinstance(value, np.bool_) else type(value).__name__
    if not isinstance(value, np.generic):
        return f"{kind} {value!r} "
    if isinstance(value, np.bool_):
        return f"{kind} np.{bool(value)}_ "
    if isinstance(value, np.str_ | np.bytes_):
        return f"{kind} np.{kind}({value.item()!r}) "
    if isinstance(value, np.longdouble):
        return f"{kind} np.{kind}({str(value)!r}) "
    return f"{kind} np.{kind}({str(value).strip('()')}) "


def _add(digest: Any, value: Any) -> None:
    if isinstance(value, np.ndarray):
        digest.update(f"array {value.dtype.str} {value.shape} ".encode())
        digest.update(np.ascontiguousarray(value).tobytes())
    elif is_dataclass(value) and not isinstance(value, type):
        digest.update(f"{type(value).__name__}(".encode())
        for field in fields(value):
            _add(digest, getattr(value, field.name))
    elif isinstance(value, Mapping):
        digest.update(f"map {len(value)} ".encode())
        for key in sorted(value, key=repr):
            _add(digest, key)
            _add(digest, value[key])
    elif isinstance(value, tuple | list):
        digest.update(f"row {len(value)} ".encode())
        for item in value:
            _add(digest, item)
    elif value is None or isinstance(value, str | bytes | int | float | bool | np.generic):
        digest.update(_scalar_text(value).encode())
    elif not isinstance(value, Path):  # where a thing was read from is not what it is
        raise SimjudgeError(f"{type(value).__name__}: nothing to take a fingerprint of")
