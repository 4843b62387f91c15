"""Pictures of videos, in files and on topics, decoded by PyAV (the extra `video`).

A picture of a video says what changed since those before it. Read in order, each is decoded once; any other is decoded
from the last key frame before it.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from simjudge.core.arrays import IntArray, ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.core.images import EncodedImage, ImageError, RgbImage, check_image_size
from simjudge.core.installed import install_command

# Formats that hold their pictures themselves. Playlists (concat, HLS, SDP, DASH, image2) name other files, and are text
# under any suffix.
CONTAINERS = {"format_whitelist": "mov,matroska,webm,avi,mpeg,mpegts,mpegvideo,ogg", "protocol_whitelist": "file"}
_LOOK_AHEAD = 64  # Packets behind a picture's own that a decoder may want before it gives the picture
# What topics call a codec, and its name in FFmpeg.
_CODECS = (
    (r"264|avc", "h264"),
    (r"265|hevc", "hevc"),
    (r"av1", "av1"),
    (r"vp9", "vp9"),
    (r"vp8", "vp8"),
    (r"mjpeg", "mjpeg"),
    (r"mpeg4", "mpeg4"),
)
_H264_KEYS, _HEVC_KEYS = frozenset({5}), frozenset(range(16, 22))  # Types of a NAL unit that begins without the past
_ALL_KEYS = ("mjpeg",)
_DAMAGED = "the picture is damaged: packets of the video before it are missing or broken"


def load_pyav(where: str) -> Any:
    """PyAV, or one line that says how to get it."""
    try:
        return importlib.import_module("av")
    except ImportError as error:
        raise SimjudgeError(f"{where}: is video, which PyAV decodes: {install_command('av')}") from error


def codec_name(said: str, where: str) -> str:
    """FFmpeg's name of a codec, of what a message says: "h264", "libx264;yuv420p;bgr8;bgr8"."""
    first = said.partition(";")[0].strip().lower()
    name = next((name for pattern, name in _CODECS if re.search(pattern, first)), "")
    if not name:
        known = ", ".join(name for _, name in _CODECS)
        raise SimjudgeError(f"{where}: is video of codec {first or 'without a name'!r}; those that are read: {known}")
    return name


def is_key_packet(codec: str, data: bytes) -> bool:
    """Whether decoding can begin at a packet (ITU-T H.264 and H.265 annex B, VP9 6.2, AV1 5.3)."""
    if codec in _ALL_KEYS or not data:
        return bool(data)
    if codec in ("h264", "hevc"):
        starts = (match.end() for match in re.finditer(rb"\x00\x00\x01", data))
        if codec == "h264":
            return any(data[at] & 31 in _H264_KEYS for at in starts if at < len(data))
        return any(data[at] >> 1 & 63 in _HEVC_KEYS for at in starts if at < len(data))
    if codec == "av1":  # a sequence header, at once or behind a temporal delimiter
        return any(data[at : at + 1] and data[at] >> 3 & 15 == 1 for at in (0, 2))
    if codec == "vp9":
        return data[0] >> 2 & 1 == 0
    return data[0] & 1 == 0 if codec == "vp8" else data[:4] == b"\x00\x00\x01\xb0"


@dataclass
class PacketOrder:
    """Whether packets follow one another: where decoding can begin, and where pictures lack something before them.

    FFmpeg tells of HEVC what is missing, of H.264 it does not: its pictures are numbered here (7.4.3, frame_num).
    """

    codec: str
    keys: list[bool] = field(default_factory=list)
    lacks: list[bool] = field(default_factory=list)
    _bits: int = 0  # of frame_num, from the last parameter set
    _last: int | None = None  # frame_num of the last picture that others may refer to

    def add(self, data: bytes) -> None:
        """Enter the next packet."""
        key = is_key_packet(self.codec, data)
        gap = self._is_gap(data) if self.codec == "h264" else False
        self.keys.append(key)
        self.lacks.append(not key and (gap or (bool(self.lacks) and self.lacks[-1])))

    def _is_gap(self, data: bytes) -> bool:
        for match in re.finditer(rb"\x00\x00\x01", data):
            head, unit = data[match.end() : match.end() + 1], data[match.end() + 1 : match.end() + 257]
            kind, referred = (head[0] & 31, head[0] >> 5 & 3) if head else (0, 0)
            bits = _Bits(unit.replace(b"\x00\x00\x03", b"\x00\x00"))
            try:
                if kind == 7:
                    self._bits = _frame_number_bits(bits)
                elif kind in (1, 5) and self._bits:
                    _ = [bits.golomb() for _ in range(3)]  # first_mb_in_slice, slice_type, pic_parameter_set_id
                    number = bits.take(self._bits)
                    last, self._last = self._last, number if referred else self._last
                    return kind != 5 and last is not None and (number - last) % (1 << self._bits) > 1
            except IndexError:
                return True
        return False


class _Bits:
    """Bits of a unit of H.264, the highest of a byte first."""

    def __init__(self, data: bytes) -> None:
        self._bits, self._at = np.unpackbits(np.frombuffer(data, np.uint8)).tolist(), 0

    def take(self, count: int) -> int:
        """The next `count` bits as a number."""
        bits = [self._bits[self._at + place] for place in range(count)]
        self._at += count
        return int("".join(map(str, bits)) or "0", 2)

    def golomb(self) -> int:
        """The next number in Exp-Golomb code (H.264, 9.1)."""
        zeros = 0
        while not self.take(1):
            zeros += 1
        return (1 << zeros) - 1 + self.take(zeros)


def _frame_number_bits(bits: _Bits) -> int:
    """How many bits frame_num has, by a sequence parameter set (H.264, 7.3.2.1.1)."""
    profile = bits.take(8)
    bits.take(16)
    bits.golomb()
    if profile in (100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135):
        if bits.golomb() == 3:
            bits.take(1)
        _ = bits.golomb(), bits.golomb(), bits.take(1)
        if bits.take(1):
            raise IndexError("scaling lists are not read")
    return bits.golomb() + 4


class PacketDecoder:
    """The pictures of a row of packets, one a picture."""

    def __init__(self, order: PacketOrder, read: Callable[[int], bytes], where: Callable[[int], str]) -> None:
        """Remember the packets (order: what they are; read, where: bytes and name of packet i)."""
        self._av = load_pyav(where(0))
        self._name, self._lacks, self._read, self._where = order.codec, order.lacks, read, where
        self._start = np.maximum.accumulate(np.where(order.keys, np.arange(len(order.keys)), -1))
        self._lock = Lock()
        self._codec: Any = None
        self._next = 0
        self._ready: dict[int, Any] = {}

    def read(self, index: int) -> RgbImage:
        """The picture of a packet: uint8 (H, W, 3), red first."""
        with self._lock:
            try:
                return _to_rgb(self._frame(index), self._where(index))
            except self._av.FFmpegError as error:
                self._codec = None
                raise ImageError(f"{self._where(index)}: cannot be decoded ({error.strerror})") from error

    def _frame(self, index: int) -> Any:
        start = int(self._start[index])
        if start < 0:
            raise ImageError(f"{self._where(index)}: comes before the first key frame of the video")
        if self._lacks[index]:
            raise ImageError(f"{self._where(index)}: {_DAMAGED}")
        if self._codec is None or (index not in self._ready and not start <= self._next <= index):
            self._codec, self._next, self._ready = self._open(), start, {}
        while index not in self._ready:
            end = self._next >= min(len(self._start), index + _LOOK_AHEAD)
            if end:
                packet = None
            else:
                packet = self._av.Packet(self._read(self._next))
                packet.pts = packet.dts = self._next
            self._next += not end
            for frame in self._codec.decode(packet):
                self._ready[frame.pts] = frame
            if end:
                self._codec = None  # a decoder that was emptied takes no more
                break
        for old in [number for number in self._ready if number < index]:
            del self._ready[old]
        if index not in self._ready:
            raise ImageError(f"{self._where(index)}: the video holds no whole picture here")
        return self._ready[index]

    def _open(self) -> Any:
        codec = self._av.CodecContext.create(self._name, "r")
        codec.options = {"err_detect": "explode"}  # no picture rather than a guess
        return codec


def _to_rgb(frame: Any, where: str) -> RgbImage:
    if frame.is_corrupt:
        raise ImageError(f"{where}: {_DAMAGED}")
    check_image_size(frame.width, frame.height, where)
    pixels = np.asarray(frame.to_ndarray(format="rgb24"))
    return np.ascontiguousarray(np.rot90(pixels, round(frame.rotation / 90) % 4))


@dataclass(frozen=True, repr=False)
class VideoInfo(ShortRepr):
    """What a video file holds."""

    size: tuple[int, int]  # width, height, as shown, pixels
    stamp: IntArray  # ns (N,) since the video's beginning, in the order in which pictures are shown
    pts: Sequence[int]  # N, in the file's own unit


def survey_video(path: Path) -> VideoInfo:
    """Find the pictures of a video file, without decoding more than the first."""
    av = load_pyav(str(path))
    try:
        with av.open(str(path), options=CONTAINERS) as container:
            if not container.streams.video:
                raise SimjudgeError(f"{path}: holds no video")
            stream = container.streams.video[0]
            packets = [p for p in container.demux(stream) if p.size and not p.is_discard]
            unit = stream.time_base
        with av.open(str(path), options=CONTAINERS) as container:
            first = next(container.decode(container.streams.video[0]), None)
    except av.FFmpegError as error:
        raise SimjudgeError(f"{path}: is not a video that can be read ({error.strerror})") from error
    if first is None or not packets:
        raise SimjudgeError(f"{path}: holds no picture that can be decoded")
    pts = sorted({int(p.pts if p.pts is not None else p.dts) for p in packets if (p.pts, p.dts) != (None, None)})
    stamp = np.array([round((value - pts[0]) * unit * 1_000_000_000) for value in pts], np.int64)
    height, width = _to_rgb(first, str(path)).shape[:2]
    return VideoInfo((width, height), stamp, pts)


class VideoFileImages:
    """The pictures of a video file."""

    def __init__(self, path: Path, pts: Sequence[int]) -> None:
        """Remember the pictures (pts: when each is shown, in the file's unit)."""
        self._av, self._path, self._pts = load_pyav(str(path)), path, pts
        self._lock = Lock()
        self._container: Any = None
        self._frames: Any = iter(())
        self._last = -2

    def __len__(self) -> int:
        return len(self._pts)

    def has(self, index: int) -> bool:
        """Tell whether there is such a picture: see `Images.has`."""
        return 0 <= index < len(self._pts)

    def read(self, index: int) -> RgbImage:
        """Decode a picture: see `Images.read`."""
        where = f"{self._path}: picture {index}"
        with self._lock:
            try:
                if index != self._last + 1 or self._container is None:
                    self._seek(index)
                wanted = self._pts[index]
                for frame in self._frames:
                    if frame.pts is None or frame.pts < wanted:
                        continue
                    if frame.pts > wanted:
                        break
                    self._last = index
                    return _to_rgb(frame, where)
            except self._av.FFmpegError as error:
                self._last = -2
                raise ImageError(f"{where}: cannot be decoded ({error.strerror})") from error
            self._last = -2
        raise ImageError(f"{where}: the video holds no whole picture here")

    def read_encoded(self, index: int) -> EncodedImage | None:
        """Give nothing: a picture of a video is no file. See `Images.read_encoded`."""
        del index
        return None

    def _seek(self, index: int) -> None:
        if self._container is None:
            self._container = self._av.open(str(self._path), options=CONTAINERS)
        stream = self._container.streams.video[0]
        self._container.seek(self._pts[index], stream=stream, backward=True)
        self._frames = self._container.decode(stream)
