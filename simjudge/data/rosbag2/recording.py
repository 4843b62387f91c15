"""A recording: one storage file or several in a row, with topics, times and messages."""

from __future__ import annotations

import logging
import shutil
import tempfile
import weakref
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zstandard

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.input_files import check_file
from simjudge.core.yaml_file import parse_yaml
from simjudge.data.rosbag2.db3_file import Db3File
from simjudge.data.rosbag2.mcap_file import McapFile
from simjudge.data.rosbag2.plugin_file import PluginFile
from simjudge.data.rosbag2.recording_files import find_recording_files
from simjudge.data.rosbag2.storage import MessageLocation, Storage, StoredMessage, StoredTopic
from simjudge.data.rosbag2.unread_topics import describe_unread

log = logging.getLogger(__name__)

_MOST_GROWTH = 1000
"""Times its own size that a compressed file may unpack to: one that was made to fill the disk grows 30,000 times."""
_SMALL = 2**30
"""Bytes that any compressed file may unpack to."""


@dataclass(frozen=True)
class TopicInfo:
    """A topic of a recording: its name, its message type, and how many messages the recording says it holds."""

    topic: str
    type: str
    count: int


@dataclass(frozen=True)
class RecordingDescription:
    """What a recording holds.

    Attributes:
        start, end: recording time of the first and the last message in nanoseconds, None where there is no message.
        notes: what is worth saying although nothing is lost.
        losses: what could not be read (a damage inside a chunk is only found by reading the messages).
    """

    path: Path
    files: list[Path]
    topics: list[TopicInfo]
    start: int | None
    end: int | None
    notes: list[str]
    losses: Losses

    @property
    def duration(self) -> int:
        """Nanoseconds from the first to the last message, 0 without any."""
        return 0 if self.start is None or self.end is None else self.end - self.start

    @property
    def message_count(self) -> int:
        """How many messages there are on all topics."""
        return sum(topic.count for topic in self.topics)


class Recording:
    """A recording, open for reading."""

    def __init__(self, path: str | Path) -> None:
        """Open all storage files."""
        path = Path(path)
        self.path = path
        layout = find_recording_files(path)
        self.layout = layout
        self.notes, self.losses = list(layout.notes), layout.losses
        self.files: list[Storage] = []
        if layout.needs:
            self._add(PluginFile(path, layout.info, layout.needs))
        for file in [] if layout.needs else layout.files:
            self._open(file, alone=len(layout.files) == 1)
        if not self.files:
            raise SimjudgeError(f"{path}: none of its {len(layout.files)} storage files can be read")
        self.topics: dict[str, StoredTopic] = {}
        self.counts: Counter[str] = Counter()
        for storage in self.files:
            for topic in storage.topics:
                self.topics.setdefault(topic.name, topic)
                self.counts[topic.name] += topic.count
        self.notes += describe_unread((name, topic.type) for name, topic in self.topics.items() if self.counts[name])
        self._compare_with_metadata()

    def messages(self, topics: set[str]) -> Iterator[StoredMessage]:
        """Read all readable messages of some topics, file after file; once done, `losses` is complete."""
        for number, storage in enumerate(self.files):
            yield from storage.messages(topics, number)
            self.losses.extend(storage.losses)
            storage.losses = Losses()

    def read(self, location: MessageLocation) -> bytes | memoryview:
        """Read one message again: see `Storage.read`."""
        return self.files[location.file].read(location)

    def span(self) -> tuple[int, int] | None:
        """Recording time of the first and the last message in nanoseconds, None where there is none."""
        spans = [storage.span for storage in self.files if storage.span is not None]
        return (min(s[0] for s in spans), max(s[1] for s in spans)) if spans else None

    def custom_data(self) -> dict[str, str]:
        """What programs keep in the recording's metadata under names of their own; rosbag2 calls it custom data."""
        info: Any = self.layout.info
        text = "" if info else next((storage.metadata for storage in self.files if storage.metadata), "")
        if text:
            try:
                info = parse_yaml(text, self.path).content
            except SimjudgeError as error:
                self.notes.append(f"{error}; what programs kept in it is not read")
        data = info.get("custom_data") if isinstance(info, dict) else None
        return {str(key): str(value) for key, value in data.items()} if isinstance(data, dict) else {}

    def topic_infos(self) -> list[TopicInfo]:
        """What the recording says of its topics, sorted by name."""
        return [TopicInfo(name, self.topics[name].type, self.counts[name]) for name in sorted(self.topics)]

    def _compare_with_metadata(self) -> None:
        """Notice messages that are gone although every file looks whole."""
        promised, held = self.layout.message_count, sum(self.counts.values())
        known = self.losses or any(storage.losses or not storage.counted for storage in self.files)
        if promised is not None and held < promised and not known:
            kind = "messages that metadata.yaml promises and that are not there"
            self.losses.add(kind, f"{self.path}: {held} of {promised}", promised - held)

    def _open(self, file: Path, *, alone: bool) -> None:
        kind = Db3File if file.name.removesuffix(".zstd").endswith(".db3") else McapFile
        try:
            check_file(file)
            plain = self._decompressed(file) if file.suffix == ".zstd" else file
            storage: Storage = kind(plain, file)
        except SimjudgeError as error:
            if alone:
                raise
            self.losses.add("storage files that cannot be read", str(error))
            return
        except OSError as error:
            raise SimjudgeError(f"{file}: cannot be read: {error.strerror}") from error
        self._add(storage)

    def _add(self, storage: Storage) -> None:
        self.notes.extend(storage.notes)
        self.files.append(storage)

    def _decompressed(self, file: Path) -> Path:
        """A temporary copy of a file that was compressed as a whole; it lives as long as the recording."""
        folder = Path(tempfile.mkdtemp(prefix="simjudge_bag_"))
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        plain = folder / file.stem
        largest = max(_SMALL, _MOST_GROWTH * file.stat().st_size)
        try:
            with file.open("rb") as packed, plain.open("wb") as out:
                for block in zstandard.ZstdDecompressor().read_to_iter(packed, read_size=1 << 20):
                    if out.tell() + len(block) > largest:
                        size = f"{largest / 1e9:.1f} GB, {_MOST_GROWTH} times its size"
                        raise SimjudgeError(f"{file}: unpacks to more than {size}; unpack it yourself if you trust it")
                    out.write(block)
        except zstandard.ZstdError as error:
            self.losses.add("compressed files cut off or damaged", f"{file}: {error}")
        return plain


def describe_recording(path: str | Path) -> RecordingDescription:
    """Say what a recording holds, mostly from its index.

    Args:
        path: a rosbag2 folder, with or without metadata.yaml, or a bare .mcap or .db3 file.
    """
    path = Path(path)
    recording = Recording(path)
    start, end = recording.span() or (None, None)
    losses = Losses()
    losses.extend(recording.losses)
    for storage in recording.files:
        losses.extend(storage.losses)
    return RecordingDescription(
        path, recording.layout.files, recording.topic_infos(), start, end, recording.notes, losses
    )
