"""Shows live work with rerun: images with boxes, W1 and overlap over time, the readings of all sensors."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.qos import ReliabilityPolicy
from sensor_msgs.msg import CompressedImage

from simjudge.core.box_drawing import class_colour
from simjudge.core.errors import SimjudgeError
from simjudge.core.images import ImageError
from simjudge.data.clouds import lidar_points
from simjudge.data.rosbag2.cloud_writing import TRUTH, read_cloud
from simjudge.data.rosbag2.recorded_poses import transform_fields
from simjudge.geometry.poses import Pose
from simjudge.geometry.transforms import TransformTree
from simjudge.judging.live.judge import LiveSequenceState
from simjudge.method.betting import SequenceVerdict
from simjudge.method.verdicts import failing_side
from simjudge.questions.watch import NO_W1_COLOUR, OUTSIDE_COLOUR, Boxes, ClassState, Screen, ScreenTarget, w1_colour
from simjudge.results.metric_rows import verdict_with_failing_side
from simjudge.ros.node_interfaces import NODES, WATCHED_SENSORS
from simjudge.ros.node_settings import WatchSettings
from simjudge.sim.sensors.lidar.scan import scan_points
from simjudge.sim.sensors.recorded_readings import boxes_of_message

from .image_input import ImageInput
from .messages import describe_message, message_stamp, to_rgb
from .parameters import settings_parameters
from .qos import reliable_qos, sensor_data_qos
from .runtime import SimjudgeNode, declared_subscription, message_class, run_node
from .topic_ends import publishers_at

_DEEP = 100  # Images that the middleware keeps
_LABELS = (255, 255, 255)
_ALL = "all classes"


class WatchNode(SimjudgeNode):
    """Shows images with their boxes, the summary, and what sensors read, in rerun: a window, a browser, or a file."""

    NAME = "watch_node"
    INTERFACE = NODES["watch_node"]
    PARAMETERS = settings_parameters(WatchSettings)

    def __init__(self) -> None:
        super().__init__()
        where, save = self._place()
        self._screen = Screen(where, save, quality=self.settings["quality"])
        self._others = 0
        self._images = ImageInput(self, "camera/image_raw", self._image, depth=_DEEP)
        declared_subscription(self, "camera/ground_truth", self._ground_truth)
        declared_subscription(self, "camera/detections", self._detections)
        declared_subscription(self, "validation/contexts", self._contexts)
        declared_subscription(self, "validation/summary", self._summary)
        self._sensors = SensorWatch(self, self._screen, self.has_room)
        place = self._screen.address or save
        self.get_logger().info(f"shown in a {where.value}" + (f": {place}" if place else ""))

    def close(self) -> None:
        """Finish the file, if there is one."""
        saved = self._screen.close()
        if saved is not None:
            self.get_logger().info(f"saved {saved}; to look at it: rerun {saved}")

    def counts(self) -> Mapping[str, int]:
        """What came, and images that did not."""
        return {
            "images received": self._images.received,
            "other messages received": self._others + self._sensors.received,
            "images lost before arrival": self._images.lost,
        }

    def _place(self) -> tuple[ScreenTarget, Path | None]:
        save = Path(self.settings["save"]) if self.settings["save"] else None
        where = self.settings["where"]
        if where != "auto":
            return ScreenTarget(where), save
        if save is not None:
            return ScreenTarget.FILE, save
        has_screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
        return (ScreenTarget.WINDOW if has_screen else ScreenTarget.BROWSER), None

    def has_room(self, topic: str) -> bool:
        """Whether an image or a point cloud still fits into the file; counts those that do not."""
        if self._screen.megabytes < self.settings["max_mb"]:
            return True
        self.lose("images and clouds that the full file has no room for", f"{topic}; max_mb is its size")
        return False

    def _image(self, message: Any) -> None:
        if not self.has_room(self._images.topic):
            return
        if isinstance(message, CompressedImage):
            kind = message.format.lower()
            media = next((f"image/{name}" for name in ("jpeg", "png") if name in kind.replace("jpg", "jpeg")), "")
            if media:
                self._screen.show_encoded_image(message_stamp(message), bytes(message.data), media)
                return
        try:
            self._screen.show_image(message_stamp(message), to_rgb(message, self._images.topic))
        except ImageError as error:
            self.losses.add("damaged images, not shown", str(error))

    def _ground_truth(self, message: Any) -> None:
        self._others += 1
        labels = [labelled.class_name or str(labelled.class_id) for labelled in message.objects]
        colours = [_LABELS] * len(labels)
        self._screen.show_boxes(message_stamp(message), "ground_truth", _boxes(message.objects, colours, labels))

    def _detections(self, message: Any) -> None:
        self._others += 1
        found = message.detections
        colours = [class_colour(detection.class_id, detection.class_name) for detection in found]
        labels = [f"{detection.class_name or detection.class_id} {detection.score:.2f}" for detection in found]
        self._screen.show_boxes(message_stamp(message), "detections", _boxes(found, colours, labels))

    def _contexts(self, message: Any) -> None:
        self._others += 1
        contexts = message.contexts
        colours = [w1_colour(context.w1_around) if context.in_overlap else OUTSIDE_COLOUR for context in contexts]
        labels = [_context_label(context) for context in contexts]
        self._screen.show_boxes(message_stamp(message), "contexts", _boxes(contexts, colours, labels))

    def _summary(self, message: Any) -> None:
        self._others += 1
        states = [
            _state(
                class_summary,
                class_summary.class_name or str(class_summary.class_id),
                class_colour(class_summary.class_id, class_summary.class_name),
            )
            for class_summary in message.by_class
        ]
        states.append(_state(message.overall, _ALL, NO_W1_COLOUR))
        about = {
            "A": f"{message.a.name}, {message.a.frames} frames, {message.a.objects} objects",
            "B": f"{message.b.name}, {message.b.frames} frames, {message.b.objects} objects",
            **shown_so_far(message),
            **({"left out": "; ".join(message.losses)} if message.losses else {}),
        }
        self._screen.show_summary(message_stamp(message), states, about)


def shown_so_far(message: Any) -> dict[str, str]:
    """What the verdict hides, and what is certain whenever one looks; nothing of what is not there."""
    hidden, certain, out = message.hidden_gap, message.sequential, dict[str, str]()
    if hidden.kind:
        out["but not everywhere"] = f"in {hidden.kind} the gap is {abs(hidden.difference):.2f} (p = {hidden.p:.2g})"
    if certain.verdict:
        difference = None if math.isnan(certain.difference) else certain.difference
        verdict = SequenceVerdict(certain.verdict)
        out["at every look"] = str(LiveSequenceState(certain.blocks, difference, certain.low, certain.high, verdict))
    return out


def _state(entry: Any, name: str, colour: tuple[int, int, int]) -> ClassState:
    # Recordings of earlier versions have no recall.
    sides = ((getattr(entry, f"map50_{side}"), getattr(entry, f"recall_{side}", None)) for side in "ab")
    verdict = verdict_with_failing_side(entry.verdict, entry.margin, failing_side(*sides))
    return ClassState(name, entry.mean_w1, entry.overlap_a, entry.overlap_b, colour, verdict)


def _context_label(context: Any) -> str:
    if not context.in_overlap:
        return "outside"
    return f"W1 {context.w1_around:.2f}" if np.isfinite(context.w1_around) else ""


def _boxes(things: Any, colours: list[tuple[int, int, int]], labels: list[str]) -> Boxes:
    edges = [(thing.box.x0, thing.box.y0, thing.box.x1, thing.box.y1) for thing in things]
    return Boxes(np.asarray(edges, np.float64).reshape(-1, 4), np.asarray(colours, np.int64).reshape(-1, 3), labels)


def main() -> None:
    """The executable."""
    run_node(WatchNode)


_LOOK = 1.0  # Seconds between looks for new topics


class SensorWatch:
    """Subscribes to the sensors of a graph; shows readings in the frame of the car, where tf_static tells it."""

    def __init__(self, node: SimjudgeNode, screen: Screen, has_room: Callable[[str], bool]) -> None:
        """Begin to look for topics (has_room: says for a topic whether another point cloud of it may be shown)."""
        self.received = 0
        self._node, self._screen, self._has_room = node, screen, has_room
        self._tree = TransformTree("/tf_static")
        self._known: set[str] = set()
        self._depth = {sensor.type: sensor.depth for sensor in WATCHED_SENSORS}
        self._show: dict[str, Callable[[str, Any], None]] = {
            "sensor_msgs/msg/PointCloud2": self._cloud,
            "sensor_msgs/msg/LaserScan": self._scan,
            "sensor_msgs/msg/Imu": self._imu,
            "sensor_msgs/msg/NavSatFix": self._fix,
            "simjudge_msgs/msg/LabelledBoxArray": self._boxes,
            "simjudge_msgs/msg/DetectedBoxArray": self._boxes,
        }
        declared_subscription(node, "/tf_static", self._transforms)
        node.create_timer(_LOOK, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._look()

    def _look(self) -> None:
        below = self._node.get_namespace().rstrip("/") + "/"
        for topic, types in self._node.get_topic_names_and_types():
            kind = next((type_name for type_name in types if type_name in self._show), None)
            if kind is None or topic in self._known or topic.endswith(TRUTH) or not topic.startswith(below):
                continue
            offers = [info.qos_profile.reliability for info in publishers_at(self._node, topic)]
            if not offers:
                continue
            self._known.add(topic)
            reliable = all(offer == ReliabilityPolicy.RELIABLE for offer in offers)
            profile = (reliable_qos if reliable else sensor_data_qos)(self._depth[kind])
            self._node.get_logger().info(f"sees {topic}")
            self._node.create_subscription(message_class(kind), topic, self._taker(topic, kind), profile)

    def _taker(self, topic: str, kind: str) -> Callable[[Any], None]:
        def take(message: Any) -> None:
            self.received += 1
            try:
                self._show[kind](topic, message)
            except SimjudgeError as error:
                self._node.lose("messages of sensors that cannot be shown", str(error))

        return take

    def _transforms(self, message: Any) -> None:
        try:
            for transform in message.transforms:
                self._tree.add(**transform_fields(transform), static=True)
        except SimjudgeError as error:
            self._node.lose("transforms that contradict others", str(error))

    def _mount(self, message: Any) -> Pose:
        return self._tree.static_mount(message.header.frame_id)[1]

    def _cloud(self, topic: str, message: Any) -> None:
        if not self._has_room(topic):
            return
        where = describe_message(message, topic)
        points = lidar_points(read_cloud(message, where), where).stored
        self._screen.signals_at(message_stamp(message)).show_cloud(topic, points, self._mount(message))

    def _scan(self, topic: str, message: Any) -> None:
        if not self._has_room(topic):
            return
        self._screen.signals_at(message_stamp(message)).show_scan(topic, scan_points(message), self._mount(message))

    def _boxes(self, topic: str, message: Any) -> None:
        boxes = boxes_of_message(message)
        self._screen.signals_at(message_stamp(message)).show_boxes(topic, boxes, self._mount(message))

    def _imu(self, topic: str, message: Any) -> None:
        parts = []
        for part in ("angular_velocity", "linear_acceleration"):
            vector = getattr(message, part)
            known = getattr(message, f"{part}_covariance")[0] != -1
            parts.append((vector.x, vector.y, vector.z) if known else None)
        self._screen.signals_at(message_stamp(message)).show_imu(topic, *parts)

    def _fix(self, topic: str, message: Any) -> None:
        place = (message.latitude, message.longitude, message.altitude)
        if message.status.status < 0 or not np.isfinite(place[:2]).all():
            return
        altitude = place[2] if np.isfinite(place[2]) else 0.0
        self._screen.signals_at(message_stamp(message)).show_fix(topic, (*place[:2], altitude))


if __name__ == "__main__":
    main()
