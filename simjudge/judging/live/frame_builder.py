"""Messages to frames, as the same messages in a recording become one, and the bounded queue in which images wait."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from threading import Condition
from typing import Any, NamedTuple

import numpy as np

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.images import LARGEST_IMAGE
from simjudge.core.names import free_class_id, normalized_name, stamp_to_name
from simjudge.data.format_support.raw_rows import RawRows, build_objects, build_predictions, parse_numbers
from simjudge.data.rosbag2.box_messages import BoxColumns, settle_classes
from simjudge.data.rosbag2.storage import format_seconds
from simjudge.judging.class_numbering import rename_classes, unmatched_classes


class LiveClasses:
    """Takes labels and detections of live frames to the same classes."""

    def __init__(self, predicted: Mapping[str, str], of_set: Mapping[str, str]) -> None:
        """Start before the first frame."""
        self._predicted = {normalized_name(old): new for old, new in predicted.items()}
        self._of_set = of_set
        self._have_matched = False

    def apply(self, frame: FrameSet) -> FrameSet:
        """A frame with its classes renamed."""
        renamed = self._with_predictions_renamed(self._renamed(frame))
        found = renamed.predictions
        ids = set() if found is None else {*found.class_id.tolist()}
        self._have_matched |= bool(ids & {*renamed.objects.class_id.tolist()})
        unmatched = None if self._have_matched else unmatched_classes(renamed)
        if unmatched is not None:
            raise SimjudgeError(f"{unmatched.what}; say it with rename:={unmatched.example}")
        return renamed

    def _renamed(self, frame: FrameSet) -> FrameSet:
        """The frame with the new names of the set; a frame need not have all classes."""
        tables = [frame.objects] + ([] if frame.predictions is None else [frame.predictions])
        ids = {*frame.class_names, *(k for table in tables for k in table.class_id.tolist())}
        there = {normalized_name(frame.class_name(k)) for k in ids}
        rename = {old: new for old, new in self._of_set.items() if normalized_name(old) in there}
        return rename_classes(frame, rename, "") if rename else frame

    def _with_predictions_renamed(self, frame: FrameSet) -> FrameSet:
        found = frame.predictions
        if found is None or not self._predicted:
            return frame
        names = dict(frame.class_names)
        used = {*frame.objects.class_id.tolist(), *found.class_id.tolist()}
        number = {normalized_name(frame.class_name(k)): k for k in sorted({*names, *used}, reverse=True)}
        moved: dict[int, int] = {}
        for k in np.unique(found.class_id).tolist():
            new = self._predicted.get(normalized_name(frame.class_name(k)))
            if new is None:
                continue
            key = normalized_name(new)
            if key not in number:
                number[key] = free_class_id({*names, *used, *number.values()})
                names[number[key]] = new
            moved[k] = number[key]
        classes = np.array([moved.get(k, k) for k in found.class_id.tolist()], np.int64)
        return replace(frame, predictions=replace(found, class_id=classes), class_names=names)


LIVE = "live"
_NO_SIZE = (0, 0)


class LiveFrameBuilder:
    """Makes frames. `size`: width and height of the images where the messages do not say it; (0, 0) for unknown."""

    def __init__(self, topics: tuple[str, str], size: tuple[int, int] = _NO_SIZE) -> None:
        """Remember what the messages do not say."""
        self._topics, self._size = topics, size

    def build(self, stamp: int, labels: Any, detections: Any, losses: Losses) -> FrameSet | None:
        """A labelled and predicted frame. `stamp`: of the frame, nanoseconds."""
        columns = [BoxColumns(topic, losses) for topic in self._topics]
        try:
            for one, message in zip(columns, (labels, detections), strict=True):
                # Detection2DArray, alone among them, has no picture size.
                (one.add if hasattr(message, "image_width") else one.add_vision)(message, stamp, stamp)
            names = settle_classes(columns[0], columns[1])
        except (SimjudgeError, AttributeError) as error:
            losses.add("frames whose messages contradict themselves", f"{format_seconds(stamp)}: {error}")
            return None
        said = [one.messages[0].size for one in columns]
        size = next((told for told in said if told != _NO_SIZE), self._size)
        if min(size) < 1:
            losses.add(
                "frames whose picture size is not known (set image_size)", f"{self._topics[0]} {format_seconds(stamp)}"
            )
            return None
        if size[0] * size[1] > LARGEST_IMAGE:
            where = f"{self._topics[0]} {format_seconds(stamp)}, {size[0]}x{size[1]}"
            losses.add(f"frames of pictures above {LARGEST_IMAGE / 1e6:.0f} million pixels", where)
            return None
        if any(told not in (_NO_SIZE, size) for told in said):
            made = f"{said[1][0]}x{said[1][1]} on {size[0]}x{size[1]}"
            losses.add(
                "detection messages for another picture size", f"{self._topics[1]} at {format_seconds(stamp)}, {made}"
            )
            return None
        are_all = any(one.names_are_all for one in columns)
        expected = [one.expected_names(names, are_all=are_all) for one in columns]
        sizes = np.array([size], np.int64)
        frame_name = next(filter(None, (one.messages[0].frame_name for one in columns)), stamp_to_name(stamp))
        return FrameSet.build(
            LIVE,
            sizes,
            build_objects(_rows(columns[0], scored=False), sizes, expected[0], losses),
            build_predictions(_rows(columns[1], scored=True), sizes, expected[1], losses),
            frame_name=[frame_name],
            stamp=[stamp],
            class_names=dict(sorted(names.items())),
        )


def _rows(columns: BoxColumns, *, scored: bool) -> RawRows:
    count = len(columns.box)
    ids: Sequence[Any] = columns.class_id
    return RawRows(
        np.zeros(count, np.int64),
        parse_numbers(list(ids)),
        np.array(columns.box, np.float64).reshape(-1, 4),
        columns.row_name,
        np.array(columns.score, np.float64) if scored else None,
        np.array(columns.instance, np.int64),
        columns.masks(np.arange(count)),
        columns.distance,
        columns.visible,
    )


class QueuedImage(NamedTuple):
    """An image message in the queue."""

    message: Any  # the message; its `data` are the image's bytes
    arrived: float  # when it was received, seconds of `time.monotonic`


class ImageQueue:
    """A queue that keeps either the newest image only, or every image while there is memory for it."""

    def __init__(self, capacity_bytes: int | None) -> None:
        """Create an empty queue."""
        self._capacity_bytes = capacity_bytes
        self._bytes = 0
        self._items: deque[QueuedImage] = deque()
        self._change = Condition()
        self._closed = False

    def __len__(self) -> int:
        """The number of images that wait."""
        return len(self._items)

    @property
    def megabytes(self) -> float:
        """The memory of the images that wait, MB."""
        return self._bytes / 1e6

    def has_room(self) -> bool:
        """Whether an image may be put: always where only the newest is kept, else while the memory is not used up."""
        return self._capacity_bytes is None or self._bytes < self._capacity_bytes

    def put(self, item: QueuedImage) -> int:
        """Add an image."""
        with self._change:
            replaced = 0
            if self._capacity_bytes is None:
                replaced = len(self._items)
                self._items.clear()
                self._bytes = 0
            self._items.append(item)
            self._bytes += len(item.message.data)
            self._change.notify()
            return replaced

    def take(self) -> QueuedImage | None:
        """Wait for an image and remove it from the queue."""
        with self._change:
            self._change.wait_for(lambda: self._items or self._closed)
            if not self._items:
                return None
            item = self._items.popleft()
            self._bytes -= len(item.message.data)
            return item

    def close(self) -> None:
        """Announce that no more images come; images that wait can still be taken."""
        with self._change:
            self._closed = True
            self._change.notify_all()

    def clear(self) -> list[QueuedImage]:
        """Remove all images that wait."""
        with self._change:
            removed = list(self._items)
            self._items.clear()
            self._bytes = 0
            return removed
