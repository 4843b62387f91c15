"""Where cones stand ahead of a stretch of the course: against loops over all cones; and which stretches are alike."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from drive_samples import made_drive
from driving_scenes import STRAIGHT, scene_file

from simjudge.core.errors import UsageError
from simjudge.questions.drives.driven_line import (
    AHEAD,
    NO_CONE,
    ConesAhead,
    LaneCones,
    cut_windows,
    driven_line,
    fine_line,
    lane_cones,
    line_length,
    median_speed,
    next_cones,
)
from simjudge.questions.drives.run import compare_drive_sets
from simjudge.questions.drives.settings import DriveComparisonSettings
from simjudge.sim.scene.model import Course
from simjudge.sim.scene.read import read_scene

LEFT, RIGHT = 2, 1
"""Class ids of the made scenes: green and red."""


def naive_place(points, x, y):
    """Along and beside a line, by trying all its pieces in turn."""
    best, along = (np.inf, 0.0, 0.0), 0.0
    for (x0, y0), (x1, y1) in pairwise(points):
        length = np.hypot(x1 - x0, y1 - y0)
        dx, dy = (x1 - x0) / length, (y1 - y0) / length
        share = (x - x0) * dx + (y - y0) * dy
        inside = min(max(share, 0.0), length)
        away = np.hypot(x - x0 - inside * dx, y - y0 - inside * dy)
        if away < best[0]:
            best = (away, along + inside, np.copysign(away, dx * (y - y0) - dy * (x - x0)))
        along += length
    return best[1:]


def naive_cones(scene, course, start, count, reach):
    """What `next_cones` has for one start, from the scene's things."""
    out = [[NO_CONE] * 2 for _ in range(2 * count)]
    found = {LEFT: [], RIGHT: []}
    for thing in scene.things:
        if thing.class_id in found:
            along, aside = naive_place(course.centre_line, *thing.pose.position[:2])
            if 0 <= along - start <= reach:
                found[thing.class_id].append((along - start, aside))
    for side, class_id in enumerate((LEFT, RIGHT)):
        for number, place in enumerate(sorted(found[class_id])[:count]):
            out[2 * number + side] = list(place)
    return np.ravel(out)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_the_next_cones_are_those_that_a_loop_over_all_things_finds(tmp_path, count):
    scene = read_scene(scene_file(tmp_path))
    course = fine_line(scene.course)
    starts = 0.37 + 0.5 * np.arange(int(line_length(course) / 0.5))
    found = next_cones(course, lane_cones(scene, course), starts, count, 1.5)
    wanted = np.array([naive_cones(scene, course, start, count, 1.5) for start in starts])
    np.testing.assert_allclose(found, wanted, atol=1e-9)
    assert (found[:, 1] > 0).mean() > 0.9


def test_on_a_closed_course_cones_come_again_in_the_next_lap():
    ring = np.linspace(0, 2 * np.pi, 201)
    course = Course(np.stack([np.cos(ring), np.sin(ring)], 1), 1.0, closed=True)
    cones = LaneCones(np.array([[0.5, 0.3], [6.0, 0.4]]), np.empty((0, 2)))
    found = next_cones(course, cones, np.array([5.8]), 2, 1.5)
    length = line_length(course)
    np.testing.assert_allclose(found, [[0.2, 0.4, NO_CONE, NO_CONE, 0.5 + length - 5.8, 0.3, NO_CONE, NO_CONE]])


def test_windows_hold_the_cones_ahead_of_their_start_whatever_the_lap(tmp_path):
    scene = read_scene(scene_file(tmp_path, STRAIGHT))
    course = fine_line(scene.course)
    lines = [driven_line(course, made_drive(seed, laps=0.14)) for seed in range(2)]
    cones = ConesAhead(lane_cones(scene, course), 2)
    windows = cut_windows(course, lines, median_speed(course, lines), 0.5, cones)
    for row, window in enumerate(windows.window):
        np.testing.assert_allclose(
            windows.cones[row], naive_cones(scene, course, 0.5 * window, 2, AHEAD * 0.5), atol=1e-9
        )


@pytest.mark.long
def test_only_stretches_with_cones_at_the_same_places_are_alike(tmp_path):
    course = str(scene_file(tmp_path, STRAIGHT, spacing=0.8))
    real = [made_drive(seed, laps=0.14) for seed in range(5)]
    plain = DriveComparisonSettings(draws=0, course=course, curvature_tolerance=1, speed_tolerance=1)
    scene = read_scene(course)
    line = fine_line(scene.course)
    for count, tolerance in ((0, 0.25), (1, 0.25), (1, 0.05), (2, 0.5)):
        result = compare_drive_sets(real, real[:3], replace(plain, cones=count, cone_tolerance=tolerance))
        windows = result.windows
        wanted = []
        for first in windows[0].window:
            ours = naive_cones(scene, line, 0.5 * first, count, 1.5)
            wanted.append(
                sum(
                    np.all(np.abs(ours - naive_cones(scene, line, 0.5 * other, count, 1.5)) <= tolerance)
                    for other in windows[1].window
                )
            )
        np.testing.assert_array_equal(result.results[0].comparison.batch[:, 1], wanted)
        assert count == 0 or min(wanted) < len(windows[1].window)


def test_cones_without_a_scene_are_refused():
    with pytest.raises(UsageError, match="cones: name the scene"):
        DriveComparisonSettings(cones=1)
