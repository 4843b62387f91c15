"""Publishers, subscriptions and services of a node, made from its declaration in `simjudge.ros.node_interfaces`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from rclpy.service import Service
from rclpy.subscription import Subscription

from simjudge.ros.node_interfaces import CAMERA, LATCHED, Endpoint

from .qos import image_qos, latched_qos, publisher_events, reliable_qos, sensor_data_qos, subscription_events
from .runtime import SimjudgeNode, message_class


def declared_publisher(node: SimjudgeNode, topic: str, *, reliability: str = "") -> Publisher[Any]:
    """The publisher of a declared topic; a subscriber whose request does not fit is reported in diagnostics.

    Args:
        node: that publishes; its `INTERFACE` declares the topic.
        reliability: of images: "auto", "best_effort" or "reliable"; "" for what the declaration says.
    """
    return create_publisher(node, node.INTERFACE.publisher(topic), reliability=reliability)


def camera_publisher(node: SimjudgeNode, camera: str, topic: str, reliability: str = "") -> Publisher[Any]:
    """The publisher of a topic that is declared for a camera called `camera`, for a camera of another name.

    Args:
        node: that publishes; its `INTERFACE` declares camera/TOPIC.
        reliability: of images: "auto", "best_effort" or "reliable"; "" for what the declaration says.
    """
    endpoint = node.INTERFACE.publisher(f"camera/{topic}")
    return create_publisher(node, endpoint._replace(topic=f"{camera}/{topic}"), reliability=reliability)


def create_publisher(node: SimjudgeNode, endpoint: Endpoint, *, reliability: str = "") -> Publisher[Any]:
    """The publisher of an endpoint; see `declared_publisher`.

    Args:
        reliability: of images: "auto", "best_effort" or "reliable"; "" for what the endpoint says.
    """
    profile = publisher_qos(endpoint, reliability or _reliability(node, endpoint))
    events = publisher_events(node.diagnostics, endpoint.topic, endpoint.reliability_parameter or None)
    kind = _message_class(node, endpoint)
    made: Publisher[Any] = node.create_publisher(kind, endpoint.topic, profile, event_callbacks=events)
    return made


def declared_subscription(
    node: SimjudgeNode, topic: str, callback: Callable[[Any], None], *, message_type: str = "", raw: bool = False
) -> Subscription[Any]:
    """Subscribe to a declared topic; a publisher whose offer does not fit is reported in diagnostics.

    Args:
        node: that subscribes; its `INTERFACE` declares the topic.
    """
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
    """Create a declared service.

    Args:
        node: that serves; its `INTERFACE` declares the service.
        name: as declared, with `~`.
        callback: called with request and response; returns the response, or is a coroutine function that does.
    """
    return node.create_service(message_class(node.INTERFACE.service(name).type), name, callback)


def publisher_qos(endpoint: Endpoint, reliability: str = "") -> QoSProfile:
    """The profile that a publisher offers."""
    if endpoint.qos == CAMERA:
        return image_qos(reliability or "auto", endpoint.depth)
    return latched_qos(endpoint.depth) if endpoint.qos == LATCHED else reliable_qos(endpoint.depth)


def subscription_qos(endpoint: Endpoint, reliability: str = "") -> QoSProfile:
    """The profile that a subscription requests.

    Args:
        reliability: "reliable" or "best_effort" in place of the declared one; others count as not given.
    """
    best_effort = reliability == "best_effort" or (endpoint.qos == CAMERA and reliability != "reliable")
    if best_effort:
        return sensor_data_qos(endpoint.depth)
    return latched_qos(endpoint.depth) if endpoint.qos == LATCHED else reliable_qos(endpoint.depth)


def _message_class(node: SimjudgeNode, endpoint: Endpoint) -> type[Any]:
    return message_class(node.settings[endpoint.type_parameter] if endpoint.type_parameter else endpoint.type)


def _reliability(node: SimjudgeNode, endpoint: Endpoint) -> str:
    return str(node.settings[endpoint.reliability_parameter]) if endpoint.reliability_parameter else ""
