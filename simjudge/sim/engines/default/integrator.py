"""The light that rays see: every lamp with its shadow, ambient light, one reflection.

Whitted's scheme ("An improved illumination model for shaded display", 1980) on the surfaces of `shading`; rough
surfaces mirror within their lobe, one ray for each ray of the camera (Cook, Porter and Carpenter, "Distributed ray
tracing", 1984). Written once, for every `tracer`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.sim.engines.default import shading
from simjudge.sim.engines.default.lookups import (
    BOUNCE_SPREAD,
    OFFSET,
    Bumps,
    Glass,
    IndirectLight,
    Surroundings,
    TextureLookup,
    fraction,
)
from simjudge.sim.engines.default.open_cells import NO_CELLS, PLANE, OpenCells
from simjudge.sim.engines.default.packed import (
    CORNERS,
    EMISSION,
    FACET,
    LAMP,
    LOOKUP,
    SURFACE,
    TABLE_ROW,
    Floats,
    Packed,
)
from simjudge.sim.engines.default.tracer import Hit, Rays, Spot, Tracer, View

_GLIMPSED = 4  # Surfaces of glass that a mirrored ray passes at most
_FADE = (0.3, 0.5)  # Roughness from which mirrored rays give way to ambient light, and where nothing is left of them
_LEAST = 0.01  # Weight below which a mirrored ray is not worth following: its light is taken to be ambient
_BRIGHTEST = 1.0  # Radiance above which rough surfaces mirror nothing: single rays would sparkle
_INNER = 0.75  # Part of a rough surface's lobe, from its middle, that mirrored rays are drawn from, for the same reason


class Integrator:
    """A scene's surfaces and lamps on a tracer."""

    def __init__(self, tracer: Tracer, packed: Packed) -> None:
        self._t, self._lamp_count = tracer, packed.lamp_count
        self._corners, self._facets = tracer.table(packed.corners), tracer.table(packed.facets)
        self._surfaces, self._lookups = tracer.table(packed.surfaces), tracer.table(packed.lookups)
        self._textures = TextureLookup(tracer, packed.levels, packed.texels)
        self._gloss, self._lamps = tracer.table(packed.gloss), tracer.table(packed.lamps)
        self._gloss_pairs = tracer.table(np.hstack([packed.gloss[:, 2:], np.roll(packed.gloss, -1, axis=0)[:, 2:]]))
        self._emission = None if packed.emission is None else tracer.table(packed.emission)
        self._bumps = None if packed.bumps is None else Bumps(tracer, packed.bumps)
        self._glass = None if packed.glass is None else Glass(tracer, packed.glass, self._normals, packed.ray_depth)
        self._surroundings = around = Surroundings(tracer, packed.surroundings)
        self._indirect = IndirectLight(tracer, packed.bounces, around, self._thrown) if packed.bounces else None
        self.set_rotations(np.zeros((len(packed.class_id), 3, 3)))
        self.set_open_cells(NO_CELLS)

    @property
    def has_glass(self) -> bool:
        """Whether something of the scene is of glass."""
        return self._glass is not None

    def set_rotations(self, rotations: FloatArray) -> None:
        """Set how the things are rotated, thing to world (rotations: float (T, 3, 3), one matrix a thing)."""
        rows = np.zeros((max(len(rotations), 1), 16), np.float32)
        rows[: len(rotations), :9] = rotations.reshape(-1, 9)
        self._rotations = self._t.table(rows)

    def set_open_cells(self, cells: OpenCells) -> None:
        """Set where lamps are surely in sight, now that things stand as they do."""
        t = self._t
        self._cells, self._cell_planes = t.table(cells.lamps), t.table(cells.planes)
        self._cell_grid = t.same([*cells.low, 1 / cells.edge]), t.same(cells.shape)

    def first(self, origins: Floats, directions: Floats) -> tuple[Any, Any, Any]:
        """Distance (N,), thing (N,) (-1: nothing is hit) and facet normals (N, 3) of rays in the world, on the host."""
        t = self._t
        hit = t.hit(t.given(origins), t.given(directions), t.everywhere)
        thing = t.select(hit.valid, hit.thing, -1)
        distance, things, normal = t.host(hit.distance, thing, self._facet(hit))
        return distance, things, normal

    def things_and_depth(self, rays: Rays, view: View) -> tuple[Any, Any]:
        """Thing (N,) (-1: nothing is hit) and depth (N,) along the camera's axis (inf) of rays, on the host."""
        t = self._t
        start, direction = self._start(rays, view)
        hit = t.hit(start, direction, t.everywhere)
        depth = hit.distance * rays.direction[2]
        if self._glass is not None:
            hit, way = self._behind_glass(hit, start, direction)
            depth = t.dot(way, t.vector(t.same(view.rotation[:, 2].tolist())))
        thing = t.select(hit.valid, hit.thing, -1)
        things, depths = t.host(thing, t.select(hit.valid, depth, math.inf), places=rays.places)
        return things, depths

    def things_and_distance(self, rays: Rays, view: View) -> tuple[Any, Any]:
        """Thing (N,) (-1: nothing is hit) and distance (N,) along the ray (inf), metres, on the host."""
        t = self._t
        start, direction = self._start(rays, view)
        hit = t.hit(start, direction, t.everywhere)
        distance = hit.distance
        if self._glass is not None:
            hit, way = self._behind_glass(hit, start, direction)
            distance = t.dot(way, direction)
        thing = t.select(hit.valid, hit.thing, -1)
        things, distances = t.host(thing, t.select(hit.valid, distance, math.inf), places=rays.places)
        return things, distances

    def _behind_glass(self, hit: Hit, start: Any, direction: Any) -> tuple[Hit, Any]:
        """What rays hit behind all glass without a class, and the straight way there (a vector)."""
        if self._glass is None:
            return hit, direction * hit.distance
        path = self._glass.follow(hit, start, direction, labels=True)
        return path.hit, path.start + path.direction * path.hit.distance - start

    def radiance_and_things(self, rays: Rays, view: View) -> tuple[Floats, Any, Any]:
        """Radiance (N, 3), thing (-1: nothing is hit) and depth (inf) of rays, in one search; for no glass."""
        t = self._t
        start, direction = self._start(rays, view)
        hit = t.hit(start, direction, t.everywhere)
        light = self._seen(hit, start, direction, rays, view)
        depth = t.select(hit.valid, hit.distance * rays.direction[2], math.inf)
        radiance, thing, depths = t.host(light, t.select(hit.valid, hit.thing, -1), depth, places=rays.places)
        return radiance, thing, depths

    def radiance(self, rays: Rays, view: View, block: int) -> Floats:
        """Radiance (N / block, 3) along rays, averaged over each `block` (rays of a pixel) in a row, on the host."""
        start, direction = self._start(rays, view)
        hit = self._t.hit(start, direction, self._t.everywhere)
        return self._t.means(self._seen(hit, start, direction, rays, view), block, rays.places)

    def _seen(self, hit: Hit, start: Any, direction: Any, rays: Rays, view: View) -> Any:
        t = self._t
        spread, shift_x, shift_y = t.same([view.spread, *view.grain_shift])
        grain = fraction(t.xp, rays.grain[0] + shift_x), fraction(t.xp, rays.grain[1] + shift_y)
        if self._glass is None:
            return self._light(hit, start, direction, spread * hit.distance, spread, grain)
        path, around = self._glass.follow(hit, start, direction), self._surroundings
        footprint = spread * (path.travelled + path.hit.distance)
        light = self._light(path.hit, path.start, path.direction, footprint, spread, grain)
        mirrored = self._glimpse(path.mirror_start, path.mirror, spread * path.reach, spread, path.share > 0)
        both = light * path.weight + mirrored * path.share
        return t.select(path.met, around.through_fog(both, start, direction, path.reach, path.met), light)

    def _light(self, hit: Hit, start: Any, direction: Any, footprint: Any, spread: Any, grain: tuple[Any, Any]) -> Any:
        """The light that comes along rays from what they hit, or from behind everything."""
        t = self._t
        spot = self._spot(hit, start, direction, footprint)
        n_v = t.dot(spot.normal, spot.view)
        a, b, left, lost = self._table(spot.row, n_v)
        mirrored = spot.f0 * a + b
        share = 1 - _smooth_step(t.xp, spot.roughness, *_FADE)
        active = spot.valid & (t.largest(mirrored) * share > _LEAST)
        share = t.select(active, share, 0.0)
        seen = self._mirrored(spot, n_v, *grain, footprint, spread, active)
        light = self._direct(spot, n_v, left, lost, together=True)
        around = self._surroundings
        light = light + self._ambient(spot, footprint, grain) * (spot.base * left + spot.metal * lost)
        light = light + mirrored * (around.mirrored(spot.normal, n_v, spot.view) * (1 - share) + seen * share)
        light = light if spot.emitted is None else light + spot.emitted
        light = t.select(spot.valid, light, around.background(direction, spread))
        return around.through_fog(light, start, direction, hit.distance, hit.valid)

    def _start(self, rays: Rays, view: View) -> tuple[Any, Any]:
        if rays.origin is not None:
            return rays.origin, rays.direction
        r = self._t.same(view.rotation.ravel().tolist())
        return self._t.vector(self._t.same(view.origin.tolist())), self._rotated(r, rays.direction)

    def _rotated(self, r: Any, v: Any) -> Any:
        return self._t.vector([r[3 * k] * v[0] + r[3 * k + 1] * v[1] + r[3 * k + 2] * v[2] for k in range(3)])

    def _normalized(self, vector: Any) -> Any:
        return vector / self._t.xp.sqrt(self._t.xp.maximum(self._t.dot(vector, vector), 1e-30))

    def _normals(self, hit: Hit) -> tuple[Any, Any]:
        """The smooth and the facets' normals where rays hit, outward, in the world."""
        t = self._t
        c = t.row(self._corners, hit.face, CORNERS, hit.valid)
        b0 = 1 - hit.b1 - hit.b2
        smooth = t.vector([b0 * c[k] + hit.b1 * c[3 + k] + hit.b2 * c[6 + k] for k in range(3)])
        r = t.row(self._rotations, hit.thing, 16, hit.valid)
        return self._normalized(self._rotated(r, smooth)), self._facet(hit)

    def _facet(self, hit: Hit) -> Any:
        r = self._t.row(self._rotations, hit.thing, 16, hit.valid)
        return self._rotated(r, self._t.row(self._facets, hit.face, FACET, hit.valid))

    def _spot(self, hit: Hit, start: Any, direction: Any, footprint: Any) -> Spot:
        """What stands where rays hit. Surfaces have two sides: normals point to where the ray came from."""
        t = self._t
        c = t.row(self._corners, hit.face, CORNERS, hit.valid)
        b0 = 1 - hit.b1 - hit.b2
        normal = t.vector([b0 * c[k] + hit.b1 * c[3 + k] + hit.b2 * c[6 + k] for k in range(3)])
        u, v = (b0 * c[k] + hit.b1 * c[k + 2] + hit.b2 * c[k + 4] for k in (9, 10))
        facet = self._facet(hit)
        behind_face = t.dot(facet, direction) > 0
        facet = t.select(behind_face, -facet, facet)
        r = t.row(self._rotations, hit.thing, 16, hit.valid)
        normal = self._normalized(self._rotated(r, normal))
        behind = t.dot(normal, facet) < 0
        if self._bumps is not None:
            texels = footprint * c[15] / t.xp.sqrt(t.xp.maximum(-t.dot(facet, direction), 0.01))
            normal = self._bumps.bent(normal, hit, u, v, texels, lambda vector: self._rotated(r, vector))
        normal = t.select(behind, -normal, normal)
        # A smooth normal may face away from a viewer who sees the facet: bend it until he is just above its horizon.
        away = t.dot(normal, direction)
        normal = self._normalized(normal - t.xp.maximum(away + 1e-3, 0.0) * direction)
        s = t.row(self._surfaces, hit.thing, SURFACE, hit.valid)
        lookup = t.row(self._lookups, hit.thing, LOOKUP, hit.valid)
        texels = footprint * c[15] / t.xp.sqrt(t.xp.maximum(-t.dot(facet, direction), 0.01))
        texture = self._textures.value(lookup, u, v, texels, hit.valid)
        colour = t.vector([s[0], s[1], s[2]]) * texture
        point = start + direction * hit.distance
        off = point + facet * (OFFSET * (1 + t.largest(t.xp.abs(point))))
        base, f0 = colour * (1 - s[4]), colour * s[4] + shading.DIELECTRIC * (1 - s[4])
        metal = shading.again_and_again(colour, s[7]) * s[4]
        return Spot(
            hit.valid,
            point,
            off,
            normal,
            facet,
            -direction,
            base,
            metal,
            f0,
            s[3],
            s[5],
            lookup[2],
            s[6],
            s[7],
            self._emitted(hit, texture),
            hit,
            ~behind_face,
        )

    def _emitted(self, hit: Hit, texture: Any) -> Any:
        """The radiance that surfaces send out by themselves; None where none of the scene does."""
        if self._emission is None:
            return None
        row = self._t.row(self._emission, hit.thing, EMISSION, hit.valid)
        return self._t.vector([row[0], row[1], row[2]]) * texture

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
        return self._glimpse(spot.off, direction, footprint, spread + alpha, active, rough=spot.roughness > 0)

    def _glimpse(self, start: Any, direction: Any, footprint: Any, spread: Any, active: Any, rough: Any = None) -> Any:
        """What mirrored rays see: what they hit, lit by lamps, sun and ambient light, but mirroring nothing itself."""
        t, weight = self._t, 1.0
        hit = t.hit(start, direction, active)
        if self._glass is not None:
            path = self._glass.follow(hit, start, direction, most=_GLIMPSED)
            hit, start, direction, weight = path.hit, path.start, path.direction, path.weight
        other, sent, reflected = self._lit(hit, start, direction, footprint + spread * hit.distance)
        around = self._surroundings
        seen = sent + around.ambient(other.normal) * reflected
        seen = seen if rough is None else t.select(rough, t.xp.minimum(seen, _BRIGHTEST), seen)
        seen = t.select(hit.valid, seen, around.background(direction, spread))
        seen = around.through_fog(seen, start, direction, hit.distance, hit.valid)
        return seen if self._glass is None else seen * weight

    def _ambient(self, spot: Spot, footprint: Any, grain: tuple[Any, Any]) -> Any:
        """The light from all around on spots: ambient light, or what paths find."""
        if self._indirect is None:
            return self._surroundings.ambient(spot.normal)
        return self._indirect.light(spot.off, spot.normal, spot.valid, footprint, grain)

    def _thrown(self, start: Any, direction: Any, footprint: Any, active: Any) -> tuple[Any, Any, Any, Any, Any]:
        """What a path meets; see `Throw`."""
        hit = self._t.hit(start, direction, active, together=False)
        if self._glass is not None:
            path = self._glass.follow(hit, start, direction, most=_GLIMPSED)
            hit, start, direction = path.hit, path.start, path.direction
        other, sent, reflected = self._lit(hit, start, direction, footprint + BOUNCE_SPREAD * hit.distance)
        return hit.valid & active, other.off, other.normal, sent, reflected

    def _lit(self, hit: Hit, start: Any, direction: Any, footprint: Any) -> tuple[Spot, Any, Any]:
        """What single rays hit, the light of lamps and sun that it sends back, and what it reflects of all around."""
        spot = self._spot(hit, start, direction, footprint)
        n_v = self._t.dot(spot.normal, spot.view)
        a, b, left, lost = self._table(spot.row, n_v)
        sent = self._direct(spot, n_v, left, lost, together=False)
        sent = sent if spot.emitted is None else sent + spot.emitted
        return spot, sent, spot.f0 * a + b + spot.base * left + spot.metal * lost

    def _direct(self, spot: Spot, n_v: Any, left_v: Any, lost_v: Any, *, together: bool) -> Any:
        """The light of lamps and sun that spots throw towards their viewers. Together: neighbours are close by."""
        t = self._t
        base = spot.base * (left_v / spot.mean_left / math.pi)
        metal = spot.metal * (lost_v / spot.mean_lost / math.pi)

        def reflection(direction: Any, n_l: Any) -> Any:
            half = self._normalized(direction + spot.view)
            f = shading.schlick(t.dot(half, direction))
            lobe = shading.gloss(t.xp, spot.alpha, t.dot(spot.normal, half), n_l, n_v)
            left_l, lost_l = self._left_and_lost(spot.row, n_l)
            return base * left_l + metal * lost_l + (spot.f0 * (1 - f) + f) * lobe

        in_sight, hidden = self._known_sight(spot)

        def of_lamp(i: Any) -> Any:
            lamp = t.row(self._lamps, i, LAMP, t.everywhere)
            there = t.vector([lamp[0], lamp[1], lamp[2]]) - spot.point
            square = t.dot(there, there)
            distance = t.xp.sqrt(square)
            direction = there / distance
            n_l = t.dot(spot.normal, direction)
            lit = spot.valid & (n_l > 0) & (t.dot(spot.facet, direction) > 0) & (distance < lamp[3])
            lit = lit if hidden is None else lit & ~t.bit(hidden, i)

            def shine() -> Any:
                open_way = t.bit(in_sight, i)
                seen = lit & ~t.blocked(spot.off, direction, distance, lit, together=together, open_way=open_way)
                strength = n_l / square * shading.lamp_window(t.xp, distance * lamp[7])
                reflected = reflection(direction, n_l)
                return t.select(seen, t.vector([lamp[4], lamp[5], lamp[6]]) * strength * reflected, 0.0)

            return t.where(lit, shine)

        light = t.add_up(self._lamp_count, spot.valid, of_lamp, n_v)
        sun = self._surroundings.sun
        if sun is None:
            return light
        n_l = t.dot(spot.normal, sun.direction)
        lit = spot.valid & (n_l > 0) & (t.dot(spot.facet, sun.direction) > 0)
        lit = lit & ~t.blocked(spot.off, sun.direction, sun.distance, lit, together=together)
        return light + t.select(lit, sun.irradiance * (n_l * reflection(sun.direction, n_l)), 0.0)

    def _known_sight(self, spot: Spot) -> tuple[Any, Any]:
        """Bits of the lamps that nothing that stands hides, and of those that something hides (None: not known)."""
        return self._lamps_in_sight(spot) if self._t.knows_open_ways else 0, None

    def _lamps_in_sight(self, spot: Spot) -> Any:
        """Bits of the lamps that nothing that stands hides from spots, as far as that is known beforehand."""
        t, (start, shape) = self._t, self._cell_grid
        at = [t.xp.floor((spot.off[k] - start[k]) * start[3]) for k in range(3)]
        inside = spot.valid
        for k in range(3):
            inside = inside & (at[k] >= 0) & (at[k] < shape[k])
        row = t.whole((at[0] * shape[1] + at[1]) * shape[2] + at[2])
        plane = t.row(self._cell_planes, row, PLANE, inside)
        above = inside & (plane[0] * spot.off[0] + plane[1] * spot.off[1] + plane[2] * spot.off[2] > plane[3])
        return t.select(above, t.row(self._cells, row, 1, above)[0], 0)

    def _left_and_lost(self, row: Any, cosine: Any) -> tuple[Any, Any]:
        """The last two columns of `Packed.gloss` for cosines: those of `_table`, with one look-up for both rows."""
        cell, part = self._cell_of(cosine)
        pair = self._t.row(self._gloss_pairs, row + cell, TABLE_ROW, self._t.everywhere)
        return pair[0] + (pair[2] - pair[0]) * part, pair[1] + (pair[3] - pair[1]) * part

    def _cell_of(self, cosine: Any) -> tuple[Any, Any]:
        """The row of a gloss table below a cosine, and how far it is to the next one, 0 to 1."""
        t = self._t
        at = t.xp.sqrt(t.xp.minimum(t.xp.maximum(cosine, 0.0), 1.0)) * (shading.TABLE - 1)
        # Clipped as integers once more: NaN, in lanes that nobody looks at, must not read beside the table.
        cell = t.xp.minimum(t.xp.maximum(t.whole(at), 0), shading.TABLE - 2)
        return cell, at - t.decimal(cell)

    def _table(self, row: Any, cosine: Any) -> Any:
        """The columns of `Packed.gloss` for cosines, linear between the table's rows."""
        cell, part = self._cell_of(cosine)
        low, high = (self._t.row(self._gloss, row + cell + k, TABLE_ROW, self._t.everywhere) for k in (0, 1))
        return [low[k] + (high[k] - low[k]) * part for k in range(4)]


def _smooth_step(xp: Any, x: Any, low: float, high: float) -> Any:
    t = xp.minimum(xp.maximum((x - low) / (high - low), 0.0), 1.0)
    return t * t * (3 - 2 * t)
