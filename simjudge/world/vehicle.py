"""The car as data: its figures, what a driver tells it, and how it moves. What moves it is an engine's affair."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from simjudge.poses import Pose


@dataclass(frozen=True)
class Command:
    """What a driver does.

    Attributes:
        steering: -1 (full right) to 1 (full left).
        throttle: 0 to 1.
        braking: 0 to 1.
    """

    steering: float = 0.0
    throttle: float = 0.0
    braking: float = 0.0


@dataclass(frozen=True)
class VehicleState:
    """How the car moves.

    Attributes:
        time: simulated seconds.
        pose: of base_link in the world: on the ground below the middle of the rear axle, x ahead, y left, z up.
        velocity: x, y, z, m/s, in base_link.
        angular_velocity: x, y, z, rad/s, in base_link.
        acceleration: x, y, z, m/s^2, in base_link, without gravity.
        steering_angle: of the bicycle's front wheel, radians, left positive.
        wheel_speeds: front left, front right, rear left, rear right, rad/s, positive forward.
    """

    time: float
    pose: Pose
    velocity: tuple[float, float, float]
    angular_velocity: tuple[float, float, float]
    acceleration: tuple[float, float, float]
    steering_angle: float
    wheel_speeds: tuple[float, float, float, float]


@dataclass(frozen=True)
class Vehicle:
    """A car with Ackermann steering and a motor on all four wheels, as its YAML file has it (`read_vehicle`).

    Attributes:
        name: the file's, unless it has one of its own.
        mass: kg, all of it.
        wheelbase, track, wheel_radius, wheel_width: metres.
        steering_limit: of the bicycle's front wheel, radians.
        steering_rate: rad/s.
        motor_kv: rpm per volt without load.
        voltage: V, at full throttle.
        gear_ratio: wheel turns per motor turn.
        stall_torque: N m at the motor, at full throttle.
        rolling_resistance: coefficient, no unit.
        brake_torque: N m on each wheel, at full braking.
        friction: of tyre and floor, no unit.
        mounts: poses of sensors in base_link by name; "camera" is the camera's body (x ahead), not its optical frame.
    """

    name: str
    mass: float
    wheelbase: float
    track: float
    wheel_radius: float
    wheel_width: float
    steering_limit: float
    steering_rate: float
    motor_kv: float
    voltage: float
    gear_ratio: float
    stall_torque: float
    rolling_resistance: float
    brake_torque: float
    friction: float
    mounts: Mapping[str, Pose]
