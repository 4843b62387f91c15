"""rosbags' writer of a rosbag2 folder, with checksums, and with what rosbag2 has: split and compressed recordings.

rosbags' own mcap storage writes no checksums, so damage could not be told later.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import yaml
import zstandard
from mcap.writer import CompressionType
from mcap.writer import Writer as Mcap
from rosbags.interfaces import Connection, ConnectionExtRosbag2, MessageDefinitionFormat
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.rosbag2.enums import CompressionFormat, CompressionMode
from rosbags.rosbag2.storage_sqlite3 import Sqlite3Writer

from simjudge.core.files import sync_file
from simjudge.core.text import Json
from simjudge.data.rosbag2.storage import METADATA, RecordingForm


class CheckedMcapWriter:
    """What rosbags' `Writer` needs of a storage, on top of the mcap package."""

    def __init__(self, folder: Path, compression: CompressionMode, stem: str) -> None:
        self.path = folder / f"{stem}.mcap"
        self._stream = self.path.open("xb")
        packed = compression == CompressionMode.STORAGE
        # Images hardly shrink, and uncompressed chunks let one image be read without its neighbours.
        method = CompressionType.ZSTD if packed else CompressionType.NONE
        self._mcap = Mcap(self._stream, compression=method, enable_crcs=True)
        self._mcap.start(profile="ros2", library="simjudge")
        self._schemas: dict[str, int] = {}
        self._channels: dict[int, int] = {}

    def add_msgtype(self, connection: Connection) -> None:
        """Add a message type with its definition."""
        form = "ros2msg" if connection.msgdef.format == MessageDefinitionFormat.MSG else "ros2idl"
        text = connection.msgdef.data.encode()
        self._schemas[connection.msgtype] = self._mcap.register_schema(connection.msgtype, form, text)

    def add_connection(self, connection: Connection, offered_qos_profiles: str) -> None:
        """Add a topic, with the metadata that rosbag2 looks for."""
        form = connection.ext.serialization_format if isinstance(connection.ext, ConnectionExtRosbag2) else "cdr"
        self._channels[connection.id] = self._mcap.register_channel(
            connection.topic,
            form,
            self._schemas[connection.msgtype],
            {"offered_qos_profiles": offered_qos_profiles, "topic_type_hash": connection.digest},
        )

    def write(self, connection: Connection, timestamp: int, data: bytes | memoryview) -> None:
        """Add a message (timestamp: when it was recorded, nanoseconds; also written as the time of publishing)."""
        self._mcap.add_message(self._channels[connection.id], timestamp, data, timestamp)

    def flush(self) -> None:
        """Finish the chunk in progress and hand everything to the operating system."""
        self._mcap.flush()

    def close(self, version: int, metadata: str) -> None:
        """Write the index, and the recording's metadata for those who read the bare file."""
        del version
        self._mcap.add_metadata("rosbag2", {"serialized_metadata": metadata})
        self._mcap.finish()
        self._stream.close()

    def abort(self) -> None:
        """Close after an error."""
        self._stream.close()


_PLUGINS = {"mcap": StoragePlugin.MCAP, "sqlite3": StoragePlugin.SQLITE3}
# What rosbags' writer does; it would compress files while messages wait.
_MODES = {"message": CompressionMode.MESSAGE, "chunk": CompressionMode.STORAGE}
_LEVEL = 1  # Of zstd, as rosbag2 has it
_OVERHEAD = 64  # Bytes about a message in a storage file: head and index
_INFORMATION = "rosbag2_bagfile_information"


class _NamedSqlite3Writer(Sqlite3Writer):
    """rosbags' sqlite3 storage under a file name of our choice, for one thread after another."""

    def __init__(self, folder: Path, compression: CompressionMode, stem: str) -> None:
        super().__init__(folder, compression)
        self.conn.close()
        self.path = self.path.rename(folder / f"{stem}{self.path.suffix}")
        # Drives are recorded by a thread of their own, and closed by the one that opened the recording.
        self.conn = sqlite3.connect(f"file:{self.path}", uri=True, check_same_thread=False)
        self.cursor = self.conn.cursor()


_STORAGES: dict[StoragePlugin, Callable[[Path, CompressionMode, str], Any]] = {
    StoragePlugin.SQLITE3: _NamedSqlite3Writer,
    StoragePlugin.MCAP: CheckedMcapWriter,
}


class FolderWriter(Writer):
    """Writes a rosbag2 folder; rosbags' own writer makes each of its storage files."""

    def __init__(self, folder: Path, form: RecordingForm | None = None) -> None:
        self._form = form or RecordingForm()
        super().__init__(folder, version=9, storage_plugin=_PLUGINS[self._form.storage])
        if mode := _MODES.get(self._form.compression):
            self.set_compression(mode, CompressionFormat.ZSTD)
        # What rosbags says of one file; metadata.yaml comes last and speaks of all. Until then every file is read.
        self.metapath = folder / ".part.yaml"
        self._parts: list[Json] = []
        self._earlier: Counter[int] = Counter()
        self._bytes = 0
        self._compressor = ThreadPoolExecutor(1)
        self._compressed: list[Future[None]] = []

    def open(self) -> None:
        """Make the folder and its first storage file."""
        self.path.mkdir(mode=0o755, parents=True)
        self._begin()

    def count(self, connection: Connection) -> int:
        """Messages of a topic that were written, to all files."""
        return self._earlier[connection.id] + self.counts[connection.id]

    def write(self, connection: Connection, timestamp: int, data: bytes | memoryview) -> None:
        """Add a message, to the next file where this one is full (timestamp: when it was recorded, nanoseconds)."""
        size = len(data) + _OVERHEAD
        if self._form.max_bytes is not None and self._bytes and self._bytes + size > self._form.max_bytes:
            self._end()
            self._begin()
        super().write(connection, timestamp, data)
        self._bytes += size

    def close(self) -> None:
        """Finish the last file and the compression of all, and write metadata.yaml."""
        self._end()
        self._compressor.shutdown()
        for future in self._compressed:
            future.result()
        text = yaml.safe_dump({_INFORMATION: _joined(self._parts, self.custom_data)}, sort_keys=False)
        temporary = self.path / f"{METADATA}.tmp"
        temporary.write_text(text, "utf-8")
        temporary.replace(self.path / METADATA)

    def abort(self) -> None:
        """Let go of the file in progress as it is."""
        self._compressor.shutdown(cancel_futures=True)
        super().abort()

    def _begin(self) -> None:
        stem = self.path.name if self._form.max_bytes is None else f"{self.path.name}_{len(self._parts)}"
        self.storage = _STORAGES[self.storage_plugin](self.path, self.compression_mode, stem)
        known, self.connections = self.connections, []
        self._bytes, self.added_types = 0, set()
        self.min_timestamp, self.max_timestamp = 2**63 - 1, 0
        for topic in known:
            offered = topic.ext.offered_qos_profiles if isinstance(topic.ext, ConnectionExtRosbag2) else []
            self.add_connection(
                topic.topic, topic.msgtype, msgdef=topic.msgdef.data, rihs01=topic.digest, offered_qos_profiles=offered
            )

    def _end(self) -> None:
        for future in self._compressed:
            if future.done():
                future.result()
        super().close()
        part = yaml.safe_load(self.metapath.read_text("utf-8"))[_INFORMATION]
        self.metapath.unlink()
        if self._form.compression == "file":
            file = self.path / part["files"][0]["path"]
            self._compressed.append(self._compressor.submit(_compress, file))
            name = f"{file.name}.zstd"
            part |= {"relative_file_paths": [name], "files": [{**part["files"][0], "path": name}]}
            part |= {"compression_format": "zstd", "compression_mode": "file"}
        self._parts.append(part)
        self._earlier.update(self.counts)
        self.counts = dict.fromkeys(self.counts, 0)


def _compress(file: Path) -> None:
    """Replace a storage file by its compressed form; killed in the middle, at least one of the two is whole."""
    packed = file.with_name(f"{file.name}.zstd")
    temporary = packed.with_name(f"{packed.name}.tmp")
    with file.open("rb") as source, temporary.open("wb") as target:
        zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).copy_stream(source, target, file.stat().st_size)
    sync_file(temporary)
    temporary.replace(packed)
    file.unlink()


def _joined(parts: list[Json], custom_data: dict[str, str]) -> Json:
    """What metadata.yaml says of a recording, from what it would say of each storage file alone."""
    files = [file for part in parts for file in part["files"]]
    begin = min(file["starting_time"]["nanoseconds_since_epoch"] for file in files)
    end = max(file["starting_time"]["nanoseconds_since_epoch"] + file["duration"]["nanoseconds"] for file in files)
    counts: Counter[str] = Counter()
    for topic in (topic for part in parts for topic in part["topics_with_message_count"]):
        counts[topic["topic_metadata"]["name"]] += topic["message_count"]
    last = parts[-1]
    topics = [(topic, topic["topic_metadata"]["name"]) for topic in last["topics_with_message_count"]]
    return {
        **last,
        "relative_file_paths": [file["path"] for file in files],
        "duration": {"nanoseconds": end - begin},
        "starting_time": {"nanoseconds_since_epoch": begin},
        "message_count": sum(file["message_count"] for file in files),
        "topics_with_message_count": [{**topic, "message_count": counts[name]} for topic, name in topics],
        "compression_mode": last["compression_mode"].upper(),
        "files": files,
        "custom_data": custom_data or None,  # YAML's own words, such as yes, would not come back as texts
    }
