"""A topic that others have with another message type is named within seconds."""

from pathlib import Path

import pytest

rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed: pip install simjudge[ros]")

from geometry_msgs.msg import Twist  # noqa: E402
from std_msgs.msg import Bool  # noqa: E402

SMALL = Path(__file__).with_name("small_node.py")


def test_a_publisher_and_a_subscriber_of_another_type_are_named(graph):
    small = graph.start(SMALL)
    graph.node.create_publisher(Bool, "/heard", 1)
    graph.node.create_subscription(Bool, "/said", lambda _: None, 1)
    graph.wait_for(small, "/said: /test subscribes to it as std_msgs/msg/Bool, this node has it as std_msgs/msg/String")
    graph.wait_for(
        small,
        "/heard: /test publishes it as std_msgs/msg/Bool, this node has it as std_msgs/msg/String:"
        " nothing can arrive; remap one of them",
    )


def test_the_parameter_that_chooses_the_type_is_named(graph):
    driver = graph.start("drive_node", vehicle="art1")
    graph.node.create_subscription(Twist, "/vehicle/input", lambda _: None, 1)
    graph.wait_for(driver, "nothing can arrive; set output_type:=geometry_msgs/msg/Twist")
