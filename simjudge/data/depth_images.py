"""Depth images in metres: of files and messages, alone or beside the pictures of a set."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from struct import Struct
from typing import Any, TypeAlias

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import ShortRepr
from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.files import LARGEST_IMAGE_FILE, check_file, read_bytes
from simjudge.core.frames import FrameSet
from simjudge.core.images import ImageError, check_encoded_size, check_image_size
from simjudge.core.names import NO_STAMP, composed
from simjudge.core.text import one_line
from simjudge.data.rosbag2.image_messages import packed_pixels
from simjudge.data.rosbag2.interfaces import COMPRESSED_IMAGES, IMAGE, header_stamp, recorded_types
from simjudge.data.rosbag2.recorded_poses import decoded_messages
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.rosbag2.storage import MessageLocation, format_seconds, is_recording

DepthValues: TypeAlias = npt.NDArray[np.float32]
"""Metres, (H, W); NaN where nothing is measured."""
SUFFIXES = (".png", ".tif", ".tiff", ".exr", ".npy")
MILLIMETRE = 0.001
_PNG = b"\x89PNG"
_PARAMETERS = Struct("<iff")  # Of compressed_depth_image_transport: format, and a and b of depth = a / (step - b)
_ENCODINGS = {"16UC1": "u2", "mono16": "u2", "32FC1": "f4"}
_NEAREST_NS = 20_000_000
"""Nanoseconds by which a depth image may be beside its picture."""


@dataclass(frozen=True, eq=False, repr=False)
class DepthImages(ShortRepr):
    """Depth images by frame of a set."""

    where: str  # for messages
    scale: float | None  # metres of a step; None: what the files say
    found: Mapping[int, Path | MessageLocation]  # by frame
    recording: Recording | None = None
    topic: str = ""

    def read(self, index: int) -> DepthValues | None:
        """The depth image of a frame; None where there is none."""
        place = self.found.get(index)
        if place is None:
            return None
        if isinstance(place, Path):
            return read_depth(place, self.scale)
        assert self.recording is not None  # noqa: S101 - locations are of recordings
        stored = self.recording.topics[self.topic]
        types = recorded_types(((stored.type, stored.definition),))
        message: Any = types.deserialize_cdr(self.recording.read(place), stored.type)
        where = f"{self.where} at {format_seconds(header_stamp(message.header))}"
        return depth_of_message(message, where, self.scale)


def open_depth(path: Path, frames: FrameSet, name: str, scale: float | None, losses: Losses) -> DepthImages:
    """Find the depth images of a set.

    `name`: a topic of the set's recording, a folder in the set's folder, or a folder called SET.name beside its file.
    """
    if is_recording(path) and name.startswith("/"):
        return _of_topic(path, frames, name, scale, losses)
    folder = path / name if path.is_dir() else path.with_name(f"{path.stem}.{name}")
    if not folder.is_dir():
        raise SimjudgeError(
            f"{folder}: is no folder of depth images ({', '.join(SUFFIXES)}, named as the frames of {path.name});"
            " name a folder in the set, or /TOPIC of a recording"
        )
    files: dict[str, Path] = {}
    for file in sorted(folder.rglob("*")):
        if file.suffix.lower() in SUFFIXES and (first := files.setdefault(composed(file.stem), file)) != file:
            raise SimjudgeError(f"{file}: {first} has its name too; give one depth image a frame")
    found: dict[int, Path | MessageLocation] = {}
    for index, frame in enumerate(frames.frame_name):
        # The name of a frame may have no suffix, but dots, such as seconds.
        stem = next((each for each in (Path(frame).name, Path(frame).stem) if each in files), None)
        if stem is not None:
            found[index] = files[stem]
    if not found:
        held = f"its first file is {next(iter(files.values())).name}" if files else f"no {', '.join(SUFFIXES)} is there"
        raise SimjudgeError(
            f"{folder}: holds no depth image of {frames.name}, whose first frame is {one_line(frames.frame_name[0])};"
            f" {held}"
        )
    return DepthImages(str(folder), scale, found)


def _of_topic(path: Path, frames: FrameSet, topic: str, scale: float | None, losses: Losses) -> DepthImages:
    recording = Recording(path)
    where = f"{path}: {topic}"
    images = _image_topics(recording)
    if topic not in images:
        raise SimjudgeError(f"{where}: is no topic of images; there are {', '.join(images) or 'none'}")
    stamps, places = [], []
    for stored, message in decoded_messages(recording, {topic}, losses):
        stamps.append(header_stamp(message.header))
        places.append(stored.location)
    found = dict(_nearest(frames, np.array(stamps, np.int64), places))
    if not found:
        raise SimjudgeError(
            f"{where}: none of its {len(stamps)} images is within {_NEAREST_NS / 1e9:g} s of a frame of {frames.name}"
        )
    return DepthImages(where, scale, found, recording, topic)


def _nearest(
    frames: FrameSet, stamps: npt.NDArray[np.int64], places: Sequence[MessageLocation]
) -> list[tuple[int, MessageLocation]]:
    if not len(stamps):
        return []
    order = np.argsort(stamps, kind="stable")
    ordered = stamps[order]
    after = np.clip(np.searchsorted(ordered, frames.stamp), 1, max(1, len(ordered) - 1))
    before, after = after - 1, np.minimum(after, len(ordered) - 1)
    beside = [np.abs(ordered[place] - frames.stamp) for place in (before, after)]
    nearest, distance = np.where(beside[0] <= beside[1], before, after), np.minimum(*beside)
    found = np.flatnonzero((frames.stamp != NO_STAMP) & (distance <= _NEAREST_NS))
    return [(index, places[order[nearest[index]]]) for index in found.tolist()]


MOST_PIXELS = 150_000_000
"""Pixels of all images that are read: noise is fitted with 15 bytes of memory a pixel, here 2.3 GB."""
_FEWEST = 10  # Images that are read however large they are


def fills_memory(images: Sequence[DepthValues]) -> bool:
    """Whether one image more would be more than `MOST_PIXELS`."""
    return len(images) >= _FEWEST and (len(images) + 1) * images[0].size > MOST_PIXELS


def read_depth_images(
    source: str | Path, topic: str | None = None, *, most: int = 300
) -> tuple[list[DepthValues], Losses]:
    """Read the first depth images of a recording or of a folder.

    Args:
        source: the recording or the folder.
        topic: of the images in a recording; None: the only one whose images are of depth.
        most: images that are read; fewer where they hold `MOST_PIXELS`.

    Raises:
        UsageError: the topic must be named.
        SimjudgeError: there are no depth images.
    """
    path, losses = Path(source), Losses()
    files = sorted(file for file in path.iterdir() if file.suffix.lower() in SUFFIXES) if path.is_dir() else []
    images: list[DepthValues] = []
    for file in files[:most]:
        _keep(images, losses, partial(read_depth, file))
        if fills_memory(images):
            break
    if not files:
        recording = Recording(path)
        name = _choose(recording, topic)
        for stored, message in decoded_messages(recording, {name}, losses):
            where = f"{path}: {name} at {format_seconds(stored.time)}"
            _keep(images, losses, partial(depth_of_message, message, where))
            if len(images) == most or fills_memory(images):
                break
        losses.extend(recording.losses)
    if not images:
        why = "; ".join(losses.lines()) or "it is empty"
        raise SimjudgeError(f"{path}: holds no depth image that can be read; {why}")
    return images, losses


def _keep(images: list[DepthValues], losses: Losses, read: Callable[[], DepthValues]) -> None:
    try:
        images.append(read())
    except SimjudgeError as error:
        losses.add("depth images that cannot be read", str(error))


def _image_topics(recording: Recording) -> list[str]:
    return [info.topic for info in recording.topic_infos() if info.type in (IMAGE, *COMPRESSED_IMAGES)]


def _choose(recording: Recording, topic: str | None) -> str:
    topics = _image_topics(recording)
    if topic is not None:
        name = topic if topic in topics else "/" + topic.lstrip("/")
        if name not in topics:
            raise UsageError(f"--topic {topic}: {_listed(recording, topics)}")
        return name
    depth = [name for name in topics if "depth" in name]
    if len(depth) != 1:
        raise UsageError(f"--topic: name the depth images; {_listed(recording, depth or topics)}")
    return depth[0]


def _listed(recording: Recording, topics: Sequence[str]) -> str:
    return f"{recording.path} has images in {', '.join(topics) or 'no topic'}"


def depth_of_message(message: Any, where: str, scale: float | None = None) -> DepthValues:
    """The depth of an Image (16UC1, mono16: millimetres; 32FC1), or of a CompressedImage with a 16-bit PNG."""
    if not hasattr(message, "encoding"):
        data = bytes(message.data)
        if "rvl" in message.format.lower():
            raise ImageError(
                f"{where}: is compressed as RVL, which simjudge does not read; record the raw topic, republish it"
                " as raw with image_transport, or set the publisher's compressedDepth.format to png"
            )
        begin = max(data.find(_PNG, 0, 64), 0)  # compressed_depth_image_transport puts a header before it
        values = _decoded(data[begin:], where)
        if begin >= _PARAMETERS.size and message.format.startswith("32FC1"):
            return _metres(_of_inverse(values, data, where), scale, None, where)
        return _metres(values, scale, MILLIMETRE if values.dtype == np.uint16 else None, where)
    kind = _ENCODINGS.get(message.encoding)
    if kind is None:
        raise ImageError(f"{where}: {message.encoding!r} is not an encoding of depth; {', '.join(_ENCODINGS)} are")
    return _metres(packed_pixels(message, np.dtype((kind, (1,))), where)[..., 0], scale, MILLIMETRE, where)


def _of_inverse(values: npt.NDArray[Any], data: bytes, where: str) -> DepthValues:
    """Metres of what compressed_depth_image_transport makes of 32FC1: steps of the inverse depth, 0 for none."""
    _, factor, offset = _PARAMETERS.unpack_from(data)
    if not (np.isfinite(factor) and factor > 0 and np.isfinite(offset)):
        raise ImageError(f"{where}: the header of its compressed depth is broken; record the plain image topic")
    steps = values.astype(np.float64) - offset
    known = (values > 0) & (steps > 0)
    return np.where(known, factor / np.where(known, steps, 1.0), np.nan).astype(np.float32)


def read_depth(path: Path, scale: float | None = None) -> DepthValues:
    """Read a depth image: PNG of 16 bits (millimetres), TIFF, EXR or .npy of floats (metres).

    `scale`: metres of a step, for files of another unit.
    """
    suffix = path.suffix.lower()
    try:
        if suffix == ".npy":
            check_file(path)
            # Mapped, so that a header that claims more than the file holds fills no memory.
            values = np.load(path, mmap_mode="r", allow_pickle=False)
        elif suffix == ".exr":
            check_encoded_size(read_bytes(path, LARGEST_IMAGE_FILE), str(path))
            values = _exr(path)
        else:
            values = _decoded(read_bytes(path, LARGEST_IMAGE_FILE), str(path))
    except (OSError, ValueError) as error:
        raise ImageError(f"{path}: is no depth image that can be read: {one_line(error)}") from error
    if not isinstance(values, np.ndarray):
        raise ImageError(f"{path}: holds several arrays; a depth image is one")
    known = MILLIMETRE if suffix == ".png" and values.dtype == np.uint16 else None
    return _metres(values, scale, known, str(path))


def _decoded(data: bytes, where: str) -> npt.NDArray[Any]:
    check_encoded_size(data, where)
    try:
        values = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED) if data else None
    except cv2.error as error:
        raise ImageError(f"{where}: is no depth image that can be read: {one_line(error)}") from error
    if values is None:
        raise ImageError(f"{where}: is no depth image that can be read; it is cut off or damaged")
    return values


def _exr(path: Path) -> npt.NDArray[Any]:
    try:
        mitsuba: Any = importlib.import_module("mitsuba")
    except ImportError as error:
        raise ImageError(f"{path}: EXR is read by Mitsuba (the extra sim); or save it as TIFF or .npy") from error
    if mitsuba.variant() is None:
        mitsuba.set_variant("scalar_rgb")
    try:
        values = np.array(mitsuba.Bitmap(str(path)), np.float32)
    except RuntimeError as error:
        raise ImageError(f"{path}: is no depth image that can be read: {one_line(error)}") from error
    return values[:, :, 0] if values.ndim == 3 else values


def _metres(values: npt.NDArray[Any], scale: float | None, known: float | None, where: str) -> DepthValues:
    """Values in metres. `known`: metres of a step of whole numbers, where it is known."""
    if values.ndim != 2:
        raise ImageError(f"{where}: has the shape {values.shape}; a depth image has rows and columns, and one channel")
    check_image_size(values.shape[1], values.shape[0], where)
    if values.dtype.kind not in "uif":
        raise ImageError(f"{where}: holds {values.dtype}, and no numbers")
    if scale is None and values.dtype.kind != "f":
        if known is None:
            raise ImageError(
                f"{where}: holds whole numbers ({values.dtype}), whose unit is not known; say the metres of a step"
                " (--truth-scale, --predicted-scale), such as 0.001"
            )
        scale = known
    metres = values.astype(np.float32) * np.float32(1.0 if scale is None else scale)
    return np.where(np.isfinite(metres) & (metres > 0), metres, np.float32(np.nan)).astype(np.float32)
