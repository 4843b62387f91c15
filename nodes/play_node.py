"""Plays a recording onto topics, for places without `ros2 bag play`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from threading import Thread
from typing import Any

from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.publisher import Publisher
from rosgraph_msgs.msg import Clock
from std_srvs.srv import SetBool

from simjudge.core.errors import SimjudgeError
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.rosbag2.storage import PlaybackClock, StoredMessage, StoredTopic, format_seconds, sort_by_time
from simjudge.ros.node_interfaces import NODES
from simjudge.ros.node_settings import PlaySettings

from .diagnostics import OK, TaskState
from .parameters import settings_parameters
from .qos import has_installed_definition, playback_qos, publisher_events
from .runtime import SimjudgeNode, declared_publisher, declared_service, message_class, run_node, wait_for_subscriptions

_WAKE = 0.1  # Seconds between looks whether the node ends


class PlayNode(SimjudgeNode):
    """Plays a recording: every message byte for byte as it was recorded, at the pace it was recorded."""

    NAME = "play_node"
    INTERFACE = NODES["play_node"]
    PARAMETERS = settings_parameters(PlaySettings)

    def __init__(self) -> None:
        super().__init__()
        self._path = Path(self.settings["bag"])
        self._played: dict[str, Publisher[Any]] = {}
        for topic in self._playable(Recording(self._path)):
            self._played[topic.name] = self.create_publisher(
                message_class(topic.type),
                topic.name,
                playback_qos(topic.offered_qos, self.settings["reliability"]),
                event_callbacks=publisher_events(self.diagnostics, topic.name, "reliability"),
            )
        self._playback = PlaybackClock(self.settings["rate"], paused=self.settings["start_paused"])
        self._count = self._rounds = 0
        self._ticker = declared_publisher(self, "/clock") if self.settings["clock"] > 0 else None
        declared_service(self, "~/pause", self._pause)
        self.diagnostics.add_task("playing", self._report)
        self._thread = Thread(target=self._play_all, name="playing", daemon=True)
        self._thread.start()

    def on_parameter_change(self, name: str, value: Any) -> None:
        """Follow the parameter `rate`."""
        if name == "rate":
            self._playback.set_rate(value)

    def close(self) -> None:
        """Stop playing."""
        self._thread.join()

    def counts(self) -> Mapping[str, int]:
        """Messages that were played."""
        return {"messages played": self._count}

    def _playable(self, recording: Recording) -> list[StoredTopic]:
        """The topics to play; those left out are told."""
        wanted = [self._recorded(name) for name in self.settings["topics"]]
        for name in wanted:
            if name not in recording.topics:
                held = ", ".join(sorted(recording.topics)) or "no topic at all"
                raise SimjudgeError(f"{self._path}: has no topic {name}; it holds {held}")
        out = []
        for topic in recording.topics.values():
            if wanted and topic.name not in wanted:
                continue
            trouble = _trouble(topic)
            if trouble and wanted:
                raise SimjudgeError(f"{self._path}: {topic.name} cannot be played: {trouble}")
            if trouble:
                self.get_logger().warning(f"{topic.name} is not played: {trouble}")
            else:
                out.append(topic)
        if not out:
            raise SimjudgeError(f"{self._path}: holds no topic that can be played")
        return out

    def _recorded(self, name: str) -> str:
        """A topic as the recording knows it: remappings say what it is played as."""
        return str(self.resolve_topic_name(name, only_expand=True))

    def _play_all(self) -> None:
        try:
            self.unfinished = not self._wait_for_subscribers()
            while not self.ended:
                self._play_once()
                if not self.settings["loop"] or not self._count:
                    break
        except Exception as error:  # noqa: BLE001 - handed to the main thread, which raises it
            self.fail(error)
        self.finish()

    def _play_once(self) -> None:
        recording = Recording(self._path)
        first = True
        offset = round(self.settings["start_offset"] * 1e9)
        span = recording.span()
        start = (span[0] if span else 0) + offset
        for message in sort_by_time(recording.messages(set(self._played))):
            if message.time < start:
                continue
            if first:
                self._playback.start(start if span else message.time)
                first = False
            if not self._wait_until(message.time):
                return
            self._publish(message)
        if self._rounds == 0:
            self.losses.extend(recording.losses)
        self._rounds += 1

    def _publish(self, message: StoredMessage) -> None:
        try:
            self._played[message.topic].publish(bytes(message.data))
            self._count += 1
        except rclpy_implementation.RCLError as error:
            if self._rounds == 0:
                where = f"{message.topic} at {format_seconds(message.time)}: {str(error).partition(',')[0]}"
                self.losses.add("messages that cannot be published", where)

    def _wait_until(self, due: int) -> bool:
        """Wait for a message's time, with /clock ticking and never ahead of the message; False if the node ends."""
        period = 1 / self.settings["clock"] if self._ticker else _WAKE
        while not self.ended:
            reached = self._playback.wait(due, period)
            if self._ticker:
                now = due if reached else min(self._playback.now(), due)
                message = Clock()
                message.clock.sec, message.clock.nanosec = divmod(now, 1_000_000_000)
                self._ticker.publish(message)
            if reached:
                return True
        return False

    def _wait_for_subscribers(self) -> bool:
        names = self.settings["wait_for_subscribers"]
        wanted = list(self._played) if names == ["all"] else [self._recorded(name) for name in names]
        for name in wanted:
            if name not in self._played:
                raise SimjudgeError(f"wait_for_subscribers: {name} is not played; played: {', '.join(self._played)}")
        publishers = [self._played[name] for name in wanted]
        return wait_for_subscriptions(self, self.settings["wait_for"], self.settings["wait_timeout"], publishers)

    def _pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self._playback.pause(on=request.data)
        response.success = True
        response.message = f"{'paused' if request.data else 'playing'} after {self._count} messages"
        return response

    def _report(self) -> TaskState:
        state = "paused" if self._playback.paused else "playing"
        return TaskState(OK, f"{state} {self._path}", {"messages": self._count, "time (ns)": self._playback.now()})


def _trouble(topic: StoredTopic) -> str | None:
    """Why a topic cannot be played, None where it can."""
    try:
        message_class(topic.type)
    except SimjudgeError as error:
        return str(error)
    if not has_installed_definition(topic):
        return f"it was recorded with another definition of {topic.type} than the one that is installed"
    return None


def main() -> None:
    """The executable `play_node`."""
    run_node(PlayNode)


if __name__ == "__main__":
    main()
