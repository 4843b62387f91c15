"""Two sets that call one class otherwise: refused with the way out, renamed on either side, and said in the result."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pytest
from typer.testing import CliRunner

from simjudge.commands.app import app
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects, Predictions
from simjudge.data.sets import write_set
from simjudge.judging.class_numbering import rename_classes
from simjudge.judging.compare_settings import CompareSettings
from simjudge.judging.comparison import compare_sets

FAST = {"draws": 0, "patch": (20, 20)}


def frames(name, names, classes=(0, 1), count=6):
    """A small and a large thing in each frame, found to the pixel."""
    boxes = {classes[-1]: [30, 8, 55, 28], classes[0]: [4, 5, 14, 15]}
    rows = [(i, k, [boxes[k][0] + i, *boxes[k][1:]]) for i in range(count) for k in classes]
    frame, class_id, box = zip(*rows, strict=True)
    found = Predictions.build(frame, class_id, box, [0.9] * len(rows))
    return FrameSet.build(name, [(64, 48)] * count, Objects.build(frame, class_id, box), found, class_names=names)


def test_the_refusal_of_sets_without_a_common_class_holds_an_option_that_works(tmp_path):
    write_set(frames("real", {0: "small cone", 1: "large cone"}), tmp_path / "real.json")
    write_set(frames("sim", {0: "kegel klein", 1: "kegel gross"}), tmp_path / "sim.json")
    line = [
        "compare",
        str(tmp_path / "real.json"),
        str(tmp_path / "sim.json"),
        "--draws",
        "0",
        "--patch",
        "20x20",
        "--out",
        str(tmp_path / "out"),
    ]
    refused = str(CliRunner().invoke(app, line).exception)
    option = refused.partition("as in ")[2].partition(", or")[0]
    assert option == "--b-rename 'kegel klein=small cone'"
    done = CliRunner().invoke(app, [*line, *shlex.split(option), "--b-rename", "kegel gross=large cone"])
    assert done.exit_code == 0, done.output
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert result["class_names"] == {"0": "small cone", "1": "large cone"}
    assert [each["mean_w1"] for each in result["by_class"].values()] == [0, 0]
    assert result["inputs"]["b"]["rename"] == {"kegel klein": "small cone", "kegel gross": "large cone"}
    assert "rename" not in result["inputs"]["a"]


def test_classes_of_one_new_name_become_one_with_labels_and_predictions():
    merged = rename_classes(frames("x", {0: "blue", 1: "yellow"}), {"blue": "cone", "YELLOW": "Cone"}, "--a-rename")
    assert merged.class_names == {0: "cone"}
    assert set(merged.objects.class_id.tolist()) == set(merged.predictions.class_id.tolist()) == {0}
    into = rename_classes(frames("x", {0: "blue", 1: "yellow"}), {"yellow": "blue"}, "--a-rename")
    assert (into.class_names, len(into.objects)) == ({0: "blue"}, 12)
    np.testing.assert_array_equal(into.objects.box, frames("x", {}).objects.box)


def test_names_may_be_swapped_and_numbers_named():
    swapped = rename_classes(frames("x", {0: "blue", 1: "yellow"}), {"blue": "yellow", "yellow": "blue"}, "--a-rename")
    assert swapped.class_names == {0: "yellow", 1: "blue"}
    assert swapped.objects.class_id.tolist() == frames("x", {}).objects.class_id.tolist()
    named = rename_classes(frames("x", {}, (3, 7)), {"7": "pole"}, "--a-rename")
    assert (named.class_names, set(named.objects.class_id.tolist())) == ({7: "pole"}, {3, 7})


def test_a_number_of_a_nameless_set_is_told_and_renamed():
    a, b, said = frames("real", {4: "small", 5: "large"}, (4, 5)), frames("sim", {}), []
    with pytest.raises(SimjudgeError, match=r"no class in common: large, small against .*--b-rename 0=small"):
        compare_sets(a, b, CompareSettings(**FAST), log=said.append)
    assert said[0].endswith("or say which they are: --b-rename 0=NAME")
    done = compare_sets(a, b, CompareSettings(b_rename="0=small,1=large", **FAST))
    assert done.result.numbers.overall.mean_w1 == 0
    turned = compare_sets(b, a, CompareSettings(a_rename={"0": "small", "1": "large"}, **FAST))
    assert turned.result.numbers.overall.mean_w1 == 0


def test_a_class_that_the_set_has_not_is_refused_with_those_that_it_has():
    with pytest.raises(SimjudgeError, match=r"--b-rename cube=box: sim has no class 'cube'; it has small, large"):
        compare_sets(
            frames("real", {0: "small"}, (0,)),
            frames("sim", {0: "small", 1: "large"}),
            CompareSettings(b_rename="cube=box", **FAST),
        )
    with pytest.raises(UsageError, match="--b-rename cube: give OLD=NEW, the name that a class has in this set"):
        CompareSettings(b_rename="cube")
