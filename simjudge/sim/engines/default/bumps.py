"""Normal maps on a tracer: small bumps that only shading sees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simjudge.sim.engines.default.packed import TANGENT, PackedBumps
from simjudge.sim.engines.default.packed_textures import LOOKUP
from simjudge.sim.engines.default.texture_lookup import TextureLookup
from simjudge.sim.engines.default.tracer import Hit, Tracer


class Bumps:
    """The normal maps of a scene."""

    def __init__(self, tracer: Tracer, packed: PackedBumps) -> None:
        """Bring them to where the tracer computes."""
        self._t = tracer
        self._lookups, self._tangents = tracer.table(packed.lookups), tracer.table(packed.tangents)
        self._maps = TextureLookup(tracer, packed.levels, packed.texels)

    def bent(self, normal: Any, hit: Hit, u: Any, v: Any, texels: Any, rotated: Callable[[Any], Any]) -> Any:
        """Normals as the maps bend them: n = x T + y B + z N, T along u at right angles to N, B along v.

        Args:
            rotated: from a vector in the things' frames to one in the world.

        Returns:
            Vector, unit, world; that of before where there is no map, or no texture coordinates.
        """
        t = self._t
        row = t.row(self._tangents, hit.face, TANGENT, hit.valid)
        tangent = rotated(t.vector([row[0], row[1], row[2]]))
        tangent = tangent - normal * t.dot(normal, tangent)
        square = t.dot(tangent, tangent)
        tangent = tangent / t.xp.sqrt(t.xp.maximum(square, 1e-12))
        lookup = t.row(self._lookups, hit.thing, LOOKUP, hit.valid)
        n = self._maps.value(lookup, u, v, texels, hit.valid)
        bent = n[0] * tangent + (n[1] * row[3]) * t.cross(normal, tangent) + n[2] * normal
        bent = bent / t.xp.sqrt(t.xp.maximum(t.dot(bent, bent), 1e-12))
        return t.select(hit.valid & (lookup[1] > 0) & (square > 1e-6), bent, normal)
