"""Light that surfaces throw on each other, by paths of rays (Kajiya, "The rendering equation", 1986).

It takes the place of ambient light where a scene asks for bounces. Each ray of the camera goes on from where it hits,
in a direction drawn by the cosine, as often as the scene says. At each surface on the way it gathers the light of lamps
and sun; behind the last one ambient light stands for the rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from simjudge.sim.engines.default.surroundings import Surroundings
from simjudge.sim.engines.default.texture_lookup import fraction
from simjudge.sim.engines.default.tracer import Tracer

_BRIGHTEST = 1.0
"""Radiance above which no bounce counts: else single rays that meet a wall close to a lamp would sparkle."""
_STEPS = (0.7548776662, 0.5698402910)
"""By which the random numbers of a ray move from bounce to bounce: an R2 sequence, evenly spread over the square."""
BOUNCE_SPREAD = 0.5
"""Width of a ray's footprint per metre that it goes: what it sees of textures is their mean."""

Throw = Callable[[Any, Any, Any, Any], tuple[Any, Any, Any, Any, Any]]
"""From start, direction, footprint and mask of rays: mask of what they hit, the point off it, its normal, the light
that it sends back, and the share of light from everywhere that it reflects."""


class IndirectLight:
    """Paths through a scene."""

    def __init__(self, tracer: Tracer, bounces: int, surroundings: Surroundings, throw: Throw) -> None:
        """Prepare nothing."""
        self._t, self._bounces, self._around, self._throw = tracer, bounces, surroundings, throw

    def light(self, off: Any, normal: Any, valid: Any, footprint: Any, grain: tuple[Any, Any]) -> Any:
        """The mean radiance that comes to a surface, weighted by the cosine: irradiance / pi, estimated by one path.

        Args:
            off: vector, world, metres: points off the surface.
            footprint: number, metres: width of the ray there.
        """
        t, xp = self._t, self._t.xp
        total, weight = 0.0 * normal, 1.0
        for bounce in range(1, self._bounces + 1):
            u1, u2 = (fraction(xp, number + bounce * step) for number, step in zip(grain, _STEPS, strict=True))
            direction = self._cosine_direction(normal, u1, u2)
            valid_before = valid
            valid, off, normal, sent, reflected = self._throw(off, direction, footprint, valid_before)
            background = self._around.background(direction, BOUNCE_SPREAD)
            came = t.select(valid, xp.minimum(sent, _BRIGHTEST), background)
            total = total + t.select(valid_before, came * weight, 0.0)
            weight = reflected * weight
        return total + t.select(valid, self._around.ambient(normal) * weight, 0.0)

    def _cosine_direction(self, normal: Any, u1: Any, u2: Any) -> Any:
        """A unit vector about a normal, drawn by the cosine: the normal and a point of the unit sphere, added."""
        t, xp = self._t, self._t.xp
        height = 1 - 2 * u1
        ring = xp.sqrt(xp.maximum(1 - height * height, 0.0))
        point = t.vector([ring * xp.cos(2 * math.pi * u2), ring * xp.sin(2 * math.pi * u2), height])
        both = 1.001 * normal + point
        return both / xp.sqrt(xp.maximum(t.dot(both, both), 1e-12))
