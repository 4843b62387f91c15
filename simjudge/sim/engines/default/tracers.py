"""The tracer that can run here."""

from __future__ import annotations

from collections.abc import Sequence

from simjudge.sim.engines.default.packed import Integers, world_vertices
from simjudge.sim.engines.default.tracer import Tracer
from simjudge.sim.engines.default.variant import choose_variant, load_mitsuba
from simjudge.sim.scene.model import Thing


def make_tracer(things: Sequence[Thing], first_face: Integers, moving: Sequence[bool]) -> Tracer:
    """The tracer that can run here, with things where the scene has them.

    Args:
        first_face: int32 (T,), each thing's first among the faces of all things.

    Returns:
        Mitsuba's tracer, or the one in NumPy where Mitsuba cannot run.
    """
    vertices = [world_vertices(thing, thing.pose) for thing in things]
    meshes = [thing.mesh for thing in things]
    clear = [thing.surface.refractive_index is not None for thing in things]
    if choose_variant() == "numpy":
        from simjudge.sim.engines.default.numpy_tracer import NumpyTracer  # noqa: PLC0415 - compiles its loops

        return NumpyTracer(meshes, vertices, moving, clear)
    load_mitsuba()
    from simjudge.sim.engines.default.mitsuba_tracer import MitsubaTracer  # noqa: PLC0415 - needs its variant set
    from simjudge.sim.engines.default.mitsuba_trees import Part  # noqa: PLC0415 - likewise

    parts = [Part(k, mesh.vertices, at, mesh.faces) for k, (mesh, at) in enumerate(zip(meshes, vertices, strict=True))]
    return MitsubaTracer(parts, first_face, moving, clear)
