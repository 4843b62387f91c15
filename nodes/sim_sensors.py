"""The topics of a simulated car's other sensors: lidar, GPS and inertial ones, as their file has them.

    sensors = SimSensors(node, engine, "art1", seed)
    sensors.publish_due(offset)            # after time has gone on

Their names are those of `sensor_topics`. Readings of the same time on one topic share a message.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from builtin_interfaces.msg import Time
from rclpy.publisher import Publisher
from std_msgs.msg import Header

from simjudge.capture.sensor_feed import SensorBatch, SensorFeed
from simjudge.capture.sensor_record import SensorMessages
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.engines.chrono.feed import Reading
from simjudge.engines.contract import Engine
from simjudge.geometry.poses import Pose
from simjudge.graph.node_interfaces import RELIABLE, RIDING_SENSORS, Endpoint
from simjudge.sensors.sensor_file import read_sensors
from simjudge.sensors.sensor_spec import SensorSpec
from simjudge.sensors.sensor_topics import published_topics, sensor_topics

from .endpoints import create_publisher
from .runtime import SimjudgeNode, message_class
from .sensor_messages import reading_message
from .sensor_views import SensorViews

if TYPE_CHECKING:
    from simjudge.engines.chrono.chrono_engine import ChronoEngine

_TYPES = {
    "accelerometer": "sensor_msgs/msg/Imu",
    "gyroscope": "sensor_msgs/msg/Imu",
    "magnetometer": "sensor_msgs/msg/MagneticField",
    "gps": "sensor_msgs/msg/NavSatFix",
    "lidar": "sensor_msgs/msg/PointCloud2",
}


class SimSensors:
    """Sensors that ride on the car of an engine, and publish what they read.

    Attributes:
        mounts: poses in base_link by name, for /tf_static: the car's and those of the sensors.
    """

    def __init__(
        self, node: SimjudgeNode, engine: Engine, given: str, seed: int = 0, mounts: Mapping[str, Pose] | None = None,
        *, frame: str = "odom",
    ) -> None:  # fmt: skip
        """Make the sensors and their publishers.

        Args:
            node: that publishes.
            engine: with a car in it.
            given: a file of sensors, or the name of one that comes with simjudge; "": none.
            seed: of their noise.
            mounts: those of the car.
            frame: that the places of the world are published in.

        Raises:
            UsageError: there is no such file, or the engine has no such sensors.
            SimjudgeError: the file is wrong, or the engine cannot make them.
        """
        specs, fixed = read_sensors(given) if given else (), dict(mounts or {})
        for spec in specs:
            if spec.name in fixed:
                raise SimjudgeError(f"sensors {given}: {spec.name}: the car has such a mount; call it otherwise")
            fixed[spec.name] = spec.mount
        self.mounts: Mapping[str, Pose] = fixed
        self._node, self._engine, self._seed = node, engine, seed
        own = tuple(spec for spec in specs if spec.source == "chrono")
        self._computed = tuple(spec for spec in specs if spec.source != "chrono")
        self._riding = _riding(engine, given, own, seed) if own else None
        self._views = SensorViews(node, specs, engine.scene.class_names, frame)
        self._topics = SensorTopics(node, own, self._views)
        self._messages = SensorMessages(message_class, self._computed, engine.scene.class_names)
        self._publishers: dict[str, Publisher[Any]] = {}
        # Who subscribes is found before time begins.
        for topic, kind in published_topics(self._computed).items():
            self._publisher(topic, kind)

    def _publisher(self, topic: str, kind: str) -> Publisher[Any]:
        if topic not in self._publishers:
            self._publishers[topic] = create_publisher(self._node, Endpoint(topic, kind, RELIABLE, "a sensor", ""))
        return self._publishers[topic]

    def start_feed(self) -> SensorFeed | None:
        """Begin anew to compute readings where the engine is now; None where there is nothing to compute."""
        return SensorFeed(self._engine, self._computed, self._seed) if self._computed else None

    def publish(self, batch: SensorBatch, offset: int) -> None:
        """Publish readings that were computed.

        Args:
            batch: the readings.
            offset: nanoseconds added to the engine's time.
        """
        for topic, _, message in self._messages.messages(batch.events, offset):
            kind = type(message)
            self._publisher(topic, f"{kind.__module__.split('.')[0]}/msg/{kind.__name__}").publish(message)
            self._views.show(topic, message)

    def publish_due(self, offset: int) -> None:
        """Publish what has been read since the last call.

        Args:
            offset: nanoseconds added to the engine's time.
        """
        if self._riding is not None:
            self._topics.publish(self._riding.taken(), offset)


class SensorTopics:
    """Publishes readings of some sensors."""

    def __init__(self, node: SimjudgeNode, specs: Sequence[SensorSpec], views: SensorViews | None = None) -> None:
        """Create the publishers.

        Args:
            node: that publishes.
            specs: the sensors.
            views: what is shown beside the readings.
        """
        self._views = views
        self._specs = {spec.name: spec for spec in specs}
        self._topic_of = sensor_topics(specs)
        self._publishers: dict[str, Publisher[Any]] = {}
        for spec in specs:
            topic = self._topic_of[spec.name]
            if topic not in self._publishers:
                declared = next(each for each in RIDING_SENSORS if each.type == _TYPES[spec.kind])
                self._publishers[topic] = create_publisher(node, declared._replace(topic=topic))

    def publish(self, readings: Iterable[Reading], offset: int = 0) -> None:
        """Publish readings.

        Args:
            readings: in order of time.
            offset: nanoseconds added to their times.
        """
        together: dict[tuple[str, int], list[Reading]] = {}
        for reading in readings:
            stamp = offset + round(reading.time * 1e9)
            together.setdefault((self._topic_of[reading.sensor], stamp), []).append(reading)
        for (topic, stamp), of_one_time in together.items():
            message = self._message(stamp, of_one_time)
            self._publishers[topic].publish(message)
            if self._views is not None:
                self._views.show(topic, message)

    def _message(self, stamp: int, readings: Sequence[Reading]) -> Any:
        seconds, nanoseconds = divmod(stamp, 1_000_000_000)
        # Sensors of one topic sit at one place: the frame of the first in the file stands for it.
        topic = self._topic_of[readings[0].sensor]
        frame = next(name for name in self._specs if self._topic_of[name] == topic)
        header = Header(stamp=Time(sec=seconds, nanosec=nanoseconds), frame_id=f"{frame}_link")
        message, *others = (reading_message(each, header, self._specs[each.sensor].deviation) for each in readings)
        for reading, other in zip(readings[1:], others, strict=True):
            part = "linear_acceleration" if reading.kind == "accelerometer" else "angular_velocity"
            setattr(message, part, getattr(other, part))
            setattr(message, f"{part}_covariance", getattr(other, f"{part}_covariance"))
        return message


def _riding(engine: Engine, given: str, specs: Sequence[SensorSpec], seed: int) -> Any:
    if engine.name != "chrono":
        raise UsageError(
            f"sensors {given}: engine {engine.name} has no sensors of Chrono's own; take source: simjudge, or"
            " engine:=chrono"
        )
    from simjudge.engines.chrono.other_sensors import CarSensors  # noqa: PLC0415 - only where PyChrono is

    return CarSensors(cast("ChronoEngine", engine), specs, seed)
