"""Where a bridge hands things over to, at simulated time: a recording, topics of ROS 2, or both."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from simjudge.bridge.live_camera import LiveFrame
from simjudge.core.errors import SimjudgeError
from simjudge.core.installed import install_command
from simjudge.data.rosbag2.interfaces import standard_types
from simjudge.data.rosbag2.live_recording import MessageRecording, record_messages
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.lock_step import MotionSample
from simjudge.sim.capture.sensor_feed import SensorBatch
from simjudge.sim.capture.sensor_record import CameraRecorder, SensorMessages
from simjudge.sim.scene.model import Scene
from simjudge.sim.sensors.camera.rig import MountedCamera
from simjudge.sim.sensors.sensor_messages import TF_TOPIC
from simjudge.sim.sensors.sensor_spec import SensorSpec
from simjudge.sim.vehicle.car_joints import (
    BODY_LINK,
    FrameLink,
    JointAngles,
    WheelFigures,
    links_at,
    wheels_description,
)
from simjudge.sim.vehicle.vehicle import Command
from simjudge.sim.vehicle.vehicle_messages import (
    DESCRIPTION_TOPIC,
    INPUT_TOPIC,
    JOINTS_TOPIC,
    MAP_FRAME,
    ODOMETRY_TOPIC,
    Frames,
    VehicleMessages,
)


class BridgeOutput(Protocol):
    """Where a bridge hands things over to: a recording, or topics."""

    def motion(self, sample: MotionSample, joints: JointAngles | None = None) -> None:
        """Hand over how the vehicle moves, and the joints of its wheels where they are known."""

    def clock(self, time: int) -> None:
        """Hand over the time, nanoseconds, where there is no vehicle."""

    def readings(self, batch: SensorBatch) -> None:
        """Hand over readings."""

    def frame(self, camera: str, frame: LiveFrame) -> None:
        """Hand over a frame."""

    def command(self, time: int, command: Command) -> None:
        """Hand over what the driver does."""


class BridgeSetup:
    """What a bridge has, once it has begun.

    Attributes:
        placed: names of those that sit on another body than the vehicle.
        mounts: poses in base_link of all that sits on the vehicle.
        wheels: of the vehicle, by name, as they were when it was named; None where they are not known.
        centres: where the wheels are in base_link at the time of the call; None: as `wheels` has them.
    """

    def __init__(
        self,
        scene: Scene,
        cameras: Sequence[MountedCamera],
        placed: Collection[str],
        specs: Sequence[SensorSpec],
        mounts: Mapping[str, Pose],
        wheels: Mapping[str, WheelFigures] | None = None,
        centres: Callable[[], Mapping[str, tuple[float, float, float]]] | None = None,
    ) -> None:
        self.wheels, self.centres = wheels, centres
        self.scene, self.cameras, self.placed, self.specs, self.mounts = scene, cameras, placed, specs, mounts

    @property
    def camera_names(self) -> list[str]:
        """Names of the cameras."""
        return [camera.name for camera in self.cameras]

    @property
    def description(self) -> str:
        """The vehicle as URDF; empty where its wheels are not known."""
        if self.wheels is None:
            return ""
        return wheels_description("chrono_vehicle", self.wheels, self.mounts, self.camera_names)

    @property
    def fixed_links(self) -> tuple[FrameLink, ...]:
        """Frames of the description that neither move nor are sensors'."""
        return () if self.wheels is None else (BODY_LINK,)

    def wheel_links(self, joints: JointAngles | None) -> list[FrameLink]:
        """Where the wheels are; none where they are not known."""
        if self.wheels is None or joints is None:
            return []
        if self.centres is not None:
            return links_at(self.centres(), joints)
        return links_at({name: wheel.centre for name, wheel in self.wheels.items()}, joints)


class BridgeRecorder:
    """Writes into a recording."""

    def __init__(self, recording: MessageRecording, setup: BridgeSetup, start: int) -> None:
        """Begin with the transforms that stay (start: nanoseconds)."""
        self._recording, types = recording, standard_types().types
        self._car = VehicleMessages(lambda name: types[name], Frames(map=MAP_FRAME))
        self._cameras = {
            camera.name: CameraRecorder(
                recording, camera, setup.scene, self._car, placed=camera.name in setup.placed, label_images=True
            )
            for camera in setup.cameras
        }
        self._sensors = SensorMessages(lambda name: types[name], setup.specs, setup.scene.class_names)
        message = self._car.fixed(start, setup.mounts, setup.camera_names, setup.fixed_links)
        recording.write("/tf_static", start, message, latched=True)
        self._setup = setup
        if setup.description:
            described = self._car.description(setup.description)
            recording.write(f"/{DESCRIPTION_TOPIC}", start, described, latched=True)

    def motion(self, sample: MotionSample, joints: JointAngles | None = None) -> None:
        """Write how the vehicle moves."""
        if joints is not None:
            self._recording.write(f"/{JOINTS_TOPIC}", sample.time, self._car.joints(sample.time, joints))
        self._recording.write(f"/{ODOMETRY_TOPIC}", sample.time, self._car.odometry(sample.time, sample.state))
        self._recording.write(
            TF_TOPIC, sample.time, self._car.moving(sample.time, sample.state, self._setup.wheel_links(joints))
        )

    def clock(self, time: int) -> None:
        """A recording has its own times (time: nanoseconds)."""

    def readings(self, batch: SensorBatch) -> None:
        """Write readings."""
        for topic, _, message in self._sensors.messages(batch.events):
            self._recording.write(f"/{topic}", batch.time, message)

    def frame(self, camera: str, frame: LiveFrame) -> None:
        """Write a frame."""
        self._cameras[camera].record(frame.time, frame.captured)

    def command(self, time: int, command: Command) -> None:
        """Write what the driver does (time: nanoseconds)."""
        self._recording.write(f"/{INPUT_TOPIC}", time, self._car.input(time, command))


class BridgeOutputs:
    """All outputs of a bridge; they end when its stack is closed."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._outputs: list[BridgeOutput] = []
        self._node: Any = None

    def record(self, out: Path, setup: BridgeSetup, start: int, about: Mapping[str, object]) -> None:
        """Open the recording (start: nanoseconds)."""
        written = {"simjudge": json.dumps(about, indent=2)}
        recording = self._stack.enter_context(record_messages(out, written))
        self._outputs.append(BridgeRecorder(recording, setup, start))

    def publish(self, setup: BridgeSetup, start: int) -> None:
        """Open the topics (start: nanoseconds)."""
        try:
            topics = import_module("simjudge.nodes.bridge_topics")
        except ImportError as error:
            raise SimjudgeError(
                f"ros=True: ROS 2 is missing ({error}): {install_command('rclpy')}, or source one"
            ) from error
        self._node = self._stack.enter_context(topics.bridge_topics(setup, start))
        self._outputs.append(self._node)

    def latest_command(self) -> Command | None:
        """The last message of vehicle/input; None where none came, or there are no topics."""
        found: Command | None = None if self._node is None else self._node.latest_command()
        return found

    def ok(self) -> bool:
        """False once ROS has ended."""
        return self._node is None or bool(self._node.ok())

    def clock(self, time: int) -> None:
        """Hand over the time where there is no vehicle (time: nanoseconds)."""
        for output in self._outputs:
            output.clock(time)

    def motion(self, time: int, sample: MotionSample, command: Command, joints: JointAngles | None = None) -> None:
        """Hand over how the vehicle moves, and what the driver does (time: nanoseconds)."""
        for output in self._outputs:
            output.motion(sample, joints)
            output.command(time, command)

    def readings_and_frames(self, batches: Sequence[SensorBatch], frames: Sequence[tuple[str, LiveFrame]]) -> None:
        """Hand over readings, then frames."""
        for output in self._outputs:
            for batch in batches:
                output.readings(batch)
            for camera, frame in frames:
                output.frame(camera, frame)
