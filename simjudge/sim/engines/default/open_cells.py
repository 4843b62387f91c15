"""Cells of a scene from all of whose surface a lamp is surely in sight: no shadow ray needs to be traced there.

A cell has the plane of one of its triangles, with all its others on it or below. It is open to a lamp above that plane
if no triangle that rises above the plane meets the shaft between the cell and the lamp (Haines and Wallace, "Shaft
culling for efficient ray-traced radiosity", 1991). Points of the cell above the plane then have the lamp in sight. All
is rounded to the safe side, so that pictures do not change by a bit.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.numba_cache import njit
from simjudge.sim.engines.default.packed import Floats
from simjudge.sim.engines.ray_search import DEPTH, grow

LAMPS = 31  # Lamps that a cell has a bit for; the light of others is always traced
PLANE = 4  # Numbers in a row of `OpenCells.planes`
_EDGE = 0.15  # Length of a cell's sides, metres, at least
_CELLS = 1 << 17  # Cells, about, at most
# Metres around cells and shafts: much more than what float32 leaves open, and the offset of secondary rays.
_MARGIN = 1e-3
_ON = 1e-6  # Metres that what is on a plane may rise above it
_HELD = 24  # Triangles in a cell, at most, for which its plane is looked for
_LOW = 0.05  # Metres that a lamp is above the plane of a surface, at least: else rays graze it
_BATCH = 1 << 12  # Cells that one thread judges at a time


class OpenCells(NamedTuple):
    """A grid of cells."""

    low: tuple[float, float, float]  # its lowest corner, metres
    edge: float  # of a cell, metres
    shape: tuple[int, int, int]  # cells along x, y and z
    # int32 (cells, 1), z fastest: bit i is set where lamp i is surely in sight from above the plane.
    lamps: npt.NDArray[np.int32]
    planes: Floats  # float32 (cells, 4): the plane's normal, and its offset from the origin, metres


# Nothing is known of any place.
NO_CELLS = OpenCells((0.0, 0.0, 0.0), 1.0, (0, 0, 0), np.zeros((1, 1), np.int32), np.zeros((1, 4), np.float32))


def find_open_cells(corners: FloatArray, lamps: Floats) -> OpenCells:
    """Judge all cells about some triangles (corners (F, 3, 3); lamps (L, 4), positions and ranges, metres)."""
    if not len(corners) or not len(lamps):
        return NO_CELLS
    low, high = corners.min((0, 1)) - _MARGIN, corners.max((0, 1)) + _MARGIN
    edge = max(_EDGE, float(np.cbrt(np.prod(high - low) / _CELLS)), float((high - low).max()) / _CELLS)
    shape = tuple(np.ceil((high - low) / edge).astype(int).tolist())
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    normals = np.divide(normals, length, out=np.zeros_like(normals), where=length > 0)
    planes = np.column_stack([normals, np.einsum("ni,ni->n", normals, corners[:, 0])])
    bounds = np.hstack([corners.min(1), corners.max(1)])
    tree = tuple(grow(bounds[:, :3], bounds[:, 3:]))
    triangles = (np.ascontiguousarray(corners), bounds, planes)
    found = np.zeros((int(np.prod(shape)), 1), np.int32)
    found_planes = np.zeros((len(found), 4), np.float32)
    # A cell's place is computed in float32 where rays ask for it.
    pad = _MARGIN + 1e-6 * float(np.abs([low, high]).max())

    def judge(begin: int) -> None:
        rows = slice(begin, begin + _BATCH)
        _judge(begin, found[rows], found_planes[rows], shape, low, edge, pad, tree, triangles, lamps)

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(judge, range(0, len(found), _BATCH)))
    return OpenCells(tuple(low.tolist()), edge, shape, found, found_planes)


@njit(cache=True, nogil=True)
def _judge(begin, found, found_planes, shape, low, edge, pad, tree, triangles, lamps):  # type: ignore[no-untyped-def]
    stack, box, hull = np.empty(DEPTH, np.int64), np.empty(6), np.empty(6)
    tangents, plane, held = np.empty((6, 3)), np.empty(4), np.empty(_HELD, np.int64)
    for n in range(len(found)):
        cell = begin + n
        at = (cell // (shape[1] * shape[2]), cell // shape[2] % shape[1], cell % shape[2])
        for k in range(3):
            box[k], box[3 + k] = low[k] + at[k] * edge - pad, low[k] + (at[k] + 1) * edge + pad
        count = _hold(box, tree, triangles, held, stack)
        if not _find_plane(held[:count], triangles, lamps, plane):
            continue
        for i in range(min(len(lamps), LAMPS)):
            above = plane[0] * lamps[i, 0] + plane[1] * lamps[i, 1] + plane[2] * lamps[i, 2] - plane[3]
            if above < _LOW or _box_distance(box, lamps[i]) > lamps[i, 3]:
                continue
            for k in range(3):
                hull[k], hull[3 + k] = min(box[k], lamps[i, k]) - pad, max(box[3 + k], lamps[i, k]) + pad
            touching = tangents[: _tangents(box, lamps[i], tangents)]
            if _free(box, lamps[i], hull, touching, plane, tree, triangles, pad, stack):
                found[n, 0] |= 1 << i
        for k in range(4):
            found_planes[n, k] = plane[k]


@njit(cache=True, nogil=True)
def _hold(box, tree, triangles, held, stack):  # type: ignore[no-untyped-def]
    """Write the triangles that may meet a box into `held`; their number, 0 where they are too many."""
    boxes, links, order = tree
    _, bounds, planes = triangles
    number = 0
    stack[0], waiting = 0, 1
    while waiting:
        waiting -= 1
        node = stack[waiting]
        if _apart(boxes, node, box):
            continue
        first, count = links[node, 0], links[node, 1]
        if count == 0:
            stack[waiting], stack[waiting + 1] = first, first + 1
            waiting += 2
        for row in range(first, first + count):
            face = order[row]
            if _apart(bounds, face, box) or not _cuts(planes, face, box):
                continue
            if number == len(held):
                return 0
            held[number] = face
            number += 1
    return number


@njit(cache=True, nogil=True)
def _find_plane(held, triangles, lamps, plane):  # type: ignore[no-untyped-def]
    """Write the plane of one of some triangles that has all others on it or below, and most lamps above."""
    corners, _, planes = triangles
    most = 0
    for face in held:
        for sign in (1.0, -1.0):
            above = 0
            for i in range(len(lamps)):
                height = -planes[face, 3]
                for k in range(3):
                    height += planes[face, k] * lamps[i, k]
                above += sign * height > 0
            if above <= most:
                continue
            fits = True
            for other in held:
                if _rises(
                    corners,
                    other,
                    sign * planes[face, 0],
                    sign * planes[face, 1],
                    sign * planes[face, 2],
                    sign * planes[face, 3],
                ):
                    fits = False
                    break
            if fits:
                most = above
                for k in range(4):
                    plane[k] = sign * planes[face, k]
    return most > 0


@njit(cache=True, nogil=True)
def _rises(corners, face, x, y, z, offset):  # type: ignore[no-untyped-def]
    for corner in range(3):
        height = x * corners[face, corner, 0] + y * corners[face, corner, 1] + z * corners[face, corner, 2] - offset
        if height > _ON:
            return True
    return False


@njit(cache=True, nogil=True)
def _box_distance(box, point):  # type: ignore[no-untyped-def]
    square = 0.0
    for k in range(3):
        square += max(box[k] - point[k], point[k] - box[3 + k], 0.0) ** 2
    return np.sqrt(square)


@njit(cache=True, nogil=True)
def _apart(boxes, row, other):  # type: ignore[no-untyped-def]
    apart = False
    for k in range(3):
        apart |= boxes[row, k] > other[3 + k] or boxes[row, 3 + k] < other[k]
    return apart


@njit(cache=True, nogil=True)
def _cuts(planes, face, box):  # type: ignore[no-untyped-def]
    """Whether a triangle's plane may cut a box."""
    middle, reach = -planes[face, 3], 1e-9
    for k in range(3):
        middle += planes[face, k] * (box[k] + box[3 + k]) / 2
        reach += abs(planes[face, k]) * (box[3 + k] - box[k]) / 2
    return abs(middle) <= reach


@njit(cache=True, nogil=True)
def _tangents(box, lamp, tangents):  # type: ignore[no-untyped-def]
    """Write the unit normals, outward, of the planes through a lamp that touch a box and lie along an axis."""
    count = 0
    sides = np.empty((4, 2))
    for axis in range(3):
        a, b = (axis + 1) % 3, (axis + 2) % 3
        for corner in range(4):
            sides[corner, 0] = box[a + 3 * (corner & 1)] - lamp[a]
            sides[corner, 1] = box[b + 3 * (corner >> 1)] - lamp[b]
        for corner in range(4):
            x, y = sides[corner]
            left = right = True
            for other in range(4):
                turn = x * sides[other, 1] - y * sides[other, 0]
                left, right = left and turn >= 0, right and turn <= 0
            length = np.sqrt(x * x + y * y)
            if left == right or length == 0 or count == len(tangents):
                continue
            tangents[count, axis] = 0.0
            tangents[count, a], tangents[count, b] = (y / length, -x / length) if left else (-y / length, x / length)
            count += 1
    return count


@njit(cache=True, nogil=True)
def _free(box, lamp, hull, tangents, plane, tree, triangles, pad, stack):  # type: ignore[no-untyped-def]
    """Whether no triangle that rises above a plane meets the shaft from a box to a lamp."""
    boxes, links, order = tree
    corners, bounds, planes = triangles
    stack[0], waiting = 0, 1
    while waiting:
        waiting -= 1
        node = stack[waiting]
        if _beside(boxes, node, lamp, hull, tangents, pad):
            continue
        first, count = links[node, 0], links[node, 1]
        if count == 0:
            stack[waiting], stack[waiting + 1] = first, first + 1
            waiting += 2
        for row in range(first, first + count):
            face = order[row]
            if _beside(bounds, face, lamp, hull, tangents, pad):
                continue
            rises = _rises(corners, face, plane[0], plane[1], plane[2], plane[3])
            if rises and _in_shaft(corners, planes, face, box, lamp, tangents, pad):
                return False
    return True


@njit(cache=True, nogil=True)
def _beside(boxes, row, lamp, hull, tangents, pad):  # type: ignore[no-untyped-def]
    """Whether a box is surely outside of a shaft."""
    if _apart(boxes, row, hull):
        return True
    for t in range(len(tangents)):
        least = 0.0
        for k in range(3):
            least += tangents[t, k] * (boxes[row, k if tangents[t, k] > 0 else 3 + k] - lamp[k])
        if least > pad:
            return True
    return False


@njit(cache=True, nogil=True)
def _in_shaft(corners, planes, face, box, lamp, tangents, pad):  # type: ignore[no-untyped-def]
    """Whether a triangle may meet a shaft."""
    for t in range(len(tangents)):
        least = np.inf
        for corner in range(3):
            away = 0.0
            for k in range(3):
                away += tangents[t, k] * (corners[face, corner, k] - lamp[k])
            least = min(least, away)
        if least > pad:
            return False
    # All of the shaft may be on one side of the triangle's plane.
    middle, reach, above = -planes[face, 3], 0.0, -planes[face, 3]
    for k in range(3):
        middle += planes[face, k] * (box[k] + box[3 + k]) / 2
        reach += abs(planes[face, k]) * (box[3 + k] - box[k]) / 2
        above += planes[face, k] * lamp[k]
    return not (min(middle - reach, above) > pad or max(middle + reach, above) < -pad)
