"""Comparisons of thinned sets, of sets that a teacher labelled, and of sets with unlike class names."""

from dataclasses import replace

import numpy as np
import pytest
from own_number_sets import box_set

from simjudge.core.errors import SimjudgeError
from simjudge.core.names import DetectorRecord
from simjudge.core.object_tables import Objects
from simjudge.data.semantic_classes import labels_from_predictions
from simjudge.data.sets import write_set
from simjudge.judging.compare_settings import CompareSettings
from simjudge.judging.comparison import compare_sets
from simjudge.questions.compare.result import compare

SETTINGS = CompareSettings(patch=(60, 60), theta=0.7, draws=30)


def test_a_thinned_comparison_is_that_of_the_frames_taken_and_says_so(tmp_path):
    a, b = box_set(1, "real", frames=20), box_set(2, "sim", frames=20)
    write_set(a, tmp_path / "real.json")
    thinned = compare_sets(tmp_path / "real.json", b, replace(SETTINGS, every=2)).content()
    plain = compare_sets(a.take(np.arange(0, 20, 2)), b.take(np.arange(0, 20, 2)), SETTINGS).content()
    assert thinned["overall"] == plain["overall"]
    assert thinned["inputs"]["a"]["name"] == "real, every 2nd frame"
    assert thinned["inputs"]["a"]["thinned"] == "every 2nd frame: 10 of 20"
    assert thinned["inputs"]["b"]["frames"] == 10


def test_labels_of_a_teacher_are_called_so_in_result_message_and_page(tmp_path):
    a, b = box_set(1, "real"), box_set(2, "sim")
    teacher = replace(a, detector=DetectorRecord("big"))
    student = replace(labels_from_predictions(teacher, 0.4), name="photos")
    student = student.with_predictions(b.predictions, detector=DetectorRecord("small"))
    write_set(student, tmp_path / "photos.json")
    result = compare(tmp_path / "photos.json", b, tmp_path / "out", settings=SETTINGS)
    called = "labels: predictions of big at 0.4, a teacher"
    assert result.inputs["a"]["labels"] == called.removeprefix("labels: ")
    assert called in result.name
    assert called in result.meaning
    result.report(tmp_path / "page.html")
    assert called in (tmp_path / "page.html").read_text()


def test_a_detector_that_judges_its_own_labels_is_warned_of():
    a, b = box_set(1, "real"), box_set(2, "sim")
    teacher = replace(a, detector=DetectorRecord("big"))
    own = labels_from_predictions(teacher, 0.4).with_predictions(a.predictions, detector=DetectorRecord("big"))
    lines: list[str] = []
    compare_sets(own, b, SETTINGS, log=lines.append)
    assert any("the detector judged made these labels itself" in line for line in lines)


def test_a_set_without_labels_is_refused_with_ways_out():
    a, b = box_set(1, "real"), box_set(2, "sim")
    bare = replace(a, objects=Objects.empty())
    with pytest.raises(
        SimjudgeError, match=r"real: holds no labelled object.*--from-predictions 0.5.*simjudge robot objects"
    ):
        compare_sets(bare, b, SETTINGS)


def test_classes_of_one_set_are_renamed_to_those_of_the_other():
    a, b = box_set(1, "real"), box_set(2, "sim", shift=4)
    other = replace(b, class_names={1: "kegel", 2: "class 2"})
    lines: list[str] = []
    found = compare_sets(a, other, replace(SETTINGS, rename="kegel=class 1"), log=lines.append).content()
    assert found["overall"] == compare_sets(a, b, SETTINGS).content()["overall"]
    assert found["inputs"]["b"]["rename"] == {"kegel": "class 1"}
    assert "sim: class kegel is called class 1 (--rename)" in lines


def test_a_set_that_labels_both_names_keeps_them():
    a, b = box_set(1, "real"), box_set(2, "sim")
    found = compare_sets(a, b, replace(SETTINGS, rename="class 1=class 2")).content()
    assert set(found["by_class"]) == {"1", "2"}
