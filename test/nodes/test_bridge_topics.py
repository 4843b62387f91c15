"""The topics of a bridge on real DDS: frames with their truth, where cameras are, and commands."""

from pathlib import Path

import pytest

rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")
pytest.importorskip("simjudge_msgs", reason="simjudge_msgs is not installed: make setup-ros")

from nav_msgs.msg import Odometry  # noqa: E402
from rclpy.qos import DurabilityPolicy, QoSProfile  # noqa: E402
from rosgraph_msgs.msg import Clock  # noqa: E402
from sensor_msgs.msg import CameraInfo, Image, JointState  # noqa: E402
from simjudge_msgs.msg import LabelledObjectArray, VehicleInput  # noqa: E402
from std_msgs.msg import String  # noqa: E402
from tf2_msgs.msg import TFMessage  # noqa: E402

from simjudge.nodes.messages import message_stamp  # noqa: E402
from simjudge.nodes.qos import reliable_qos  # noqa: E402

TOPICS = {
    "camera/image_raw": Image,
    "camera/instance": Image,
    "camera/camera_info": CameraInfo,
    "above/image_raw": Image,
    "camera/ground_truth": LabelledObjectArray,
    "vehicle/odometry": Odometry,
    "/clock": Clock,
    "/tf": TFMessage,
    "joint_states": JointState,
    "robot_description": String,
}

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def test_a_program_s_frames_and_commands(graph):
    heard = {}
    for topic, kind in TOPICS.items():

        def take(message, topic=topic):
            heard.setdefault(topic, []).append(message)

        camera = topic.endswith(("image_raw", "instance", "camera_info"))
        quality = rclpy.qos.qos_profile_sensor_data if camera else reliable_qos(10)
        quality = LATCHED if topic == "robot_description" else quality
        graph.node.create_subscription(kind, topic, take, quality)
    process = graph.start(Path(__file__).parent / "bridge_source.py")

    def complete():
        frames = {transform.child_frame_id for message in heard.get("/tf", ()) for transform in message.transforms}
        return set(heard) == set(TOPICS) and {"base_link", "above_optical_frame", "rear_left_wheel"} <= frames

    assert graph.until(complete), (graph.output(process), {topic: len(found) for topic, found in heard.items()})
    image, truth = heard["camera/image_raw"][-1], heard["camera/ground_truth"][-1]
    assert (image.width, image.height, image.encoding, bytes(image.data[:3])) == (8, 6, "rgb8", bytes([10, 20, 30]))
    assert message_stamp(image) % 20_000_000 == 0
    (only,) = truth.objects
    assert (only.class_name, only.instance_id, only.visible) == ("red", 7, pytest.approx(0.75))
    assert (only.box.x0, only.box.y1, only.distance) == (1, 6, 2.5)
    odometry = heard["vehicle/odometry"][-1]
    assert odometry.pose.pose.position.x == pytest.approx(message_stamp(odometry) / 1e9)
    assert list(heard["joint_states"][-1].position) == [0.1, 0.2, 1, 2, 3, 4]
    assert '<joint name="rear_left_wheel_joint" type="continuous">' in heard["robot_description"][0].data
    commands = graph.node.create_publisher(VehicleInput, "vehicle/input", 10)

    def ended():
        commands.publish(VehicleInput(steering=0.5, throttle=0.25, braking=0.0))
        return process.poll() is not None

    assert graph.until(ended), graph.output(process)
    assert "Command(steering=0.5, throttle=0.25, braking=0.0)" in graph.output(process)
    assert process.returncode == 0, graph.output(process)
