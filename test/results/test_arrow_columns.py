"""Columns made and read by their buffers, against pyarrow's own ways; and that pandas stays out of a comparison."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simjudge.results.context_table import ContextParts, column_numbers, number_column, text_column, unreadable_table

NUMBERS = st.lists(st.one_of(st.none(), st.floats(allow_nan=False)), max_size=40)


@given(NUMBERS, st.integers(0, 5))
def test_numbers_are_those_of_pyarrow(values, begin):
    plain = np.array([0.0 if v is None else v for v in values])
    mask = np.array([v is None for v in values], bool)
    column = number_column(plain, mask)
    assert column.equals(pa.array(plain, mask=mask))
    for part in (column.slice(begin), pa.chunked_array([column, column]).slice(begin)):
        expected = [np.nan if v is None else v for v in part.to_pylist()]
        np.testing.assert_array_equal(column_numbers(part), expected)


@pytest.mark.parametrize("kind", [np.int64, np.float64, np.bool_])
def test_every_type_and_a_strided_array(kind):
    values = np.random.default_rng(0).integers(0, 2, (37, 3)).astype(kind)[:, 1]
    column = number_column(values)
    assert column.equals(pa.array(np.ascontiguousarray(values)))
    column.validate(full=True)
    np.testing.assert_array_equal(column_numbers(column), values.astype(float))


@given(st.lists(st.text(st.characters(codec="utf-8")), max_size=20))
def test_texts_are_those_of_pyarrow(texts):
    column = text_column(texts)
    column.validate(full=True)
    assert column.equals(pa.array(texts, pa.string()))


def test_what_cannot_be_a_number_is_refused():
    with pytest.raises(pa.ArrowException):
        column_numbers(text_column(["red"]))


def test_a_comparison_without_crowds_imports_neither_pandas_nor_optimization():
    code = """
import sys
import numpy as np
import simjudge as sj
box = np.tile([10.0, 10, 30, 40], (12, 1))
def made(name):
    frame, kind = np.arange(12), np.zeros(12)
    found = sj.Predictions.build(frame, kind, box + 2, np.full(12, 0.9))
    return sj.FrameSet.build(name, [(640, 480)] * 12, sj.Objects.build(frame, kind, box), found)
result = sj.compare(made("a"), made("b"), draws=20)
assert len(result.contexts) == 24
slow = ("pandas", "matplotlib", "scipy.linalg", "scipy.optimize", "scipy.sparse", "scipy.stats")
print([name for name in slow if name in sys.modules])
import numba, scipy.linalg
a = np.arange(4.0).reshape(2, 2)
assert (numba.njit(lambda a, b: np.dot(a, b))(a, a) == scipy.linalg.blas.dgemm(1.0, a, a)).all()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("Parquet file size is 0 bytes", "Parquet file size is 0 bytes"),
        ("Could not read '/a/b c.parquet'. A 'parquet' file?: Source '/a/b c.parquet': 0 bytes\nmore", "0 bytes"),
        ("", "ValueError"),
    ],
)
def test_a_file_that_pyarrow_refuses_is_named_once(said, shown):
    """As pyarrow 21 does, which names the file itself, and then again."""
    error = unreadable_table(Path("/a/b c.parquet"), ValueError(said))
    assert str(error) == f"/a/b c.parquet: cannot be read as a table ({shown})"


def test_contexts_of_many_comparisons_wait_on_the_disk(tmp_path):
    random = np.random.default_rng(0)
    columns = [{"part": np.full(100_000, part), "w1": random.random(100_000)} for part in range(8)]
    tables = [pa.table({name: number_column(values) for name, values in one.items()}) for one in columns]
    parts, held = ContextParts(), []
    for table in tables:
        parts.add(table)
        held.append(pa.total_allocated_bytes())
    assert parts.count == 8
    assert held[-1] == held[0], "the buffers of one, and no table"
    for name in ("once.parquet", "again.parquet"):
        parts.write(tmp_path / name)
        assert pq.read_table(tmp_path / name).equals(pa.concat_tables(tables))
