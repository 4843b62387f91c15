"""Simple solids as meshes. Their origin is the middle of their base, z is up; texture coordinates are in metres."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.geometry.poses import Pose
from simjudge.sim.scene.model import Mesh

SEGMENTS = 32  # Sides of what is round
_AXES = {"+x": (1, 2), "-x": (1, 2), "+y": (0, 2), "-y": (0, 2), "+z": (0, 1), "-z": (0, 1)}


def box(x: float, y: float, z: float) -> Mesh:
    """A box of six faces, sizes in metres, each textured from its lower left corner as seen from outside."""
    low, high = np.array([-x / 2, -y / 2, 0]), np.array([x / 2, y / 2, z])
    parts = []
    for side, (across, up) in _AXES.items():
        axis = 3 - across - up
        normal = np.zeros(3)
        normal[axis] = 1 if side[0] == "+" else -1
        start = np.where(normal > 0, high, low)
        right = np.zeros(3)
        # On +y, -x and -z the texture's right is against the axis, or it would be mirrored.
        backwards = side in {"+y", "-x", "-z"}
        right[across] = -1 if backwards else 1
        start[across], start[up] = (high if backwards else low)[across], low[up]
        top = np.zeros(3)
        top[up] = 1
        size = high - low
        parts.append(_rectangle(start, right * size[across], top * size[up], normal))
    return join(parts)


def plane(x: float, y: float) -> Mesh:
    """A rectangle in the plane z = 0, centred, that faces +z; sizes in metres, textured from its corner at -x, -y."""
    corner, across, up = np.array([-x / 2, -y / 2, 0]), np.array([x, 0, 0]), np.array([0, y, 0])
    return _rectangle(corner, across, up, np.array([0.0, 0, 1]))


def cylinder(radius: float, height: float, segments: int = SEGMENTS) -> Mesh:
    """A closed cylinder; the texture goes around it, u = arc length, v = height (radius: metres; height: metres)."""
    return cone(radius, height, radius, segments)


def cone(radius: float, height: float, top: float = 0.0, segments: int = SEGMENTS) -> Mesh:
    """A closed cone or, with a radius at the top, the frustum of one; u = arc length at the base, v = slant length."""
    angle = np.linspace(0, 2 * math.pi, segments + 1)
    ring = np.stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)], 1)
    slant = math.hypot(height, radius - top)
    normal = np.stack([np.cos(angle) * height, np.sin(angle) * height, np.full_like(angle, radius - top)], 1) / slant
    lower, upper = ring * radius, ring * top + [0, 0, height]
    around = angle * radius
    lower_uv, upper_uv = (np.stack([around, np.full_like(angle, v)], 1) for v in (0.0, slant))
    uv = np.concatenate([lower_uv, upper_uv])
    k = np.arange(segments)
    faces = [np.stack([k, k + 1, k + segments + 2], 1)]
    if top > 0:
        faces.append(np.stack([k, k + segments + 2, k + segments + 1], 1))
    side = Mesh(np.concatenate([lower, upper]), np.concatenate(faces), uv, np.concatenate([normal, normal]))
    parts = [side, _disk(lower[:-1], up=False)]
    if top > 0:
        parts.append(_disk(upper[:-1], up=True))
    return join(parts)


def join(parts: Sequence[Mesh]) -> Mesh:
    """Several meshes as one."""
    starts = np.cumsum([0, *(len(part.vertices) for part in parts)])
    return Mesh(
        np.concatenate([part.vertices for part in parts]),
        np.concatenate([part.faces + start for part, start in zip(parts, starts, strict=False)]),
        np.concatenate([part.uv for part in parts]),
        np.concatenate([part.normals for part in parts]),
    )


def move(mesh: Mesh, pose: Pose) -> Mesh:
    """A mesh elsewhere in the same frame."""
    return Mesh(pose.to_world(mesh.vertices), mesh.faces, mesh.uv, mesh.normals @ pose.rotation_matrix().T)


def repeat_texture(mesh: Mesh, repeat: tuple[float, float]) -> Mesh:
    """A mesh whose texture repeats every so many units of its coordinates."""
    return Mesh(mesh.vertices, mesh.faces, mesh.uv / repeat, mesh.normals)


def map_box(mesh: Mesh) -> Mesh:
    """A mesh with texture coordinates in metres, from the side (of the six of a box) that each triangle faces."""
    corners = mesh.vertices[mesh.faces]
    facet = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    axis = np.argmax(np.abs(facet), axis=1)
    sign = np.sign(np.take_along_axis(facet, axis[:, None], 1))
    pairs = np.array([[1, 2], [0, 2], [0, 1]])[axis]
    uv = np.take_along_axis(corners, pairs[:, None, :].repeat(3, 1), 2)
    # As on a box: to the right and up, seen from outside.
    uv[:, :, 0] *= np.where(axis[:, None] == 1, -sign, sign)
    faces = np.arange(mesh.faces.size).reshape(-1, 3)
    return Mesh(corners.reshape(-1, 3), faces, uv.reshape(-1, 2), mesh.normals[mesh.faces].reshape(-1, 3))


def _rectangle(
    corner: npt.NDArray[np.floating], across: npt.NDArray[np.floating], up: npt.NDArray[np.floating], normal: FloatArray
) -> Mesh:
    vertices = np.array([corner, corner + across, corner + across + up, corner + up], np.float64)
    width, height = float(np.linalg.norm(across)), float(np.linalg.norm(up))
    uv = np.array([[0, 0], [width, 0], [width, height], [0, height]])
    return Mesh(vertices, np.array([[0, 1, 2], [0, 2, 3]]), uv, np.tile(normal, (4, 1)))


def _disk(ring: FloatArray, *, up: bool) -> Mesh:
    """A fan about the middle of a ring that goes counter-clockwise seen from above."""
    count = len(ring)
    vertices = np.concatenate([ring, ring.mean(0, keepdims=True)])
    k = np.arange(count)
    after, middle = (k + 1) % count, np.full(count, count)
    faces = np.stack([k, after, middle] if up else [after, k, middle], 1)
    normal = np.tile([0.0, 0, 1 if up else -1], (count + 1, 1))
    return Mesh(vertices, faces, vertices[:, :2] * [1 if up else -1, 1], normal)
