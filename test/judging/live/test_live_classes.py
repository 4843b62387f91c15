"""Detections that a stream calls otherwise than its labels: refused frame by frame, or renamed."""

from __future__ import annotations

import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects, Predictions
from simjudge.judging.live.frame_builder import LiveClasses

BOX = [1, 1, 9, 9]


def frame(labelled, predicted, names):
    objects = Objects.build([0] * len(labelled), labelled, [BOX] * len(labelled))
    found = Predictions.build([0] * len(predicted), predicted, [BOX] * len(predicted), [0.9] * len(predicted))
    return FrameSet.build("live", [(40, 30)], objects, found, class_names=names)


def names_of(table, frames):
    return [frames.class_name(k) for k in table.class_id.tolist()]


def test_a_number_against_a_name_is_refused_with_the_parameter():
    with pytest.raises(SimjudgeError, match=r"are of class 0, its labels of cone, .* say it with rename:=0=cone"):
        LiveClasses({}, {}).apply(frame([1], [0], {1: "cone"}))


@pytest.mark.parametrize("labelled", [[1], [2], []])
def test_a_new_name_that_a_frame_lacks_is_none_of_its_labels(labelled):
    renamed = LiveClasses({"0": "Cone"}, {}).apply(frame(labelled, [0, 0], {1: "cone", 2: "pole"}))
    assert names_of(renamed.predictions, renamed) == ["cone", "cone"]
    alone = LiveClasses({"0": "kone"}, {}).apply(frame([2], [0], {2: "pole"}))
    assert names_of(alone.predictions, alone) == ["kone"]
    assert names_of(alone.objects, alone) == ["pole"]


def test_once_a_class_was_in_common_a_stranger_is_only_wrong():
    classes = LiveClasses({}, {})
    classes.apply(frame([1], [1, 0], {1: "cone"}))
    stranger = frame([1], [0], {1: "cone"})
    assert classes.apply(stranger) is stranger


def test_labels_and_detections_are_renamed_as_the_set_where_a_frame_has_the_class():
    classes = LiveClasses({}, {"kegel": "cone", "stange": "pole"})
    renamed = classes.apply(frame([1], [1], {1: "kegel"}))
    assert (names_of(renamed.objects, renamed), names_of(renamed.predictions, renamed)) == (["cone"], ["cone"])
