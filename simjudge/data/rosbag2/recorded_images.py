"""The pictures of a recording, read one by one when asked for."""

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
    """Where the picture of a frame is, its message type, and how to name it to a person."""

    location: MessageLocation
    type: str
    where: str


@dataclass(frozen=True)
class RecordedImages:
    """Pictures in a recording; reading them in order or at random costs the same, but for compressed chunks."""

    recording: Recording
    types: Typestore
    pictures: Sequence[RecordedImage | None]

    def __len__(self) -> int:
        """The number of frames."""
        return len(self.pictures)

    def has(self, index: int) -> bool:
        """Whether frame `index` has a picture."""
        return self.pictures[index] is not None

    def read(self, index: int) -> RgbImage:
        """The pixels of frame `index`."""
        picture, message = self._message(index)
        convert = compressed_to_rgb if picture.type == COMPRESSED_IMAGE else raw_to_rgb
        return convert(message, picture.where)

    def read_encoded(self, index: int) -> EncodedImage | None:
        """The picture's bytes, where it was recorded as JPEG, PNG, ..."""
        picture = self.pictures[index]
        if picture is None or picture.type != COMPRESSED_IMAGE:
            return None
        return encoded_image(self._message(index)[1])

    def _message(self, index: int) -> tuple[RecordedImage, Any]:
        picture = self.pictures[index]
        if picture is None:
            raise ImageError(f"frame {index}: has no picture")
        try:
            return picture, self.types.deserialize_cdr(self.recording.read(picture.location), picture.type)
        except SimjudgeError as error:
            raise ImageError(str(error)) from error
        except UNREADABLE as error:
            raise ImageError(f"{picture.where}: the message cannot be decoded") from error
