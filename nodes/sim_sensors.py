"""The topics of a simulated car's other sensors, as their file has them, and views of them that RViz can show.

    sensors = SimSensors(node, engine, specs, seed)
    feed = sensors.start_feed()            # steps with the engine
    sensors.publish(feed.take(time), offset)

Their names are those of `sensor_topics`. Readings of the same time on one topic share a message.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import Point, PoseStamped
from nav_msgs.msg import Path
from rclpy.publisher import Publisher
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from simjudge.core.errors import SimjudgeError
from simjudge.data.rosbag2.cloud_writing import TRUTH
from simjudge.geometry.poses import Pose
from simjudge.page.chart_data import DARK, class_colours, rgb
from simjudge.ros.node_interfaces import RELIABLE, Endpoint, sensor_endpoint
from simjudge.sim.capture.sensor_feed import SensorBatch, SensorFeed
from simjudge.sim.capture.sensor_record import SensorMessages
from simjudge.sim.engines.contract import Engine
from simjudge.sim.sensors.inertial.motion import geodetic_to_enu
from simjudge.sim.sensors.inertial.sensor_tables import GpsSpec, Triple
from simjudge.sim.sensors.sensor_messages import published_topics, sensor_topics
from simjudge.sim.sensors.sensor_spec import SensorSpec
from simjudge.sim.vehicle.vehicle_messages import Frames

from .messages import erasing_marker, set_text_height
from .runtime import SimjudgeNode, create_publisher, message_class


class SimSensors:
    """Sensors that ride on the car of an engine, and publish what they read.

    Attributes:
        mounts: poses in base_link by name, for /tf_static: the car's and those of the sensors.
    """

    def __init__(
        self,
        node: SimjudgeNode,
        engine: Engine,
        specs: Sequence[SensorSpec],
        seed: int = 0,
        mounts: Mapping[str, Pose] | None = None,
        frames: Frames | None = None,
    ) -> None:
        names = frames or Frames()
        fixed = dict(mounts or {})
        for spec in specs:
            if spec.name in fixed:
                raise SimjudgeError(f"sensor {spec.name}: the car has such a mount; call it otherwise")
            fixed[spec.name] = spec.mount
        self.mounts: Mapping[str, Pose] = fixed
        self._node, self._engine, self._seed = node, engine, seed
        self._specs = tuple(specs)
        self._views = SensorViews(node, specs, engine.scene.class_names, names.prefix + names.odom)
        self._messages = SensorMessages(message_class, specs, engine.scene.class_names, names.prefix)
        self._publishers: dict[str, Publisher[Any]] = {}
        # Who subscribes is found before time begins.
        for topic, kind in published_topics(specs).items():
            self._publisher(topic, kind)

    def _publisher(self, topic: str, kind: str) -> Publisher[Any]:
        if topic not in self._publishers:
            self._publishers[topic] = create_publisher(self._node, sensor_endpoint(topic, kind))
        return self._publishers[topic]

    def start_feed(self) -> SensorFeed | None:
        """Begin anew to read where the engine is now; None where there are no sensors."""
        return SensorFeed(self._engine, self._specs, self._seed) if self._specs else None

    def publish(self, batch: SensorBatch, offset: int) -> None:
        """Publish readings (offset: nanoseconds added to the engine's time)."""
        for topic, _, message in self._messages.messages(batch.events, offset):
            kind = type(message)
            self._publisher(topic, f"{kind.__module__.split('.')[0]}/msg/{kind.__name__}").publish(message)
            self._views.show(topic, message)


_ALPHA = 0.35  # Opacity of a cube
_TEXT = 0.12  # Height of a name above its cube, metres
# Length of an arrow for one m/s^2 and for one rad/s, metres.
_METRES = {"linear_acceleration": 0.05, "angular_velocity": 0.5}
_COLOURS = {"linear_acceleration": "orange", "angular_velocity": "blue"}
_THICKNESS = (0.02, 0.05, 0.06)  # Metres: diameter of an arrow's shaft and head, length of the head
_MOST_FIXES = 2000  # Fixes of a path; older ones go
_TYPES = {"MarkerArray": "visualization_msgs/msg/MarkerArray", "Path": "nav_msgs/msg/Path"}


class SensorViews:
    """Publishes views of readings beside them: TOPIC/markers of boxes and of IMUs, TOPIC/path of GPS receivers."""

    def __init__(
        self, node: SimjudgeNode, specs: Sequence[SensorSpec], class_names: Mapping[int, str], frame: str
    ) -> None:
        self._node, self._frame = node, frame
        self._names, self._colours = dict(class_names), class_colours(class_names.values())
        topics = sensor_topics(specs)
        self._reference: dict[str, Triple] = {
            topics[spec.name]: spec.reference for spec in specs if isinstance(spec, GpsSpec)
        }
        self._places: dict[str, deque[tuple[float, float, float]]] = {}
        self._publishers: dict[str, Publisher[Any]] = {}
        self._views: dict[str, tuple[str, str, Callable[[str, Any], Any]]] = {
            "LabelledBoxArray": ("markers", "MarkerArray", self._cubes),
            "Imu": ("markers", "MarkerArray", self._arrows),
            "NavSatFix": ("path", "Path", self._path),
        }

    def show(self, topic: str, message: Any) -> None:
        """Publish the view of a message, where it has one and somebody looks."""
        view = self._views.get(type(message).__name__)
        if view is None or topic.endswith(TRUTH):
            return
        suffix, kind, make = view
        if topic in self._reference:
            place = np.array([[message.latitude, message.longitude, message.altitude]])
            metres = geodetic_to_enu(place, self._reference[topic])[0].tolist()
            self._places.setdefault(topic, deque(maxlen=_MOST_FIXES)).append((metres[0], metres[1], metres[2]))
        name = f"{topic}/{suffix}"
        if name not in self._publishers:
            end = Endpoint(name, _TYPES[kind], RELIABLE, "a sensor for RViz", "")
            self._publishers[name] = create_publisher(self._node, end)
        if self._publishers[name].get_subscription_count():
            self._publishers[name].publish(make(topic, message))

    def _cubes(self, topic: str, message: Any) -> MarkerArray:
        del topic
        return box_markers(message, self._colours)

    def _arrows(self, topic: str, message: Any) -> MarkerArray:
        del topic
        return imu_markers(message)

    def _path(self, topic: str, message: Any) -> Path:
        header = Header(stamp=message.header.stamp, frame_id=self._frame)
        out = Path(header=header)
        for x, y, z in self._places.get(topic, ()):
            place = PoseStamped(header=header)
            place.pose.position = Point(x=x, y=y, z=z)
            place.pose.orientation.w = 1.0
            out.poses.append(place)
        return out


def box_markers(message: Any, colours: Mapping[str, tuple[int, int, int]]) -> MarkerArray:
    """Labelled boxes as cubes with their classes' names above them (colours: RGB, 0-255)."""
    header = message.header
    out = MarkerArray(markers=[erasing_marker(header, namespace) for namespace in ("boxes", "names")])
    for number, box in enumerate(message.boxes):
        red, green, blue = (part / 255 for part in colours.get(box.class_name, (255, 255, 255)))
        cube = Marker(header=header, ns="boxes", id=number, type=Marker.CUBE, action=Marker.ADD, pose=box.pose)
        cube.scale = box.size
        cube.color = ColorRGBA(r=red, g=green, b=blue, a=_ALPHA)
        name = Marker(header=header, ns="names", id=number, type=Marker.TEXT_VIEW_FACING, action=Marker.ADD)
        middle = box.pose.position
        name.pose.position = Point(x=middle.x, y=middle.y, z=middle.z + box.size.z / 2 + _TEXT)
        name.pose.orientation.w = 1.0
        set_text_height(name, _TEXT)
        name.color = ColorRGBA(r=red, g=green, b=blue, a=1.0)
        name.text = box.class_name or str(box.class_id)
        out.markers += [cube, name]
    return out


def imu_markers(message: Any) -> MarkerArray:
    """An IMU's readings as arrows: 0.05 m for each m/s^2, and along the turn's axis 0.5 m for each rad/s."""
    out = MarkerArray()
    for number, (part, metres) in enumerate(_METRES.items()):
        if getattr(message, f"{part}_covariance")[0] == -1:
            continue
        vector = getattr(message, part)
        arrow = Marker(header=message.header, ns=part, id=number, type=Marker.ARROW, action=Marker.ADD)
        arrow.points = [Point(), Point(x=metres * vector.x, y=metres * vector.y, z=metres * vector.z)]
        arrow.pose.orientation.w = 1.0
        arrow.scale.x, arrow.scale.y, arrow.scale.z = _THICKNESS
        red, green, blue = (level / 255 for level in rgb(DARK[_COLOURS[part]]))
        arrow.color = ColorRGBA(r=red, g=green, b=blue, a=1.0)
        out.markers.append(arrow)
    return out
