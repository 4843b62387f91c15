"""Labelled objects and predictions: tables of arrays, however many rows they hold.

Boxes are (x0, y0, x1, y1) in pixels, x to the right, y down, continuous and half-open: pixel (column i, row j) covers
[i, i + 1) x [j, j + 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.masks import Masks

NO_INSTANCE = -1
"""The instance id of an object that has none."""
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
    """

    frame: IntArray
    class_id: IntArray
    box: FloatArray
    instance: IntArray
    distance: FloatArray
    visible: FloatArray
    masks: Masks | None = None
    cuboid: FloatArray | None = None

    def __len__(self) -> int:
        """The number of objects."""
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
        """Take some rows.

        Args:
            rows: int64 (M,), row numbers.

        Returns:
            The rows in the given order.
        """
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
        """The number of predictions."""
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
        """Take some rows.

        Args:
            rows: int64 (M,), row numbers.

        Returns:
            The rows in the given order.
        """
        return _take(self, rows)


def row_offsets(frame: IntArray, frame_count: int) -> IntArray:
    """Find where each frame's rows start in a table that is ordered by frame.

    Args:
        frame: int64 (N,), ascending: the table's column of frame numbers.

    Returns:
        int64 (F + 1,): the rows of frame i are offsets[i] to offsets[i + 1] - 1.
    """
    return np.searchsorted(frame, np.arange(frame_count + 1)).astype(np.int64)


def order_by_frame(table: AnyTable) -> AnyTable:
    """Put the rows of a table into the order of their frames."""
    if np.all(np.diff(table.frame) >= 0):
        return table
    return table.take(np.argsort(table.frame, kind="stable"))


def concatenate_tables(tables: Sequence[AnyTable]) -> AnyTable:
    """Put the rows of several tables into one.

    Returns:
        The table, ordered by frame; of one frame, the rows of earlier tables come first. It has cuboids where all
        tables have.
    """
    kind = type(tables[0])
    names = [column.name for column in fields(kind) if column.name not in {"masks", "cuboid"}]
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
