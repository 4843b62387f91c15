"""A wheeled vehicle of Chrono's own JSON files: any car with two axles, front steering and tyres of force.

Springs, masses, motor, gears and brakes are those of Chrono's files. Of our vehicle's file it takes steering limit and
rate, the ground's friction, the mounts and the looks; wheelbase, track and wheel radius are compared with what Chrono
built, because contexts, drivers and pictures go by them.
"""

from __future__ import annotations

import math
from functools import cache

from simjudge.core.errors import SimjudgeError
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.chrono.frames import frame_pose
from simjudge.sim.engines.chrono.json_files import check_chrono_files
from simjudge.sim.engines.chrono.json_trial import try_vehicle
from simjudge.sim.engines.chrono.json_vehicle import build_vehicle
from simjudge.sim.engines.chrono.modules import Modules, vehicle_data
from simjudge.sim.engines.chrono.standing import BuiltCar, Point, Stance, measure_stance
from simjudge.sim.engines.chrono.steps import STEP
from simjudge.sim.engines.chrono.wheels import SPINDLES
from simjudge.sim.vehicle.vehicle import ChronoParts, Vehicle

_TOLERANCE = 0.03
"""Relative: hardpoints and the wheelbase that a JSON file states differ by 2.3 % in Chrono's own HMMWV."""


class JsonCar:
    """Makes cars of Chrono's JSON files; see `CarMaker`.

    Attributes:
        wheelbase, track, wheel_radius: as Chrono builds them, metres; the track is the rear axle's.
    """

    settle_time = 3.0

    def __init__(self, modules: Modules, parts: ChronoParts) -> None:
        """Build one, to see where its wheels are."""
        self._modules = modules
        self._data = parts.data or vehicle_data(modules)
        self._files = check_chrono_files(parts, self._data)
        try_vehicle(self._files, self._data)
        self.name = self._files[0].stem
        self.step_parts = round(STEP / parts.step)
        car = self.build(None, Pose())
        reference = frame_pose(car.wheeled.GetChassisBody().GetFrameRefToAbs()).inverse()
        hubs = []
        for axle, side in SPINDLES:
            place = car.wheeled.GetSpindlePos(axle, side)
            hubs.append(reference.to_world([place.x, place.y, place.z]))
        front, rear = (hubs[0] + hubs[1]) / 2, (hubs[2] + hubs[3]) / 2
        self.wheelbase, self.track = float(front[0] - rear[0]), float(hubs[2][1] - hubs[3][1])
        self.wheel_radius = float(car.wheeled.GetWheel(0, SPINDLES[0][1]).GetTire().GetRadius())
        x, y, z = rear.tolist()
        self.rear: Point = (x, y, z)
        self.drop = self.wheel_radius - float(min(hub[2] for hub in hubs))

    def braking(self, vehicle: Vehicle) -> float:  # noqa: ARG002 - another maker goes by the file
        """All that Chrono's own brakes can: see `CarMaker.braking`."""
        return 1.0

    def build(self, vehicle: Vehicle | None, reference: Pose) -> BuiltCar:  # noqa: ARG002 - figures are Chrono's
        """A car as Chrono's files have it: see `CarMaker.build`."""
        return build_vehicle(self._modules, self._files, self._data, reference, STEP / self.step_parts)


def json_car(modules: Modules, vehicle: Vehicle, parts: ChronoParts) -> tuple[JsonCar, Stance]:
    """What makes a vehicle of Chrono's files, and how it stands; built and measured once in a process."""
    maker, stance = _measured(modules, parts)
    figures = {
        "wheelbase": (vehicle.wheelbase, maker.wheelbase),
        "track": (vehicle.track, maker.track),
        "wheel radius": (vehicle.wheel_radius, maker.wheel_radius),
    }
    for what, (given, built) in figures.items():
        if abs(given - built) > _TOLERANCE * built:
            raise SimjudgeError(f"{vehicle.name}: {what} {given:.6g}, but {maker.name} has {built:.4g} in Chrono")
    if vehicle.steering_limit > stance.angle * (1 + _TOLERANCE):
        limit, most = math.degrees(vehicle.steering_limit), math.degrees(stance.angle)
        raise SimjudgeError(f"{vehicle.name}: steering limit {limit:.4g}, but {maker.name} turns by {most:.4g} degrees")
    return maker, stance


@cache
def _measured(modules: Modules, parts: ChronoParts) -> tuple[JsonCar, Stance]:
    maker = JsonCar(modules, parts)
    return maker, measure_stance(modules, maker, STEP / maker.step_parts)
