"""Judging some classes is the same as taking the others away by hand, from labels and from predictions."""

from dataclasses import replace

import numpy as np
import pytest
from random_frames import made

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects, Predictions
from simjudge.judging.class_numbering import ClassSelection
from simjudge.judging.compare_settings import CompareSettings, SweepSettings
from simjudge.judging.comparison import compare_sets
from simjudge.judging.sweep import sweep_sets

NAMES = {0: "blue cone", 1: "Red", 2: "post"}
FAST = {"patch": (60, 60), "theta": 0.4, "draws": 20}


def cones(seed, names=None):
    """Eight frames of three classes; where `names` is given, the set calls its classes so."""
    rng = np.random.default_rng(seed)
    frame, kind = np.repeat(np.arange(8), 6), rng.integers(0, 3, 48)
    corner = rng.uniform(0, 90, (48, 2))
    box = np.hstack([corner, corner + rng.uniform(20, 30, (48, 2))])
    found = box + rng.normal(0, 3, box.shape)
    return FrameSet.build(
        f"set{seed}",
        [(640, 480)] * 8,
        Objects.build(frame, kind, box),
        Predictions.build(frame, rng.permutation(kind), found, rng.uniform(0.3, 1, 48)),
        class_names=NAMES if names is None else names,
    )


def by_hand(frames, ids):
    """A naive loop: the rows of these classes, one after the other."""
    objects, predictions = frames.objects, frames.predictions
    rows = [i for i in range(len(objects)) if objects.class_id[i] in ids]
    found = [i for i in range(len(predictions)) if predictions.class_id[i] in ids]
    return FrameSet.build(
        frames.name,
        frames.size,
        Objects.build(objects.frame[rows], objects.class_id[rows], objects.box[rows]),
        Predictions.build(
            predictions.frame[found], predictions.class_id[found], predictions.box[found], predictions.score[found]
        ),
        class_names={k: name for k, name in frames.class_names.items() if k in ids},
    )


def numbers(content):
    kept = ("by_class", "overall", "confusion", "class_names", "curves")
    return {key: content[key] for key in kept if key in content}


@pytest.mark.parametrize(("wanted", "ids"), [("red", {1}), (["RED", "blue_cone"], {0, 1}), ("post,red", {1, 2})])
def test_it_is_the_same_as_taking_the_others_away(wanted, ids):
    a, b = cones(1), cones(2)
    chosen = compare_sets(a, b, CompareSettings(classes=wanted, **FAST))
    plain = compare_sets(by_hand(a, ids), by_hand(b, ids), CompareSettings(**FAST))
    assert numbers(chosen.content()) == numbers(plain.content())
    assert {key: chosen.inputs["a"][key] for key in ("objects", "predictions", "false_positives")} == {
        key: plain.inputs["a"][key] for key in ("objects", "predictions", "false_positives")
    }
    assert set(chosen.content()["by_class"]) == {str(k) for k in ids}
    assert len(chosen.parameters["classes"]) == len(ids)
    assert "classes" not in plain.parameters
    swept = {"thetas": (0.4, 0.6), "patches": (60,), **FAST}
    chosen = sweep_sets(a, b, SweepSettings(classes=wanted, **swept))
    plain = sweep_sets(by_hand(a, ids), by_hand(b, ids), SweepSettings(**swept))
    assert numbers(chosen.content) == numbers(plain.content)
    assert chosen.content["parameters"]["classes"]


def test_sets_that_number_their_classes_otherwise():
    other = {0: "post", 1: "blue_cone", 2: "red"}
    a, b = cones(1), cones(2, other)
    chosen = compare_sets(a, b, CompareSettings(classes="Red", **FAST)).content()
    assert numbers(chosen) == numbers(compare_sets(by_hand(a, {1}), by_hand(b, {2}), CompareSettings(**FAST)).content())


def test_numbers_without_names_mean_what_the_other_set_calls_them():
    a, b = cones(1), cones(2, {})
    chosen = compare_sets(a, b, CompareSettings(classes="red", **FAST)).content()
    assert chosen["overall"]["n_b"] == np.count_nonzero(b.objects.class_id == 1)
    both = compare_sets(cones(1, {}), b, CompareSettings(classes="2", **FAST)).content()
    assert list(both["by_class"]) == ["2"]


@pytest.mark.parametrize(
    ("wanted", "error", "message"),
    [
        ("rad", UsageError, "--class rad: no set has this class; is Red meant"),
        ("zebra", UsageError, "--class zebra: no set has this class; there are Red, blue cone, post"),
        (["red", ""], UsageError, "give names of classes"),
        ([5], UsageError, "give names of classes"),
    ],
)
def test_a_class_that_does_not_exist(wanted, error, message):
    with pytest.raises(error, match=message):
        compare_sets(cones(1), cones(2), CompareSettings(classes=wanted, **FAST))


def test_a_class_of_which_nothing_is_labelled():
    b = replace(by_hand(cones(2), {0, 1}), class_names=NAMES)
    with pytest.raises(SimjudgeError, match=r"set2: holds no labelled object of post \(--class\)"):
        compare_sets(cones(1), b, CompareSettings(classes="post", **FAST))


def test_no_names_are_all_classes():
    frames = made(1)
    assert ClassSelection((), (frames,)).apply(frames) is frames
    assert CompareSettings(classes=[]).classes is None
