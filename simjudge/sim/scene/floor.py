"""What stands on the floor, seen from above: where nothing else can be put."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from scipy.spatial import ConvexHull

from simjudge.core.arrays import BoolArray, FloatArray
from simjudge.sim.scene.centre_lines import resample
from simjudge.sim.scene.ground import Ground
from simjudge.sim.scene.model import NO_INSTANCE, Thing

_HEAD_ROOM = 0.5
"""Metres: things that begin above stand in nobody's way."""
_FLAT = 0.005
"""Metres: things that end below stand in nobody's way."""
_THICKNESS = 1e-3
_SMALLEST = 0.05
"""Metres: radius of the smallest circle about what moves."""


class Floor:
    """Convex outlines of solid static things, and circles about those that are free or counted.

    Attributes:
        circles: float64 (N, 3), x, y and radius, metres.
    """

    def __init__(self, things: Iterable[Thing] = ()) -> None:
        """Begin with some things on it."""
        self.circles: FloatArray = np.zeros((0, 3))
        self._round: list[str] = []
        self._outlines: dict[str, FloatArray] = {}
        self.ground = Ground()
        self.add(things)

    def add(self, things: Iterable[Thing]) -> None:
        """Take note of those of the things that stand in the way.

        Args:
            things: in the world; those that hang high, lie flat or are not solid are passed over.
        """
        circles, things = [], list(things)
        self.ground = Ground.of([*self.ground.things, *things])
        for thing in things:
            if thing.path is not None:
                # Circles so close together that they hold all that goes along the path.
                radius = max(radius_from_above(thing.mesh.vertices), _SMALLEST)
                swept = resample(thing.path.keyframes.position[:, 0, :2], radius / 2).tolist()
                circles += [[x, y, radius] for x, y in swept]
                self._round += [thing.name] * len(swept)
            elif thing.motion == "free" or thing.instance != NO_INSTANCE:
                circles.append([*thing.pose.position[:2], radius_from_above(thing.mesh.vertices)])
                self._round.append(thing.name)
            elif thing.collider.kind not in {"none", "plane", "ground"}:
                vertices = thing.pose.to_world(thing.mesh.vertices)
                if vertices[:, 2].min() <= _HEAD_ROOM and vertices[:, 2].max() >= _FLAT:
                    self._outlines[thing.name] = _outline(vertices[:, :2])
        self.circles = np.concatenate([self.circles, np.array(circles).reshape(-1, 3)])

    def blocked(self, points: FloatArray, margin: float) -> BoolArray:
        """Which of the points (N, 2) are nearer to an outline than `margin`, metres (a little more at corners).

        Args:
            points: float64 (N, 2), metres, world.
            margin: metres that must be free around a point.

        Returns:
            Booleans (N,).
        """
        out = np.zeros(len(points), bool)
        for outline in self._outlines.values():
            out |= _beyond(outline, points) < margin
        return out

    def at(self, x: float, y: float, margin: float) -> str | None:
        """The name of what is nearer to a point than `margin`, metres.

        Args:
            x, y: metres, world.
            margin: metres around the point.

        Returns:
            The name; None where nothing is that near.
        """
        point = np.array([[x, y]])
        for name, (u, v, radius) in zip(self._round, self.circles.tolist(), strict=True):
            if math.hypot(x - u, y - v) < radius / math.sqrt(2) + margin:
                return name
        return next((name for name, outline in self._outlines.items() if _beyond(outline, point)[0] < margin), None)


def radius_from_above(vertices: FloatArray) -> float:
    """Metres from the origin of a mesh to the farthest of its vertices, seen from above.

    Args:
        vertices: float64 (V, 3), metres, in the mesh's frame.
    """
    return float(np.max(np.linalg.norm(vertices[:, :2], axis=1)))


def _outline(points: FloatArray) -> FloatArray:
    """Sides (S, 3) of the convex hull: a, b, c with a x + b y + c = metres beyond that side."""
    corners = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]]) * _THICKNESS / 2
    spread = (points[:, None] + corners).reshape(-1, 2)
    sides: FloatArray = ConvexHull(spread).equations
    return sides


def _beyond(outline: FloatArray, points: FloatArray) -> FloatArray:
    """Metres from an outline, negative inside; at corners less than the true distance."""
    distance: FloatArray = np.max(points @ outline[:, :2].T + outline[:, 2], axis=1)
    return distance
