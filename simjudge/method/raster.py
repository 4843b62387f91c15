"""Compiled loops that paint objects into bit-packed patches. Called by `patches`, which says what the arrays mean."""
# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import numpy as np
from numba import prange

from simjudge.core.numba_cache import njit
from simjudge.method.bits import count_bits, set_run
from simjudge.method.loop_choice import has_numpy_form

PATCHES_TO_SPLIT = 1024
"""Patches from which all cores paint; see `simjudge.method.similarity_join.PAIRS_TO_SPLIT`."""


@njit(cache=True, nogil=True)
def _shown_part(shown, origin, window, i, o):
    """The columns and rows of patch i that object o's clipped box covers, cut to the kept window."""
    c0 = max(shown[o, 0] - origin[i, 0], window[i, 0])
    r0 = max(shown[o, 1] - origin[i, 1], window[i, 1])
    c1 = min(shown[o, 2] - origin[i, 0], window[i, 2])
    r1 = min(shown[o, 3] - origin[i, 1], window[i, 3])
    return c0, r0, c1, r1


@njit(cache=True, nogil=True)
def _mark_planes(frame, first_row, shown, plane, origin, window, i, present):
    present[:] = False
    for o in range(first_row[frame[i]], first_row[frame[i] + 1]):
        c0, r0, c1, r1 = _shown_part(shown, origin, window, i, o)
        if c0 < c1 and r0 < r1:
            present[plane[o]] = True


@njit(cache=True, nogil=True)
def _count_planes_of(frame, first_row, shown, plane, plane_count, origin, window, i):
    present = np.zeros(plane_count, np.bool_)
    _mark_planes(frame, first_row, shown, plane, origin, window, i, present)
    return present.sum()


@has_numpy_form
@njit(cache=True, nogil=True, parallel=True)
def count_planes(frame, first_row, shown, plane, plane_count, origin, window):
    """Count the planes in which something may be set.

    Args:
        frame: int64 (N,), the frame of each patch.
        first_row: int64 (F + 1,), the first object of each frame.
        shown: int64 (O, 4), columns and rows of each object inside its image: x0, y0, x1, y1, half-open.
        plane: int64 (O,), number of the plane that an object is painted into.
        origin: int64 (N, 2), column and row of each patch's upper left pixel.
        window: int64 (N, 4), the part of each patch that is kept: x0, y0, x1, y1.

    Returns:
        int64 (N,).
    """
    counts = np.empty(len(frame), np.int64)
    if len(frame) < PATCHES_TO_SPLIT:
        for i in range(len(frame)):
            counts[i] = _count_planes_of(frame, first_row, shown, plane, plane_count, origin, window, i)
    else:
        for i in prange(len(frame)):
            counts[i] = _count_planes_of(frame, first_row, shown, plane, plane_count, origin, window, i)
    return counts


@njit(cache=True, nogil=True)
def _fill_planes_of(scene, width, pixels, planes, i):
    """`fill_planes` for patch i."""
    frame, first_row, shown, plane, plane_count, origin, window = scene
    mask_origin, mask_shape, mask_bits, mask_start = pixels
    start, plane_class, words, plane_area = planes
    present = np.zeros(plane_count, np.bool_)
    _mark_planes(frame, first_row, shown, plane, origin, window, i, present)
    # Only planes that something is painted into have a row: sets of many classes would not fit otherwise.
    slot = np.zeros(plane_count, np.int64)
    row = start[i]
    for k in range(plane_count):
        if present[k]:
            slot[k] = row
            plane_class[row] = k
            row += 1
    for o in range(first_row[frame[i]], first_row[frame[i] + 1]):
        c0, r0, c1, r1 = _shown_part(shown, origin, window, i, o)
        if c0 >= c1 or r0 >= r1:
            continue
        target = words[slot[plane[o]]]
        if mask_shape[o, 0] > 0:
            # From the image to the patch.
            left, top = mask_origin[o, 0] - origin[i, 0], mask_origin[o, 1] - origin[i, 1]
            crop = (left, top, mask_shape[o, 0], mask_shape[o, 1])
            _paint_mask(target, width, c0, r0, c1, r1, crop, mask_bits[mask_start[o] : mask_start[o + 1]])
        else:
            for r in range(r0, r1):
                set_run(target, r * width + c0, r * width + c1)
    for p in range(start[i], start[i + 1]):
        plane_area[p] = count_bits(words[p])


@has_numpy_form
@njit(cache=True, nogil=True, parallel=True)
def fill_planes(scene, width, pixels, planes):
    """Paint every object of a patch's frame into its planes, then count areas.

    Args:
        scene: the arguments of `count_planes`.
        width: of a patch, pixels.
        pixels: origin, shape, bits and start of the objects' masks, see `simjudge.core.object_tables.Masks`.
        planes: start, int64 (N + 1,), the first plane of each patch; and out: the class of each plane, int64 (P,), its
            words and its area.
    """
    if len(scene[0]) < PATCHES_TO_SPLIT:
        for i in range(len(scene[0])):
            _fill_planes_of(scene, width, pixels, planes, i)
    else:
        for i in prange(len(scene[0])):
            _fill_planes_of(scene, width, pixels, planes, i)


@njit(cache=True, nogil=True)
def _paint_mask(target, width, c0, r0, c1, r1, crop, bits):
    left, top, crop_height, crop_width = crop
    for r in range(max(r0, top), min(r1, top + crop_height)):
        for c in range(max(c0, left), min(c1, left + crop_width)):
            # Masks are packed row by row, the highest bit first (np.packbits).
            bit = (r - top) * crop_width + (c - left)
            if (bits[bit // 8] >> (7 - bit % 8)) & 1:
                set_run(target, r * width + c, r * width + c + 1)


@njit(cache=True, nogil=True, parallel=True)
def pack_label_patches(numbers, start, plane_class, words, plane_area):
    """Paint label patches into the planes that `plane_class` names.

    Args:
        numbers: int64 (N, h, w), numbers of planes, or -1.
        start: int64 (N + 1,), the first plane of each patch below.
        plane_class: int64 (P,), the number that each plane is of.
    """
    count, height, width = numbers.shape
    for i in prange(count):
        for p in range(start[i], start[i + 1]):
            for r in range(height):
                for c in range(width):
                    if numbers[i, r, c] == plane_class[p]:
                        set_run(words[p], r * width + c, r * width + c + 1)
            plane_area[p] = count_bits(words[p])


@has_numpy_form
@njit(cache=True, nogil=True)
def copy_planes(rows, start, plane_class, words, plane_area, first, into_class, into_words, into_area):
    """Copy the planes of some contexts, row by row.

    Args:
        rows: int64 (M,), numbers of the contexts.
        first: int64 (M,), where the planes of each go below.
    """
    for m in range(len(rows)):
        to = first[m]
        for p in range(start[rows[m]], start[rows[m] + 1]):
            into_class[to], into_area[to] = plane_class[p], plane_area[p]
            for k in range(words.shape[1]):
                into_words[to, k] = words[p, k]
            to += 1
