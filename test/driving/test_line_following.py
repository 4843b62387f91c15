"""A whole drive along a line at once equals the car that is followed step by step."""

import numpy as np
import pytest

from simjudge.driving.course_progress import CourseProgress
from simjudge.driving.line_following import follow_line
from simjudge.scene.model import Course


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
