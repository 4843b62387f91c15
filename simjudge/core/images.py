"""Images of a set: read one by one, never all at once, and checked to be whole."""

from __future__ import annotations

import io
import re
import struct
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image

from simjudge.core.arrays import ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.core.files import LARGEST_IMAGE_FILE, check_file, name_format, read_bytes

# File endings, lower case, taken for an image.
IMAGE_SUFFIXES = (".jfif", ".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff")

# What Pillow may take a file for. Of its other formats some start programs (EPS), none are photographs.
IMAGE_FORMATS = ("BMP", "GIF", "JPEG", "JPEG2000", "PNG", "PPM", "TIFF", "WEBP")

_HEAD_BYTES = 64
# Pixels of the largest image that is decoded: from here on Pillow warns of decompression bombs (MAX_IMAGE_PIXELS).
LARGEST_IMAGE = 89_478_485

# What Pillow warns of is refused here, in one line.
warnings.simplefilter("ignore", Image.DecompressionBombWarning)

DAMAGED_IMAGE = (
    OSError,
    SyntaxError,
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    AttributeError,
    EOFError,
    struct.error,
    Image.DecompressionBombError,
    ImportError,
)
"""What Pillow raises for bytes that are no whole image.

`DecompressionBombError` is of a header that claims a gigantic one. `ImportError` is of programs that imported
ultralytics before: it replaces `Image.open` by a function that imports a package for HEIC at every damaged image.
"""

_PNG_BIT_DEPTH = 24  # Offset of the bit depth in a PNG file: byte 8 of IHDR's data (PNG specification, 11.2.2)
_TIFF_BITS_PER_SAMPLE = 258  # The tag BitsPerSample (TIFF 6.0)
_LARGEST_16_BIT = 65535
_ORIENTATION = 274  # The tag Orientation (EXIF, TIFF 6.0)
# What makes an image of an orientation upright.
_TURNS: dict[int, Callable[[npt.NDArray[Any]], npt.NDArray[Any]]] = {
    2: np.fliplr,
    3: lambda pixels: np.rot90(pixels, 2),
    4: np.flipud,
    5: lambda pixels: np.swapaxes(pixels, 0, 1),
    6: lambda pixels: np.rot90(pixels, -1),
    7: lambda pixels: np.swapaxes(np.rot90(pixels, 2), 0, 1),
    8: np.rot90,
}
_EXR, _EXR_PARTS = b"v/1\x01", 0x1000  # How OpenEXR begins, and its flag of several parts
_RADIANCE_SIZE, _RADIANCE_HEAD = re.compile(rb"\A#\?[^\0]*?\n\n[-+]Y (\d{1,9}) [-+]X (\d{1,9})\n"), 1 << 16
_SIDEWAYS = (5, 6, 7, 8)  # Orientations whose width is stored as the height

RgbImage = npt.NDArray[np.uint8]  # An image: height x width x 3, red first, 8 bit


class ImageError(SimjudgeError):
    """An image that is missing, empty, cut off, or not an image at all."""


@dataclass(frozen=True)
class EncodedImage:
    """An image as its file's bytes, which travel unchanged from a folder into a bag and back."""

    data: bytes
    suffix: str  # The file ending that suits the bytes: ".jpg", ".png", ...


class Images(Protocol):
    """The images of a set, by frame number. Reading is lazy; nothing is kept."""

    def __len__(self) -> int:
        """The number of frames, with or without an image."""

    def has(self, index: int) -> bool:
        """Tell whether a frame has an image at all (index: the frame's number)."""

    def read(self, index: int) -> RgbImage:
        """Read the pixels of a frame's image: uint8 (H, W, 3), red first (index: the frame's number)."""

    def read_encoded(self, index: int) -> EncodedImage | None:
        """Read a frame's image as it is stored: the bytes of a JPEG (index: the frame's number)."""


@dataclass(frozen=True)
class FileImages:
    """Images that are files."""

    paths: Sequence[Path | None]

    def __len__(self) -> int:
        return len(self.paths)

    def has(self, index: int) -> bool:
        """Tell whether a frame has a file: see `Images.has`."""
        return self.paths[index] is not None

    def read(self, index: int) -> RgbImage:
        """Read the pixels of a frame's file: see `Images.read`."""
        encoded = self.read_encoded(index)
        if encoded is None:
            raise ImageError(f"frame {index}: has no image")
        return decode_image(encoded.data, str(self.paths[index]))

    def read_encoded(self, index: int) -> EncodedImage | None:
        """Read the bytes of a frame's file: see `Images.read_encoded`."""
        path = self.paths[index]
        if path is None:
            return None
        try:
            return EncodedImage(read_bytes(path, LARGEST_IMAGE_FILE), path.suffix.lower())
        except SimjudgeError as error:
            raise ImageError(str(error)) from error


@dataclass(frozen=True, repr=False)
class ArrayImages(ShortRepr):
    """Images held in memory: for tests, and for images just made."""

    arrays: Sequence[RgbImage | None]

    def __len__(self) -> int:
        return len(self.arrays)

    def has(self, index: int) -> bool:
        """Tell whether a frame has pixels: see `Images.has`."""
        return self.arrays[index] is not None

    def read(self, index: int) -> RgbImage:
        """Give the pixels of a frame: see `Images.read`."""
        pixels = self.arrays[index]
        if pixels is None:
            raise ImageError(f"frame {index}: has no image")
        return pixels

    def read_encoded(self, index: int) -> EncodedImage | None:
        """Give nothing: the pixels are raw. See `Images.read_encoded`."""
        del index
        return None


@dataclass(frozen=True, repr=False)
class ImageSubset(ShortRepr):
    """Some frames of other images, in a chosen order."""

    source: Images
    indices: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.indices)

    def has(self, index: int) -> bool:
        """Tell whether a chosen frame has an image: see `Images.has`."""
        return self.source.has(int(self.indices[index]))

    def read(self, index: int) -> RgbImage:
        """Read the pixels of a chosen frame: see `Images.read`."""
        return self.source.read(int(self.indices[index]))

    def read_encoded(self, index: int) -> EncodedImage | None:
        """Read the stored bytes of a chosen frame: see `Images.read_encoded`."""
        return self.source.read_encoded(int(self.indices[index]))


def decode_image(data: bytes, where: str, *, upright: bool = True) -> RgbImage:
    """Decode JPEG, PNG, ... turned as EXIF says, as browsers do; 16 bits a channel are scaled to 8 (mono16)."""
    values = decode_values(data, where, upright=upright)
    return values if values.dtype == np.uint8 else scale_to_8_bit(values)


def decode_values(data: bytes, where: str, *, upright: bool = True) -> npt.NDArray[Any]:
    """Decode JPEG, PNG, ... with all bits: uint8 or uint16 (H, W, 3), red first."""
    if not data:
        raise ImageError(f"{where}: the image is empty (0 bytes)")
    try:
        # Pillow refuses a cut-off file where OpenCV fills it up with grey.
        with Image.open(io.BytesIO(data), formats=IMAGE_FORMATS) as image:
            check_image_size(image.width, image.height, where)
            turn = _TURNS.get(_exif_orientation(image)) if upright else None
            image.load()
            values = _deep_values(image, data, where) if _is_deep(image, data) else np.asarray(image.convert("RGB"))
            return values if turn is None else np.ascontiguousarray(turn(values))
    except DAMAGED_IMAGE as error:
        what = _not_read(data[:_HEAD_BYTES]) or f"the image is cut off or damaged ({error})"
        raise ImageError(f"{where}: {what}") from error


def is_turned(data: bytes) -> bool:
    """Tell whether the bytes of an image file say that it is to be shown otherwise than it is stored."""
    try:
        with Image.open(io.BytesIO(data), formats=IMAGE_FORMATS) as image:
            return _exif_orientation(image) in _TURNS
    except DAMAGED_IMAGE:
        return False


def _exif_orientation(image: Image.Image) -> int:
    """EXIF's orientation, 1 for an image stored as it is to be shown. Pillow turns TIFF by itself, as OpenCV does."""
    data = image.info.get("exif")
    if image.format == "TIFF" or not isinstance(data, bytes):
        return 1
    # By hand: Pillow warns of damaged EXIF, and no filter of warnings holds for threads.
    data = data.removeprefix(b"Exif\0\0")
    order = {b"II": "<", b"MM": ">"}.get(data[:2])
    try:
        if order is None:
            return 1
        (first,) = struct.unpack_from(f"{order}L", data, 4)
        (count,) = struct.unpack_from(f"{order}H", data, first)
        entries = (struct.unpack_from(f"{order}HHLH", data, first + 2 + 12 * entry) for entry in range(count))
        return next((value for tag, _, _, value in entries if tag == _ORIENTATION), 1)
    except struct.error:
        return 1


def check_image_size(width: int, height: int, where: str) -> None:
    """Refuse an image that would take too much memory (width, height of the image, pixels)."""
    if width * height > LARGEST_IMAGE:
        most = f"{LARGEST_IMAGE / 1e6:.0f} million pixels"
        raise ImageError(f"{where}: {width}x{height} is over {most}; make it smaller")


def check_encoded_size(data: bytes, where: str) -> None:
    """Refuse an image file whose header says that it would take too much memory, before its pixels are read.

    EXR, Radiance HDR, and what Pillow knows; for decoders that have no such bound.
    """
    if data.startswith(_EXR):
        _check_exr_size(data, where)
    elif found := _RADIANCE_SIZE.search(data, 0, _RADIANCE_HEAD):
        check_image_size(int(found[2]), int(found[1]), where)
    else:
        try:
            with Image.open(io.BytesIO(data), formats=IMAGE_FORMATS) as image:
                check_image_size(image.width, image.height, where)
        except Image.DecompressionBombError as error:
            raise ImageError(f"{where}: {error}; make it smaller") from error
        except DAMAGED_IMAGE:
            return  # The decoder says what is wrong.


def _check_exr_size(data: bytes, where: str) -> None:
    """By the headers of an EXR file, several in one of several parts (OpenEXR file layout)."""
    try:
        parts, place = bool(int.from_bytes(data[4:8], "little") & _EXR_PARTS), 8
        while data[place] != 0:
            values, place = _read_exr_header(data, place)
            left, top, right, bottom = struct.unpack("<iiii", values[b"dataWindow"])
            check_image_size(right - left + 1, bottom - top + 1, where)
            channels = _count_exr_channels(values[b"channels"])
            if (right - left + 1) * (bottom - top + 1) * channels > 4 * LARGEST_IMAGE:
                size = f"{right - left + 1}x{bottom - top + 1} with {channels} channels"
                raise ImageError(f"{where}: {size} is too large; save fewer channels")
            if not parts:
                break
    except (struct.error, LookupError, ValueError) as error:
        raise ImageError(f"{where}: no EXR image (its header is damaged); save it again") from error


def _read_exr_header(data: bytes, place: int) -> tuple[dict[bytes, bytes], int]:
    """The attributes of one header, and where the next one begins."""
    values: dict[bytes, bytes] = {}
    while data[place] != 0:
        name_end = data.index(0, place)
        kind_end = data.index(0, name_end + 1)
        (size,) = struct.unpack_from("<I", data, kind_end + 1)
        values[data[place:name_end]] = data[kind_end + 5 : kind_end + 5 + size]
        place = kind_end + 5 + size
    return values, place + 1


def _count_exr_channels(listed: bytes) -> int:
    count, place = 0, 0
    while listed[place] != 0:
        count, place = count + 1, listed.index(0, place) + 17  # A name, and 16 bytes of type and sampling
    return count


def scale_to_8_bit(values: npt.NDArray[np.uint16]) -> npt.NDArray[np.uint8]:
    """Scale 16-bit values to 8 bits: 0 stays 0, 65535 becomes 255, each value goes to the nearest (v / 257)."""
    return ((values.astype(np.uint32) + 128) // 257).astype(np.uint8)


def _is_deep(image: Image.Image, data: bytes) -> bool:
    """Whether a channel has more than 8 bits. Pillow's own conversion clips gray and drops the low byte of colours."""
    if image.mode == "F" or image.mode.startswith("I"):
        return True
    if image.format == "PNG":
        return data[_PNG_BIT_DEPTH] == 16
    return image.format == "TIFF" and max(image.tag_v2.get(_TIFF_BITS_PER_SAMPLE, (8,)), default=8) > 8  # type: ignore[attr-defined]


def _deep_values(image: Image.Image, data: bytes, where: str) -> npt.NDArray[np.uint16]:
    """An image of 16 bits a channel; one whose full scale nobody knows is refused."""
    remedy = "its full scale is not known; convert it to 8 or 16 bits"
    if image.mode == "F":
        raise ImageError(f"{where}: an image of floating-point values: {remedy}")
    if image.mode.startswith("I"):
        gray = np.asarray(image).astype(np.int64)
        if gray.size and (gray.min() < 0 or gray.max() > _LARGEST_16_BIT):
            raise ImageError(f"{where}: an image of 32-bit values from {gray.min()} to {gray.max()}: {remedy}")
        return np.repeat(gray.astype(np.uint16)[:, :, None], 3, axis=2)
    deep = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    if deep is None or deep.dtype != np.uint16 or deep.ndim != 3:
        raise ImageError(f"{where}: {image.format} with more than 8 bits a channel that cannot be read: {remedy}")
    return np.ascontiguousarray(np.asarray(deep, np.uint16)[:, :, 2::-1])


def image_size(path: str | Path) -> tuple[int, int]:
    """Read width and height, pixels, turned as EXIF says, from an image file's header, without decoding it."""
    path = Path(path)
    try:
        check_file(path)
        with Image.open(path, formats=IMAGE_FORMATS) as image:
            return _upright_size(image)
    except SimjudgeError as error:
        raise ImageError(str(error)) from error
    except DAMAGED_IMAGE as error:
        empty = path.exists() and path.stat().st_size == 0
        detail = "the image is empty (0 bytes)" if empty else _foreign(path) or f"not a readable image ({error})"
        raise ImageError(f"{path}: {detail}") from error


def _upright_size(image: Image.Image) -> tuple[int, int]:
    if image.format == "TIFF":
        # Of sideways ones Pillow tells the stored size before it loads them, or the upright one: that is its version's.
        tags = image.tag_v2  # type: ignore[attr-defined]
        width, height = int(tags[256]), int(tags[257])
        return (height, width) if tags.get(_ORIENTATION) in _SIDEWAYS else (width, height)
    return image.size[::-1] if _exif_orientation(image) in _SIDEWAYS else image.size


def _foreign(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return _not_read(stream.read(_HEAD_BYTES))
    except OSError:
        return ""


def _not_read(head: bytes) -> str:
    """What to say of a format that simjudge does not read; "" where the file begins as none that is known."""
    name = name_format(head)
    return f"is {name}, which simjudge does not read; convert it to JPEG or PNG" if name else ""


def as_rgb(pixels: RgbImage) -> RgbImage:
    """An image with three channels: one of a single channel gets it three times (pixels: uint8 (H, W, 3))."""
    return np.repeat(pixels, 3, axis=2) if pixels.shape[2] == 1 else pixels


def encode_png(pixels: RgbImage) -> bytes:
    """Encode pixels losslessly (pixels: uint8 (H, W, 3), red first, or (H, W, 1))."""
    done, buffer = cv2.imencode(".png", _for_opencv(pixels), [cv2.IMWRITE_PNG_COMPRESSION, 3])
    if not done:
        raise ImageError("an image could not be encoded as PNG")
    return bytes(buffer)


def encode_jpeg(pixels: RgbImage, quality: int = 95) -> bytes:
    """Encode pixels as JPEG (pixels: uint8 (H, W, 3), red first, or (H, W, 1))."""
    done, buffer = cv2.imencode(".jpg", _for_opencv(pixels), [cv2.IMWRITE_JPEG_QUALITY, quality])
    if not done:
        raise ImageError("an image could not be encoded as JPEG")
    return bytes(buffer)


def _for_opencv(pixels: RgbImage) -> npt.NDArray[np.uint8]:
    """Blue first, or one channel as it is."""
    return pixels if pixels.shape[2] == 1 else np.asarray(cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR), np.uint8)
