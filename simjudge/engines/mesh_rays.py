"""Rays against the triangles of bodies, on the processor, for engines that cast no rays of their own.

Chrono is one. Its sensors fire the rays of their own patterns, and ChCollisionSystem::RayHit knows collision solids,
not what is seen. The search trees are those of `simjudge.engines.bvh`, which the default engine uses too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.engines.bvh import grow, grow_forest, search
from simjudge.engines.contract import Hits
from simjudge.engines.timed_rays import CastResting
from simjudge.geometry.poses import Pose
from simjudge.scene.model import Mesh, Thing

_NEAREST = True
"""What `search` is asked for."""
_BOX_MARGIN = 1e-9
"""Metres around a body's box: rounding of its corners must not hide the body."""


class MeshRays:
    """Casts rays at bodies whose poses change and whose meshes stay."""

    def __init__(self, meshes: Sequence[Mesh]) -> None:
        """Grow the trees over the triangles.

        Args:
            meshes: the bodies' meshes, each in its own frame.
        """
        self._meshes = tuple(meshes)
        self._forest = grow_forest(self._meshes)
        normals = [_outward_normals(mesh) for mesh in self._meshes]
        self._normals = np.concatenate([np.zeros((0, 3)), *normals])

    def cast(self, origins: FloatArray, directions: FloatArray, poses: Sequence[Pose]) -> Hits:
        """What rays hit first; see `simjudge.engines.contract.Engine.cast_rays`.

        Args:
            origins: float64 (N, 3), metres, world.
            directions: float64 (N, 3), unit, world.
            poses: poses of the bodies in the world, in the meshes' order.

        Returns:
            The hits; `thing` is the index of the body.
        """
        count = len(origins)
        rotations = np.array([pose.rotation_matrix() for pose in poses]).reshape(-1, 3, 3)
        positions = np.array([pose.position for pose in poses], np.float64).reshape(-1, 3)
        bounds = np.array([_box(mesh, pose) for mesh, pose in zip(self._meshes, poses, strict=True)]).reshape(-1, 2, 3)
        top = grow(bounds[:, 0] - _BOX_MARGIN, bounds[:, 1] + _BOX_MARGIN)
        distance, thing, row = np.full(count, np.inf), np.zeros(count, np.int64), np.zeros(count, np.int64)
        out = (distance, thing, row, np.zeros(count), np.zeros(count))
        search(
            np.ascontiguousarray(origins.T), np.ascontiguousarray(directions.T), np.full(count, np.inf),
            np.ones(count, np.bool_), _NEAREST, tuple(top), self._forest.below, rotations, positions, out,
        )  # fmt: skip
        hit = np.isfinite(distance)
        normal = np.full((count, 3), np.nan)
        own = self._normals[self._forest.faces[row[hit]]]
        normal[hit] = np.einsum("nij,nj->ni", rotations[thing[hit]], own)
        return Hits(distance, np.where(hit, thing, -1), normal)


def still_rays(things: Sequence[Thing]) -> CastResting:
    """A search among the things that never move.

    Args:
        things: all of them; hits name their indices here.
    """
    still = np.array([index for index, thing in enumerate(things) if thing.motion == "static"], np.int64)
    rays, poses = MeshRays([things[index].mesh for index in still]), [things[index].pose for index in still]
    number = np.append(still, -1)

    def cast(origins: FloatArray, directions: FloatArray) -> Hits:
        hits = rays.cast(origins, directions, poses)
        return Hits(hits.distance, number[hits.thing], hits.normal)

    return cast


def _box(mesh: Mesh, pose: Pose) -> tuple[FloatArray, FloatArray]:
    """Lowest and highest corner of a body in the world."""
    vertices = pose.to_world(mesh.vertices)
    return vertices.min(0), vertices.max(0)


def _outward_normals(mesh: Mesh) -> FloatArray:
    """Unit normals of the faces, which run counter-clockwise seen from outside."""
    a, b, c = (mesh.vertices[mesh.faces[:, corner]] for corner in range(3))
    normals = np.cross(b - a, c - a)
    unit: FloatArray = normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    return unit
