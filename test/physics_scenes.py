"""Floors, ramps, cones and boxes for physics: shapes only, nothing to be looked at."""

import math

import numpy as np

from simjudge.geometry.poses import Pose
from simjudge.sim.scene.model import Collider, Mesh, Scene, Surface, Thing
from simjudge.sim.vehicle.vehicle import MeshBuilder

GRAVITY = 9.81


def points(vertices):
    """A mesh of which only the vertices matter."""
    xyz = np.array(vertices, float)
    return Mesh(xyz, np.array([[0, 1, 2]]), np.zeros((len(xyz), 2)), np.tile([0.0, 0, 1], (len(xyz), 1)))


def plane(pitch=0.0):
    """A floor, or a slope that falls along x by an angle."""
    return Thing("floor", points(np.eye(3)), Surface(), Pose.from_euler(0, 0, pitch=pitch), collider=Collider("plane"))


def flat(*things):
    return Scene("flat", (plane(), *things), ())


def slope(degrees):
    """A scene, and where a car stands on it."""
    pitch = math.radians(degrees)
    return Scene("slope", (plane(pitch),), ()), Pose.from_euler(0, 0, pitch=pitch)


def cone_mesh(foot=0.04, thick=0.005, wide=0.029, narrow=0.006, height=0.077, sides=24):
    """A frustum on a square foot, one closed surface as far as heights go."""
    shape, turn = MeshBuilder(1), np.linspace(0, 2 * np.pi, sides + 1)
    low, high = (
        np.stack([r * np.cos(turn), r * np.sin(turn), np.full(sides + 1, z)], -1)
        for r, z in ((wide, thick), (narrow, height))
    )
    shape.sheet(np.stack([low, high], 1), 0)
    shape.box((-foot, foot), (-foot, foot), (0, thick), 0)
    return shape.mesh()


def cone(name, x, y, class_id=1, instance=1, **more):
    """A lab cone, 0.08 x 0.08 x 0.077 m and 50 g."""
    given = {"motion": "free", "mass": 0.05, "collider": Collider("hull")} | more
    return Thing(name, CONE, Surface(), Pose((x, y, 0)), class_id, instance, **given)


def crate(name, pose, size=(0.2, 0.2, 0.2), **more):
    given = {"motion": "free", "mass": 1.0, "collider": Collider("box", size, (0, 0, size[2] / 2))} | more
    return Thing(name, points(np.eye(3)), Surface(), pose, **given)


CONE = cone_mesh()
