"""The light that rays see: every lamp with its shadow, ambient light, one reflection.

Whitted's scheme ("An improved illumination model for shaded display", 1980) on the surfaces of `shading`; rough
surfaces mirror within their lobe, one ray for each ray of the camera (Cook, Porter and Carpenter, "Distributed ray
tracing", 1984). Written once, for every `tracer`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from simjudge.core.frames import FloatArray
from simjudge.engines.default import shading
from simjudge.engines.default.packed import (
    CORNERS,
    FACET,
    LAMP,
    LEVEL,
    LOOKUP,
    SURFACE,
    TABLE_ROW,
    Floats,
    Packed,
)
from simjudge.engines.default.tracer import Hit, Tracer

_OFFSET = 2e-5
"""Secondary rays start this far off the surface, times 1 + the largest coordinate."""
_FADE = (0.3, 0.5)
"""Roughness from which mirrored rays give way to ambient light, and where nothing is left of them."""
_LEAST = 0.01
"""Weight below which a mirrored ray is not worth following: its light is taken to be ambient."""
_BRIGHTEST = 1.0
"""Radiance above which rough surfaces mirror nothing: single rays would sparkle."""
_INNER = 0.75
"""Part of a rough surface's lobe, from its middle, that mirrored rays are drawn from, for the same reason."""


class View(NamedTuple):
    """From where a camera looks.

    Attributes:
        rotation: (3, 3), camera to world.
        origin: (3,), world, metres.
        spread: angle between neighbouring rays, radians.
        grain_shift: two numbers in 0..1 that shift the grain.
    """

    rotation: FloatArray
    origin: FloatArray
    spread: float
    grain_shift: tuple[float, float]


class Rays(NamedTuple):
    """A wavefront of a lens's rays, on the device.

    Attributes:
        direction: unit vectors in the camera's frame; in the world where the rays have origins of their own.
        grain: two numbers in 0..1 for each ray: where in its lobe a surface mirrors it.
        origin: world, metres; None: all begin where the view has the camera.
    """

    direction: Any
    grain: Any
    origin: Any = None


class Spot(NamedTuple):
    """Where rays hit, and all that shading needs to know there, in the world; `off` is the point, off the surface."""

    valid: Any
    point: Any
    off: Any
    normal: Any
    facet: Any
    view: Any
    base: Any
    metal: Any
    f0: Any
    alpha: Any
    roughness: Any
    row: Any
    mean_left: Any
    mean_lost: Any


class Integrator:
    """A scene's surfaces and lamps on a tracer."""

    def __init__(self, tracer: Tracer, packed: Packed) -> None:
        """Bring the scene's tables to where the tracer computes."""
        self._t, self._lamp_count = tracer, packed.lamp_count
        self._corners, self._facets = tracer.table(packed.corners), tracer.table(packed.facets)
        self._surfaces, self._lookups = tracer.table(packed.surfaces), tracer.table(packed.lookups)
        self._levels, self._texels = tracer.table(packed.levels), tracer.table(packed.texels)
        self._gloss, self._lamps = tracer.table(packed.gloss), tracer.table(packed.lamps)
        self._ambient = tracer.vector(tracer.same(packed.ambient.tolist()))
        self._background = tracer.vector(tracer.same(packed.background.tolist()))
        self.set_rotations(np.zeros((len(packed.class_id), 3, 3)))

    def set_rotations(self, rotations: FloatArray) -> None:
        """Set how the things are rotated, thing to world.

        Args:
            rotations: float (T, 3, 3), one matrix a thing.
        """
        rows = np.zeros((max(len(rotations), 1), 16), np.float32)
        rows[: len(rotations), :9] = rotations.reshape(-1, 9)
        self._rotations = self._t.table(rows)

    def first(self, origins: Floats, directions: Floats) -> tuple[Any, Any, Any]:
        """Distance, thing (-1: nothing is hit) and the facets' normals of rays in the world, on the host.

        Args:
            origins: float32 (N, 3), world, metres.
            directions: float32 (N, 3), unit, world.

        Returns:
            Distance (N,), metres; thing (N,); normal (N, 3), unit, world.
        """
        t = self._t
        hit = t.hit(t.given(origins), t.given(directions), t.everywhere)
        thing = t.select(hit.valid, hit.thing, -1)
        distance, things, normal = t.host(hit.distance, thing, self._facet(hit))
        return distance, things, normal

    def things_and_depth(self, rays: Rays, view: View) -> tuple[Any, Any]:
        """Thing (-1: nothing is hit) and depth along the camera's axis (inf) of rays, on the host.

        Args:
            rays: starts and directions in the camera's frame.
            view: pose of the camera.

        Returns:
            Thing (N,) and depth (N,), metres.
        """
        t = self._t
        start, direction = self._start(rays, view)
        hit = t.hit(start, direction, t.everywhere)
        thing = t.select(hit.valid, hit.thing, -1)
        things, depth = t.host(thing, t.select(hit.valid, hit.distance * rays.direction[2], math.inf))
        return things, depth

    def things_and_distance(self, rays: Rays, view: View) -> tuple[Any, Any]:
        """Thing (-1: nothing is hit) and distance (inf) of rays, on the host.

        Args:
            rays: starts and directions.
            view: pose of the camera.

        Returns:
            Thing (N,) and distance along the ray (N,), metres.
        """
        t = self._t
        hit = t.hit(*self._start(rays, view), t.everywhere)
        things, distance = t.host(t.select(hit.valid, hit.thing, -1), t.select(hit.valid, hit.distance, math.inf))
        return things, distance

    def radiance(self, rays: Rays, view: View, block: int) -> Floats:
        """Radiance (N / block, 3) along rays, averaged over each `block` in a row, on the host.

        Args:
            rays: starts and directions in the camera's frame.
            view: pose of the camera, and the grain's turn.
            block: rays a pixel.

        Returns:
            Float32 (N / block, 3), linear RGB.
        """
        t = self._t
        start, direction = self._start(rays, view)
        spread, shift_x, shift_y = t.same([view.spread, *view.grain_shift])
        hit = t.hit(start, direction, t.everywhere)
        spot = self._spot(hit, start, direction, spread * hit.distance)
        n_v = t.dot(spot.normal, spot.view)
        a, b, left, lost = self._table(spot.row, n_v)
        mirrored = spot.f0 * a + b
        share = 1 - _smooth_step(t.xp, spot.roughness, *_FADE)
        active = spot.valid & (t.largest(mirrored) * share > _LEAST)
        share = t.select(active, share, 0.0)
        u1, u2 = _fraction(t.xp, rays.grain[0] + shift_x), _fraction(t.xp, rays.grain[1] + shift_y)
        seen = self._mirrored(spot, n_v, u1, u2, spread * hit.distance, spread, active)
        light = self._direct(spot, n_v, left, lost, together=True)
        light = light + self._ambient * (spot.base * left + spot.metal * lost)
        light = light + mirrored * (self._ambient * (1 - share) + seen * share)
        return t.means(t.select(spot.valid, light, self._background), block)

    def _start(self, rays: Rays, view: View) -> tuple[Any, Any]:
        """Origin and directions in the world."""
        if rays.origin is not None:
            return rays.origin, rays.direction
        r = self._t.same(view.rotation.ravel().tolist())
        return self._t.vector(self._t.same(view.origin.tolist())), self._rotated(r, rays.direction)

    def _rotated(self, r: Any, v: Any) -> Any:
        return self._t.vector([r[3 * k] * v[0] + r[3 * k + 1] * v[1] + r[3 * k + 2] * v[2] for k in range(3)])

    def _normalized(self, vector: Any) -> Any:
        return vector / self._t.xp.sqrt(self._t.xp.maximum(self._t.dot(vector, vector), 1e-30))

    def _facet(self, hit: Hit) -> Any:
        """The hit faces' own normals in the world."""
        r = self._t.row(self._rotations, hit.thing, 16, hit.valid)
        return self._rotated(r, self._t.row(self._facets, hit.face, FACET, hit.valid))

    def _spot(self, hit: Hit, start: Any, direction: Any, footprint: Any) -> Spot:
        """What stands where rays hit. Surfaces have two sides: normals point to where the ray came from.

        Footprint: width of the ray there, metres.
        """
        t = self._t
        c = t.row(self._corners, hit.face, CORNERS, hit.valid)
        b0 = 1 - hit.b1 - hit.b2
        normal = t.vector([b0 * c[k] + hit.b1 * c[3 + k] + hit.b2 * c[6 + k] for k in range(3)])
        u, v = (b0 * c[k] + hit.b1 * c[k + 2] + hit.b2 * c[k + 4] for k in (9, 10))
        facet = self._facet(hit)
        facet = t.select(t.dot(facet, direction) > 0, -facet, facet)
        normal = self._normalized(self._rotated(t.row(self._rotations, hit.thing, 16, hit.valid), normal))
        normal = t.select(t.dot(normal, facet) < 0, -normal, normal)
        # A smooth normal may face away from a viewer who sees the facet: bend it until he is just above its horizon.
        away = t.dot(normal, direction)
        normal = self._normalized(normal - t.xp.maximum(away + 1e-3, 0.0) * direction)
        s = t.row(self._surfaces, hit.thing, SURFACE, hit.valid)
        lookup = t.row(self._lookups, hit.thing, LOOKUP, hit.valid)
        texels = footprint * c[15] / t.xp.sqrt(t.xp.maximum(-t.dot(facet, direction), 0.01))
        colour = t.vector([s[0], s[1], s[2]]) * self._texture(lookup, u, v, texels, hit.valid)
        point = start + direction * hit.distance
        off = point + facet * (_OFFSET * (1 + t.largest(t.xp.abs(point))))
        base, f0 = colour * (1 - s[4]), colour * s[4] + shading.DIELECTRIC * (1 - s[4])
        metal = shading.again_and_again(colour, s[7]) * s[4]
        return Spot(
            hit.valid, point, off, normal, facet, -direction, base, metal, f0, s[3], s[5], lookup[2], s[6], s[7]
        )

    def _mirrored(self, spot: Spot, n_v: Any, u1: Any, u2: Any, footprint: Any, spread: Any, active: Any) -> Any:
        """What spots mirror, at the place u1, u2 of their lobe; lit by lamps and ambient light only."""
        t = self._t
        alpha = spot.roughness * spot.roughness
        along = spot.view - n_v * spot.normal
        along = along / t.xp.sqrt(t.xp.maximum(t.dot(along, along), 1e-12))
        h = shading.visible_normal(t.xp, alpha, n_v, _INNER * u1, u2)
        half = h[0] * along + h[1] * t.cross(spot.normal, along) + h[2] * spot.normal
        direction = 2 * t.dot(half, spot.view) * half - spot.view
        direction = self._normalized(direction - spot.facet * t.xp.minimum(1.001 * t.dot(direction, spot.facet), 0.0))
        hit = t.hit(spot.off, direction, active)
        other = self._spot(hit, spot.off, direction, footprint + (spread + alpha) * hit.distance)
        n_v = t.dot(other.normal, other.view)
        a, b, left, lost = self._table(other.row, n_v)
        all_around = other.f0 * a + b + other.base * left + other.metal * lost
        seen = self._direct(other, n_v, left, lost, together=False) + self._ambient * all_around
        seen = t.select(spot.roughness > 0, t.xp.minimum(seen, _BRIGHTEST), seen)
        return t.select(hit.valid, seen, self._background)

    def _direct(self, spot: Spot, n_v: Any, left_v: Any, lost_v: Any, *, together: bool) -> Any:
        """The light of all lamps that spots throw towards their viewers. Together: neighbouring spots are close by."""
        t = self._t
        base = spot.base * (left_v / spot.mean_left / math.pi)
        metal = spot.metal * (lost_v / spot.mean_lost / math.pi)

        def of_lamp(i: Any) -> Any:
            lamp = t.row(self._lamps, i, LAMP, t.everywhere)
            there = t.vector([lamp[0], lamp[1], lamp[2]]) - spot.point
            square = t.dot(there, there)
            distance = t.xp.sqrt(square)
            direction = there / distance
            n_l = t.dot(spot.normal, direction)
            lit = spot.valid & (n_l > 0) & (t.dot(spot.facet, direction) > 0) & (distance < lamp[3])
            lit = lit & ~t.blocked(spot.off, direction, distance, lit, together=together)
            half = self._normalized(direction + spot.view)
            f = shading.schlick(t.dot(half, direction))
            lobe = shading.gloss(t.xp, spot.alpha, t.dot(spot.normal, half), n_l, n_v)
            _, _, left_l, lost_l = self._table(spot.row, n_l)
            reflected = base * left_l + metal * lost_l + (spot.f0 * (1 - f) + f) * lobe
            strength = n_l / square * shading.lamp_window(t.xp, distance * lamp[7])
            return t.select(lit, t.vector([lamp[4], lamp[5], lamp[6]]) * strength * reflected, 0.0)

        return t.add_up(self._lamp_count, spot.valid, of_lamp, n_v)

    def _table(self, row: Any, cosine: Any) -> Any:
        """The columns of `Packed.gloss` for cosines, linear between the table's rows."""
        t = self._t
        at = t.xp.sqrt(t.xp.minimum(t.xp.maximum(cosine, 0.0), 1.0)) * (shading.TABLE - 1)
        # Clipped as integers once more: NaN, in lanes that nobody looks at, must not read beside the table.
        cell = t.xp.minimum(t.xp.maximum(t.whole(at), 0), shading.TABLE - 2)
        low, high = (t.row(self._gloss, row + cell + k, TABLE_ROW, t.everywhere) for k in (0, 1))
        part = at - t.decimal(cell)
        return [low[k] + (high[k] - low[k]) * part for k in range(4)]

    def _texture(self, lookup: Any, u: Any, v: Any, texels: Any, valid: Any) -> Any:
        """Between the two levels whose texels are about as wide as the ray; white where there is no texture."""
        t = self._t
        textured = valid & (lookup[1] > 0)
        depth = t.xp.log2(t.xp.maximum(texels * t.decimal(lookup[3]), 1.0))
        last = t.xp.maximum(lookup[1] - 1, 0)
        level = t.xp.minimum(t.xp.maximum(t.whole(depth), 0), last)
        part = t.select(level < last, depth - t.decimal(level), 0.0)
        fine = self._bilinear(lookup[0] + level, u, v, textured)
        coarse = self._bilinear(lookup[0] + t.xp.minimum(level + 1, last), u, v, textured)
        return t.select(textured, fine + (coarse - fine) * part, 1.0)

    def _bilinear(self, level: Any, u: Any, v: Any, active: Any) -> Any:
        """One level of a texture, repeated; row 0 is at v = 1."""
        t = self._t
        begin, width, height, _ = t.row(self._levels, level, LEVEL, active)
        x = _fraction(t.xp, u) * t.decimal(width) - 0.5
        y = (1 - _fraction(t.xp, v)) * t.decimal(height) - 0.5
        left, top = t.whole(x), t.whole(y)
        f, g = x - t.decimal(left), y - t.decimal(top)
        right, bottom = t.select(left + 1 >= width, 0, left + 1), t.select(top + 1 >= height, 0, top + 1)
        left, top = t.select(left < 0, width - 1, left), t.select(top < 0, height - 1, top)

        def texel(column: Any, row: Any) -> Any:
            at = t.row(self._texels, begin + row * width + column, 4, active)
            return t.vector([at[0], at[1], at[2]])

        upper = texel(left, top) * (1 - f) + texel(right, top) * f
        return upper * (1 - g) + (texel(left, bottom) * (1 - f) + texel(right, bottom) * f) * g


def _fraction(xp: Any, number: Any) -> Any:
    return number - xp.floor(number)


def _smooth_step(xp: Any, x: Any, low: float, high: float) -> Any:
    t = xp.minimum(xp.maximum((x - low) / (high - low), 0.0), 1.0)
    return t * t * (3 - 2 * t)
