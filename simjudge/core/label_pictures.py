"""Label pictures of a set: the class of every pixel, read one by one, never all at once."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps

from simjudge.core.display import ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.core.files import LARGEST_IMAGE_FILE, read_bytes
from simjudge.core.images import DAMAGED_IMAGE, IMAGE_FORMATS, ImageError, check_image_size

LabelPicture = npt.NDArray[np.uint8]  # (H, W): the class id of each pixel, `UNLABELLED` or `UNKNOWN`
UNLABELLED = 255  # Of a pixel that has no class
UNKNOWN = 254  # Of a pixel whose colour stands in no table of classes
MOST_CLASSES = 254  # Class ids of label pictures are below this

# Class ids by red, green and blue, 0 to 255; `UNLABELLED` for a colour that means no class.
ColourTable = dict[tuple[int, int, int], int]


class LabelPictures(Protocol):
    """The label pictures of a set, by frame number. Reading is lazy; nothing is kept."""

    def __len__(self) -> int:
        """The number of frames, with or without a label picture."""

    def has(self, index: int) -> bool:
        """Tell whether a frame has a label picture (index: the frame's number)."""

    def read(self, index: int) -> LabelPicture:
        """Read the classes of a frame's pixels: uint8 (H, W); index: the frame's number."""


@dataclass(frozen=True)
class LabelFiles:
    """Label pictures that are files."""

    paths: Sequence[Path | None]  # of each frame, None where it has none
    # Class ids from a file's bytes; its second argument names the file in messages.
    decode: Callable[[bytes, str], LabelPicture]

    def __len__(self) -> int:
        return len(self.paths)

    def has(self, index: int) -> bool:
        """Tell whether a frame has a file: see `LabelPictures.has`."""
        return self.paths[index] is not None

    def read(self, index: int) -> LabelPicture:
        """Read a frame's file: see `LabelPictures.read`."""
        path = self.paths[index]
        if path is None:
            raise ImageError(f"frame {index}: has no label picture")
        try:
            data = read_bytes(path, LARGEST_IMAGE_FILE)
        except SimjudgeError as error:
            raise ImageError(str(error)) from error
        return self.decode(data, str(path))


@dataclass(frozen=True, repr=False)
class EncodedLabels(ShortRepr):
    """Label pictures held in memory as PNG files of one channel, a hundredth of their pixels: predictions."""

    data: Sequence[bytes | None]

    def __len__(self) -> int:
        return len(self.data)

    def has(self, index: int) -> bool:
        """Tell whether a frame has one: see `LabelPictures.has`."""
        return self.data[index] is not None

    def read(self, index: int) -> LabelPicture:
        """Decode a frame's: see `LabelPictures.read`."""
        data = self.data[index]
        if data is None:
            raise ImageError(f"frame {index}: has no label picture")
        return decode_label_numbers(data, f"frame {index}")


@dataclass(frozen=True, repr=False)
class LabelSubset(ShortRepr):
    """Label pictures of some frames, in a chosen order."""

    source: LabelPictures
    indices: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.indices)

    def has(self, index: int) -> bool:
        """Tell whether a chosen frame has one: see `LabelPictures.has`."""
        return self.source.has(int(self.indices[index]))

    def read(self, index: int) -> LabelPicture:
        """Read that of a chosen frame: see `LabelPictures.read`."""
        return self.source.read(int(self.indices[index]))


def decode_label_numbers(data: bytes, where: str) -> LabelPicture:
    """Class ids from a picture of one channel whose values they are: uint8 (H, W)."""
    image = _open(data, where)
    if image.mode not in {"L", "P"} and not image.mode.startswith("I"):
        raise ImageError(f"{where}: a label picture of class numbers has one channel, this one is {image.mode}")
    values = np.asarray(image)
    if values.size and int(values.max()) > UNLABELLED:
        raise ImageError(f"{where}: class {int(values.max())}; label pictures have classes up to {MOST_CLASSES - 1}")
    return np.asarray(values, np.uint8)


def decode_label_colours(data: bytes, where: str, table: ColourTable) -> LabelPicture:
    """Class ids from a picture in which each class has a colour: uint8 (H, W)."""
    image = _open(data, where)
    if image.format == "JPEG":
        raise ImageError(f"{where}: a label picture as JPEG, which changes colours; store it as PNG")
    pixels = np.asarray(image.convert("RGB")).astype(np.uint32)
    packed = pixels[..., 0] << 16 | pixels[..., 1] << 8 | pixels[..., 2]
    found, inverse = np.unique(packed, return_inverse=True)
    known = {red << 16 | green << 8 | blue: class_id for (red, green, blue), class_id in table.items()}
    ids = np.array([known.get(int(colour), UNKNOWN) for colour in found], np.uint8)
    return np.asarray(ids[inverse.reshape(packed.shape)], np.uint8)


def _open(data: bytes, where: str) -> Image.Image:
    if not data:
        raise ImageError(f"{where}: the label picture is empty (0 bytes)")
    try:
        image = Image.open(io.BytesIO(data), formats=IMAGE_FORMATS)
        check_image_size(image.width, image.height, where)
        image.load()
        ImageOps.exif_transpose(image, in_place=True)
    except DAMAGED_IMAGE as error:
        raise ImageError(f"{where}: the label picture is cut off or damaged ({error})") from error
    return image
