"""A car's figures, driven on an empty floor: throttle step, coast-down and turning circles, the same for any engine."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from simjudge.engines.contract import Engine
from simjudge.geometry.poses import Pose
from simjudge.scene.model import Collider, Mesh, Scene, Surface, Thing
from simjudge.vehicle.vehicle import Command, Vehicle, VehicleState

_HALF = 200.0
_STRAIGHT, _COAST, _TURN, _LOOK = 6.0, 20.0, 5.0, 0.05
_STOPPED, _THROTTLE = 0.02, 0.5


class Figures(NamedTuple):
    """What a car did.

    Attributes:
        speed: m/s after six seconds of full throttle from rest.
        to_half: seconds until half of that.
        coast_distance, coast_time: metres and seconds from there until it stands, nothing pressed; at most 20 s.
        circles: by steering input: radius of base_link's path, metres, negative to the right, and the radius that the
            wheels' angle gives without slip, wheelbase / tan(angle).
        drift: metres aside after the straight run, left positive.
    """

    speed: float
    to_half: float
    coast_distance: float
    coast_time: float
    circles: dict[float, tuple[float, float]]
    drift: float


def flat_scene() -> Scene:
    """A floor, and nothing on it."""
    h = _HALF
    vertices = np.array([[-h, -h, 0], [h, -h, 0], [h, h, 0], [-h, h, 0]])
    mesh = Mesh(vertices, np.array([[0, 1, 2], [0, 2, 3]]), vertices[:, :2] / h, np.tile([0.0, 0, 1], (4, 1)))
    return Scene("flat", (Thing("floor", mesh, Surface(), collider=Collider("plane")),), ())


def drive_tests(engine: Engine, vehicle: Vehicle, inputs: tuple[float, ...] = (1.0, 0.5, -0.5, -1.0)) -> Figures:
    """Drive a car's tests; the engine has it on `flat_scene` and nothing else.

    Args:
        engine: that moves it.
        vehicle: its figures.
        inputs: of the steering for the circles.
    """
    engine.reset()
    run = _run(engine, Command(throttle=1.0), _STRAIGHT)
    speed = run[-1].velocity[0]
    to_half = next(state.time for state in run if state.velocity[0] >= speed / 2)
    drift = run[-1].pose.position[1]
    coast = _run(engine, Command(), _COAST, until=lambda state: state.velocity[0] < _STOPPED)
    distance = math.dist(coast[-1].pose.position[:2], run[-1].pose.position[:2])
    circles = {steering: _circle(engine, vehicle, steering) for steering in inputs}
    return Figures(speed, to_half, distance, coast[-1].time - run[-1].time, circles, drift)


def _circle(engine: Engine, vehicle: Vehicle, steering: float) -> tuple[float, float]:
    """Radius of a steady turn from its last second, and the one without slip."""
    engine.reset()
    engine.set_pose("vehicle", Pose())
    states = _run(engine, Command(steering, _THROTTLE), _TURN)[-round(1 / _LOOK) :]
    turning = float(np.mean([state.angular_velocity[2] for state in states]))
    speed = float(np.mean([state.velocity[0] for state in states]))
    angle = float(np.mean([state.steering_angle for state in states]))
    return speed / turning if turning else math.inf, vehicle.wheelbase / math.tan(angle) if angle else math.inf


def _run(
    engine: Engine, command: Command, seconds: float, until: Callable[[VehicleState], bool] = lambda _: False
) -> list[VehicleState]:
    """States every 50 ms, until it is enough."""
    engine.drive(command)
    piece = round(_LOOK / engine.step_size) * engine.step_size
    states = []
    for _ in range(round(seconds / _LOOK)):
        engine.step(piece)
        states.append(engine.vehicle_state())
        if until(states[-1]):
            break
    return states


def as_numbers(figures: Figures) -> dict[str, Any]:
    """For a file."""
    circles = {f"{steering:+.1f}": list(radii) for steering, radii in figures.circles.items()}
    return figures._asdict() | {"circles": circles}
