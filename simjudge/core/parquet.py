"""Parquet files, held to what memory takes: a few megabytes may name billions of rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from simjudge.core.errors import SimjudgeError
from simjudge.core.files import check_file

MOST_ROWS = 30_000_000  # That are read at once
_FEW_ROWS, _ROWS_OF_A_BYTE = 1_000_000, 10  # More rows than these in so few bytes are no measurements


def read_parquet(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Read a table; raises what pyarrow raises for a damaged one."""
    check_parquet(path)
    with pq.ParquetFile(path) as file:
        return file.read(None if columns is None else list(columns))


def check_parquet(path: Path) -> int:
    """The number of a table's rows; refuses what is not an ordinary file, and more rows than can be read."""
    check_file(path)
    rows, size = int(pq.read_metadata(path).num_rows), path.stat().st_size
    if rows > min(MOST_ROWS, _FEW_ROWS + _ROWS_OF_A_BYTE * size):
        raise SimjudgeError(
            f"{path}: names {rows:,} rows in {size:,} bytes, more than are read at once; write them into several files"
        )
    return rows
