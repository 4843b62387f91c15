"""Ground that is a mesh: what tyres feel of it (RigidTerrain), and what free things feel.

Against Chrono's own triangles, cylinders creep by some millimetres a second on a slope; against hulls they stand.
docs/measurements/chrono.md has the numbers.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.sim.engines.chrono.modules import Modules
from simjudge.sim.engines.chrono.scenes import PlannedBody, wavefront
from simjudge.sim.scene.model import Mesh

_DEPTH = 0.5
"""Metres: how far the solid of a triangle goes down."""
_LEAST_AREA = 1e-9
"""Square metres of a triangle seen from above: one that stands upright has no solid."""


def triangle_solids(mesh: Mesh) -> FloatArray:
    """What free things feel of a ground: below each triangle a prism, straight down.

    Args:
        mesh: of the ground, metres.

    Returns:
        The corners of each prism (N, 6, 3), metres, in the mesh's frame; triangles that stand upright are left out.
    """
    top = np.asarray(mesh.vertices, np.float64)[mesh.faces]
    (ax, ay), (bx, by) = ((top[:, corner, :2] - top[:, 0, :2]).T for corner in (1, 2))
    top = top[np.abs(ax * by - ay * bx) / 2 > _LEAST_AREA]
    return np.concatenate([top, top - (0.0, 0.0, _DEPTH)], axis=1)


class TyreGround:
    """What the tyres roll on: mesh patches, and z = 0 beside them.

    The patches are in a system of their own that never steps: tyres ask for heights by rays, and no body of the
    scene is between. The collision envelope is 0: with Chrono's default the rays end up to 6 mm above the mesh.

    Args:
        bodies: of the scene; those whose collider is a ground become patches.

    Attributes:
        terrain: a ChTerrain, for `Synchronize` of vehicles.
    """

    def __init__(self, modules: Modules, bodies: Sequence[PlannedBody], friction: float) -> None:
        """Make the patches."""
        core, grounds = modules.core, [body for body in bodies if body.collider.kind == "ground"]
        self.terrain: Any = modules.vehicle.FlatTerrain(0.0, friction)
        if not grounds:
            return
        self._system = core.ChSystemNSC()
        self._system.SetCollisionSystemType(core.ChCollisionSystem.Type_BULLET)
        self.terrain = modules.vehicle.RigidTerrain(self._system)
        material = core.ChContactMaterialNSC()
        material.SetFriction(friction)
        core.ChCollisionModel.SetDefaultSuggestedEnvelope(0.0)
        core.ChCollisionModel.SetDefaultSuggestedMargin(0.0)
        with tempfile.TemporaryDirectory() as folder:
            for number, body in enumerate(grounds):
                path = Path(folder) / f"{number}.obj"
                path.write_text(wavefront(body.mesh), encoding="ascii")
                x, y, z, w = body.pose.orientation
                place = core.ChCoordsysd(core.ChVector3d(*body.pose.position), core.ChQuaterniond(w, x, y, z))
                self.terrain.AddPatch(material, place, str(path), True, 0.0, False)
            self.terrain.Initialize()
        self._system.GetCollisionSystem().BindAll()

    def height(self, modules: Modules, x: float, y: float, above: float = 100.0) -> float:
        """Height of the ground, as tyres are told it.

        Args:
            x, y: metres, world.
            above: height from which the ray goes down, metres.
        """
        return float(self.terrain.GetHeight(modules.core.ChVector3d(x, y, above)))
