"""Publishers, subscriptions and services of a node, by `simjudge.ros.node_interfaces`; and who is at the other end."""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable, Collection, Iterable
from typing import Any

from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from rclpy.service import Service
from rclpy.subscription import Subscription

from simjudge.core.errors import SimjudgeError
from simjudge.ros.node_interfaces import CAMERA, LATCHED, NODES, Endpoint

from .qos import image_qos, latched_qos, publisher_events, reliable_qos, sensor_data_qos, subscription_events
from .runtime import SimjudgeNode, message_class


def declared_publisher(node: SimjudgeNode, topic: str, *, reliability: str = "") -> Publisher[Any]:
    """The publisher of a declared topic; a subscriber whose request does not fit is reported in diagnostics."""
    return create_publisher(node, node.INTERFACE.publisher(topic), reliability=reliability)


def camera_publisher(node: SimjudgeNode, camera: str, topic: str, reliability: str = "") -> Publisher[Any]:
    """The publisher of a topic that is declared for a camera called `camera`, for a camera of another name."""
    endpoint = node.INTERFACE.publisher(f"camera/{topic}")
    return create_publisher(node, endpoint._replace(topic=f"{camera}/{topic}"), reliability=reliability)


def create_publisher(node: SimjudgeNode, endpoint: Endpoint, *, reliability: str = "") -> Publisher[Any]:
    """The publisher of an endpoint; see `declared_publisher`."""
    profile = publisher_qos(endpoint, reliability or _reliability(node, endpoint))
    events = publisher_events(node.diagnostics, endpoint.topic, endpoint.reliability_parameter or None)
    kind = _message_class(node, endpoint)
    made: Publisher[Any] = node.create_publisher(kind, endpoint.topic, profile, event_callbacks=events)
    return made


def declared_subscription(
    node: SimjudgeNode, topic: str, callback: Callable[[Any], None], *, message_type: str = "", raw: bool = False
) -> Subscription[Any]:
    """Subscribe to a declared topic; a publisher whose offer does not fit is reported in diagnostics."""
    endpoint = node.INTERFACE.subscription(topic)
    if message_type:
        endpoint = endpoint._replace(type=message_type, type_parameter="")
    profile = subscription_qos(endpoint, _reliability(node, endpoint))
    name = str(node.resolve_topic_name(topic))
    events = subscription_events(node.diagnostics, name, endpoint.reliability_parameter or None)
    kind = _message_class(node, endpoint)
    made: Subscription[Any] = node.create_subscription(kind, topic, callback, profile, event_callbacks=events, raw=raw)
    return made


def declared_service(node: SimjudgeNode, name: str, callback: Callable[..., Any]) -> Service[Any, Any]:
    """Create a declared service."""
    return node.create_service(message_class(node.INTERFACE.service(name).type), name, callback)


def publisher_qos(endpoint: Endpoint, reliability: str = "") -> QoSProfile:
    """The profile that a publisher offers."""
    if endpoint.qos == CAMERA:
        return image_qos(reliability or "auto", endpoint.depth)
    return latched_qos(endpoint.depth) if endpoint.qos == LATCHED else reliable_qos(endpoint.depth)


def subscription_qos(endpoint: Endpoint, reliability: str = "") -> QoSProfile:
    """The profile that a subscription requests."""
    best_effort = reliability == "best_effort" or (endpoint.qos == CAMERA and reliability != "reliable")
    if best_effort:
        return sensor_data_qos(endpoint.depth)
    return latched_qos(endpoint.depth) if endpoint.qos == LATCHED else reliable_qos(endpoint.depth)


def _message_class(node: SimjudgeNode, endpoint: Endpoint) -> type[Any]:
    return message_class(node.settings[endpoint.type_parameter] if endpoint.type_parameter else endpoint.type)


def _reliability(node: SimjudgeNode, endpoint: Endpoint) -> str:
    return str(node.settings[endpoint.reliability_parameter]) if endpoint.reliability_parameter else ""


_SETTLE = 0.5  # Seconds: a publisher may know of a subscriber before that knows of the publisher
_WAKE = 0.05  # Seconds between looks at the subscriptions


def wait_for_subscriptions(
    node: SimjudgeNode, wanted: list[str], timeout: float, publishers: Iterable[Publisher[Any]] = ()
) -> None:
    """Wait until subscriptions are there; on a thread other than the executor's (timeout: seconds)."""
    pairs, unheard = [_pair(text) for text in wanted], list(publishers)
    waited = bool(pairs or unheard)
    end = time.monotonic() + timeout
    while (pairs or unheard) and not node.leaving:
        pairs = [pair for pair in pairs if not _subscribes(node, *pair)]
        unheard = [publisher for publisher in unheard if not publisher.get_subscription_count()]
        if (pairs or unheard) and time.monotonic() > end:
            lacking = [f"nobody subscribed to {publisher.topic_name}" for publisher in unheard]
            lacking += [f"{name} did not subscribe to {topic}" for name, topic in pairs]
            setting = "wait_for_subscribers" if unheard else "wait_for"
            raise SimjudgeError(
                f"{', '.join(lacking)} within {timeout:g} s; start the subscriber, or run without {setting}"
            )
        if pairs or unheard:
            time.sleep(_WAKE)
    if waited and not node.leaving:
        time.sleep(_SETTLE)


def _pair(text: str) -> tuple[str, str]:
    """Node and topic of an item of `wait_for`."""
    name, _, topic = text.partition(" ")
    if not name or not topic.strip():
        raise SimjudgeError(f"parameter wait_for: {text!r}: write each item as `NODE TOPIC`")
    return name, topic.strip()


def _subscribes(node: SimjudgeNode, name: str, topic: str) -> bool:
    # rclpy applies the node's remappings to the topic.
    infos = node.get_subscriptions_info_by_topic(node.resolve_topic_name(topic, only_expand=True))
    return any(info.node_name == name for info in infos)


_MOST_NAMED = 5  # Topics that a message names


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
    """The end of a message that nobody publishes a topic: who publishes its type, and the remapping."""
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
