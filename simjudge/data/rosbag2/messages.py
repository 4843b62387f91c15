"""Frames as messages: what `reading` takes apart is put together here."""

from __future__ import annotations

from typing import Any

import numpy as np
from rosbags.typesys.store import Typestore

from simjudge.core.arrays import IntArray
from simjudge.core.frames import FrameSet
from simjudge.core.images import EncodedImage, ImageError, encode_png, is_turned
from simjudge.core.masks import Masks
from simjudge.core.object_tables import row_offsets
from simjudge.core.stamps import NO_STAMP
from simjudge.data.rosbag2.interfaces import COMPRESSED_IMAGE, DETECTIONS, FRAME_INFO, IMAGE, LABELS
from simjudge.data.rosbag2.pixels import format_name

CAMERA = "camera"
"""Name of the one camera of a car without a rig: its topics and frames begin with it."""


def camera_link(camera: str) -> str:
    """The coordinate frame of a camera's body (REP 103: x forward, y left, z up)."""
    return f"{camera.replace('/', '_')}_link"


def optical_frame(camera: str) -> str:
    """The coordinate frame of a camera's images (REP 103: z forward, x right, y down)."""
    return f"{camera.replace('/', '_')}_optical_frame"


FRAME_ID = optical_frame(CAMERA)
"""The coordinate frame in the headers of frames whose camera has no name."""


class MessageMaker:
    """Makes the messages of a set's frames, one frame at a time."""

    def __init__(self, types: Typestore, frames: FrameSet, stamps: IntArray, frame_id: str = FRAME_ID) -> None:
        """Remember the set.

        Args:
            stamps: int64 (F,), nanoseconds, the stamp of each frame's messages.
        """
        self._frames, self._stamps, self._types = frames, stamps, types.types
        self._frame_id = frame_id
        self._object_rows = row_offsets(frames.objects.frame, len(frames))
        table = frames.predictions
        self._prediction_rows = None if table is None else row_offsets(table.frame, len(frames))
        self._classes = [
            self._new("simjudge_msgs/msg/ClassName", id=number, name=name)
            for number, name in sorted(frames.class_names.items())
        ]
        self._no_mask = self._new(
            "simjudge_msgs/msg/InstanceMask", x=0, y=0, width=0, height=0, bits=np.empty(0, np.uint8)
        )

    def image(self, index: int) -> tuple[str, Any] | None:
        """Make a frame's image message.

        Returns:
            Type and content: CompressedImage for a stored file, Image (rgb8) for raw pixels; None where it has no
            image.
        """
        images = self._frames.images
        if images is None or not images.has(index):
            return None
        encoded = images.read_encoded(index)
        if encoded is not None:
            if not encoded.data:
                raise ImageError(f"{self._frames.describe_frame(index)}: the image is empty (0 bytes)")
            if is_turned(encoded.data):  # of no account in a message
                encoded = EncodedImage(encode_png(images.read(index)), ".png")
            data = np.frombuffer(encoded.data, np.uint8)
            form = format_name(encoded.suffix)
            return COMPRESSED_IMAGE, self._new(COMPRESSED_IMAGE, header=self._header(index), format=form, data=data)
        pixels = np.ascontiguousarray(images.read(index), np.uint8)
        height, width, _ = pixels.shape
        message = self._new(
            IMAGE,
            header=self._header(index),
            height=height,
            width=width,
            encoding="rgb8",
            is_bigendian=0,
            step=3 * width,
            data=pixels.reshape(-1),
        )
        return IMAGE, message

    def labels(self, index: int) -> Any | None:
        """Make the message of a frame's ground truth.

        Returns:
            A LabelledObjectArray; None where nobody labelled the frame.
        """
        first, end = (int(v) for v in self._object_rows[index : index + 2])
        if first == end and not self._frames.labelled[index]:
            return None
        table = self._frames.objects
        objects = [
            self._new(
                "simjudge_msgs/msg/LabelledObject",
                **self._thing(table, row),
                instance_id=int(table.instance[row]),
                distance=float(table.distance[row]),
                visible=float(table.visible[row]),
            )
            for row in range(first, end)
        ]
        return self._new(LABELS, **self._head(index), objects=objects)

    def detections(self, index: int) -> Any | None:
        """Make the message of what a detector found in a frame.

        Returns:
            A DetectionArray; None where no detector has run.
        """
        table, rows = self._frames.predictions, self._prediction_rows
        first, end = (0, 0) if rows is None else (int(v) for v in rows[index : index + 2])
        if first == end and not self._frames.predicted[index]:
            return None
        found = []
        if table is not None:
            found = [
                self._new("simjudge_msgs/msg/Detection", **self._thing(table, row), score=float(table.score[row]))
                for row in range(first, end)
            ]
        return self._new(DETECTIONS, **self._head(index), detections=found)

    def info(self, index: int, image: Any, labels: Any, detections: Any) -> Any:
        """Make the message that says what belongs to a frame.

        Args:
            image: its image message, None for none.
            labels: its ground truth message, None for none.
            detections: its detections message, None for none.
        """
        return self._new(
            FRAME_INFO,
            **self._head(index),
            index=index,
            has_stamp=bool(self._frames.stamp[index] != NO_STAMP),
            has_image=image is not None,
            labelled=labels is not None,
            predicted=detections is not None,
        )

    def _new(self, message_type: str, /, **values: Any) -> Any:
        return self._types[message_type](**values)

    def _header(self, index: int) -> Any:
        sec, nanosec = divmod(int(self._stamps[index]), 1_000_000_000)
        stamp = self._new("builtin_interfaces/msg/Time", sec=sec, nanosec=nanosec)
        return self._new("std_msgs/msg/Header", stamp=stamp, frame_id=self._frame_id)

    def _head(self, index: int) -> dict[str, Any]:
        """What the three messages of simjudge have in common."""
        width, height = (int(v) for v in self._frames.size[index])
        return {
            "header": self._header(index),
            "frame_name": self._frames.frame_name[index],
            "image_width": width,
            "image_height": height,
            "class_names": self._classes,
        }

    def _thing(self, table: Any, row: int) -> dict[str, Any]:
        """What labelled objects and detections have in common."""
        number = int(table.class_id[row])
        x0, y0, x1, y1 = (float(v) for v in table.box[row])
        return {
            "class_id": number,
            "class_name": self._frames.class_names.get(number, ""),
            "box": self._new("simjudge_msgs/msg/Box", x0=x0, y0=y0, x1=x1, y1=y1),
            "mask": self._mask(table.masks, row),
        }

    def _mask(self, masks: Masks | None, row: int) -> Any:
        if masks is None or not masks.has(row):
            return self._no_mask
        (x, y), (height, width) = masks.origin[row].tolist(), masks.shape[row].tolist()
        bits = masks.bits[masks.start[row] : masks.start[row + 1]]
        return self._new("simjudge_msgs/msg/InstanceMask", x=x, y=y, width=width, height=height, bits=bits)
