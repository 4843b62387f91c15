"""Clouds and boxes of a recording: the numbers that are said of them, against loops over what was written."""

import math

import numpy as np
import pytest
from bag_samples import SECOND, TYPES
from drive_recordings import CLOUDS, START, boxes, cloud, points_of, write_drive

from simjudge.core.errors import Losses
from simjudge.data.rosbag2.cloud_writing import vision_boxes
from simjudge.data.rosbag2.recording import Recording
from simjudge.geometry.transforms import TransformTree
from simjudge.sim.sensors.recorded_readings import (
    boxes_of_message,
    measured_cloud_topics,
    read_boxes,
    read_cloud_series,
)

TURN = (0.0, 0.0, math.sin(math.pi / 4), math.cos(math.pi / 4))


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    return Recording(write_drive(tmp_path_factory.mktemp("drive") / "d.mcap"))


def test_clouds_without_the_truth_beside_them(recording):
    assert measured_cloud_topics(recording) == ["/scan/points"]


def test_numbers_are_those_of_a_loop(recording):
    found = read_cloud_series(recording, "/scan/points", Losses())
    assert len(found) == CLOUDS
    assert (found.frame, found.rings) == ("roof_link", 4)
    for row in range(CLOUDS):
        distances = [math.dist((0, 0, 0), point) for point in points_of(row).tolist() if not math.isnan(point[0])]
        assert (found.points[row], found.empty[row]) == (len(distances), 1)
        assert found.nearest[row] == pytest.approx(min(distances), rel=1e-6)
        assert found.farthest[row] == pytest.approx(max(distances), rel=1e-6)
        np.testing.assert_allclose(found.read(row), points_of(row)[:-1], rtol=1e-6)


def test_boxes_are_those_of_the_same_stamp(recording):
    found = read_boxes(recording, "/scan/points", Losses())
    assert list(found) == [START + k * SECOND // 10 for k in range(CLOUDS)]
    one = found[START]
    assert one.class_name == ["red cone", "green cone"]
    assert one.size.tolist() == [[1, 2, 3]] * 2
    assert one.centre.tolist() == [[0, -6, 0.5]] * 2
    np.testing.assert_array_equal(one.rotation, [np.eye(3)] * 2)


def test_boxes_of_vision_msgs_are_the_same(tmp_path):
    made = vision_boxes(TYPES.types.__getitem__, boxes(START))
    messages = [("/p", START, cloud(START, [(1.0, 2.0, 3.0)])), ("/found", START, made)]
    found = read_boxes(Recording(write_drive(tmp_path / "d.mcap", messages)), "/p", Losses())[START]
    wanted = boxes_of_message(boxes(START))
    assert found.class_name == wanted.class_name == ["red cone", "green cone"]
    for name in ("centre", "rotation", "size"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))


def test_boxes_of_no_numbers_are_counted(tmp_path):
    bad = boxes(START)
    bad.boxes[1].size.x = math.nan
    messages = [("/p", START, cloud(START, [(1.0, 2.0, 3.0)])), ("/p/boxes", START, bad)]
    losses = Losses()
    assert len(read_boxes(Recording(write_drive(tmp_path / "d.mcap", messages)), "/p", losses)[START]) == 1
    assert losses.counts == {"boxes with numbers that are not finite": 1}


def test_what_cannot_be_read_is_counted_and_stamps_are_put_in_order(tmp_path):
    good = [cloud(START + k, [(1.0, 2.0, 3.0)]) for k in (3, 1, 2)]
    cut, flat = cloud(START + 4, [(1.0, 2.0, 3.0)]), cloud(START + 5, [(1.0, 2.0, 3.0)])
    cut.width = 7
    flat.fields = [field for field in flat.fields if field.name != "z"]
    messages = [("/p", START + 10 * k, each) for k, each in enumerate([*good, cut, flat])]
    losses = Losses()
    found = read_cloud_series(Recording(write_drive(tmp_path / "d.mcap", messages)), "/p", losses)
    assert found.stamp.tolist() == [START + 1, START + 2, START + 3]
    assert losses.counts == {"clouds that cannot be read": 2}
    assert "has no field z; it has x, y, intensity, ring, time" in losses.lines()[0]


def test_stamps_that_nobody_filled_in_are_those_of_recording(tmp_path):
    messages = [("/p", START + k * SECOND, cloud(0, [(1.0, 2.0, 3.0)])) for k in range(3)]
    found = read_cloud_series(Recording(write_drive(tmp_path / "d.mcap", messages)), "/p", Losses())
    assert found.stamp.tolist() == [START + k * SECOND for k in range(3)]


@pytest.mark.parametrize(
    ("links", "body", "place"),
    [
        ([("base_link", "mast", True), ("mast", "roof", True), ("map", "base_link", True)], "base_link", (1, 1, 3)),
        ([("chassis", "mast", True), ("mast", "roof", True), ("odom", "chassis", False)], "chassis", (1, 1, 3)),
        ([("base_link", "mast", False), ("mast", "roof", True)], "mast", (0, 1, 3)),
        ([], "roof", (1, 1, 3)),
    ],
)
def test_the_body_that_carries_a_frame(links, body, place):
    """Each link is 1 m ahead of its parent; that of the roof is turned left by 90 degrees."""
    tree = TransformTree("here")
    for parent, child, static in links:
        tree.add(parent, child, 0, (1.0, 0.0, 0.0), TURN if child == "roof" else (0, 0, 0, 1), static=static)
    found, mount = tree.static_mount("/roof")
    assert found == body
    assert mount.to_world((1.0, 1.0, 3.0)) == pytest.approx(place)
