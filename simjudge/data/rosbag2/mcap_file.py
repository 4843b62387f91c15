"""One .mcap file, open for reading: messages in file order, single messages at random, damage counted."""

from __future__ import annotations

import struct
from collections import Counter, OrderedDict
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import BinaryIO

import zstandard
from mcap.opcode import Opcode
from rosbags.interfaces import MessageDefinition, MessageDefinitionFormat
from rosbags.serde import SerdeError
from rosbags.typesys import TypesysError

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.data.rosbag2 import salvage
from simjudge.data.rosbag2.interfaces import standard_types
from simjudge.data.rosbag2.mcap_records import (
    DamageError,
    McapContents,
    Span,
    iterate_records,
    load_span,
    register_record,
)
from simjudge.data.rosbag2.storage import (
    ZSTD_MAGIC,
    MessageLocation,
    StoredMessage,
    StoredTopic,
    format_seconds,
    full_type_name,
)

_KEPT_CHUNKS = 4
_LARGEST_MESSAGE = 2**30
"""Bytes of a decompressed message at most."""
_END_OF_TIME = 2**63
"""Nanoseconds; recorders write them as 64 bits with a sign."""
_MESSAGE_HEAD = 22
"""Bytes of a message's record before its content: channel, number in the channel, two times."""
_ROS1 = "ros1"
"""The encoding of messages in recordings of ROS 1."""
_RENAMED = {"tf/msg/tfMessage": "tf2_msgs/msg/TFMessage"}
_CONVERSION_ERRORS = (ValueError, IndexError, KeyError, AssertionError, struct.error, MemoryError, OverflowError)
_FORMATS = {
    "ros2msg": MessageDefinitionFormat.MSG,
    "ros2idl": MessageDefinitionFormat.IDL,
    "omgidl": MessageDefinitionFormat.IDL,
}


class McapFile:
    """An mcap file.

    A `MessageLocation` is (file, -1, offset in the file, length), or in a compressed chunk (file, span, ...).
    """

    def __init__(self, path: Path, shown: Path | None = None) -> None:
        """Find out what the file holds.

        Args:
            shown: what to call it, where `path` is only a decompressed copy.
        """
        self.path, self.shown = path, path if shown is None else shown
        self.notes: list[str] = []
        self.counted = True
        self.losses = Losses()
        self.span: tuple[int, int] | None = None
        self._counts: Counter[int] = Counter()
        self._kept: OrderedDict[int, memoryview] = OrderedDict()
        self._lock = Lock()
        self._reported: set[int] = set()
        try:
            with self.path.open("rb") as stream:
                self._contents = self._open(stream, self.path.stat().st_size)
        except OSError as error:
            raise SimjudgeError(f"{self.shown}: cannot be read: {error.strerror}") from error
        self.metadata = self._contents.metadata
        self.topics = self._topics()

    def messages(self, topics: set[str], file: int) -> Iterator[StoredMessage]:
        """Read all readable messages of some topics, in file order: see `Storage.messages`."""
        names = {number: channel.topic for number, channel in self._contents.channels.items()}
        wanted = {number: name for number, name in names.items() if name in topics}
        with self.path.open("rb") as stream:
            for number, span in enumerate(self._contents.spans):
                known = self._contents.indexed and span.channels is not None
                if known and not (span.channels or {}).keys() & wanted.keys():
                    continue
                data = self._load(stream, span)
                if data is None:
                    continue
                base, block = (span.offset, -1) if not span.compression else (0, number)
                for channel, time, start, end in self._headers(span, data):
                    if channel in wanted:
                        location = MessageLocation(file, block, base + start, end - start)
                        yield StoredMessage(wanted[channel], time, self._message(data[start:end], channel), location)

    def read(self, location: MessageLocation) -> bytes | memoryview:
        """Read one message again: see `Storage.read`."""
        try:
            with self.path.open("rb") as stream:
                if location.block < 0:
                    stream.seek(location.start - _MESSAGE_HEAD)
                    data: bytes | memoryview = stream.read(_MESSAGE_HEAD + location.length)
                else:
                    end = location.start + location.length
                    data = self._chunk(stream, location.block)[location.start - _MESSAGE_HEAD : end]
        except (OSError, DamageError) as error:
            raise SimjudgeError(f"{self.shown}: cannot be read any more: {error}") from error
        if len(data) != _MESSAGE_HEAD + location.length:
            raise SimjudgeError(f"{self.shown}: has become shorter since it was opened")
        return self._message(data[_MESSAGE_HEAD:], int.from_bytes(data[:2], "little"))

    def _open(self, stream: BinaryIO, size: int) -> McapContents:
        if size == 0:
            raise SimjudgeError(f"{self.shown}: is empty (0 bytes)")
        if stream.read(len(salvage.MAGIC)) != salvage.MAGIC:
            raise SimjudgeError(f"{self.shown}: is not an mcap file, or its beginning is damaged")
        contents = salvage.read_summary(stream, size)
        if contents is None or contents.statistics is None or not contents.spans or not contents.channels:
            contents = salvage.walk_records(stream, size)
            self._survey(stream, contents)
        else:
            statistics = contents.statistics
            self._counts.update(statistics.channel_message_counts)
            if statistics.message_count:
                self.span = (statistics.message_start_time, statistics.message_end_time)
        if any(s.crc == 0 for s in contents.spans) and not salvage.data_crc_fits(stream, contents):
            raise SimjudgeError(
                f"{self.shown}: the checksum over the whole file does not fit, and its parts have none of their own; "
                "record or copy it again"
            )
        return contents

    def _survey(self, stream: BinaryIO, contents: McapContents) -> None:
        """Read through a file that has no index: topics, counts, times, and how far it can be read."""
        times: list[int] = []
        for span in contents.spans:
            data = self._load(stream, span)
            if data is None:
                continue
            self._note_channels(contents, span, data)
            for channel, time, _, _ in self._headers(span, data):
                self._counts[channel] += 1
                times.append(time)
        if times:
            self.span = (min(times), max(times))
        if contents.trouble:
            read = (
                f"{len(times)} messages read, the last at {format_seconds(times[-1])}" if times else "no message read"
            )
            self.losses.add("recordings cut off or damaged", f"{self.shown}: {contents.trouble}; {read}")
        elif contents.data_end:
            self.notes.append(f"{self.shown}: has no usable index; all of it was read through")

    def _note_channels(self, contents: McapContents, span: Span, data: memoryview) -> None:
        try:
            for opcode, start, end in iterate_records(data, cut=span.cut):
                register_record(contents, opcode, data[start:end])
        except DamageError as error:
            self._report(span, str(error))

    def _load(self, stream: BinaryIO, span: Span) -> memoryview | None:
        try:
            return load_span(stream, span)
        except DamageError as error:
            self._report(span, str(error))
            return None

    def _headers(self, span: Span, data: memoryview) -> Iterator[tuple[int, int, int, int]]:
        """Channel, recording time, start and end of each message in a span."""
        try:
            for opcode, start, end in iterate_records(data, cut=span.cut):
                if opcode == Opcode.MESSAGE and end - start >= _MESSAGE_HEAD:
                    channel, _, time = struct.unpack_from("<HIQ", data, start)
                    if time >= _END_OF_TIME:
                        raise DamageError("a message's time is beyond the year 2262")  # noqa: TRY301 - one place to report
                    yield channel, time, start + _MESSAGE_HEAD, end
        except DamageError as error:
            self._report(span, str(error))

    def _report(self, span: Span, why: str) -> None:
        if span.at in self._reported:
            return
        self._reported.add(span.at)
        where = f"{self.shown}: chunk at byte {span.at}, {why}"
        if span.channels is None:
            self.losses.add("damaged chunks, their messages uncounted", where)
        else:
            self.losses.add("messages in damaged chunks", where, sum(span.channels.values()))

    def _chunk(self, stream: BinaryIO, number: int) -> memoryview:
        with self._lock:
            if number in self._kept:
                self._kept.move_to_end(number)
                return self._kept[number]
        data = load_span(stream, self._contents.spans[number])
        with self._lock:
            self._kept[number] = data
            while len(self._kept) > _KEPT_CHUNKS:
                self._kept.popitem(last=False)
        return data

    def _type(self, channel: int) -> str:
        """The name of a channel's message type in ROS 2."""
        schema = self._contents.schemas.get(self._contents.channels[channel].schema_id)
        name = full_type_name(schema.name if schema else "")
        return _RENAMED.get(name, name)

    def _message(self, data: bytes | memoryview, channel: int) -> bytes | memoryview:
        """The CDR bytes of a message as it is stored."""
        known = self._contents.channels.get(channel)
        if known is not None and known.message_encoding == _ROS1:
            return _as_ros2(data, self._type(channel))
        return decompress_message(data)

    def _topics(self) -> list[StoredTopic]:
        topics = []
        for number, channel in self._contents.channels.items():
            schema = self._contents.schemas.get(channel.schema_id)
            if channel.message_encoding == _ROS1:
                schema = None  # its definitions are ROS 1's, and its messages are given as ROS 2's
            form = _FORMATS.get(schema.encoding, MessageDefinitionFormat.NONE) if schema else None
            text = schema.data.decode("utf-8", "replace") if schema else ""
            definition = MessageDefinition(form or MessageDefinitionFormat.NONE, text)
            kind, qos = self._type(number), channel.metadata.get("offered_qos_profiles", "")
            topics.append(StoredTopic(channel.topic, kind, definition, self._counts[number], qos))
        return topics


def _as_ros2(data: bytes | memoryview, kind: str) -> bytes | memoryview:
    """A message of ROS 1 as the message of ROS 2 of that type; empty where they are not alike."""
    try:
        return standard_types().ros1_to_cdr(bytes(data), kind)
    except (SerdeError, TypesysError, *_CONVERSION_ERRORS):
        return b""


def decompress_message(data: bytes | memoryview) -> bytes | memoryview:
    """Decompress a message that was compressed on its own (rosbag2's compression mode "message").

    Returns:
        CDR bytes; the same where they were not compressed, empty where they are damaged or no message can be so large.
    """
    if bytes(data[:4]) != ZSTD_MAGIC:
        return data
    out = bytearray()
    try:
        for block in zstandard.ZstdDecompressor().read_to_iter(bytes(data)):
            out += block
            if len(out) > _LARGEST_MESSAGE:
                return b""
    except zstandard.ZstdError:
        return b""
    return bytes(out)
