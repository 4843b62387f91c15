"""The detector that doctor's lines name finds something of what is labelled."""

from __future__ import annotations

import pytest
from painted_streets import paint_streets

from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects
from simjudge.data.sets import read_set
from simjudge.questions.doctor.diagnosis import OWN_DETECTOR, fitting_detector, has_only_label_pictures


@pytest.mark.parametrize(
    ("names", "detector"),
    [
        ({0: "red"}, "cones_red_green"),
        ({0: "Red cone", 1: "car"}, "cones_red_green"),
        ({3: "yellow"}, "cones_blue_yellow"),
        ({0: "car"}, OWN_DETECTOR),
        ({}, OWN_DETECTOR),
    ],
)
def test_it_has_a_class_in_common_with_the_labels(names, detector):
    ids = list(names) or [5]
    objects = Objects.build([0] * len(ids), ids, [[1, 1, 9, 9]] * len(ids))
    assert fitting_detector(FrameSet.build("x", [(40, 30)], objects, class_names=names)) == detector


def test_without_labels_any_will_do_and_label_pictures_need_a_net(tmp_path):
    assert fitting_detector(None) == fitting_detector(FrameSet.build("x", [(40, 30)])) == "cones_red_green"
    streets = read_set(paint_streets(tmp_path / "streets", 2))
    assert has_only_label_pictures(streets)
    assert fitting_detector(streets) == OWN_DETECTOR
