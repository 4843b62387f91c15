"""Where a bridge hands things over to: a recording, topics of ROS 2, or both."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any

from simjudge.bridge.live_camera import LiveFrame
from simjudge.bridge.live_record import BridgeOutput, BridgeRecorder, BridgeSetup
from simjudge.core.errors import SimjudgeError
from simjudge.data.rosbag2.live_recording import record_messages
from simjudge.sim.capture.lock_step import MotionSample
from simjudge.sim.capture.sensor_feed import SensorBatch
from simjudge.sim.vehicle.car_joints import JointAngles
from simjudge.sim.vehicle.vehicle import Command


class BridgeOutputs:
    """All outputs of a bridge; they end when its stack is closed."""

    def __init__(self, stack: ExitStack) -> None:
        """Open nothing yet."""
        self._stack = stack
        self._outputs: list[BridgeOutput] = []
        self._node: Any = None

    def record(self, out: Path, setup: BridgeSetup, start: int, about: Mapping[str, Any]) -> None:
        """Open the recording.

        Args:
            start: nanoseconds.
        """
        written = {"simjudge": json.dumps(about, indent=2)}
        recording = self._stack.enter_context(record_messages(out, written))
        self._outputs.append(BridgeRecorder(recording, setup, start))

    def publish(self, setup: BridgeSetup, start: int) -> None:
        """Open the topics.

        Args:
            start: nanoseconds.
        """
        try:
            topics = import_module("simjudge.nodes.bridge_topics")
        except ImportError as error:
            raise SimjudgeError(f"ros=True: ROS 2 is missing ({error}): install simjudge[ros], or source one"
                                ) from error  # fmt: skip
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
        """Hand over the time where there is no vehicle.

        Args:
            time: nanoseconds.
        """
        for output in self._outputs:
            output.clock(time)

    def motion(self, time: int, sample: MotionSample, command: Command, joints: JointAngles | None = None) -> None:
        """Hand over how the vehicle moves, and what the driver does.

        Args:
            time: nanoseconds.
        """
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
