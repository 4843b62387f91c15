"""A whole drive along a line at once equals the car that is followed step by step."""

import numpy as np
import pytest

from simjudge.sim.scene.course_progress import CourseProgress, follow_line
from simjudge.sim.scene.model import Course


def line(closed):
    angle = np.linspace(0, 2 * np.pi, 121)
    points = np.stack([4 * np.cos(angle), 2 * np.sin(2 * angle) + 0.2 * np.sin(angle)], 1)
    if closed:
        points[-1] = points[0]
    return Course(points if closed else points[:90], 1.0, closed)


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("start", [0, 40])
def test_a_drive_is_followed_as_a_car_is(closed, start):
    course, random = line(closed), np.random.default_rng(start)
    way = np.concatenate([course.centre_line[start:], *([course.centre_line[1:]] * 2 if closed else [])])
    steps = np.linspace(0, len(way) - 1, 700)
    drive = np.stack([np.interp(steps, np.arange(len(way)), axis) for axis in way.T], 1)
    drive += random.normal(0, 0.03, drive.shape)
    distance, offset = follow_line(course, drive)
    progress = CourseProgress(course)
    progress.locate(*drive[0])
    for row, (x, y) in enumerate(drive):
        progress.advance_to(x, y)
        assert distance[row] == pytest.approx(progress.distance, abs=1e-12)
        assert offset[row] == pytest.approx(progress.offset, abs=1e-12)
    if closed:
        assert distance[-1] > 2 * progress.length


def test_a_drive_past_the_finish_is_followed():
    """A car had no place once it was more than a metre past an open line: 0 m along it, endless metres beside it."""
    course = Course(np.array([[0.0, 0.0], [5.0, 0.0], [10.0, 0.0]]), 1.0)
    x = np.arange(-3.0, 15.0, 0.1)
    distance, offset = follow_line(course, np.stack([x, np.full(len(x), 0.2)], 1))
    np.testing.assert_allclose(distance, x, atol=1e-9)
    np.testing.assert_allclose(offset, 0.2)
    progress = CourseProgress(course)
    for at in x:
        progress.advance_to(at, 0.2)
    assert progress.distance == pytest.approx(x[-1])


def test_the_straight_behind_a_finish_does_not_take_the_start():
    """An open line that ends near its start: the straight behind its finish passes the start nearer than the line."""
    angle = np.linspace(0, 6.0, 601)
    course = Course(5 * np.stack([np.cos(angle), np.sin(angle)], 1), 1.0)
    drive = 5.15 * np.stack([np.cos(angle), np.sin(angle)], 1)
    distance, offset = follow_line(course, drive)
    np.testing.assert_allclose(distance, 5 * angle, atol=0.03)
    np.testing.assert_allclose(offset, -0.15, atol=0.01)
    progress = CourseProgress(course)
    progress.locate(*drive[0])
    assert progress.distance == pytest.approx(0.0, abs=0.03)
