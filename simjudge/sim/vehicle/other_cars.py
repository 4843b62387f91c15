"""The cars of a scene beside the one that carries the camera: their figures, their parts as things."""

from __future__ import annotations

from dataclasses import dataclass, replace

from simjudge.core.errors import Log, SimjudgeError
from simjudge.geometry.poses import Pose
from simjudge.sim.scene.model import CarRoute, Scene, SceneCar, Thing
from simjudge.sim.vehicle.vehicle import DEFAULT_CAR, Vehicle, car_things, read_vehicle


@dataclass(frozen=True, eq=False)
class OtherCar:
    """A car of a scene, its figures read; members as of `SceneCar`."""

    name: str
    vehicle: Vehicle
    start: Pose
    route: CarRoute | None


def read_other_cars(scene: Scene) -> tuple[Scene, tuple[OtherCar, ...]]:
    """The cars of a scene, and the scene with their parts among its things."""
    cars, things = list[OtherCar](), list[Thing]()
    for given in scene.cars:
        try:
            vehicle = read_vehicle(given.vehicle or DEFAULT_CAR)
        except SimjudgeError as error:
            raise type(error)(f"{scene.path or scene.name}: cars: {given.name}: {error}") from error
        _check_speed(scene, given, vehicle)
        cars.append(OtherCar(given.name, vehicle, given.start, given.route))
        things += (
            replace(part, motion="driven", class_id=given.class_id, instance=given.instance)
            for part in car_things(vehicle, given.start, given.name, given.colour)
        )
    return (replace(scene, things=(*scene.things, *things)) if things else scene), tuple(cars)


def log_standing_cars(scene: Scene, log: Log) -> None:
    """Say that the cars of a scene stand, where physics does not run."""
    if scene.cars:
        names = ", ".join(car.name for car in scene.cars)
        log(f"{scene.name}: its cars ({names}) stand at their start; only simjudge sim drive and ros run sim move them")


def _check_speed(scene: Scene, car: SceneCar, vehicle: Vehicle) -> None:
    top = vehicle.top_wheel_speed * vehicle.wheel_radius
    if car.route is None:
        return
    schedule = car.route.schedule
    fastest = float((car.route.speeds[:, 1] if schedule is None else schedule[:, 2]).max())
    # What was recorded of such a car may be a little faster than its figures say.
    if not fastest < (top if schedule is None else 1.1 * top):
        slower = "a lower speed" if schedule is None else "a slower trajectory"
        raise SimjudgeError(
            f"{scene.path or scene.name}: cars: {car.name}: drives at {fastest:.1f} m/s, and {vehicle.name} can do"
            f" {top:.1f}; give it {slower}, or another vehicle"
        )
