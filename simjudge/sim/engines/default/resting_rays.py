"""Rays at what rests in a scene during a turn of a lidar, by the tracer that also makes the pictures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit

from simjudge.core.arrays import FloatArray
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.contract import Hits
from simjudge.sim.engines.default.packed import Floats, world_vertices
from simjudge.sim.engines.default.variant import make_tracer
from simjudge.sim.scene.model import Thing

_GRAZING = 1e-6
"""A ray's cosine with a face's normal below which the face's plane says little of where it is hit."""


class RestingRays:
    """The first hits of rays among the things that rest."""

    def __init__(self, things: Sequence[Thing]) -> None:
        """Prepare all things where the scene has them."""
        numbers = [index for index, thing in enumerate(things) if len(thing.mesh.faces)]
        self._things = [things[index] for index in numbers]
        self._row = {number: row for row, number in enumerate(numbers)}
        self._rotations = np.array([thing.pose.rotation_matrix() for thing in self._things]).reshape(-1, 3, 3)
        self._positions = np.array([thing.pose.position for thing in self._things]).reshape(-1, 3)
        counts = [len(thing.mesh.faces) for thing in self._things]
        planes = [_planes(thing) for thing in self._things]
        self._faces = (
            np.repeat(np.arange(len(counts)), counts),
            np.repeat(np.array(numbers, np.int64), counts),
            np.concatenate([np.zeros((0, 4)), *planes]),
        )
        first_face = np.cumsum([0, *counts])[:-1].astype(np.int32)
        movable = [thing.motion != "static" for thing in self._things]
        self._tracer = make_tracer(self._things, first_face, movable) if self._things else None
        if self._tracer is not None:
            self._tracer.move({}, self._rotations, self._positions)

    def place(self, numbers: Sequence[int], poses: Sequence[Pose | None]) -> None:
        """Put things where they rest, or take them away.

        Args:
            poses: of each; None: rays do not meet it from now on.
        """
        moved: dict[int, Floats] = {}
        for number, pose in zip(numbers, poses, strict=True):
            row = self._row.get(number)
            if row is None:
                continue
            thing = self._things[row]
            if pose is None:  # it shrinks to a point, which no ray meets
                self._rotations[row], self._positions[row] = 0.0, 0.0
                moved[row] = np.zeros(thing.mesh.vertices.shape, np.float32)
            else:
                self._rotations[row], self._positions[row] = pose.rotation_matrix(), pose.position
                moved[row] = world_vertices(thing, pose)
        if moved and self._tracer is not None:
            self._tracer.move(moved, self._rotations, self._positions)

    def cast(self, origins: FloatArray, directions: FloatArray) -> Hits:
        """What rays hit first.

        Args:
            origins, directions: (N, 3), world, metres and unit.
        """
        hits = Hits(np.empty(len(origins)), np.empty(len(origins), np.int64), np.empty((len(origins), 3)))
        if self._tracer is None or not len(origins):
            for values, nothing in zip(hits, (np.inf, -1, np.nan), strict=True):
                values.fill(nothing)
            return hits
        t = self._tracer
        start, direction = t.given(origins.astype(np.float32)), t.given(directions.astype(np.float32))
        found = t.hit(start, direction, t.everywhere, together=False)
        distance, face = t.host(found.distance, t.select(found.valid, found.face, -1))
        _refine(origins, directions, distance, face, self._faces, self._rotations, self._positions, *hits)
        return hits

    def close(self) -> None:
        """Give back what it holds."""
        if self._tracer is not None:
            self._tracer.close()


def _planes(thing: Thing) -> FloatArray:
    """Of each of a thing's faces (F, 4) the unit normal, outward, and the plane's offset from the thing's origin."""
    a, b, c = (thing.mesh.vertices[thing.mesh.faces[:, corner]] for corner in range(3))
    normals = np.cross(b - a, c - a)
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    return np.column_stack([normals, np.einsum("ni,ni->n", normals, a)])


@njit(cache=True, nogil=True)
def _refine(origins, directions, traced, face, faces, rotations, positions, distance, thing, normal):  # type: ignore[no-untyped-def]
    """Write distances to the planes of the faces that were hit, in float64, the things and the faces' normals.

    The tracer has directions in float32: on a slanting surface their last bit is worth more than 1e-5 m.
    """
    row_of_face, thing_of_face, planes = faces
    for n in range(len(origins)):
        f = face[n]
        if f < 0:
            distance[n], thing[n] = np.inf, -1
            normal[n, 0] = normal[n, 1] = normal[n, 2] = np.nan
            continue
        row = row_of_face[f]
        thing[n] = thing_of_face[f]
        offset, along = planes[f, 3], 0.0
        for k in range(3):
            part = 0.0
            for j in range(3):
                part += rotations[row, k, j] * planes[f, j]
            normal[n, k] = part
            offset += part * (positions[row, k] - origins[n, k])
            along += part * directions[n, k]
        distance[n] = offset / along if abs(along) > _GRAZING else traced[n]
