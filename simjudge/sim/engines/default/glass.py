"""Rays through clear glass: Snell's refraction, Fresnel's reflection, total reflection, up to a number of surfaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from simjudge.sim.engines.default.packed import GLASS, Floats
from simjudge.sim.engines.default.tracer import Hit, Tracer

DEPTH = 8
"""Surfaces of glass that a ray passes; behind more of them it sees what is behind everything."""
OFFSET = 2e-5
"""Secondary rays start this far off the surface, times 1 + the largest coordinate."""
_GRAZING = 1e-3
"""Smallest cosine with a surface's smooth normal."""


class GlassPath(NamedTuple):
    """Rays behind the glass that they met.

    Attributes:
        travelled: number, metres before that part.
        weight: vector, the part of the light from there that arrives.
        reach: number, metres to the first glass.
        share: number, what the first glass mirrors of what stands in front of it.
        mirror_start, mirror: vectors, the ray that it mirrors.
    """

    hit: Hit
    start: Any
    direction: Any
    travelled: Any
    weight: Any
    met: Any
    reach: Any
    share: Any
    mirror_start: Any
    mirror: Any


class Interface(NamedTuple):
    """What a surface of glass does to rays: see `refract`."""

    onward: Any
    mirrored: Any
    share: Any
    total: Any


class Glass:
    """The clear things of a scene."""

    def __init__(self, tracer: Tracer, rows: Floats, normals: Callable[[Hit], tuple[Any, Any]]) -> None:
        """Bring them to where the tracer computes."""
        self._t, self._rows, self._normals = tracer, tracer.table(rows), normals

    def follow(self, hit: Hit, start: Any, direction: Any, *, depth: int = DEPTH, labels: bool = False) -> GlassPath:
        """Rays through all the glass that they meet.

        Args:
            start: vector, world, metres.
        """
        t, xp = self._t, self._t.xp
        travelled = 0 * direction[0]
        weight = t.vector([travelled + 1] * 3)
        path: GlassPath | None = None
        for _ in range(depth):
            row, through = self._clear(hit, labels=labels)
            smooth, facet = self._normals(hit)
            entering = t.dot(facet, direction) < 0
            side = t.select(entering, 1.0, -1.0)
            thin = row[4] > 0
            found = self.refract(direction, smooth * side, row[0], entering | thin, thin)
            point = start + direction * hit.distance
            lift = facet * (side * (OFFSET * (1 + t.largest(xp.abs(point)))))
            if path is None:
                share = t.select(through & ~found.total, found.share, 0.0)
                path = GlassPath(
                    hit, start, direction, travelled, weight, through, hit.distance, share, point + lift, found.mirrored
                )
            passed = t.vector([row[1], row[2], row[3]]) * (1 - found.share)
            weight = t.select(through & ~found.total, weight * passed, weight)
            travelled = t.select(through, travelled + hit.distance, travelled)
            start = t.select(through, t.select(found.total, point + lift, point - lift), start)
            direction = t.select(through, found.onward, direction)
            following = t.hit(start, direction, through)
            hit = Hit(*(t.select(through, new, old) for new, old in zip(following, hit, strict=True)))
        if path is None:
            raise ValueError(depth)
        _, still = self._clear(hit, labels=labels)
        hit = hit._replace(valid=hit.valid & ~still)
        return path._replace(hit=hit, start=start, direction=direction, travelled=travelled, weight=weight)

    def refract(self, direction: Any, normal: Any, index: Any, entering: Any, thin: Any) -> Interface:
        """What a surface does: Snell's law, and Fresnel's equations for light that is not polarized.

        Args:
            thin: mask: a pane without thickness, that does not bend rays and mirrors with both its surfaces.

        Returns:
            The direction onward (mirrored, where the reflection is total), the mirrored one, the share that is
            mirrored, and where all of it is.
        """
        t, xp = self._t, self._t.xp
        cosine = xp.maximum(-t.dot(normal, direction), _GRAZING)
        index = xp.maximum(index, 1.0)
        eta = t.select(entering, 1 / index, index)
        square = eta * eta * (1 - cosine * cosine)
        total = square >= 1
        within = xp.sqrt(xp.maximum(1 - square, 0.0))
        across = (eta * cosine - within) / (eta * cosine + within)
        along = (cosine - eta * within) / (cosine + eta * within)
        share = (across * across + along * along) / 2
        share = t.select(thin, 2 * share / (1 + share), share)
        mirrored = self._unit(direction + 2 * cosine * normal)
        refracted = self._unit(eta * direction + (eta * cosine - within) * normal)
        onward = t.select(total, mirrored, t.select(thin, direction, refracted))
        return Interface(onward, mirrored, t.select(total, 1.0, share), total)

    def _clear(self, hit: Hit, *, labels: bool) -> tuple[Any, Any]:
        """The rows of what was hit, and where rays pass it."""
        row = self._t.row(self._rows, hit.thing, GLASS, hit.valid)
        through = hit.valid & (row[0] > 0)
        return row, through & (row[5] > 0) if labels else through

    def _unit(self, vector: Any) -> Any:
        return vector / self._t.xp.sqrt(self._t.xp.maximum(self._t.dot(vector, vector), 1e-30))
