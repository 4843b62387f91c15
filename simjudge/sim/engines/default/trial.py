"""A small picture through one of Mitsuba's variants, for `variant`: run where an abort does no harm.

LLVM 15 and 16 pass simple kernels and abort on larger ones, so the trial is the tracer's own.
"""

from __future__ import annotations

import numpy as np

from simjudge.geometry.poses import Pose
from simjudge.sim.engines.default.camera_rays import Rays, View
from simjudge.sim.engines.default.integrator import Integrator
from simjudge.sim.engines.default.packed import pack, world_vertices
from simjudge.sim.scene.model import Mesh, PointLight, Scene, Surface, Thing


def main(variant: str) -> None:
    """Print "fit" after a picture of a textured plate has been traced."""
    import mitsuba  # noqa: PLC0415 - in the trial's process only

    mitsuba.set_variant(variant)
    from simjudge.sim.engines.default.mitsuba_tracer import MitsubaTracer, Part  # noqa: PLC0415 - needs its variant set

    corners = np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]])
    plate = Mesh(corners, np.array([[0, 1, 2], [0, 2, 3]]), corners[:, :2], np.tile([0.0, 0, 1], (4, 1)))
    thing = Thing("plate", plate, Surface(texture=np.full((2, 2, 3), 0.5, np.float32), roughness=0.2))
    packed = pack(Scene("trial", (thing,), (PointLight((0, 0, 1), (1, 1, 1), 5),)), (thing,))
    parts = [Part(0, plate.vertices, world_vertices(thing, Pose()), plate.faces)]
    tracer = MitsubaTracer(parts, packed.first_face, [False], [False])
    integrator = Integrator(tracer, packed)
    integrator.set_rotations(np.eye(3)[None])
    direction = np.tile(np.array([0, 0, 1], np.float32), (256, 1))
    rays = Rays(tracer.given(direction), tracer.given(np.full((256, 2), 0.5, np.float32)))
    view = View(
        Pose.from_euler(0, 0, 1, pitch=1.5708).optical_frame().rotation_matrix(), np.array([0.1, 0, 1.0]), 0.01, (0, 0)
    )
    light = integrator.radiance(rays, view, 4)
    thing_seen, _ = integrator.things_and_depth(rays, view)
    print("fit" if np.isfinite(light).all() and light.min() > 0 and (thing_seen == 0).all() else "unfit")
