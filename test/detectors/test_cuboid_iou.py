"""IoU of cuboids against closed formulas and against shapely."""

import math

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from simjudge.core.errors import SimjudgeError
from simjudge.detectors.cuboid_iou import (
    cuboid_iou,
    cuboid_iou_table,
    footprint,
    overlapping_cuboids,
    upright_cuboids,
)

UNIT = (0, 0, 0, 2, 2, 2, 0)
OCTAGON = 8 * math.tan(math.pi / 8)
"""Area that two squares of side 2 share, one turned by 45 degrees: a regular octagon of width 2."""


@pytest.mark.parametrize(
    ("other", "bev", "volume"),
    [
        ((0, 0, 0, 2, 2, 2, 0), 1, 1),
        ((1, 0, 0, 2, 2, 2, 0), 1 / 3, 1 / 3),
        ((1, 1, 1, 2, 2, 2, 0), 1 / 7, 1 / 15),
        ((0, 0, 1, 2, 2, 2, 0), 1, 1 / 3),
        ((0, 0, 0, 2, 2, 2, math.pi / 4), OCTAGON / (8 - OCTAGON), OCTAGON / (8 - OCTAGON)),
        ((0, 0, 0, 2, 2, 2, math.pi / 2), 1, 1),
        ((0, 0, 0, 4, 1, 2, math.pi / 2), 1 / 3, 1 / 3),
        ((0, 0, 0.25, 1, 1, 0.5, 0.7), 1 / 4, 1 / 16),
        ((0, 0, 0, 6, 6, 6, 0.3), 4 / 36, 8 / 216),
        ((2, 0, 0, 2, 2, 2, 0), 0, 0),
        ((2, 2, 0, 2, 2, 2, 0), 0, 0),
        ((0, 0, 2, 2, 2, 2, 0), 1, 0),
        ((1 + math.sqrt(2), 0, 0, 2, 2, 2, math.pi / 4), 0, 0),
        ((9, 0, 0, 2, 2, 2, 0), 0, 0),
        ((0, 0, 0, 0, 2, 2, 0), 0, 0),
        ((0, 0, 0, 2, 2, 0, 0), 1, 0),
    ],
)
@pytest.mark.parametrize("turn", [0, 0.4, -2.5, 7])
def test_closed_formulas(other, bev, volume, turn):
    pair = np.array([UNIT, other], np.float64)
    pair[:, :2] = pair[:, :2] @ np.array([[math.cos(turn), math.sin(turn)], [-math.sin(turn), math.cos(turn)]])
    pair[:, 6] += turn
    pair[:, :3] += (40, -30, 1)
    for first, second in ((0, 1), (1, 0)):
        a, b = pair[[first]], pair[[second]]
        assert cuboid_iou(a, b, "bev")[0] == pytest.approx(bev, abs=1e-12)
        assert cuboid_iou(a, b)[0] == pytest.approx(volume, abs=1e-12)


def random_cuboids(seed, count):
    rng = np.random.default_rng(seed)
    turned = np.where(rng.random(count) < 0.2, rng.integers(-4, 5, count) * math.pi / 4, rng.uniform(-7, 7, count))
    size = np.round(rng.uniform(0, 5, (count, 3)), int(rng.integers(1, 6)))
    return np.column_stack([np.round(rng.uniform(-3, 3, (count, 3)), int(rng.integers(0, 6))), size, turned])


def shapely_iou(a, b):
    """(Bird's-eye view, 3-D) by shapely's polygons."""
    first, second = shapely.Polygon(footprint(a)), shapely.Polygon(footprint(b))
    common, areas = first.intersection(second).area, (first.area, second.area)
    height = max(min(a[2] + a[5] / 2, b[2] + b[5] / 2) - max(a[2] - a[5] / 2, b[2] - b[5] / 2), 0)
    union, volume = sum(areas) - common, areas[0] * a[5] + areas[1] * b[5] - common * height
    return common / union if union else 0, common * height / volume if volume else 0


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_shapely_finds_the_same(seed):
    a, b = random_cuboids(seed, 12), random_cuboids(seed + 1, 9)
    expected = np.array([[shapely_iou(p, q) for q in b] for p in a])
    for i, kind in enumerate(("bev", "3d")):
        table = cuboid_iou_table(a, b, kind)
        np.testing.assert_allclose(table, expected[:, :, i], atol=1e-9)
        np.testing.assert_allclose(cuboid_iou(a[:9], b, kind), expected[np.arange(9), np.arange(9), i], atol=1e-9)
        np.testing.assert_array_equal(np.diag(cuboid_iou_table(a, a, kind)) > 0, (a[:, 3 : 5 + (i == 1)] > 0).all(1))


def test_pairs_are_those_of_one_key_that_overlap():
    a, b = random_cuboids(3, 40), random_cuboids(4, 30)
    keys = np.random.default_rng(5).integers(0, 3, 40), np.random.default_rng(6).integers(1, 4, 30)
    rows, columns, iou = overlapping_cuboids(a, b, keys, "bev")
    table = np.where(keys[0][:, None] == keys[1], cuboid_iou_table(a, b, "bev"), 0)
    np.testing.assert_array_equal(np.sort(rows * 30 + columns), np.flatnonzero(table))
    np.testing.assert_array_equal(iou, table[rows, columns])
    assert (np.diff(rows) >= 0).all()
    assert [len(part) for part in overlapping_cuboids(a[:0], b, (keys[0][:0], keys[1]))] == [0, 0, 0]


@pytest.mark.parametrize("wrong", [(0, 0, 0, -1, 1, 1, 0), (0, math.nan, 0, 1, 1, 1, 0), (0, 0, 0, 1, 1, 1, math.inf)])
def test_numbers_that_are_no_cuboid_are_named(wrong):
    table = np.array([UNIT, wrong], np.float64)
    with pytest.raises(SimjudgeError, match="cuboid 1 "):
        cuboid_iou(table, table)


@pytest.mark.parametrize(("yaw", "pitch", "roll"), [(0, 0, 0), (2, 0, 0), (-3, 0.2, 0), (1, 0, -0.3), (0.5, 0.1, 0.4)])
def test_upright_cuboids_keep_the_direction_seen_from_above(yaw, pitch, roll):
    rotation = Rotation.from_euler("ZYX", [yaw, pitch, roll])
    upright, tilt = upright_cuboids(np.array([[1, 2, 3]]), 2 * rotation.as_quat()[None], np.array([[4, 5, 6]]))
    np.testing.assert_allclose(upright[0], (1, 2, 3, 4, 5, 6, yaw), atol=1e-12)
    assert tilt[0] == pytest.approx(math.acos(math.cos(pitch) * math.cos(roll)), abs=1e-7)


def test_a_footprint_goes_round_to_the_left():
    corners = footprint((10, 20, 0, 4, 2, 1, math.pi / 2))
    np.testing.assert_allclose(corners, [(11, 18), (11, 22), (9, 22), (9, 18)], atol=1e-12)
