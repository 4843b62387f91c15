"""Parquet files are read, or refused before they fill the memory or wait for a writer."""

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.core.parquet import read_parquet


def test_a_table_is_read_by_its_columns(tmp_path):
    table = pa.table({"a": [1, 2], "b": ["x", None]})
    pq.write_table(table, tmp_path / "t.parquet")
    assert read_parquet(tmp_path / "t.parquet") == table
    assert read_parquet(tmp_path / "t.parquet", ["b"]) == table.select(["b"])


def test_more_rows_than_so_few_bytes_measure_are_refused(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": pa.nulls(2_000_000, pa.int64())}), path)
    with pytest.raises(SimjudgeError, match=r"names 2,000,000 rows in [\d,]+ bytes"):
        read_parquet(path)


def test_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "t.parquet")
    with pytest.raises(SimjudgeError, match="is a pipe"):
        read_parquet(tmp_path / "t.parquet")
