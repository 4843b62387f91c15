"""LeRobot data sets of version 3: the pictures of one camera over all episodes, with their times.

`meta/info.json` says what there is, `meta/episodes/` where each episode is, `data/` has a row for each frame. Pictures
are in videos of many episodes (PyAV decodes them, the extra `video`) or, encoded, in the rows. The format:
https://github.com/huggingface/lerobot, src/lerobot/datasets/utils.py.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.files import is_file
from simjudge.core.frames import FrameSet
from simjudge.core.images import (
    DAMAGED_IMAGE,
    IMAGE_FORMATS,
    EncodedImage,
    ImageError,
    Images,
    RgbImage,
    decode_image,
)
from simjudge.core.parquet import MOST_ROWS, check_parquet, read_parquet
from simjudge.core.text import JsonMapping, list_some, load_json
from simjudge.data.format_support.image_files import Topics

INFO, EPISODES = "meta/info.json", "meta/episodes"
_VIDEO, _IMAGE = "video", "image"
_VIDEO_PATH = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
_PATTERN = re.compile(
    r"(?:[^{}]|\{video_key\}|\{(?:chunk|file)_index(?::0?\d?d)?\})*"
)  # No widths that fill the memory
_ROW_COLUMNS = ("episode_index", "frame_index", "timestamp")
_BETWEEN = 100  # Seconds from the end of an episode to the next: nobody says when each was recorded
_SUFFIXES = {b"\x89PNG": ".png", b"\xff\xd8\xff\xe0": ".jpg", b"\xff\xd8\xff\xe1": ".jpg"}


def _info(path: Path) -> JsonMapping:
    content = load_json(path / INFO)
    return content if isinstance(content, dict) else {}


def read_info(path: Path) -> JsonMapping:
    """Read what a data set says of itself; one of another version is refused."""
    info = _info(path)
    version = str(info.get("codebase_version", ""))
    if not version.startswith("v3."):
        raise SimjudgeError(
            f"{path / INFO}: is of version {version or '(none)'}; v3 is read: LeRobot converts older ones"
        )
    return info


def table_columns(path: Path) -> list[str]:
    """The names of a table's columns."""
    with _told(path):
        check_parquet(path)
        return list(pq.read_schema(path).names)


def read_table(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Read a table of a data set, without the statistics that it keeps of each episode."""
    names = columns or [name for name in table_columns(path) if not name.startswith("stats/")]
    with _told(path):
        return read_parquet(path, names)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise SimjudgeError(f"{path}: cannot be read as a table ({reason})") from error


@dataclass(frozen=True, repr=False)
class FrameRows(ShortRepr):
    """The rows of all frames, in the order of episodes."""

    episode: IntArray
    frame: IntArray  # number within its episode
    time: FloatArray  # seconds within its episode
    file: IntArray  # which file of `files`
    row: IntArray  # row in this file
    files: list[Path]


def read_lerobot(path: Path, topics: Topics | None = None) -> FrameSet:
    """Read the pictures of a camera of a data set, in which nothing is labelled."""
    info, losses = read_info(path), Losses()
    camera = _camera(path, info, topics)
    rows = _rows(path)
    if not len(rows.row):
        raise SimjudgeError(f"{path}: has no frame in data/*/*.parquet")
    images: Images
    if info["features"][camera]["dtype"] == _VIDEO:
        images, size, held = _videos(path, info, camera, rows, losses)
    else:
        images, size, held = RowImages(rows.files, rows.file, rows.row, camera), _shape(path, info, camera), None
    taken = np.arange(len(rows.row)) if held is None else held
    return FrameSet.build(
        path.name,
        np.tile(size, (len(taken), 1)),
        frame_name=[f"episode_{rows.episode[n]:06d}_frame_{rows.frame[n]:06d}" for n in taken],
        stamp=_stamps(rows)[taken],
        recording=[f"episode_{rows.episode[n]:06d}" for n in taken],
        images=images,
        losses=losses,
    )


def _camera(path: Path, info: JsonMapping, topics: Topics | None) -> str:
    """The feature of the camera that is meant."""
    features = info.get("features")
    known = features.items() if isinstance(features, dict) else ()
    cameras = [str(name) for name, one in known if isinstance(one, dict) and one.get("dtype") in (_VIDEO, _IMAGE)]
    if not cameras:
        raise SimjudgeError(
            f"{path / INFO}: names no feature that is a video or an image; there are no pictures to read"
        )
    asked = None if topics is None else topics.image_topic
    if topics is not None and topics != Topics(asked):
        raise UsageError(f"{path}: is a LeRobot data set, not a recording; give --image-topic alone")
    if asked is None and len(cameras) > 1:
        raise UsageError(f"{path}: has the pictures of {list_some(cameras)}; name one with --image-topic")
    if asked is None:
        return cameras[0]
    camera = next((name for name in cameras if asked in (name, name.rpartition(".")[2])), None)
    if camera is None:
        raise UsageError(f"--image-topic {asked}: {path} has no such camera; it has {list_some(cameras)}")
    return camera


def _rows(path: Path) -> FrameRows:
    files = sorted((path / "data").rglob("*.parquet"))
    total = 0
    for file in files:
        with _told(file):
            total += check_parquet(file)
        if total > MOST_ROWS:
            raise SimjudgeError(f"{path}: has more than {MOST_ROWS:,} frames, which are not read at once; split it")
    tables = [read_table(file, _ROW_COLUMNS) for file in files]
    for file, table in zip(files, tables, strict=True):
        broken = [name for name in table.column_names if not _is_plain(table.column(name))]
        if broken:
            raise SimjudgeError(f"{file}: {broken[0]} is not a number in every row; write the data set again")
    lengths = [len(table) for table in tables]
    # Files need not have the same kinds of numbers.
    episode, frame, time = (
        np.concatenate([np.empty(0, np.int64), *(table.column(name).to_numpy() for table in tables)])
        for name in _ROW_COLUMNS
    )
    order = np.lexsort((frame, episode))
    file_of_row = np.repeat(np.arange(len(files)), lengths)
    row = np.arange(len(file_of_row)) - np.repeat(np.cumsum([0, *lengths[:-1]]) if lengths else [], lengths)
    return FrameRows(
        np.asarray(episode, np.int64)[order],
        np.asarray(frame, np.int64)[order],
        np.asarray(time, np.float64)[order],
        np.asarray(file_of_row, np.int64)[order],
        np.asarray(row, np.int64)[order],
        files,
    )


def _is_plain(column: pa.ChunkedArray) -> bool:
    """Whether every row is a finite number."""
    if column.null_count or not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return False
    return bool(np.isfinite(column.to_numpy()).all())


def _stamps(rows: FrameRows) -> IntArray:
    """Times of all frames, ns: episodes one after the other, apart."""
    _, first, length = np.unique(rows.episode, return_index=True, return_counts=True)
    last = rows.time[first + length - 1]
    begin = np.concatenate([[0.0], np.cumsum(np.ceil(last) + _BETWEEN)[:-1]])
    return np.round((np.repeat(begin, length) + rows.time) * 1e6).astype(np.int64) * 1000


def _shape(path: Path, info: JsonMapping, camera: str) -> tuple[int, int]:
    """Width and height of a camera's pictures, as the data set says them."""
    feature = info["features"][camera]
    try:
        names, shape = feature.get("names") or ("height", "width", "channels"), feature.get("shape") or ()
        named = dict(zip(names, shape, strict=False))
        return int(named["width"]), int(named["height"])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise SimjudgeError(f"{path / INFO}: {camera} does not say width and height (names, shape)") from error


def _videos(
    path: Path, info: JsonMapping, camera: str, rows: FrameRows, losses: Losses
) -> tuple[Images, tuple[int, int], IntArray]:
    """The pictures of a camera in videos, their size, and which rows have one."""
    from simjudge.data.video import VideoFileImages, survey_video  # noqa: PLC0415 - loads PyAV

    pattern, fps = str(info.get("video_path") or _VIDEO_PATH), info.get("fps")
    if not isinstance(fps, (int, float)) or not 0 < fps < math.inf:
        raise SimjudgeError(f"{path / INFO}: fps is not above 0; without it frames are not found in videos")
    videos: dict[Path, Any] = {}
    sources: list[Any] = []
    place: list[tuple[int, int]] = []  # source and picture of each frame that is taken
    held: list[int] = []
    size = (0, 0)
    where = _video_places(path, camera)
    numbers, first = np.unique(rows.episode, return_index=True)
    for episode, begin, end in zip(numbers.tolist(), first, [*first[1:], len(rows.episode)], strict=True):
        frames = np.arange(begin, end)
        chunk, number, start = where.get(episode, (-1, -1, 0.0))
        file = _video_file(path, pattern, camera, chunk, number)
        if chunk < 0 or not is_file(file):
            losses.add("frames whose video is missing", f"{file} (episode {episode})", len(frames))
            continue
        if file not in videos:
            survey = survey_video(file)
            videos[file] = (len(sources), survey)
            sources.append(VideoFileImages(file, survey.pts))
            size = survey.size
        source, survey = videos[file]
        picture, found = _nearest(survey.stamp / 1e9, start + rows.time[frames], 0.5 / fps)
        losses.add("frames that their video does not hold", f"{file} (episode {episode})", int((~found).sum()))
        held += frames[found].tolist()
        place += [(source, one) for one in picture[found].tolist()]
    if not held:
        raise SimjudgeError(f"{path}: no frame of {camera} has a picture{losses.reason}")
    return VideoImages(sources, np.array(place, np.int64)), size, np.array(held, np.int64)


def _video_file(path: Path, pattern: str, camera: str, chunk: int, number: int) -> Path:
    """The video of an episode, within the data set's folder."""
    if not _PATTERN.fullmatch(pattern):
        raise SimjudgeError(f"{path / INFO}: video_path {pattern!r} is not a pattern of paths; write {_VIDEO_PATH}")
    file = path / pattern.format(video_key=camera, chunk_index=chunk, file_index=number)
    if not file.resolve().is_relative_to(path.resolve()):
        raise SimjudgeError(f"{path / INFO}: video_path {pattern!r} leads out of the data set's folder")
    return file


def _video_places(path: Path, camera: str) -> dict[int, tuple[int, int, float]]:
    """Chunk, file and beginning in seconds of each episode's video."""
    names = [f"videos/{camera}/{what}" for what in ("chunk_index", "file_index", "from_timestamp")]
    found: dict[int, tuple[int, int, float]] = {}
    for file in sorted((path / EPISODES).rglob("*.parquet")):
        held = table_columns(file)
        missing = [name for name in ("episode_index", *names) if name not in held]
        if missing:
            raise SimjudgeError(f"{file}: lacks the column {missing[0]}, which says where an episode's video is")
        table = read_table(file, ["episode_index", *names])
        for episode, chunk, number, start in zip(
            *(table.column(name).to_pylist() for name in ("episode_index", *names)), strict=True
        ):
            if None not in (episode, chunk, number, start):
                try:
                    found[int(episode)] = int(chunk), int(number), float(start)
                except (TypeError, ValueError, OverflowError) as error:
                    raise SimjudgeError(f"{file}: where the video of episode {episode} is are no numbers") from error
    return found


def _nearest(there: FloatArray, wanted: FloatArray, tolerance: float) -> tuple[IntArray, Any]:
    """The number of the nearest of ascending times for each wanted one, and whether it is near enough."""
    after = np.clip(np.searchsorted(there, wanted), 1, max(len(there) - 1, 1))
    before = after - 1
    after = np.minimum(after, len(there) - 1)
    nearest = np.where(wanted - there[before] <= there[after] - wanted, before, after)
    return nearest, np.abs(there[nearest] - wanted) < tolerance


class VideoImages:
    """Pictures of several videos."""

    def __init__(self, sources: Sequence[Images], place: IntArray) -> None:
        """Remember them (place: int (N, 2), which source and which of its pictures each frame is)."""
        self._sources, self._place = sources, place

    def __len__(self) -> int:
        return len(self._place)

    def has(self, index: int) -> bool:
        """Tell whether there is such a picture: see `Images.has`."""
        return 0 <= index < len(self._place)

    def read(self, index: int) -> RgbImage:
        """Decode a picture: see `Images.read`."""
        source, picture = self._place[index].tolist()
        pixels: RgbImage = self._sources[source].read(picture)
        return pixels

    def read_encoded(self, index: int) -> EncodedImage | None:
        """Give nothing: a picture of a video is no file. See `Images.read_encoded`."""
        del index
        return None


class RowImages:
    """Pictures that stand encoded in rows of tables."""

    def __init__(self, files: Sequence[Path], file: IntArray, row: IntArray, column: str) -> None:
        """Remember where they are (file, row: int (N,), of each frame)."""
        self._files, self._file, self._row, self._column = files, file, row, column
        self._lock = Lock()
        self._kept: tuple[int, int, list[Any]] = (-1, -1, [])  # file, first row and pictures of a group of rows

    def __len__(self) -> int:
        return len(self._row)

    def has(self, index: int) -> bool:
        """Tell whether there is such a picture: see `Images.has`."""
        return 0 <= index < len(self._row)

    def read(self, index: int) -> RgbImage:
        """Decode a picture: see `Images.read`."""
        return decode_image(self._bytes(index), self._where(index))

    def read_encoded(self, index: int) -> EncodedImage | None:
        """Read a picture as it is stored: see `Images.read_encoded`."""
        data = self._bytes(index)
        suffix = _SUFFIXES.get(data[:4])
        if suffix is None:
            try:
                with Image.open(io.BytesIO(data), formats=IMAGE_FORMATS) as image:
                    suffix = f".{(image.format or 'png').lower()}"
            except DAMAGED_IMAGE as error:
                raise ImageError(f"{self._where(index)}: is no picture that can be read") from error
        return EncodedImage(data, suffix)

    def _where(self, index: int) -> str:
        return f"{self._files[self._file[index]]}: {self._column} of row {self._row[index]}"

    def _bytes(self, index: int) -> bytes:
        with self._lock:
            file, row = int(self._file[index]), int(self._row[index])
            if not (self._kept[0] == file and 0 <= row - self._kept[1] < len(self._kept[2])):
                self._kept = (file, *self._group(self._files[file], row))
            value = self._kept[2][row - self._kept[1]]
        data = value.get("bytes") if isinstance(value, dict) else value
        if not isinstance(data, bytes):
            raise ImageError(f"{self._where(index)}: holds no encoded picture")
        return data

    def _group(self, path: Path, row: int) -> tuple[int, list[Any]]:
        """The first row and all pictures of the group of rows that holds a row."""
        try:
            with pq.ParquetFile(path) as table:
                first = 0
                for group in range(table.num_row_groups):
                    count = table.metadata.row_group(group).num_rows
                    if row < first + count:
                        return first, table.read_row_group(group, [self._column]).column(0).to_pylist()
                    first += count
        except (OSError, pa.ArrowException) as error:
            raise ImageError(f"{path}: cannot be read as a table ({str(error).splitlines()[0][:200]})") from error
        raise ImageError(f"{path}: has no row {row}")
