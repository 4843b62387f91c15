"""The car as data: its figures, what a driver tells it, and how it moves. What moves it is an engine's affair."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from simjudge.core.errors import SimjudgeError
from simjudge.geometry.poses import Pose


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

    def __post_init__(self) -> None:
        """Check the ranges."""
        for name, low in (("steering", -1.0), ("throttle", 0.0), ("braking", 0.0)):
            value = getattr(self, name)
            if not low <= value <= 1:
                raise SimjudgeError(f"{name} {value}: a number from {low:g} to 1 is needed")


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
class ChronoParts:
    """A wheeled vehicle of Chrono's own JSON files, as the engine `chrono` makes it.

    Attributes:
        vehicle, engine, transmission, tire: files, below `data`.
        data: the folder that the files name each other from; None: that of Chrono's own data.
        step: seconds of one step of Chrono's, a whole number of which are 1 ms.
    """

    vehicle: str
    engine: str
    transmission: str
    tire: str
    data: Path | None = None
    step: float = 1e-3


@dataclass(frozen=True)
class Vehicle:
    """A car with Ackermann steering and a motor on all four wheels, as its YAML file has it (`read_vehicle`).

    Attributes:
        name: the file's, unless it has one of its own.
        mass: kg, all of it.
        wheelbase, track, wheel_radius, wheel_width: metres.
        steering_limit: of the bicycle's front wheel, radians.
        battery_voltage: V; `voltage` is the part of it that full throttle asks for.
        stall_torque: N m at the motor, at full throttle.
        brake_torque: N m on each wheel, at full braking.
        friction: of tyre and floor, no unit.
        slip_stiffness: of the tyres, along and across: force per load and slip, no unit.
        relaxation_length: metres that a tyre rolls until its forces have built up to 63 %.
        centre_of_mass: of the body without wheels, x, y, z in base_link, metres.
        inertia: of the body without wheels about its centre of mass, x, y, z, kg m^2.
        wheel_mass: kg, of one wheel.
        wheel_inertia: of one wheel about its axle, kg m^2.
        suspension_stiffness, suspension_damping: of each wheel, N/m and N s/m.
        suspension_travel: metres up, and down, from where it rests.
        mounts: poses of sensors in base_link by name; "camera" is the camera's body (x ahead), not its optical frame.
        chrono: what the engine `chrono` makes it from; None: Chrono's ARTcar, told the figures above.
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
    battery_voltage: float
    gear_ratio: float
    stall_torque: float
    rolling_resistance: float
    brake_torque: float
    friction: float
    slip_stiffness: tuple[float, float]
    relaxation_length: float
    centre_of_mass: tuple[float, float, float]
    inertia: tuple[float, float, float]
    wheel_mass: float
    wheel_inertia: float
    suspension_stiffness: float
    suspension_damping: float
    suspension_travel: float
    mounts: Mapping[str, Pose]
    chrono: ChronoParts | None = None

    @property
    def top_wheel_speed(self) -> float:
        """Rad/s of the wheels at which the motor at full throttle has no torque left."""
        return self.motor_kv * self.voltage * 2 * math.pi / 60 * self.gear_ratio

    @property
    def tightest_radius(self) -> float:
        """Metres from the middle of the rear axle to the point it turns about at full steering."""
        return self.wheelbase / math.tan(self.steering_limit)

    def wheel_angles(self, steering_angle: float) -> tuple[float, float]:
        """Ackermann's angles of the front wheels, left and right, radians, for the bicycle's angle.

        Their axles meet the rear axle's line where the bicycle's does: cot(left) = cot(angle) - track / (2 wheelbase).

        Args:
            steering_angle: of the bicycle's front wheel, radians, left positive.
        """
        tangent = math.tan(steering_angle)
        half = self.track / (2 * self.wheelbase) * tangent
        return math.atan2(tangent, 1 - half), math.atan2(tangent, 1 + half)
