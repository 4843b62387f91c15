"""The light that rays see, in Mitsuba's arrays: every lamp with its shadow, ambient light, one reflection.

Whitted's scheme ("An improved illumination model for shaded display", 1980) with the surfaces of `shading`. One
kernel does a whole wavefront: the ray, all lamps in a loop, the mirrored ray and its lamps. Its arguments are arrays
only, so that it is compiled once for a scene.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import drjit as dr
import mitsuba as mi
import numpy as np

from simjudge.frames import FloatArray
from simjudge.world.engines.default import shading
from simjudge.world.engines.default.packed import Floats, Packed

_OFFSET = 2e-5
"""Secondary rays start this far off the surface, times 1 + the largest coordinate."""
_FADE = (0.35, 0.65)
"""Roughness from which the mirrored ray gives way to ambient light, and where nothing is left of it."""
_LEAST = 0.004
"""Weight below which a mirrored ray is not worth tracing: its light is taken to be ambient."""


class Spot(NamedTuple):
    """What rays hit: all that shading needs, in the world."""

    valid: Any
    point: Any
    normal: Any
    facet: Any
    view: Any
    base: Any
    f0: Any
    alpha: Any
    row: Any
    mean: Any
    roughness: Any


class First(NamedTuple):
    """What rays hit first, on the host: distance (inf: nothing), thing (-1) and the facet's normal."""

    distance: Floats
    thing: np.ndarray[Any, np.dtype[np.int64]]
    normal: Floats


class Tracer:
    """A scene in Mitsuba's ray tracer."""

    def __init__(self, packed: Packed, vertices: Sequence[Floats], faces: Sequence[np.ndarray[Any, Any]]) -> None:
        """Build it from the things' triangles, vertices in the world."""
        self._packed = packed
        self._meshes = [_mesh(index, v, f) for index, (v, f) in enumerate(zip(vertices, faces, strict=True))]
        content = {f"thing{index:06d}": mesh for index, mesh in enumerate(self._meshes)}
        # Merged meshes would lose which thing was hit.
        self._scene = mi.load_dict({"type": "scene", **content}, optimize=False)
        self._parameters = [mi.traverse(mesh) for mesh in self._meshes]
        self._whole = mi.traverse(self._scene)
        ids = np.array([_registered(mesh) for mesh in self._meshes], np.int64)
        things = np.zeros(int(ids.max(initial=0)) + 1, np.uint32)
        things[ids] = np.arange(len(ids))
        self._thing_of = mi.UInt32(things)
        self._corners, self._facets = _flat(packed.corners), _flat(packed.facets)
        self._surfaces, self._texels = _flat(packed.surfaces), _flat(packed.texels)
        self._tables, self._lamps = _flat(packed.tables), _flat(packed.lamps)
        self._lookups, self._first_face = mi.UInt32(packed.lookups.ravel()), mi.UInt32(packed.first_face)
        self._ambient, self._background = _opaque(packed.ambient), _opaque(packed.background)
        self._lamp_count = dr.opaque(mi.UInt32, len(packed.lamps))
        self._rotations = _flat(np.zeros((len(vertices), 16)))

    def move(self, vertices: dict[int, Floats], rotations: FloatArray) -> None:
        """Put things elsewhere: their new vertices in the world by index; the rotations (T, 3, 3) of all of them."""
        for index, moved in vertices.items():
            self._whole[f"thing{index:06d}.vertex_positions"] = mi.Float(moved.ravel())
        if vertices:
            self._whole.update()
        rows = np.zeros((len(rotations), 16), np.float32)
        rows[:, :9] = rotations.reshape(-1, 9)
        self._rotations = _flat(rows)

    def first(self, origins: Any, directions: Any) -> First:
        """What rays hit first."""
        ray = mi.Ray3f(mi.Point3f(origins), mi.Vector3f(directions))
        hit = self._scene.ray_intersect_preliminary(ray, coherent=False)
        valid = hit.is_valid()
        thing = self._thing(hit)
        normal = self._facet_normal(hit, thing, valid)
        dr.eval(hit.t, valid, thing, normal)
        found = np.array(valid)
        distance = np.where(found, np.array(hit.t), np.float32(np.inf))
        return First(distance, np.where(found, np.array(thing).astype(np.int64), -1), np.array(normal).T)

    def things_and_depth(self, rays: Any, rotation: FloatArray, origin: FloatArray) -> tuple[Any, Any]:
        """Things (-1 where nothing is hit) and depth along z of rays in a camera's frame."""
        hit, _, _ = self._shoot(rays, rotation, origin)
        valid = hit.is_valid()
        thing = dr.select(valid, mi.Int32(self._thing(hit)), -1)
        depth = dr.select(valid, hit.t * rays.z, dr.inf)
        dr.eval(thing, depth)
        return np.array(thing), np.array(depth)

    def radiance(self, rays: Any, rotation: FloatArray, origin: FloatArray, block: int) -> Floats:
        """Radiance (N / block, 3) along rays in a camera's frame, averaged over each `block` in a row."""
        hit, start, direction = self._shoot(rays, rotation, origin)
        spot = self._spot(hit, start, direction, hit.is_valid())
        n_v = dr.dot(spot.normal, spot.view)
        a, b, left = self._table(spot.row, n_v)
        mirrored = spot.f0 * a + b
        keep = 1 - _smooth_step(spot.roughness, *_FADE)
        active = spot.valid & (dr.max(mirrored) * keep > _LEAST)
        keep = dr.select(active, keep, 0.0)
        way = 2 * n_v * spot.normal - spot.view
        below = dr.dot(way, spot.facet)
        way = dr.normalize(way - dr.select(below < 0, 1.001 * below, 0.0) * spot.facet)
        second = self._scene.ray_intersect_preliminary(mi.Ray3f(spot.point, way), coherent=True, active=active)
        other = self._spot(second, spot.point, way, active)
        a2, b2, left2 = self._table(other.row, dr.dot(other.normal, other.view))
        seen = self._direct(other, left2) + self._ambient * (other.f0 * a2 + b2 + other.base * left2)
        seen = dr.select(other.valid, seen, self._background)
        light = self._direct(spot, left) + self._ambient * spot.base * left
        light += mirrored * (self._ambient * (1 - keep) + seen * keep)
        light = dr.select(spot.valid, light, self._background)
        dr.eval(light)  # at once: each channel's sum would follow all rays anew
        if block > 1:
            light = mi.Color3f(*[dr.block_sum(light[k], block) / block for k in range(3)])
        return np.array(light).T

    def _shoot(self, rays: Any, rotation: FloatArray, origin: FloatArray) -> tuple[Any, Any, Any]:
        """The first hits of rays in a camera's frame, their origin and their directions in the world."""
        r = _opaque(rotation.astype(np.float32).ravel(), mi.Float)
        start = mi.Point3f(*_opaque(origin.astype(np.float32), mi.Float))
        direction = mi.Vector3f(*[r[3 * k] * rays.x + r[3 * k + 1] * rays.y + r[3 * k + 2] * rays.z for k in range(3)])
        return self._scene.ray_intersect_preliminary(mi.Ray3f(start, direction), coherent=True), start, direction

    def _thing(self, hit: Any) -> Any:
        return dr.gather(mi.UInt32, self._thing_of, dr.reinterpret_array(mi.UInt32, hit.shape), hit.is_valid())

    def _facet_normal(self, hit: Any, thing: Any, valid: Any) -> Any:
        face = dr.gather(mi.UInt32, self._first_face, thing, valid) + hit.prim_index
        facet = dr.gather(mi.Vector4f, self._facets, face, valid)
        return self._turned(thing, mi.Vector3f(facet.x, facet.y, facet.z), valid)

    def _turned(self, thing: Any, vector: Any, valid: Any) -> Any:
        """Vectors of things in the world."""
        r = dr.gather(mi.ArrayXf, self._rotations, thing, valid, shape=(16, dr.width(thing)))
        return mi.Vector3f(*[r[3 * k] * vector.x + r[3 * k + 1] * vector.y + r[3 * k + 2] * vector.z for k in range(3)])

    def _spot(self, hit: Any, start: Any, direction: Any, active: Any) -> Spot:
        """All that shading needs to know of hits. Surfaces have two sides: normals point to where the ray came from."""
        valid = hit.is_valid() & active
        thing = self._thing(hit)
        face = dr.gather(mi.UInt32, self._first_face, thing, valid) + hit.prim_index
        c = dr.gather(mi.ArrayXf, self._corners, face, valid, shape=(16, dr.width(hit.t)))
        b1, b2 = hit.prim_uv.x, hit.prim_uv.y
        b0 = 1 - b1 - b2
        normal = mi.Vector3f(*[b0 * c[k] + b1 * c[3 + k] + b2 * c[6 + k] for k in range(3)])
        u, v = b0 * c[9] + b1 * c[11] + b2 * c[13], b0 * c[10] + b1 * c[12] + b2 * c[14]
        facet = self._facet_normal(hit, thing, valid)
        facet = dr.select(dr.dot(facet, direction) > 0, -facet, facet)
        normal = dr.normalize(self._turned(thing, normal, valid))
        normal = dr.select(dr.dot(normal, facet) < 0, -normal, normal)
        # A smooth normal may face away from a viewer who sees the facet: bend it until he is just above its horizon.
        away = dr.dot(normal, direction)
        normal = dr.normalize(normal - dr.select(away > -1e-3, away + 1e-3, 0.0) * direction)
        s = dr.gather(mi.ArrayXf, self._surfaces, thing, valid, shape=(16, dr.width(hit.t)))
        lookup = dr.gather(mi.ArrayXu, self._lookups, thing, valid, shape=(4, dr.width(hit.t)))
        colour = mi.Color3f(s[0], s[1], s[2]) * self._texture(lookup, u, v, valid)
        point = start + direction * hit.t
        point += facet * (_OFFSET * (1 + dr.max(dr.abs(point))))
        return Spot(
            valid, point, normal, facet, -direction, colour * (1 - s[4]),
            shading.DIELECTRIC * (1 - s[4]) + colour * s[4], s[3], lookup[3], s[6], s[5],
        )  # fmt: skip

    def _texture(self, lookup: Any, u: Any, v: Any, valid: Any) -> Any:
        """Bilinear, repeated; row 0 is at v = 1. White where there is none."""
        textured = valid & (lookup[1] > 0)
        width, height = dr.maximum(mi.Int32(lookup[1]), 1), dr.maximum(mi.Int32(lookup[2]), 1)
        x = (u - dr.floor(u)) * width - 0.5
        y = (1 - (v - dr.floor(v))) * height - 0.5
        x0, y0 = dr.floor(x), dr.floor(y)
        fx, fy = x - x0, y - y0
        left, top = mi.Int32(x0), mi.Int32(y0)
        right, bottom = left + 1, top + 1
        left, right = dr.select(left < 0, left + width, left), dr.select(right >= width, 0, right)
        top, bottom = dr.select(top < 0, top + height, top), dr.select(bottom >= height, 0, bottom)

        def texel(column: Any, row: Any) -> Any:
            at = dr.gather(mi.Vector4f, self._texels, lookup[0] + mi.UInt32(row * width + column), textured)
            return mi.Color3f(at.x, at.y, at.z)

        upper = texel(left, top) * (1 - fx) + texel(right, top) * fx
        lower = texel(left, bottom) * (1 - fx) + texel(right, bottom) * fx
        return dr.select(textured, upper * (1 - fy) + lower * fy, 1.0)

    def _table(self, row: Any, cosine: Any) -> tuple[Any, Any, Any]:
        """Both columns of the gloss table and what is left for the base, linear between the table's cosines."""
        at = dr.clip(cosine, 0.0, 1.0) * (shading.TABLE - 1)
        cell = dr.minimum(mi.UInt32(at), shading.TABLE - 2)
        f = at - mi.Float(cell)
        low = dr.gather(mi.Vector4f, self._tables, row + cell)
        high = dr.gather(mi.Vector4f, self._tables, row + cell + 1)
        out = low + (high - low) * f
        return out.x, out.y, out.z

    def _direct(self, spot: Spot, left_v: Any) -> Any:
        """The light of all lamps that spots throw towards their viewers."""
        n_v = dr.dot(spot.normal, spot.view)
        base = spot.base * (left_v / spot.mean * dr.inv_pi)

        def more(i: Any, _light: Any) -> Any:
            return spot.valid & (i < self._lamp_count)

        def add(i: Any, light: Any) -> tuple[Any, Any]:
            lamp = dr.gather(mi.ArrayXf, self._lamps, i, shape=(8, dr.width(n_v)))
            away = mi.Point3f(lamp[0], lamp[1], lamp[2]) - spot.point
            square = dr.squared_norm(away)
            inverse = dr.rsqrt(square)
            distance, way = square * inverse, away * inverse
            n_l = dr.dot(spot.normal, way)
            lit = (n_l > 0) & (dr.dot(spot.facet, way) > 0) & (distance < lamp[3])
            lit &= ~self._scene.ray_test(mi.Ray3f(spot.point, way, distance, 0.0, []), coherent=True, active=lit)
            half = dr.normalize(way + spot.view)
            f = shading.schlick(dr.dot(half, way))
            lobe = shading.gloss(dr, spot.alpha, dr.dot(spot.normal, half), n_l, n_v)
            _, _, left_l = self._table(spot.row, n_l)
            reflected = base * left_l + (spot.f0 * (1 - f) + f) * lobe
            strength = n_l / square * shading.lamp_window(dr, distance, lamp[3])
            fallen = mi.Color3f(lamp[4], lamp[5], lamp[6]) * strength * reflected
            return i + 1, light + dr.select(lit, fallen, 0.0)

        start = (dr.zeros(mi.UInt32, dr.width(n_v)), dr.zeros(mi.Color3f, dr.width(n_v)))
        return dr.while_loop(start, more, add, labels=("lamp", "light"))[1]


def rays_on_device(rays: Floats) -> Any:
    """Rays (N, 3) for `radiance` and `things_and_depth`."""
    vectors = mi.Vector3f(*[mi.Float(np.ascontiguousarray(rays[:, k])) for k in range(3)])
    dr.eval(vectors)
    return vectors


def _smooth_step(x: Any, low: float, high: float) -> Any:
    t = dr.clip((x - low) / (high - low), 0.0, 1.0)
    return t * t * (3 - 2 * t)


def _mesh(index: int, vertices: Floats, faces: np.ndarray[Any, Any]) -> Any:
    mesh = mi.Mesh(f"thing{index:06d}", len(vertices), len(faces))
    parameters = mi.traverse(mesh)
    parameters["vertex_positions"] = mi.Float(vertices.ravel())
    parameters["faces"] = mi.UInt32(faces.astype(np.uint32).ravel())
    parameters.update()
    return mesh


def _registered(mesh: Any) -> int:
    return int(dr.reinterpret_array(mi.UInt32, mi.ShapePtr(mesh))[0])


def _flat(rows: Any) -> Any:
    return mi.Float(np.ascontiguousarray(rows, np.float32).ravel())


def _opaque(values: Any, kind: Any = None) -> Any:
    """Numbers that the compiler does not see, so that a kernel serves for all values."""
    numbers = [dr.opaque(mi.Float, float(value)) for value in values]
    return numbers if kind is mi.Float else mi.Color3f(*numbers)
