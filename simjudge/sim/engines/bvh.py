"""Trees of boxes over triangles and things, and the search along rays in them: compiled loops for both engines.

A tree is two arrays. Boxes float64 (M, 6): lowest and highest corner. Links int64 (M, 2): of a leaf, where its items
begin in the tree's order, and how many they are; of an inner node, its first child (the second follows it), and 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from simjudge.core.arrays import FloatArray
from simjudge.sim.scene.model import Mesh

Links = npt.NDArray[np.int64]
_LEAF = 4
"""Items in a leaf, at most."""
DEPTH = 64
"""Nodes that wait, at most: enough for halves of 2^62 items."""
FAR = np.inf
"""Distance of what is not hit."""
_SLACK = 1e-9
"""Weights may be this far outside a triangle: rays do not slip through between two."""


class Tree(NamedTuple):
    """A tree over items; see the module.

    Attributes:
        boxes, links: of the nodes, the root first.
    """

    boxes: FloatArray
    links: Links
    order: Links


def grow(low: FloatArray, high: FloatArray) -> Tree:
    """The tree over items: halves along the longest side, by the boxes' middles.

    Args:
        low: lowest corners of the items' boxes, (N, 3).
        high: highest corners, (N, 3).
    """
    if not len(low):
        return Tree(np.zeros((1, 6)), np.zeros((1, 2), np.int64), np.zeros(0, np.int64))
    return Tree(*_grow(np.ascontiguousarray(low, np.float64), np.ascontiguousarray(high, np.float64)))


class MeshForest(NamedTuple):
    """The trees over each mesh's triangles, one after another, as `search` takes them.

    Attributes:
        faces: int64 (F,), face of its mesh that each row of the trees is; meshes' faces are counted one after another.
        below: boxes, links, roots (T,) and triangles (F, 3, 3) of all trees.
    """

    faces: npt.NDArray[np.int64]
    below: tuple[FloatArray, Links, Links, FloatArray]


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
        a * x + b * y + c * z, d * x + e * y + f * z, g * x + h * y + i * z,
        a * u + b * v + c * w, d * u + e * v + f * w, g * u + h * v + i * w,
    )  # fmt: skip


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
def _meets(corners, at, ray, limit):  # type: ignore[no-untyped-def]
    """Distance and weights of a triangle's second and third corner where a ray meets it; FAR where it does not.

    Moeller and Trumbore, "Fast, minimum storage ray/triangle intersection", 1997.
    """
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
            distance, b1, b2 = _meets(corners, at, ray, best)
            if distance < best:
                best, found, first, second = distance, at, b1, b2
                if not nearest:
                    return best, found, first, second
    return best, found, first, second


@njit(cache=True, nogil=True)
def search(origins, directions, limits, active, nearest, top, below, rotations, positions, out):  # type: ignore[no-untyped-def]
    """For each ray (3, N), the nearest thing that it hits within its limit (N,), or any.

    Args:
        origins, directions, limits, active: the rays, in float64.
        below: boxes and links of the trees over each thing's triangles, one after another, each thing's root (T,), the
            triangles (F, 3, 3) in these trees' order, in the things' frames, as a corner and two sides from it.
        rotations, positions: (T, 3, 3) and (T, 3), the things' poses.
        out: (N,) each: distance (inf: nothing is hit), thing, row of the triangle, weights of its second, third corner.
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
