"""Waiting until nodes have subscribed, so that nothing of the first data is missed."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from rclpy.publisher import Publisher

from simjudge.core.errors import SimjudgeError

from .runtime import SimjudgeNode

_SETTLE = 0.5
"""Seconds: a publisher may know of a subscriber before that knows of the publisher."""
_WAKE = 0.05
"""Seconds between looks at the subscriptions."""


def wait_for_subscriptions(
    node: SimjudgeNode, wanted: list[str], timeout: float, publishers: Iterable[Publisher[Any]] = ()
) -> None:
    """Wait until subscriptions are there; on a thread other than the executor's.

    Args:
        wanted: each as `NODE TOPIC`.
        timeout: seconds.
        publishers: of the node, which must have a subscriber each, whoever it is.
    """
    pairs, unheard = [_pair(text) for text in wanted], list(publishers)
    waited = bool(pairs or unheard)
    end = time.monotonic() + timeout
    while (pairs or unheard) and not node.leaving:
        pairs = [pair for pair in pairs if not _subscribes(node, *pair)]
        unheard = [each for each in unheard if not each.get_subscription_count()]
        if (pairs or unheard) and time.monotonic() > end:
            lacking = [f"nobody subscribed to {each.topic_name}" for each in unheard]
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
    return any(each.node_name == name for each in infos)
