"""The second judge's frame: what is read, what is compared, what is refused or said."""

import numpy as np
import pytest
from object_sets import START, cone_set

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.data.sets import write_set
from simjudge.results.object_result import load_object_result
from simjudge.results.series_verdicts import AGAIN, DIFFERS, HALVES, NOT_SHOWN
from simjudge.studies.object_comparison import compare_by_objects
from simjudge.studies.object_settings import ObjectSettings


def compared(real, virtual, again=None, **settings):
    lines = []
    return compare_by_objects(real, virtual, again, ObjectSettings(**settings), log=lines.append), lines


def rows(found):
    return {(row["metric"], row["subject"]): row for row in found.content()["rows"]}


@pytest.fixture(scope="module")
def wider():
    return compared(cone_set("real", 1), cone_set("sim", 2, wider=0.5, blur=True))[0]


def test_boxes_that_are_wider_differ_in_width_and_not_in_height(wider):
    found = rows(wider)
    width = found["box width", "all objects"]
    assert width["verdict"] == DIFFERS
    assert width["low"] < 0.5 < width["high"]
    assert (width["unit"], width["floor_source"], width["sensor"]) == ("px", HALVES, "camera")
    assert found["box height", "all objects"]["verdict"] == NOT_SHOWN
    assert found["box width", "cone 0"]["is_single"]


def test_whole_pictures_are_compared_too(wider):
    assert rows(wider)["piqe", ""]["verdict"] == DIFFERS


def test_colours_are_compared_and_models_named(wider):
    content = wider.content()
    (model,) = content["models"]
    assert model["metric"] == "niqe"
    assert any(model["origin"] in note and model["digest"][:16] in note for note in content["notes"])
    colours = {(each["subject"], each["channel"]): each for each in content["colours"]}
    assert set(colours) == {(subject, name) for subject in ("", "cone") for name in ("hue", "saturation", "value")}
    assert colours["", "value"]["distance"] > 0


def test_a_model_that_is_missing_is_refused_before_anything_is_measured():
    with pytest.raises(UsageError, match="neither a file nor the name of a NIQE model"):
        compared(cone_set("real", 1), cone_set("sim", 2), niqe_model="none.json")


def test_a_second_real_recording_is_the_floor():
    found, _ = compared(cone_set("real", 1), cone_set("sim", 2, wider=0.5), cone_set("again", 3, wider=0.9))
    width = rows(found)["box width", "all objects"]
    assert width["floor_source"] == AGAIN
    assert width["floor"] == pytest.approx(0.9, abs=0.15)
    assert width["verdict"] != DIFFERS
    assert [*found.content()["inputs"]] == ["real", "virtual", "real_again"]


def test_a_result_folder_holds_what_was_compared(wider, tmp_path):
    wider.save(tmp_path / "out")
    saved = load_object_result(tmp_path / "out")
    assert saved.rows == wider.content()["rows"]
    for pair, row in zip(saved.series, wider.compared["camera"].rows, strict=True):
        np.testing.assert_array_equal(pair.time, row.time)
        np.testing.assert_array_equal(pair.real, row.real)
        np.testing.assert_array_equal(pair.virtual, row.virtual)


def test_virtual_stamps_are_moved_by_the_offset(wider):
    late = cone_set("sim", 2, wider=0.5, blur=True, start=START - 7_000_000_000)
    found, _ = compared(cone_set("real", 1), late, time_offset=7.0)
    assert rows(found) == rows(wider)


@pytest.mark.parametrize(
    ("virtual", "settings", "said"),
    [
        (
            lambda: cone_set("sim", 2, start=START + 100_000_000_000),
            {},
            "no common time: real has .* --time-offset -100",
        ),
        (lambda: cone_set("sim", 2, pictures=False, stamp=np.full(40, -1)), {}, "no frame has a stamp"),
        (
            lambda: cone_set("sim", 2),
            {"sensor": "lidar"},
            "--sensor lidar: real: is a set of pictures and has no clouds",
        ),
    ],
    ids=["no common time", "no stamps", "no clouds"],
)
def test_what_cannot_be_compared_is_refused_in_a_line(virtual, settings, said):
    with pytest.raises(SimjudgeError, match=said):
        compared(cone_set("real", 1), virtual(), **settings)


def test_no_object_in_common_is_refused():
    real, virtual = (cone_set(name, 1, pictures=False, labelled=np.zeros(40, bool)) for name in ("real", "sim"))
    with pytest.raises(SimjudgeError, match="real and sim: no object and no metric in common; label the same"):
        compared(real, virtual)


def test_a_path_that_is_not_there_is_named(tmp_path):
    with pytest.raises(SimjudgeError, match=r"none\.mcap: does not exist"):
        compared(tmp_path / "none.mcap", cone_set("sim", 1))


def test_recordings_without_clouds_are_compared_by_pictures_without_a_word_on_clouds(tmp_path, wider):
    for name, each in (("real", cone_set("real", 1)), ("sim", cone_set("sim", 2, wider=0.5, blur=True))):
        write_set(each, tmp_path / f"{name}.mcap")
    found, lines = compared(tmp_path / "real.mcap", tmp_path / "sim.mcap")
    assert rows(found).keys() == rows(wider).keys()
    assert not any("cloud" in line for line in lines)
    assert found.content()["inputs"]["real"]["frames"] == 40
