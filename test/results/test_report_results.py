"""Reading result folders: what is damaged is named in one line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_results import made_contexts, made_set, write_result, write_sweep

from simjudge.core.errors import SimjudgeError
from simjudge.results.saved_result import load_results


@pytest.fixture(scope="module")
def contexts() -> pa.Table:
    return made_contexts(made_set("a", 1, 6, pictures=False), made_set("b", 2, 6, pictures=False))


def test_entries_by_id_and_overall_first(tmp_path: Path, contexts: pa.Table) -> None:
    (result,) = load_results([write_result(tmp_path / "r", contexts)])
    assert [e.label for e in result.entries] == ["all classes", "red", "green"]
    assert result.contexts is not None
    assert len(result.contexts) == contexts.num_rows
    assert result.set_name("b") == "chrono"


def test_folders_of_the_same_name_are_told_apart(tmp_path: Path, contexts: pa.Table) -> None:
    folders = [write_result(tmp_path / side / "r", contexts) for side in ("x", "y")]
    assert [r.name for r in load_results(folders)] == ["r", "r (2)"]


def test_a_sweep_alone(tmp_path: Path, contexts: pa.Table) -> None:
    (result,) = load_results([write_sweep(tmp_path / "s", contexts)])
    assert result.contexts is None
    assert {c.theta for c in result.curves} >= {0.5, 0.8, 0.9}


def _rewrite(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        content = json.loads((folder / "result.json").read_text())
        change(content)
        (folder / "result.json").write_text(json.dumps(content))

    return write


def _cut(name: str, at: int) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:at])


def _without_w1(folder: Path) -> None:
    path = folder / "contexts.parquet"
    pq.write_table(pq.read_table(path).drop_columns(["w1"]), path)


def _match_of_no_row(folder: Path) -> None:
    path = folder / "contexts.parquet"
    table = pq.read_table(path)
    rows = pa.array([10**6] * table.num_rows)
    pq.write_table(table.set_column(table.column_names.index("match_row"), "match_row", rows), path)


BREAKS: dict[str, Callable[[Path], object]] = {
    "no such folder": shutil.rmtree,
    "neither result.json nor sweep.json": lambda folder: (folder / "result.json").unlink(),
    "result.json:1: not valid JSON": _cut("result.json", 300),
    "result.json: no result of simjudge compare": lambda folder: (folder / "result.json").write_text("[1, 2]"),
    "result.json: by_class: fields are needed; nothing is given": _rewrite(lambda c: c.pop("by_class")),
    "by_class.1.mean_w1: a number is needed; this is much": _rewrite(
        lambda c: c["by_class"]["1"].update(mean_w1="much")
    ),
    "by_class.cone: the number of a class is needed": _rewrite(lambda c: c["by_class"].update(cone=c["overall"])),
    "result.json: overall.verdict: there is no 'fine'": _rewrite(lambda c: c["overall"].update(verdict="fine")),
    "result.json: overall.n_a: a whole number": _rewrite(lambda c: c["overall"].pop("n_a")),
    "result.json: overall.map50_a: a number is needed": _rewrite(lambda c: c["overall"].update(map50_a=[0.5])),
    "result.json: overall.w1_quantiles: fields are needed": _rewrite(lambda c: c["overall"].update(w1_quantiles=True)),
    "result.json: parameters.patch: 2 numbers": _rewrite(lambda c: c["parameters"].update(patch="large")),
    "result.json: inputs.a: fields": _rewrite(lambda c: c["inputs"].update(a=3)),
    "result.json: inputs.model.path: a text": _rewrite(lambda c: c["inputs"].update(model={"path": []})),
    "result.json: class_names.1: a text is needed; this is 5": _rewrite(lambda c: c["class_names"].update({"1": 5})),
    "result.json: losses[0]: a text is needed": _rewrite(lambda c: c.update(losses=[{}])),
    "result.json: parameters.theta: a number is needed": _rewrite(lambda c: c["parameters"].update(theta=10**400)),
    "result.json: parameters.patch: 2 numbers from 1 to 4096 [height, width]": _rewrite(
        lambda c: c["parameters"].update(patch=[100_000, 100_000])
    ),
    "result.json: parameters.draws: a whole number from 0 to 100000": _rewrite(
        lambda c: c["parameters"].update(draws=10**12)
    ),
    "result.json: overall.draws: a whole number from 0 to 100000": _rewrite(
        lambda c: c["overall"].update(draws=10**12)
    ),
    "result.json: overall.units_a: a whole number from 0 to 10000000": _rewrite(
        lambda c: c["overall"].update(units_a=10**12)
    ),
    "result.json: inputs.b.units: a whole number from 0 to 10000000": _rewrite(
        lambda c: c["inputs"].update(b={"units": 10**12})
    ),
    "contexts.parquet: is missing": lambda folder: (folder / "contexts.parquet").unlink(),
    "contexts.parquet: cannot be read as a table": _cut("contexts.parquet", 500),
    "contexts.parquet: lacks the column w1": _without_w1,
    "match_row names a row": _match_of_no_row,
    "sweep.json:1: not valid JSON": lambda folder: (folder / "sweep.json").write_text("{"),
    "sweep.json: curves: a list that is not empty is needed": (
        lambda folder: (folder / "sweep.json").write_text('{"parameters": {}, "inputs": {}, "curves": []}')
    ),
    "sweep.json: curves[0].theta: a number is needed; nothing is given": (
        lambda folder: (folder / "sweep.json").write_text('{"parameters": {}, "inputs": {}, "curves": [{}]}')
    ),
}


@pytest.mark.parametrize("said", BREAKS)
def test_what_is_damaged_is_named_in_one_line(tmp_path: Path, contexts: pa.Table, said: str) -> None:
    folder = write_result(tmp_path / "r", contexts)
    BREAKS[said](folder)
    with pytest.raises(SimjudgeError) as error:
        load_results([folder])
    assert said in str(error.value)
    assert str(folder) in str(error.value)
    assert "\n" not in str(error.value)


def test_nan_in_the_file_is_undefined(tmp_path: Path, contexts: pa.Table) -> None:
    folder = write_result(tmp_path / "r", contexts, gap=float("nan"))
    (result,) = load_results([folder])
    assert result.overall is not None
    assert result.overall.numbers.gap is None
