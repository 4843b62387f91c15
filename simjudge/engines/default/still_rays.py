"""Rays at what never moves in a scene, by the tracer that also makes the pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from simjudge.core.frames import FloatArray
from simjudge.engines.contract import Hits
from simjudge.engines.default.light import make_tracer
from simjudge.scene.model import Thing

_GRAZING = 1e-6
"""A ray's cosine with a face's normal below which the face's plane says little of where it is hit."""


class StillRays:
    """The first hits of rays among the things whose motion is "static"."""

    def __init__(self, things: Sequence[Thing]) -> None:
        """Prepare the still ones.

        Args:
            things: all of them; hits name their indices here.

        Raises:
            SimjudgeError: Mitsuba is not installed.
        """
        still = [
            (index, thing) for index, thing in enumerate(things) if thing.motion == "static" and len(thing.mesh.faces)
        ]
        # One row more, for rays that hit nothing: their index is -1.
        self._number = np.array([*(index for index, _ in still), -1], np.int64)
        meshes = [thing for _, thing in still]
        first_face = np.cumsum([0, *(len(thing.mesh.faces) for thing in meshes)])[:-1].astype(np.int32)
        planes = [_planes(thing) for thing in meshes]
        self._normals = np.concatenate([*(normal for normal, _ in planes), np.full((1, 3), np.nan)])
        self._offsets = np.concatenate([*(offset for _, offset in planes), np.full(1, np.nan)])
        self._tracer = make_tracer(meshes, first_face, [False] * len(meshes)) if meshes else None

    def cast(self, origins: FloatArray, directions: FloatArray) -> Hits:
        """What rays hit first.

        Args:
            origins, directions: (N, 3), world, metres and unit.

        Returns:
            The hits.
        """
        if self._tracer is None or not len(origins):
            nothing = np.full(len(origins), np.inf)
            return Hits(nothing, np.full(len(origins), -1), np.full((len(origins), 3), np.nan))
        t = self._tracer
        hit = t.hit(t.given(origins.astype(np.float32)), t.given(directions.astype(np.float32)), t.everywhere)
        thing, face = t.select(hit.valid, hit.thing, -1), t.select(hit.valid, hit.face, -1)
        distance, things, faces = t.host(hit.distance, thing, face)
        normal = self._normals[faces]
        return Hits(self._refined(origins, directions, distance, normal, faces), self._number[things], normal)

    def _refined(
        self, origins: FloatArray, directions: FloatArray, traced: Any, normal: FloatArray, faces: Any
    ) -> FloatArray:
        """Distances to the planes of the faces that were hit, in float64; inf where nothing was.

        The tracer has directions in float32: on a slanting surface their last bit is worth more than 1e-5 m.
        """
        along = np.einsum("ni,ni->n", normal, directions)
        with np.errstate(divide="ignore", invalid="ignore"):
            distance = (self._offsets[faces] - np.einsum("ni,ni->n", normal, origins)) / along
        distance = np.where(np.abs(along) > _GRAZING, distance, traced)
        return np.where(faces < 0, np.inf, distance)

    def close(self) -> None:
        """Give back what it holds."""
        if self._tracer is not None:
            self._tracer.close()


def _planes(thing: Thing) -> tuple[FloatArray, FloatArray]:
    """Unit normals (F, 3), outward, of a thing's faces in the world, and the planes' offsets from the origin (F,)."""
    vertices = thing.pose.to_world(thing.mesh.vertices)
    a, b, c = (vertices[thing.mesh.faces[:, corner]] for corner in range(3))
    normals = np.cross(b - a, c - a)
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    return normals, np.einsum("ni,ni->n", normals, a)
