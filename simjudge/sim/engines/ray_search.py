"""Compiled loops: trees of boxes over triangles and things, and the search along rays in them, some of which move.

A tree is two arrays. Boxes float64 (M, 6): lowest and highest corner. Links int64 (M, 2): of a leaf, where its items
begin in the tree's order, and how many they are; of an inner node, its first child (the second follows it), and 0.

What rests is searched by whatever the engine searches with. What moves is searched here, each ray in each thing's own
frame at the ray's own time: no pose is rounded to a common instant.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import UsageError
from simjudge.core.numba_cache import njit
from simjudge.geometry.keyframes import Keyframes, place_body
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.contract import STANDING, BodyMotion, Hits
from simjudge.sim.scene.model import Mesh, Thing

Links = npt.NDArray[np.int64]
_LEAF = 4  # Items in a leaf, at most
DEPTH = 64  # Nodes that wait, at most: enough for halves of 2^62 items
FAR = np.inf  # Distance of what is not hit
_SLACK = 1e-9  # Weights may be this far outside a triangle: rays do not slip through between two


class Tree(NamedTuple):
    """A tree over items; see the module."""

    # boxes, links: of the nodes, the root first.
    boxes: FloatArray
    links: Links
    order: Links


def grow(low: FloatArray, high: FloatArray) -> Tree:
    """The tree over items by their boxes' lowest and highest corners (N, 3): halves along the longest side."""
    if not len(low):
        return Tree(np.zeros((1, 6)), np.zeros((1, 2), np.int64), np.zeros(0, np.int64))
    return Tree(*_grow(np.ascontiguousarray(low, np.float64), np.ascontiguousarray(high, np.float64)))


class MeshForest(NamedTuple):
    """The trees over each mesh's triangles, one after another, as `search` takes them."""

    # int64 (F,), face of its mesh that each row of the trees is; meshes' faces are counted one after another.
    faces: npt.NDArray[np.int64]
    below: tuple[FloatArray, Links, Links, FloatArray]  # boxes, links, roots (T,) and triangles (F, 3, 3) of all trees


def grow_forest(meshes: Sequence[Mesh]) -> MeshForest:
    """A tree over the triangles of each mesh, in the mesh's own frame."""
    trees = [_grow_mesh_tree(mesh) for mesh in meshes]
    nodes = np.cumsum([0, *(len(tree.boxes) for tree in trees)])
    rows = np.cumsum([0, *(len(tree.order) for tree in trees)])
    links = [_shift_links(tree, nodes[k], rows[k]) for k, tree in enumerate(trees)]
    sides = [_corner_and_sides(mesh)[tree.order] for mesh, tree in zip(meshes, trees, strict=True)]
    return MeshForest(
        np.concatenate([np.zeros(0, np.int64), *(tree.order + rows[k] for k, tree in enumerate(trees))]),
        (
            np.concatenate([np.zeros((0, 6)), *(tree.boxes for tree in trees)]),
            np.concatenate([np.zeros((0, 2), np.int64), *links]),
            nodes[:-1].astype(np.int64),
            np.concatenate([np.zeros((0, 3, 3)), *sides]),
        ),
    )


def _grow_mesh_tree(mesh: Mesh) -> Tree:
    corners = mesh.vertices[mesh.faces]
    return grow(corners.min(1), corners.max(1)) if len(corners) else grow(np.zeros((0, 3)), np.zeros((0, 3)))


def _shift_links(tree: Tree, nodes: int, rows: int) -> Links:
    """A tree's links where its nodes and items stand behind those of others."""
    leaf = tree.links[:, 1] > 0
    return np.column_stack([tree.links[:, 0] + np.where(leaf, rows, nodes), tree.links[:, 1]])


def _corner_and_sides(mesh: Mesh) -> FloatArray:
    """Of each triangle a corner and the two sides from it, (F, 3, 3)."""
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    return np.stack([a, b - a, c - a], 1)


@njit(cache=True, nogil=True)
def _grow(low, high):  # type: ignore[no-untyped-def]
    count = len(low)
    middle = (low + high) / 2
    order = np.arange(count)
    boxes, links = np.empty((2 * count, 6)), np.zeros((2 * count, 2), np.int64)
    begins, ends, nodes = np.empty(DEPTH, np.int64), np.empty(DEPTH, np.int64), np.empty(DEPTH, np.int64)
    begins[0], ends[0], nodes[0] = 0, count, 0
    waiting, used = 1, 1
    while waiting:
        waiting -= 1
        begin, end, node = begins[waiting], ends[waiting], nodes[waiting]
        items = order[begin:end]
        for k in range(3):
            boxes[node, k], boxes[node, 3 + k] = low[items, k].min(), high[items, k].max()
        if end - begin <= _LEAF:
            links[node, 0], links[node, 1] = begin, end - begin
            continue
        sides = boxes[node, 3:] - boxes[node, :3]
        order[begin:end] = items[np.argsort(middle[items, np.argmax(sides)], kind="mergesort")]
        half = (begin + end) // 2
        links[node, 0], links[node, 1] = used, 0
        begins[waiting], ends[waiting], nodes[waiting] = begin, half, used
        begins[waiting + 1], ends[waiting + 1], nodes[waiting + 1] = half, end, used + 1
        waiting, used = waiting + 2, used + 2
    return boxes[:used].copy(), links[:used].copy(), order


@njit(cache=True, nogil=True)
def make_ray(ox, oy, oz, wx, wy, wz):  # type: ignore[no-untyped-def]
    """A ray as nine numbers: origin, direction, and the direction's inverse."""
    ix, iy, iz = 1 / wx if wx != 0 else FAR, 1 / wy if wy != 0 else FAR, 1 / wz if wz != 0 else FAR
    return ox, oy, oz, wx, wy, wz, ix, iy, iz


@njit(cache=True, nogil=True)
def _moved(rotations, positions, thing, x, y, z, u, v, w):  # type: ignore[no-untyped-def]
    """A ray of the world in a thing's frame."""
    x, y, z = x - positions[thing, 0], y - positions[thing, 1], z - positions[thing, 2]
    a, b, c = rotations[thing, 0, 0], rotations[thing, 1, 0], rotations[thing, 2, 0]
    d, e, f = rotations[thing, 0, 1], rotations[thing, 1, 1], rotations[thing, 2, 1]
    g, h, i = rotations[thing, 0, 2], rotations[thing, 1, 2], rotations[thing, 2, 2]
    return make_ray(
        a * x + b * y + c * z,
        d * x + e * y + f * z,
        g * x + h * y + i * z,
        a * u + b * v + c * w,
        d * u + e * v + f * w,
        g * u + h * v + i * w,
    )


@njit(cache=True, nogil=True)
def enters(boxes, node, ray, limit):  # type: ignore[no-untyped-def]
    """Whether a ray enters a node's box within the limit."""
    near, far = 0.0, limit
    for k in range(3):
        a, b = (boxes[node, k] - ray[k]) * ray[6 + k], (boxes[node, 3 + k] - ray[k]) * ray[6 + k]
        if a > b:
            a, b = b, a
        # A ray that runs in the box's side gives NaN, which neither comparison takes over.
        if a > near:  # noqa: PLR1730 - max() does something else with NaN
            near = a
        if b < far:  # noqa: PLR1730
            far = b
    return near <= far * (1 + 1e-12)


@njit(cache=True, nogil=True)
def meet_triangle(corners, at, ray, limit):  # type: ignore[no-untyped-def]
    """Distance and weights of corners where a ray meets a triangle, else FAR (Moeller and Trumbore, 1997)."""
    ux, uy, uz = corners[at, 1, 0], corners[at, 1, 1], corners[at, 1, 2]
    vx, vy, vz = corners[at, 2, 0], corners[at, 2, 1], corners[at, 2, 2]
    px, py, pz = ray[4] * vz - ray[5] * vy, ray[5] * vx - ray[3] * vz, ray[3] * vy - ray[4] * vx
    scale = ux * px + uy * py + uz * pz
    if scale == 0:
        return FAR, 0.0, 0.0
    sx, sy, sz = ray[0] - corners[at, 0, 0], ray[1] - corners[at, 0, 1], ray[2] - corners[at, 0, 2]
    first = (sx * px + sy * py + sz * pz) / scale
    qx, qy, qz = sy * uz - sz * uy, sz * ux - sx * uz, sx * uy - sy * ux
    second = (ray[3] * qx + ray[4] * qy + ray[5] * qz) / scale
    distance = (vx * qx + vy * qy + vz * qz) / scale
    if first < -_SLACK or second < -_SLACK or first + second > 1 + _SLACK or not 0 < distance < limit:
        return FAR, 0.0, 0.0
    return distance, first, second


@njit(cache=True, nogil=True)
def search_thing(boxes, links, root, corners, ray, best, nearest, stack):  # type: ignore[no-untyped-def]
    """What a ray hits of one thing, in its frame, closer than `best`: distance, row of the triangle (-1), weights."""
    stack[0], waiting = root, 1
    found, first, second = -1, 0.0, 0.0
    while waiting:
        waiting -= 1
        node = stack[waiting]
        if not enters(boxes, node, ray, best):
            continue
        begin, count = links[node, 0], links[node, 1]
        if count == 0:
            stack[waiting], stack[waiting + 1] = begin, begin + 1
            waiting += 2
        for at in range(begin, begin + count):
            distance, b1, b2 = meet_triangle(corners, at, ray, best)
            if distance < best:
                best, found, first, second = distance, at, b1, b2
                if not nearest:
                    return best, found, first, second
    return best, found, first, second


@njit(cache=True, nogil=True)
def search(origins, directions, limits, active, nearest, top, below, rotations, positions, out):  # type: ignore[no-untyped-def]
    """For each ray (3, N), the nearest thing that it hits within its limit (N,), or any.

    `origins`, `directions`, `limits`, `active`: the rays, in float64; `below`: boxes and links of the trees over each
    thing's triangles, one after another, each thing's root (T,), the triangles (F, 3, 3) in these trees' order, in the
    things' frames, as a corner and two sides from it; `rotations`, `positions`: (T, 3, 3) and (T, 3), the things'
    poses; `out`: (N,) each: distance (inf: nothing is hit), thing, row of the triangle, weights of its second, third
    corner.
    """
    top_boxes, top_links, order = top
    boxes, links, roots, corners = below
    stack, stack_below = np.empty(DEPTH, np.int64), np.empty(DEPTH, np.int64)
    for n in range(origins.shape[1]):
        out[0][n] = FAR
        if not active[n]:
            continue
        x, y, z = origins[0, n], origins[1, n], origins[2, n]
        u, v, w = directions[0, n], directions[1, n], directions[2, n]
        ray = make_ray(x, y, z, u, v, w)
        best, done = limits[n], False
        stack[0], waiting = 0, 1
        while waiting and not done:
            waiting -= 1
            node = stack[waiting]
            if not enters(top_boxes, node, ray, best):
                continue
            begin, count = top_links[node, 0], top_links[node, 1]
            if count == 0:
                stack[waiting], stack[waiting + 1] = begin, begin + 1
                waiting += 2
            for at in range(begin, begin + count):
                thing = order[at]
                ray_there = _moved(rotations, positions, thing, x, y, z, u, v, w)
                distance, row, b1, b2 = search_thing(
                    boxes, links, roots[thing], corners, ray_there, best, nearest, stack_below
                )
                if row >= 0:
                    best = distance
                    out[0][n], out[1][n], out[2][n], out[3][n], out[4][n] = distance, thing, row, b1, b2
                    if not nearest:
                        done = True
                        break


_NEAREST = True  # What `search_thing` is asked for
_BATCH = 1 << 13  # Rays that one thread searches at a time

# From origins and directions (N, 3) to the first hits among what rests, with its index among all things.
CastResting = Callable[[FloatArray, FloatArray], Hits]
# Puts things, by their indices, where they rest during the next rays, or takes away (None) those that move.
PlaceResting = Callable[[Sequence[int], Sequence[Pose | None]], None]


class TimedRays:
    """Casts timed rays at the things of a scene."""

    def __init__(
        self, things: Sequence[Thing], cast_resting: CastResting, place_resting: PlaceResting | None = None
    ) -> None:
        """Take the things, where the scene has them (place_resting: says to it what rests where; None)."""
        self._cast_resting, self._place_resting = cast_resting, place_resting
        self._index = {thing.name: index for index, thing in enumerate(things)}
        self._movable = [index for index, thing in enumerate(things) if thing.motion != "static"]
        self._row = {things[index].name: row for row, index in enumerate(self._movable)}
        movable = [things[index] for index in self._movable]
        self._position = np.array([thing.pose.position for thing in movable]).reshape(-1, 3)
        self._orientation = np.array([thing.pose.orientation for thing in movable]).reshape(-1, 4)
        self._resting = np.hstack([self._position, self._orientation])
        self._below = grow_forest([thing.mesh for thing in movable]).below
        # A sphere about its origin holds a thing however it is turned.
        vertices = [thing.mesh.vertices for thing in movable]
        self._radius = np.array([np.linalg.norm(vertex, axis=1).max(initial=0.0) for vertex in vertices])

    def cast(
        self, origins: FloatArray, directions: FloatArray, times: FloatArray, motion: BodyMotion = STANDING
    ) -> Hits:
        """What rays hit first, each at its own time (origins, directions (N, 3); times (N,))."""
        keyframes = self._all_keyframes(motion)
        moving = self._moving(keyframes)
        hits = self._cast_resting(origins, directions)
        if not len(moving) or not len(origins):
            return hits
        margin = self._radius[moving, None] * (1 + 1e-9)
        low = keyframes.position[:, moving].min(0) - margin
        high = keyframes.position[:, moving].max(0) + margin
        top = grow(low, high)
        top = top._replace(order=moving[top.order])
        shared = len(origins) // len(times)
        work = (tuple(top), self._below, keyframes.arrays(), np.array(self._movable, np.int64))

        def search(begin: int) -> None:
            rows = slice(begin, begin + _BATCH)
            _search_timed(
                origins[rows],
                directions[rows],
                times,
                shared,
                begin,
                *work,
                hits.distance[rows],
                hits.thing[rows],
                hits.normal[rows],
            )

        begins = range(0, len(origins), _BATCH)
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            list(pool.map(search, begins))
        return hits

    def _all_keyframes(self, motion: BodyMotion) -> Keyframes:
        """Poses of everything that can move, in the order of `self._movable`."""
        unknown = [name for name in motion.names if name not in self._row]
        if unknown:
            what = "stands for ever" if unknown[0] in self._index else "is not in the scene"
            raise UsageError(f"body {unknown[0]!r} {what}: it cannot move")
        given, rows = motion.keyframes, [self._row[name] for name in motion.names]
        position = np.repeat(self._position[None], len(given.time), 0)
        orientation = np.repeat(self._orientation[None], len(given.time), 0)
        position[:, rows], orientation[:, rows] = given.position, given.orientation
        return Keyframes(given.time, position, orientation)

    def _moving(self, keyframes: Keyframes) -> npt.NDArray[np.int64]:
        """Rows of what is searched here; all else is put where it rests."""
        if self._place_resting is None:
            return np.arange(len(self._movable))
        poses = np.concatenate([keyframes.position, keyframes.orientation], 2)
        moves = (poses != poses[0]).any((0, 2))
        resting = np.where(moves[:, None], np.nan, poses[0])
        changed = np.flatnonzero(((resting != self._resting) & ~(np.isnan(resting) & np.isnan(self._resting))).any(1))
        if len(changed):
            self._resting = resting
            self._place_resting(
                [self._movable[row] for row in changed], [_pose(resting[row].tolist()) for row in changed]
            )
        return np.flatnonzero(moves)


def _pose(numbers: Sequence[float]) -> Pose | None:
    """Position and orientation as a pose; None where they are NaN."""
    x, y, z, qx, qy, qz, qw = numbers
    return None if math.isnan(x) else Pose((x, y, z), (qx, qy, qz, qw))


@njit(cache=True, nogil=True)
def _search_timed(  # type: ignore[no-untyped-def]
    origins, directions, times, shared, begin, top, below, keyframes, numbers, distance, hit, normal
):
    """Put whatever moves and is nearer than `distance` into distance, hit and normal."""
    top_boxes, top_links, order = top
    boxes, links, roots, corners = below
    stack, stack_below = np.empty(DEPTH, np.int64), np.empty(DEPTH, np.int64)
    rotation, position = np.empty((3, 3)), np.empty(3)
    o, d = np.empty(3), np.empty(3)
    for n in range(len(origins)):
        u, v, w = directions[n, 0], directions[n, 1], directions[n, 2]
        ray = make_ray(origins[n, 0], origins[n, 1], origins[n, 2], u, v, w)
        best = distance[n]
        stack[0], waiting = 0, 1
        while waiting:
            waiting -= 1
            node = stack[waiting]
            if not enters(top_boxes, node, ray, best):
                continue
            first, count = top_links[node, 0], top_links[node, 1]
            if count == 0:
                stack[waiting], stack[waiting + 1] = first, first + 1
                waiting += 2
            for at in range(first, first + count):
                thing = order[at]
                place_body(keyframes, thing, times[(begin + n) // shared], rotation, position)
                for k in range(3):
                    o[k] = d[k] = 0.0
                    for j in range(3):
                        o[k] += rotation[j, k] * (origins[n, j] - position[j])
                        d[k] += rotation[j, k] * directions[n, j]
                there = make_ray(o[0], o[1], o[2], d[0], d[1], d[2])
                found, row, _, _ = search_thing(boxes, links, roots[thing], corners, there, best, _NEAREST, stack_below)
                if row < 0:
                    continue
                best = distance[n] = found
                hit[n] = numbers[thing]
                side, other = corners[row, 1], corners[row, 2]
                x = side[1] * other[2] - side[2] * other[1]
                y = side[2] * other[0] - side[0] * other[2]
                z = side[0] * other[1] - side[1] * other[0]
                length = max(np.sqrt(x * x + y * y + z * z), 1e-300)
                for k in range(3):
                    normal[n, k] = (rotation[k, 0] * x + rotation[k, 1] * y + rotation[k, 2] * z) / length
