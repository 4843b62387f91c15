"""Rectangles of known size: seen from one side, or around a corner, they are found whole."""

import numpy as np
import pytest

from simjudge.detectors.clouds.clusters import Rectangles, fit_l_shapes, lengthen_rectangles

LENGTH, WIDTH = 4.0, 1.8


def rectangles(*rows):
    x, y, longer, shorter, yaw = np.array(rows, float).T
    return Rectangles(np.column_stack([x, y]), np.column_stack([longer, shorter]), yaw, np.ones(len(x)))


@pytest.mark.parametrize(
    ("seen", "whole"),
    [
        ((10, 0, 1.8, 0.2, np.pi / 2), (10.8, 0.0, 4.0, 1.8)),  # the longer side, across: to both ends
        ((10, 0, 3.0, 0.2, 0.0), (10.5, 0.0, 4.0, 1.8)),  # along: all of it behind
        ((-10, 0, 3.0, 1.8, 0.0), (-10.5, 0.0, 4.0, 1.8)),
        ((10, 0, 5.0, 2.5, 0.3), (10.0, 0.0, 5.0, 2.5)),  # large enough
        ((0, 0, 1.0, 1.0, 0.0), (0.0, 0.0, 4.0, 1.8)),  # upon the lidar: to all sides
    ],
)
def test_sides_that_are_too_short_grow_away_from_the_lidar(seen, whole):
    grown = lengthen_rectangles(rectangles(seen), (LENGTH, WIDTH))
    assert (*grown.centre[0], *grown.size[0]) == pytest.approx(whole, abs=1e-9)


@pytest.mark.parametrize("bearing", np.radians([0, 20, 45, 100, 200]))
@pytest.mark.parametrize("yaw", np.radians([10, 40, 75]))
def test_a_corner_of_a_car_is_enough_for_the_whole(bearing, yaw):
    """Points of half of the longer near side and of the whole shorter one; the middle is found to 3 cm."""
    middle = 15 * np.array([np.cos(bearing), np.sin(bearing)])
    axes = np.array([[np.cos(yaw), np.sin(yaw)], [-np.sin(yaw), np.cos(yaw)]])
    near = -np.sign(axes @ middle)
    corner = middle + (near * [LENGTH, WIDTH] / 2) @ axes
    along = corner - np.linspace(0, LENGTH / 2, 60)[:, None] * near[0] * axes[0]
    across = corner - np.linspace(0, WIDTH, 60)[:, None] * near[1] * axes[1]
    points = np.concatenate([along, across])
    how = {"criterion": "closeness", "step_deg": 1.0, "nearest": 0.01, "side": 0.1}
    seen = fit_l_shapes(points, np.array([0, len(points)]), **how)
    grown = lengthen_rectangles(seen, (LENGTH, WIDTH))
    share = np.abs(axes @ middle)
    if share[0] == share.max():  # the side that grows is along the line of sight more than across it
        assert grown.centre[0] == pytest.approx(middle, abs=0.03)
    assert grown.size[0] == pytest.approx((LENGTH, WIDTH), abs=0.03)
