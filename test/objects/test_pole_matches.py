"""Poles by SIFT: matches against a naive loop over descriptors, and on drawn poles."""

from itertools import pairwise

import cv2
import numpy as np
import pytest
from moving_boxes import stamps

from simjudge.core.errors import UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages
from simjudge.core.object_tables import Objects
from simjudge.objects.camera_series import camera_series
from simjudge.objects.picture_series import (
    KeyPoints,
    PoleMatcher,
    key_points,
    labelled_reference,
    on_boxes,
    pole_reference,
)
from simjudge.objects.settings import CameraObjectSettings

GROUND, RED, WHITE = (110, 120, 90), (200, 30, 30), (240, 240, 240)


def drawn(*poles, size=(240, 200)):
    """A picture with striped poles, (x, y, width, height, stripes); key points need a little texture."""
    picture = np.full((size[1], size[0], 3), GROUND, np.uint8)
    for x, y, width, height, stripes in poles:
        edges = np.linspace(0, height, stripes + 1).astype(int)
        for i, (top, bottom) in enumerate(pairwise(edges)):
            picture[y + top : y + bottom, x : x + width] = RED if i % 2 else WHITE
    return picture


POLE = (100, 30, 9, 120, 5)


def test_matches_against_a_naive_loop():
    rng = np.random.default_rng(1)
    picture = np.clip(drawn(POLE, (40, 60, 6, 80, 5)) + rng.normal(0, 4, (200, 240, 3)), 0, 255).astype(np.uint8)
    reference = key_points(drawn(POLE)).descriptor
    found = key_points(picture)
    for ratio, distance in ((0.8, 250.0), (1.0, 300.0), (0.6, 1000.0)):
        expected = []
        for row in found.descriptor.astype(float):
            apart = sorted(float(np.sqrt(((row - other) ** 2).sum())) for other in reference.astype(float))
            expected.append(apart[0] <= distance and apart[0] < ratio * apart[1])
        matched = PoleMatcher(reference, ratio, distance).match(picture)
        assert np.array_equal(matched.point, found.point[expected])
    assert 0 < sum(expected) < len(expected)


def test_a_pole_matches_itself_wherever_it_stands():
    reference = key_points(drawn(POLE)).descriptor
    matcher = PoleMatcher(reference, 0.9, 100.0)
    here, there = matcher.match(drawn(POLE)), matcher.match(drawn((140, 40, 9, 120, 5)))
    assert len(here.point) == len(there.point) > 1
    places = (np.sort(found.point, axis=0) for found in (here, there))
    np.testing.assert_allclose(np.diff(list(places), axis=0)[0], np.tile([40, 10], (len(here.point), 1)), atol=0.5)
    assert len(matcher.match(np.full((50, 50, 3), 90, np.uint8)).point) == 0


def test_on_labels_by_a_naive_loop():
    rng = np.random.default_rng(2)
    found = KeyPoints(rng.uniform(0, 100, (60, 2)), rng.uniform(2, 20, 60), np.empty((60, 128), np.float32))
    box = np.array([[20, 10, 24, 90], [60, 40, 64, 80.0]])
    expected = 0
    for (x, y), diameter in zip(found.point, found.diameter, strict=True):
        apart = [np.hypot(x - np.clip(x, b[0], b[2]), y - np.clip(y, b[1], b[3])) for b in box]
        expected += min(apart) <= diameter / 2
    assert on_boxes(found, box) == expected
    assert on_boxes(found, np.empty((0, 4))) == 0


def labelled(boxes, picture=None):
    objects = Objects.build([0] * len(boxes), [3] * len(boxes), boxes)
    images = ArrayImages([drawn(POLE) if picture is None else picture])
    return FrameSet.build("set", [(240, 200)], objects, stamp=stamps(1), class_names={3: "survey_pole"}, images=images)


def test_the_reference_is_the_largest_labelled_pole(tmp_path):
    found = labelled_reference(labelled([[0, 0, 4, 60], [100, 30, 109, 150]]), "Survey Pole")
    cut = drawn(POLE)[22:158, 92:117]
    path = tmp_path / "pole.png"
    cv2.imwrite(str(path), cut[..., ::-1])
    assert np.array_equal(found, pole_reference(path))


def test_where_no_pole_can_be_cut(tmp_path):
    with pytest.raises(
        UsageError, match="no object of class mast to cut a reference pole from; there are survey pole; give one with"
    ):
        labelled_reference(labelled([[100, 30, 109, 150]]), "mast")
    with pytest.raises(UsageError, match="its largest survey pole: shows 0 key points; give a larger"):
        labelled_reference(labelled([[0, 0, 20, 20]]), "survey pole")
    path = tmp_path / "plain.png"
    cv2.imwrite(str(path), np.full((30, 30, 3), 7, np.uint8))
    with pytest.raises(UsageError, match=r"plain\.png: shows 0 key points"):
        pole_reference(path)


def test_matches_over_time():
    picture = drawn(POLE, (30, 40, 9, 120, 5))
    one, both = (
        labelled(boxes, picture) for boxes in ([[100, 30, 109, 150]], [[100, 30, 109, 150], [30, 40, 39, 160]])
    )
    settings = CameraObjectSettings(pole_class="survey pole", pole_ratio=0.9, pole_distance=100)
    found = [
        {each.metric: each.value[0] for each in side if "pole" in each.metric}
        for side in camera_series(one, both, settings)
    ]
    assert found[0]["pole matches"] == found[1]["pole matches"] == found[1]["pole matches on labels"] > 4
    assert 2 < found[0]["pole matches on labels"] < found[0]["pole matches"]
