"""Chrono::Vehicle's ARTcar: how it is made, told what our vehicle YAML says, and measured once where it stands.

What ARTcar is by itself (src/chrono_models/vehicle/artcar, 9.0.1 to head): wheelbase 0.465 m, wheel radius 0.085 m,
masses and hardpoints; a vehicle file may not differ in wheelbase and radius. What it takes: the part of its battery's
voltage at full throttle and the stall torque (`motor_settings`), the tyres' rolling resistance (set always: the
constructor that takes a system leaves it uninitialised), and the ground's friction. Chrono's demo has 0.16, 0.3 and
0.06, ART's own 0.09, 0.3 and 0.05.

Chrono's reference frame is between the axles, 0.1426 m behind the front one and at hub height, not on the front axle
as a comment in ARTcar_Vehicle.cpp says. Where base_link (on the ground, below the rear axle) is in it, how far the
wheels turn at full steering, and whether positive steering is to the left, is measured once on a car that stands.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

from simjudge.core.errors import SimjudgeError
from simjudge.engines.chrono.frames import frame_pose
from simjudge.engines.chrono.modules import Modules
from simjudge.engines.chrono.versions import ARTCAR_WHEELBASE
from simjudge.engines.chrono.wheels import bicycle_angle, wheel_angles
from simjudge.geometry.poses import Pose
from simjudge.vehicle.vehicle import Vehicle

STEP = 1e-3
"""Seconds of one step of ours."""
STEP_PARTS = 4
"""Steps of Chrono's in one of ours. At 1 ms TMeasy's forces flip between their limits, and little grip is left beside:
in a full turn at 1.4 m/s the car yaws by 0.8 to 1.0 rad/s, by 1.06 to 1.12 at 0.5 ms, and by 1.3 to 1.4 at 0.25 and
0.1 ms, as it does without slip."""
_REAR = (0.1426 - ARTCAR_WHEELBASE, 0.0, -0.03725)
"""Middle of the rear axle in the reference frame, by ARTcar_DoubleWishbone.cpp."""
_RADIUS = 0.085
"""Of the wheels, metres: ARTcar has the radius of ART-1's."""
_BATTERY = 7.4
"""Volts (ARTcar_EngineSimpleMap.cpp)."""
_KV = 1300.0
"""Rpm per volt (ARTcar_EngineSimpleMap.cpp)."""
_GEAR = 1 / 3 * 0.5
"""Wheel turns per motor turn: the gearbox (ARTcar_AutomaticTransmissionSimpleMap.cpp) times the axles' bevel gears
(ARTcar_Driveline4WD.cpp); between them a central differential, which changes nothing."""
_SETTLE_TIME = 1.0
"""Seconds in which a new car comes to rest on its springs."""
_STEERING_TIME = 0.5
"""Seconds in which the wheels reach full steering."""


class Stance(NamedTuple):
    """An ARTcar that stands on the ground.

    Attributes:
        base: base_link in Chrono's reference frame.
        angle: of the bicycle's front wheel at full steering input, radians, always positive.
        sign: 1 where Chrono's positive steering is to the left, -1 where it is to the right.
    """

    base: Pose
    angle: float
    sign: int


def check_vehicle(vehicle: Vehicle) -> None:
    """Refuse what Chrono's ARTcar is not.

    Args:
        vehicle: as its file has it.

    Raises:
        SimjudgeError: a figure that Chrono has built in differs.
    """
    built_in = {
        "wheelbase": (vehicle.wheelbase, ARTCAR_WHEELBASE, 0.01),
        "wheel radius": (vehicle.wheel_radius, _RADIUS, 0.01),
    }
    for name, (given, chrono, tolerance) in built_in.items():
        if abs(given - chrono) > tolerance * chrono:
            raise SimjudgeError(
                f"{vehicle.name}: {name} {given:.6g}, but Chrono's ARTcar has {chrono:.6g} built in; use the default"
                " engine for this car"
            )


def motor_settings(vehicle: Vehicle) -> tuple[float, float]:
    """Voltage ratio and stall torque (N m) with which ARTcar's wheels turn and pull as the vehicle's file has it.

    Chrono's motor has torque throttle x stall x (1 - speed / (kv x battery x ratio)), as ours; its wheels turn _GEAR
    times as fast, and together get 1 / _GEAR of its torque. So with G = _GEAR and g = the file's gear ratio

        kv_C battery_C ratio G = kv voltage g        and        stall_C / G = stall / g;

    with ART-1's g = 1/3, twice the ratio and half the stall torque.

    Args:
        vehicle: its top wheel speed (rad/s), stall torque (N m) and gear ratio.

    Returns:
        The ratio, no unit, and the stall torque, N m.
    """
    top_rpm = vehicle.top_wheel_speed * 60 / (2 * math.pi)
    return top_rpm / (_KV * _BATTERY * _GEAR), vehicle.stall_torque * _GEAR / vehicle.gear_ratio


def build(modules: Modules, vehicle: Vehicle | None, reference: Pose) -> Any:
    """An ARTcar at a pose of its reference frame, in a system of its own.

    Args:
        modules: PyChrono's.
        vehicle: motor, tyres and brakes to set; None: Chrono's own.
        reference: pose of Chrono's reference frame in the world, metres.

    Returns:
        A Chrono::Vehicle ARTcar.
    """
    core, vehicles = modules.core, modules.vehicle
    x, y, z, w = reference.orientation
    car = vehicles.ARTcar()
    car.SetContactMethod(core.ChContactMethod_NSC)
    car.SetChassisFixed(False)
    car.SetInitPosition(core.ChCoordsysd(core.ChVector3d(*reference.position), core.ChQuaterniond(w, x, y, z)))
    car.SetTireType(vehicles.TireModelType_TMEASY)
    car.SetTireStepSize(STEP / STEP_PARTS)
    if vehicle is not None:
        ratio, stall_torque = motor_settings(vehicle)
        car.SetMaxMotorVoltageRatio(ratio)
        car.SetStallTorque(stall_torque)
        car.SetTireRollingResistance(vehicle.rolling_resistance)
    car.Initialize()
    car.GetSystem().SetCollisionSystemType(core.ChCollisionSystem.Type_BULLET)
    return car


@cache
def stance(modules: Modules) -> Stance:
    """Let a car settle on the ground, then steer it to the full, once in a process.

    Args:
        modules: PyChrono's.

    Returns:
        Where base_link is in the reference frame, the bicycle angle at full steering (radians), and its sign.

    Raises:
        SimjudgeError: the car does not turn its wheels.
    """
    vehicles = modules.vehicle
    car = build(modules, None, Pose((0.0, 0.0, _RADIUS - _REAR[2])))
    ground, inputs = vehicles.FlatTerrain(0.0, 0.8), vehicles.DriverInputs()
    inputs.m_throttle, inputs.m_braking = 0.0, 1.0

    def run(begin: float, seconds: float, steering: float) -> None:
        inputs.m_steering = steering
        for step in range(round(seconds / STEP)):
            time = begin + step * STEP
            car.Synchronize(time, inputs, ground)
            car.Advance(STEP)

    run(0.0, _SETTLE_TIME, 0.0)
    reference = frame_pose(car.GetChassisBody().GetFrameRefToAbs())
    base = base_in_reference(reference)
    before = bicycle_angle(*wheel_angles(car.GetVehicle()))
    run(_SETTLE_TIME, _STEERING_TIME, 1.0)
    turned = bicycle_angle(*wheel_angles(car.GetVehicle())) - before
    if not abs(turned) > math.radians(5):
        raise SimjudgeError(f"Chrono's ARTcar turned its wheels by {math.degrees(turned):.1f} degrees at full steering")
    return Stance(base, abs(turned), 1 if turned > 0 else -1)


def base_in_reference(reference: Pose) -> Pose:
    """base_link in Chrono's reference frame, from where that frame is when the car stands on z = 0.

    base_link is level, below the middle of the rear axle, at the height of the ground.

    Args:
        reference: pose of Chrono's reference frame in the world, metres.

    Returns:
        Pose of base_link (REP 105) in that frame.
    """
    x, y, _ = reference.to_world(_REAR).tolist()
    yaw, _, _ = reference.angles()
    return reference.inverse() @ Pose.from_euler(x, y, 0.0, yaw=yaw)


def steering_input(angle: float, stood: Stance) -> float:
    """Chrono's input, -1 to 1, for an angle of the bicycle's front wheel, radians, left positive.

    Args:
        angle: of the bicycle's front wheel, radians, left positive.
        stood: as `stance` measured it.

    Returns:
        -1 to 1.
    """
    return stood.sign * max(-1.0, min(1.0, angle / stood.angle))
