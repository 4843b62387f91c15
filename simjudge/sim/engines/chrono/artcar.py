"""Chrono::Vehicle's ARTcar: how it is made, and told what our vehicle YAML says.

What ARTcar is by itself (src/chrono_models/vehicle/artcar, 9.0.1 to head): wheelbase 0.465 m, wheel radius 0.085 m,
masses and hardpoints; a vehicle file may not differ in wheelbase and radius. What it takes: the part of its battery's
voltage at full throttle and the stall torque (`motor_settings`), the tyres' rolling resistance (set always: the
constructor that takes a system leaves it uninitialised), and the ground's friction. Chrono's demo has 0.16, 0.3 and
0.06, ART's own 0.09, 0.3 and 0.05.

Chrono's reference frame is between the axles, 0.1426 m behind the front one and at hub height, not on the front axle
as a comment in ARTcar_Vehicle.cpp says.
"""

from __future__ import annotations

import math

from simjudge.core.errors import SimjudgeError
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.chrono.modules import Modules
from simjudge.sim.engines.chrono.standing import BuiltCar, Point
from simjudge.sim.engines.chrono.steps import STEP
from simjudge.sim.engines.chrono.versions import ARTCAR_WHEELBASE
from simjudge.sim.vehicle.vehicle import Vehicle

_STEP_PARTS = 4
"""Steps of Chrono's in one of ours. At 1 ms TMeasy's forces flip between their limits, and little grip is left beside:
in a full turn at 1.4 m/s the car yaws by 0.8 to 1.0 rad/s, by 1.06 to 1.12 at 0.5 ms, and by 1.3 to 1.4 at 0.25 and
0.1 ms, as it does without slip."""
_REAR = (0.1426 - ARTCAR_WHEELBASE, 0.0, -0.03725)
"""Middle of the rear axle in the reference frame, by ARTcar_DoubleWishbone.cpp."""
_RADIUS = 0.085
"""Of the wheels, metres: ARTcar has the radius of ART-1's."""
_BRAKE = 1.0
"""N m on each wheel at full braking (ARTcar_BrakeShafts.cpp); it can be told less, not more."""
_BATTERY = 7.4
"""Volts (ARTcar_EngineSimpleMap.cpp)."""
_KV = 1300.0
"""Rpm per volt (ARTcar_EngineSimpleMap.cpp)."""
_GEAR = 1 / 3 * 0.5
"""Wheel turns per motor turn: the gearbox (ARTcar_AutomaticTransmissionSimpleMap.cpp) times the axles' bevel gears
(ARTcar_Driveline4WD.cpp); between them a central differential, which changes nothing."""


class ArtCar:
    """Makes ARTcars; see `CarMaker`."""

    name = "ARTcar"
    step_parts = _STEP_PARTS
    settle_time = 1.0
    rear: Point = _REAR
    drop = _RADIUS - _REAR[2]

    def __init__(self, modules: Modules) -> None:
        """Remember where Chrono is."""
        self._modules = modules

    def braking(self, vehicle: Vehicle) -> float:
        """The part of ARTcar's brakes that gives the file's torque: see `CarMaker.braking`."""
        return min(1.0, vehicle.brake_torque / _BRAKE)

    def build(self, vehicle: Vehicle | None, reference: Pose) -> BuiltCar:
        """An ARTcar, told of motor and tyres: see `CarMaker.build`."""
        core, vehicles = self._modules.core, self._modules.vehicle
        x, y, z, w = reference.orientation
        car = vehicles.ARTcar()
        car.SetContactMethod(core.ChContactMethod_NSC)
        car.SetChassisFixed(False)
        car.SetInitPosition(core.ChCoordsysd(core.ChVector3d(*reference.position), core.ChQuaterniond(w, x, y, z)))
        car.SetTireType(vehicles.TireModelType_TMEASY)
        car.SetTireStepSize(STEP / _STEP_PARTS)
        if vehicle is not None:
            ratio, stall_torque = motor_settings(vehicle)
            car.SetMaxMotorVoltageRatio(ratio)
            car.SetStallTorque(stall_torque)
            car.SetTireRollingResistance(vehicle.rolling_resistance)
        car.Initialize()
        car.GetSystem().SetCollisionSystemType(core.ChCollisionSystem.Type_BULLET)
        return BuiltCar(car, car.GetVehicle())


def check_vehicle(vehicle: Vehicle) -> None:
    """Refuse what Chrono's ARTcar is not."""
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
    """
    top_rpm = vehicle.top_wheel_speed * 60 / (2 * math.pi)
    return top_rpm / (_KV * _BATTERY * _GEAR), vehicle.stall_torque * _GEAR / vehicle.gear_ratio
