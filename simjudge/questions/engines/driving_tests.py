"""A car's figures, driven on an empty floor: throttle step, coast-down and turning circles, the same for any engine."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from simjudge.core.files import atomic_file
from simjudge.core.progress import Log, no_log
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.contract import Engine
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.scene.model import Collider, Mesh, Scene, Surface, Thing
from simjudge.sim.vehicle.vehicle import Command, Vehicle, VehicleState, read_vehicle

_FLOOR_HALF = 200.0
"""Half the floor's side, metres: no test leaves it."""
_STRAIGHT_TIME = 6.0
"""Seconds of full throttle: a 1/6-scale car is then at its final speed."""
_COAST_TIME = 20.0
"""Seconds that a car may coast, at most."""
_TURN_TIME = 5.0
"""Seconds of a turn: the last of them is steady."""
_STEADY_TIME = 1.0
"""Seconds at the end of a turn that are averaged."""
_SAMPLE_TIME = 0.05
"""Seconds between two states that are looked at."""
_STANDING_SPEED = 0.02
"""A slower car stands, m/s: physics at rest still trembles."""
_TURN_THROTTLE = 0.5
"""Throttle in turns: slow enough for little slip."""


class DrivingFigures(NamedTuple):
    """What a car did."""

    speed: float  # speed after six seconds of full throttle from rest, m/s
    to_half: float  # time until half of that speed, seconds
    coast_distance: float  # distance from there until the car stands with no pedal pressed, metres; at most 20 s
    coast_time: float  # time of that, seconds
    # by steering input: radius of base_link's path, metres, negative to the right, and the radius that the wheels'
    # angle gives without slip, wheelbase / tan(angle)
    circles: dict[float, tuple[float, float]]
    drift: float  # distance aside after the straight run, metres, left positive

    def as_record(self) -> dict[str, object]:
        """The figures as JSON has them."""
        circles = {f"{steering:+.1f}": list(radii) for steering, radii in self.circles.items()}
        return self._asdict() | {"circles": circles}


@dataclass(frozen=True)
class DrivingComparison:
    """The same car in several engines."""

    vehicle: str
    figures: Mapping[str, DrivingFigures] = field(repr=False)  # what the car did, by engine

    def __str__(self) -> str:
        """One line for people."""
        speeds = ", ".join(f"{name} {figures.speed:.2f} m/s" for name, figures in self.figures.items())
        return f"{self.vehicle}: {speeds}"


def compare_driving(
    engines: Sequence[str] = ("default", "chrono"),
    out: str | Path | None = None,
    *,
    vehicle: str | Path | Vehicle = "art1",
    log: Log = no_log,
) -> DrivingComparison:
    """Drive the same car through throttle step, coast-down and turning circles in each engine."""
    car = vehicle if isinstance(vehicle, Vehicle) else read_vehicle(vehicle)
    figures = {}
    for name in engines:
        with closing(make_engine(name, flat_scene(), car)) as engine:
            log(f"{name}: {engine.variant}")
            figures[name] = measure_driving(engine, car)
    if out is not None:
        with atomic_file(Path(out)) as temporary:
            temporary.write_text(json.dumps({name: item.as_record() for name, item in figures.items()}, indent=2))
    return DrivingComparison(car.name, figures)


def flat_scene() -> Scene:
    """A floor, and nothing on it."""
    h = _FLOOR_HALF
    vertices = np.array([[-h, -h, 0], [h, -h, 0], [h, h, 0], [-h, h, 0]])
    mesh = Mesh(vertices, np.array([[0, 1, 2], [0, 2, 3]]), vertices[:, :2] / h, np.tile([0.0, 0, 1], (4, 1)))
    return Scene("flat", (Thing("floor", mesh, Surface(), collider=Collider("plane")),), ())


def measure_driving(
    engine: Engine, vehicle: Vehicle, inputs: tuple[float, ...] = (1.0, 0.5, -0.5, -1.0)
) -> DrivingFigures:
    """Drive a car through the tests."""
    engine.reset()
    run = _run(engine, Command(throttle=1.0), _STRAIGHT_TIME)
    speed = run[-1].velocity[0]
    to_half = next(state.time for state in run if state.velocity[0] >= speed / 2)
    drift = run[-1].pose.position[1]
    coast = _run(engine, Command(), _COAST_TIME, until=lambda state: state.velocity[0] < _STANDING_SPEED)
    distance = math.dist(coast[-1].pose.position[:2], run[-1].pose.position[:2])
    circles = {steering: _circle(engine, vehicle, steering) for steering in inputs}
    return DrivingFigures(speed, to_half, distance, coast[-1].time - run[-1].time, circles, drift)


def _circle(engine: Engine, vehicle: Vehicle, steering: float) -> tuple[float, float]:
    """Radius of a steady turn from its last second, and the radius without slip."""
    engine.reset()
    engine.set_pose("vehicle", Pose())
    states = _run(engine, Command(steering, _TURN_THROTTLE), _TURN_TIME)[-round(_STEADY_TIME / _SAMPLE_TIME) :]
    yaw_rate = float(np.mean([state.angular_velocity[2] for state in states]))
    speed = float(np.mean([state.velocity[0] for state in states]))
    angle = float(np.mean([state.steering_angle for state in states]))
    return speed / yaw_rate if yaw_rate else math.inf, vehicle.wheelbase / math.tan(angle) if angle else math.inf


def _run(
    engine: Engine, command: Command, seconds: float, until: Callable[[VehicleState], bool] = lambda _: False
) -> list[VehicleState]:
    """States every 50 ms, until the time is over or a state is enough."""
    engine.drive(command)
    piece = round(_SAMPLE_TIME / engine.step_size) * engine.step_size
    states = []
    for _ in range(round(seconds / _SAMPLE_TIME)):
        engine.step(piece)
        states.append(engine.vehicle_state())
        if until(states[-1]):
            break
    return states
