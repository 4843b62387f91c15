"""The pixels of image messages: sensor_msgs/Image and sensor_msgs/CompressedImage to RGB, and back.

Encodings are those of sensor_msgs/image_encodings.hpp; what cv_bridge takes them for is what they are here.
"""

from __future__ import annotations

import re
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.images import (
    EncodedImage,
    ImageError,
    RgbImage,
    decode_image,
    decode_values,
    is_turned,
    scale_to_8_bit,
)
from simjudge.data.rosbag2 import cv_bridge_pixels

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

_NUMBERS = re.compile(r"\d+[USF]C\d*")
"""Encodings of plain numbers: depths, disparities, labels."""
_SIGNATURES = ((b"\xff\xd8\xff", ".jpg"), (b"\x89PNG", ".png"), (b"BM", ".bmp"), (b"II*\0", ".tif"), (b"MM\0*", ".tif"))
_FORMATS = {".jpg": "jpeg", ".jpeg": "jpeg", ".tif": "tiff"}


def raw_to_rgb(message: Any, where: str) -> RgbImage:
    """Read the pixels of a sensor_msgs/Image; Bayer patterns are demosaiced (bilinear), 16 bit are scaled to 8.

    Encodings that are not known here are left to cv_bridge, where a ROS installation has it.

    Returns:
        uint8 (H, W, 3), red first.
    """
    if message.encoding.lower() in _TWO_PLANES:
        return _two_planes(message, where)
    known = _ENCODINGS.get(message.encoding)
    if known is None:
        return _by_cv_bridge(message, where)
    channels, depth, conversion = known
    pixels = _packed(message, np.dtype((f"u{depth}", (channels,))), where)
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


def _packed(message: Any, pixel: np.dtype[Any], where: str) -> npt.NDArray[Any]:
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
    sent = base.newbyteorder(">" if message.is_bigendian else "<")
    return np.ascontiguousarray(view).view(sent).reshape(height, width, channels).astype(base, copy=False)


def label_channels(message: Any, where: str) -> dict[str, npt.NDArray[np.int64]]:
    """Read the values of a label picture, a sensor_msgs/Image or CompressedImage, none of them changed.

    Returns:
        int64 (H, W) by channel: red, green, blue and alpha of a picture in colours, value of one with one channel.
    """
    if not hasattr(message, "encoding"):
        return _encoded_channels(message, where)
    known = _LABEL_ENCODINGS.get(message.encoding)
    if known is None:
        raise ImageError(
            f"{where}: a label picture is one of {', '.join(_LABEL_ENCODINGS)}, this one is {message.encoding}"
        )
    kind, names = known
    pixels = _packed(message, np.dtype((kind, (len(names),))), where)
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
    pixel = cv_bridge_pixels.pixel_type(message.encoding)
    if pixel is not None:
        pixels = cv_bridge_pixels.to_rgb(_packed(message, pixel, where), message.encoding)
        if pixels is not None:
            return pixels
    usable, why_not = cv_bridge_pixels.load_bridge()
    if usable is not None:
        said += ", nor cv_bridge"
    elif why_not:
        said += f" (cv_bridge is installed and does not work here: {why_not})"
    raise ImageError(said)


def compressed_to_rgb(message: Any, where: str) -> RgbImage:
    """Read the pixels of a sensor_msgs/CompressedImage as cv_bridge does: as they are stored, whatever EXIF says.

    Returns:
        uint8 (H, W, 3), red first.
    """
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
    """Read the file that a sensor_msgs/CompressedImage carries.

    Returns:
        Its bytes; None where as a file they would be seen otherwise: red and blue changed places before encoding, they
        are a Bayer mosaic, or EXIF turns them.
    """
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
