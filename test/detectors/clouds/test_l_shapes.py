"""Rectangles around clusters, against the paper's formulas written out, and OpenCV's smallest rectangle."""

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simjudge.detectors.clouds.clusters import CRITERIA, fit_l_shapes

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
    start = np.concatenate([[0], np.cumsum([len(each) for each in clusters])])
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
