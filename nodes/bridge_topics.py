"""The topics of a bridge (`simjudge.bridge`): what its program's cameras and sensors see, and vehicle/input.

`ChronoBridge(ros=True)` imports this module; a program of one's own is then a node of the graph, `chrono_bridge`. The
program's loop stays its own: messages that come are taken by a thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.publisher import Publisher
from rclpy.signals import SignalHandlerOptions

from simjudge.bridge.bridge_devices import BridgeSetup
from simjudge.bridge.live_camera import LiveFrame
from simjudge.data.rosbag2.interfaces import INPUT_TYPE, MAP_FRAME
from simjudge.ros.node_interfaces import CHRONO_BRIDGE, sensor_endpoint
from simjudge.sim.capture.lock_step import MotionSample
from simjudge.sim.capture.sensor_feed import SensorBatch
from simjudge.sim.capture.sensor_record import SensorMessages
from simjudge.sim.sensors.sensor_messages import published_topics
from simjudge.sim.vehicle.vehicle import Command
from simjudge.sim.vehicle.vehicle_messages import Frames, JointAngles

from .ending import wait_until_arrived
from .parameters import Parameter
from .runtime import SimjudgeNode, create_publisher, load_shared_memory_profile, message_class
from .simulated_car import SimulatedCamera, SimulatedCar, VehicleInputs

_WAKE = 0.05  # Seconds between looks whether the bridge ends


class BridgeTopics(SimjudgeNode):
    """Publishes what a bridge hands over, and takes commands."""

    NAME = "chrono_bridge"
    INTERFACE = CHRONO_BRIDGE
    PARAMETERS = (Parameter("input_type", INPUT_TYPE, "Message type of vehicle/input; or art_msgs/msg/VehicleInput."),)

    def __init__(self, setup: BridgeSetup, start: int) -> None:
        """Create the topics (start: nanoseconds of simulated time)."""
        super().__init__()
        names = setup.scene.class_names
        self._cameras = {camera.name: SimulatedCamera(self, camera, names) for camera in setup.cameras}
        self._placed = frozenset(setup.placed)
        self._car = SimulatedCar(self, setup.mounts, setup.camera_names, Frames(map=MAP_FRAME))
        self._messages = SensorMessages(message_class, setup.specs, names)
        self._sensor_publishers: dict[str, Publisher[Any]] = {}
        for topic, kind in published_topics(setup.specs).items():
            self._publisher(topic, kind)
        self._inputs = VehicleInputs(self, "vehicle/input")
        self._setup = setup
        self._car.publish_static_transforms(start, setup.fixed_links)
        if setup.description:
            self._car.publish_description(setup.description)

    def ok(self) -> bool:
        """Whether ROS is still up."""
        return bool(rclpy.ok()) and not self.ended

    def latest_command(self) -> Command | None:
        """The last command that came; None before the first."""
        return self._inputs.latest()

    def motion(self, sample: MotionSample, joints: JointAngles | None = None) -> None:
        """Publish the time, and how the vehicle moves."""
        self._car.publish_state(sample.time, sample.state, joints, self._setup.wheel_links(joints))

    def clock(self, time: int) -> None:
        """Publish the time alone (time: nanoseconds)."""
        self._car.publish_clock(time)

    def readings(self, batch: SensorBatch) -> None:
        """Publish readings."""
        for topic, _, message in self._messages.messages(batch.events):
            kind = type(message)
            self._publisher(topic, f"{kind.__module__.split('.')[0]}/msg/{kind.__name__}").publish(message)

    def frame(self, camera: str, frame: LiveFrame) -> None:
        """Publish a frame."""
        seen = frame.captured
        if camera in self._placed:
            self._car.publish_camera(seen.stamp, camera, seen.camera_pose)
        self._cameras[camera].publish(seen.stamp, seen.image, seen.truth.objects, seen.labels, depth=seen.depth)

    def command(self, time: int, command: Command) -> None:
        """Commands come from a topic here; they are not published again (time: nanoseconds)."""

    def _publisher(self, topic: str, kind: str) -> Publisher[Any]:
        if topic not in self._sensor_publishers:
            self._sensor_publishers[topic] = create_publisher(self, sensor_endpoint(topic, kind))
        return self._sensor_publishers[topic]


@contextmanager
def bridge_topics(setup: BridgeSetup, start: int) -> Iterator[BridgeTopics]:
    """The topics, while the block runs; ROS is brought up, unless the program has done so itself."""
    mine = not rclpy.ok()
    if mine:
        load_shared_memory_profile()
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = BridgeTopics(setup, start)
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        thread = Thread(target=_spin, args=(node, executor), name="chrono_bridge", daemon=True)
        thread.start()
        try:
            yield node
        finally:
            node.finish()
            thread.join()
            if rclpy.ok():
                wait_until_arrived(node)
            executor.shutdown()
            node.destroy_node()
    finally:
        if mine:
            rclpy.try_shutdown()


def _spin(node: BridgeTopics, executor: SingleThreadedExecutor) -> None:
    """Take what comes, until the bridge ends."""
    try:
        while rclpy.ok() and not node.ended:
            executor.spin_once(timeout_sec=_WAKE)
    except ExternalShutdownException:
        return
