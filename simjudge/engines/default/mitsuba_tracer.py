"""Rays in Mitsuba's arrays: traced by Embree or OptiX, shaded by kernels that Dr.Jit compiles once.

To be imported when Mitsuba's variant has been set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import drjit as dr
import mitsuba as mi
import numpy as np

from simjudge.core.frames import FloatArray
from simjudge.engines.default.packed import Faces, Floats
from simjudge.engines.default.tracer import Hit, Input, Output

_LINE = 16
"""Numbers in a cache line."""
_ROOM = 1e-2
"""Metres around the sphere about what moves."""
_ROUNDING = 1e-6
"""The square of what rounding may do to the distance of a ray from a far point, over the square of its distance."""


class MitsubaTracer:
    """See `simjudge.engines.default.tracer.Tracer`."""

    xp = dr
    everywhere = True
    knows_open_ways = True
    wavefront = 1 << 21

    def __init__(
        self,
        vertices: Sequence[Floats],
        faces: Sequence[Faces],
        first_face: Any,
        moving: Sequence[bool],
        clear: Sequence[bool],
    ) -> None:
        """Build it from the things' triangles, vertices in the world.

        The few that move all the time have a tree of their own, so that the tree of all others is seldom built anew;
        so have those that are clear, which block no light.
        """
        self._meshes = [_mesh(index, v, f) for index, (v, f) in enumerate(zip(vertices, faces, strict=True))]
        self._kinds = [2 if glass else int(moves) for moves, glass in zip(moving, clear, strict=True)]
        count = 3 if any(clear) else 2
        self._trees = [
            _Tree([mesh for mesh, of in zip(self._meshes, self._kinds, strict=True) if of == kind])
            for kind in range(count)
        ]
        self._moving = {
            index: corners for index, (corners, kind) in enumerate(zip(vertices, self._kinds, strict=True)) if kind == 1
        }
        self._sphere = _sphere(self._moving)
        things = np.zeros((max(map(_registered, self._meshes), default=0) + 1, 2), np.int32)
        for index, mesh in enumerate(self._meshes):
            things[_registered(mesh)] = index, first_face[index]
        self._things = self.table(things)

    def move(self, moved: Mapping[int, Floats], rotations: FloatArray, positions: FloatArray) -> None:  # noqa: ARG002
        for kind, tree in enumerate(self._trees):
            tree.move({self._meshes[i].id(): v for i, v in moved.items() if self._kinds[i] == kind})
        if not self._moving.keys().isdisjoint(moved):
            self._moving |= {index: corners for index, corners in moved.items() if index in self._moving}
            self._sphere = _sphere(self._moving)

    def close(self) -> None:
        del self._trees, self._meshes, self._things
        # Dr.Jit keeps what was freed for arrays of the same size: another scene's have other sizes.
        dr.flush_malloc_cache()

    def follow(self, work: Callable[[Input], Output], wavefronts: Sequence[Input]) -> list[Output]:
        return [work(wavefront) for wavefront in wavefronts]

    def table(self, rows: Any) -> Any:
        # A table of one row would be taken for a constant, and another kernel compiled for it.
        padded = np.concatenate([rows, np.zeros((1, rows.shape[1]), rows.dtype)])
        return (mi.Int32 if rows.dtype == np.int32 else mi.Float)(_aligned(padded))

    def row(self, table: Any, index: Any, width: int, active: Any) -> Any:
        kind = mi.ArrayXi if dr.is_integral_v(table) else mi.ArrayXf
        return dr.gather(kind, table, mi.UInt32(index), active, shape=(width, dr.width(index)))

    def given(self, columns: Floats) -> Any:
        kind = mi.Vector3f if columns.shape[1] == 3 else mi.Vector2f
        vectors = kind(*[mi.Float(_aligned(column)) for column in columns.T])
        dr.eval(vectors)
        return vectors

    def same(self, values: Sequence[float]) -> Any:
        return [dr.opaque(mi.Float, float(value)) for value in values]

    def vector(self, numbers: Sequence[Any]) -> Any:
        return mi.Vector3f(*numbers)

    def dot(self, a: Any, b: Any) -> Any:
        return dr.dot(a, b)

    def cross(self, a: Any, b: Any) -> Any:
        return dr.cross(a, b)

    def angle(self, y: Any, x: Any) -> Any:
        return dr.atan2(y, x)

    def largest(self, vector: Any) -> Any:
        return dr.max(vector)

    def select(self, mask: Any, yes: Any, no: Any) -> Any:
        return dr.select(mask, yes, no)

    def whole(self, number: Any) -> Any:
        return mi.Int32(dr.floor(number))

    def decimal(self, integer: Any) -> Any:
        return mi.Float(integer)

    def hit(self, origin: Any, direction: Any, active: Any, *, together: bool = True) -> Hit:
        first, *more = self._trees
        found, valid = first.first(mi.Ray3f(origin, direction), active, together=together)
        shape, prim, uv, reach = found.shape, found.prim_index, found.prim_uv, found.t
        for tree in more:
            distance = dr.select(valid, reach, dr.inf)
            other, nearer = tree.first(mi.Ray3f(origin, direction, distance, 0.0, []), active, together=together)
            shape, prim = dr.select(nearer, other.shape, shape), dr.select(nearer, other.prim_index, prim)
            uv, reach = dr.select(nearer, other.prim_uv, uv), dr.select(nearer, other.t, reach)
            valid = valid | nearer
        thing = self.row(self._things, dr.reinterpret_array(mi.UInt32, shape), 2, valid)
        return Hit(valid, reach, thing[0], thing[1] + mi.Int32(prim), uv.x, uv.y)

    def bit(self, integer: Any, number: Any) -> Any:
        return (integer >> mi.Int32(dr.minimum(number, 31))) & 1 > 0

    def blocked(
        self, origin: Any, direction: Any, distance: Any, active: Any, *, together: bool, open_way: Any = False
    ) -> Any:
        ray = mi.Ray3f(origin, direction, distance, 0.0, [])
        standing, others = self._trees[:2]
        unknown = active & ~mi.Bool(open_way)
        blocked = dr.if_stmt((), unknown, lambda: standing.any(ray, unknown, together=together), lambda: mi.Bool(False))  # noqa: FBT003
        near = active & ~blocked & self._near_moving(origin, direction, distance)
        moving = dr.if_stmt((), near, lambda: others.any(ray, near, together=together), lambda: mi.Bool(False))  # noqa: FBT003
        return blocked | moving

    def _near_moving(self, origin: Any, direction: Any, distance: Any) -> Any:
        """Mask: the sphere that holds all that moves all the time is in the way; it has room for rounding."""
        centre = mi.Point3f(*self._sphere[:3]) - origin
        beside = centre - dr.clip(dr.dot(centre, direction), 0.0, distance) * direction
        return dr.dot(beside, beside) <= self._sphere[3] + _ROUNDING * dr.dot(centre, centre)

    def add_up(self, count: int, active: Any, term: Callable[[Any], Any], like: Any) -> Any:
        lamps = dr.opaque(mi.UInt32, count)

        def more(i: Any, _total: Any) -> Any:
            return active & (i < lamps)

        def add(i: Any, total: Any) -> tuple[Any, Any]:
            return i + 1, total + term(i)

        width = dr.width(like)
        start = (dr.zeros(mi.UInt32, width), dr.zeros(mi.Vector3f, width))
        return dr.while_loop(start, more, add, labels=("lamp", "light"))[1]

    def where(self, mask: Any, work: Callable[[], Any]) -> Any:
        return dr.if_stmt((), mask, work, lambda: dr.zeros(mi.Vector3f))

    def means(self, vector: Any, block: int) -> Floats:
        dr.eval(vector)  # at once: each number's mean would follow all rays anew
        if block > 1:
            vector = mi.Vector3f(*[dr.block_sum(vector[k], block) / block for k in range(3)])
        return np.array(vector).T

    def host(self, *arrays: Any) -> list[Any]:
        dr.eval(*arrays)
        return [np.array(array).T for array in arrays]


def _sphere(vertices: Mapping[int, Floats]) -> Any:
    """Centre, and the square of the radius, of a sphere about some things."""
    corners = np.concatenate([np.zeros((0, 3)), *vertices.values()])
    low, high = (corners.min(0), corners.max(0)) if len(corners) else (np.zeros(3), np.zeros(3))
    radius = float(np.linalg.norm(high - low)) / 2 + _ROOM
    return [dr.opaque(mi.Float, each) for each in [*((low + high) / 2).tolist(), radius * radius]]


class _Tree:
    """Some of the meshes, in a tree for rays."""

    def __init__(self, meshes: Sequence[Any]) -> None:
        # Merged meshes would lose which thing was hit.
        self._scene = mi.load_dict({"type": "scene", **{mesh.id(): mesh for mesh in meshes}}, optimize=False)
        self._parameters = mi.traverse(self._scene)
        self._empty = not meshes

    def move(self, vertices: Mapping[str, Floats]) -> None:
        for mesh, moved in vertices.items():
            self._parameters[f"{mesh}.vertex_positions"] = mi.Float(_aligned(moved))
        if vertices:
            self._parameters.update()

    def first(self, ray: Any, active: Any, *, together: bool) -> tuple[Any, Any]:
        if self._empty:
            return dr.zeros(mi.PreliminaryIntersection3f, dr.width(ray.d)), mi.Bool(False)  # noqa: FBT003
        found = self._scene.ray_intersect_preliminary(ray, coherent=together, active=active)
        return found, found.is_valid() & active

    def any(self, ray: Any, active: Any, *, together: bool) -> Any:
        return self._scene.ray_test(ray, coherent=together, active=active) if not self._empty else mi.Bool(False)  # noqa: FBT003


def _aligned(values: Any) -> Any:
    """A flat copy of float32 or int32 numbers that begins at a cache line.

    Mitsuba reads NumPy's memory where it lies, and compiles kernels for lines and for what is beside them.
    """
    room = np.empty(values.size + _LINE, values.dtype)
    begin = -room.ctypes.data % (4 * _LINE) // 4
    room[begin : begin + values.size] = values.ravel()
    return room[begin : begin + values.size]


def _mesh(index: int, vertices: Floats, faces: Faces) -> Any:
    mesh = mi.Mesh(f"thing{index:06d}", len(vertices), len(faces))
    mesh.set_id(f"thing{index:06d}")
    parameters = mi.traverse(mesh)
    parameters["vertex_positions"] = mi.Float(_aligned(vertices))
    parameters["faces"] = mi.UInt32(_aligned(faces.astype(np.uint32)))
    parameters.update()
    return mesh


def _registered(mesh: Any) -> int:
    """The number by which kernels know a mesh."""
    return int(dr.reinterpret_array(mi.UInt32, mi.ShapePtr(mesh))[0])
