"""Listens to a running graph for some seconds, for `simjudge doctor --live`: all messages, and who is at each topic.

`python -m simjudge.nodes.graph_survey OUT SECONDS` writes a recording OUT/messages and OUT/graph.json. It is a program
of its own because the library never imports rclpy.
"""

from __future__ import annotations

import json
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy

from simjudge.core.errors import SimjudgeError
from simjudge.core.processes import EXIT_FAILED, EXIT_OK
from simjudge.data.rosbag2.live_recording import LiveRecording

from .qos import installed_definition, recorded_qos_profile, recording_qos
from .runtime import load_shared_memory_profile, message_class

NAME = "simjudge_doctor"
_OWN = {"/rosout", "/parameter_events"}  # What every node publishes; nothing of it is looked at
_DISCOVERY = 3.0  # Seconds, beside those asked for, in which the first topic must be found
# Seconds from the first topic on in which only latched messages are kept: topics are found one after the other.
_SETTLE = 1.0
_MOST_BYTES = 1 << 30  # Bytes after which listening ends: a gigabyte of images says no more
_DEPTH = 1000


class GraphSurvey:
    """Subscribes to every topic and writes what comes."""

    def __init__(self, node: Node, out: Path) -> None:
        self._node = node
        self._recording = LiveRecording(out)
        self._taken: set[str] = set()
        self._troubles: dict[str, str] = {}
        self.bytes = 0
        self.settled = False

    @property
    def found(self) -> bool:
        """Whether there is a topic."""
        return bool(self._taken or self._troubles)

    def look(self) -> None:
        """Subscribe to topics that have come up."""
        for name, types in self._node.get_topic_names_and_types():
            if name in _OWN or name in self._taken or name in self._troubles:
                continue
            publishers = self._node.get_publishers_info_by_topic(name)
            if publishers and len(types) == 1:
                try:
                    self._take(name, types[0], publishers)
                except SimjudgeError as error:
                    self._troubles[name] = str(error)

    def graph(self) -> list[dict[str, object]]:
        """Who is at each topic, for JSON."""
        node = self._node
        return [
            {
                "name": name,
                "types": sorted(types),
                "trouble": self._troubles.get(name, ""),
                "publishers": [_endpoint(publication) for publication in node.get_publishers_info_by_topic(name)],
                "subscriptions": [
                    _endpoint(subscription)
                    for subscription in node.get_subscriptions_info_by_topic(name)
                    if subscription.node_name != NAME
                ],
            }
            for name, types in sorted(node.get_topic_names_and_types())
            if name not in _OWN
        ]

    def close(self) -> None:
        """Finish the recording."""
        self._recording.close()

    def _take(self, name: str, message_type: str, publishers: list[Any]) -> None:
        kind, definition = message_class(message_type), installed_definition(message_type)
        offered = [publisher.qos_profile for publisher in publishers]
        self._recording.add_topic(name, message_type, definition, [recorded_qos_profile(offer) for offer in offered])
        self._taken.add(name)
        latched = all(offer.durability == DurabilityPolicy.TRANSIENT_LOCAL for offer in offered)
        receive = partial(self._receive, name, latched)
        self._node.create_subscription(kind, name, receive, recording_qos(offered, _DEPTH), raw=True)

    def _receive(self, name: str, latched: bool, data: bytes) -> None:  # noqa: FBT001 - bound once
        if not (self.settled or latched):
            return
        self.bytes += len(data)
        self._recording.write(name, time.time_ns(), data)


def _endpoint(info: Any) -> dict[str, object]:
    profile = info.qos_profile
    return {
        "node": f"{info.node_namespace.rstrip('/')}/{info.node_name}",
        "type": info.topic_type,
        "reliable": profile.reliability != ReliabilityPolicy.BEST_EFFORT,
        "latched": profile.durability == DurabilityPolicy.TRANSIENT_LOCAL,
    }


def survey_graph(out: Path, seconds: float) -> None:
    """Listen to the graph."""
    load_shared_memory_profile()
    rclpy.init(args=[])
    node = rclpy.create_node(NAME, enable_rosout=False, start_parameter_services=False)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    survey = GraphSurvey(node, out / "messages")
    begin, first = time.monotonic(), None
    try:
        while True:
            survey.look()
            now = time.monotonic()
            first = now if first is None and survey.found else first
            survey.settled = first is not None and now - first > _SETTLE
            if now - begin > seconds + _DISCOVERY + _SETTLE or (first is not None and now - first > _SETTLE + seconds):
                break
            if survey.bytes > _MOST_BYTES:
                break
            end = now + 0.1
            while time.monotonic() < end:
                executor.spin_once(timeout_sec=0.02)
        heard = 0.0 if first is None else time.monotonic() - first - _SETTLE
        content = {"seconds": max(heard, 0.0), "topics": survey.graph()}
        survey.close()
        (out / "graph.json").write_text(json.dumps(content), encoding="utf-8")
    finally:
        executor.shutdown()
        node.destroy_node()
        rclpy.try_shutdown()


def main() -> int:
    """Listen, as the arguments say."""
    try:
        survey_graph(Path(sys.argv[1]), float(sys.argv[2]))
    except (SimjudgeError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return EXIT_FAILED
    return EXIT_OK


if __name__ == "__main__":
    sys.exit(main())
