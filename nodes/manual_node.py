"""A person at the wheel: keys, a joystick, a wanted speed in; commands out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from geometry_msgs.msg import Twist
from nav_msgs.msg import Odometry
from sensor_msgs.msg import Joy

from simjudge.core.errors import SimjudgeError
from simjudge.ros.node_interfaces import NODES
from simjudge.ros.node_settings import ManualSettings
from simjudge.sim.driving.manual import KEYS, DriveOutput, JoystickMap, Keyboard, ManualDriver, WantedMotion
from simjudge.sim.vehicle.vehicle import Command, VehicleState, read_vehicle
from simjudge.sim.vehicle.vehicle_messages import ODOMETRY_TOPIC

from .car_messages import OdometryReader
from .diagnostics import OK, WARN, TaskState
from .messages import message_stamp
from .parameters import settings_parameters
from .runtime import SimjudgeNode, declared_publisher, declared_subscription, message_class, run_node

_ACKERMANN = "ackermann_cmd"


class ManualNode(SimjudgeNode):
    """Lets a person drive: keys, joy, cmd_vel or ackermann_cmd, and vehicle/odometry in, vehicle/input out."""

    NAME = "manual_node"
    INTERFACE = NODES["manual_node"]
    PARAMETERS = settings_parameters(ManualSettings)

    def __init__(self) -> None:
        super().__init__()
        given = self.settings
        self._vehicle = read_vehicle(given["vehicle"])
        self._driver = ManualDriver(self._vehicle, given["timeout"])
        self._joystick = JoystickMap(
            given["axis_linear"], given["axis_angular"], given["enable_button"], given["require_enable_button"]
        )
        self._output = DriveOutput(message_class, given["output_type"], self._vehicle, given["base_frame"])
        self._reader = OdometryReader(self.get_logger().warning)
        self._now: VehicleState | None = None
        self._received = {"keys": 0, "joy": 0, "cmd_vel": 0, _ACKERMANN: 0}
        self._commands = 0
        self._input = declared_publisher(self, "vehicle/input")
        declared_subscription(self, ODOMETRY_TOPIC, self._moved)
        self._listen("joy", self._of_joy)
        self._listen("cmd_vel", self._of_twist)
        try:
            self._listen(_ACKERMANN, self._of_ackermann)
        except SimjudgeError as error:
            self.get_logger().info(f"no {_ACKERMANN}: {error}")
        self._keyboard = Keyboard(sys.stdin.fileno()) if given["keyboard"] else None
        if self._keyboard is not None:
            self._keyboard.__enter__()
            self.get_logger().info(KEYS)
        self.diagnostics.add_task("by hand", self._report)

    def close(self) -> None:
        """Give the keyboard back, and stop a robot that keeps a speed by itself."""
        if self._output.asks_for_speed and self._now is not None:
            self._input.publish(self._output.motion(round(self._now.time * 1e9), WantedMotion(0.0, 0.0)))
        if self._keyboard is not None:
            self._keyboard.__exit__(None, None, None)

    def counts(self) -> Mapping[str, int]:
        """What came by which way, and the commands that were published."""
        return {**{f"{name} received": count for name, count in self._received.items()}, "commands": self._commands}

    def _listen(self, topic: str, convert: Callable[[Any], Command | WantedMotion]) -> None:

        def take(message: Any) -> None:
            self._received[topic] += 1
            try:
                self._driver.ask(convert(message), 0.0 if self._now is None else self._now.time)
            except SimjudgeError as error:
                self.lose(f"messages that make no sense on {topic}, not obeyed", str(error))

        declared_subscription(self, topic, take)

    def _of_joy(self, message: Joy) -> Command:
        return self._joystick.command(message.axes, message.buttons)

    def _of_twist(self, message: Twist) -> WantedMotion:
        return WantedMotion.of_twist(message.linear.x, message.angular.z, self._vehicle.wheelbase)

    def _of_ackermann(self, message: Any) -> WantedMotion:
        return WantedMotion(float(message.drive.speed), float(message.drive.steering_angle))

    def _moved(self, message: Odometry) -> None:
        """Answer every odometry: 50 times a simulated second."""
        try:
            self._now = now = self._reader.state(message)
        except SimjudgeError as error:
            self.lose("odometry messages that make no sense, not used", str(error))
            return
        keys = [] if self._keyboard is None else self._keyboard.keys()
        self._received["keys"] += len(keys)
        self._driver.press(keys, now.time)
        if self._driver.ended:
            self.finish()
            return
        stamp = message_stamp(message)
        if self._output.asks_for_speed:
            wanted = self._driver.motion(now, self.settings["fastest"])
            self._input.publish(self._output.motion(stamp, wanted))
        else:
            self._input.publish(self._output.message(stamp, self._driver.command(now), 0.0))
        self._commands += 1

    def _report(self) -> TaskState:
        values = {**self._received, "commands": self._commands}
        if lost := self.recent_losses:
            return TaskState(WARN, lost, values)
        if self._now is None:
            return TaskState(WARN, f"waits for {ODOMETRY_TOPIC}", values)
        return TaskState(OK, f"{self._now.velocity[0]:.2f} m/s", values)


def main() -> None:
    """The executable `manual_node`."""
    run_node(ManualNode)


if __name__ == "__main__":
    main()
