"""A recording: one storage file or several in a row, with topics, times and messages.

Files are .mcap (`mcap_file`), .db3 (rosbag2's sqlite3 storage, which has no checksums: only damage that its structure
shows is noticed), or what only a plugin of rosbag2 reads, through rosbag2_py of a ROS installation
(https://github.com/ros2/rosbag2, rosbag2_py/src/rosbag2_py/_reader.cpp).
"""

from __future__ import annotations

import logging
import shutil
import tempfile
import weakref
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import apsw
import yaml
import zstandard
from rosbags.interfaces import MessageDefinition, MessageDefinitionFormat

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.files import check_file
from simjudge.core.text import Json, parse_yaml
from simjudge.data.rosbag2.interfaces import describe_unread
from simjudge.data.rosbag2.mcap_file import McapFile, decompress_message
from simjudge.data.rosbag2.storage import (
    MessageLocation,
    Storage,
    StoredMessage,
    StoredTopic,
    find_recording_files,
    format_seconds,
    full_type_name,
    is_compressed,
)

log = logging.getLogger(__name__)

_NO_DEFINITION = MessageDefinition(MessageDefinitionFormat.NONE, "")
_FORMATS = {"ros2msg": MessageDefinitionFormat.MSG, "ros2idl": MessageDefinitionFormat.IDL}
_FAILURES_IN_A_ROW = 64
_VIRTUAL = "CREATE VIRTUAL"  # How the definition of a table begins whose rows some code makes
_LONGEST_VALUE = 2**30  # Bytes of a message, or of any other value, at most
# The tables that are read, with the columns that must be stored in them.
_TABLES = {
    "topics": ("id", "name", "type"),
    "messages": ("id", "topic_id", "timestamp", "data"),
    "metadata": ("id", "metadata"),
}
_DATABASE_ERRORS = (apsw.Error, UnicodeDecodeError, TypeError, ValueError)


class _WholePages(apsw.VFS):
    """A cut-off database as far as its pages are whole: sqlite would silently fill up the last one with zeros."""

    def __init__(self, page: int) -> None:
        self.vfs_name, self.page = f"simjudge_whole_pages_{page}", page
        super().__init__(self.vfs_name, "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        """Open a file of which only whole pages are shown."""
        page = self.page

        class WholePages(apsw.VFSFile):
            def xFileSize(self) -> int:  # noqa: N802
                """The size without the page that is cut off."""
                return super().xFileSize() // page * page

        return WholePages("", name, flags)


class Db3File:
    """A rosbag2 database. A `MessageLocation` is (file, 0, row, length)."""

    def __init__(self, path: Path, shown: Path | None = None) -> None:
        """Open the database (shown: what to call it, where `path` is only a decompressed copy)."""
        self.path, self.shown = path, path if shown is None else shown
        self.notes: list[str] = []
        self.counted = True
        self.losses = Losses()
        self.span: tuple[int, int] | None = None
        if path.stat().st_size == 0:
            raise SimjudgeError(f"{self.shown}: is empty (0 bytes)")
        try:
            self._database = self._connect()
            self._check_schema()
            rows = self._topic_rows()
        except _DATABASE_ERRORS as error:
            why = " ".join(str(error).split())
            raise SimjudgeError(f"{self.shown}: is not a readable rosbag2 database ({why})") from error
        self.topics = self._topics(rows)
        self.metadata = self._metadata()

    def messages(self, topics: set[str], file: int) -> Iterator[StoredMessage]:
        """Read all readable messages of some topics, in the order they were recorded: see `Storage.messages`."""
        wanted = {number: name for number, name in self._names.items() if name in topics}
        if not wanted:
            return
        last, failures, lost, read, latest = -1, 0, 0, 0, 0
        while failures < _FAILURES_IN_A_ROW:
            try:
                query = "SELECT id, topic_id, timestamp, data FROM messages WHERE id > ? ORDER BY id"
                for row, topic, time, data in self._database.execute(query, (last,)):
                    if row <= last:
                        raise apsw.CorruptError(f"row {row} comes behind row {last}")
                    last, failures, read = row, 0, read + 1
                    if not isinstance(time, int):
                        continue
                    latest = max(latest, time)
                    if topic in wanted and isinstance(data, bytes):
                        yield StoredMessage(
                            wanted[topic], time, decompress_message(data), MessageLocation(file, 0, last, len(data))
                        )
                break
            except _DATABASE_ERRORS:
                # Try behind the row that failed.
                last, failures, lost = last + 1, failures + 1, lost + 1
        if lost:
            until = f"{read} messages read, the last at {format_seconds(latest)}" if read else "no message read"
            self.losses.add("recordings cut off or damaged", f"{self.shown}: the database is malformed; {until}")

    def read(self, location: MessageLocation) -> bytes | memoryview:
        """Read one message again: see `Storage.read`."""
        try:
            row = self._database.execute("SELECT data FROM messages WHERE id = ?", (location.start,)).fetchone()
        except _DATABASE_ERRORS as error:
            raise SimjudgeError(f"{self.shown}: cannot be read any more ({error})") from error
        if row is None or len(row[0]) != location.length:
            raise SimjudgeError(f"{self.shown}: message {location.start} has changed since the file was opened")
        return decompress_message(row[0])

    def _connect(self) -> apsw.Connection:
        """Open read-only; with a write-ahead log beside it, the log's messages count too."""
        with self.path.open("rb") as stream:
            head = stream.read(100)
        page = int.from_bytes(head[16:18], "big")
        page = 65536 if page == 1 else page
        size = self.path.stat().st_size
        vfs = None
        if page >= 512 and size % page:
            self._vfs = _WholePages(page)
            vfs = self._vfs.vfs_name
        log = self.path.with_name(self.path.name + "-wal")
        mode = "mode=ro" if log.exists() and log.stat().st_size else "immutable=1"
        name = str(self.path.resolve()).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        database = apsw.Connection(f"file:{name}?{mode}", flags=flags, vfs=vfs)
        database.limit(apsw.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
        database.execute("PRAGMA trusted_schema=OFF")
        if int.from_bytes(head[28:32], "big") * page > size:
            # The only way to make sqlite look into a file with fewer pages than its header says.
            database.execute("PRAGMA writable_schema=ON")
        return database

    def _check_schema(self) -> None:
        """Refuse views and computed columns: reading them runs what the file says, perhaps without end."""
        for table, columns in _TABLES.items():
            found = self._database.execute("SELECT type, sql FROM sqlite_schema WHERE name = ?", (table,)).fetchall()
            plain = [str(sql) for kind, sql in found if kind == "table" and not str(sql).upper().startswith(_VIRTUAL)]
            if found and not plain:
                raise SimjudgeError(f"{self.shown}: {table} is not a plain table of the database; record it again")
            for column in self._database.execute("SELECT name, hidden FROM pragma_table_xinfo(?)", (table,)).fetchall():
                if column[0] in columns and column[1] != 0:
                    raise SimjudgeError(f"{self.shown}: {table}.{column[0]} is computed, not stored; record it again")

    def _topic_rows(self) -> list[Any]:
        rows: list[Any] = self._database.execute("SELECT id, name, type FROM topics ORDER BY id").fetchall()
        self._names = {int(row[0]): str(row[1]) for row in rows}
        self._database.execute("SELECT id FROM messages LIMIT 1")
        return rows

    def _metadata(self) -> str:
        """What rosbag2 keeps about the recording, as YAML; before Iron it kept nothing."""
        try:
            row = self._database.execute("SELECT metadata FROM metadata ORDER BY id DESC LIMIT 1").fetchone()
        except _DATABASE_ERRORS:
            return ""
        return row[0] if row and isinstance(row[0], str) else ""

    def _topics(self, rows: list[Any]) -> list[StoredTopic]:
        counts: dict[int, int] = {}
        try:
            query = "SELECT topic_id, COUNT(*), MIN(timestamp), MAX(timestamp) FROM messages "
            query += "WHERE typeof(timestamp) = 'integer' GROUP BY topic_id"
            found: list[Any] = self._database.execute(query).fetchall()
            counts = {topic: count for topic, count, _, _ in found}
            if found:
                self.span = (min(row[2] for row in found), max(row[3] for row in found))
        except _DATABASE_ERRORS:
            self.counted = False
        definitions: dict[str, MessageDefinition] = {}
        try:
            query = "SELECT topic_type, encoding, encoded_message_definition FROM message_definitions"
            for name, encoding, text in self._database.execute(query):
                definitions[name] = MessageDefinition(_FORMATS.get(encoding, MessageDefinitionFormat.NONE), text)
        except _DATABASE_ERRORS:
            # Recordings older than Iron have no such table.
            definitions = {}
        qos = self._offered_qos()
        return [
            StoredTopic(
                str(name),
                full_type_name(str(kind)),
                definitions.get(kind, _NO_DEFINITION),
                counts.get(i, 0),
                qos.get(i, ""),
            )
            for i, name, kind in rows
        ]

    def _offered_qos(self) -> dict[int, str]:
        """What the publishers of each topic offered, as YAML; early recordings have no such column."""
        try:
            rows: list[Any] = self._database.execute("SELECT id, offered_qos_profiles FROM topics").fetchall()
        except _DATABASE_ERRORS:
            return {}
        return {number: text for number, text in rows if isinstance(text, str)}


_UNUSABLE = (ImportError, AttributeError, RuntimeError, SystemError, OSError)
# Plugins report everything as std::runtime_error and its kin, which pybind11 turns into these.
_PLUGIN_ERRORS = (RuntimeError, ValueError, TypeError, IndexError, OverflowError, MemoryError, OSError)


class PluginFile:
    """A rosbag2 folder as a whole, split or not.

    A `MessageLocation` is (file, number of the topic and CRC-32 of the message, recording time, length). Topics, counts
    and times are those of metadata.yaml.
    """

    def __init__(self, path: Path, info: Json, needs: str) -> None:
        self.metadata = ""  # metadata.yaml says it all
        self.path, self.counted, self.losses = path, True, Losses()
        self.notes = [f"{path}: {needs}, read by rosbag2_py"]
        self._rosbag2 = _rosbag2(path, needs)
        self._info = info
        self._lock = Lock()
        # Where the last single message was read: a reader, and the topic it is restricted to.
        self._at: tuple[Any, str] | None = None
        try:
            reader = self._open()
        except _PLUGIN_ERRORS as error:
            raise SimjudgeError(
                f"{path}: rosbag2_py cannot open {needs} ({_line(error)}); install the ROS package of its plugin"
            ) from error
        try:
            self.topics = self._topics(self._definitions(reader))
            start = int(info["starting_time"]["nanoseconds_since_epoch"])
            end = start + int(info["duration"]["nanoseconds"])
            self.span = (start, end) if int(info["message_count"]) else None
        except (KeyError, TypeError, ValueError) as error:
            raise SimjudgeError(f"{path}: metadata.yaml is damaged: it does not say all of topics and times") from error
        self._numbers = {topic.name: number for number, topic in enumerate(self.topics)}

    def messages(self, topics: set[str], file: int) -> Iterator[StoredMessage]:
        """Read all messages of some topics, in the order of rosbag2: see `Storage.messages`."""
        wanted = [topic for topic in self.topics if topic.name in topics]
        if not wanted:
            return
        read, time, broken = 0, 0, ""
        try:
            reader = self._open({topic.name for topic in wanted})
            while reader.has_next():
                name, data, time = reader.read_next()
                if name in topics:
                    read += 1
                    yield StoredMessage(
                        name, time, data, MessageLocation(file, self._mark(name, data), time, len(data))
                    )
        except _PLUGIN_ERRORS as error:
            broken = _line(error)
        missing = sum(topic.count for topic in wanted) - read
        if broken:
            until = f"{read} messages read, the last at {format_seconds(time)}" if read else "no message read"
            self.losses.add("recordings cut off or damaged", f"{self.path}: {broken}; {until}")
        elif missing > 0:
            kind = "messages that metadata.yaml promises and that are not there"
            self.losses.add(kind, f"{self.path}: {read} of {read + missing}", missing)

    def read(self, location: MessageLocation) -> bytes | memoryview:
        """Read one message again: see `Storage.read`. The next one of its topic costs nothing extra."""
        with self._lock:
            try:
                name = self.topics[location.block >> 32].name
                data = self._next(name, location)
                return self._search(name, location) if data is None else data
            except _PLUGIN_ERRORS as error:
                self._at = None
                raise SimjudgeError(f"{self.path}: cannot be read any more ({_line(error)})") from error

    def _next(self, name: str, location: MessageLocation) -> bytes | None:
        """The message behind the one that was read last, where it is the one at `location`."""
        if self._at is None or self._at[1] != name or not self._at[0].has_next():
            return None
        return self._same(name, location, *self._at[0].read_next())

    def _search(self, name: str, location: MessageLocation) -> bytes:
        if self._at is None or self._at[1] != name:
            self._at = (self._open({name}), name)
        reader = self._at[0]
        # Searching starts in the file that is open; the message may be in an earlier one that ends at the same time.
        # mcap's plugin passes over what it has read, where the time sought is that of the last message read.
        reader.seek(0)
        reader.seek(location.start)
        while reader.has_next():
            data = self._same(name, location, *reader.read_next())
            if data is not None:
                return data
        raise SimjudgeError(
            f"{self.path}: the message at {format_seconds(location.start)} on {name} is no longer there"
        )

    def _same(self, name: str, location: MessageLocation, topic: str, data: bytes, time: int) -> bytes | None:
        same = topic == name and time == location.start and len(data) == location.length
        return data if same and self._mark(name, data) == location.block else None

    def _mark(self, name: str, data: bytes) -> int:
        return self._numbers[name] << 32 | zlib.crc32(data)

    def _open(self, topics: set[str] | None = None) -> Any:
        packed = is_compressed(self._info)
        rosbag2 = self._rosbag2
        reader = rosbag2.SequentialCompressionReader() if packed else rosbag2.SequentialReader()
        name = str(self._info.get("storage_identifier") or "")
        storage = rosbag2.StorageOptions(uri=str(self.path), storage_id=name)
        # The input format is the recording's own affair; anything but CDR is converted, where its converter is there.
        cdr = rosbag2.ConverterOptions(input_serialization_format="", output_serialization_format="cdr")
        reader.open(storage, cdr)
        if topics is not None:
            reader.set_filter(rosbag2.StorageFilter(topics=sorted(topics)))
        return reader

    def _definitions(self, reader: Any) -> dict[str, MessageDefinition]:
        try:
            found = reader.get_all_message_definitions()
        except (*_PLUGIN_ERRORS, AttributeError):
            # ROS 2 Humble has no such function, and a plugin need not keep definitions.
            return {}
        return {d.topic_type: _definition(d.encoding, d.encoded_message_definition) for d in found}

    def _topics(self, definitions: dict[str, MessageDefinition]) -> list[StoredTopic]:
        topics = []
        for entry in self._info["topics_with_message_count"]:
            about = entry["topic_metadata"]
            name, kind, qos = str(about["name"]), str(about["type"]), about.get("offered_qos_profiles") or ""
            text = qos if isinstance(qos, str) else yaml.safe_dump(qos)
            definition = definitions.get(kind, _NO_DEFINITION)
            topics.append(StoredTopic(name, full_type_name(kind), definition, int(entry["message_count"]), text))
        return topics


def _definition(encoding: str, text: str) -> MessageDefinition:
    form = _FORMATS.get(encoding)
    return _NO_DEFINITION if form is None or not text else MessageDefinition(form, text)


def _rosbag2(path: Path, needs: str) -> Any:
    """The module rosbag2_py."""
    try:
        import rosbag2_py  # noqa: PLC0415 - only a ROS installation has it
    except _UNUSABLE as error:
        absent = isinstance(error, ModuleNotFoundError) and error.name == "rosbag2_py"
        why = "" if absent else f"; rosbag2_py is installed and does not work here: {_line(error)}"
        raise SimjudgeError(
            f"{path}: {needs} is not one that simjudge reads itself (mcap, sqlite3, zstd); "
            f"a ROS 2 installation with rosbag2_py and the plugin for it reads it{why}"
        ) from error
    return rosbag2_py


def _line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


# Times its own size that a compressed file may unpack to: one that was made to fill the disk grows 30,000 times.
_MOST_GROWTH = 1000
_SMALL = 2**30  # Bytes that any compressed file may unpack to


@dataclass(frozen=True)
class TopicInfo:
    """A topic of a recording: its name, its message type, and how many messages the recording says it holds."""

    topic: str
    type: str
    count: int


@dataclass(frozen=True)
class RecordingDescription:
    """What a recording holds."""

    path: Path
    files: list[Path]
    topics: list[TopicInfo]
    # start, end: recording time of the first and the last message in nanoseconds, None where there is no message.
    start: int | None
    end: int | None
    notes: list[str]  # what is worth saying although nothing is lost
    losses: Losses  # what could not be read (a damage inside a chunk is only found by reading the messages)

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
    """Say what a recording holds, mostly from its index."""
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
