"""Depth images of recordings and folders, in metres: 16 bits hold millimetres and 0 for nothing, 32FC1 metres."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.files import LARGEST_IMAGE_FILE, read_bytes
from simjudge.core.images import ImageError
from simjudge.data.rosbag2.image_messages import packed_pixels
from simjudge.data.rosbag2.interfaces import COMPRESSED_IMAGES
from simjudge.data.rosbag2.recorded_poses import decoded_messages
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.rosbag2.storage import format_seconds

DepthImage = npt.NDArray[np.float32]  # (H, W), metres; NaN where nothing is measured
IMAGE = "sensor_msgs/msg/Image"
_SUFFIXES = (".png", ".tif", ".tiff")
_PNG = b"\x89PNG"
_ENCODINGS = {"16UC1": "u2", "mono16": "u2", "32FC1": "f4"}


def read_depth_images(
    source: str | Path, topic: str | None = None, *, most: int = 300
) -> tuple[list[DepthImage], Losses]:
    """Read the first depth images of a recording or of a folder of 16-bit PNG or TIFF files.

    Args:
        source: the recording or the folder.
        topic: of the images in a recording; None: the only one whose images are of depth.
        most: images that are read.

    Raises:
        UsageError: the topic must be named.
        SimjudgeError: there are no depth images.
    """
    path, losses = Path(source), Losses()
    files = sorted(file for file in path.iterdir() if file.suffix.lower() in _SUFFIXES) if path.is_dir() else []
    images: list[DepthImage] = []
    for file in files[:most]:
        _keep(images, losses, partial(_read_file, file))
    if not files:
        recording = Recording(path)
        name = _choose(recording, topic)
        for stored, message in decoded_messages(recording, {name}, losses):
            where = f"{path}: {name} at {format_seconds(stored.time)}"
            _keep(images, losses, partial(depth_of_message, message, where))
            if len(images) == most:
                break
        losses.extend(recording.losses)
    if not images:
        why = "; ".join(losses.lines()) or "it is empty"
        raise SimjudgeError(f"{path}: holds no depth image that can be read; {why}")
    return images, losses


def _keep(images: list[DepthImage], losses: Losses, read: Callable[[], DepthImage]) -> None:
    try:
        images.append(read())
    except SimjudgeError as error:
        losses.add("depth images that cannot be read", str(error))


def depth_of_message(message: Any, where: str) -> DepthImage:
    """The depth of a sensor_msgs/Image (16UC1, 32FC1) or of a CompressedImage that holds a 16-bit PNG."""
    if not hasattr(message, "encoding"):
        return _decoded(bytes(message.data), where)
    kind = _ENCODINGS.get(message.encoding)
    if kind is None:
        raise ImageError(f"{where}: depth is one of {', '.join(_ENCODINGS)}, this is {message.encoding}")
    return _metres(packed_pixels(message, np.dtype((kind, (1,))), where)[..., 0])


def _read_file(file: Path) -> DepthImage:
    return _decoded(read_bytes(file, LARGEST_IMAGE_FILE), str(file))


def _decoded(data: bytes, where: str) -> DepthImage:
    """A 16-bit file; compressed_depth_image_transport puts a header before its PNG."""
    begin = data.find(_PNG, 0, 64)
    buffer = np.frombuffer(data[max(begin, 0) :], np.uint8)
    pixels = cv2.imdecode(buffer, cv2.IMREAD_UNCHANGED) if len(buffer) else None
    if pixels is None:
        raise ImageError(f"{where}: the depth image is cut off or damaged")
    if pixels.ndim != 2 or pixels.dtype != np.uint16:
        raise ImageError(f"{where}: a depth image has one channel of 16 bits, this one {pixels.dtype} {pixels.shape}")
    return _metres(pixels)


def _metres(pixels: npt.NDArray[Any]) -> DepthImage:
    metres = pixels.astype(np.float32) * np.float32(1e-3 if pixels.dtype.kind == "u" else 1)
    return np.where(np.isfinite(metres) & (metres > 0), metres, np.float32(np.nan)).astype(np.float32)


def _choose(recording: Recording, topic: str | None) -> str:
    topics = [info.topic for info in recording.topic_infos() if info.type in (IMAGE, *COMPRESSED_IMAGES)]
    if topic is not None:
        name = topic if topic in topics else "/" + topic.lstrip("/")
        if name not in topics:
            raise UsageError(f"--topic {topic}: {_topics(recording, topics)}")
        return name
    depth = [name for name in topics if "depth" in name]
    if len(depth) != 1:
        raise UsageError(f"--topic: name the depth images; {_topics(recording, depth or topics)}")
    return depth[0]


def _topics(recording: Recording, topics: Sequence[str]) -> str:
    return f"{recording.path} has images in {', '.join(topics) or 'no topic'}"
