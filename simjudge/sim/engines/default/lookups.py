"""What rays look up on a tracer: textures, bumps, light from far away and from other surfaces, ways through glass.

Paths of rays (Kajiya, "The rendering equation", 1986) take the place of ambient light where a scene asks for bounces.
Each ray of the camera goes on from where it hits, in a direction drawn by the cosine, as often as the scene says. At
each surface on the way it gathers the light of lamps and sun; behind the last one ambient light stands for the rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from simjudge.sim.engines.default.packed import (
    GLASS,
    LEVEL,
    LOOKUP,
    TANGENT,
    TEXEL,
    Floats,
    Integers,
    PackedBumps,
    PackedSurroundings,
)
from simjudge.sim.engines.default.tracer import Hit, Tracer


class TextureLookup:
    """Textures one after another, each with its levels."""

    def __init__(self, tracer: Tracer, levels: Integers, texels: Floats, *, around: bool = False) -> None:
        """Bring them to where the tracer computes (levels: int32 (M, 4); texels: float32 (N, 4))."""
        self._t, self._around = tracer, around
        self._levels, self._texels = tracer.table(levels), tracer.table(texels)

    def value(self, lookup: Any, u: Any, v: Any, texels: Any, valid: Any) -> Any:
        """Linear RGB between the two levels whose texels are about as wide as the ray; white without a texture."""
        t = self._t
        textured = valid & (lookup[1] > 0)
        depth = t.xp.log2(t.xp.maximum(texels * t.decimal(lookup[3]), 1.0))
        last = t.xp.maximum(lookup[1] - 1, 0)
        level = t.xp.minimum(t.xp.maximum(t.whole(depth), 0), last)
        part = t.select(level < last, depth - t.decimal(level), 0.0)
        fine = self._bilinear(lookup[0] + level, u, v, textured)
        coarse = self._bilinear(lookup[0] + t.xp.minimum(level + 1, last), u, v, textured)
        return t.select(textured, fine + (coarse - fine) * part, 1.0)

    def finest(self, u: Any, v: Any) -> Any:
        """The first texture's first level: vector, linear RGB."""
        return self._bilinear(0, u, v, self._t.everywhere)

    def _bilinear(self, level: Any, u: Any, v: Any, active: Any) -> Any:
        """One level of a texture; row 0 is at v = 1."""
        t = self._t
        begin, width, height, _ = t.row(self._levels, level, LEVEL, active)
        x = fraction(t.xp, u) * t.decimal(width) - 0.5
        y = (1 - (v if self._around else fraction(t.xp, v))) * t.decimal(height) - 0.5
        left, top = t.whole(x), t.whole(y)
        f, g = x - t.decimal(left), y - t.decimal(top)
        last, first = (height - 1, 0) if self._around else (0, height - 1)
        right, bottom = t.select(left + 1 >= width, 0, left + 1), t.select(top + 1 >= height, last, top + 1)
        left, top = t.select(left < 0, width - 1, left), t.select(top < 0, first, top)

        def texel(column: Any, row: Any) -> Any:
            at = t.row(self._texels, begin + row * width + column, TEXEL, active)
            return t.vector([at[0], at[1], at[2]])

        upper = texel(left, top) * (1 - f) + texel(right, top) * f
        return upper * (1 - g) + (texel(left, bottom) * (1 - f) + texel(right, bottom) * f) * g


def fraction(xp: Any, number: Any) -> Any:
    """What is left of a number above the integer below it."""
    return number - xp.floor(number)


class Bumps:
    """The normal maps of a scene."""

    def __init__(self, tracer: Tracer, packed: PackedBumps) -> None:
        self._t = tracer
        self._lookups, self._tangents = tracer.table(packed.lookups), tracer.table(packed.tangents)
        self._maps = TextureLookup(tracer, packed.levels, packed.texels)

    def bent(self, normal: Any, hit: Hit, u: Any, v: Any, texels: Any, rotated: Callable[[Any], Any]) -> Any:
        """Normals as the maps bend them: n = x T + y B + z N, T along u at right angles to N, B along v."""
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


_FARTHEST = 1e30  # Metres that a ray goes which hits nothing
_LEVEL = 1e-6  # Slope of rays below which they count as level, on the way to the fog's ceiling
# Texture coordinates of a panorama per radian, at the horizon: the root of 1 / 2 pi times 1 / pi.
_RADIANS = 1 / (math.pi * math.sqrt(2))


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
        """What rays see that hit nothing (spread: number, the ray's opening, radians)."""
        if self._sky is None:
            return self._background
        u, v = self._coordinates(direction)
        return self._picture.value(self._sky.lookup, u, v, spread * _RADIANS, self._t.everywhere)

    def ambient(self, normal: Any) -> Any:
        """The mean radiance of all around a surface, weighted by the cosine, without shadows: irradiance / pi."""
        if self._sky is None:
            return self._ambient
        return self._ambient + self._light.finest(*self._coordinates(normal))

    def mirrored(self, normal: Any, n_v: Any, view: Any) -> Any:
        """The same about the direction that a surface mirrors, which stands for a wide lobe there."""
        if self._sky is None:
            return self._ambient
        return self.ambient(2 * n_v * normal - view)

    def through_fog(self, light: Any, start: Any, direction: Any, distance: Any, valid: Any) -> Any:
        """What is left of light on its way through the fog, with the fog's own (Koschmieder, 1924)."""
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
        t = self._t
        x, y, z = direction[0], direction[1], direction[2]
        yaw = 0.0 if self._sky is None else self._sky.yaw
        u = 0.5 - (t.angle(y, x) - yaw) * (0.5 / math.pi)
        return u, 0.5 + t.angle(z, t.xp.sqrt(x * x + y * y)) * (1 / math.pi)


# Radiance above which no bounce counts: else single rays that meet a wall close to a lamp would sparkle.
_BRIGHTEST = 1.0
# By which the random numbers of a ray move from bounce to bounce: an R2 sequence, evenly spread over the square.
_STEPS = (0.7548776662, 0.5698402910)
BOUNCE_SPREAD = 0.5  # Width of a ray's footprint per metre that it goes: what it sees of textures is their mean

# From start, direction, footprint and mask of rays: mask of what they hit, the point off it, its normal, the light that
# it sends back, and the share of light from everywhere that it reflects.
Throw = Callable[[Any, Any, Any, Any], tuple[Any, Any, Any, Any, Any]]


class IndirectLight:
    """Paths through a scene."""

    def __init__(self, tracer: Tracer, bounces: int, surroundings: Surroundings, throw: Throw) -> None:
        self._t, self._bounces, self._around, self._throw = tracer, bounces, surroundings, throw

    def light(self, off: Any, normal: Any, valid: Any, footprint: Any, grain: tuple[Any, Any]) -> Any:
        """The mean radiance that comes to a surface, weighted by the cosine: irradiance / pi, estimated by one path."""
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


OFFSET = 2e-5  # Secondary rays start this far off the surface, times 1 + the largest coordinate
_GRAZING = 1e-3  # Smallest cosine with a surface's smooth normal


class GlassPath(NamedTuple):
    """Rays behind the glass that they met."""

    hit: Hit
    start: Any
    direction: Any
    travelled: Any  # number, metres before that part
    weight: Any  # vector, the part of the light from there that arrives
    met: Any
    reach: Any  # number, metres to the first glass
    share: Any  # number, what the first glass mirrors of what stands in front of it
    # mirror_start, mirror: vectors, the ray that it mirrors.
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

    def __init__(self, tracer: Tracer, rows: Floats, normals: Callable[[Hit], tuple[Any, Any]], depth: int) -> None:
        """Take the things' rows (depth: surfaces that a ray passes; behind more it sees what is behind everything)."""
        self._t, self._rows, self._normals, self._depth = tracer, tracer.table(rows), normals, depth

    def follow(
        self, hit: Hit, start: Any, direction: Any, *, most: int | None = None, labels: bool = False
    ) -> GlassPath:
        """Rays through all the glass that they meet (start: vector, world, metres; most: surfaces of glass)."""
        t, xp = self._t, self._t.xp
        travelled = 0 * direction[0]
        weight = t.vector([travelled + 1] * 3)
        path: GlassPath | None = None
        for _ in range(self._depth if most is None else min(self._depth, most)):
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
            raise ValueError(self._depth)
        _, still = self._clear(hit, labels=labels)
        hit = hit._replace(valid=hit.valid & ~still)
        return path._replace(hit=hit, start=start, direction=direction, travelled=travelled, weight=weight)

    def refract(self, direction: Any, normal: Any, index: Any, entering: Any, thin: Any) -> Interface:
        """What a surface does: Snell's law, and Fresnel's equations for light that is not polarized."""
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
