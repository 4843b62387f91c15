"""How recordings are stored (files, forms, what each kind of file offers), and how their messages are played."""

from __future__ import annotations

import heapq
import logging
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Condition
from typing import Literal, NamedTuple, Protocol

from rosbags.interfaces import MessageDefinition

from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.files import LARGEST_TEXT, check_file, is_file, read_bytes
from simjudge.core.text import Json, one_line, parse_integer, read_yaml

log = logging.getLogger(__name__)

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


@dataclass(frozen=True)
class StoredTopic:
    """A topic of one storage file."""

    name: str
    type: str
    definition: MessageDefinition
    count: int  # what the file's own index says, where it has one
    offered_qos: str = ""  # the YAML in which the recorder kept what the publishers offered, empty where it did not


def full_type_name(name: str) -> str:
    """Complete the name of a message type as ROS 2 before Dashing, and ROS 1, wrote it: `sensor_msgs/Image`."""
    package, slash, rest = name.partition("/")
    return f"{package}/msg/{rest}" if slash and rest and "/" not in rest else name


class MessageLocation(NamedTuple):
    """Where a message is: in which file, and where in it (what the numbers mean is the storage's own affair)."""

    file: int
    block: int
    start: int
    length: int


class StoredMessage(NamedTuple):
    """A message as stored: its topic, its recording time in nanoseconds, its CDR bytes and where they are."""

    topic: str
    time: int
    data: bytes | memoryview
    location: MessageLocation


class Storage(Protocol):
    """One storage file, open for reading.

    Attributes:
        path: the file.
        topics: what it holds.
        counted: whether the topics' counts are known.
        span: recording time of its first and last message in nanoseconds, None where it holds no message.
        metadata: what rosbag2 keeps in it about the recording, as YAML; empty where it keeps nothing.
        notes: what is worth saying although nothing is lost.
        losses: what could not be read; complete once all messages have been read.
    """

    path: Path
    topics: list[StoredTopic]
    counted: bool
    span: tuple[int, int] | None
    metadata: str
    notes: list[str]
    losses: Losses

    def messages(self, topics: set[str], file: int) -> Iterator[StoredMessage]:
        """Read all readable messages of some topics, in the file's order."""

    def read(self, location: MessageLocation) -> bytes | memoryview:
        """Read one message again: its CDR bytes (location: where `messages` found it)."""


def format_seconds(time: int) -> str:
    """Write a time for people (time: nanoseconds)."""
    return f"{time / 1e9:.3f} s"


STORAGE_SUFFIXES = (".mcap", ".db3")  # Endings of a recording that is one file, and of the storage files in a folder
METADATA = "metadata.yaml"
_OWN_STORAGES = ("mcap", "sqlite3")
_OWN_COMPRESSION = "zstd"


@dataclass
class RecordingFiles:
    """The files of a recording, in the order they were recorded."""

    files: list[Path]  # storage files (.mcap, .db3, either perhaps with .zstd behind it)
    # How many messages metadata.yaml promises, None where there is no (whole) metadata.yaml.
    message_count: int | None = None
    notes: list[str] = field(default_factory=list)  # what is worth saying although nothing is lost
    losses: Losses = field(default_factory=Losses)  # files that metadata.yaml names and that are not there
    needs: str = ""  # what simjudge cannot read itself and a plugin of rosbag2 may, empty where there is nothing
    # What metadata.yaml says, empty where there is no (whole) metadata.yaml.
    info: Json = field(default_factory=dict)


def is_recording(path: Path) -> bool:
    """Tell whether a path looks like a recording."""
    if path.is_dir():
        return bool(_storage_files(path)) or _is_rosbag2_metadata(path / METADATA)
    return _is_storage(path) and path.is_file()


def find_recording_files(path: Path) -> RecordingFiles:
    """Find the storage files of a recording."""
    if not path.exists():
        raise SimjudgeError(f"{path}: does not exist")
    if not path.is_dir():
        check_file(path)
        if not _is_storage(path):
            raise SimjudgeError(f"{path}: is not a recording (.mcap, .db3 or a rosbag2 folder)")
        return RecordingFiles([path])
    found = _storage_files(path)
    info, why_not = _metadata(path / METADATA)
    if info is None:
        if not found:
            raise SimjudgeError(f"{path}: holds no .mcap or .db3 file")
        return RecordingFiles(
            found, notes=[f"{path}: {why_not}; the recording is read from its {len(found)} storage files"]
        )
    return _listed(path, info, found)


def _listed(path: Path, info: Json, found: list[Path]) -> RecordingFiles:
    layout = RecordingFiles([], info["message_count"], needs=_needs(info), info=info)
    if layout.needs:
        layout.files = [path / Path(str(name)).name for name in info["relative_file_paths"]]
        return layout
    for name in info["relative_file_paths"]:
        file = path / Path(str(name)).name
        if is_file(file):
            layout.files.append(file)
        else:
            layout.losses.add("missing storage files that metadata.yaml names", str(file))
    if not layout.files:
        if not found:
            raise SimjudgeError(f"{path}: none of the storage files that {METADATA} names is there")
        layout.files, layout.losses = found, Losses()
        layout.notes.append(f"{path}: {METADATA} names files that are not there; read instead: {_names(found)}")
    unlisted = [file for file in found if file not in layout.files]
    if unlisted:
        layout.notes.append(f"{path}: not named in {METADATA} and not read: {_names(unlisted)}")
    return layout


def is_compressed(info: Json) -> bool:
    """Tell whether files or messages are compressed by rosbag2 (not by the storage itself)."""
    return str(info.get("compression_mode") or "").upper() in ("FILE", "MESSAGE")


def _needs(info: Json) -> str:
    """Storage or compression that only a plugin of rosbag2 reads."""
    storage = info.get("storage_identifier") or _OWN_STORAGES[0]
    if storage not in _OWN_STORAGES:
        return f"storage {one_line(storage)!r}"
    compression = info.get("compression_format")
    if is_compressed(info) and compression != _OWN_COMPRESSION:
        return f"compression {one_line(compression)!r}"
    return ""


def _names(files: list[Path]) -> str:
    return ", ".join(file.name for file in files)


def _is_storage(path: Path) -> bool:
    name = path.name.removesuffix(".zstd")
    return name.endswith(STORAGE_SUFFIXES) and not name.startswith(".")


def _storage_files(folder: Path) -> list[Path]:
    """All storage files right in a folder, rec_2 before rec_10."""
    files = [file for file in folder.iterdir() if file.is_file() and _is_storage(file)]
    # Whoever was killed while compressing leaves both.
    files = [file for file in files if file.suffix != ".zstd" or file.with_suffix("") not in files]
    return sorted(files, key=lambda file: [int(s) if s.isdigit() else s for s in re.split(r"(\d+)", file.name)])


def _is_rosbag2_metadata(path: Path) -> bool:
    return is_file(path) and b"rosbag2_bagfile_information" in read_bytes(path, LARGEST_TEXT)


def _metadata(path: Path) -> tuple[Json | None, str]:
    damaged = f"{METADATA} is cut off or damaged"
    if not is_file(path):
        return None, f"there is no {METADATA}"
    try:
        content = read_yaml(path, unique=False).content
    except SimjudgeError:
        return None, damaged
    info = content.get("rosbag2_bagfile_information") if isinstance(content, dict) else None
    if not isinstance(info, dict) or not isinstance(info.get("relative_file_paths"), list):
        return None, damaged
    count = parse_integer(info.get("message_count"))
    return (None, damaged) if count is None else ({**info, "message_count": count}, "")


StorageName = Literal["mcap", "sqlite3"]
# The storage of a recording that is one file, by the end of its name.
STORAGE_OF_SUFFIX: dict[str, StorageName] = {".mcap": "mcap", ".db3": "sqlite3"}
CompressionName = Literal["none", "file", "message", "chunk"]
COMPRESSIONS: tuple[CompressionName, ...] = ("none", "file", "message", "chunk")
MEGABYTE = 1_000_000


@dataclass(frozen=True)
class RecordingForm:
    """How a recording is stored."""

    storage: StorageName = "mcap"
    # A storage file is closed before it grows beyond this, and the next one begun; None for one file.
    max_bytes: int | None = None
    # Zstd of "file"s once they are closed, of each "message", of the "chunk"s of an mcap, or "none".
    compression: CompressionName = "none"

    def check(self, path: Path) -> None:
        """Refuse what a recording of that name cannot be."""
        alone = STORAGE_OF_SUFFIX.get(path.suffix)
        if alone and (self.max_bytes is not None or self.compression in {"file", "message"}):
            what = "split" if self.max_bytes is not None else f"compressed by {self.compression}"
            other = ", or compression chunk" if alone == "mcap" and self.max_bytes is None else ""
            raise UsageError(f"{path}: one file cannot be {what}; name a folder, such as {path.with_suffix('')}{other}")
        if self.compression == "chunk" and (alone or self.storage) != "mcap":
            raise UsageError(f"{path}: only mcap has chunks that can be compressed; take compression file or message")


REORDER_WINDOW_NS = 1_000_000_000  # Nanoseconds within which messages of a recording are sorted by time


class PlaybackClock:
    """The playback time of a recording, driven by the monotonic clock. All methods may be called from any thread."""

    def __init__(self, rate: float, *, paused: bool = False) -> None:
        self._rate, self._paused = rate, paused
        # The playback time `_playback_ns` was reached at the monotonic time `_monotonic_ns`.
        self._playback_ns = 0
        self._monotonic_ns = time.monotonic_ns()
        self._changed = Condition()

    def start(self, time_ns: int) -> None:
        """Set the playback time; it runs on from there unless paused (time_ns: the new playback time, nanoseconds)."""
        with self._changed:
            self._playback_ns, self._monotonic_ns = time_ns, time.monotonic_ns()
            self._changed.notify_all()

    def now(self) -> int:
        """The playback time, nanoseconds."""
        with self._changed:
            return self._now()

    @property
    def paused(self) -> bool:
        """Whether the playback time stands still."""
        return self._paused

    def pause(self, *, on: bool) -> None:
        """Stop the playback time, or let it run on."""
        with self._changed:
            self._playback_ns, self._monotonic_ns = self._now(), time.monotonic_ns()
            self._paused = on
            self._changed.notify_all()

    def set_rate(self, rate: float) -> None:
        """Change the rate from now on (rate: seconds of the recording for each second of real time)."""
        with self._changed:
            self._playback_ns, self._monotonic_ns = self._now(), time.monotonic_ns()
            self._rate = rate
            self._changed.notify_all()

    def wait(self, until_ns: int, timeout: float) -> bool:
        """Wait for a playback time (nanoseconds), `timeout` seconds of real time at most."""
        end = time.monotonic_ns() + round(timeout * 1e9)
        with self._changed:
            while True:
                left = end - time.monotonic_ns()
                if not self._paused:
                    due = round((until_ns - self._now()) / self._rate)
                    if due <= 0:
                        return True
                    left = min(left, due)
                elif left <= 0:
                    return False
                if left <= 0:
                    return False
                self._changed.wait(left / 1e9)

    def _now(self) -> int:
        elapsed = 0 if self._paused else time.monotonic_ns() - self._monotonic_ns
        return self._playback_ns + round(elapsed * self._rate)


def sort_by_time(messages: Iterable[StoredMessage], window_ns: int = REORDER_WINDOW_NS) -> Iterator[StoredMessage]:
    """Sort messages by their recording time, with bounded memory: out of order by `window_ns` at most."""
    waiting: list[tuple[int, int, StoredMessage]] = []
    for number, message in enumerate(messages):
        heapq.heappush(waiting, (message.time, number, message))
        while waiting[0][0] < message.time - window_ns:
            yield heapq.heappop(waiting)[2]
    while waiting:
        yield heapq.heappop(waiting)[2]
