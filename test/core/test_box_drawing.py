"""Boxes on a image: where they should be, in their colours, never outside, the image itself untouched."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simjudge.core.box_drawing import class_colour, draw_boxes

GREY = np.full((120, 160, 3), 100, np.uint8)
RED = (250, 10, 20)


def painted(image):
    """Where a image is no longer grey."""
    return np.any(image != 100, axis=2)


def test_a_box_is_drawn_on_its_own_outermost_pixels():
    out = draw_boxes(GREY, [(20, 30, 60, 50)], RED)
    expected = np.zeros((120, 160), bool)
    expected[30:50, 20:60] = True
    expected[31:49, 21:59] = False
    np.testing.assert_array_equal(painted(out), expected)
    assert np.all(out[expected] == RED)
    assert np.all(GREY == 100)


def test_fractions_are_snapped_as_the_method_snaps_them():
    same = draw_boxes(GREY, [(20, 30, 60, 50)], RED)
    np.testing.assert_array_equal(draw_boxes(GREY, [(19.5, 30.4, 59.6, 50.4)], RED), same)


def test_each_box_has_its_colour_and_later_ones_lie_above():
    out = draw_boxes(GREY, [(20, 30, 60, 50), (20, 30, 60, 50), (80, 80, 90, 90)], [RED, (1, 2, 3), (9, 9, 9)])
    assert tuple(out[30, 20]) == (1, 2, 3)
    assert tuple(out[80, 80]) == (9, 9, 9)


def test_a_dashed_box_lies_on_the_full_one_and_leaves_gaps():
    full = painted(draw_boxes(GREY, [(20, 30, 100, 90)], RED))
    dashed = painted(draw_boxes(GREY, [(20, 30, 100, 90)], RED, dashed=True))
    assert np.all(full[dashed])
    assert 0.3 < dashed.sum() / full.sum() < 0.8


def test_labels_are_inside_the_image_wherever_the_box_is():
    places = [(2, 2, 30, 30), (140, 100, 158, 118), (60, 60, 80, 80), (-50, -50, 300, 300)]
    for place in places:
        box = painted(draw_boxes(GREY, [place], RED))
        with_text = painted(draw_boxes(GREY, [place], RED, ["cone 0.93"]))
        assert (with_text & ~box).sum() > 100
        assert np.array_equal(draw_boxes(GREY, [place], RED, [""]), draw_boxes(GREY, [place], RED))


def test_a_label_that_would_cover_that_of_a_larger_box_moves_below_or_is_left_out():
    large, same, small = (20, 40, 80, 100), (22, 42, 70, 90), (24, 40, 40, 60)
    alone = draw_boxes(GREY, [large], RED, ["0.93"])
    both = draw_boxes(GREY, [small, large], RED, ["0.11", "0.93"])
    ground = slice(25, 39), slice(20, 50)
    np.testing.assert_array_equal(both[ground], alone[ground])
    assert painted(both)[61:75, 30:40].any(), "below its box"
    boxes = draw_boxes(GREY, [large, same, small, small], RED, ["0.93", "0.5", "0.11", "0.22"])
    np.testing.assert_array_equal(boxes[ground], alone[ground])


def test_edged_lines_are_seen_on_their_own_colour():
    ground = np.full((120, 160, 3), RED, np.uint8)
    assert np.array_equal(draw_boxes(ground, [(20, 30, 60, 50)], RED), ground)
    drawn = draw_boxes(ground, [(20, 30, 60, 50)], RED, is_edged=True)
    assert (drawn == 0).all(2).sum() > 100
    assert tuple(drawn[30, 40]) == RED


def test_no_boxes_no_change():
    np.testing.assert_array_equal(draw_boxes(GREY, np.empty((0, 4)), []), GREY)
    with pytest.raises(ValueError, match="argument 3"):
        draw_boxes(GREY, [(1, 1, 5, 5)], RED, ["a", "b"])


@given(st.lists(st.tuples(*[st.floats(allow_nan=True, allow_infinity=True)] * 4), max_size=3), st.booleans())
def test_any_numbers_can_be_drawn(boxes, dashed):
    out = draw_boxes(GREY, np.reshape(boxes, (-1, 4)), RED, ["x"] * len(boxes), dashed)
    assert out.shape == GREY.shape


def test_classes_named_after_a_colour_have_it_and_the_others_differ():
    red, green = class_colour(5, "Red"), class_colour(5, "green")
    assert red[0] > max(red[1:])
    assert green[1] > max(green[0], green[2])
    assert len({class_colour(i) for i in range(7)}) == 7
