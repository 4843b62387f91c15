"""Who publishes a topic and who subscribes to it, by the topic's full name.

A name that comes from the graph, or was resolved, is final. rclpy's own functions apply the node's remappings to it
once more, and so look at another topic where one is remapped onto a name that is remapped itself.
"""

from __future__ import annotations

from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.topic_endpoint_info import TopicEndpointInfo


def publishers_at(node: Node, topic: str) -> list[TopicEndpointInfo]:
    """The publishers of a topic."""
    with node.handle:
        found = rclpy_implementation.rclpy_get_publishers_info_by_topic(node.handle, topic, False)  # noqa: FBT003
    return [TopicEndpointInfo(**each) for each in found]


def subscriptions_at(node: Node, topic: str) -> list[TopicEndpointInfo]:
    """The subscriptions to a topic."""
    with node.handle:
        found = rclpy_implementation.rclpy_get_subscriptions_info_by_topic(node.handle, topic, False)  # noqa: FBT003
    return [TopicEndpointInfo(**each) for each in found]
