"""Labels in another frame than their clouds: moved where a transform says how, else left out and counted."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import simjudge as sj
from simjudge.data.clouds import Cloud, CloudBoxes, CloudSet
from simjudge.data.rosbag2 import cloud_writing
from simjudge.data.rosbag2.cloud_reading import OTHER_FRAME
from simjudge.data.rosbag2.interfaces import standard_types
from simjudge.data.rosbag2.live_recording import record_messages
from simjudge.geometry.poses import Pose

STAMP = 10**9
MOUNT = Pose.from_euler(1.2, -0.1, 1.6, yaw=0.3, pitch=0.1)
"""Of the lidar on the car."""
find = standard_types().types.__getitem__


def clouds():
    table = np.zeros(4, [("x", "f4"), ("y", "f4"), ("z", "f4")])
    table["x"] = [1, 2, 3, 40]
    orientation = Rotation.from_euler("z", [[0.0], [0.4]]).as_quat()
    boxes = CloudBoxes(
        np.array([0, 0]),
        np.array([2, 2]),
        np.array([7, 8]),
        np.array([[2.0, 0, 0], [9, 9, 9]]),
        orientation,
        np.array([[2.0, 1, 1], [1, 2, 3]]),
    )
    return CloudSet(
        "made",
        ["a"],
        np.array([STAMP]),
        lambda _index: Cloud(table),
        boxes=boxes,
        labelled=np.array([True]),
        class_names={2: "cone"},
    )


def write(path, frame, linked):
    """A recording whose labels are in a frame of the car."""
    made = clouds()
    maker = cloud_writing._CloudMaker(made)
    with record_messages(path) as out:
        if linked:
            header = find("std_msgs/msg/Header")(stamp=find("builtin_interfaces/msg/Time")(1, 0), frame_id="base_link")
            shift = find("geometry_msgs/msg/Vector3")(*MOUNT.position)
            turn = find("geometry_msgs/msg/Quaternion")(*MOUNT.orientation)
            link = find("geometry_msgs/msg/TransformStamped")(
                header, "lidar_link", find("geometry_msgs/msg/Transform")(shift, turn)
            )
            out.write("/tf_static", STAMP, find("tf2_msgs/msg/TFMessage")([link]))
        for message in maker.messages(made.read(0), 0, STAMP):
            if message.topic == "/scan/points/boxes":
                message.content.header.frame_id = frame
            out.write(message.topic, STAMP, message.content)
    return made


@pytest.mark.parametrize("frame", ["lidar_link", "/lidar_link", ""])
def test_boxes_in_the_clouds_frame_stay(frame, tmp_path):
    made = write(tmp_path / "a.mcap", frame, linked=True)
    read = sj.read_clouds(tmp_path / "a.mcap")
    assert np.array_equal(read.boxes.centre, made.boxes.centre)
    assert not read.losses


def test_boxes_of_the_car_are_moved(tmp_path):
    made = write(tmp_path / "a.mcap", "base_link", linked=True)
    read = sj.read_clouds(tmp_path / "a.mcap")
    matrix = np.linalg.inv(MOUNT.matrix())
    assert read.boxes.centre == pytest.approx(made.boxes.centre @ matrix[:3, :3].T + matrix[:3, 3])
    expected = matrix[:3, :3] @ Rotation.from_quat(made.boxes.orientation).as_matrix()
    assert Rotation.from_quat(read.boxes.orientation).as_matrix() == pytest.approx(expected)
    assert np.array_equal(read.boxes.size, made.boxes.size)
    assert not read.losses


@pytest.mark.parametrize(("frame", "linked"), [("base_link", False), ("map", True)])
def test_boxes_without_a_link_are_counted(frame, linked, tmp_path):
    write(tmp_path / "a.mcap", frame, linked)
    read = sj.read_clouds(tmp_path / "a.mcap")
    assert len(read.boxes) == 0
    assert read.labelled.tolist() == [False]
    assert read.losses.counts == {OTHER_FRAME: 2}
    assert repr(frame) in read.losses.lines()[0]
