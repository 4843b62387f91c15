"""Ground that is not flat: the heights of a mesh on a grid, for physics and for what is put on it.

A grid is what MuJoCo collides with, and what says how high the ground is where something is placed. Rays see the mesh.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numba import njit

from simjudge.core.arrays import FloatArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import UsageError
from simjudge.geometry.poses import Pose
from simjudge.sim.scene.model import Collider, Mesh, Thing

MOST_HEIGHTS = 4_000_000
"""Heights of one ground at most."""
_CELLS = 500
"""Cells along the longer side of a ground whose file does not say how large they are."""
_SMALLEST = 0.01
"""Metres: such a cell's side at least."""


def ground_collider(mesh: Mesh, cell: float | None = None) -> Collider:
    """The heights of a mesh, seen from above; where nothing of it is, its lowest height.

    Args:
        mesh: in the thing's frame.
        cell: metres between two heights at most; None for a 500th of the longer side, 1 cm at least.
    """
    low, high = mesh.vertices.min(0), mesh.vertices.max(0)
    size = (high - low)[:2]
    if not np.all(size > 0):
        raise UsageError("a mesh without area seen from above is no ground")
    step = cell or max(float(size.max()) / _CELLS, _SMALLEST)
    columns, rows = (max(math.ceil(side / step - 1e-9), 1) + 1 for side in size.tolist())
    if columns * rows > MOST_HEIGHTS:
        raise UsageError(f"{columns} x {rows} heights are more than {MOST_HEIGHTS}; take a larger cell")
    heights = np.full((rows, columns), low[2])
    raise_to_triangles(mesh.vertices[mesh.faces], low, size / (columns - 1, rows - 1), heights)
    middle = (low + high) / 2
    return Collider("ground", tuple(size.tolist()), (float(middle[0]), float(middle[1]), 0.0), heights)


@dataclass(frozen=True, eq=False, repr=False)
class Ground(ShortRepr):
    """The uneven grounds of a scene, to stand on."""

    things: tuple[Thing, ...] = ()

    @classmethod
    def of(cls, things: Iterable[Thing]) -> Ground:
        """Those of some things that are ground."""
        return cls(tuple(thing for thing in things if thing.collider.kind == "ground"))

    def height(self, x: float, y: float) -> float:
        """Metres above z = 0; 0 where there is no uneven ground.

        Args:
            x, y: metres, world.
        """
        return self.stand(Pose((x, y, 0.0))).position[2]

    def stand(self, pose: Pose) -> Pose:
        """A pose on the level ground, put on whatever uneven ground is there: raised, and tilted with the slope.

        Args:
            pose: in the world; its z is the height above the ground.
        """
        x, y, z = pose.position
        found = [each for each in (_under(thing, x, y) for thing in self.things) if each is not None]
        if not found:
            return pose
        height, normal = max(found, key=lambda each: each[0])
        return Pose((x, y, z + height)) @ Pose.from_matrix(_tilt(normal)) @ Pose((0.0, 0.0, 0.0), pose.orientation)


def _tilt(normal: FloatArray) -> FloatArray:
    """The shortest rotation (as 3 x 4) that takes z to a normal that points upwards."""
    x, y, z = normal
    rotation = np.array([
        [1 - x * x / (1 + z), -x * y / (1 + z), x], [-x * y / (1 + z), 1 - y * y / (1 + z), y], [-x, -y, z],
    ])  # fmt: skip
    return np.hstack([rotation, np.zeros((3, 1))])


def _under(thing: Thing, x: float, y: float) -> tuple[float, FloatArray] | None:
    """Height and unit normal of a ground at a place of the world; None beside it."""
    heights = thing.collider.heights
    if heights is None:
        return None
    local = thing.pose.to_body([x, y, 0.0])[:2] - thing.collider.centre[:2]
    size = np.array(thing.collider.size)
    rows, columns = heights.shape
    at = (local / size + 0.5) * (columns - 1, rows - 1)
    if np.any(at < 0) or np.any(at > (columns - 1, rows - 1)):
        return None
    j, i = np.minimum(at.astype(int), (columns - 2, rows - 2))
    u, v = at - (j, i)
    (a, b), (c, d) = heights[i, j : j + 2], heights[i + 1, j : j + 2]
    along = ((b - a) * (1 - v) + (d - c) * v) / (size[0] / (columns - 1))
    across = ((c - a) * (1 - u) + (d - b) * u) / (size[1] / (rows - 1))
    height = (a * (1 - u) + b * u) * (1 - v) + (c * (1 - u) + d * u) * v
    normal = thing.pose.rotation_matrix() @ (np.array([-along, -across, 1.0]) / math.hypot(along, across, 1.0))
    return float(height) + thing.pose.position[2], normal


_INSIDE = -1e-9
"""Weight of a triangle's corner from which on a point counts as inside: borders of triangles belong to both."""


@njit(cache=True)  # type: ignore[untyped-decorator]
def raise_to_triangles(triangles: FloatArray, low: FloatArray, step: FloatArray, heights: FloatArray) -> None:
    """Raise the heights of a grid to the highest triangle above or below each of its points.

    Args:
        triangles: (F, 3, 3), corners.
        heights: (rows along y, columns along x), raised in place.
    """
    rows, columns = heights.shape
    for t in range(len(triangles)):
        a, b, c = triangles[t, 0], triangles[t, 1], triangles[t, 2]
        area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
        if abs(area) < 1e-15:
            continue
        left, right = min(a[0], b[0], c[0]), max(a[0], b[0], c[0])
        front, back = min(a[1], b[1], c[1]), max(a[1], b[1], c[1])
        for i in range(max(int((front - low[1]) / step[1]), 0), min(int((back - low[1]) / step[1]) + 2, rows)):
            y = low[1] + i * step[1]
            for j in range(max(int((left - low[0]) / step[0]), 0), min(int((right - low[0]) / step[0]) + 2, columns)):
                x = low[0] + j * step[0]
                v = ((x - a[0]) * (c[1] - a[1]) - (y - a[1]) * (c[0] - a[0])) / area
                w = ((b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0])) / area
                if v >= _INSIDE and w >= _INSIDE and v + w <= 1 - _INSIDE:
                    heights[i, j] = max(heights[i, j], a[2] + v * (b[2] - a[2]) + w * (c[2] - a[2]))
