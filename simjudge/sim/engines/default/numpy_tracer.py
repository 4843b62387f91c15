"""Rays in NumPy's arrays, searched for by compiled loops: slow, but needs nothing that a machine may lack."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.sim.engines.default.packed import Floats
from simjudge.sim.engines.default.tracer import Hit, Input, Output
from simjudge.sim.engines.ray_search import Tree, grow, grow_forest, search
from simjudge.sim.scene.model import Mesh


class NumpyTracer:
    """See `simjudge.sim.engines.default.tracer.Tracer`. Vectors are (3, N), or (3, 1) where all rays share them."""

    xp = np
    everywhere = True
    knows_open_ways = False
    wavefront = 1 << 14

    def __init__(
        self, meshes: Sequence[Mesh], vertices: Sequence[Floats], moving: Sequence[bool], clear: Sequence[bool]
    ) -> None:
        """Build it from the things' triangles, each in its own frame, and their vertices in the world.

        Those that are clear block no light.
        """
        self._opaque = np.flatnonzero(~np.array(clear, bool))
        self._standing: Tree | None = None
        self._still = np.flatnonzero(~np.array(clear, bool) & ~np.array(moving, bool))
        forest = grow_forest(meshes)
        self._faces, self._below = forest.faces.astype(np.int32), forest.below
        self._bounds = np.array([[v.min(0), v.max(0)] for v in vertices], np.float64).reshape(-1, 2, 3)
        self.move({}, np.zeros((len(meshes), 3, 3)), np.zeros((len(meshes), 3)))

    def move(self, moved: Mapping[int, Floats], rotations: FloatArray, positions: FloatArray) -> None:
        for index, vertices in moved.items():
            self._bounds[index] = vertices.min(0), vertices.max(0)
        # Vertices were rounded to float32, what is searched is not: leave room for that.
        room = 1e-6 * (1 + np.abs(self._bounds).max(initial=0.0))
        low, high = self._bounds[:, 0] - room, self._bounds[:, 1] + room
        self._top = self._blocking = grow(low, high)
        if len(self._opaque) < len(low):
            self._blocking = _grow_some(low, high, self._opaque)
        self._standing = None
        self._bounded = low, high
        self._rotations, self._positions = rotations.astype(np.float64), positions.astype(np.float64)

    def close(self) -> None:
        """Nothing is held but arrays."""

    def follow(self, work: Callable[[Input], Output], wavefronts: Sequence[Input]) -> list[Output]:
        def quietly(wavefront: Input) -> Output:
            with np.errstate(all="ignore"):  # lanes that nobody looks at hold anything
                return work(wavefront)

        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            return list(pool.map(quietly, wavefronts))

    def table(self, rows: Any) -> Any:
        return np.ascontiguousarray(rows)

    def row(self, table: Any, index: Any, width: int, active: Any) -> Any:  # noqa: ARG002 - tables know their width
        if np.ndim(index) == 0:
            return table[index]
        return table[index if active is True else np.where(active, index, 0)].T

    def given(self, columns: Floats) -> Any:
        return np.ascontiguousarray(columns.T, np.float32)

    def same(self, values: Sequence[float]) -> Any:
        return np.array(values, np.float32)

    def vector(self, numbers: Sequence[Any]) -> Any:
        stacked = np.stack(np.broadcast_arrays(*numbers))
        return stacked[:, None] if stacked.ndim == 1 else stacked

    def dot(self, a: Any, b: Any) -> Any:
        return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]

    def cross(self, a: Any, b: Any) -> Any:
        return np.stack([a[k - 2] * b[k - 1] - a[k - 1] * b[k - 2] for k in range(3)])

    def angle(self, y: Any, x: Any) -> Any:
        return np.arctan2(y, x)

    def largest(self, vector: Any) -> Any:
        return vector.max(0)

    def select(self, mask: Any, yes: Any, no: Any) -> Any:
        return np.where(mask, yes, no)

    def whole(self, number: Any) -> Any:
        return np.floor(number).astype(np.int32)

    def decimal(self, integer: Any) -> Any:
        return np.asarray(integer).astype(np.float32)

    def hit(self, origin: Any, direction: Any, active: Any, *, together: bool = True) -> Hit:  # noqa: ARG002
        count = direction.shape[1]
        distance, thing, face, b1, b2 = self._search(self._top, origin, direction, np.full(count, np.inf), active)
        # Trees have their own order of the faces.
        faces = self._faces[face] if len(self._faces) else face
        return Hit(np.isfinite(distance), distance, thing, faces, b1, b2)

    def bit(self, integer: Any, number: Any) -> Any:
        return (integer >> min(number, 31)) & 1 > 0

    def blocked(
        self,
        origin: Any,
        direction: Any,
        distance: Any,
        active: Any,
        *,
        together: bool,  # noqa: ARG002
        open_way: Any = False,  # noqa: ARG002
    ) -> Any:
        return np.isfinite(self._search(self._blocking, origin, direction, distance, active, nearest=False)[0])

    def hidden(self, origin: Any, direction: Any, distance: Any, active: Any) -> Any:
        if self._standing is None:
            self._standing = _grow_some(*self._bounded, self._still)
        return np.isfinite(self._search(self._standing, origin, direction, distance, active, nearest=False)[0])

    def add_up(self, count: int, active: Any, term: Callable[[Any], Any], like: Any) -> Any:
        total = np.zeros((3, len(like)), np.float32)
        for i in range(count if np.any(active) else 0):
            total += term(i)
        return total

    def where(self, mask: Any, work: Callable[[], Any]) -> Any:
        return np.where(mask, work(), np.float32(0)) if np.any(mask) else np.zeros((3, 1), np.float32)

    def places(self, order: IntArray) -> Any:
        return order

    def means(self, vector: Any, block: int, places: Any = None) -> Floats:
        mean: Floats = self.host(vector.reshape(3, -1, block).mean(2, dtype=np.float32), places=places)[0]
        return mean

    def host(self, *arrays: Any, places: Any = None) -> list[Any]:
        rows = [array.T for array in arrays]
        return rows if places is None else [_in_place(each, places) for each in rows]

    def _search(
        self, top: Tree, origin: Any, direction: Any, limit: Any, active: Any, *, nearest: bool = True
    ) -> tuple[Any, ...]:
        origin, direction = np.broadcast_arrays(origin, direction)
        count = direction.shape[1]
        out = (
            np.zeros(count, np.float32), np.zeros(count, np.int32), np.zeros(count, np.int32),
            np.zeros(count, np.float32), np.zeros(count, np.float32),
        )  # fmt: skip
        origins = np.ascontiguousarray(origin, np.float64)
        limits, mask = (
            np.broadcast_to(np.asarray(limit, np.float64), (count,)).copy(),
            np.broadcast_to(active, (count,)).copy(),
        )
        search(
            origins, np.ascontiguousarray(direction, np.float64), limits, mask, nearest, tuple(top), self._below,
            self._rotations, self._positions, out,
        )  # fmt: skip
        return out


def _grow_some(low: FloatArray, high: FloatArray, chosen: IntArray) -> Tree:
    """The tree of some boxes."""
    tree = grow(low[chosen], high[chosen])
    return tree._replace(order=chosen[tree.order])


def _in_place(values: Any, places: IntArray) -> Any:
    placed = np.empty(values.shape, values.dtype)
    placed[places] = values
    return placed
