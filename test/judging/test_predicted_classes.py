"""Predictions that a recording calls otherwise than its labels: refused, or renamed."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from bag_samples import image, vision, write_mcap

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects, Predictions
from simjudge.data.sets import read_set, write_set
from simjudge.judging.class_numbering import match_predicted_classes
from simjudge.judging.compare_settings import CompareSettings
from simjudge.judging.comparison import compare_sets


def recording(path, label, detection, count=8):
    """Boxes that a detector finds to the pixel; both topics call the class as they like."""
    messages = []
    for stamp in range(1, count + 1):
        box = (10.0 + stamp, 12.0, 8.0, 10.0)
        messages += [
            ("/image", stamp, image(stamp, 48, 32)),
            ("/ground_truth", stamp, vision(stamp, [(label, 1.0, *box)])),
            ("/detections", stamp, vision(stamp, [(detection, 0.9, *box)])),
        ]
    write_mcap(path, messages)
    return path


FAST = {"draws": 0, "patch": (20, 20)}


@pytest.mark.parametrize(("label", "detection"), [("cone", "0"), ("0", "cone"), ("cone", "7")])
def test_a_number_on_one_side_and_a_name_on_the_other_are_refused_with_the_way_out(tmp_path, label, detection):
    a = recording(tmp_path / "real.mcap", "cone", "cone")
    b = recording(tmp_path / "sim.mcap", label, detection)
    said = f"sim.mcap: its predictions are of class {detection}, its labels of {label}, .* --rename {detection}={label}"
    with pytest.raises(SimjudgeError, match=said):
        compare_sets(a, b, CompareSettings(**FAST))
    if label == "cone":
        compared = compare_sets(a, b, CompareSettings(rename=f"{detection}=cone", **FAST))
        assert compared.result.numbers.overall.mean_w1 == 0
        assert compared.result.numbers.overall.mean_performance_b == 1


def test_a_new_name_that_no_class_has_is_refused(tmp_path):
    frames = read_set(recording(tmp_path / "sim.mcap", "cone", "0"))
    with pytest.raises(SimjudgeError, match=r"--rename \.\.\.=kone: sim.mcap has no such class; it has cone"):
        match_predicted_classes(frames, {"0": "kone"})


@pytest.mark.parametrize(
    ("names", "labelled", "predicted"),
    [
        ({0: "red", 1: "green"}, [0], [1]),  # found something else, and says so
        ({}, [0], [1]),  # numbers on both sides
        ({0: "red"}, [0], [0, 5]),  # some are in common
    ],
)
def test_what_may_be_true_is_taken_as_it_is(names, labelled, predicted):
    objects = Objects.build([0] * len(labelled), labelled, [[1, 1, 9, 9]] * len(labelled))
    found = Predictions.build([0] * len(predicted), predicted, [[1, 1, 9, 9]] * len(predicted), [0.9] * len(predicted))
    frames = FrameSet.build("x", [(40, 30)], objects, found, class_names=names)
    assert match_predicted_classes(frames, {}) is frames


@pytest.mark.parametrize(("names", "old"), [({0: "kone"}, "kone"), ({}, "7"), ({7: "kone"}, "kone")])
def test_predictions_of_another_file_under_other_names_are_refused_or_renamed(tmp_path, names, old):
    box = [[4, 4, 20, 20]] * 4
    number = next(iter(names), 7)
    found = Predictions.build(range(4), [number] * 4, box, [0.9] * 4)
    frames = FrameSet.build("set", [(40, 30)] * 4, Objects.build(range(4), [1] * 4, box), class_names={1: "cone"})
    for name in ("a", "b"):
        write_set(frames, tmp_path / f"{name}.json")
    write_set(
        replace(frames, objects=Objects.empty(), predictions=found, class_names=names, predicted=frames.labelled),
        tmp_path / "found.json",
    )
    sets = tmp_path / "a.json", tmp_path / "b.json"
    given = {"a_predictions": tmp_path / "found.json", "b_predictions": tmp_path / "found.json"} | FAST
    with pytest.raises(SimjudgeError, match=rf"predictions are of class {old}, .* --rename {old}=cone"):
        compare_sets(*sets, CompareSettings(**given))
    compared = compare_sets(*sets, CompareSettings(rename=f"{old}=cone", **given))
    assert compared.result.numbers.overall.mean_performance_b == 1


def test_results_of_coco_whose_categories_are_other_numbers_are_refused_or_renamed(tmp_path):
    box = [[4, 4, 20, 20]] * 4
    objects = Objects.build(range(4), [1] * 4, box)
    frames = FrameSet.build("set", [(40, 30)] * 4, objects, class_names={1: "cone"}, frame_name=list("abcd"))
    write_set(frames, tmp_path / "set.json")
    rows = [{"image_id": name, "category_id": 80, "bbox": [4, 4, 16, 16], "score": 0.9} for name in "abcd"]
    (tmp_path / "found.json").write_text(json.dumps(rows))
    given = {"a_predictions": tmp_path / "found.json", "b_predictions": tmp_path / "found.json"} | FAST
    sets = (tmp_path / "set.json",) * 2
    with pytest.raises(SimjudgeError, match=r"predictions are of class 80, its labels of cone, .* --rename 80=cone"):
        compare_sets(*sets, CompareSettings(**given))
    compared = compare_sets(*sets, CompareSettings(rename="80=cone", **given))
    assert compared.result.numbers.overall.mean_performance_b == 1
