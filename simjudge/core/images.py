"""Images of a set: read one by one, never all at once, and checked to be whole."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image

from simjudge.core.display import ShortRepr
from simjudge.core.errors import SimjudgeError

IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff")
"""File endings, lower case, taken for an image."""

_DAMAGED = (OSError, SyntaxError, ValueError, Image.DecompressionBombError)
"""What Pillow raises for bytes that are no whole image; the last for a header that claims a gigantic one."""

RgbImage = npt.NDArray[np.uint8]
"""An image: height x width x 3, red first, 8 bit."""


class ImageError(SimjudgeError):
    """An image that is missing, empty, cut off, or not an image at all."""


@dataclass(frozen=True)
class EncodedImage:
    """An image as its file's bytes, which travel unchanged from a folder into a bag and back."""

    data: bytes
    suffix: str
    """The file ending that suits the bytes: ".jpg", ".png", ..."""


class Images(Protocol):
    """The images of a set, by frame number. Reading is lazy; nothing is kept."""

    def __len__(self) -> int:
        """The number of frames, with or without an image."""

    def has(self, index: int) -> bool:
        """Whether frame `index` has an image at all."""

    def read(self, index: int) -> RgbImage:
        """The image's pixels; raises ImageError where there is no whole image."""

    def read_encoded(self, index: int) -> EncodedImage | None:
        """The image as stored, where it is stored encoded; None where it is raw pixels or absent."""


@dataclass(frozen=True)
class FileImages:
    """Images that are files."""

    paths: Sequence[Path | None]

    def __len__(self) -> int:
        """The number of frames."""
        return len(self.paths)

    def has(self, index: int) -> bool:
        """Whether frame `index` has a file."""
        return self.paths[index] is not None

    def read(self, index: int) -> RgbImage:
        """The pixels of frame `index`."""
        encoded = self.read_encoded(index)
        if encoded is None:
            raise ImageError(f"frame {index}: has no image")
        return decode_image(encoded.data, str(self.paths[index]))

    def read_encoded(self, index: int) -> EncodedImage | None:
        """The bytes of the file of frame `index`."""
        path = self.paths[index]
        if path is None:
            return None
        try:
            return EncodedImage(path.read_bytes(), path.suffix.lower())
        except OSError as error:
            raise ImageError(f"{path}: cannot be read: {error.strerror}") from error


@dataclass(frozen=True, repr=False)
class ArrayImages(ShortRepr):
    """Images held in memory: for tests, and for images just made."""

    arrays: Sequence[RgbImage | None]

    def __len__(self) -> int:
        """The number of frames."""
        return len(self.arrays)

    def has(self, index: int) -> bool:
        """Whether frame `index` has pixels."""
        return self.arrays[index] is not None

    def read(self, index: int) -> RgbImage:
        """The pixels of frame `index`."""
        pixels = self.arrays[index]
        if pixels is None:
            raise ImageError(f"frame {index}: has no image")
        return pixels

    def read_encoded(self, index: int) -> EncodedImage | None:
        """Always None: the pixels are raw."""
        del index
        return None


@dataclass(frozen=True, repr=False)
class ImageSubset(ShortRepr):
    """Some frames of other images, in a chosen order."""

    source: Images
    indices: npt.NDArray[np.int64]

    def __len__(self) -> int:
        """The number of chosen frames."""
        return len(self.indices)

    def has(self, index: int) -> bool:
        """Whether chosen frame `index` has an image."""
        return self.source.has(int(self.indices[index]))

    def read(self, index: int) -> RgbImage:
        """The pixels of chosen frame `index`."""
        return self.source.read(int(self.indices[index]))

    def read_encoded(self, index: int) -> EncodedImage | None:
        """The stored bytes of chosen frame `index`."""
        return self.source.read_encoded(int(self.indices[index]))


def decode_image(data: bytes, where: str) -> RgbImage:
    """Decode JPEG, PNG, ... bytes to RGB, as stored (an EXIF orientation is not applied: labels are made on pixels).

    Raises:
        ImageError: the bytes are empty, cut off or no image; `where` names the culprit in the message.
    """
    if not data:
        raise ImageError(f"{where}: the image is empty (0 bytes)")
    try:
        # Pillow refuses a cut-off file where OpenCV fills it up with grey.
        with Image.open(io.BytesIO(data)) as image:
            image.load()
            return np.asarray(image.convert("RGB"))
    except _DAMAGED as error:
        raise ImageError(f"{where}: the image is cut off or damaged ({error})") from error


def image_size(path: Path) -> tuple[int, int]:
    """Width and height in pixels from an image file's header, without decoding it.

    Raises:
        ImageError: there is no readable header.
    """
    try:
        with Image.open(path) as image:
            return image.size
    except _DAMAGED as error:
        empty = path.exists() and path.stat().st_size == 0
        detail = "the image is empty (0 bytes)" if empty else f"not a readable image ({error})"
        raise ImageError(f"{path}: {detail}") from error


def encode_png(pixels: RgbImage) -> bytes:
    """Encode RGB pixels losslessly."""
    done, buffer = cv2.imencode(".png", cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_PNG_COMPRESSION, 3])
    if not done:
        raise ImageError("an image could not be encoded as PNG")
    return bytes(buffer)


def encode_jpeg(pixels: RgbImage, quality: int = 95) -> bytes:
    """Encode RGB pixels as JPEG."""
    done, buffer = cv2.imencode(".jpg", cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, quality])
    if not done:
        raise ImageError("an image could not be encoded as JPEG")
    return bytes(buffer)
