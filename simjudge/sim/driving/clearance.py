"""How near a car comes to the labelled things that stand fast, as seen from above."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from scipy.spatial import ConvexHull

from simjudge.core.arrays import FloatArray
from simjudge.sim.engines.contract import Engine
from simjudge.sim.scene.model import NO_INSTANCE, Thing
from simjudge.sim.vehicle.car_appearance import PARTS

_HEAD_ROOM = 0.5
"""Metres: things that begin above are in no car's way."""


class Clearance:
    """The distance between a car's outline and those of labelled static things, and the least so far.

    Attributes:
        least: metres, 0 where they meet; infinite before the first update, or where nothing labelled stands fast.
    """

    def __init__(self, engine: Engine) -> None:
        """Take the outlines."""
        self._engine = engine
        standing = [thing for thing in engine.scene.things if _stands(thing)]
        self._outlines = [_outline(thing.pose.to_world(thing.mesh.vertices)) for thing in standing]
        self._centres = np.array([outline.mean(0) for outline in self._outlines]).reshape(-1, 2)
        radii = [np.linalg.norm(o - c, axis=1).max() for o, c in zip(self._outlines, self._centres, strict=True)]
        self._radii = np.array(radii)
        self._parts: Mapping[str, FloatArray] = {
            thing.name: thing.mesh.vertices[ConvexHull(thing.mesh.vertices).vertices]
            for thing in engine.things
            if thing.name in PARTS
        }
        self.least = math.inf

    def update(self) -> None:
        """Take note of where the car is now."""
        if not self._outlines:
            return
        poses = self._engine.poses()
        car = _outline(np.concatenate([poses[name].to_world(mesh) for name, mesh in self._parts.items()]))
        inside = np.all(_beyond(car, self._centres) <= 0, axis=0)
        at_least = np.where(inside, 0.0, _side_distances(self._centres, car)) - self._radii
        for row in np.flatnonzero(at_least < self.least):
            self.least = min(self.least, outline_distance(car, self._outlines[row]))


def outline_distance(one: FloatArray, other: FloatArray) -> float:
    """The distance between two convex outlines, metres; 0 where they overlap.

    Args:
        one: corners (M, 2), counter-clockwise.
        other: corners (N, 2), counter-clockwise.
    """
    # Two convex outlines are apart if and only if a side of one of them has the whole other beyond it.
    if not any(np.any(_beyond(a, b).min(1) > 0) for a, b in ((one, other), (other, one))):
        return 0.0
    return float(min(_side_distances(one, other).min(), _side_distances(other, one).min()))


def _beyond(outline: FloatArray, points: FloatArray) -> FloatArray:
    """How far points are beyond each side of an outline (sides, points), in any unit above 0."""
    sides = np.roll(outline, -1, 0) - outline
    away = points[None] - outline[:, None]
    out: FloatArray = sides[:, None, 1] * away[..., 0] - sides[:, None, 0] * away[..., 1]
    return out


def _side_distances(points: FloatArray, outline: FloatArray) -> FloatArray:
    """The distance of each point to the nearest side of an outline."""
    sides = np.roll(outline, -1, 0) - outline
    away = points[:, None] - outline
    share = np.clip(np.einsum("psk,sk->ps", away, sides) / np.einsum("sk,sk->s", sides, sides), 0.0, 1.0)
    distance: FloatArray = np.linalg.norm(away - share[..., None] * sides, axis=2).min(1)
    return distance


def _stands(thing: Thing) -> bool:
    solid = thing.motion == "static" and thing.instance != NO_INSTANCE and thing.collider.kind != "none"
    return solid and bool(thing.pose.to_world(thing.mesh.vertices)[:, 2].min() < _HEAD_ROOM)


def _outline(vertices: FloatArray) -> FloatArray:
    """The convex hull of vertices seen from above, counter-clockwise: (N, 2)."""
    flat = vertices[:, :2]
    corners: FloatArray = flat[ConvexHull(flat).vertices]
    return corners
