"""A comparison in FiftyOne: as a data set of its own, and as fields of a person's data set."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_results import write_result_beside_sets

import simjudge as sj
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.questions.compare.fiftyone_data import OWN_FIELDS, FrameFinder
from simjudge.questions.compare.layers import frame_numbers
from simjudge.questions.compare.result_frames import read_result_frames
from simjudge.results.saved_result import load_result

FRAMES = 5


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result whose sets lie beside it."""
    return write_result_beside_sets(tmp_path_factory.mktemp("exports"), FRAMES)


@pytest.mark.skipif(importlib.util.find_spec("fiftyone") is not None, reason="fiftyone is installed")
def test_without_fiftyone_the_extra_is_named(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(SimjudgeError, match=r"pip install 'simjudge\[fiftyone\]'"):
        sj.report(folder, tmp_path / "data", to="fiftyone")
    assert not (tmp_path / "data").exists()


def test_a_fiftyone_data_set_holds_w1_overlap_and_nearest_contexts(folder: Path, tmp_path: Path) -> None:
    fiftyone = pytest.importorskip("fiftyone", reason="FiftyOne (the extra `fiftyone`) is not installed")
    try:
        fiftyone.list_datasets()
    except Exception as error:  # noqa: BLE001 - of several kinds, of its own and of its database
        pytest.skip(f"FiftyOne has no database here: {error}")
    written = sj.report(folder, tmp_path / "data", to="fiftyone")
    data = fiftyone.Dataset.from_dir(str(written.path), dataset_type=fiftyone.types.FiftyOneDataset)
    try:
        contexts = load_result(folder).contexts
        assert contexts is not None
        assert data.count() == 2 * FRAMES
        found = {each["context_row"]: each for sample in data for each in sample["ground_truth"].detections}
        assert sorted(found) == list(range(len(contexts)))
        for row, each in found.items():
            size = contexts["width"][row], contexts["height"][row]
            assert each.bounding_box[0] == pytest.approx(contexts["x0"][row] / size[0])
            assert each["performance"] == contexts["performance"][row]
            assert each["in_overlap"] == bool(contexts["in_overlap"][row])
            w1, match = contexts["w1"][row], contexts["match_row"][row]
            known = dict(each.iter_fields())
            assert known.get("w1") == (None if np.isnan(w1) else w1)
            assert known.get("nearest_row") == (None if np.isnan(match) else match)
        assert all(Path(sample.filepath).is_file() for sample in data)
        assert data.info["simjudge"]["overall"]["mean_w1"] == load_result(folder).overall.numbers.mean_w1
    finally:
        data.delete()
    sj.report(folder, tmp_path / "data", to="fiftyone")  # its own earlier folder is replaced


@pytest.fixture
def fiftyone() -> Any:
    module = pytest.importorskip("fiftyone", reason="FiftyOne (the extra `fiftyone`) is not installed")
    try:
        module.list_datasets()
    except Exception as error:  # noqa: BLE001 - of several kinds, of its own and of its database
        pytest.skip(f"FiftyOne has no database here: {error}")
    return module


def pictures_of(folder: Path) -> list[Path]:
    return sorted(each for each in (folder.parent / "hall").rglob("*") if each.suffix in (".png", ".jpg"))


def test_a_persons_data_set_gets_fields_and_keeps_its_own(folder: Path, fiftyone: Any) -> None:
    shown = read_result_frames(load_result(folder))
    data = fiftyone.Dataset("simjudge-test-hall")
    try:
        own = [fiftyone.Sample(filepath=str(each), weather="dry") for each in pictures_of(folder)]
        other = fiftyone.Sample(
            filepath="/elsewhere/other.jpg", simjudge_w1=0.5, simjudge_set="B"
        )  # of a former result
        data.add_samples([*own, other], progress=False)
        written = sj.report(folder, to="fiftyone", onto="simjudge-test-hall")
        assert written.losses.counts == {"frames that the data set does not hold": FRAMES}
        data.reload()
        for sample in data:
            if sample.filepath == "/elsewhere/other.jpg":
                assert {sample[field] for field in OWN_FIELDS} == {None}
                continue
            (frame,) = [f for f in shown.frames if f.which == "a" and f.name == Path(sample.filepath).stem]
            assert (sample["weather"], sample["simjudge_set"]) == ("dry", "A")
            for key, value in frame_numbers(shown, frame).items():
                assert sample[f"simjudge_{key}"] == pytest.approx(value)
            found = sample["simjudge_contexts"].detections
            assert [each["context_row"] for each in found] == frame.rows.tolist()
            assert [each["performance"] for each in found] == shown.contexts["performance"][frame.rows].tolist()
        assert data.info["simjudge"]["result"] == "result"
        with pytest.raises(UsageError, match=r"--out x: with --onto the fields are written into the data set"):
            sj.report(folder, "x", to="fiftyone", onto="simjudge-test-hall")
        with pytest.raises(SimjudgeError, match="--onto nothing: FiftyOne has no data set of this name; it has"):
            sj.report(folder, to="fiftyone", onto="nothing")
    finally:
        data.delete()


def test_frames_are_found_by_file_and_else_by_a_name_that_tells(folder: Path, tmp_path: Path) -> None:
    shown = read_result_frames(load_result(folder))
    frame = next(each for each in shown.frames if each.which == "a")
    image = next(each for each in pictures_of(folder) if each.stem == frame.name)
    finder = FrameFinder(shown, [str(image)])
    assert finder.find(str(image)) is frame
    # Both sets have frames of these names: a file elsewhere could be of either.
    assert finder.find(str(tmp_path / image.name)) is None
    alone = replace(shown, frames=[each for each in shown.frames if each.which == "a"])
    assert FrameFinder(alone, [str(tmp_path / image.name)]).find(str(tmp_path / image.name)) is frame
    assert FrameFinder(alone, ["/x/other.png"]).find("/x/other.png") is None
