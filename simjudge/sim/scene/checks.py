"""What cannot be right about a whole scene, though each line of its file might be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import SimjudgeError
from simjudge.sim.scene.model import Mesh, PointLight, Thing

_INSIDE = 0.75
"""Turns of a mesh around a point from which on the point is inside: 1 in a closed one, up to 1/2 before a plane."""


def check_names(path: Path, things: Sequence[Thing]) -> None:
    """Refuse two things of one name, or the car's."""
    seen: set[str] = set()
    for thing in things:
        if thing.name.split("/")[0] == "vehicle":
            raise SimjudgeError(f"{path}: {thing.name}: the car is called so; take another name")
        if thing.name in seen:
            raise SimjudgeError(f"{path}: {thing.name}: two things have this name; rename one")
        seen.add(thing.name)


def check_ground(path: Path, things: Sequence[Thing]) -> None:
    """Refuse free things that would fall for ever."""
    free = [thing for thing in things if thing.motion == "free"]
    solid = any(thing.motion == "static" and thing.collider.kind != "none" for thing in things)
    if free and not solid:
        raise SimjudgeError(f"{path}: {free[0].name}: it is free and would fall for ever; add a plane at z = 0")


def check_lights(path: Path, lights: Sequence[PointLight], things: Sequence[Thing]) -> None:
    """Refuse lamps inside something closed: they light nothing outside."""
    if not lights:
        return
    at = np.array([light.position for light in lights])
    for thing in things:
        local = thing.pose.to_body(at)
        vertices = thing.mesh.vertices
        boxed = np.all((local > vertices.min(0)) & (local < vertices.max(0)), axis=1)
        for index in np.flatnonzero(boxed):
            if winding_number(thing.mesh, local[index]) > _INSIDE:
                x, y, z = at[index]
                raise SimjudgeError(
                    f"{path}: lights: the lamp at x {x:g}, y {y:g}, z {z:g} is inside {thing.name}, where it lights"
                    " nothing; move it out"
                )


def winding_number(mesh: Mesh, point: FloatArray) -> float:
    """How often a mesh encloses a point (3,), its winding number: 1 inside a closed one, 0 outside.

    Solid angles after Van Oosterom and Strackee, "The solid angle of a plane triangle" (1983).

    Args:
        point: x, y, z in the mesh's frame, metres.
    """
    a, b, c = (mesh.vertices[mesh.faces[:, k]] - point for k in range(3))
    la, lb, lc = (np.linalg.norm(side, axis=1) for side in (a, b, c))
    volume = np.sum(a * np.cross(b, c), axis=1)
    rest = la * lb * lc + np.sum(a * b, 1) * lc + np.sum(b * c, 1) * la + np.sum(c * a, 1) * lb
    return float(np.sum(np.arctan2(volume, rest))) / (2 * math.pi)
