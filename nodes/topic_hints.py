"""What else there is where nobody publishes a topic: topics of the same type, the most similar names first."""

from __future__ import annotations

import difflib
from collections.abc import Collection

from rclpy.node import Node

from simjudge.ros.node_interfaces import NODES

_MOST_NAMED = 5
"""Topics that a message names."""


def similar_topics(node: Node, types: Collection[str], wanted: str) -> list[str]:
    """Topics that somebody else publishes and that may be meant.

    What simjudge's nodes make of a camera's images (overlays, label images, depth) is nobody's input.
    """
    own = {name for name, _ in node.get_publisher_names_and_types_by_node(node.get_name(), node.get_namespace())}
    found = [
        name
        for name, held in node.get_topic_names_and_types()
        if set(types) & set(held)
        and name not in own
        and not name.endswith(tuple(f"/{topic}" for topic in _MADE_IMAGES))
        and node.count_publishers(name)
    ]
    found.sort(key=lambda name: difflib.SequenceMatcher(None, name, wanted).ratio(), reverse=True)
    return found[:_MOST_NAMED]


def remap_hint(node: Node, kind: str, wanted: str) -> str:
    """The end of a message that nobody publishes a topic: who publishes its type, and the remapping.

    Returns:
        Text that begins with a semicolon; empty where nobody publishes the type.
    """
    others = similar_topics(node, [kind], wanted)
    return f"; {others[0]} is of its type: remap with -r {wanted}:={others[0]}" if others else ""


def _made_images() -> frozenset[str]:
    """Images that the suite's nodes publish, without those that show what a camera saw."""
    images = {
        endpoint.topic
        for interface in NODES.values()
        for endpoint in interface.publishes
        if endpoint.type == "sensor_msgs/msg/Image"
    }
    return frozenset(images - {"camera/image_raw", "camera/image_rect", "NAME/image_raw"})


_MADE_IMAGES = _made_images()
