"""Clusters: by ring and column against a naive flood fill, in space against SciPy's connected components."""

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
from simjudge.detectors.clouds.clusters import euclidean_clusters, ring_clusters


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
    st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 30), st.integers(0, 3), st.integers(0, 5),
    st.sampled_from([0.5, 2.0, 9.0]), st.sampled_from([1.0, 10.0, 60.0]),
)  # fmt: skip
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
