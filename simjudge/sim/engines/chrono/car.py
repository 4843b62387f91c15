"""A car in Chrono that answers in base_link: the ARTcar, or a wheeled vehicle of Chrono's own JSON files."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.chrono.artcar import ArtCar, check_vehicle
from simjudge.sim.engines.chrono.frames import frame_pose
from simjudge.sim.engines.chrono.json_car import json_car
from simjudge.sim.engines.chrono.modules import Modules
from simjudge.sim.engines.chrono.standing import CarMaker, Stance, measure_stance, steering_input
from simjudge.sim.engines.chrono.steps import STEP
from simjudge.sim.engines.chrono.uneven_ground import TyreGround
from simjudge.sim.engines.chrono.versions import Release
from simjudge.sim.engines.chrono.wheels import SPINDLES, bicycle_angle, wheel_angles, wheel_spins
from simjudge.sim.engines.contract import NotOfferedError
from simjudge.sim.vehicle.car_appearance import PARTS, VEHICLE, body_box
from simjudge.sim.vehicle.vehicle import Command, Vehicle, VehicleState

WINDOW = 0.02
"""Seconds over which speeds are averaged, and between whose means acceleration is taken: the same flipping makes wheels
chatter by 0.15 m/s (standard deviation, at 1 m/s) at 1 ms, by 0.04 at 0.25 ms, in steps of 10 m/s^2."""


class ChronoCar:
    """A car in a system of its own, which everything else joins.

    Args:
        ground: what its tyres roll on; None: the plane z = 0.
    """

    def __init__(
        self, modules: Modules, release: Release, vehicle: Vehicle, start: Pose, ground: TyreGround | None = None
    ) -> None:
        """Build it, at rest."""
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
        """Boxes for body and wheels in collisions, on the chassis: ARTcar's own shapes are none, or need data files.

        They end above the ground, which carries the car through its tyres alone.
        """
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
            steering_angle=bicycle_angle(*wheel_angles(self._car.wheeled)),
            wheel_speeds=(speeds[0], speeds[1], speeds[2], speeds[3]),
        )

    def _note(self) -> None:
        """Remember how fast base_link and the wheels go now."""
        self._speeds.append(self._velocity())
        self._spins.append(wheel_spins(self._car.wheeled))

    def _velocity(self) -> FloatArray:
        """Of base_link, world axes."""
        point = self._core.ChVector3d(*self._stance.base.position)
        speed = self._car.wheeled.GetPointVelocity(point)
        return np.array([speed.x, speed.y, speed.z])


def car_maker(modules: Modules, release: Release, vehicle: Vehicle) -> tuple[CarMaker, Stance]:
    """What makes a car of these figures, and how such a car stands.

    Args:
        vehicle: the figures; its `chrono` says which of Chrono's own JSON files it is made from.
    """
    if not release.vehicles:
        raise NotOfferedError("this PyChrono has no vehicle module with the ARTcar: build CH_ENABLE_MODULE_VEHICLE")
    if vehicle.chrono is not None:
        return json_car(modules, vehicle, vehicle.chrono)
    check_vehicle(vehicle)
    return ArtCar(modules), _art_stance(modules)


@cache
def _art_stance(modules: Modules) -> Stance:
    """Of an ARTcar, measured once in a process."""
    return measure_stance(modules, ArtCar(modules))


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


def _three(values: FloatArray) -> tuple[float, float, float]:
    x, y, z = values.tolist()
    return x, y, z
