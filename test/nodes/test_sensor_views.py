"""Boxes, inertial readings and fixes as what RViz can show."""

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")
pytest.importorskip("simjudge_msgs", reason="simjudge_msgs is not installed: pip install ./msgs")

from sensor_msgs.msg import Imu
from simjudge_msgs.msg import LabelledBox, LabelledBoxArray
from visualization_msgs.msg import Marker

from simjudge.nodes.messages import make_header
from simjudge.nodes.sim_sensors import box_markers, imu_markers
from simjudge.page.chart_data import DARK, class_colours, rgb


def test_boxes_are_cubes_with_names():
    box = LabelledBox(class_id=3, class_name="red cone")
    box.pose.position.z, box.pose.orientation.w = 1.0, 1.0
    box.size.x, box.size.y, box.size.z = 0.5, 0.6, 0.8
    message = LabelledBoxArray(header=make_header(7, "roof_link"), boxes=[box, LabelledBox(class_id=9)])
    markers = box_markers(message, class_colours(["red cone", "green cone"])).markers
    assert [marker.action for marker in markers[:2]] == [Marker.DELETEALL] * 2
    cube, name, _, other = markers[2:]
    assert (cube.type, cube.header.frame_id, cube.pose) == (Marker.CUBE, "roof_link", box.pose)
    assert (cube.scale.x, cube.scale.y, cube.scale.z) == (0.5, 0.6, 0.8)
    assert (cube.color.r, cube.color.g, cube.color.b) == pytest.approx([part / 255 for part in rgb(DARK["red"])])
    assert 0 < cube.color.a < 1
    assert (name.type, name.text) == (Marker.TEXT_VIEW_FACING, "red cone")
    assert name.pose.position.z > 1.4
    assert other.text == "9"
    assert len({(marker.ns, marker.id) for marker in markers}) == 6, "RViz shows an array with a pair twice as an error"
    assert 0 < name.scale.x < name.scale.z, "RViz's width of a space"


def test_an_imu_is_two_arrows_at_its_place():
    message = Imu(header=make_header(7, "imu_link"))
    message.linear_acceleration.z, message.angular_velocity.y = 9.8, 0.4
    force, turning = imu_markers(message).markers
    assert force.header.frame_id == "imu_link"
    assert force.points[1].z == pytest.approx(9.8 * 0.05)
    assert turning.points[1].y == pytest.approx(0.4 * 0.5)
    message.angular_velocity_covariance[0] = -1.0
    assert [marker.ns for marker in imu_markers(message).markers] == ["linear_acceleration"]
