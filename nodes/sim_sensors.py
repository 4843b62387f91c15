"""The topics of a simulated car's other sensors: lidar, GPS and inertial ones, as their file has them.

    sensors = SimSensors(node, engine, "art1", seed)
    feed = sensors.start_feed()            # steps with the engine
    sensors.publish(feed.take(time), offset)

Their names are those of `sensor_topics`. Readings of the same time on one topic share a message.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rclpy.publisher import Publisher

from simjudge.core.errors import SimjudgeError
from simjudge.geometry.poses import Pose
from simjudge.ros.node_interfaces import sensor_endpoint
from simjudge.sim.capture.sensor_feed import SensorBatch, SensorFeed
from simjudge.sim.capture.sensor_record import SensorMessages
from simjudge.sim.engines.contract import Engine
from simjudge.sim.sensors.sensor_file import read_sensors
from simjudge.sim.sensors.sensor_messages import published_topics
from simjudge.sim.vehicle.vehicle_messages import Frames

from .endpoints import create_publisher
from .runtime import SimjudgeNode, message_class
from .sensor_views import SensorViews


class SimSensors:
    """Sensors that ride on the car of an engine, and publish what they read.

    Attributes:
        mounts: poses in base_link by name, for /tf_static: the car's and those of the sensors.
    """

    def __init__(
        self, node: SimjudgeNode, engine: Engine, given: str, seed: int = 0, mounts: Mapping[str, Pose] | None = None,
        frames: Frames | None = None,
    ) -> None:  # fmt: skip
        """Make the sensors and their publishers.

        Args:
            given: a file of sensors, or the name of one that comes with simjudge; "": none.
        """
        names = frames or Frames()
        specs, fixed = read_sensors(given) if given else (), dict(mounts or {})
        for spec in specs:
            if spec.name in fixed:
                raise SimjudgeError(f"sensors {given}: {spec.name}: the car has such a mount; call it otherwise")
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
        """Publish readings.

        Args:
            offset: nanoseconds added to the engine's time.
        """
        for topic, _, message in self._messages.messages(batch.events, offset):
            kind = type(message)
            self._publisher(topic, f"{kind.__module__.split('.')[0]}/msg/{kind.__name__}").publish(message)
            self._views.show(topic, message)
