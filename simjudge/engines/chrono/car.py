"""Chrono::Vehicle's ARTcar (TMeasy tyres, 0.25 ms steps), told what our vehicle YAML says, answering in base_link.

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
from collections import deque
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import SimjudgeError
from simjudge.engines.chrono.modules import Modules
from simjudge.engines.chrono.versions import ARTCAR_WHEELBASE, Release
from simjudge.engines.contract import NotOfferedError
from simjudge.geometry.poses import Pose
from simjudge.vehicle.car_appearance import PARTS, VEHICLE, body_box
from simjudge.vehicle.vehicle import Command, Vehicle, VehicleState

STEP = 1e-3
"""Seconds of one step of ours."""
_PARTS = 4
"""Steps of Chrono's in one of ours. At 1 ms TMeasy's forces flip between their limits, and little grip is left beside:
in a full turn at 1.4 m/s the car yaws by 0.8 to 1.0 rad/s, by 1.06 to 1.12 at 0.5 ms, and by 1.3 to 1.4 at 0.25 and
0.1 ms, as it does without slip."""
WINDOW = 0.02
"""Seconds over which speeds are averaged, and between whose means acceleration is taken: the same flipping makes wheels
chatter by 0.15 m/s (standard deviation, at 1 m/s) at 1 ms, by 0.04 at 0.25 ms, in steps of 10 m/s^2."""
LEFT = 0
"""VehicleSide::LEFT (ChSubsysDefs.h)."""
RIGHT = 1
"""VehicleSide::RIGHT (ChSubsysDefs.h)."""
_SPINDLES = ((0, LEFT), (0, RIGHT), (1, LEFT), (1, RIGHT))
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
_BRAKE = 1.0
"""N m on each wheel at full braking (ARTcar_BrakeShafts.cpp); it can be told less, not more."""
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


class ChronoCar:
    """An ARTcar in a system of its own, which everything else joins.

    Args:
        modules: PyChrono.
        release: which one it is.
        vehicle: the figures it is told.
        start: of base_link.
    """

    def __init__(self, modules: Modules, release: Release, vehicle: Vehicle, start: Pose) -> None:
        """Build it, at rest."""
        if not release.vehicles:
            raise NotOfferedError("this PyChrono has no vehicle module with the ARTcar: build CH_ENABLE_MODULE_VEHICLE")
        check_vehicle(vehicle)
        self._core, self._vehicle = modules.core, vehicle
        self._stance = stance(modules)
        self._car = build(modules, vehicle, start @ self._stance.base.inverse())
        self._inputs = modules.vehicle.DriverInputs()
        self._ground = modules.vehicle.FlatTerrain(0.0, vehicle.friction)
        self.command = Command()
        self._angle = 0.0
        self._speeds: deque[FloatArray] = deque(maxlen=2 * round(WINDOW / STEP))
        self._spins: deque[FloatArray] = deque(maxlen=round(WINDOW / STEP))
        self.chassis = self._car.GetChassisBody()
        self.chassis.SetName(VEHICLE)
        self._note()

    @property
    def system(self) -> Any:
        """The ChSystem it is in."""
        return self._car.GetSystem()

    def add_bumper(self, material: Any) -> None:
        """Boxes for body and wheels in collisions, on the chassis: ARTcar's own shapes are none, or need data files.

        They end above the ground, which carries the car through its tyres alone.

        Args:
            material: a ChContactMaterial for the boxes.
        """
        core = self._core
        for centre, size in bumpers(self._vehicle):
            frame = self._stance.base @ Pose(centre)
            x, y, z, w = frame.orientation
            frame_in_chassis = core.ChFramed(core.ChVector3d(*frame.position), core.ChQuaterniond(w, x, y, z))
            self.chassis.AddCollisionShape(core.ChCollisionShapeBox(material, *size), frame_in_chassis)
        self.chassis.EnableCollision(True)

    def drive(self, command: Command) -> None:
        """Take over what the driver does.

        Args:
            command: steering, throttle and braking, held until the next command.
        """
        self.command = command

    def advance(self, time: float, each: Callable[[float], None] | None = None) -> None:
        """One step of ours: the servo turns by what it can, then the car and all else in its system.

        Args:
            time: at its begin.
            each: called with the time after every step of Chrono's.
        """
        vehicle, command = self._vehicle, self.command
        most = vehicle.steering_rate * STEP
        self._angle += max(-most, min(most, command.steering * vehicle.steering_limit - self._angle))
        self._inputs.m_steering = steering_input(self._angle, self._stance)
        self._inputs.m_throttle = command.throttle
        self._inputs.m_braking = command.braking * min(1.0, vehicle.brake_torque / _BRAKE)
        for part in range(_PARTS):
            now = time + part * STEP / _PARTS
            self._ground.Synchronize(now)
            self._car.Synchronize(now, self._inputs, self._ground)
            self._ground.Advance(STEP / _PARTS)
            self._car.Advance(STEP / _PARTS)
            if each is not None:
                each(time + (part + 1) * STEP / _PARTS)
        self._note()

    def base(self) -> Pose:
        """Where base_link is."""
        return frame_pose(self.chassis.GetFrameRefToAbs()) @ self._stance.base

    def poses(self) -> dict[str, Pose]:
        """Where base_link and the wheels are."""
        wheeled = self._car.GetVehicle()
        found = {VEHICLE: self.base()}
        for part, (axle, side) in zip(PARTS[1:], _SPINDLES, strict=True):
            position, rotation = wheeled.GetSpindlePos(axle, side), wheeled.GetSpindleRot(axle, side)
            found[part] = Pose(
                (position.x, position.y, position.z), (rotation.e1, rotation.e2, rotation.e3, rotation.e0)
            )
        return found

    def state(self, time: float) -> VehicleState:
        """How the car moves.

        Args:
            time: simulated seconds.

        Returns:
            Pose of base_link, velocities and acceleration in base_link's axes, SI units.
        """
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
            steering_angle=bicycle_angle(*wheel_angles(self._car.GetVehicle())),
            wheel_speeds=(speeds[0], speeds[1], speeds[2], speeds[3]),
        )

    def _note(self) -> None:
        """Remember how fast base_link and the wheels go now."""
        self._speeds.append(self._velocity())
        self._spins.append(wheel_spins(self._car.GetVehicle()))

    def _velocity(self) -> FloatArray:
        """Of base_link, world axes."""
        point = self._core.ChVector3d(*self._stance.base.position)
        speed = self._car.GetVehicle().GetPointVelocity(point)
        return np.array([speed.x, speed.y, speed.z])


Box = tuple[tuple[float, float, float], tuple[float, float, float]]
"""Centre and size, metres, in base_link."""


def bumpers(vehicle: Vehicle) -> tuple[Box, ...]:
    """The body's box, and one for each wheel from a fifth of its radius above the ground up.

    Args:
        vehicle: its sizes, metres.

    Returns:
        Centre and size of each box, metres, base_link's frame.
    """
    radius, size = vehicle.wheel_radius, (1.6 * vehicle.wheel_radius, vehicle.wheel_width, 1.6 * vehicle.wheel_radius)
    wheels = [((x, side * vehicle.track / 2, radius), size) for x in (vehicle.wheelbase, 0.0) for side in (1, -1)]
    return (body_box(vehicle), *wheels)


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
    car.SetTireStepSize(STEP / _PARTS)
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


def wheel_angles(wheeled: Any) -> tuple[float, float]:
    """Of the front wheels, left and right, radians, left positive, from where their axles point in the chassis.

    Args:
        wheeled: a ChWheeledVehicle.

    Returns:
        Left and right, radians.
    """
    chassis = frame_pose(wheeled.GetChassisBody().GetFrameRefToAbs())
    angles = []
    for side in (LEFT, RIGHT):
        rotation = wheeled.GetSpindleRot(0, side)
        axle = Pose(orientation=(rotation.e1, rotation.e2, rotation.e3, rotation.e0)).rotation_matrix()[:, 1]
        x, y, _ = (chassis.rotation_matrix().T @ axle).tolist()
        angles.append(-math.atan2(x, y))
    return angles[0], angles[1]


def wheel_spins(wheeled: Any) -> FloatArray:
    """(4,) in the car, rad/s about their axles, positive ahead.

    From the spindles' own turning: GetSpindleOmega is that of a shaft whose axis points to the right, and negative
    when the car goes ahead.

    Args:
        wheeled: a ChWheeledVehicle.

    Returns:
        Float64 (4,), rad/s.
    """
    body = wheeled.GetChassisBody().GetAngVelParent()
    spins = []
    for axle, side in _SPINDLES:
        rotation, speed = wheeled.GetSpindleRot(axle, side), wheeled.GetSpindleAngVel(axle, side)
        x, y, z, w = rotation.e1, rotation.e2, rotation.e3, rotation.e0
        left = (2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x))
        spins.append((speed.x - body.x) * left[0] + (speed.y - body.y) * left[1] + (speed.z - body.z) * left[2])
    return np.array(spins)


def change_between_halves(speeds: Sequence[FloatArray]) -> FloatArray:
    """(3,) acceleration from the speeds of steps that follow one another: from the mean of one half to the other's.

    Args:
        speeds: (3,) each, m/s, one a step of physics, oldest first.

    Returns:
        (3,), m/s^2.
    """
    half = len(speeds) // 2
    if not half:
        return np.zeros(3)
    known = np.asarray(speeds)[-2 * half :]
    change: FloatArray = (known[half:].mean(0) - known[:half].mean(0)) / (half * STEP)
    return change


def bicycle_angle(left: float, right: float) -> float:
    """The angle of a single front wheel in the middle: its cotangent is the mean of theirs.

    Args:
        left: angle of the left front wheel, radians.
        right: angle of the right front wheel, radians.

    Returns:
        Radians, left positive.
    """
    a, b = math.tan(left), math.tan(right)
    return math.atan(2 * a * b / (a + b) if a * b > 0 else (a + b) / 2)


def frame_pose(frame: Any) -> Pose:
    """A ChFrame as a pose.

    Args:
        frame: a ChFrame.

    Returns:
        Its pose in its parent, metres.
    """
    position, rotation = frame.GetPos(), frame.GetRot()
    return Pose((position.x, position.y, position.z), (rotation.e1, rotation.e2, rotation.e3, rotation.e0))


def _three(values: FloatArray) -> tuple[float, float, float]:
    x, y, z = values.tolist()
    return x, y, z
