"""manual_node by itself, with real publishers: a joystick, a twist, silence, keys from a pipe, what makes no sense."""

from importlib.util import find_spec

import pytest

rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")

from geometry_msgs.msg import Twist  # noqa: E402
from nav_msgs.msg import Odometry  # noqa: E402
from sensor_msgs.msg import Joy  # noqa: E402
from simjudge_msgs.msg import VehicleInput  # noqa: E402

from simjudge.nodes.messages import make_header, message_stamp  # noqa: E402
from simjudge.nodes.qos import reliable_qos  # noqa: E402

TYPES = {"joy": Joy, "cmd_vel": Twist, "vehicle/odometry": Odometry}


def odometry(seconds, speed=0.0):
    message = Odometry(header=make_header(round(seconds * 1e9), "odom"), child_frame_id="base_link")
    message.twist.twist.linear.x = speed
    return message


@pytest.fixture
def ends(graph):
    """Publishers to the node by topic, and what it answers to an odometry."""

    class Ends:
        def __init__(self):
            self.inputs = []
            qos, node = reliable_qos(100), graph.node
            self.to = {topic: node.create_publisher(kind, topic, qos) for topic, kind in TYPES.items()}
            graph.node.create_subscription(VehicleInput, "vehicle/input", self.inputs.append, reliable_qos(1000))

        def ready(self):
            return graph.until(lambda: all(end.get_subscription_count() for end in self.to.values())) and graph.until(
                lambda: graph.node.count_publishers("vehicle/input")
            )

        def answer(self, seconds, speed=0.0):
            count = len(self.inputs)
            self.to["vehicle/odometry"].publish(odometry(seconds, speed))
            assert graph.until(lambda: len(self.inputs) > count)
            assert message_stamp(self.inputs[-1]) == round(seconds * 1e9)
            return self.inputs[-1]

    return Ends()


def test_joystick_twist_and_silence(graph, ends):
    node = graph.start("manual_node", keyboard=False, axis_linear=1, axis_angular=0)
    assert ends.ready()
    assert ends.answer(0.5).throttle == 0
    ends.to["joy"].publish(Joy(axes=[0.25, 0.75], buttons=[1]))
    graph.until(lambda: False, timeout=0.5)
    answer = ends.answer(0.6)
    assert (answer.steering, answer.throttle, answer.braking) == pytest.approx((0.25, 0.75, 0.0))
    assert ends.answer(1.2).braking == 1.0, "it fell silent"
    twist = Twist()
    twist.linear.x, twist.angular.z = 1.0, -0.5
    ends.to["cmd_vel"].publish(twist)
    graph.until(lambda: False, timeout=0.5)
    answer = ends.answer(1.3, speed=0.2)
    assert answer.throttle > 0.3, "0.2 m/s is less than is asked for"
    assert answer.steering < -0.3
    ends.to["joy"].publish(Joy(axes=[0.1], buttons=[1]))
    graph.until(lambda: False, timeout=0.5)
    assert graph.stop(node) == 3
    assert "1 message that makes no sense on joy, not obeyed" in graph.output(node)
    lacks = find_spec("ackermann_msgs") is None
    assert ("ackermann_msgs" in graph.output(node)) == lacks, "what is not installed is said"
