"""A small world made in code: floor, wall, two cones, a crate; seen from the origin along x."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.contract import SceneState
from simjudge.sim.scene.model import Collider, Colour, Motion, PointLight, Scene, Surface, Thing
from simjudge.sim.sensors.camera.lens import lens_with_field
from simjudge.sim.vehicle.mesh_builder import MeshBuilder

RED, GREEN = 1, 2
"""Class ids of the cones."""
RED_CONE, GREEN_CONE = 3, 7
"""Instances of the cones."""
WALL = 4.0
"""Metres from the camera to the wall's near face."""
CAMERA_HEIGHT = 0.4
"""Metres."""
CONE_HEIGHT = 0.3
"""Metres."""
BACKGROUND: Colour = (0.1, 0.2, 0.5)
"""Linear RGB of rays that hit nothing."""
LENS = lens_with_field("pinhole", (96, 64), 80)
CAMERA = Pose((0, 0, CAMERA_HEIGHT)).optical_frame()
AT = SceneState(CAMERA)
"""The camera at its place, everything where the scene has it."""


def contract_scene(brightness: float = 1.0) -> Scene:
    """The wall's near face is at x = WALL; green stands left, red right, the crate behind the camera."""
    things = (
        _floor(),
        _box("wall", (0.2, 6, 1.0), Pose((WALL + 0.1, 0, 0)), (0.5, 0.5, 0.5)),
        _cone("green", (2.0, 0.6), GREEN, GREEN_CONE, (0.03, 0.5, 0.05)),
        _cone("red", (2.0, -0.6), RED, RED_CONE, (0.6, 0.03, 0.03)),
        _box("crate", (0.2, 0.2, 0.2), Pose((-2, 0, 0)), (0.05, 0.05, 0.6), mass=0.5),
    )
    lamp = PointLight((0.5, 0.3, 2.5), (8 * brightness, 8 * brightness, 8 * brightness), 50)
    return Scene("contract", things, (lamp,), (0.02,) * 3, BACKGROUND, {RED: "red cone", GREEN: "green cone"})


def cone_middle(name: str) -> FloatArray:
    """A point inside a cone, halfway up."""
    thing = next(thing for thing in contract_scene().things if thing.name == name)
    return np.add(thing.pose.position, (0, 0, CONE_HEIGHT / 2))


def pixel_of(point: FloatArray) -> tuple[int, int]:
    """Column and row of the pixel in which the camera at its place sees a point of the world.

    Args:
        point: (3,), metres.
    """
    column, row = np.round(LENS.project(CAMERA.to_body(point))).astype(int)
    return int(column), int(row)


def _box(name: str, size: tuple[float, float, float], pose: Pose, colour: Colour, mass: float = 0.0) -> Thing:
    x, y, z = size
    shape = MeshBuilder(1)
    shape.box((-x / 2, x / 2), (-y / 2, y / 2), (0, z), 0)
    solid = Collider("box", size, (0, 0, z / 2))
    motion: Motion = "free" if mass else "static"
    return Thing(name, shape.mesh(), Surface(colour), pose, motion=motion, mass=mass, collider=solid)


def _cone(name: str, position: tuple[float, float], class_id: int, instance: int, colour: Colour) -> Thing:
    """A frustum on a square foot, its frame in the middle of the foot's underside."""
    shape = MeshBuilder(1)
    foot, wide, narrow = 0.05 * CONE_HEIGHT, 0.4 * CONE_HEIGHT, 0.08 * CONE_HEIGHT
    turn = np.linspace(0, 2 * np.pi, 25)
    rings = [np.stack([r * np.cos(turn), r * np.sin(turn), np.full(25, z)], -1)
             for r, z in ((wide, foot), (narrow, CONE_HEIGHT), (0.0, CONE_HEIGHT))]  # fmt: skip
    for low, high in pairwise(rings):
        shape.sheet(np.stack([low, high], 1), 0)
    shape.box((-wide, wide), (-wide, wide), (0, foot), 0)
    surface, pose = Surface(colour, roughness=0.9), Pose((*position, 0))
    return Thing(name, shape.mesh(), surface, pose, class_id, instance, "free", 0.1, Collider("hull"))


def _floor() -> Thing:
    shape = MeshBuilder(1)
    shape.sheet(np.array([[[-20, -20, 0], [-20, 20, 0]], [[20, -20, 0], [20, 20, 0]]], float), 0)
    return Thing("floor", shape.mesh(), Surface((0.4, 0.4, 0.4), roughness=1.0), collider=Collider("plane"))
