"""Ground as a plane: RANSAC against a naive loop, least squares against SVD, and normals against NumPy's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vlp16_turns import HEIGHT, turn

from simjudge.detectors.clouds.beam_grid import build_grid, nearest_normals, ring_normals
from simjudge.detectors.clouds.ground import best_plane, fit_ground_plane, least_squares_plane

HOW = {"distance": 0.1, "contact": 0.03, "angle_deg": 30.0, "slope_deg": 20.0, "trials": 60, "least": 0.05, "seed": 0}


def naive_best(points, normals, drawn, distance, contact, cos_angle, cos_slope):
    best = (None, None, 0)
    for p, q, r in points[drawn]:
        normal = np.cross(q - p, r - p)
        if np.linalg.norm(normal) < 1e-9:
            continue
        normal = normal / np.linalg.norm(normal) * (-1 if normal[2] < 0 else 1)
        if normal[2] < cos_slope:
            continue
        height = np.abs((points - p) @ normal)
        agree = (height <= contact) | np.isnan(normals[:, 0]) | (np.abs(normals @ normal) >= cos_angle)
        if ((height <= distance) & agree).sum() > best[2]:
            best = normal, -normal @ p, ((height <= distance) & agree).sum()
    return best


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_the_best_plane_is_that_of_a_naive_loop(seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(0, [5, 5, 0.2], (60, 3))
    normals = rng.normal(0, [0.3, 0.3, 1], (60, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    normals[:5] = np.nan
    drawn = rng.integers(0, 60, (20, 3))
    expected = naive_best(points, normals, drawn, 0.15, 0.05, 0.9, 0.8)
    normal, offset, count = best_plane(points, normals, drawn, (0.15, 0.05, 0.9, 0.8))
    assert count == expected[2]
    if count:
        assert normal == pytest.approx(expected[0])
        assert offset == pytest.approx(expected[1])


def test_the_plane_of_least_squares_is_that_of_svd():
    rng = np.random.default_rng(1)
    points = rng.normal(0, [5, 3, 0.1], (500, 3)) @ np.linalg.qr(rng.normal(size=(3, 3)))[0] * [1, 1, 1] + [3, -2, 7]
    expected = np.linalg.svd(points - points.mean(0))[2][2]
    normal, offset = least_squares_plane(points)
    assert abs(normal @ expected) == pytest.approx(1, abs=1e-12)
    assert normal[2] >= 0
    assert offset == pytest.approx(-normal @ points.mean(0))


@pytest.mark.parametrize("rings", [True, False])
def test_ground_is_found_beneath_boxes(rings):
    points, ring = turn([(8, 1, 4, 2, 1.5, 0.3), (12, -6, 2, 2, 2, 1.0)], noise=0.01)
    seen = np.isfinite(points[:, 0])
    points, ring = points[seen], ring[seen]
    normals = ring_normals(points, build_grid(points, ring)) if rings else nearest_normals(points)
    plane = fit_ground_plane(points, normals, **HOW)
    assert plane is not None
    assert np.degrees(np.arccos(plane.normal[2])) < 0.3
    assert plane.offset == pytest.approx(HEIGHT, abs=0.03)
    assert plane.z(np.zeros(1), np.zeros(1)) == pytest.approx(-HEIGHT, abs=0.03)
    # What is higher than the noise reaches is of a box.
    on_ground = points[:, 2] < -HEIGHT + 0.08
    assert not plane.ground[~on_ground & (points[:, 2] > -HEIGHT + 0.2)].any()
    assert plane.ground[on_ground].mean() > 0.9


def test_the_sides_of_a_box_are_no_ground_where_they_stand_on_it():
    points, ring = turn([(8.7, 0, 3, 3, 1.5, 0.2)], columns=900)
    seen = np.isfinite(points[:, 0])
    points, ring = points[seen], ring[seen]
    normals = ring_normals(points, build_grid(points, ring))
    plane = fit_ground_plane(points, normals, **HOW | {"distance": 0.4})
    low_on_box = (points[:, 2] > -HEIGHT + 0.05) & (points[:, 2] < -HEIGHT + 0.4)
    assert low_on_box.any()
    assert not plane.ground[low_on_box].any()


@pytest.mark.parametrize(
    "points", [np.zeros((0, 3)), np.ones((1, 3)), np.ones((50, 3)), np.outer(np.arange(50.0), [1, 2, 0.1])]
)
def test_there_is_no_plane_in_too_few_points_or_along_a_line(points):
    assert fit_ground_plane(points, np.full((len(points), 3), np.nan), **HOW) is None


def test_a_wall_is_no_ground():
    rng = np.random.default_rng(2)
    wall = np.column_stack([rng.uniform(0, 10, 500), np.full(500, 5.0), rng.uniform(-1, 3, 500)])
    assert fit_ground_plane(wall, nearest_normals(wall), **HOW | {"least": 0.2}) is None


def naive_normal(points, rings, columns, row, reach, gap):
    """The normal of a point by the words of the module; each cell holds one point."""
    steps = range(min(reach, (columns[1] - 1) // 2))
    cells = {(r, c): k for k, (r, c) in enumerate(zip(rings, columns[0], strict=True))}
    width = columns[1]

    def on_side(start, side):
        reached = [cells.get((rings[start], (columns[0][start] + side * (1 + step)) % width)) for step in steps]
        reached = [start, *(other for other in reached if other is not None)]
        gaps = np.linalg.norm(np.diff(points[reached], axis=0), axis=1) > gap
        return reached[1 : 1 + (int(np.argmax(gaps)) if gaps.any() else len(gaps))]

    def along(start):
        return [start, *on_side(start, -1), *on_side(start, 1)]

    def nearest_column(ring):
        for step in (*steps, len(steps)):
            found = [cells.get((ring, (columns[0][row] + side * step) % width)) for side in (-1, 1)]
            if found != [None, None]:
                return [each for each in found if each is not None]
        return []

    beside = nearest_column(rings[row] - 1) + nearest_column(rings[row] + 1)
    held = along(row)
    if beside:
        held += along(min(beside, key=lambda each: np.linalg.norm(points[each] - points[row])))
    if len(held) < 4:
        return np.full(3, np.nan)
    around = points[held] - points[held].mean(0)
    normal = np.linalg.eigh(around.T @ around)[1][:, 0]
    return -normal if normal @ points[row] > 0 else normal


def test_normals_of_rings_are_those_of_a_naive_search():
    points, ring = turn([(5, 1, 3, 2, 2.5, 0.4)], columns=60, noise=0.02)
    seen = np.isfinite(points[:, 0])
    points, ring = points[seen], ring[seen]
    grid = build_grid(points, ring)
    assert (grid.following < 0).all()
    normals = ring_normals(points, grid, columns=2, gap=0.8)
    for row in range(0, len(points), 7):
        expected = naive_normal(points, grid.ring, (grid.column, grid.shape[1]), row, 2, 0.8)
        assert normals[row] == pytest.approx(expected, abs=1e-6, nan_ok=True)


def test_normals_of_a_sphere_point_to_the_lidar_along_its_radius():
    rng = np.random.default_rng(3)
    direction = rng.normal(size=(4000, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    points = direction * 3 + [20, 0, 0]
    facing = direction[:, 0] < -0.2
    normals = nearest_normals(points)
    assert (np.einsum("ij,ij->i", normals, direction)[facing] > 0.99).all()


def test_points_on_a_line_have_no_normal():
    assert np.isnan(nearest_normals(np.outer(np.arange(20.0), [1, 2, 3]))).all()
    assert np.isnan(nearest_normals(np.eye(3))).all()
