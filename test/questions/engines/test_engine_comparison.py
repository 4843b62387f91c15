"""Two engines side by side: boxes and pictures compared, against counts made by hand."""

import math

import numpy as np
import pytest

from simjudge.core.object_tables import Objects
from simjudge.questions.engines.run import (
    EngineView,
    compare_boxes,
    comparison_numbers,
    image_difference,
    root_mean_square,
    views_as_frames,
    write_engines_page,
)
from simjudge.sim.capture.ground_truth import Labelling


def view(boxes, value=100):
    """A grey picture with boxes by instance: {instance: (class, x0, y0, x1, y1)}."""
    rows = list(boxes.items())
    objects = Objects.build([0] * len(rows), [b[0] for _, b in rows], [b[1:] for _, b in rows], [i for i, _ in rows])
    return EngineView(np.full((60, 80, 3), value, np.uint8), objects, 0.5, 0.25)


def test_engines_that_agree():
    a = [view({1: (1, 10, 10, 30, 40), 2: (2, 50, 20, 55, 26)})]
    b = [view({1: (1, 10, 11, 30, 40)})]
    boxes = compare_boxes(a, b)
    assert boxes.corners.tolist() == [[0, 1, 0, 0]]
    assert (boxes.median, boxes.lonely, boxes.small, boxes.agrees) == (0, [], 1, True)


def test_a_large_thing_in_one_alone_is_no_agreement():
    a = [view({1: (1, 10, 10, 30, 40)}), view({})]
    b = [view({1: (1, 10, 10, 30, 40)}), view({5: (1, 0, 0, 12, 30), 6: (1, 0, 0, 11.9, 30)})]
    boxes = compare_boxes(a, b)
    assert boxes.lonely == [("b", 1, 5, 12)]
    assert boxes.small == 1
    assert not boxes.agrees


def test_shifted_boxes_are_no_agreement():
    a, b = [view({1: (1, 10, 10, 30, 40)})], [view({1: (1, 11, 11, 31, 42)})]
    boxes = compare_boxes(a, b)
    assert boxes.median == 1
    assert not boxes.agrees


def test_nothing_to_compare_is_no_agreement():
    boxes = compare_boxes([view({})], [view({})])
    assert math.isnan(boxes.median)
    assert not boxes.agrees
    assert comparison_numbers([view({})], [view({})], boxes).corner_median_px is None


def test_differences_of_pictures():
    a, b = np.full((2, 2, 3), 100, np.uint8), np.array([[[100, 90, 200]] * 2] * 2, np.uint8)
    assert image_difference(a, b)[0, 0].tolist() == [0, 40, 255]
    assert root_mean_square(a, b) == pytest.approx(math.sqrt((0 + 100 + 10000) / 3))


def test_a_data_set_of_what_was_seen():
    frames = views_as_frames(
        "x", [view({1: (1, 10, 10, 30, 40), 2: (2, 50, 20, 53, 26)}), view({})], {1: "red"}, Labelling()
    )
    assert frames.frame_name == ["pose_00000", "pose_00001"]
    assert frames.objects.instance.tolist() == [1]
    assert frames.size.tolist() == [[80, 60]] * 2
    assert frames.images.read(1).shape == (60, 80, 3)


def test_the_page_stands_alone(tmp_path):
    a = [view({1: (1, 10, 10, 30, 40)}, 100 + n) for n in range(30)]
    b = [view({1: (1, 10, 10, 30, 40), 9: (2, 5, 5, 40, 40)}) for _ in range(30)]
    boxes = compare_boxes(a, b)
    found = comparison_numbers(a, b, boxes)
    write_engines_page(tmp_path / "index.html", "a <b> c", (("one", "v1"), ("two", "v2")), (a, b), boxes, found, None)
    page = (tmp_path / "index.html").read_text()
    assert "a &lt;b&gt; c" in page
    assert page.count("data:image/jpeg;base64,") == 72
    assert "(24 of 30)" in page
    assert "http:" not in page
    assert "https:" not in page
    assert "Boxes differ" in page
    assert "thing 9 of 35 px is labelled by two alone" in page
