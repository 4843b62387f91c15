"""Distance along and beside a course, against shapely-free geometry by hand."""

import math

import numpy as np
import pytest

from simjudge.sim.scene.course_progress import CourseProgress
from simjudge.sim.scene.model import Course

BEND = Course(np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 3.0]]), 1.0)


@pytest.mark.parametrize(
    ("position", "distance", "offset"),
    [
        ((0.5, 0.2), 0.5, 0.2),
        ((0.5, -0.2), 0.5, -0.2),
        ((-1.0, 0.3), -1.0, 0.3),
        ((1.8, 1.0), 3.0, 0.2),
        ((2.4, 1.5), 3.5, -0.4),
        ((2.1, 4.0), 6.0, -0.1),
        ((2.3, -0.4), 2.0, -0.5),
    ],
    ids=["left", "right", "before the start", "round the corner", "right of it", "behind the finish", "in the corner"],
)
def test_positions(position, distance, offset):
    progress = CourseProgress(BEND)
    assert progress.length == 5.0
    for x in np.linspace(0, 2, 9)[1:] if distance > 2 else []:
        progress.advance_to(x, 0.0)
    progress.advance_to(*position)
    assert progress.distance == pytest.approx(distance)
    assert progress.offset == pytest.approx(offset)


def test_a_line_that_passes_itself_is_followed_in_order():
    turn = np.linspace(0, 2 * math.pi, 400)
    eight = Course(np.stack([4 * np.sin(turn), 4 * np.sin(turn) * np.cos(turn)], 1), 1.0)
    progress = CourseProgress(eight)
    distances = []
    for point in eight.centre_line[:-1]:
        progress.advance_to(*point)
        distances.append(progress.distance)
    assert np.all(np.diff(distances) > 0)
    assert distances[-1] == pytest.approx(progress.length, abs=0.2)


def test_a_closed_course_goes_on_from_lap_to_lap():
    turn = np.linspace(0, 2 * math.pi, 2001)
    ring = Course(3 * np.stack([np.cos(turn), np.sin(turn)], 1), 1.0, closed=True)
    progress = CourseProgress(ring)
    progress.locate(3 * math.cos(2.0), 3 * math.sin(2.0))
    assert progress.distance == pytest.approx(6.0, abs=1e-3)
    for angle in 2.0 + np.arange(0, 15.0, 0.05):
        progress.advance_to(3.2 * math.cos(angle), 3.2 * math.sin(angle))
        assert progress.distance == pytest.approx(3 * angle, abs=2e-3)
        assert progress.offset == pytest.approx(-0.2, abs=1e-3)
    progress.advance_to(3 * math.cos(angle - 0.1), 3 * math.sin(angle - 0.1))
    assert progress.distance == pytest.approx(3 * (angle - 0.1), abs=2e-3), "back is no new lap"


def test_backwards_over_the_start_is_less_than_nothing():
    ring = Course(np.array([[0.0, 0], [4, 0], [4, 4], [0, 4], [0, 0]]), 1.0, closed=True)
    progress = CourseProgress(ring)
    progress.advance_to(0.0, 0.5)
    assert progress.distance == pytest.approx(-0.5)
    progress.advance_to(0.5, 0.0)
    assert progress.distance == pytest.approx(0.5)
