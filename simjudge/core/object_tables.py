"""Labelled objects and predictions: tables of arrays, however many rows they hold, with boxes and instance masks.

Boxes are (x0, y0, x1, y1) in pixels, x to the right, y down, continuous and half-open: pixel (column i, row j) covers
[i, i + 1) x [j, j + 1). Masks are crops in a few flat arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr


def round_to_pixels(box: FloatArray) -> IntArray:
    """Round box edges to the pixel grid, halves upwards: int64 (N, 4); box: float64 (N, 4)."""
    return np.floor(box + 0.5).astype(np.int64)


def whole_pixel_boxes(box: FloatArray, size: IntArray) -> IntArray:
    """Boxes int64 (N, 4) as the authors' tool (preset cpd) has them: rounded half to even, kept inside the image."""
    rounded = np.rint(box).astype(np.int64)
    low = np.clip(rounded[:, :2], 0, size - 2)
    high = np.clip(rounded[:, 2:], low + 1, size - 1)
    return np.concatenate([low, high], axis=1)


BoolImage = npt.NDArray[np.bool_]


@dataclass(frozen=True, repr=False)
class Masks(ShortRepr):
    """N masks. Mask i covers the pixels that its crop sets; the crop's upper left pixel is `origin[i]` in the image."""

    origin: npt.NDArray[np.int32]  # int32 (N, 2), column and row of each crop's upper left pixel
    shape: npt.NDArray[np.int32]  # int32 (N, 2), height and width of each crop; (0, 0) for an object that has no mask
    bits: npt.NDArray[np.uint8]  # uint8, all crops' pixels, row-major, packed to bits, each crop padded to whole bytes
    start: npt.NDArray[np.int64]  # int64 (N + 1,), where each crop's bytes start in `bits`

    def __len__(self) -> int:
        return len(self.origin)

    @classmethod
    def from_crops(cls, crops: Sequence[BoolImage | None], origins: npt.ArrayLike) -> Masks:
        """Pack boolean crops (crops: bool (h, w) each, None where an object has no mask; origins: integers (N, 2))."""
        shape = np.array([(0, 0) if c is None else c.shape for c in crops], np.int32).reshape(-1, 2)
        packed = [np.packbits(c) if c is not None else np.empty(0, np.uint8) for c in crops]
        start = np.concatenate([[0], np.cumsum([len(p) for p in packed])]).astype(np.int64)
        bits = np.concatenate(packed) if packed else np.empty(0, np.uint8)
        return cls(np.asarray(origins, np.int32).reshape(-1, 2), shape, bits, start)

    @classmethod
    def from_images(cls, images: Sequence[BoolImage | None]) -> Masks:
        """Pack masks as large as their images, keeping only each one's bounding crop (images: bool (H, W) each)."""
        crops: list[BoolImage | None] = []
        origins: list[tuple[int, int]] = []
        for image in images:
            rows = np.flatnonzero(image.any(1)) if image is not None else np.empty(0, np.int64)
            if image is None or len(rows) == 0:
                crops.append(None)
                origins.append((0, 0))
                continue
            columns = np.flatnonzero(image.any(0))
            crops.append(image[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1])
            origins.append((int(columns[0]), int(rows[0])))
        return cls.from_crops(crops, np.array(origins, np.int32).reshape(-1, 2))

    @classmethod
    def none(cls, count: int) -> Masks:
        """Make a collection without any mask."""
        nowhere = np.zeros((count, 2), np.int32)
        return cls(nowhere, nowhere.copy(), np.empty(0, np.uint8), np.zeros(count + 1, np.int64))

    def has(self, index: int) -> bool:
        """Tell whether an object has a mask."""
        return bool(self.shape[index, 0] > 0)

    def crop(self, index: int) -> BoolImage:
        """Unpack the crop of a mask: bool (h, w)."""
        height, width = (int(v) for v in self.shape[index])
        packed = self.bits[self.start[index] : self.start[index + 1]]
        return np.unpackbits(packed, count=height * width).reshape(height, width).astype(np.bool_)

    def to_image(self, index: int, width: int, height: int) -> BoolImage:
        """Unpack a mask onto its whole image, bool (height, width); what hangs over the edge is cut."""
        out = np.zeros((height, width), np.bool_)
        crop, (x0, y0) = self.crop(index), self.origin[index]
        top, left = max(0, -int(y0)), max(0, -int(x0))
        target = out[max(0, y0) : max(0, y0 + crop.shape[0]), max(0, x0) : max(0, x0 + crop.shape[1])]
        target[:] = crop[top : top + target.shape[0], left : left + target.shape[1]]
        return out

    def take(self, indices: npt.NDArray[np.int64]) -> Masks:
        """Take the masks of some objects (indices: int64 (M,), object numbers)."""
        lengths = np.diff(self.start)[indices]
        start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        pieces = [self.bits[self.start[i] : self.start[i + 1]] for i in indices]
        bits = np.concatenate(pieces) if pieces else np.empty(0, np.uint8)
        return Masks(self.origin[indices], self.shape[indices], bits, start)

    @classmethod
    def concatenate(cls, parts: Sequence[Masks]) -> Masks:
        """Put several collections one behind the other."""
        if not parts:
            return cls.none(0)
        ends = np.cumsum([0, *(int(p.start[-1]) for p in parts)])
        start = np.concatenate([[0], *(p.start[1:] + end for p, end in zip(parts, ends[:-1], strict=True))])
        return cls(
            np.concatenate([p.origin for p in parts]),
            np.concatenate([p.shape for p in parts]),
            np.concatenate([p.bits for p in parts]),
            start.astype(np.int64),
        )


NO_INSTANCE = -1  # The instance id of an object that has none
AnyTable = TypeVar("AnyTable", "Objects", "Predictions")


@dataclass(frozen=True, repr=False)
class Objects(ShortRepr):
    """N labelled things. Rows are ordered by frame; within a frame they keep the order of the source.

    Attributes:
        frame: int64 (N,), the number of the frame each object is in.
        class_id: int64 (N,).
        box: float64 (N, 4), x0, y0, x1, y1 in pixels; may reach over the image's edge.
        instance: int64 (N,), the same thing has the same number in all frames; NO_INSTANCE where unknown.
        distance: float64 (N,), from the camera's optical centre straight to the centre of the object's bounding box in
            space (of the object's own frame), metres, 0 or more; NaN where unknown.
        visible: float64 (N,), share of the object's silhouette that the image shows, in [0, 1]: what other things hide
            and what lies beyond the image's edge is not visible; NaN where unknown.
        masks: pixel masks, or None where the set has boxes only.
        cuboid: float64 (N, 7), where it is in space: x, y, z of its centre, length, width, height, metres, in the
            sensor's frame, and yaw, radians; None where the set has no cuboids.
        given: float64 (N, K), numbers of one's own, such as a performance, which no format holds; None for none.
    """

    frame: IntArray
    class_id: IntArray
    box: FloatArray
    instance: IntArray
    distance: FloatArray
    visible: FloatArray
    masks: Masks | None = None
    cuboid: FloatArray | None = None
    given: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.frame)

    @classmethod
    def build(
        cls,
        frame: npt.ArrayLike,
        class_id: npt.ArrayLike,
        box: npt.ArrayLike,
        instance: npt.ArrayLike | None = None,
        masks: Masks | None = None,
        *,
        distance: npt.ArrayLike | None = None,
        visible: npt.ArrayLike | None = None,
        cuboid: npt.ArrayLike | None = None,
    ) -> Objects:
        """Make a table from anything array-like; the rows are ordered by frame, stably.

        Args:
            frame: integers (N,), the number of the frame each object is in.
            class_id: integers (N,).
            box: (N, 4), x0, y0, x1, y1 in pixels.
            instance: integers (N,), the same thing has the same number in all frames; None: unknown for all.
            masks: N pixel masks, or None.
            distance: (N,), from the camera to each object, metres, NaN where unknown; None: unknown for all.
            visible: (N,), share of each object that can be seen, in [0, 1], NaN where unknown; None: unknown for all.
            cuboid: (N, 7), see the class; None: the set has no cuboids.

        Returns:
            The table.
        """
        frames = np.asarray(frame, np.int64).reshape(-1)
        ids = np.full(len(frames), NO_INSTANCE) if instance is None else instance
        unknown = np.full(len(frames), np.nan)
        table = cls(
            frames,
            np.asarray(class_id, np.int64).reshape(-1),
            np.asarray(box, np.float64).reshape(-1, 4),
            np.asarray(ids, np.int64).reshape(-1),
            np.asarray(unknown if distance is None else distance, np.float64).reshape(-1),
            np.asarray(unknown if visible is None else visible, np.float64).reshape(-1),
            masks,
            _cuboids(cuboid),
        )
        return order_by_frame(table)

    @classmethod
    def empty(cls) -> Objects:
        """No objects."""
        return cls.build([], [], [])

    def take(self, rows: npt.NDArray[np.int64]) -> Objects:
        """Take some rows."""
        return _take(self, rows)


@dataclass(frozen=True, repr=False)
class Predictions(ShortRepr):
    """N predicted things, ordered by frame.

    Attributes:
        frame, class_id, box, masks, cuboid: as in `Objects`.
        score: float64 (N,), in [0, 1].
    """

    frame: IntArray
    class_id: IntArray
    box: FloatArray
    score: FloatArray
    masks: Masks | None = None
    cuboid: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.frame)

    @classmethod
    def build(
        cls,
        frame: npt.ArrayLike,
        class_id: npt.ArrayLike,
        box: npt.ArrayLike,
        score: npt.ArrayLike,
        masks: Masks | None = None,
        *,
        cuboid: npt.ArrayLike | None = None,
    ) -> Predictions:
        """Make a table from anything array-like; the rows are ordered by frame, stably.

        Args:
            frame: integers (N,), the number of the frame each prediction is for.
            class_id: integers (N,).
            box: (N, 4), x0, y0, x1, y1 in pixels.
            score: (N,), in [0, 1].
            masks: N pixel masks, or None.
            cuboid: (N, 7), see `Objects`; None: the detector finds no cuboids.

        Returns:
            The table.
        """
        table = cls(
            np.asarray(frame, np.int64).reshape(-1),
            np.asarray(class_id, np.int64).reshape(-1),
            np.asarray(box, np.float64).reshape(-1, 4),
            np.asarray(score, np.float64).reshape(-1),
            masks,
            _cuboids(cuboid),
        )
        return order_by_frame(table)

    @classmethod
    def empty(cls) -> Predictions:
        """No predictions."""
        return cls.build([], [], [], [])

    def take(self, rows: npt.NDArray[np.int64]) -> Predictions:
        """Take some rows."""
        return _take(self, rows)


def row_offsets(frame: IntArray, frame_count: int) -> IntArray:
    """Find where each frame's rows start in a table that is ordered by frame: int64 (F + 1,); frame: int64 (N,)."""
    return np.searchsorted(frame, np.arange(frame_count + 1)).astype(np.int64)


def order_by_frame(table: AnyTable) -> AnyTable:
    """Put the rows of a table into the order of their frames."""
    if np.all(np.diff(table.frame) >= 0):
        return table
    return table.take(np.argsort(table.frame, kind="stable"))


def concatenate_tables(tables: Sequence[AnyTable]) -> AnyTable:
    """Put the rows of several tables into one."""
    kind = type(tables[0])
    names = [column.name for column in fields(kind) if column.name not in {"masks", "cuboid", "given"}]
    cuboids = [table.cuboid for table in tables if table.cuboid is not None]
    cuboid = np.concatenate(cuboids) if len(cuboids) == len(tables) else None
    masks = None
    if any(table.masks is not None for table in tables):
        masks = Masks.concatenate([Masks.none(len(t)) if t.masks is None else t.masks for t in tables])
    columns = {name: np.concatenate([getattr(table, name) for table in tables]) for name in names}
    return order_by_frame(kind(**columns, masks=masks, cuboid=cuboid))


def _take(table: AnyTable, rows: IntArray) -> AnyTable:
    columns = {column.name: getattr(table, column.name) for column in fields(table)}
    masks = columns.pop("masks")
    taken: dict[str, Any] = {name: None if values is None else values[rows] for name, values in columns.items()}
    return type(table)(**taken, masks=None if masks is None else masks.take(rows))


def _cuboids(given: npt.ArrayLike | None) -> FloatArray | None:
    return None if given is None else np.asarray(given, np.float64).reshape(-1, 7)
