"""Contexts: every object seen through the patch of ground truth around it, as bit-packed planes (method, section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import IntArray, ShortRepr
from simjudge.core.frames import FrameSet, kept_with_set
from simjudge.core.object_tables import Masks, round_to_pixels, row_offsets, whole_pixel_boxes
from simjudge.method.bits import WORD, whole_lines
from simjudge.method.method import Method
from simjudge.method.raster import copy_planes, count_planes, fill_planes, pack_label_patches

EMPTY = -1
"""Class of the plane that marks empty contexts, see `Contexts.marked_empty`."""


@dataclass(frozen=True, repr=False)
class Contexts(ShortRepr):
    """N contexts. Only planes in which something may be set are stored: context i owns planes start[i] .. start[i + 1].

    Attributes:
        start: int64 (N + 1,).
        plane_class: int64 (P,), the class a plane is of, ascending within a context.
        words: uint64 (P, W), the plane's height x width pixels, row-major, 64 a word; zeros up to whole cache lines.
        plane_area: int64 (P,), set pixels of each plane.
        area: int64 (N,), set pixels of all planes of a context.
        patch: height and width that they were cut with, pixels.
    """

    start: IntArray
    plane_class: IntArray
    words: npt.NDArray[np.uint64]
    plane_area: IntArray
    area: IntArray
    patch: tuple[int, int]

    def __len__(self) -> int:
        """The number of contexts."""
        return len(self.area)

    @classmethod
    def concatenate(cls, parts: Sequence[Contexts]) -> Contexts:
        """The contexts of several sets, one behind the other."""
        offsets = np.cumsum([0, *(len(p.plane_class) for p in parts)])
        starts = [p.start[:-1] + offset for p, offset in zip(parts, offsets[:-1], strict=True)]
        return cls(
            np.concatenate([*starts, offsets[-1:]]).astype(np.int64),
            np.concatenate([p.plane_class for p in parts]),
            np.concatenate([p.words for p in parts]),
            np.concatenate([p.plane_area for p in parts]),
            np.concatenate([p.area for p in parts]),
            parts[0].patch,
        )

    @classmethod
    def gather(cls, parts: Sequence[Contexts], rows: IntArray) -> Contexts:
        """Some contexts of several sets, in any order, without a copy of all of them.

        Args:
            rows: (M,) numbers of contexts, counted through all sets.
        """
        first = np.cumsum([0, *map(len, parts)])
        # "right": an empty set has no numbers, and the one behind it begins at the same place.
        part_of = np.searchsorted(first, rows, side="right") - 1
        area, count = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
        for number, part in enumerate(parts):
            chosen = part_of == number
            own = rows[chosen] - first[number]
            area[chosen], count[chosen] = part.area[own], part.start[own + 1] - part.start[own]
        start = np.concatenate([np.zeros(1, np.int64), np.cumsum(count)])
        total, like = int(start[-1]), parts[0]
        out = cls(
            start,
            np.empty(total, np.int64),
            np.empty((total, like.words.shape[1]), np.uint64),
            np.empty(total, np.int64),
            area,
            like.patch,
        )
        for number, part in enumerate(parts):
            chosen = np.flatnonzero(part_of == number)
            planes = (part.start, part.plane_class, part.words, part.plane_area)
            into = (out.plane_class, out.words, out.plane_area)
            copy_planes(rows[chosen] - first[number], *planes, start[chosen], *into)
        return out

    def take(self, rows: IntArray) -> Contexts:
        """Some of the contexts.

        Args:
            rows: (M,) their numbers, ascending.
        """
        count = np.diff(self.start)[rows]
        start = np.concatenate([np.zeros(1, np.int64), np.cumsum(count)])
        # Place in the new table plus how far each context has moved gives the place in the old one.
        planes = np.repeat(self.start[:-1][rows] - start[:-1], count) + np.arange(start[-1])
        return Contexts(
            start,
            self.plane_class[planes],
            self.words[planes],
            self.plane_area[planes],
            self.area[rows],
            self.patch,
        )

    def marked_empty(self) -> Contexts:
        """The same, but contexts in which nothing is set hold a pixel of a class of their own: they are alike then."""
        empty = self.area == 0
        # `np.insert` counts places in the old array, so that all are inserted at once.
        at = self.start[:-1][empty]
        words = np.insert(self.words, at, 0, axis=0)
        plane_class = np.insert(self.plane_class, at, EMPTY)
        words[plane_class == EMPTY, 0] = 1
        start = self.start + np.concatenate([[0], np.cumsum(empty)])
        return Contexts(
            start, plane_class, words, np.insert(self.plane_area, at, 1), np.where(empty, 1, self.area), self.patch
        )

    def planes(self, index: int, patch: tuple[int, int]) -> dict[int, npt.NDArray[np.bool_]]:
        """One context as boolean images by class: to look at, not for speed.

        Args:
            patch: height and width that it was cut with, pixels.

        Returns:
            By class id, bool (h, w).
        """
        height, width = patch
        out = {}
        for plane in range(self.start[index], self.start[index + 1]):
            bits = np.unpackbits(self.words[plane].view(np.uint8), bitorder="little", count=height * width)
            out[int(self.plane_class[plane])] = bits.reshape(height, width).astype(np.bool_)
        return out


def object_contexts(frames: FrameSet, method: Method, anchors: IntArray) -> Contexts:
    """The contexts of some objects of a set.

    Args:
        frames: the set; every one of its objects shows in the patches around it.
        anchors: (N,) rows of `frames.objects`.
    """
    edges, (height, width) = _whole_edges(frames, integer_boxes=method.integer_boxes), method.patch
    # Twice the centre stays a whole number; the halving below is the only rounding.
    twice, side = edges[anchors, :2] + edges[anchors, 2:], np.array([width, height], np.int64)
    # The authors' public tool halves an odd patch by itself.
    origin = twice // 2 - side // 2 if method.integer_boxes else (twice - side) // 2
    return _cut_patches(frames, method, frames.objects.frame[anchors], origin, _window(edges[anchors], method))


def place_contexts(frames: FrameSet, method: Method, frame: IntArray, origin: IntArray) -> Contexts:
    """The contexts of some places, whatever is there.

    Args:
        frames: the set; every one of its objects shows in the patches.
        frame: (N,) the frame of each place.
        origin: (N, 2), column and row of each patch's upper left pixel.
    """
    whole = np.tile(np.array([0, 0, *method.patch[::-1]], np.int64), (len(frame), 1))
    return _cut_patches(frames, method, frame, origin, whole)


@kept_with_set
def _whole_edges(frames: FrameSet, *, integer_boxes: bool) -> IntArray:
    """The edges of all objects on the pixel grid."""
    objects = frames.objects
    if integer_boxes:
        return whole_pixel_boxes(objects.box, frames.size[objects.frame])
    return round_to_pixels(objects.box)


@kept_with_set
def _painted_objects(
    frames: FrameSet, *, integer_boxes: bool, paint_masks: bool, class_aware: bool
) -> tuple[_Painted, IntArray, IntArray]:
    """What all objects paint, the first row of each frame, and the class of each plane."""
    objects = frames.objects
    masks = objects.masks if paint_masks and objects.masks is not None else Masks.none(len(objects))
    classes, plane = np.unique(objects.class_id, return_inverse=True)
    if not class_aware:
        classes, plane = np.zeros(1, np.int64), np.zeros(len(objects), np.int64)
    extent = _extent(_whole_edges(frames, integer_boxes=integer_boxes), masks)
    painted = _Painted(objects.frame, plane.reshape(-1).astype(np.int64), extent, masks)
    if not frames.cyclic:
        painted = painted.inside(frames.size, cyclic=False)
    return painted, row_offsets(painted.frame, len(frames)), classes


def _cut_patches(frames: FrameSet, method: Method, frame: IntArray, origin: IntArray, window: IntArray) -> Contexts:
    """Paint the objects of a set into patches, of which `window` is kept."""
    height, width = method.patch
    painted, first_row, classes = _painted_objects(
        frames, integer_boxes=method.integer_boxes, paint_masks=method.paint_masks, class_aware=method.class_aware
    )
    if frames.cyclic and len(origin):
        widths = frames.size[painted.frame][:, 0]
        painted = painted.around(widths, int(origin[:, 0].min()), int(origin[:, 0].max()) + width)
        painted = painted.inside(frames.size, cyclic=True)
        first_row = row_offsets(painted.frame, len(frames))
    scene = (
        frame,
        first_row,
        painted.extent,
        painted.plane,
        len(classes),
        np.ascontiguousarray(origin),
        window,
    )
    start = np.concatenate([[0], np.cumsum(count_planes(*scene))]).astype(np.int64)
    plane_class, words, plane_area = _empty_planes(int(start[-1]), height, width)
    masks = painted.masks
    pixels = (masks.origin.astype(np.int64), masks.shape.astype(np.int64), masks.bits, masks.start)
    fill_planes(scene, width, pixels, (start, plane_class, words, plane_area))
    return Contexts(start, classes[plane_class], words, plane_area, _areas(start, plane_area), method.patch)


def label_contexts(patches: npt.NDArray[np.int64], valid: npt.NDArray[np.bool_]) -> Contexts:
    """Contexts of patches cut from label pictures (semantic segmentation).

    Args:
        patches: (N, h, w) class ids.
        valid: (N, h, w), False where a pixel has no label or lies outside the picture.
    """
    classes, plane = np.unique(patches, return_inverse=True)
    numbers = np.where(valid, plane.reshape(patches.shape), -1)
    count, height, width = patches.shape
    present = np.zeros((count, len(classes)), np.bool_)
    for k in range(len(classes)):
        present[:, k] = (numbers == k).any(axis=(1, 2))
    start = np.concatenate([[0], np.cumsum(present.sum(1))]).astype(np.int64)
    plane_class, words, plane_area = _empty_planes(int(start[-1]), height, width)
    plane_class[:] = np.nonzero(present)[1]
    pack_label_patches(numbers, start, plane_class, words, plane_area)
    return Contexts(start, classes[plane_class], words, plane_area, _areas(start, plane_area), (height, width))


class _Painted(NamedTuple):
    """What is painted into patches, ordered by frame: its frame, plane, columns and rows (x0, y0, x1, y1), and mask."""

    frame: IntArray
    plane: IntArray
    extent: IntArray
    masks: Masks

    def around(self, width: IntArray, first: int, end: int) -> _Painted:
        """Repeat what patches at either end of a cyclic image show of the other end.

        Args:
            width: of each row's image, pixels.
        """
        parts = []
        for turns in (-1, 0, 1):
            left, right = self.extent[:, 0] + turns * width, self.extent[:, 2] + turns * width
            rows = np.flatnonzero((right > first) & (left < end))
            shift = np.zeros((len(rows), 4), np.int64)
            shift[:, ::2] = turns * width[rows, None]
            masks = self.masks.take(rows)
            masks = replace(masks, origin=(masks.origin + shift[:, :2]).astype(np.int32))
            parts.append(_Painted(self.frame[rows], self.plane[rows], self.extent[rows] + shift, masks))
        frame, plane, extent = (np.concatenate([part[i] for part in parts]) for i in range(3))
        order = np.argsort(frame, kind="stable")
        return _Painted(
            frame[order], plane[order], extent[order], Masks.concatenate([part.masks for part in parts]).take(order)
        )

    def inside(self, size: IntArray, *, cyclic: bool) -> _Painted:
        """Cut what lies outside of the images; in cyclic ones nothing does to the left and right.

        Args:
            size: (F, 2), width and height of each frame.
        """
        limit = np.tile(size[self.frame], 2)
        inside = np.clip(self.extent, 0, limit)
        return self._replace(extent=np.where([cyclic, False, cyclic, False], self.extent, inside))


def _extent(edges: IntArray, masks: Masks) -> IntArray:
    """Columns and rows of each object, (N, 4): of its mask where it has one, else of its box."""
    extent = edges.copy()
    masked = masks.shape[:, 0] > 0
    extent[masked, :2] = masks.origin[masked]
    extent[masked, 2:] = masks.origin[masked] + masks.shape[masked][:, ::-1]
    return extent


def _window(edges: IntArray, method: Method) -> IntArray:
    """The part of the patch that is kept: (N, 4), first column, first row, end column, end row."""
    height, width = method.patch
    window = np.tile(np.array([0, 0, width, height], np.int64), (len(edges), 1))
    if method.mask_factor is not None:
        for axis, side in ((0, width), (1, height)):
            reach = method.mask_factor * (edges[:, axis + 2] - edges[:, axis]) / 2
            middle = side // 2 if method.integer_boxes else side / 2
            window[:, axis] = np.maximum(0, (middle - reach).astype(np.int64))
            window[:, axis + 2] = np.minimum(side - 1, (middle + reach).astype(np.int64)) + 1
    return window


def _empty_planes(count: int, height: int, width: int) -> tuple[IntArray, npt.NDArray[np.uint64], IntArray]:
    words = whole_lines(-(-height * width // WORD), 8)
    return np.zeros(count, np.int64), np.zeros((count, words), np.uint64), np.zeros(count, np.int64)


def _areas(start: IntArray, plane_area: IntArray) -> IntArray:
    total = np.concatenate([[0], np.cumsum(plane_area)]).astype(np.int64)
    return total[start[1:]] - total[start[:-1]]
