"""Times of the default engine's physics: how many times faster than real time a car drives among cones."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from simjudge.geometry.poses import Pose
from simjudge.sim.engines.default.bodies import Bodies
from simjudge.sim.scene.model import Collider, Scene, Surface, Thing
from simjudge.sim.vehicle.vehicle import Command, MeshBuilder, read_vehicle

Row = tuple[str, str, str, str]
SECONDS = 20.0


def scene(cones: int) -> Scene:
    """A floor, and cones on both sides of a circle of the car's size."""
    floor = MeshBuilder(1)
    floor.box((-9, 9), (-9, 9), (-0.1, 0), 0)
    cone, turn = MeshBuilder(1), np.linspace(0, 2 * np.pi, 25)
    low, high = (
        np.stack([r * np.cos(turn), r * np.sin(turn), np.full(25, z)], -1) for r, z in ((0.029, 0.005), (0.006, 0.077))
    )
    cone.sheet(np.stack([low, high], 1), 0)
    cone.box((-0.04, 0.04), (-0.04, 0.04), (0, 0.005), 0)
    mesh = cone.mesh()
    things = [Thing("floor", floor.mesh(), Surface(), collider=Collider("plane"))]
    for number in range(cones):
        radius, angle = (1.0, 3.0)[number % 2], 2 * np.pi * number / cones
        pose = Pose((radius * np.cos(angle), 2 + radius * np.sin(angle), 0))
        given = {"class_id": 1 + number % 2, "instance": number + 1, "motion": "free", "mass": 0.02}
        things.append(Thing(f"cone{number}", mesh, Surface(), pose, collider=Collider("hull"), **given))  # type: ignore[arg-type]
    return Scene("bench", tuple(things), ())


def rows() -> Iterator[Row]:
    """Driving in a circle between standing cones, and through them."""
    for cones, throttle, steering, what in (
        (0, 0.7, 0.5, "no cones"),
        (40, 0.7, 0.5, "40 cones standing by"),
        (40, 1.0, 0.12, "40 cones, through some of them"),
    ):
        bodies = Bodies(scene(cones), read_vehicle("art1"))
        bodies.drive(Command(steering, throttle, 0.0))
        bodies.step(0.1)
        start = time.perf_counter()
        bodies.step(SECONDS)
        factor = SECONDS / (time.perf_counter() - start)
        touched = f"{len(bodies.touched_things())} touched"
        yield f"physics, 2 ms steps, {what}", f"{factor:.0f} times real time", "20" if cones else "", touched


if __name__ == "__main__":
    for row in rows():
        print(*row, sep="; ")
