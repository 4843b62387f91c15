"""The second judge's result folder: read as it was written, and refused where it is damaged."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.questions.objects.result import (
    ResultPicture,
    SeriesPair,
    is_object_result,
    load_object_result,
    save_object_result,
)

ROW = {
    "sensor": "camera",
    "metric": "box width",
    "unit": "px",
    "subject": "cone 1",
    "frames": 2,
    "verdict": "differs",
    "unpaired_real": 0,
    "unpaired_virtual": 0,
    "missing_real": 0,
    "missing_virtual": 1,
    "missing_both": 0,
}
CONTENT = {
    "version": "0.2.0",
    "parameters": {},
    "inputs": {"real": {"name": "r"}, "virtual": {"name": "v"}},
    "rows": [ROW, ROW],
}
PAIRS = [
    SeriesPair(np.array([0.0, 0.5, 1.0]), np.array([1.0, 2.0, 3.0]), np.array([1.0, np.nan, 4.0])),
    SeriesPair(np.array([2.0]), np.array([np.nan]), np.array([7.0])),
]
TEXTS = pa.table({name: ["x"] for name in ("row", "time", "real", "virtual")})
PICTURE = ResultPicture("map", "A map", "how to read it", np.arange(12, dtype=np.uint8).reshape(2, 2, 3))


@pytest.fixture
def folder(tmp_path):
    save_object_result(tmp_path / "out", CONTENT, PAIRS, [PICTURE])
    return tmp_path / "out"


def test_it_is_read_as_it_was_written(folder):
    saved = load_object_result(folder)
    assert is_object_result(folder)
    assert saved.side_name("virtual") == "v"
    assert saved.content["pictures"] == [{"file": "map.png", "title": "A map", "note": "how to read it"}]
    for read, written in zip(saved.series, PAIRS, strict=True):
        for name in ("time", "real", "virtual"):
            np.testing.assert_array_equal(getattr(read, name), getattr(written, name))


def test_an_earlier_result_is_replaced_and_a_strangers_folder_is_not(folder):
    save_object_result(folder, {**CONTENT, "rows": []}, [], [])
    assert not (folder / "pictures").exists()
    (folder / "mine.txt").write_text("x")
    with pytest.raises(SimjudgeError, match="holds 'mine"):
        save_object_result(folder, CONTENT, PAIRS, [])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda f: (f / "objects.json").write_text("{"), "objects.json"),
        (
            lambda f: (f / "objects.json").write_text(json.dumps({**CONTENT, "rows": [{**ROW, "verdict": "maybe"}]})),
            "verdict",
        ),
        (lambda f: (f / "objects.json").write_text(json.dumps({**CONTENT, "rows": [ROW]})), "does not belong"),
        (lambda f: (f / "series.parquet").unlink(), "is missing"),
        (lambda f: (f / "series.parquet").write_bytes(b"PAR1"), "cannot be read as a table"),
        (
            lambda f: pq.write_table(pa.table({"row": [0], "time": [0.0], "real": [0.0]}), f / "series.parquet"),
            "lacks the column virtual",
        ),
        (lambda f: pq.write_table(TEXTS, f / "series.parquet"), "cannot be read as a table"),
        (lambda f: (f / "objects.json").unlink(), "holds no objects.json"),
    ],
)
def test_what_is_damaged_is_refused_in_a_line(folder, change, said):
    change(folder)
    with pytest.raises(SimjudgeError, match=said) as told:
        _ = load_object_result(folder).series
    assert "\n" not in str(told.value)
