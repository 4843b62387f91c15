"""Tables of numbers in result folders, as parquet: float64 by column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import SimjudgeError
from simjudge.results.context_table import column_numbers, number_column, unreadable_table


def write_columns(path: Path, table: Mapping[str, FloatArray]) -> None:
    """Write a table; NaN is an empty cell."""
    pq.write_table(pa.table({name: number_column(values, np.isnan(values)) for name, values in table.items()}), path)


def read_columns(path: Path, columns: Sequence[str], again: str) -> Mapping[str, FloatArray]:
    """Read columns of a table; `again`: what makes the file anew, for refusals."""
    try:
        table = pq.read_table(path)
        missing = [name for name in columns if name not in table.column_names]
        if missing:
            raise SimjudgeError(f"{path}: lacks the column {missing[0]}; {again}")
        return {name: np.asarray(column_numbers(table.column(name)), np.float64) for name in columns}
    except FileNotFoundError as error:
        raise SimjudgeError(f"{path}: is missing; {again}") from error
    except (OSError, pa.ArrowException, ValueError) as error:
        raise unreadable_table(path, error) from error
