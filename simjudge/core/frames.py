"""Frame, object, prediction: the vocabulary that all rooms share, as arrays.

A set of frames is a few arrays, however many objects it holds. Boxes are (x0, y0, x1, y1) in pixels, x to the right,
y down, continuous and half-open: pixel (column i, row j) covers [i, i + 1) x [j, j + 1). Stamps are nanoseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from simjudge.core.detector_record import DetectorRecord
from simjudge.core.display import ShortRepr, Summary
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frame_summary import summarize_frames
from simjudge.core.images import Images, ImageSubset
from simjudge.core.masks import Masks
from simjudge.core.text import check_unicode

NO_STAMP = -1
"""The stamp of a frame that has none."""
_MOST_DIGITS = 10
"""Digits of the seconds of a stamp; in nanoseconds it has 64 bits."""
NO_INSTANCE = -1
"""The instance id of an object that has none."""

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
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
        masks = None if self.masks is None else self.masks.take(rows)
        return Objects(
            self.frame[rows],
            self.class_id[rows],
            self.box[rows],
            self.instance[rows],
            self.distance[rows],
            self.visible[rows],
            masks,
            None if self.cuboid is None else self.cuboid[rows],
        )


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
        masks = None if self.masks is None else self.masks.take(rows)
        cuboid = None if self.cuboid is None else self.cuboid[rows]
        return Predictions(self.frame[rows], self.class_id[rows], self.box[rows], self.score[rows], masks, cuboid)


@dataclass(frozen=True, repr=False)
class FrameSet:
    """A data set: F frames, what is labelled in them, and what a detector said.

    Attributes:
        name: what to call the set on screen.
        frame_name: F unique names, an image's file stem or "{sec}_{nanosec:09d}" for a stamped frame.
        size: int64 (F, 2), width and height in pixels.
        stamp: int64 (F,), nanoseconds, NO_STAMP where a frame has none.
        labelled: bool (F,), whether somebody labelled the frame (perhaps with nothing in it).
        objects: the labels.
        predictions: None where no detector has run at all.
        predicted: bool (F,), whether a detector has run on the frame (perhaps finding nothing).
        class_names: names by class id; empty where the source has none.
        images: the images, None where the source has none.
        losses: what was left out while reading.
        detector: what made the predictions; None where there are none, or where it is not known.
        cyclic: whether column 0 follows the last one, as in range images of a whole turn. A box or mask that goes on
            there reaches over the right edge.
        classless: whether the detector knows no classes: its predictions have those of the objects they belong to.
    """

    name: str
    frame_name: Sequence[str]
    size: IntArray
    stamp: IntArray
    labelled: BoolArray
    objects: Objects
    predictions: Predictions | None
    predicted: BoolArray
    class_names: dict[int, str] = field(default_factory=dict)
    images: Images | None = None
    losses: Losses = field(default_factory=Losses)
    detector: DetectorRecord | None = None
    cyclic: bool = False
    classless: bool = False

    def __post_init__(self) -> None:
        """Check that the arrays fit each other."""
        count = len(self.frame_name)
        for label, array in (("size", self.size), ("stamp", self.stamp), ("labelled", self.labelled)):
            if len(array) != count:
                raise SimjudgeError(f"{self.name}: {len(array)} {label} rows for {count} frames")
        if len(self.predicted) != count or (self.images is not None and len(self.images) != count):
            raise SimjudgeError(f"{self.name}: images or predictions do not fit {count} frames")
        if len(set(self.frame_name)) != count:
            raise SimjudgeError(f"{self.name}: two frames have the same name")
        check_unicode([self.name, *self.frame_name])

    @classmethod
    def build(  # noqa: PLR0913 - one argument a column
        cls,
        name: str,
        size: npt.ArrayLike,
        objects: Objects | None = None,
        predictions: Predictions | None = None,
        *,
        frame_name: Sequence[str] | None = None,
        stamp: npt.ArrayLike | None = None,
        labelled: npt.ArrayLike | None = None,
        predicted: npt.ArrayLike | None = None,
        class_names: dict[int, str] | None = None,
        images: Images | None = None,
        losses: Losses | None = None,
        detector: DetectorRecord | None = None,
    ) -> FrameSet:
        """Make a set, filling in what is not given.

        Args:
            name: what to call the set on screen.
            size: integers (F, 2), width and height of each frame in pixels.
            objects: the labels; None for none.
            predictions: what a detector found; None where none has run.
            frame_name: F unique names. None: by stamp where there is one, else "000000", "000001", ...
            stamp: integers (F,), nanoseconds, NO_STAMP where a frame has none; None: no frame has one.
            labelled: bool (F,). None: all frames where `objects` are given, else none.
            predicted: bool (F,). None: all frames where `predictions` are given, else none.
            class_names: names by class id.
            images: the images of the F frames.
            losses: what was left out while reading.
            detector: what made the predictions; None where it is not known.

        Returns:
            The set.

        Raises:
            SimjudgeError: the columns have different lengths, or two frames have the same name.
        """
        sizes = np.asarray(size, np.int64).reshape(-1, 2)
        count = len(sizes)
        stamps = np.full(count, NO_STAMP, np.int64) if stamp is None else np.asarray(stamp, np.int64)
        names = [stamp_to_name(int(s)) if s != NO_STAMP else f"{i:06d}" for i, s in enumerate(stamps)]
        with_labels = np.full(count, objects is not None) if labelled is None else labelled
        with_predictions = np.full(count, predictions is not None) if predicted is None else predicted
        return cls(
            name,
            list(names if frame_name is None else frame_name),
            sizes,
            stamps,
            np.asarray(with_labels, np.bool_),
            Objects.empty() if objects is None else objects,
            predictions,
            np.asarray(with_predictions, np.bool_),
            dict(class_names or {}),
            images,
            Losses() if losses is None else losses,
            detector,
        )

    def __len__(self) -> int:
        """The number of frames."""
        return len(self.frame_name)

    def __repr__(self) -> str:
        """About ten lines: frames, image sizes, time span, objects, predictions, classes."""
        return self.summary().text()

    def _repr_html_(self) -> str:
        """The same for notebooks."""
        return self.summary().html()

    def summary(self) -> Summary:
        """What the set holds, for a person to read."""
        return summarize_frames(self)

    @property
    def stamped(self) -> BoolArray:
        """Whether each frame has a stamp: bool (F,)."""
        stamped: BoolArray = self.stamp != NO_STAMP
        return stamped

    def describe_frame(self, index: int) -> str:
        """Name a frame to a person.

        Args:
            index: the frame's number.

        Returns:
            "SET: frame NAME", the beginning of a message.
        """
        return f"{self.name}: frame {self.frame_name[index]}"

    def class_name(self, class_id: int) -> str:
        """Name a class.

        Args:
            class_id: the class.

        Returns:
            Its name, or its number where it has no name.
        """
        return self.class_names.get(class_id, str(class_id))

    def with_predictions(
        self,
        predictions: Predictions | None,
        predicted: BoolArray | None = None,
        detector: DetectorRecord | None = None,
    ) -> FrameSet:
        """Put other predictions onto the frames.

        Args:
            predictions: the predictions, frames numbered as here; None takes them away.
            predicted: bool (F,), on which frames the detector has run; None: on all, or on none without predictions.
            detector: what made the predictions; None where it is not known.

        Returns:
            The same set with the predictions.
        """
        on = np.full(len(self), predictions is not None) if predicted is None else predicted
        return replace(self, predictions=predictions, predicted=on, detector=detector)

    def take(self, frames: npt.ArrayLike) -> FrameSet:
        """Take some frames with their objects, predictions and images.

        Args:
            frames: frame numbers, each at most once, or bool (F,).

        Returns:
            The frames in the given order, numbered from 0.
        """
        chosen = np.asarray(frames)
        chosen = np.flatnonzero(chosen) if chosen.dtype == np.bool_ else chosen.astype(np.int64)
        number = np.full(len(self), -1, np.int64)
        number[chosen] = np.arange(len(chosen))
        return replace(
            self,
            frame_name=[self.frame_name[int(i)] for i in chosen],
            size=self.size[chosen],
            stamp=self.stamp[chosen],
            labelled=self.labelled[chosen],
            objects=_renumbered(self.objects, number),
            predictions=None if self.predictions is None else _renumbered(self.predictions, number),
            predicted=self.predicted[chosen],
            images=None if self.images is None else ImageSubset(self.images, chosen),
        )


def stamp_to_name(stamp: int) -> str:
    """Make the frame name that carries a stamp.

    Args:
        stamp: nanoseconds, 0 or more.

    Returns:
        "{seconds}_{nanoseconds:09d}".
    """
    return f"{stamp // 1_000_000_000}_{stamp % 1_000_000_000:09d}"


def name_to_stamp(name: str) -> int:
    """Read the stamp that a frame name carries.

    Args:
        name: the name of a frame.

    Returns:
        Nanoseconds, NO_STAMP where the name carries none.
    """
    seconds, _, nanoseconds = name.partition("_")
    if not (seconds.isdecimal() and nanoseconds.isdecimal() and len(seconds) <= _MOST_DIGITS and len(nanoseconds) == 9):
        return NO_STAMP
    stamp = int(seconds) * 1_000_000_000 + int(nanoseconds)
    return stamp if stamp < 2**63 else NO_STAMP


def row_offsets(frame: IntArray, frame_count: int) -> IntArray:
    """Find where each frame's rows start in a table that is ordered by frame.

    Args:
        frame: int64 (N,), ascending: the table's column of frame numbers.
        frame_count: F, the number of frames.

    Returns:
        int64 (F + 1,): the rows of frame i are offsets[i] to offsets[i + 1] - 1.
    """
    return np.searchsorted(frame, np.arange(frame_count + 1)).astype(np.int64)


def order_by_frame(table: AnyTable) -> AnyTable:
    """Put the rows of a table into the order of their frames.

    Args:
        table: objects or predictions.

    Returns:
        The table; rows of one frame keep their order.
    """
    if np.all(np.diff(table.frame) >= 0):
        return table
    return table.take(np.argsort(table.frame, kind="stable"))


def concatenate_tables(tables: Sequence[AnyTable]) -> AnyTable:
    """Put the rows of several tables into one.

    Args:
        tables: one or more, all of objects or all of predictions.

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


def _cuboids(given: npt.ArrayLike | None) -> FloatArray | None:
    return None if given is None else np.asarray(given, np.float64).reshape(-1, 7)


def _renumbered(table: AnyTable, number: IntArray) -> AnyTable:
    """The rows whose frame has a new number (not -1), under it."""
    kept = table.take(np.flatnonzero(number[table.frame] >= 0))
    return order_by_frame(replace(kept, frame=number[kept.frame]))
