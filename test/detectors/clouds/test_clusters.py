"""Clusters, rectangles around them, and the hidden sides of things, against brute force and known shapes."""

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree
from vlp16_turns import turn

from simjudge.core.errors import UsageError
from simjudge.detectors.clouds.beam_grid import build_grid, rings_of_order
from simjudge.detectors.clouds.clusters import (
    CRITERIA,
    Rectangles,
    euclidean_clusters,
    fit_l_shapes,
    lengthen_rectangles,
    ring_clusters,
)


def flood(count, mask, neighbours):
    """Numbers of connected sets, in the order of their first points."""
    numbers, number = np.full(count, -1), 0
    for start in range(count):
        if not mask[start] or numbers[start] >= 0:
            continue
        front = [start]
        while front:
            row = front.pop()
            if numbers[row] < 0:
                numbers[row] = number
                front += [other for other in range(count) if mask[other] and neighbours(row, other)]
        number += 1
    return numbers


def beam_angle(p, q):
    """The angle of the module's formula, radians."""
    d1, d2 = sorted([np.linalg.norm(p), np.linalg.norm(q)], reverse=True)
    a = np.arctan2(np.linalg.norm(np.cross(p, q)), p @ q)
    return np.arctan2(d2 * np.sin(a), d1 - d2 * np.cos(a))


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 6),
    st.integers(1, 30),
    st.integers(0, 3),
    st.integers(0, 5),
    st.sampled_from([0.5, 2.0, 9.0]),
    st.sampled_from([1.0, 10.0, 60.0]),
)
def test_clusters_of_rings_are_those_of_a_flood_fill(seed, rings, width, near_rings, near_columns, distance, angle):
    rng = np.random.default_rng(seed)
    count = 45
    ring = rng.integers(0, rings, count)
    azimuth, elevation = rng.integers(0, width, count) * 2 * np.pi / width, ring * 0.05
    direction = np.stack(
        [np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)], 1
    )
    points = direction * rng.choice([4.0, 4.5, 8.0], count)[:, None] + rng.normal(0, 0.01, (count, 3))
    mask = rng.random(count) < 0.8
    grid = build_grid(points, ring)

    def together(one, other):
        apart = abs(grid.column[one] - grid.column[other])
        near = (
            min(apart, grid.shape[1] - apart) <= near_columns and abs(grid.ring[one] - grid.ring[other]) <= near_rings
        )
        p, q = points[one], points[other]
        return near and np.linalg.norm(p - q) <= distance and beam_angle(p, q) >= np.radians(angle)

    found = ring_clusters(
        points, mask, grid, distance=distance, angle_deg=angle, rings=near_rings, columns=near_columns
    )
    assert found.tolist() == flood(count, mask, together).tolist()


def test_what_stands_before_a_wall_is_a_cluster_of_its_own():
    points, ring = turn([(10, 0, 1, 1, 3, 0), (15, 0, 0.5, 30, 4, 0)], columns=900, ground=False)
    seen = np.isfinite(points[:, 0])
    points, ring = points[seen], ring[seen]
    grid = build_grid(points, ring)
    found = ring_clusters(points, np.ones(len(points), bool), grid, distance=20, angle_deg=10, rings=1, columns=2)
    front = points[:, 0] < 11
    assert set(found[front]).isdisjoint(found[~front])
    assert len(np.unique(found[front])) == 1


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 200), st.sampled_from([0.05, 0.3, 1.0, 30.0]))
def test_clusters_in_space_are_scipys_connected_components(seed, count, distance):
    rng = np.random.default_rng(seed)
    points = rng.normal(0, [2, 2, 0.5], (count, 3)) + rng.integers(-2, 3, (count, 1)) * 3
    points[rng.random(count) < 0.1] = np.nan
    mask = np.isfinite(points[:, 0])
    found = euclidean_clusters(points, mask, distance)
    assert (found[~mask] == -1).all()
    kept = points[mask]
    pairs = cKDTree(kept).query_pairs(distance, output_type="ndarray") if len(kept) else np.empty((0, 2), int)
    graph = coo_matrix((np.ones(len(pairs)), pairs.T), (len(kept), len(kept)))
    count_expected, expected = connected_components(graph, directed=False) if len(kept) else (0, np.empty(0, int))
    firsts = np.unique(expected, return_index=True)[1]
    rank = np.argsort(np.argsort(firsts))
    assert found[mask].tolist() == rank[expected].tolist()
    assert len(np.unique(found[mask])) == count_expected


def test_points_exactly_the_distance_apart_belong_together():
    points = np.array([[0.0, 0, 0], [0.5, 0, 0], [1.0000001, 0, 0]])
    assert euclidean_clusters(points, np.ones(3, bool), 0.5).tolist() == [0, 0, 1]


def test_points_too_far_apart_for_cells_are_refused():
    with pytest.raises(UsageError, match="the points span"):
        euclidean_clusters(np.array([[0.0, 0, 0], [1e12, 1e12, 1e12]]), np.ones(2, bool), 1e-6)


@pytest.mark.parametrize("clockwise", [False, True])
def test_rings_are_told_by_the_order_of_points(clockwise):
    points, ring = turn([(8, 1, 4, 2, 1.5, 0.3)], columns=360, noise=0.01)
    points, ring = (each.reshape(360, 16, -1).swapaxes(0, 1)[::-1] for each in (points, ring))
    if clockwise:
        points = points[:, ::-1]
    points, ring = points.reshape(-1, 3), ring.reshape(-1)
    seen = np.isfinite(points[:, 0])
    found = rings_of_order(points[seen])
    assert np.unique(found).size == np.unique(ring[seen]).size
    assert (np.unique(ring[seen])[::-1][found] == ring[seen]).all()


@pytest.mark.parametrize("order", ["column by column", "shuffled", "few"])
def test_other_orders_tell_no_rings(order):
    points, _ = turn(columns=90)
    points = points[np.isfinite(points[:, 0])]
    if order == "shuffled":
        points = np.random.default_rng(0).permutation(points)
    assert rings_of_order(points[:5] if order == "few" else points) is None


def test_a_grid_numbers_rings_by_elevation_and_keeps_points_of_one_cell():
    points, ring = turn(columns=180, ground=True)
    seen = np.isfinite(points[:, 0])
    points, ring = points[seen], ring[seen]
    grid = build_grid(np.repeat(points, 2, 0), 99 - np.repeat(ring, 2))
    assert grid.shape == (7, 180)
    assert (grid.ring == np.repeat(ring, 2)).all()
    assert (grid.following >= 0).sum() == len(points)


HOW = {"criterion": "closeness", "step_deg": 1.0, "nearest": 0.01, "side": 0.1}


def fit(points, **how):
    return fit_l_shapes(points, np.array([0, len(points)]), **HOW | how)


def paper_score(points, angle, criterion, d0):
    """Algorithms 2 to 4, with NumPy."""
    c1, c2 = points @ [np.cos(angle), np.sin(angle)], points @ [-np.sin(angle), np.cos(angle)]
    if criterion == "area":
        return -np.ptp(c1) * np.ptp(c2)
    d1, d2 = (min((c.max() - c, c - c.min()), key=np.linalg.norm) for c in (c1, c2))
    if criterion == "closeness":
        return (1 / np.maximum(np.minimum(d1, d2), d0)).sum()
    first, second = d1[d1 < d2], d2[d2 < d1]
    return -(first.var() if len(first) else 0) - (second.var() if len(second) else 0)


def l_points(length, width, yaw, count=80, noise=0.0, seed=0):
    """Two sides of a rectangle around the origin."""
    rng = np.random.default_rng(seed)
    along = np.column_stack([np.linspace(-length / 2, length / 2, count), np.full(count, -width / 2)])
    across = np.column_stack([np.full(count // 2, length / 2), np.linspace(-width / 2, width / 2, count // 2)])
    points = np.concatenate([along, across]) + rng.normal(0, noise, (count + count // 2, 2))
    return points @ np.array([[np.cos(yaw), np.sin(yaw)], [-np.sin(yaw), np.cos(yaw)]])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(CRITERIA), st.integers(1, 40))
def test_the_orientation_is_the_best_by_the_papers_formulas(seed, criterion, count):
    points = np.random.default_rng(seed).normal(0, [2, 0.7], (count, 2)) + np.array([10, -4])
    angles = np.radians(np.arange(0, 90, 5.0))
    scores = [paper_score(points, angle, criterion, 0.01) for angle in angles]
    found = fit(points, criterion=criterion, step_deg=5.0)
    own = paper_score(points, found.yaw[0] % (np.pi / 2), criterion, 0.01)
    assert own == pytest.approx(max(scores), rel=1e-9, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 60))
def test_the_area_is_that_of_opencvs_smallest_rectangle(seed, count):
    points = np.random.default_rng(seed).uniform(-2, 2, (count, 2)).astype(np.float32).astype(np.float64)
    width, height = cv2.minAreaRect(points.astype(np.float32))[1]
    found = fit(points, criterion="area", step_deg=0.25)
    area = float(found.size[0].prod())
    assert area >= width * height * (1 - 1e-4)
    # Turned by half a step, a rectangle grows by no more than its diagonal squared times the angle.
    assert area <= width * height + (width**2 + height**2) * 1.5 * np.radians(0.125) + 1e-6


# The smallest rectangle around an L without its other two sides has the same area along its diagonal.
@pytest.mark.parametrize("criterion", ["closeness", "variance"])
@pytest.mark.parametrize("yaw_deg", [0, 30, 60, 90, -30, -80])
def test_an_l_gives_its_rectangle(criterion, yaw_deg):
    points = l_points(4.0, 1.8, np.radians(yaw_deg), noise=0.005) + np.array([12, 5])
    found = fit(points, criterion=criterion)
    assert found.centre[0] == pytest.approx([12, 5], abs=0.05)
    assert found.size[0] == pytest.approx([4.0, 1.8], abs=0.08)
    assert np.degrees(found.yaw[0]) == pytest.approx(yaw_deg, abs=1.01)
    assert found.fit[0] == pytest.approx(1, abs=0.02)


def test_rectangles_hold_all_their_points_cluster_by_cluster():
    clusters = [l_points(4, 2, 0.3) + np.array([9, 0]), np.array([[1.0, 2.0]]), l_points(1, 0.5, -1.2, noise=0.1)]
    start = np.concatenate([[0], np.cumsum([len(cluster) for cluster in clusters])])
    found = fit_l_shapes(np.concatenate(clusters), start, **HOW)
    for row, points in enumerate(clusters):
        turned = (points - found.centre[row]) @ np.array(
            [[np.cos(found.yaw[row]), -np.sin(found.yaw[row])], [np.sin(found.yaw[row]), np.cos(found.yaw[row])]]
        )
        assert (np.abs(turned) <= found.size[row] / 2 + 1e-9).all()
        assert np.abs(turned).max(0) == pytest.approx(found.size[row] / 2)
        alone = fit(points)
        assert found.size[row] == pytest.approx(alone.size[0])
    assert found.size[1].tolist() == [0, 0]
    assert (found.size[:, 0] >= found.size[:, 1]).all()


def test_points_within_a_rectangle_lower_the_fit():
    inside = np.random.default_rng(0).uniform([-1.5, -0.5], [1.5, 0.5], (120, 2))
    assert fit(np.concatenate([l_points(4, 2, 0), inside])).fit[0] == pytest.approx(0.5)


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
