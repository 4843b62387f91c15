"""Rays in Mitsuba's arrays: traced by Embree or OptiX, shaded by kernels that Dr.Jit compiles once.

To be imported when Mitsuba's variant has been set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import drjit as dr
import mitsuba as mi
import numpy as np

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.sim.engines.default.mitsuba_trees import Found, Part, RayTree, aligned, make_tree
from simjudge.sim.engines.default.packed import Floats
from simjudge.sim.engines.default.tracer import Hit, Input, Output

_ROOM = 1e-2
"""Metres around the sphere about what moves."""
_ROUNDING = 1e-6
"""The square of what rounding may do to the distance of a ray from a far point, over the square of its distance."""


class MitsubaTracer:
    """See `simjudge.sim.engines.default.tracer.Tracer`."""

    xp = dr
    everywhere = True
    knows_open_ways = True
    wavefront = 1 << 21

    def __init__(self, parts: Sequence[Part], first_face: Any, moving: Sequence[bool], clear: Sequence[bool]) -> None:
        """Build it from the things' triangles.

        The few that move all the time have a tree of their own, so that the tree of all others is seldom built anew;
        so have those that are clear, which block no light.
        """
        kinds = [2 if glass else int(moves) for moves, glass in zip(moving, clear, strict=True)]
        of_kind = [[part for part, kind in zip(parts, kinds, strict=True) if kind == k] for k in range(3)]
        self._trees = [make_tree(of_kind[0]), make_tree(of_kind[1], moving=True)]
        if of_kind[2]:
            self._trees.append(make_tree(of_kind[2]))
        self._moving = {part.number: part.vertices for part in of_kind[1]}
        self._sphere = _sphere(self._moving)
        shapes = {index: shape for tree in self._trees for index, shape in tree.shapes.items()}
        things = np.zeros((max(shapes.values(), default=0) + 1, 2), np.int32)
        for index, shape in shapes.items():
            things[shape] = index, first_face[index]
        self._things = self.table(things)

    def move(self, moved: Mapping[int, Floats], rotations: FloatArray, positions: FloatArray) -> None:
        for tree in self._trees:
            tree.move(moved, rotations, positions)
        if not self._moving.keys().isdisjoint(moved):
            self._moving |= {index: corners for index, corners in moved.items() if index in self._moving}
            self._sphere = _sphere(self._moving)

    def close(self) -> None:
        del self._trees, self._things
        # Dr.Jit keeps what was freed for arrays of the same size: another scene's have other sizes.
        dr.flush_malloc_cache()

    def follow(self, work: Callable[[Input], Output], wavefronts: Sequence[Input]) -> list[Output]:
        return [work(wavefront) for wavefront in wavefronts]

    def table(self, rows: Any) -> Any:
        # A table of one row would be taken for a constant, and another kernel compiled for it.
        padded = np.concatenate([rows, np.zeros((1, rows.shape[1]), rows.dtype)])
        return (mi.Int32 if rows.dtype == np.int32 else mi.Float)(aligned(padded))

    def row(self, table: Any, index: Any, width: int, active: Any) -> Any:
        kind = mi.ArrayXi if dr.is_integral_v(table) else mi.ArrayXf
        return dr.gather(kind, table, mi.UInt32(index), active, shape=(width, dr.width(index)))

    def given(self, columns: Floats) -> Any:
        kind = mi.Vector3f if columns.shape[1] == 3 else mi.Vector2f
        vectors = kind(*[mi.Float(aligned(column)) for column in columns.T])
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
        standing, moving, *clear = self._trees
        found = standing.first(origin, direction, dr.inf, active, together=together)
        found = _nearer(
            moving, found, origin, direction, active & self._near_moving(origin, direction, dr.inf), together
        )
        for tree in clear:
            found = _nearer(tree, found, origin, direction, active, together)
        thing = self.row(self._things, found.shape, 2, found.valid)
        return Hit(found.valid, found.distance, thing[0], thing[1] + mi.Int32(found.prim), found.uv.x, found.uv.y)

    def bit(self, integer: Any, number: Any) -> Any:
        return (integer >> mi.Int32(dr.minimum(number, 31))) & 1 > 0

    def blocked(
        self, origin: Any, direction: Any, distance: Any, active: Any, *, together: bool, open_way: Any = False
    ) -> Any:
        def any_of(tree: RayTree, asked: Any) -> Any:
            def search() -> Any:
                return tree.any(origin, direction, distance, asked, together=together)

            return dr.if_stmt((), asked, search, lambda: mi.Bool(False))  # noqa: FBT003

        standing, moving = self._trees[:2]
        blocked = any_of(standing, active & ~mi.Bool(open_way))
        return blocked | any_of(moving, active & ~blocked & self._near_moving(origin, direction, distance))

    def hidden(self, origin: Any, direction: Any, distance: Any, active: Any) -> Any:
        return self._trees[0].any(origin, direction, distance, active, together=True) & active

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

    def places(self, order: IntArray) -> Any:
        return mi.UInt32(mi.Int32(aligned(order.astype(np.int32))))

    def means(self, vector: Any, block: int, places: Any = None) -> Floats:
        if block > 1:
            dr.eval(vector)  # at once: each number's mean would follow all rays anew
            vector = mi.Vector3f(*[dr.block_sum(vector[k], block) / block for k in range(3)])
        mean: Floats = self.host(vector, places=places)[0]
        return mean

    def host(self, *arrays: Any, places: Any = None) -> list[Any]:
        if places is None:
            dr.eval(*arrays)
            return [np.array(array).T for array in arrays]
        # The kernel that computes the values puts them in their places: much less work than to sort them afterwards.
        placed = [_put(array, places) for array in arrays]
        dr.eval(*placed)
        rows = [dr.width(places), -1]
        return [each.numpy().reshape(rows[: dr.depth_v(array)]) for each, array in zip(placed, arrays, strict=True)]


def _put(array: Any, places: Any) -> Any:
    """Numbers, or vectors one after another, in their places."""
    columns = list(array) if dr.depth_v(array) > 1 else [array]
    placed = dr.empty(type(columns[0]), len(columns) * dr.width(places))
    for k, column in enumerate(columns):
        dr.scatter(placed, column, places * len(columns) + k, mode=dr.ReduceMode.Permute)
    return placed


def _sphere(vertices: Mapping[int, Floats]) -> Any:
    """Centre, and the square of the radius, of a sphere about some things."""
    corners = np.concatenate([np.zeros((0, 3)), *vertices.values()])
    low, high = (corners.min(0), corners.max(0)) if len(corners) else (np.zeros(3), np.zeros(3))
    radius = float(np.linalg.norm(high - low)) / 2 + _ROOM
    return [dr.opaque(mi.Float, each) for each in [*((low + high) / 2).tolist(), radius * radius]]


def _nearer(tree: RayTree, known: Found, origin: Any, direction: Any, active: Any, together: bool) -> Found:  # noqa: FBT001
    """What rays hit first, also in another tree."""
    limit = dr.select(known.valid, known.distance, dr.inf)
    found = tree.first(origin, direction, limit, active, together=together)
    rest = [dr.select(found.valid, new, old) for new, old in zip(found[1:], known[1:], strict=True)]
    return Found(known.valid | found.valid, *rest)
