"""A recording in a storage that only a plugin of rosbag2 reads, through rosbag2_py of a ROS installation.

Its interface: https://github.com/ros2/rosbag2, rosbag2_py/src/rosbag2_py/_reader.cpp.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import Any

import yaml
from rosbags.interfaces import MessageDefinition, MessageDefinitionFormat

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.data.rosbag2.recording_files import is_compressed
from simjudge.data.rosbag2.storage import MessageLocation, StoredMessage, StoredTopic, format_seconds, full_type_name

_NO_DEFINITION = MessageDefinition(MessageDefinitionFormat.NONE, "")
_FORMATS = {"ros2msg": MessageDefinitionFormat.MSG, "ros2idl": MessageDefinitionFormat.IDL}
_UNUSABLE = (ImportError, AttributeError, RuntimeError, SystemError, OSError)
# Plugins report everything as std::runtime_error and its kin, which pybind11 turns into these.
_BROKEN = (RuntimeError, ValueError, TypeError, IndexError, OverflowError, MemoryError, OSError)


class PluginFile:
    """A rosbag2 folder as a whole, split or not.

    A `MessageLocation` is (file, number of the topic and CRC-32 of the message, recording time, length). Topics, counts
    and times are those of metadata.yaml.
    """

    def __init__(self, path: Path, info: dict[str, Any], needs: str) -> None:
        """Open the recording.

        Args:
            needs: what simjudge cannot read itself, for messages to people, such as "storage 'x'".
        """
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
        except _BROKEN as error:
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
        except _BROKEN as error:
            broken = _line(error)
        missing = sum(topic.count for topic in wanted) - read
        if broken:
            until = f"{read} messages read, the last at {format_seconds(time)}" if read else "no message read"
            self.losses.add("recordings cut off or damaged", f"{self.path}: {broken}; {until}")
        elif missing > 0:
            kind = "messages that metadata.yaml promises and that are not there"
            self.losses.add(kind, f"{self.path}: {read} of {read + missing}", missing)

    def read(self, location: MessageLocation) -> bytes | memoryview:
        """Read one message again: see `Storage.read`.

        The next one of its topic costs nothing extra, any other a search by time.
        """
        with self._lock:
            try:
                name = self.topics[location.block >> 32].name
                data = self._next(name, location)
                return self._search(name, location) if data is None else data
            except _BROKEN as error:
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
        except (*_BROKEN, AttributeError):
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
