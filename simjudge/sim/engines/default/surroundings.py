"""The light from far away on a tracer: what rays see that hit nothing, ambient light, the sun, and fog on the way."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from simjudge.sim.engines.default.packed_surroundings import PackedSurroundings
from simjudge.sim.engines.default.texture_lookup import TextureLookup
from simjudge.sim.engines.default.tracer import Tracer

_FARTHEST = 1e30
"""Metres that a ray goes which hits nothing."""
_LEVEL = 1e-6
"""Slope of rays below which they count as level, on the way to the fog's ceiling."""
_RADIANS = 1 / (math.pi * math.sqrt(2))
"""Texture coordinates of a panorama per radian, at the horizon: the root of 1 / 2 pi times 1 / pi."""


class SunLight(NamedTuple):
    """The sun on a tracer: a vector towards it, its irradiance (a vector), metres within which a thing shades it."""

    direction: Any
    irradiance: Any
    distance: float


class Surroundings:
    """What is around a scene.

    Attributes:
        sun: None where there is none.
    """

    def __init__(self, tracer: Tracer, packed: PackedSurroundings) -> None:
        """Bring it to where the tracer computes."""
        self._t, self._sky = tracer, packed.sky
        self._ambient = tracer.vector(tracer.same(packed.ambient.tolist()))
        self._background = tracer.vector(tracer.same(packed.background.tolist()))
        self.sun: SunLight | None = None
        if packed.sun is not None:
            direction, irradiance = (
                tracer.vector(tracer.same(values)) for values in (packed.sun.direction, packed.sun.irradiance)
            )
            self.sun = SunLight(direction, irradiance, _FARTHEST)
        if self._sky is not None:
            self._picture = TextureLookup(tracer, self._sky.levels, self._sky.texels, around=True)
            self._light = TextureLookup(tracer, self._sky.light_levels, self._sky.light_texels, around=True)
        self._fog = packed.fog
        if packed.fog is not None:
            self._density, self._ceiling = tracer.same([packed.fog.density, min(packed.fog.ceiling, _FARTHEST)])
            self._fog_radiance = tracer.vector(tracer.same(packed.fog.radiance))

    def background(self, direction: Any, spread: Any) -> Any:
        """What rays see that hit nothing.

        Args:
            spread: number, the ray's opening, radians.
        """
        if self._sky is None:
            return self._background
        u, v = self._coordinates(direction)
        return self._picture.value(self._sky.lookup, u, v, spread * _RADIANS, self._t.everywhere)

    def ambient(self, normal: Any) -> Any:
        """The mean radiance of all that surrounds a surface, weighted by the cosine, without shadows.

        Returns:
            Radiance, a vector: irradiance / pi.
        """
        if self._sky is None:
            return self._ambient
        return self._ambient + self._light.finest(*self._coordinates(normal))

    def mirrored(self, normal: Any, n_v: Any, view: Any) -> Any:
        """The same about the direction that a surface mirrors, which stands for a wide lobe there."""
        if self._sky is None:
            return self._ambient
        return self.ambient(2 * n_v * normal - view)

    def through_fog(self, light: Any, start: Any, direction: Any, distance: Any, valid: Any) -> Any:
        """What is left of light on its way through the fog, with the fog's own (Koschmieder, 1924).

        Args:
            light: vector, radiance at the far end of rays.
            start: vector, world, metres, of the near end.
            distance: number, metres.
            valid: mask: rays that hit something; the others go on for ever.
        """
        if self._fog is None:
            return light
        t, xp = self._t, self._t.xp
        length = t.select(valid, distance, _FARTHEST)
        if math.isfinite(self._fog.ceiling):
            up = t.select(xp.abs(direction[2]) > _LEVEL, direction[2], _LEVEL)
            there = (self._ceiling - start[2]) / up
            below = t.select(up > 0, xp.minimum(length, there), length)
            above = t.select(up < 0, xp.maximum(length - there, 0.0), 0.0)
            length = t.select(start[2] < self._ceiling, below, above)
        clear = xp.exp(-self._density * length)
        return light * clear + self._fog_radiance * (1 - clear)

    def _coordinates(self, direction: Any) -> tuple[Any, Any]:
        """Texture coordinates of directions in a panorama."""
        t = self._t
        x, y, z = direction[0], direction[1], direction[2]
        yaw = 0.0 if self._sky is None else self._sky.yaw
        u = 0.5 - (t.angle(y, x) - yaw) * (0.5 / math.pi)
        return u, 0.5 + t.angle(z, t.xp.sqrt(x * x + y * y)) * (1 / math.pi)
