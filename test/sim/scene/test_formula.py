"""The scene formula: cones in the sizes of the rules, on their sides of a course that can be driven."""

from collections import Counter, defaultdict

import numpy as np
import pytest

from simjudge.sim.scene.ground import tightest_radius
from simjudge.sim.scene.read import read_scene
from simjudge.sim.sensors.camera.camera_file import read_camera

RULES = {"blue cone": (0.228, 0.325), "yellow cone": (0.228, 0.325), "big orange": (0.285, 0.505)}
"""Width and height of the cones, metres: the cones of the competition handbook of Formula Student Germany."""


@pytest.mark.parametrize("seed", [0, 1, 5])
def test_cones_have_the_sizes_of_the_rules_and_stand_on_their_sides(seed):
    scene = read_scene("formula", seed)
    cones = defaultdict(list)  # a surface of a cone is a thing; the things of one cone share its instance
    for thing in scene.labelled():
        cones[thing.instance].append(thing)
    count = Counter(scene.class_names[parts[0].class_id] for parts in cones.values())
    assert set(count) == set(RULES)
    assert count["big orange"] == 4
    assert min(count["blue cone"], count["yellow cone"]) > 40
    line = scene.course.centre_line
    tangent = np.roll(line, -1, 0) - line
    side = {"blue cone": 1.0, "yellow cone": -1.0}
    for parts in cones.values():
        name = scene.class_names[parts[0].class_id]
        width, height = RULES[name]
        vertices = np.vstack([part.mesh.vertices for part in parts])
        assert np.ptp(vertices, axis=0) == pytest.approx([width, width, height], abs=0.001)
        offset = np.asarray(parts[0].pose.position[:2]) - line
        nearest = int(np.argmin(np.linalg.norm(offset, axis=1)))
        (u, v), (x, y) = tangent[nearest], offset[nearest]
        away = float(np.hypot(x, y))
        assert away > 1.2
        if name in side and away < 2.1:
            assert np.sign(u * y - v * x) == side[name]


def test_the_course_is_as_narrow_and_as_winding_as_the_rules_allow():
    course = read_scene("formula").course
    assert course.width >= 3
    assert tightest_radius(course.centre_line) > 3
    closed = np.vstack([course.centre_line, course.centre_line[:1]])
    assert 120 < np.sum(np.linalg.norm(np.diff(closed, axis=0), axis=1)) < 140


def test_its_camera_is_a_strip():
    camera = read_camera("formula")
    assert camera.lens.size == (1024, 256)
