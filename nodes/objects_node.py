"""What a real and a virtual sensor say of the same objects while both run: `simjudge robot objects` on live topics."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from simjudge_msgs.msg import DetectionArray, LabelledObjectArray

from simjudge.core.settings import chosen
from simjudge.data.rosbag2.storage import format_seconds
from simjudge.judging.live.frame_builder import LiveFrameBuilder
from simjudge.judging.live.live_objects import LiveObjects
from simjudge.judging.live.stream_matching import (
    DUPLICATE,
    BackwardJump,
    Event,
    MatchedMessages,
    StreamMatcher,
    UnmatchedMessage,
)
from simjudge.objects.settings import FOLLOW_LABELS, CameraObjectSettings, OccupancySettings
from simjudge.ros.node_interfaces import NODES
from simjudge.ros.node_settings import LIVE_FOLLOWING, LIVE_MAPPING, LiveObjectSettings

from .diagnostics import OK, WARN, TaskState, ThroughputCounter
from .live_streams import image_size, matching_limits
from .messages import make_header, message_stamp
from .object_maps import ObjectMaps, box_markers, object_summary
from .parameters import Parameter, settings_parameters
from .runtime import SimjudgeNode, Worker, declared_publisher, declared_subscription, remap_hint, run_node

_SIDES = ("real", "virtual")
_SILENCE = 5.0  # Seconds without a message until the node says what it waits for
_CHECK_PERIOD = 0.1  # Seconds between looks at what has waited long enough


class ObjectsNode(SimjudgeNode):
    """Compares what a real and a virtual sensor say of the same objects: labels, detections, scans in, numbers out."""

    NAME = "objects_node"
    INTERFACE = NODES["objects_node"]
    PARAMETERS = (
        *settings_parameters(LiveObjectSettings),
        *(Parameter.of(row) for row in chosen(CameraObjectSettings, LIVE_FOLLOWING)),
        *(Parameter.of(row) for row in chosen(OccupancySettings, LIVE_MAPPING)),
    )

    def __init__(self) -> None:
        super().__init__()
        follow = self.settings["follow"]
        self._labels = follow == FOLLOW_LABELS
        names = [f"{side}/camera/{'ground_truth' if self._labels else 'detections'}" for side in _SIDES]
        self._topics = [str(self.resolve_topic_name(name)) for name in names]
        size = image_size(self.settings)
        self._builders = [LiveFrameBuilder((topic, topic), size) for topic in self._topics]
        following = {name: self.settings[name] for name in LIVE_FOLLOWING}
        self._objects = LiveObjects(CameraObjectSettings(follow=follow, **following), self.settings["window"] or None)
        self._matcher = StreamMatcher(matching_limits(self.settings))
        self._worker = Worker(self.fail)
        self._throughput = ThroughputCounter()
        self._received = [0, 0]
        self._last_arrival = [time.monotonic()] * 2
        self._lap, self._frame_id, self._changed, self._summarizes = 0, "", False, False
        self._summary = declared_publisher(self, "objects/summary")
        self._markers = declared_publisher(self, "objects/markers")
        self._sensor = self.settings["sensor"]
        if self._sensor != "lidar":
            for side, name in enumerate(names):
                declared_subscription(self, name, partial(self._receive, side))
        self._maps = None if self._sensor == "camera" else ObjectMaps(self, self._worker.post)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(_CHECK_PERIOD, self._check, clock=steady)
        self.create_timer(self.settings["summary_period"], self._ask_summary, clock=steady)
        self.diagnostics.add_task("objects", self._report)

    def close(self) -> None:
        """Compare what is left, and publish the last summary."""
        self._settle(self._matcher.finish())
        if self._maps is not None:
            self._maps.settle(0.0)
        self._worker.post(self._publish_summary)
        self._worker.finish()

    def counts(self) -> Mapping[str, int]:
        """Frames that came, and what became of them."""
        return {
            "real frames received": self._received[0],
            "virtual frames received": self._received[1],
            "pairs compared": self._throughput.done,
            **({} if self._maps is None else self._maps.counts()),
        }

    @property
    def pending(self) -> int:
        """Pieces of work that have not begun."""
        return self._worker.waiting

    def _receive(self, side: int, message: Any) -> None:
        now = time.monotonic()
        self._last_arrival[side] = now
        self._received[side] += 1
        stamp = message_stamp(message)
        if stamp <= 0:
            self.lose(f"{_SIDES[side]} frames without a stamp", self._topics[side])
            return
        self._settle(self._matcher.add(side, stamp, message, now))

    def _check(self) -> None:
        self._settle(self._matcher.expire(time.monotonic()))
        if self._maps is not None:
            self._maps.settle(self.settings["wait"])

    def _settle(self, events: list[Event]) -> None:
        for event in events:
            if isinstance(event, BackwardJump):
                self._report_jump(event)
            elif isinstance(event, UnmatchedMessage):
                kind = "that came before" if event.reason == DUPLICATE else "without a partner"
                where = f"{self._topics[event.side]} at {format_seconds(event.stamp)}"
                self.lose(f"{_SIDES[event.side]} frames {kind}", where)
            elif event.lap >= self._lap:
                self._throughput.received += 1
                self._worker.post(partial(self._compare, event, time.monotonic()))

    def _report_jump(self, jump: BackwardJump) -> None:
        """Tell of a new pass once, whichever of the two topics begins it, and warn of the first alone."""
        if jump.lap <= self._lap:
            return
        self._lap = jump.lap
        self.diagnostics.set_state(
            "stamps",
            WARN,
            "stamps jumped back: a looped recording, or time was set back; the frames so far are forgotten",
            {
                "pass": jump.lap + 1,
                "topic": self._topics[jump.side],
                "from": format_seconds(jump.before),
                "to": format_seconds(jump.stamp),
            },
        )
        self.get_logger().info(f"pass {jump.lap + 1}: stamps jumped back, the frames so far are forgotten")
        self._worker.post(self._objects.clear)

    def _compare(self, pair: MatchedMessages, arrived: float) -> None:
        """Add a pair; runs on the worker's thread."""
        frames = []
        for builder, message in zip(self._builders, (pair.first, pair.second), strict=True):
            # The half that is not followed is empty.
            both = (message, DetectionArray()) if self._labels else (LabelledObjectArray(), message)
            frames.append(builder.build(pair.stamp, *both, self.losses))
        real, virtual = frames
        if real is None or virtual is None:
            self._throughput.dropped += 1
            return
        seen = self._objects.add(real, virtual)
        self._changed, self._frame_id = True, pair.first.header.frame_id
        self._throughput.add(time.monotonic() - arrived)
        head = make_header(pair.stamp, self._frame_id)
        self._markers.publish(box_markers(head, (real, virtual), seen))

    def _ask_summary(self) -> None:
        changed = self._changed or (self._maps is not None and self._maps.changed)
        if changed and not self._summarizes:
            self._summarizes = True
            self._worker.post(self._publish_summary)

    def _publish_summary(self) -> None:
        """Runs on the worker's thread."""
        self._summarizes = self._changed = False
        maps = None if self._maps is None else self._maps.publish()
        if not len(self._objects) and maps is None:
            return
        rows = self._objects.compare()
        stamp = self._objects.newest_stamp if len(self._objects) else 0
        if self._maps is not None:
            stamp = max(stamp, self._maps.newest_stamp)
        head = make_header(stamp, self._frame_id)
        self._summary.publish(object_summary(head, len(self._objects), rows, maps, self.losses.lines()))

    def _report(self) -> TaskState:
        values: dict[str, object] = {**self._throughput.diagnostic_values(), "queue": self._worker.waiting}
        for side, name in enumerate(_SIDES):
            values[f"{name} received"] = self._received[side]
            values[f"{name} waiting"] = self._matcher.waiting(side)
        if self._maps is not None:
            values |= self._maps.counts()
        values |= dict(self.losses.counts)
        now = time.monotonic()
        silent = [side for side in (0, 1) if self._sensor != "lidar" and now - self._last_arrival[side] > _SILENCE]
        faults = [self._describe_silence(side) for side in silent]
        if self.losses:
            faults.append("left out: " + "; ".join(self.losses.lines()))
        if faults:
            return TaskState(WARN, "; ".join(faults), values)
        return TaskState(OK, f"comparing {self._sensor if self._sensor != 'both' else 'camera and lidar'}", values)

    def _describe_silence(self, side: int) -> str:
        topic = self._topics[side]
        waited = f"no {_SIDES[side]} frame" + (f" for {_SILENCE:g} s" if self._received[side] else " yet")
        if self.count_publishers(topic):
            return f"{waited}: {topic} has a publisher, which sends nothing that arrives here"
        kind = "LabelledObjectArray" if self._labels else "DetectionArray"
        return f"{waited}: nobody publishes {topic}{remap_hint(self, f'simjudge_msgs/msg/{kind}', topic)}"


def main() -> None:
    """The executable."""
    run_node(ObjectsNode)


if __name__ == "__main__":
    main()
