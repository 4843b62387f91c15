"""A small world made in code: floor, wall, two cones, a crate; seen from the origin along x."""

from itertools import pairwise

import numpy as np

from simjudge.geometry.poses import Pose
from simjudge.scene.model import Collider, PointLight, Scene, Surface, Thing
from simjudge.sensors.camera.lens_construction import lens_with_field
from simjudge.vehicle.mesh_builder import Shape

RED, GREEN = 1, 2
WALL = 4.0
CAMERA_HEIGHT = 0.4
CONE_HEIGHT = 0.3
LENS = lens_with_field("pinhole", (96, 64), 80)
CAMERA = Pose((0, 0, CAMERA_HEIGHT)).optical_frame()


def box(name, size, pose, colour=(0.5, 0.5, 0.5), collider=True, **more):
    x, y, z = size
    shape = Shape(1)
    shape.box((-x / 2, x / 2), (-y / 2, y / 2), (0, z), 0)
    solid = Collider("box", size, (0, 0, z / 2)) if collider else Collider()
    return Thing(name, shape.mesh(), Surface(colour), pose, collider=solid, **more)


def cone(name, x, y, class_id, instance, height=CONE_HEIGHT):
    """A frustum on a square foot, its frame in the middle of the foot's underside."""
    shape = Shape(1)
    foot, wide, narrow = 0.05 * height, 0.4 * height, 0.08 * height
    turn = np.linspace(0, 2 * np.pi, 25)
    rings = [np.stack([r * np.cos(turn), r * np.sin(turn), np.full(25, z)], -1)
             for r, z in ((wide, foot), (narrow, height), (0.0, height))]  # fmt: skip
    for low, high in pairwise(rings):
        shape.sheet(np.stack([low, high], 1), 0)
    shape.box((-wide, wide), (-wide, wide), (0, foot), 0)
    colour = (0.6, 0.03, 0.03) if class_id == RED else (0.03, 0.5, 0.05)
    surface = Surface(colour, roughness=0.9)
    return Thing(name, shape.mesh(), surface, Pose((x, y, 0)), class_id, instance, "free", 0.1, Collider("hull"))


def floor():
    shape = Shape(1)
    shape.sheet(np.array([[[-20, -20, 0], [-20, 20, 0]], [[20, -20, 0], [20, 20, 0]]], float), 0)
    return Thing("floor", shape.mesh(), Surface((0.4, 0.4, 0.4), roughness=1.0), collider=Collider("plane"))


def contract_scene(brightness=1.0):
    """The wall's near face is at x = WALL; green stands left, red right, the crate behind the camera."""
    things = (
        floor(),
        box("wall", (0.2, 6, 1.0), Pose((WALL + 0.1, 0, 0))),
        cone("green", 2.0, 0.6, GREEN, 7),
        cone("red", 2.0, -0.6, RED, 3),
        box("crate", (0.2, 0.2, 0.2), Pose((-2, 0, 0)), (0.05, 0.05, 0.6), motion="free", mass=0.5),
    )
    lamp = PointLight((0.5, 0.3, 2.5), (8 * brightness,) * 3, 50)
    return Scene("contract", things, (lamp,), (0.02,) * 3, (0.1, 0.2, 0.5), {RED: "red cone", GREEN: "green cone"})
