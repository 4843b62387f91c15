"""drive_node by itself: messages in and out, a late camera_info, silence, nonsense."""

import signal

import numpy as np
import pytest
from diagnostic_states import States

rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")

from geometry_msgs.msg import Twist  # noqa: E402
from nav_msgs.msg import Odometry  # noqa: E402
from sensor_msgs.msg import CameraInfo  # noqa: E402
from simjudge_msgs.msg import Box, Detection, DetectionArray, VehicleInput  # noqa: E402
from std_msgs.msg import Header  # noqa: E402

from simjudge.core.errors import SimjudgeError  # noqa: E402
from simjudge.geometry.poses import Pose  # noqa: E402
from simjudge.nodes.car_messages import OdometryReader, cone_markers, path_message, side_detections, vehicle_state  # noqa: E402
from simjudge.nodes.messages import camera_info_message, make_header, message_stamp  # noqa: E402
from simjudge.nodes.qos import reliable_qos  # noqa: E402
from simjudge.sim.driving.cone_driver import Driver  # noqa: E402
from simjudge.sim.driving.cones import ConeShape  # noqa: E402
from simjudge.sim.sensors.camera.calibration import message_calibration  # noqa: E402
from simjudge.sim.sensors.camera.lens import lens_with_field  # noqa: E402
from simjudge.sim.vehicle.vehicle import read_vehicle  # noqa: E402

LENS = lens_with_field("pinhole", (640, 360), 80)
CAR = read_vehicle("art1")


def odometry(seconds, x=0.0, y=0.0, speed=0.0):
    message = Odometry(header=make_header(round(seconds * 1e9), "odom"), child_frame_id="base_link")
    message.pose.pose.position.x, message.pose.pose.position.y = x, y
    message.twist.twist.linear.x = speed
    return message


def seen_cones(seconds, shift=0.0):
    """What a detector would find of a straight lane, `shift` metres to the car's left."""
    camera = CAR.mounts["camera"].optical_frame()
    message = DetectionArray(header=make_header(round(seconds * 1e9), "camera_optical_frame"))
    for x in np.arange(1.5, 4.0, 0.5):
        for y, name in ((0.5 + shift, "green"), (-0.5 + shift, "red")):
            around = [[x - 0.04, y, 0], [x, y - 0.04, 0], [x, y + 0.04, 0], [x, y, 0.077]]
            pixels = LENS.project(camera.to_body(around)) + 0.5
            (x0, y0), (x1, y1) = pixels.min(0), pixels.max(0)
            if 0 < x0 < x1 < 640 and y1 < 360:
                box = Box(x0=x0, y0=y0, x1=x1, y1=y1)
                message.detections.append(Detection(class_name=name, class_id=7, box=box, score=0.9))
    return message


@pytest.fixture
def driven(graph):
    """Ends of the graph, and what the driver does."""

    class Ends:
        def __init__(self):
            node = graph.node
            self.inputs = []
            self.odometry = node.create_publisher(Odometry, "vehicle/odometry", reliable_qos(100))
            self.detections = node.create_publisher(DetectionArray, "camera/detections", reliable_qos(100))
            self.info = node.create_publisher(CameraInfo, "camera/camera_info", reliable_qos(10))
            node.create_subscription(VehicleInput, "vehicle/input", self.inputs.append, reliable_qos(1000))

        def ready(self):
            ends = (self.odometry, self.detections)
            return graph.until(lambda: all(end.get_subscription_count() for end in ends)) and graph.until(
                lambda: graph.node.count_publishers("vehicle/input")
            )

    return Ends()


@pytest.mark.long
def test_detections_wait_for_odometry_and_for_the_lens(graph, driven):
    driver = graph.start("drive_node")
    assert driven.ready()
    graph.until(lambda: False, timeout=0.5)
    driven.detections.publish(seen_cones(1.0, shift=0.2))
    driven.odometry.publish(odometry(0.9))
    graph.until(lambda: False, timeout=0.5)
    assert not driven.inputs, "it is not known yet how the car moved when the image was taken"
    driven.odometry.publish(odometry(1.02))
    graph.until(lambda: False, timeout=0.5)
    assert not driven.inputs, "nor what the camera's lens is"
    info = camera_info_message(LENS.camera_info().calibration)
    info.header = Header(frame_id="camera_optical_frame")
    driven.info.publish(info)
    assert graph.until(lambda: len(driven.inputs) == 1), graph.output(driver)
    for tick in range(1, 5):
        driven.odometry.publish(odometry(1.02 + 0.1 * tick, speed=0.5))
        driven.detections.publish(seen_cones(1.0 + 0.1 * tick, shift=0.2))
        assert graph.until(lambda n=tick: len(driven.inputs) == n + 1), graph.output(driver)
    assert [message_stamp(message) for message in driven.inputs] == [10**9 + 10**8 * tick for tick in range(5)]
    assert driven.inputs[-1].header.frame_id == "base_link"
    assert driven.inputs[-1].steering > 0.05, "the lane is to the left"
    assert driven.inputs[-1].throttle > 0
    assert graph.stop(driver) == 0


def test_a_robot_gets_the_speed_that_is_meant_and_is_stopped_at_the_end(graph, driven, tmp_path):
    camera = tmp_path / "camera.yaml"
    camera.write_text("size: [640, 360]\nfield_of_view: 80\nrate: 10\n")
    asked = []
    graph.node.create_subscription(Twist, "cmd_vel", asked.append, reliable_qos(100))
    driver = graph.start(
        "drive_node",
        "--ros-args",
        "-r",
        "vehicle/input:=cmd_vel",
        camera=camera,
        output_type="geometry_msgs/msg/Twist",
        fastest=0.8,
    )
    ends = (driven.odometry, driven.detections)
    assert graph.until(lambda: all(end.get_subscription_count() for end in ends))
    assert graph.until(lambda: graph.node.count_publishers("cmd_vel"))
    graph.until(lambda: False, timeout=0.5)
    for tick in range(5):
        driven.odometry.publish(odometry(0.1 * tick + 0.02, speed=0.5))
        driven.detections.publish(seen_cones(0.1 * tick, shift=0.2))
        assert graph.until(lambda n=tick: len(asked) == n + 1), graph.output(driver)
    assert 0.4 < asked[-1].linear.x <= 0.8
    # The lane is to the left; the bicycle's formula is held by test_output_types.
    assert asked[-1].angular.z > 0.01
    driver.send_signal(signal.SIGINT)
    assert graph.until(lambda: len(asked) == 6), graph.output(driver)
    assert (asked[-1].linear.x, asked[-1].angular.z) == (0.0, 0.0)
    assert driver.wait(60) == 0


def test_an_image_that_came_late_waits_for_the_odometry_of_its_handing_over(graph, driven, tmp_path):
    camera = tmp_path / "camera.yaml"
    camera.write_text("size: [640, 360]\nfield_of_view: 80\nrate: 10\nlag: 0.05\n")
    driver = graph.start("drive_node", camera=camera)
    assert driven.ready()
    driven.odometry.publish(odometry(1.02, speed=0.5))
    driven.detections.publish(seen_cones(1.0, shift=0.2))
    graph.until(lambda: False, timeout=0.5)
    assert not driven.inputs, "what it answers would depend on which message comes first"
    driven.odometry.publish(odometry(1.05, speed=0.5))
    assert graph.until(lambda: len(driven.inputs) == 1), graph.output(driver)
    assert graph.stop(driver) == 0


@pytest.mark.long
def test_where_no_detections_come_it_stops(graph, driven, tmp_path):
    camera = tmp_path / "camera.yaml"
    camera.write_text("size: [640, 360]\nfield_of_view: 80\nrate: 10\n")
    driver = graph.start("drive_node", camera=camera, silence=0.3)
    states = States(graph.node)
    assert driven.ready()
    for tick in range(5):
        driven.odometry.publish(odometry(0.1 * tick + 0.02, speed=1.0))
        driven.detections.publish(seen_cones(0.1 * tick))
        assert graph.until(lambda n=tick: len(driven.inputs) == n + 1), graph.output(driver)
    assert driven.inputs[-1].braking == 0
    for tick in range(1, 45):
        driven.odometry.publish(odometry(0.42 + 0.1 * tick, speed=1.0))
    assert graph.until(lambda: driven.inputs[-1].braking == 1), graph.output(driver)
    assert message_stamp(driven.inputs[-1]) > 3.3e9
    assert driven.inputs[-1].throttle == 0
    assert graph.until(lambda: "camera/detections" in states["drive_node: driving"].message)
    assert graph.stop(driver) == 0


def test_odometry_that_makes_no_sense_is_counted(graph, driven):
    driver = graph.start("drive_node")
    assert driven.ready()
    driven.odometry.publish(odometry(1.0, speed=float("nan")))
    bad = odometry(1.1)
    bad.pose.pose.orientation.w = 0.0
    driven.odometry.publish(bad)
    states = States(graph.node)
    assert graph.until(lambda: "drive_node: driving" in states)
    graph.until(lambda: False, timeout=0.5)
    assert graph.stop(driver) == 3
    assert "2 odometry messages that make no sense, not used" in graph.output(driver)


def test_odometry_is_how_the_car_moves():
    message = odometry(2.5, x=1.0, y=-2.0, speed=0.7)
    message.twist.twist.angular.z = 0.3
    state = vehicle_state(message)
    assert (state.time, state.pose, state.velocity) == (2.5, Pose((1.0, -2.0, 0.0)), (0.7, 0.0, 0.0))
    assert state.angular_velocity == (0.0, 0.0, 0.3)


@pytest.mark.parametrize(("fixed", "said"), [(False, []), (True, ["fixed frame, not in the car's; it is turned"])])
def test_a_twist_in_the_fixed_frame_is_turned_along_the_car(fixed, said):
    lines = []
    reader, speeds = OdometryReader(lines.append), []
    for tick in range(100):
        yaw = 0.01 * tick
        message = odometry(0.05 * tick, x=10 * np.sin(yaw), y=10 * (1 - np.cos(yaw)), speed=2.0)
        message.pose.pose.orientation.z, message.pose.pose.orientation.w = np.sin(yaw / 2), np.cos(yaw / 2)
        if fixed:
            message.twist.twist.linear.x, message.twist.twist.linear.y = 2 * np.cos(yaw), 2 * np.sin(yaw)
        speeds.append(reader.state(message).velocity[0])
    assert speeds[-25:] == pytest.approx([2.0] * 25)
    assert [words in line for words, line in zip(said, lines, strict=True)] == [True] * len(said)


@pytest.mark.parametrize("model", ["pinhole", "radial", "fov"])
def test_a_lens_goes_through_camera_info(model):
    lens = lens_with_field(model, (1280, 720), 80, (-0.3, 0.1, 0.0) if model == "radial" else (0.0, 0.0, 0.0))
    made = lens.camera_info("eye").calibration
    back = message_calibration(camera_info_message(made))
    np.testing.assert_array_equal(back.matrix, made.matrix)
    np.testing.assert_array_equal(back.distortion, made.distortion)
    assert (back.size, back.model) == (made.size, made.model)


def test_an_uncalibrated_camera_is_none():
    with pytest.raises(SimjudgeError, match="not calibrated"):
        message_calibration(CameraInfo(width=640, height=480))


def test_classes_are_known_by_name_or_number():
    rows = [("Red", 5), ("green", 1), ("", 9), ("blue", 3)]
    message = DetectionArray()
    message.detections = [Detection(class_name=name, class_id=number, score=0.5) for name, number in rows]
    assert side_detections(message, {"red": 1, "green": 2}).class_id.tolist() == [1, 2]
    assert side_detections(message, {"9": 1, "blue": 2}).class_id.tolist() == [1, 2]
    assert len(side_detections(DetectionArray(), {"red": 1})) == 0


def test_path_and_cones_as_messages():
    header = make_header(1_500_000_000, "odom")
    path = path_message(header, np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 2.0]]))
    assert [pose.pose.position.y for pose in path.poses] == [0, 1, 2]
    turn = path.poses[1].pose.orientation
    np.testing.assert_allclose([turn.z, turn.w], [np.sqrt(0.5)] * 2)
    assert path_message(header, np.empty((0, 2))).poses == []
    driver = Driver(CAR, LENS)
    state = vehicle_state(odometry(0.0))
    for tick in range(2):
        found = side_detections(seen_cones(0.0), {"red": 1, "green": 2})
        driver.drive(found, 0.1 * tick, vehicle_state(odometry(0.1 * tick)))
    assert state.pose == Pose()
    markers = cone_markers(header, driver.cones, 1, ConeShape()).markers
    assert markers[0].action == markers[0].DELETEALL
    assert len(markers) == len(driver.cones) + 1
    assert len({marker.id for marker in markers}) == len(markers), "RViz shows an array with a number twice as an error"
    assert all(marker.scale.z == pytest.approx(0.077) for marker in markers[1:])
