"""`simjudge doctor --live` on a small real graph, whole and with what is usually wrong."""

import json

import numpy as np
import pytest
from support import processes

rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")
pytest.importorskip("tf2_msgs", reason="tf2_msgs is not installed: make setup-test")

from geometry_msgs.msg import TransformStamped  # noqa: E402
from nav_msgs.msg import Odometry  # noqa: E402
from rosgraph_msgs.msg import Clock  # noqa: E402
from sensor_msgs.msg import CameraInfo, Image  # noqa: E402
from tf2_msgs.msg import TFMessage  # noqa: E402

from simjudge.nodes.messages import make_header  # noqa: E402
from simjudge.nodes.qos import latched_qos, reliable_qos, sensor_data_qos  # noqa: E402
from simjudge.sim.sensors.lidar.checked_scans import FAIL, PASS  # noqa: E402

pytestmark = pytest.mark.slow
WIDTH, HEIGHT = 32, 24
PIXELS = np.random.default_rng(0).integers(0, 255, WIDTH * HEIGHT * 3, np.uint8).tobytes()


def transform(stamp, parent, child, quaternion):
    out = TransformStamped(header=make_header(stamp, parent), child_frame_id=child)
    out.transform.rotation.x, out.transform.rotation.y, out.transform.rotation.z, out.transform.rotation.w = quaternion
    return out


SHORT = {"poses without jumps", "poses cover the images"}


class Robot:
    """A camera on a car that says where it is, ten times a second by the wall clock."""

    def __init__(self, node, late=0.0):
        self.node, self.late = node, round(late * 1e9)
        make = node.create_publisher
        self.images = make(Image, "/front/image_raw", sensor_data_qos())
        self.infos = make(CameraInfo, "/front/camera_info", reliable_qos())
        self.odometry = make(Odometry, "/odom", reliable_qos())
        self.tf, static = make(TFMessage, "/tf", reliable_qos(100)), make(TFMessage, "/tf_static", latched_qos())
        static.publish(TFMessage(transforms=[transform(0, "base_link", "front_optical", (-0.5, 0.5, -0.5, 0.5))]))
        node.create_timer(0.1, self.send)

    def send(self):
        now = self.node.get_clock().now().nanoseconds
        head = make_header(now - self.late, "front_optical")
        size = {"width": WIDTH, "height": HEIGHT}
        self.images.publish(Image(header=head, encoding="rgb8", step=3 * WIDTH, data=PIXELS, **size))
        k = [30.0, 0.0, WIDTH / 2 - 0.5, 0.0, 30.0, HEIGHT / 2 - 0.5, 0.0, 0.0, 1.0]
        p = [*k[:3], 0.0, *k[3:6], 0.0, *k[6:], 0.0]
        self.infos.publish(
            CameraInfo(
                header=head,
                **size,
                distortion_model="plumb_bob",
                d=[0.0] * 5,
                k=k,
                r=np.eye(3).reshape(-1).tolist(),
                p=p,
            )
        )
        odometry = Odometry(header=make_header(now, "odom"), child_frame_id="base_link")
        odometry.pose.pose.position.x = now / 1e9 % 1000
        self.odometry.publish(odometry)
        self.tf.publish(TFMessage(transforms=[transform(now, "odom", "base_link", (0.0, 0.0, 0.0, 1.0))]))


def doctor(graph, *arguments):
    """Run the command while the test's node is served: exit code, output, what it found."""
    out = graph.folder / "found.json"
    process = processes.Popen(
        [*processes.SIMJUDGE, "doctor", "--seconds=3", f"--out={out}", *arguments],
        env=graph.environment,
        stdout=processes.PIPE,
        stderr=processes.STDOUT,
        text=True,
    )
    graph.until(lambda: process.poll() is not None)
    said = process.communicate()[0]
    return process.returncode, said, json.loads(out.read_text()) if out.is_file() else None


def verdicts(found):
    return {each["check"]: each["verdict"] for each in found["checks"]}


def finding(found, check):
    return next(each for each in found["checks"] if each["check"] == check)


@pytest.mark.long
def test_whole_robot_has_what_a_recording_needs(graph):
    Robot(graph.node)
    code, said, found = doctor(graph)
    assert found is not None, said
    troubles = {name for name, verdict in verdicts(found).items() if verdict == FAIL}
    # On a busy machine messages may come in bunches.
    assert troubles <= {"rate without gaps", "stamps keep pace", *SHORT}, said
    assert code == bool(troubles), said
    for check in (
        "QoS fits",
        "one type a topic",
        "messages come",
        "stamps are now",
        "camera in the world",
        "calibration",
        "one tree of frames",
        "camera on the body",
        "odometry",
        "images",
    ):
        assert verdicts(found)[check] == PASS, said
    assert finding(found, "camera in the world")["figure"] == "front_optical < base_link < odom"
    assert found["questions"]["replay"]["usable"] != "no"
    assert found["questions"]["compare"]["usable"] == "no"
    assert found["questions"]["compare"]["lacking"] == ["labels"]
    assert f"ROS_DOMAIN_ID {graph.domain}" in said
    rows = {each["topic"]: each for each in found["topics"]}
    assert rows["/front/image_raw"] == {
        "topic": "/front/image_raw",
        "type": "sensor_msgs/msg/Image",
        "publishers": ["/test"],
        "subscriptions": [],
        "messages": rows["/front/image_raw"]["messages"],
    }
    assert 5 < rows["/odom"]["messages"] < 60
    assert "simjudge sim replay drive --scene lab" in said
    assert "simjudge_doctor_" not in said


@pytest.mark.long
def test_what_is_wrong_with_a_graph_is_named_with_the_line_that_mends_it(graph):
    node = graph.node
    Robot(node, late=2.0)
    node.create_subscription(Image, "/front/image_raw", lambda _: None, reliable_qos())
    node.create_subscription(Image, "/front/image", lambda _: None, reliable_qos())
    code, said, found = doctor(graph, "--live", "--for", "drive")
    assert code == 1, said
    assert finding(found, "QoS fits")["verdict"] == FAIL
    assert finding(found, "QoS fits")["about"] == "/front/image_raw"
    assert "/test asks /test for reliable, and gets best effort" in finding(found, "QoS fits")["note"]
    assert "-r /front/image:=/front/image_raw" in finding(found, "subscriptions have publishers")["mend"]
    late = finding(found, "stamps are now")
    assert late["verdict"] == FAIL
    assert 1.9 < float(late["figure"].split()[0]) < 4


@pytest.mark.long
def test_two_clocks_are_seen(graph):
    node = graph.node
    clocks = [node.create_publisher(Clock, "/clock", reliable_qos()) for _ in range(2)]
    node.create_timer(0.1, lambda: clocks[0].publish(Clock()))
    code, said, found = doctor(graph)
    assert code == 1
    assert finding(found, "one publisher of /clock")["figure"] == "2: /test, /test", said


@pytest.mark.long
def test_nothing_runs_is_one_line(graph):
    code, said, found = doctor(graph, "--live")
    assert (code, found) == (1, None)
    (line,) = said.splitlines()
    assert f"ROS_DOMAIN_ID {graph.domain}: no topic within 3 s" in line


def test_path_and_live_are_not_given_together(graph):
    code, said, _ = doctor(graph, "--live", "drive.mcap")
    assert code == 2
    assert "drive.mcap or --live: give one of them" in said
