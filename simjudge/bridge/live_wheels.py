"""The four wheels of a Chrono::Vehicle that a program drives: where they are, how they turn, and what they are."""

from __future__ import annotations

from typing import Any

from simjudge.bridge.visuals import reference_pose
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.chrono.wheeled_car import SPINDLES, bicycle_angle, wheel_angles, wheel_spins
from simjudge.sim.vehicle.car_appearance import WHEELS
from simjudge.sim.vehicle.car_joints import JointAngles, JointTracker
from simjudge.sim.vehicle.robot_description import WheelFigures

_AXLES = 2
_CALLS = ("GetNumberAxles", "GetSpindlePos", "GetSpindleRot", "GetSpindleAngVel", "GetTire", "GetChassisBody")


class LiveWheels:
    """The wheels of a wheeled vehicle with two axles.

    Attributes:
        figures: of each wheel of `WHEELS`, centres in base_link as they were when this was made.
    """

    def __init__(self, wheeled: Any, base: Pose) -> None:
        """Measure the wheels.

        Args:
            base: base_link in the frame of the chassis.
        """
        self._wheeled, self._base, self._tracker = wheeled, base, JointTracker()
        self.figures: dict[str, WheelFigures] = {}
        for (name, centre), (axle, side) in zip(self.centres().items(), SPINDLES, strict=True):
            tyre = wheeled.GetTire(axle, side)
            self.figures[name] = WheelFigures(centre, float(tyre.GetRadius()), float(tyre.GetWidth()))

    def centres(self) -> dict[str, tuple[float, float, float]]:
        """Where the wheels are in base_link now, metres: springs and steering move them (a HMMWV's by 0.12 m)."""
        into = (reference_pose(self._wheeled.GetChassisBody()) @ self._base).inverse()
        found = {}
        for name, (axle, side) in zip(WHEELS, SPINDLES, strict=True):
            at = self._wheeled.GetSpindlePos(axle, side)
            found[name] = (into @ Pose((float(at.x), float(at.y), float(at.z)))).position
        return found

    def motion(self) -> tuple[float, tuple[float, float, float, float]]:
        """The angle of the bicycle's front wheel (radians, left positive) and the wheels' speeds (rad/s) now."""
        front_left, front_right, rear_left, rear_right = wheel_spins(self._wheeled).tolist()
        return bicycle_angle(*wheel_angles(self._wheeled)), (front_left, front_right, rear_left, rear_right)

    def joints(self, time: float) -> JointAngles:
        """The joints now.

        Args:
            time: simulated seconds, later than at the call before.
        """
        return self._tracker.follow(time, wheel_angles(self._wheeled), self.motion()[1])


def find_wheels(vehicle: Any, base: Pose) -> LiveWheels | None:
    """The wheels of what a program calls its vehicle.

    Args:
        vehicle: a Chrono::Vehicle, a model of one (ARTcar, HMMWV_Full), or a body.
        base: base_link in the frame of the chassis.

    Returns:
        The wheels; None for a body, a tracked vehicle, other numbers of axles, and a vehicle without tyres.
    """
    wheeled = vehicle.GetVehicle() if hasattr(vehicle, "GetVehicle") else vehicle
    if not all(hasattr(wheeled, name) for name in _CALLS) or int(wheeled.GetNumberAxles()) != _AXLES:
        return None
    if any(wheeled.GetTire(axle, side) is None for axle, side in SPINDLES):
        return None
    return LiveWheels(wheeled, base)
