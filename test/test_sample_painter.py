"""The painter of the sample recordings: where things are in the picture, against the pinhole camera's formulas."""

import importlib.util
import math
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from simjudge.data.rosbag2.recorded_poses import read_poses
from simjudge.data.sets import read_set
from simjudge.sim.capture.camera_poses import camera_mount
from simjudge.sim.scene.read import read_scene

BAGS = Path(__file__).parents[1] / "bags"


def loaded(name):
    spec = importlib.util.spec_from_file_location(name, BAGS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


painter = loaded("painter")
CAMERA = painter.Camera()


def course(*places):
    classes = [painter.RED if y < 0 else painter.GREEN for _, y in places]
    return painter.Course(np.array(places, float), np.array(classes), (-1.0, -3.0, 9.0, 3.0))


@pytest.mark.parametrize(("x", "y"), [(0.6, 0.0), (1.0, 0.3), (2.0, -0.7), (3.0, 0.5)])
def test_a_cone_is_where_a_pinhole_camera_sees_it(x, y):
    eye = 0.2
    seen = painter.paint(course((x, y)), painter.Pose(0, 0, eye, 0, 0), CAMERA, painter.Look())
    x0, y0, x1, y1 = seen.box[0]
    # The foot is a circle on the floor: its outline is seen between the two tangents.
    angle, half = math.atan2(y, x), math.asin(painter.FOOT_RADIUS / math.hypot(x, y))
    left = CAMERA.width / 2 - CAMERA.focal * math.tan(angle + half)
    right = CAMERA.width / 2 - CAMERA.focal * math.tan(angle - half)
    assert [x0, x1] == pytest.approx([left, right], abs=1.0)
    # Its nearest point (in depth) is lowest in the picture; the cap's farthest is highest, the eye being above it.
    low = CAMERA.height / 2 + CAMERA.focal * eye / (x - painter.FOOT_RADIUS)
    high = CAMERA.height / 2 + CAMERA.focal * (eye - painter.CONE_HEIGHT) / (x + painter.TOP_RADIUS)
    assert [y0, y1] == pytest.approx([high, low], abs=1.0)
    assert seen.visible[0] == 1


def test_turning_the_camera_moves_the_picture_the_right_way():
    def centre(yaw, pitch):
        seen = painter.paint(course((2.0, 0.0)), painter.Pose(0, 0, 0.2, yaw, pitch), CAMERA, painter.Look())
        return (seen.box[0, :2] + seen.box[0, 2:]) / 2

    straight = centre(0, 0)
    assert centre(0.1, 0)[0] - straight[0] == pytest.approx(CAMERA.focal * math.tan(0.1), abs=1)  # looks left
    below = math.atan2(0.2 - painter.CONE_HEIGHT / 2, 2.0)
    expected = CAMERA.height / 2 + CAMERA.focal * math.tan(below - 0.05)
    assert centre(0, 0.05)[1] == pytest.approx(expected, abs=1)  # looks down: things move up


def test_a_nearer_cone_hides_a_farther_one_and_boxes_bound_what_shows():
    pose = painter.Pose(0, 0, 0.1, 0, 0)
    both = painter.paint(course((0.8, 0.0), (1.2, 0.03)), pose, CAMERA, painter.Look())
    alone = painter.paint(course((1.2, 0.03)), pose, CAMERA, painter.Look())
    assert both.cone.tolist() == [0, 1]
    assert both.visible[0] == 1
    assert 0.1 < both.visible[1] < 0.9
    assert (both.box[1, 2] - both.box[1, 0]) < (alone.box[0, 2] - alone.box[0, 0])
    low = painter.Pose(0, 0, 0.03, 0, 0)
    hidden = painter.paint(course((0.8, 0.0), (2.5, 0.0)), low, CAMERA, painter.Look())
    assert hidden.cone.tolist() == [0]


def test_what_lies_beyond_the_picture_is_not_visible():
    at_the_edge = CAMERA.width / 2 / CAMERA.focal  # its axis ends the picture
    seen = painter.paint(course((1.0, -at_the_edge)), painter.Pose(0, 0, 0.2, 0, 0), CAMERA, painter.Look())
    assert seen.unhidden.tolist() == [1.0]
    assert seen.visible == pytest.approx([0.5], abs=0.03)
    assert seen.distance == pytest.approx([math.hypot(1.0, at_the_edge, 0.2 - painter.CONE_HEIGHT / 2)])


def test_what_is_behind_or_beside_is_not_there():
    seen = painter.paint(course((-0.5, 0.0), (0.5, 2.5)), painter.Pose(0, 0, 0.2, 0, 0), CAMERA, painter.Look())
    assert len(seen.cone) == 0
    assert seen.pixels.shape == (CAMERA.height, CAMERA.width, 3)


def test_colours_are_those_of_the_classes():
    seen = painter.paint(course((1.0, -0.2), (1.0, 0.2)), painter.Pose(0, 0, 0.2, 0, 0), CAMERA, painter.Look())
    for box, strongest in zip(seen.box.astype(int), (0, 1), strict=True):
        lower = seen.pixels[box[3] - 6 : box[3] - 3, (box[0] + box[2]) // 2]
        assert (lower.argmax(1) == strongest).all()


@pytest.mark.parametrize("name", ["real_stand_in", "sim"])
def test_the_recordings_hold_the_poses_from_which_their_scene_is_seen(name):
    """What replay needs: through the recorded poses, the scene's cones lie within the labelled boxes."""
    frames = read_set(BAGS / f"{name}.mcap")
    trajectory = read_poses(BAGS / f"{name}.mcap").trajectory
    assert trajectory.stamp.tolist() == frames.stamp.tolist()
    mount, _ = camera_mount("art1", None)
    table = yaml.safe_load((BAGS / "course.yaml").read_text())["placements"]["cones"]["table"]["rows"]
    cones = {int(n): (int(k), float(x), float(y)) for n, k, x, y in (row.split() for row in table.splitlines())}
    off = []
    objects = frames.objects
    for row, (frame, box) in enumerate(zip(objects.frame, objects.box, strict=True)):
        kind, x, y = cones[int(objects.instance[row])]
        assert kind == objects.class_id[row]
        # A pinhole at the recorded pose: x right, y down, z forward.
        right, down, ahead = (trajectory.pose(int(frame)) @ mount).to_body([x, y, painter.CONE_HEIGHT / 2])
        assert objects.distance[row] == pytest.approx(math.hypot(right, down, ahead), abs=2e-4), "rounded in the table"
        across = CAMERA.width / 2 + CAMERA.focal * right / ahead
        below = CAMERA.height / 2 + CAMERA.focal * down / ahead
        off.append([across - (box[0] + box[2]) / 2, below - (box[1] + box[3]) / 2])
    assert ((objects.visible > 0) & (objects.visible <= 1)).all()
    # Of a cone that is half hidden or half outside the image, the box bounds the rest: the others are in the middle.
    assert np.median(np.abs(off), axis=0) == pytest.approx([0, 0], abs=0.6)


def test_the_scene_of_the_recordings_can_be_rendered():
    scene = read_scene(BAGS / "course.yaml")
    assert {thing.class_id for thing in scene.labelled()} == {painter.RED, painter.GREEN}
