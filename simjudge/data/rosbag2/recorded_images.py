"""The images of a recording, read one by one when asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rosbags.serde import SerdeError
from rosbags.typesys.store import Typestore

from simjudge.core.errors import SimjudgeError
from simjudge.core.images import EncodedImage, ImageError, RgbImage
from simjudge.data.rosbag2.interfaces import COMPRESSED_IMAGE
from simjudge.data.rosbag2.pixels import compressed_to_rgb, encoded_image, raw_to_rgb
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.rosbag2.storage import MessageLocation

UNREADABLE = (SerdeError, ValueError, IndexError, KeyError, AssertionError, MemoryError, OverflowError)
"""What decoding a damaged message may raise."""


@dataclass(frozen=True)
class RecordedImage:
    """Where the image of a frame is, its message type, and how to name it to a person."""

    location: MessageLocation
    type: str
    where: str


@dataclass(frozen=True)
class RecordedImages:
    """Images in a recording; reading them in order or at random costs the same, but for compressed chunks."""

    recording: Recording
    types: Typestore
    images: Sequence[RecordedImage | None]

    def __len__(self) -> int:
        """The number of frames."""
        return len(self.images)

    def has(self, index: int) -> bool:
        """Tell whether a frame has an image message: see `Images.has`."""
        return self.images[index] is not None

    def read(self, index: int) -> RgbImage:
        """Read the pixels of a frame's image message: see `Images.read`."""
        image, message = self._message(index)
        convert = compressed_to_rgb if image.type == COMPRESSED_IMAGE else raw_to_rgb
        return convert(message, image.where)

    def read_encoded(self, index: int) -> EncodedImage | None:
        """Read the bytes of an image that was recorded as JPEG, PNG or another file: see `Images.read_encoded`."""
        image = self.images[index]
        if image is None or image.type != COMPRESSED_IMAGE:
            return None
        return encoded_image(self._message(index)[1])

    def _message(self, index: int) -> tuple[RecordedImage, Any]:
        image = self.images[index]
        if image is None:
            raise ImageError(f"frame {index}: has no image")
        try:
            return image, self.types.deserialize_cdr(self.recording.read(image.location), image.type)
        except SimjudgeError as error:
            raise ImageError(str(error)) from error
        except UNREADABLE as error:
            raise ImageError(f"{image.where}: the message cannot be decoded") from error
