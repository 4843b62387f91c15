"""Convex solids that fill about what a mesh does: physics wants them convex, cones with a flat foot are not."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from simjudge.core.arrays import FloatArray
from simjudge.sim.scene.model import Mesh

_LOOSE = 0.1
"""Share of volume that may be added when two slices are put together into one hull."""
_MOST_LEVELS = 24
"""Heights at which a mesh is cut, at most."""
_GRAIN = 1e-5
"""Metres: heights that differ by less are one."""


class ConvexSolid(NamedTuple):
    """A convex solid.

    Attributes:
        points: (N, 3), metres, the corners of its hull.
    """

    points: FloatArray
    volume: float


def whole_hull(mesh: Mesh) -> list[ConvexSolid]:
    """The mesh's convex hull; nothing where the mesh is flat.

    Args:
        mesh: with vertices (V, 3), metres.
    """
    return _solid(mesh.vertices)


def horizontal_slices(mesh: Mesh) -> list[ConvexSolid]:
    """Hulls of horizontal slices of a mesh, from the lowest up; nothing where the mesh is flat.

    It is cut where it has vertices, and put together again as long as that adds less than a tenth of the volume: a box
    stays one solid, a cone on a wide foot becomes two.

    Args:
        mesh: with vertices (V, 3), metres.
    """
    levels = np.unique(np.round(mesh.vertices[:, 2] / _GRAIN)) * _GRAIN
    if len(levels) > _MOST_LEVELS:
        levels = levels[np.linspace(0, len(levels) - 1, _MOST_LEVELS).round().astype(int)]
    solids: list[ConvexSolid] = []
    for low, high in pairwise(levels):
        for piece in _solid(_slice(mesh, low, high)):
            joined = _solid(np.concatenate([solids[-1].points, piece.points])) if solids else []
            if joined and joined[0].volume < (1 + _LOOSE) * (solids[-1].volume + piece.volume):
                solids[-1] = joined[0]
            else:
                solids.append(piece)
    return solids


def _slice(mesh: Mesh, low: float, high: float) -> FloatArray:
    """Points of a mesh just above one height, just below another, and in between."""
    within = min(0.01 * (high - low), _GRAIN)
    z = mesh.vertices[:, 2]
    between = mesh.vertices[(z > low + within) & (z < high - within)]
    return np.concatenate([_section(mesh, low + within, low), between, _section(mesh, high - within, high)])


def _section(mesh: Mesh, at: float, shown: float) -> FloatArray:
    """Where the mesh's edges pass a height, put at the height `shown`."""
    ends = mesh.vertices[mesh.faces[:, [[0, 1], [1, 2], [2, 0]]]].reshape(-1, 2, 3)
    ends = ends[(ends[:, 0, 2] - at) * (ends[:, 1, 2] - at) < 0]
    part = (at - ends[:, :1, 2]) / (ends[:, 1:, 2] - ends[:, :1, 2])
    points: FloatArray = ends[:, 0] + part * (ends[:, 1] - ends[:, 0])
    points[:, 2] = shown
    return points


def _solid(points: FloatArray) -> list[ConvexSolid]:
    try:
        hull = ConvexHull(points)
    except (QhullError, ValueError):
        return []
    return [ConvexSolid(points[hull.vertices], float(hull.volume))]
