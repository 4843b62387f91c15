"""Waiting until nodes have subscribed, so that nothing of the first data is missed."""

from __future__ import annotations

import time

from simjudge.core.errors import SimjudgeError

from .runtime import SimjudgeNode

_SETTLE = 0.5
"""Seconds: a publisher may know of a subscriber before that knows of the publisher."""
_WAKE = 0.05
"""Seconds between looks at the subscriptions."""


def wait_for_subscriptions(node: SimjudgeNode, wanted: list[str], timeout: float) -> None:
    """Wait until subscriptions are there; on a thread other than the executor's.

    Args:
        node: that waits; it gives up when it ends.
        wanted: each as `NODE TOPIC`.
        timeout: seconds.

    Raises:
        SimjudgeError: an item is not of that form, or one is not there in time.
    """
    pairs = [_pair(node, text) for text in wanted]
    end = time.monotonic() + timeout
    waited = bool(pairs)
    while pairs and not node.ended:
        pairs = [pair for pair in pairs if not _subscribes(node, *pair)]
        if pairs and time.monotonic() > end:
            lacking = ", ".join(f"{name} did not subscribe to {topic}" for name, topic in pairs)
            raise SimjudgeError(f"{lacking} within {timeout:g} s; start it, or run without wait_for")
        if pairs:
            time.sleep(_WAKE)
    if waited and not node.ended:
        time.sleep(_SETTLE)


def _pair(node: SimjudgeNode, text: str) -> tuple[str, str]:
    name, _, topic = text.partition(" ")
    if not name or not topic.strip():
        raise SimjudgeError(f"parameter wait_for: {text!r}: write each item as `NODE TOPIC`")
    return name, str(node.resolve_topic_name(topic.strip()))


def _subscribes(node: SimjudgeNode, name: str, topic: str) -> bool:
    return any(each.node_name == name for each in node.get_subscriptions_info_by_topic(topic))
