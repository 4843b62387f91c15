"""Rays against a scene's triangles, on the processor: Chrono has no call for rays of one's own choosing.

Its sensors fire the rays of their own patterns, and ChCollisionSystem::RayHit knows collision solids, not what is
seen. So `cast` meets the same triangles here, by Moeller and Trumbore's test ("Fast, minimum storage ray-triangle
intersection", 1997), body by body, for the rays that pass through a body's bounding box.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simjudge.core.frames import FloatArray
from simjudge.engines.contract import Hits
from simjudge.geometry.poses import Pose
from simjudge.scene.model import Mesh

_CHUNK = 4_000_000
"""Ray-triangle pairs at a time."""
_NEAREST = 1e-9


def cast_rays(origins: FloatArray, directions: FloatArray, meshes: list[tuple[Mesh, Pose]]) -> Hits:
    """What rays hit first; see `simjudge.engines.contract.Engine.cast_rays`. `thing` is the index into `meshes`."""
    count = len(origins)
    distance, thing = np.full(count, np.inf), np.full(count, -1, np.int64)
    normal = np.full((count, 3), np.nan)
    for index, (mesh, pose) in enumerate(meshes):
        turn = pose.rotation_matrix()
        start, ahead = (origins - pose.position) @ turn, directions @ turn
        met = np.flatnonzero(_in_box(start, ahead, mesh.vertices.min(0), mesh.vertices.max(0), distance))
        if not met.size:
            continue
        near, face = _first(start[met], ahead[met], mesh)
        closer = near < distance[met]
        rows = met[closer]
        distance[rows], thing[rows] = near[closer], index
        normal[rows] = _outward(mesh)[face[closer]] @ turn.T
    return Hits(distance, thing, normal)


def _in_box(
    start: FloatArray, ahead: FloatArray, low: FloatArray, high: FloatArray, limit: FloatArray
) -> npt.NDArray[np.bool_]:
    with np.errstate(divide="ignore", invalid="ignore"):
        one, two = (low - 1e-9 - start) / ahead, (high + 1e-9 - start) / ahead
    one, two = np.nan_to_num(one, nan=-np.inf), np.nan_to_num(two, nan=np.inf)
    enter, leave = np.minimum(one, two).max(1), np.maximum(one, two).min(1)
    through: npt.NDArray[np.bool_] = (leave >= np.maximum(enter, 0)) & (enter <= limit)
    return through


def _first(start: FloatArray, ahead: FloatArray, mesh: Mesh) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """Nearest triangle of each ray: distance (inf: none) and face."""
    a, b, c = (mesh.vertices[mesh.faces[:, corner]] for corner in range(3))
    side, other = b - a, c - a
    near, face = np.empty(len(start)), np.empty(len(start), np.int64)
    step = max(1, _CHUNK // max(len(a), 1))
    for first in range(0, len(start), step):
        rows = slice(first, first + step)
        ray, origin = ahead[rows, None], start[rows, None]
        across = np.cross(ray, other[None])
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = 1 / np.einsum("rfi,fi->rf", across, side)
            offset = origin - a[None]
            u = np.einsum("rfi,rfi->rf", offset, across) * scale
            along = np.cross(offset, side[None])
            v = np.einsum("rfi,rfi->rf", np.broadcast_to(ray, along.shape), along) * scale
            t = np.einsum("rfi,fi->rf", along, other) * scale
            hit = (u >= -1e-12) & (v >= -1e-12) & (u + v <= 1 + 1e-12) & (t > _NEAREST)
        t = np.where(hit, t, np.inf)
        face[rows] = np.argmin(t, 1)
        near[rows] = t[np.arange(len(t)), face[rows]]
    return near, face


def _outward(mesh: Mesh) -> FloatArray:
    """Unit normals of the faces, counter-clockwise seen from outside."""
    a, b, c = (mesh.vertices[mesh.faces[:, corner]] for corner in range(3))
    normals = np.cross(b - a, c - a)
    unit: FloatArray = normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    return unit
