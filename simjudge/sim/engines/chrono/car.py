"""A car in Chrono that answers in base_link: the ARTcar, or a vehicle of JSON files, on ground that may be a mesh.

What ARTcar is by itself (src/chrono_models/vehicle/artcar, 9.0.1 to head): wheelbase 0.465 m, wheel radius 0.085 m,
masses and hardpoints; a vehicle file may not differ in wheelbase and radius. What it takes: the part of its battery's
voltage at full throttle and the stall torque (`motor_settings`), the tyres' rolling resistance (set always: the
constructor that takes a system leaves it uninitialised), and the ground's friction. Chrono's demo has 0.16, 0.3 and
0.06, ART's own 0.09, 0.3 and 0.05.

Chrono's reference frame is between the axles, 0.1426 m behind the front one and at hub height, not on the front axle
as a comment in ARTcar_Vehicle.cpp says.

Against Chrono's own triangles, cylinders creep by some millimetres a second on a slope; against hulls they stand.
docs/measurements/engines.md has the numbers.
"""

from __future__ import annotations

import math
import tempfile
from collections import deque
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import SimjudgeError
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.chrono.modules import ARTCAR_WHEELBASE, STEP, Modules, Release, frame_pose
from simjudge.sim.engines.chrono.scenes import PlannedBody, wavefront
from simjudge.sim.engines.chrono.wheeled_car import (
    SPINDLES,
    BuiltCar,
    CarMaker,
    Point,
    Stance,
    bicycle_angle,
    json_car,
    measure_stance,
    steering_input,
    wheel_angles,
    wheel_spins,
)
from simjudge.sim.engines.contract import NotOfferedError
from simjudge.sim.scene.model import Mesh
from simjudge.sim.vehicle.vehicle import PARTS, VEHICLE, Command, Vehicle, VehicleState, body_box

# Steps of Chrono's in one of ours. At 1 ms TMeasy's forces flip between their limits, and little grip is left beside:
# in a full turn at 1.4 m/s the car yaws by 0.8 to 1.0 rad/s, by 1.06 to 1.12 at 0.5 ms, and by 1.3 to 1.4 at 0.25 and
# 0.1 ms, as it does without slip.
_STEP_PARTS = 4
# Middle of the rear axle in the reference frame, by ARTcar_DoubleWishbone.cpp.
_REAR = (0.1426 - ARTCAR_WHEELBASE, 0.0, -0.03725)
_RADIUS = 0.085  # Of the wheels, metres: ARTcar has the radius of ART-1's
_BRAKE = 1.0  # N m on each wheel at full braking (ARTcar_BrakeShafts.cpp); it can be told less, not more
_BATTERY = 7.4  # Volts (ARTcar_EngineSimpleMap.cpp)
_KV = 1300.0  # Rpm per volt (ARTcar_EngineSimpleMap.cpp)
# Wheel turns per motor turn: the gearbox (ARTcar_AutomaticTransmissionSimpleMap.cpp) times the axles' bevel gears
# (ARTcar_Driveline4WD.cpp); between them a central differential, which changes nothing.
_GEAR = 1 / 3 * 0.5


class ArtCar:
    """Makes ARTcars; see `CarMaker`."""

    name = "ARTcar"
    step_parts = _STEP_PARTS
    settle_time = 1.0
    rear: Point = _REAR
    drop = _RADIUS - _REAR[2]

    def __init__(self, modules: Modules) -> None:
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
    """
    top_rpm = vehicle.top_wheel_speed * 60 / (2 * math.pi)
    return top_rpm / (_KV * _BATTERY * _GEAR), vehicle.stall_torque * _GEAR / vehicle.gear_ratio


_DEPTH = 0.5  # Metres: how far the solid of a triangle goes down
_LEAST_AREA = 1e-9  # Square metres of a triangle seen from above: one that stands upright has no solid


def triangle_solids(mesh: Mesh) -> FloatArray:
    """What free things feel of a ground: below each triangle a prism straight down, corners (N, 6, 3), mesh's frame."""
    top = np.asarray(mesh.vertices, np.float64)[mesh.faces]
    (ax, ay), (bx, by) = ((top[:, corner, :2] - top[:, 0, :2]).T for corner in (1, 2))
    top = top[np.abs(ax * by - ay * bx) / 2 > _LEAST_AREA]
    return np.concatenate([top, top - (0.0, 0.0, _DEPTH)], axis=1)


class TyreGround:
    """What the tyres roll on: mesh patches, and z = 0 beside them.

    The patches are in a system of their own that never steps: tyres ask for heights by rays, and no body of the
    scene is between. The collision envelope is 0: with Chrono's default the rays end up to 6 mm above the mesh.

    Args:
        bodies: of the scene; those whose collider is a ground become patches.

    Attributes:
        terrain: a ChTerrain, for `Synchronize` of vehicles.
    """

    def __init__(self, modules: Modules, bodies: Sequence[PlannedBody], friction: float) -> None:
        core, grounds = modules.core, [body for body in bodies if body.collider.kind == "ground"]
        self.terrain: Any = modules.vehicle.FlatTerrain(0.0, friction)
        if not grounds:
            return
        self._system = core.ChSystemNSC()
        self._system.SetCollisionSystemType(core.ChCollisionSystem.Type_BULLET)
        self.terrain = modules.vehicle.RigidTerrain(self._system)
        material = core.ChContactMaterialNSC()
        material.SetFriction(friction)
        core.ChCollisionModel.SetDefaultSuggestedEnvelope(0.0)
        core.ChCollisionModel.SetDefaultSuggestedMargin(0.0)
        with tempfile.TemporaryDirectory() as folder:
            for number, body in enumerate(grounds):
                path = Path(folder) / f"{number}.obj"
                path.write_text(wavefront(body.mesh), encoding="ascii")
                x, y, z, w = body.pose.orientation
                place = core.ChCoordsysd(core.ChVector3d(*body.pose.position), core.ChQuaterniond(w, x, y, z))
                self.terrain.AddPatch(material, place, str(path), True, 0.0, False)
            self.terrain.Initialize()
        self._system.GetCollisionSystem().BindAll()

    def height(self, modules: Modules, x: float, y: float, above: float = 100.0) -> float:
        """Height of the ground as tyres are told it, by a ray down from `above`; metres, world."""
        return float(self.terrain.GetHeight(modules.core.ChVector3d(x, y, above)))


# Seconds over which speeds are averaged, and between whose means acceleration is taken: the same flipping makes wheels
# chatter by 0.15 m/s (standard deviation, at 1 m/s) at 1 ms, by 0.04 at 0.25 ms, in steps of 10 m/s^2.
WINDOW = 0.02


class ChronoCar:
    """A car in a system of its own, which everything else joins.

    Args:
        ground: what its tyres roll on; None: the plane z = 0.
    """

    def __init__(
        self, modules: Modules, release: Release, vehicle: Vehicle, start: Pose, ground: TyreGround | None = None
    ) -> None:
        self._core, self._vehicle = modules.core, vehicle
        self._maker, self._stance = car_maker(modules, release, vehicle)
        self._car = self._maker.build(vehicle, start @ self._stance.base.inverse())
        self._inputs = modules.vehicle.DriverInputs()
        self._tyre_ground = ground or TyreGround(modules, (), vehicle.friction)
        self._ground = self._tyre_ground.terrain
        self.command = Command()
        self._angle = 0.0
        self._speeds: deque[FloatArray] = deque(maxlen=2 * round(WINDOW / STEP))
        self._spins: deque[FloatArray] = deque(maxlen=round(WINDOW / STEP))
        self.chassis = self._car.wheeled.GetChassisBody()
        self.chassis.SetName(VEHICLE)
        self._note()

    @property
    def system(self) -> Any:
        """The ChSystem it is in."""
        return self._car.wheeled.GetSystem()

    def add_bumper(self, material: Any) -> None:
        """Boxes for body and wheels in collisions, above the ground: ARTcar's own need data files."""
        core = self._core
        for centre, size in bumpers(self._vehicle):
            frame = self._stance.base @ Pose(centre)
            x, y, z, w = frame.orientation
            frame_in_chassis = core.ChFramed(core.ChVector3d(*frame.position), core.ChQuaterniond(w, x, y, z))
            self.chassis.AddCollisionShape(core.ChCollisionShapeBox(material, *size), frame_in_chassis)
        self.chassis.EnableCollision(True)

    def drive(self, command: Command) -> None:
        """Take over what the driver does."""
        self.command = command

    def advance(self, time: float, each: Callable[[float], None] | None = None) -> None:
        """One step of ours: the servo turns by what it can, then the car and all else in its system."""
        vehicle, command = self._vehicle, self.command
        most = vehicle.steering_rate * STEP
        self._angle += max(-most, min(most, command.steering * vehicle.steering_limit - self._angle))
        self._inputs.m_steering = steering_input(self._angle, self._stance)
        self._inputs.m_throttle = command.throttle
        self._inputs.m_braking = command.braking * self._maker.braking(vehicle)
        parts = self._maker.step_parts
        for part in range(parts):
            now = time + part * STEP / parts
            self._ground.Synchronize(now)
            self._car.mover.Synchronize(now, self._inputs, self._ground)
            self._ground.Advance(STEP / parts)
            self._car.mover.Advance(STEP / parts)
            if each is not None:
                each(time + (part + 1) * STEP / parts)
        self._note()

    def base(self) -> Pose:
        """Where base_link is."""
        return frame_pose(self.chassis.GetFrameRefToAbs()) @ self._stance.base

    def poses(self) -> dict[str, Pose]:
        """Where base_link and the wheels are."""
        wheeled = self._car.wheeled
        found = {VEHICLE: self.base()}
        for part, (axle, side) in zip(PARTS[1:], SPINDLES, strict=True):
            position, rotation = wheeled.GetSpindlePos(axle, side), wheeled.GetSpindleRot(axle, side)
            found[part] = Pose(
                (position.x, position.y, position.z), (rotation.e1, rotation.e2, rotation.e3, rotation.e0)
            )
        return found

    def state(self, time: float) -> VehicleState:
        """How the car moves (time: simulated seconds)."""
        base = self.base()
        to_base = base.rotation_matrix().T
        turning = self.chassis.GetAngVelParent()
        speeds = np.mean(self._spins, axis=0).tolist()
        velocity = np.mean([*self._speeds][-len(self._spins) :], axis=0)
        return VehicleState(
            time=time,
            pose=base,
            velocity=_three(to_base @ velocity),
            angular_velocity=_three(to_base @ [turning.x, turning.y, turning.z]),
            acceleration=_three(to_base @ change_between_halves(self._speeds)),
            steering_angle=bicycle_angle(*wheel_angles(self._car.wheeled)),
            wheel_speeds=(speeds[0], speeds[1], speeds[2], speeds[3]),
        )

    def _note(self) -> None:
        """Remember how fast base_link and the wheels go now."""
        self._speeds.append(self._velocity())
        self._spins.append(wheel_spins(self._car.wheeled))

    def _velocity(self) -> FloatArray:
        point = self._core.ChVector3d(*self._stance.base.position)
        speed = self._car.wheeled.GetPointVelocity(point)
        return np.array([speed.x, speed.y, speed.z])


def car_maker(modules: Modules, release: Release, vehicle: Vehicle) -> tuple[CarMaker, Stance]:
    """What makes a car of these figures, and how such a car stands."""
    if not release.vehicles:
        raise NotOfferedError("this PyChrono has no vehicle module with the ARTcar: build CH_ENABLE_MODULE_VEHICLE")
    if vehicle.chrono is not None:
        return json_car(modules, vehicle, vehicle.chrono)
    check_vehicle(vehicle)
    return ArtCar(modules), _art_stance(modules)


@cache
def _art_stance(modules: Modules) -> Stance:
    return measure_stance(modules, ArtCar(modules))


Box = tuple[tuple[float, float, float], tuple[float, float, float]]  # Centre and size, metres, in base_link


def bumpers(vehicle: Vehicle) -> tuple[Box, ...]:
    """The body's box, and one for each wheel from a fifth of its radius up: centre and size in base_link, metres."""
    radius, size = vehicle.wheel_radius, (1.6 * vehicle.wheel_radius, vehicle.wheel_width, 1.6 * vehicle.wheel_radius)
    wheels = [((x, side * vehicle.track / 2, radius), size) for x in (vehicle.wheelbase, 0.0) for side in (1, -1)]
    return (body_box(vehicle), *wheels)


def change_between_halves(speeds: Sequence[FloatArray]) -> FloatArray:
    """(3,) acceleration, m/s^2, from the speeds of steps: from the mean of the older half to the newer's."""
    half = len(speeds) // 2
    if not half:
        return np.zeros(3)
    known = np.asarray(speeds)[-2 * half :]
    change: FloatArray = (known[half:].mean(0) - known[:half].mean(0)) / (half * STEP)
    return change


def _three(values: FloatArray) -> tuple[float, float, float]:
    x, y, z = values.tolist()
    return x, y, z
