"""Images in recordings: the pixels of image messages to RGB and back, camera_info, and a recording's images one by one.

Encodings are those of sensor_msgs/image_encodings.hpp, read as cv_bridge reads them; those that only cv_bridge knows
are read through it where a ROS installation has it
(https://github.com/ros-perception/vision_opencv, cv_bridge/python/cv_bridge/core.py).
A camera_info means what it means in ROS's image_geometry: width, height, K and P are those of the full image; the
region of interest is cut out of it first, and binning makes it smaller.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

import cv2
import numpy as np
import numpy.typing as npt
from rosbags.serde import SerdeError
from rosbags.typesys.store import Typestore

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import SimjudgeError
from simjudge.core.images import (
    EncodedImage,
    ImageError,
    RgbImage,
    decode_image,
    decode_values,
    is_turned,
    scale_to_8_bit,
)
from simjudge.core.processes import python_command
from simjudge.data.rosbag2.interfaces import COMPRESSED_IMAGES
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.rosbag2.storage import MessageLocation
from simjudge.data.video import PacketDecoder, PacketOrder


class PictureGeometry(NamedTuple):
    """Of the pictures as they are published."""

    size: tuple[int, int]  # width and height, pixels
    matrix: FloatArray  # (3, 3), the camera matrix
    projection: FloatArray  # (3, 4), the projection matrix


def picture_geometry(info: Any, *, whole: bool = False) -> PictureGeometry:
    """Apply binning and region of interest; binning alone for the `whole` sensor."""
    matrix = np.array(info.k, np.float64).reshape(3, 3)
    projection = np.array(info.p, np.float64).reshape(3, 4)
    left, top = (0, 0) if whole else (int(info.roi.x_offset), int(info.roi.y_offset))
    for camera in (matrix, projection):
        camera[0] -= left * camera[2]
        camera[1] -= top * camera[2]
        camera[0] /= max(int(info.binning_x), 1)
        camera[1] /= max(int(info.binning_y), 1)
    return PictureGeometry(picture_size(info, whole=whole), matrix, projection)


def picture_size(info: Any, *, whole: bool = False) -> tuple[int, int]:
    """Width and height of the pictures that a camera_info goes with, or of those of the `whole` sensor."""
    width, height = int(info.width), int(info.height)
    if not whole:
        width = int(info.roi.width) or width - int(info.roi.x_offset)
        height = int(info.roi.height) or height - int(info.roi.y_offset)
    return width // max(int(info.binning_x), 1), height // max(int(info.binning_y), 1)


# What an extension module built for another NumPy or OpenCV raises, on import or on first use.
UNUSABLE = (ImportError, AttributeError, RuntimeError, SystemError, TypeError, ValueError, OSError)


# It is the first conversion that ends a process, not the import.
_TRIAL = """
from types import SimpleNamespace
import numpy as np
from cv_bridge import CvBridge
pixel = SimpleNamespace(height=1, width=1, encoding="bgr8", is_bigendian=0, step=3, data=np.zeros(3, np.uint8))
CvBridge().imgmsg_to_cv2(pixel, "rgb8")
"""
_TRIAL_SECONDS = 120


@cache
def load_bridge() -> tuple[Any | None, str]:
    """A CvBridge that was seen to work; else None, and why (empty where it is simply not installed)."""
    reason = _crash_reason()
    if reason:
        return None, reason
    try:
        from cv_bridge import CvBridge  # noqa: PLC0415 - only a ROS installation has it
    except ModuleNotFoundError as error:
        return None, "" if error.name == "cv_bridge" else _line(error)
    except UNUSABLE as error:
        return None, _line(error)
    try:
        found = CvBridge()
        probe = _message(np.array([[[1, 2, 3]]], np.uint8), "bgr8")
        works = np.array_equal(found.imgmsg_to_cv2(probe, "rgb8"), [[[3, 2, 1]]])
    except UNUSABLE as error:
        return None, _line(error)
    return (found, "") if works else (None, "it turns blue, green, red into something else than red, green, blue")


def pixel_type(encoding: str) -> np.dtype[Any] | None:
    """Look up what one pixel of an encoding is made of: a NumPy type of shape (channels,)."""
    found, _ = load_bridge()
    if found is None:
        return None
    try:
        name, channels = found.encoding_to_dtype_with_channels(encoding)
        return np.dtype((name, (int(channels),)))
    except (*UNUSABLE, KeyError):
        return None


def to_rgb(pixels: npt.NDArray[Any], encoding: str) -> RgbImage | None:
    """Pixels (height, width, channels) as RGB, None where cv_bridge says that they are no image (a depth, say)."""
    found, _ = load_bridge()
    if found is None:
        return None
    try:
        image = np.asarray(found.imgmsg_to_cv2(_message(pixels, encoding), "rgb8"))
    except (*UNUSABLE, KeyError):
        return None
    whole = image.shape == (*pixels.shape[:2], 3) and image.dtype == np.uint8
    return np.ascontiguousarray(image) if whole else None


def _message(pixels: npt.NDArray[Any], encoding: str) -> Any:
    """The attributes of sensor_msgs/Image that cv_bridge looks at.

    Its rows have no padding and this machine's byte order: cv_bridge shifts rows whose padding is no whole pixel, and
    on NumPy 2 it cannot swap bytes.
    """
    height, width, channels = pixels.shape
    return SimpleNamespace(
        height=height,
        width=width,
        encoding=encoding,
        is_bigendian=int(sys.byteorder == "big"),
        step=width * channels * pixels.itemsize,
        data=np.ascontiguousarray(pixels).view(np.uint8).reshape(-1),
    )


def _crash_reason() -> str:
    """Why using cv_bridge would end this process, "" where it does not.

    Its extension module, built for NumPy 1, does not fail beside NumPy 2: it ends the process (seen with NumPy 2.4). So
    another process tries first.
    """
    try:
        found = importlib.util.find_spec("cv_bridge")
    except (ImportError, ValueError):
        found = None
    if found is None or "cv_bridge" in sys.modules:
        return ""
    try:
        done = subprocess.run(python_command("-c", _TRIAL), capture_output=True, timeout=_TRIAL_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"it converts nothing within {_TRIAL_SECONDS} s"
    except OSError:
        return ""
    if done.returncode >= 0:
        return ""  # what it raises, it raises here too
    return f"it ends the process that uses it (signal {-done.returncode}); is it built for NumPy {np.__version__}?"


def _line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


# Encoding: channels, bytes a channel, OpenCV's conversion to RGB (None: they are RGB already).
# OpenCV names a Bayer pattern by its second row and column, ROS by its first: rggb here is BG there.
_ENCODINGS: dict[str, tuple[int, int, int | None]] = {
    "rgb8": (3, 1, None),
    "bgr8": (3, 1, cv2.COLOR_BGR2RGB),
    "8UC3": (3, 1, cv2.COLOR_BGR2RGB),
    "rgba8": (4, 1, cv2.COLOR_RGBA2RGB),
    "bgra8": (4, 1, cv2.COLOR_BGRA2RGB),
    "8UC4": (4, 1, cv2.COLOR_BGRA2RGB),
    "mono8": (1, 1, cv2.COLOR_GRAY2RGB),
    "8UC1": (1, 1, cv2.COLOR_GRAY2RGB),
    "mono16": (1, 2, cv2.COLOR_GRAY2RGB),
    "rgb16": (3, 2, None),
    "bgr16": (3, 2, cv2.COLOR_BGR2RGB),
    "rgba16": (4, 2, cv2.COLOR_RGBA2RGB),
    "bgra16": (4, 2, cv2.COLOR_BGRA2RGB),
    "bayer_rggb8": (1, 1, cv2.COLOR_BayerBG2RGB),
    "bayer_bggr8": (1, 1, cv2.COLOR_BayerRG2RGB),
    "bayer_gbrg8": (1, 1, cv2.COLOR_BayerGR2RGB),
    "bayer_grbg8": (1, 1, cv2.COLOR_BayerGB2RGB),
    "bayer_rggb16": (1, 2, cv2.COLOR_BayerBG2RGB),
    "bayer_bggr16": (1, 2, cv2.COLOR_BayerRG2RGB),
    "bayer_gbrg16": (1, 2, cv2.COLOR_BayerGR2RGB),
    "bayer_grbg16": (1, 2, cv2.COLOR_BayerGB2RGB),
    "yuv422": (2, 1, cv2.COLOR_YUV2RGB_UYVY),
    "uyvy": (2, 1, cv2.COLOR_YUV2RGB_UYVY),
    "yuv422_yuy2": (2, 1, cv2.COLOR_YUV2RGB_YUY2),
    "yuyv": (2, 1, cv2.COLOR_YUV2RGB_YUY2),
}

# A plane of brightness, then one of colour, blue difference first or red: OpenCV's conversion, and whether each pixel
# has a colour of its own (else four share one).
_TWO_PLANES: dict[str, tuple[int, bool]] = {
    "nv12": (cv2.COLOR_YUV2RGB_NV12, False),
    "nv21": (cv2.COLOR_YUV2RGB_NV21, False),
    "nv24": (cv2.COLOR_YUV2RGB_NV12, True),
}

# Encodings of label pictures: type of a channel, and names of the channels.
_RGB, _BGR, _VALUE = ("red", "green", "blue"), ("blue", "green", "red"), ("value",)
_LABEL_ENCODINGS: dict[str, tuple[str, tuple[str, ...]]] = {
    "rgb8": ("u1", _RGB),
    "bgr8": ("u1", _BGR),
    "8UC3": ("u1", _BGR),
    "rgba8": ("u1", (*_RGB, "alpha")),
    "bgra8": ("u1", (*_BGR, "alpha")),
    "8UC4": ("u1", (*_BGR, "alpha")),
    "mono8": ("u1", _VALUE),
    "8UC1": ("u1", _VALUE),
    "mono16": ("u2", _VALUE),
    "16UC1": ("u2", _VALUE),
    "32SC1": ("i4", _VALUE),
}

_NUMBERS = re.compile(r"\d+[USF]C\d*")  # Encodings of plain numbers: depths, disparities, labels
_SIGNATURES = ((b"\xff\xd8\xff", ".jpg"), (b"\x89PNG", ".png"), (b"BM", ".bmp"), (b"II*\0", ".tif"), (b"MM\0*", ".tif"))
_FORMATS = {".jpg": "jpeg", ".jpeg": "jpeg", ".tif": "tiff"}


def raw_to_rgb(message: Any, where: str) -> RgbImage:
    """Read the pixels of a sensor_msgs/Image; Bayer patterns are demosaiced (bilinear), 16 bit are scaled to 8.

    Encodings that are not known here are left to cv_bridge, where a ROS installation has it.
    """
    if message.encoding.lower() in _TWO_PLANES:
        return _two_planes(message, where)
    known = _ENCODINGS.get(message.encoding)
    if known is None:
        return _by_cv_bridge(message, where)
    channels, depth, conversion = known
    pixels = packed_pixels(message, np.dtype((f"u{depth}", (channels,))), where)
    if conversion is not None:
        pixels = _converted(pixels, conversion, message.encoding, where)
    # Colours first, then 8 bit, as cv_bridge does: demosaicing rounds.
    return pixels if depth == 1 else scale_to_8_bit(pixels)


def _two_planes(message: Any, where: str) -> RgbImage:
    conversion, of_each = _TWO_PLANES[message.encoding.lower()]
    width, height, step = int(message.width), int(message.height), int(message.step)
    rows, row = (height, 2 * step) if of_each else (height // 2, step)
    data = np.ascontiguousarray(message.data, np.uint8)
    missing = step * height + row * rows - len(data)
    if width < 1 or height < 1 or step < width or missing > step - width:
        have = f"{width}x{height}, {step} bytes a row, {len(data)} bytes"
        raise ImageError(f"{where}: the image's size does not fit its data ({message.encoding}, {have})")
    data = np.pad(data, (0, max(missing, 0)))  # the last row need not be padded
    brightness = data[: step * height].reshape(height, step)[:, :width]
    colour = data[step * height :][: row * rows].reshape(rows, row)
    if not of_each:
        return _converted(np.concatenate([brightness, colour[:, :width]]), conversion, message.encoding, where)
    # As a picture twice as large, in which four pixels share a colour, whose every second pixel is taken.
    large = np.concatenate([brightness.repeat(2, 0).repeat(2, 1), colour[:, : 2 * width]])
    return np.ascontiguousarray(_converted(large, conversion, message.encoding, where)[::2, ::2])


def packed_pixels(message: Any, pixel: np.dtype[Any], where: str) -> npt.NDArray[Any]:
    """Pixels of a type as an array (height, width, channels) without padding, in this machine's byte order."""
    base, channels = pixel.base, pixel.shape[0]
    width, height, step = int(message.width), int(message.height), int(message.step)
    row = width * channels * base.itemsize
    if width < 1 or height < 1 or step < row or len(message.data) < step * (height - 1) + row:
        have = f"{width}x{height}, {step} bytes a row, {len(message.data)} bytes"
        raise ImageError(f"{where}: the image's size does not fit its data ({message.encoding}, {have})")
    strides = (step, channels * base.itemsize, base.itemsize, 1)
    buffer = np.ascontiguousarray(message.data, np.uint8)
    shape = (height, width, channels, base.itemsize)
    view = np.lib.stride_tricks.as_strided(buffer, shape, strides, writeable=False)
    sent = base.newbyteorder(">" if getattr(message, "is_bigendian", False) else "<")  # Foxglove's are little-endian
    return np.ascontiguousarray(view).view(sent).reshape(height, width, channels).astype(base, copy=False)


def label_channels(message: Any, where: str) -> dict[str, npt.NDArray[np.int64]]:
    """Read the values of a label picture, int64 (H, W) by channel (red, green, blue, alpha; or value), none changed."""
    if not hasattr(message, "encoding"):
        return _encoded_channels(message, where)
    known = _LABEL_ENCODINGS.get(message.encoding)
    if known is None:
        raise ImageError(
            f"{where}: a label picture is one of {', '.join(_LABEL_ENCODINGS)}, this one is {message.encoding}"
        )
    kind, names = known
    pixels = packed_pixels(message, np.dtype((kind, (len(names),))), where)
    return {name: pixels[..., index].astype(np.int64) for index, name in enumerate(names)}


def _encoded_channels(message: Any, where: str) -> dict[str, npt.NDArray[np.int64]]:
    data = bytes(message.data)
    if _suffix(data, message.format) != ".png":
        raise ImageError(
            f"{where}: a label picture as {message.format}, which changes its values; record it raw or as PNG"
        )
    pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    if pixels is None:
        raise ImageError(f"{where}: the label picture is cut off or damaged")
    stored = pixels.reshape(*pixels.shape[:2], -1).astype(np.int64)
    names = ("value",) if stored.shape[2] == 1 else ("blue", "green", "red", "alpha")
    return {name: stored[..., index] for index, name in enumerate(names[: stored.shape[2]])}


def _by_cv_bridge(message: Any, where: str) -> RgbImage:
    said = f"{where}: encoding {message.encoding!r} is not that of an image that simjudge can read"
    pixel = pixel_type(message.encoding)
    if pixel is not None:
        pixels = to_rgb(packed_pixels(message, pixel, where), message.encoding)
        if pixels is not None:
            return pixels
    usable, why_not = load_bridge()
    if usable is not None:
        said += ", nor cv_bridge"
    elif why_not:
        said += f" (cv_bridge is installed and does not work here: {why_not})"
    raise ImageError(said)


def compressed_to_rgb(message: Any, where: str) -> RgbImage:
    """Read the pixels of a sensor_msgs/CompressedImage as cv_bridge does: as they are stored, whatever EXIF says."""
    encoding = message.format.partition(";")[0].strip()
    if encoding not in _ENCODINGS and _NUMBERS.fullmatch(encoding):
        raise ImageError(f"{where}: encoding {encoding!r} is not that of an image (a depth?), compressed or not")
    mosaic = _mosaic_encoding(message)
    if mosaic is not None:
        values = decode_values(bytes(message.data), where, upright=False)
        if (values == values[:, :, :1]).all():  # one channel, not colours that somebody made of it before
            rgb = _converted(np.ascontiguousarray(values[:, :, :1]), mosaic, message.format, where)
            return rgb if rgb.dtype == np.uint8 else scale_to_8_bit(rgb)
    pixels = decode_image(bytes(message.data), where, upright=False)
    return np.ascontiguousarray(pixels[:, :, ::-1]) if _is_swapped(message) else pixels


def encoded_image(message: Any) -> EncodedImage | None:
    """Read the file that a sensor_msgs/CompressedImage carries: its bytes."""
    data = bytes(message.data)
    if _is_swapped(message) or _mosaic_encoding(message) is not None or is_turned(data):
        return None
    return EncodedImage(data, _suffix(data, message.format))


def format_name(suffix: str) -> str:
    """Name an image format as CompressedImage.format does."""
    return _FORMATS.get(suffix, suffix.removeprefix("."))


def _suffix(data: bytes, name: str) -> str:
    for signature, suffix in _SIGNATURES:
        if data.startswith(signature):
            return suffix
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return ".webp"
    return ".png" if "png" in name else ".jpg"


def _mosaic_encoding(message: Any) -> int | None:
    """The conversion of a Bayer mosaic that was encoded as it is: image_transport's "bayer_rggb8; jpeg compressed "."""
    encoding, _, stored = message.format.partition(";")
    known = _ENCODINGS.get(encoding.strip())
    made_colours = stored.partition("compressed")[2].strip()
    return known[2] if known is not None and encoding.strip().startswith("bayer_") and not made_colours else None


def _is_swapped(message: Any) -> bool:
    """Whether red and blue changed places before encoding: compressed_image_transport's "jpeg compressed rgb8"."""
    _, _, stored = message.format.partition(";")
    return "compressed rgb" in stored


def _converted(pixels: npt.NDArray[Any], conversion: int, encoding: str, where: str) -> npt.NDArray[Any]:
    try:
        return np.asarray(cv2.cvtColor(pixels, conversion))
    except cv2.error as error:
        raise ImageError(f"{where}: an image of this size cannot be {encoding}") from error


# What decoding a damaged message may raise.
UNREADABLE = (SerdeError, ValueError, IndexError, KeyError, AssertionError, MemoryError, OverflowError)


@dataclass(frozen=True)
class RecordedImage:
    """Where the image of a frame is, its message type, and how to name it to a person."""

    location: MessageLocation
    type: str
    where: str
    packet: int = -1  # its number in the video, -1 where it is a picture by itself


@dataclass(frozen=True)
class RecordedImages:
    """Images in a recording; reading them in order or at random costs the same, but for compressed chunks."""

    recording: Recording
    types: Typestore
    images: Sequence[RecordedImage | None]
    video: PacketDecoder | None = None

    def __len__(self) -> int:
        return len(self.images)

    def has(self, index: int) -> bool:
        """Tell whether a frame has an image message: see `Images.has`."""
        return self.images[index] is not None

    def read(self, index: int) -> RgbImage:
        """Read the pixels of a frame's image message: see `Images.read`."""
        image = self.images[index]
        if image is not None and image.packet >= 0 and self.video is not None:
            return self.video.read(image.packet)
        image, message = self._message(index)
        convert = compressed_to_rgb if image.type in COMPRESSED_IMAGES else raw_to_rgb
        return convert(message, image.where)

    def read_encoded(self, index: int) -> EncodedImage | None:
        """Read the bytes of an image that was recorded as JPEG, PNG or another file: see `Images.read_encoded`."""
        image = self.images[index]
        if image is None or image.type not in COMPRESSED_IMAGES:
            return None
        return encoded_image(self._message(index)[1])

    def _message(self, index: int) -> tuple[RecordedImage, Any]:
        image = self.images[index]
        if image is None:
            raise ImageError(f"frame {index}: has no image")
        return image, read_message(self.recording, self.types, image)


def read_message(recording: Recording, types: Typestore, image: RecordedImage) -> Any:
    """Read the message of an image again."""
    try:
        return types.deserialize_cdr(recording.read(image.location), image.type)
    except SimjudgeError as error:
        raise ImageError(str(error)) from error
    except UNREADABLE as error:
        raise ImageError(f"{image.where}: the message cannot be decoded") from error


def video_decoder(
    recording: Recording, types: Typestore, packets: Sequence[RecordedImage], order: PacketOrder
) -> PacketDecoder:
    """The pictures of a topic's packets of video."""

    def read(packet: int) -> bytes:
        return bytes(read_message(recording, types, packets[packet]).data)

    return PacketDecoder(order, read, lambda packet: packets[packet].where)
