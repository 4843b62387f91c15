"""Tables of objects: their masks as crops, and their boxes on the pixel grid."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simjudge.core.object_tables import Masks, round_to_pixels, whole_pixel_boxes

WIDTH, HEIGHT = 13, 9


@st.composite
def images(draw):
    out = []
    for seed in draw(st.lists(st.integers(0, 2**32 - 1), max_size=5)):
        random = np.random.default_rng(seed)
        out.append(None if seed % 4 == 0 else random.random((HEIGHT, WIDTH)) < random.random())
    return out


@given(images())
def test_images_there_and_back(given_images):
    masks = Masks.from_images(given_images)
    assert len(masks) == len(given_images)
    for i, image in enumerate(given_images):
        empty = image is None or not image.any()
        assert masks.has(i) == (not empty)
        expected = np.zeros((HEIGHT, WIDTH), bool) if empty else image
        np.testing.assert_array_equal(masks.to_image(i, WIDTH, HEIGHT), expected)
        if not empty:
            assert masks.crop(i).any(0)[[0, -1]].all()
            assert masks.crop(i).any(1)[[0, -1]].all()


@given(images(), st.data())
def test_take_and_concatenate(given_images, data):
    masks = Masks.from_images(given_images)
    rows = data.draw(st.lists(st.integers(0, max(len(masks) - 1, 0)), max_size=6 if len(masks) else 0))
    both = Masks.concatenate([masks.take(np.array(rows, np.int64)), masks])
    for k, i in enumerate([*rows, *range(len(masks))]):
        np.testing.assert_array_equal(both.to_image(k, WIDTH, HEIGHT), masks.to_image(i, WIDTH, HEIGHT))
    assert len(Masks.concatenate([])) == 0


@pytest.mark.parametrize("origin", [(-2, -1), (10, 7), (-2, 7), (40, 40), (-9, 0)])
def test_over_the_edge(origin):
    masks = Masks.from_crops([np.ones((4, 5), bool)], [origin])
    expected = np.zeros((HEIGHT, WIDTH), bool)
    for column in range(origin[0], origin[0] + 5):
        for row in range(origin[1], origin[1] + 4):
            if 0 <= column < WIDTH and 0 <= row < HEIGHT:
                expected[row, column] = True
    np.testing.assert_array_equal(masks.to_image(0, WIDTH, HEIGHT), expected)


@pytest.mark.parametrize(
    ("value", "edge"),
    [(0.5, 1), (0.49999, 0), (1.5, 2), (2.5, 3), (-0.5, 0), (-0.50001, -1), (7.0, 7)],
)
def test_edges_are_snapped_half_up(value, edge):
    assert round_to_pixels(np.full((1, 4), value))[0, 0] == edge


@pytest.mark.parametrize(
    ("box", "whole"),
    [
        ((0.5, 1.5, 10.5, 11.5), (0, 2, 10, 12)),  # half to even
        ((-3, -3, 5, 5), (0, 0, 5, 5)),  # clipped low
        ((35, 25, 60, 60), (35, 25, 39, 29)),  # clipped high: to W - 1, H - 1
        ((39.4, 29.4, 39.6, 29.6), (38, 28, 39, 29)),  # x0 at most W - 2
        ((4.1, 4.1, 4.2, 4.2), (4, 4, 5, 5)),  # at least one pixel
    ],
)
def test_whole_pixel_boxes_of_the_authors_tool(box, whole):
    assert whole_pixel_boxes(np.array([box], float), np.array([[40, 30]])).tolist() == [list(whole)]
