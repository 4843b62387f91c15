"""A car of Chrono::Vehicle, however it was made: its wheels, and what is measured once of one that stands.

Chrono's reference frame is where a vehicle's makers put it; its steering goes from -1 to 1, to either side. Where
base_link (on the ground, below the middle of the rear axle) is in that frame, how far the wheels turn at full steering,
and whether positive steering is to the left, is measured on a car that has come to rest.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import SimjudgeError
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.chrono.modules import STEP, Modules, frame_pose
from simjudge.sim.vehicle.vehicle import Vehicle

LEFT = 0  # VehicleSide::LEFT (ChSubsysDefs.h)
RIGHT = 1  # VehicleSide::RIGHT (ChSubsysDefs.h)
# Axle and side of the wheels: front left, front right, rear left, rear right.
SPINDLES = ((0, LEFT), (0, RIGHT), (1, LEFT), (1, RIGHT))


def wheel_angles(wheeled: Any) -> tuple[float, float]:
    """Of the front wheels, left and right, radians, left positive, from where their axles point in the chassis."""
    chassis = frame_pose(wheeled.GetChassisBody().GetFrameRefToAbs())
    angles = []
    for side in (LEFT, RIGHT):
        rotation = wheeled.GetSpindleRot(0, side)
        axle = Pose(orientation=(rotation.e1, rotation.e2, rotation.e3, rotation.e0)).rotation_matrix()[:, 1]
        x, y, _ = (chassis.rotation_matrix().T @ axle).tolist()
        angles.append(-math.atan2(x, y))
    return angles[0], angles[1]


def wheel_spins(wheeled: Any) -> FloatArray:
    """(4,) in the car, rad/s about their axles, positive ahead; GetSpindleOmega's shaft points to the right."""
    body = wheeled.GetChassisBody().GetAngVelParent()
    spins = []
    for axle, side in SPINDLES:
        rotation, speed = wheeled.GetSpindleRot(axle, side), wheeled.GetSpindleAngVel(axle, side)
        x, y, z, w = rotation.e1, rotation.e2, rotation.e3, rotation.e0
        left = (2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x))
        spins.append((speed.x - body.x) * left[0] + (speed.y - body.y) * left[1] + (speed.z - body.z) * left[2])
    return np.array(spins)


def bicycle_angle(left: float, right: float) -> float:
    """The angle of a single front wheel in the middle, radians: its cotangent is the mean of theirs."""
    a, b = math.tan(left), math.tan(right)
    return math.atan(2 * a * b / (a + b) if a * b > 0 else (a + b) / 2)


_STEERING_TIME = 0.5  # Seconds in which the wheels reach full steering
_LEAST_TURN = math.radians(5)  # Of the front wheels at full steering: a car that turns them by less cannot be driven

Point = tuple[float, float, float]


class BuiltCar(NamedTuple):
    """A car of Chrono's."""

    mover: Any  # has `Synchronize` and `Advance`, and keeps the rest alive
    wheeled: Any


class CarMaker(Protocol):
    """What makes one kind of car in Chrono."""

    @property
    def name(self) -> str:
        """For people."""

    @property
    def step_parts(self) -> int:
        """Steps of Chrono's in one of ours."""

    @property
    def settle_time(self) -> float:
        """Seconds in which a new car comes to rest on its springs."""

    @property
    def rear(self) -> Point:
        """Middle of the rear axle in Chrono's reference frame, metres."""

    @property
    def drop(self) -> float:
        """Height of the reference frame at which the wheels of a new car touch the ground, metres."""

    def build(self, vehicle: Vehicle | None, reference: Pose) -> BuiltCar:
        """A car at a pose of its reference frame, in a system of its own; by default with Chrono's own figures."""

    def braking(self, vehicle: Vehicle) -> float:
        """Chrono's input of the brakes, 0 to 1, for full braking (vehicle: the figures of the car)."""


class Stance(NamedTuple):
    """A car that stands on the ground."""

    base: Pose
    angle: float  # of the bicycle's front wheel at full steering input, radians, always positive
    sign: int  # 1 where Chrono's positive steering is to the left, -1 where it is to the right


def measure_stance(modules: Modules, maker: CarMaker, step: float = STEP) -> Stance:
    """Let a car settle, then steer it fully: base_link in the reference frame, the bicycle's angle, its sign."""
    vehicles = modules.vehicle
    car = maker.build(None, Pose((0.0, 0.0, maker.drop)))
    ground, inputs = vehicles.FlatTerrain(0.0, 0.8), vehicles.DriverInputs()
    inputs.m_throttle, inputs.m_braking = 0.0, 1.0

    def run(begin: float, seconds: float, steering: float) -> None:
        inputs.m_steering = steering
        for number in range(round(seconds / step)):
            car.mover.Synchronize(begin + number * step, inputs, ground)
            car.mover.Advance(step)

    run(0.0, maker.settle_time, 0.0)
    base = base_in_reference(frame_pose(car.wheeled.GetChassisBody().GetFrameRefToAbs()), maker.rear)
    before = bicycle_angle(*wheel_angles(car.wheeled))
    run(maker.settle_time, _STEERING_TIME, 1.0)
    turned = bicycle_angle(*wheel_angles(car.wheeled)) - before
    if not abs(turned) > _LEAST_TURN:
        raise SimjudgeError(
            f"Chrono's {maker.name} turned its wheels by {math.degrees(turned):.1f} degrees at full steering"
        )
    return Stance(base, abs(turned), 1 if turned > 0 else -1)


def base_in_reference(reference: Pose, rear: Point) -> Pose:
    """Level base_link, on the ground below the middle of the rear axle, in the reference frame of a car on z = 0."""
    x, y, _ = reference.to_world(rear).tolist()
    yaw, _, _ = reference.angles()
    return reference.inverse() @ Pose.from_euler(x, y, 0.0, yaw=yaw)


def steering_input(angle: float, stance: Stance) -> float:
    """Chrono's input, -1 to 1, for an angle of the bicycle's front wheel, radians, left positive."""
    return stance.sign * max(-1.0, min(1.0, angle / stance.angle))
