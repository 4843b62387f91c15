"""Columns of an Arrow table from NumPy arrays and back, by their buffers.

`pyarrow.array` and `to_numpy` import pandas where it is installed, which takes longer than many a comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from simjudge.core.errors import SimjudgeError

_LONGEST = 200
"""Characters of another library's reason that are shown."""


def unreadable_table(path: Path, error: Exception) -> SimjudgeError:
    """What is said of a file that pyarrow refuses."""
    reason = first_line(error, after=f"'{path}': ")
    return SimjudgeError(f"{path}: cannot be read as a table ({reason})")


def first_line(error: Exception, *, after: str = "") -> str:
    """The first line of an error, at most 200 characters.

    Args:
        after: the line is shown from behind the last place where this stands; all of it where it does not.
    """
    line = (str(error).splitlines() or [type(error).__name__])[0]
    return (line.rpartition(after)[2] if after else line)[:_LONGEST]


def number_column(values: npt.NDArray[Any], mask: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """Make a column of numbers or of truth values.

    Args:
        values: int64, float64 or bool (N,).
        mask: bool (N,), where the column is null; None for nowhere.
    """
    known = None if mask is None or not mask.any() else pa.py_buffer(np.packbits(~mask, bitorder="little"))
    kind = pa.from_numpy_dtype(values.dtype)
    plain = np.packbits(values, bitorder="little") if values.dtype == np.bool_ else np.ascontiguousarray(values)
    return pa.Array.from_buffers(kind, len(values), [known, pa.py_buffer(plain)])


def text_column(texts: Sequence[str]) -> pa.Array:
    """Make a column of texts."""
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), len(texts), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))])


def column_numbers(column: pa.ChunkedArray | pa.Array) -> npt.NDArray[np.float64]:
    """Read a column of numbers or of truth values.

    Args:
        column: N values of any type that can be cast to float64.

    Returns:
        float64 (N,), NaN where the column is null.
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
