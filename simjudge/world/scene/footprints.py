"""Where on the floor nothing can be put: the outlines, seen from above, of what stands there, and the things placed."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.spatial import ConvexHull

from simjudge.frames import BoolArray, FloatArray
from simjudge.world.scene.model import Thing

_HEAD_ROOM, _FLAT = 0.5, 0.005
"""Metres: things that begin above, or end below, stand in nobody's way."""
_THICKNESS = 1e-3


class Footprints:
    """Convex outlines of solid things that stand on the floor."""

    def __init__(self, things: Iterable[Thing]) -> None:
        """Take the outlines of those of the things that stand in the way."""
        self.names: list[str] = []
        self._sides: list[FloatArray] = []
        for thing in things:
            vertices = thing.pose.to_world(thing.mesh.vertices)
            low, high = vertices[:, 2].min(), vertices[:, 2].max()
            if thing.collider.kind in {"none", "plane"} or low > _HEAD_ROOM or high < _FLAT:
                continue
            self.names.append(thing.name)
            self._sides.append(_outline(vertices[:, :2]))

    def within(self, points: FloatArray, margin: float) -> BoolArray:
        """Which of the points (N, 2) have something nearer than `margin`, metres (a little more at corners)."""
        out = np.zeros(len(points), bool)
        for sides in self._sides:
            out |= _beyond(sides, points) < margin
        return out

    def at(self, x: float, y: float, margin: float) -> str | None:
        """The name of what is nearer to a point than `margin`, metres."""
        point = np.array([[x, y]])
        return next((n for n, s in zip(self.names, self._sides, strict=True) if _beyond(s, point)[0] < margin), None)


def radius_of(vertices: FloatArray) -> float:
    """Metres from the origin of a mesh to the farthest of its vertices, seen from above."""
    return float(np.max(np.linalg.norm(vertices[:, :2], axis=1)))


def _outline(points: FloatArray) -> FloatArray:
    """Sides (S, 3) of the convex hull: a, b, c with a x + b y + c = metres beyond that side."""
    corners = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]]) * _THICKNESS / 2
    spread = (points[:, None] + corners).reshape(-1, 2)
    sides: FloatArray = ConvexHull(spread).equations
    return sides


def _beyond(sides: FloatArray, points: FloatArray) -> FloatArray:
    """Metres from an outline, negative inside; at corners less than the true distance."""
    distance: FloatArray = np.max(points @ sides[:, :2].T + sides[:, 2], axis=1)
    return distance
