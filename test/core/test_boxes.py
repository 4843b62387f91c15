"""Boxes on the pixel grid, edge by edge."""

from __future__ import annotations

import numpy as np
import pytest

from simjudge.core.object_tables import round_to_pixels, whole_pixel_boxes


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
