"""One .mcap file, open for reading: messages in file order, single messages at random, damage found and counted.

The format: https://mcap.dev/spec. Neither rosbags nor the mcap package reads on behind a damage, and only whole chunks
have checksums, so the walk over records is done here; single records are parsed by the mcap package.
"""

from __future__ import annotations

import struct
import zlib
from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO

import lz4.frame  # type: ignore[import-untyped]
import numpy as np
import zstandard
from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import Channel, ChunkIndex, Metadata, MetadataIndex, Schema, Statistics
from rosbags.interfaces import MessageDefinition, MessageDefinitionFormat
from rosbags.serde import SerdeError
from rosbags.typesys import TypesysError

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.data.rosbag2.interfaces import FOXGLOVE_COMPRESSED, FOXGLOVE_IMAGE, FOXGLOVE_VIDEO, standard_types
from simjudge.data.rosbag2.storage import (
    ZSTD_MAGIC,
    MessageLocation,
    StoredMessage,
    StoredTopic,
    format_seconds,
    full_type_name,
)

_LARGEST_CHUNK = 4 << 30  # Bytes, decompressed; a larger one is taken for damage
_INFLATED, _INFLATION = 1 << 30, 5000  # Bytes that chunks may hold decompressed, and times their stored bytes beyond
_STEP = 1024  # Bytes of a cut chunk that are decompressed at once; they may grow 30,000 times
# What the mcap package raises for a record that does not hold what it should.
BROKEN = (McapError, struct.error, UnicodeDecodeError, ValueError, KeyError)


class DamageError(Exception):
    """A piece that does not hold what it should; the text says in a few words what is wrong with it."""


@dataclass(frozen=True)
class Span:
    """A stretch of the file that holds messages: a chunk, or a group of records outside any chunk."""

    at: int  # where it starts in the file, for messages to people
    # offset, stored: where its bytes are in the file, and how many.
    offset: int
    stored: int
    size: int
    compression: str = ""
    crc: int = 0  # CRC-32 of the decompressed bytes, 0 where the recorder wrote none
    channels: dict[int, int] | None = None  # messages in it by channel, None where no index says so
    cut: bool = False  # the file ends before the span does


@dataclass
class McapContents:
    """What an mcap file holds."""

    spans: list[Span] = field(default_factory=list)
    schemas: dict[int, Schema] = field(default_factory=dict)
    channels: dict[int, Channel] = field(default_factory=dict)
    statistics: Statistics | None = None  # what its summary says, None without a summary
    indexed: bool = False  # whether the spans are those of the index, and their `channels` all there are
    # data_crc, data_end: CRC-32 over the first `data_end` bytes of the file, 0 where the recorder wrote none.
    data_crc: int = 0
    data_end: int = 0
    metadata: str = ""  # what rosbag2 keeps about the recording, as YAML; empty where it keeps nothing
    trouble: str = ""  # how the file ends or where it cannot be followed further, empty where it is whole


def load_span(stream: BinaryIO, span: Span) -> memoryview:
    """Read the records of a span, decompressed and checked; of one that is cut, what is there."""
    if span.stored > stream.seek(0, 2) - span.offset:
        raise DamageError("its length does not fit")
    stream.seek(span.offset)
    stored = stream.read(span.stored)
    if span.cut:
        return memoryview(_prefix(stored, span.compression))
    if len(stored) != span.stored or span.size > _LARGEST_CHUNK:
        raise DamageError("its length does not fit")
    try:
        data = _decompress(stored, span)
    except (zstandard.ZstdError, RuntimeError, MemoryError, ValueError) as error:
        raise DamageError("it cannot be decompressed") from error
    if len(data) != span.size:
        raise DamageError("its length does not fit")
    if span.crc and zlib.crc32(data) != span.crc:
        raise DamageError("its checksum does not fit")
    return memoryview(data)


def _check_inflation(shown: Path, spans: Sequence[Span]) -> None:
    """Refuse a file whose chunks claim what no recording compresses to: reading through it would take hours."""
    stored, held = sum(span.stored for span in spans), sum(span.size for span in spans)
    if held > _INFLATED + _INFLATION * stored:
        raise SimjudgeError(
            f"{shown}: its {len(spans)} chunks of {stored / 1e3:.0f} kB claim to hold {held / 1e9:.1f} GB; no recording"
            " compresses so"
        )


def iterate_records(data: memoryview, *, cut: bool = False) -> Iterator[tuple[int, int, int]]:
    """Go through the records of a span."""
    at, size = 0, len(data)
    while at < size:
        if at + 9 > size or (end := at + 9 + int(struct.unpack_from("<Q", data, at + 1)[0])) > size:
            if cut:
                return
            raise DamageError("its records do not follow one another")
        if not data[at] or end == at + 9:  # No record is of kind 0 or empty; a small chunk may inflate to billions
            raise DamageError("its records hold nothing")
        yield data[at], at + 9, end
        at = end


def register_record(contents: McapContents, opcode: int, record: bytes | memoryview) -> None:
    """Take over a schema or a channel."""
    try:
        if opcode == Opcode.SCHEMA:
            schema = Schema.read(record_stream(record))
            contents.schemas.setdefault(schema.id, schema)
        elif opcode == Opcode.CHANNEL:
            channel = Channel.read(record_stream(record))
            contents.channels.setdefault(channel.id, channel)
    except BROKEN as error:
        raise DamageError("a topic's description cannot be read") from error


def record_stream(record: bytes | memoryview) -> ReadDataStream:
    """Open a record for the parsers of the mcap package."""
    return ReadDataStream(BytesIO(record))


def _decompress(stored: bytes, span: Span) -> bytes:
    # Both take memory for as much as the compressed data claim, unless they are held to the chunk's own size.
    if span.compression == "zstd":
        if zstandard.frame_content_size(stored) > span.size:
            raise ValueError("more than the chunk holds")
        return zstandard.ZstdDecompressor().decompress(stored, max_output_size=span.size)
    if span.compression == "lz4":
        return bytes(lz4.frame.LZ4FrameDecompressor().decompress(stored, max_length=span.size + 1))
    if span.compression:
        raise ValueError(span.compression)
    return stored


def _prefix(stored: bytes, compression: str) -> bytes:
    """What the first part of a chunk still gives."""
    out = bytearray()
    step = zstandard.ZstdDecompressor().decompressobj() if compression == "zstd" else lz4.frame.LZ4FrameDecompressor()
    if not compression:
        return stored
    try:
        for start in range(0, len(stored), _STEP):
            out += step.decompress(stored[start : start + _STEP])
            if len(out) > _LARGEST_CHUNK:
                break
    except (zstandard.ZstdError, RuntimeError, EOFError, ValueError):
        pass
    return bytes(out)


MAGIC = b"\x89MCAP0\r\n"
_FOOTER_LENGTH = 9 + 20 + len(MAGIC)
_CHUNK_HEAD = 9 + 40
_GROUP = 4 << 20
_RECORD_HEAD = 9  # Bytes of a record before its content: opcode and length
_LONGEST_METADATA = 16 << 20  # Bytes of a metadata record; a longer one is not rosbag2's


def read_summary(stream: BinaryIO, size: int) -> McapContents | None:
    """Read the index at the file's end: what the index says; None where there is none, or its checksum does not fit."""
    if size < len(MAGIC) + _FOOTER_LENGTH:
        return None
    stream.seek(size - _FOOTER_LENGTH)
    footer = stream.read(_FOOTER_LENGTH)
    opcode, length, start, _, crc = struct.unpack_from("<BQQQI", footer)
    if footer[-8:] != MAGIC or opcode != Opcode.FOOTER or length != 20 or not 0 < start <= size - _FOOTER_LENGTH:
        return None
    stream.seek(start)
    data = stream.read(size - _FOOTER_LENGTH - start)
    if crc and zlib.crc32(footer[: 9 + 16], zlib.crc32(data)) != crc:
        return None
    contents = McapContents(indexed=True)
    indexes: list[ChunkIndex] = []
    try:
        for code, begin, end in iterate_records(memoryview(data)):
            register_record(contents, code, data[begin:end])
            if code == Opcode.CHUNK_INDEX:
                indexes.append(ChunkIndex.read(record_stream(data[begin:end])))
            elif code == Opcode.STATISTICS:
                contents.statistics = Statistics.read(record_stream(data[begin:end]))
            elif code == Opcode.METADATA_INDEX:
                # rosbag2 writes one when it begins and one when it ends, which says it all.
                index = MetadataIndex.read(record_stream(data[begin:end]))
                contents.metadata = _rosbag2_metadata(stream, index) or contents.metadata
    except (*BROKEN, DamageError):
        return None
    contents.spans = [_indexed(stream, index) for index in sorted(indexes, key=lambda i: i.chunk_start_offset)]
    _find_data_end(stream, start, contents)
    return contents


def walk_records(stream: BinaryIO, size: int) -> McapContents:
    """Find the spans of a file without a usable index, as far as its records follow one another."""
    contents = McapContents()
    stream.seek(max(0, size - len(MAGIC)))
    whole = stream.read() == MAGIC and size > 2 * len(MAGIC)
    at, group, chunked = len(MAGIC), -1, False
    while not contents.data_end:
        stream.seek(at)
        head = stream.read(9)
        opcode, length = struct.unpack("<BQ", head) if len(head) == 9 else (0, 0)
        end = at + 9 + length
        bare = opcode in (Opcode.SCHEMA, Opcode.CHANNEL, Opcode.MESSAGE)
        # What the specification leaves to come starts with 0x80.
        follows = len(head) == 9 and end <= size and (0x01 <= opcode <= 0x0F or opcode >= 0x80)
        # Behind chunks, a message that stands alone is more likely a wrong turn than a message.
        follows = follows and not (chunked and opcode == Opcode.MESSAGE)
        if group >= 0 and not (bare and follows and at - group < _GROUP):
            contents.spans.append(Span(group, group, at - group, at - group))
            group = -1
        chunk = _chunk_at(stream, at, length, size) if opcode == Opcode.CHUNK else None
        # In a file that has its end, a chunk that reaches over it is a wrong length, not a cut.
        if chunk and not (whole and chunk.cut):
            chunked = True
            contents.spans.append(chunk)
        elif opcode == Opcode.CHUNK:
            follows = False
        if not follows:
            contents.trouble = _trouble(opcode, at, size, whole=whole)
            break
        if bare and group < 0:
            group = at
        elif opcode == Opcode.MESSAGE_INDEX and contents.spans:
            _count(contents, stream, at + 9, length)
        elif opcode in (Opcode.DATA_END, Opcode.FOOTER):
            contents.data_end = at
            contents.data_crc = struct.unpack("<I", stream.read(4))[0] if opcode == Opcode.DATA_END else 0
        at = end
    return contents


def data_crc_fits(stream: BinaryIO, contents: McapContents) -> bool:
    """Check the checksum over all data."""
    stream.seek(0)
    crc, left = 0, contents.data_end
    while contents.data_crc and left > 0 and (block := stream.read(min(left, 1 << 20))):
        crc, left = zlib.crc32(block, crc), left - len(block)
    return crc == contents.data_crc


def _rosbag2_metadata(stream: BinaryIO, index: MetadataIndex) -> str:
    """What a metadata record holds of rosbag2's; empty for a record of somebody else's."""
    if index.name != "rosbag2" or index.length > _LONGEST_METADATA:
        return ""
    stream.seek(index.offset + _RECORD_HEAD)
    record = Metadata.read(record_stream(stream.read(index.length - _RECORD_HEAD)))
    return str(record.metadata.get("serialized_metadata", ""))


def _indexed(stream: BinaryIO, index: Any) -> Span:
    """A chunk that the index names; of the chunk's own header only the checksum is needed."""
    begin = index.chunk_start_offset
    stream.seek(begin + 9 + 24)
    crc = stream.read(4)
    offsets = sorted((offset, channel) for channel, offset in index.message_index_offsets.items())
    ends = [offset for offset, _ in offsets[1:]] + [begin + index.chunk_length + index.message_index_length]
    # A message index record: 9 bytes of head, 6 of content, 16 for each message.
    counts = {channel: (end - offset - 15) // 16 for (offset, channel), end in zip(offsets, ends, strict=True)}
    return Span(
        begin,
        begin + _CHUNK_HEAD + len(index.compression),
        index.compressed_size,
        index.uncompressed_size,
        index.compression,
        struct.unpack("<I", crc)[0] if len(crc) == 4 else 0,
        counts or None,
    )


def _find_data_end(stream: BinaryIO, summary_start: int, contents: McapContents) -> None:
    stream.seek(max(0, summary_start - 13))
    opcode, length, crc = struct.unpack("<BQI", stream.read(13))
    if opcode == Opcode.DATA_END and length == 4:
        contents.data_end, contents.data_crc = summary_start - 13, crc


def _chunk_at(stream: BinaryIO, at: int, length: int, size: int) -> Span | None:
    """The chunk record at a place, None where its header does not add up or is cut off."""
    stream.seek(at + 9)
    head = stream.read(40 + 16)
    if len(head) < 40:
        return None
    _, _, full, crc, name = struct.unpack_from("<QQQII", head)
    if name > 8 or len(head) < 40 + name:
        return None
    compression = head[32 : 32 + name].decode("ascii", "replace")
    (stored,) = struct.unpack_from("<Q", head, 32 + name)
    if 40 + name + stored != length or compression not in ("", "zstd", "lz4"):
        return None
    offset = at + _CHUNK_HEAD + name
    cut = offset + stored > size
    return Span(at, offset, min(stored, size - offset), full, compression, crc, None, cut)


def _count(contents: McapContents, stream: BinaryIO, at: int, length: int) -> None:
    """Take over how many messages of a channel the last chunk holds."""
    stream.seek(at)
    (channel,) = struct.unpack("<H", stream.read(2))
    last = contents.spans[-1]
    counts = {**(last.channels or {}), channel: (length - 6) // 16}
    contents.spans[-1] = Span(last.at, last.offset, last.stored, last.size, last.compression, last.crc, counts)


def _trouble(opcode: int, at: int, size: int, *, whole: bool) -> str:
    if whole:
        return f"cannot be followed from byte {at} of {size} on"
    within = {Opcode.CHUNK: "in the middle of a chunk", Opcode.MESSAGE: "in the middle of a message"}
    return f"ends {within.get(Opcode(opcode), 'early') if 1 <= opcode <= 15 else 'early'}"


_KEPT_CHUNKS = 4
_LARGEST_MESSAGE = 2**30  # Bytes of a decompressed message at most
_END_OF_TIME = 2**63  # Nanoseconds; recorders write them as 64 bits with a sign
_MESSAGE_HEAD = 22  # Bytes of a message's record before its content: channel, number in the channel, two times
_ROS1 = "ros1"  # The encoding of messages in recordings of ROS 1
_PROTOBUF = "protobuf"  # The encoding of messages of Foxglove's own programs
_RENAMED = {
    "tf/msg/tfMessage": "tf2_msgs/msg/TFMessage",
    "foxglove.RawImage": FOXGLOVE_IMAGE,
    "foxglove.CompressedImage": FOXGLOVE_COMPRESSED,
    "foxglove.CompressedVideo": FOXGLOVE_VIDEO,
}
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
        """Find out what the file holds (shown: what to call it, where `path` is only a decompressed copy)."""
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
        if stream.read(len(MAGIC)) != MAGIC:
            raise SimjudgeError(f"{self.shown}: is not an mcap file, or its beginning is damaged")
        contents = read_summary(stream, size)
        if contents is None or contents.statistics is None or not contents.spans or not contents.channels:
            contents = walk_records(stream, size)
            _check_inflation(self.shown, contents.spans)
            self._survey(stream, contents)
        else:
            statistics = contents.statistics
            self._counts.update(statistics.channel_message_counts)
            if statistics.message_count:
                self.span = (statistics.message_start_time, statistics.message_end_time)
        _check_inflation(self.shown, contents.spans)
        if any(s.crc == 0 for s in contents.spans) and not data_crc_fits(stream, contents):
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
        encoding = "" if known is None else known.message_encoding
        if encoding == _ROS1:
            # The ROS 2 message of that type; empty where they are not alike.
            try:
                return standard_types().ros1_to_cdr(bytes(data), self._type(channel))
            except (SerdeError, TypesysError, *_CONVERSION_ERRORS):
                return b""
        if known is not None and encoding == _PROTOBUF:
            return _from_protobuf(data, self._contents.schemas.get(known.schema_id), self._type(channel))
        return decompress_message(data)

    def _topics(self) -> list[StoredTopic]:
        topics = []
        for number, channel in self._contents.channels.items():
            schema = self._contents.schemas.get(channel.schema_id)
            if channel.message_encoding in (_ROS1, _PROTOBUF):
                schema = None  # its definitions are not of ROS 2, and its messages are given as ROS 2's
            form = _FORMATS.get(schema.encoding, MessageDefinitionFormat.NONE) if schema else None
            text = schema.data.decode("utf-8", "replace") if schema else ""
            definition = MessageDefinition(form or MessageDefinitionFormat.NONE, text)
            kind, qos = self._type(number), channel.metadata.get("offered_qos_profiles", "")
            topics.append(StoredTopic(channel.topic, kind, definition, self._counts[number], qos))
        return topics


def _from_protobuf(data: bytes | memoryview, schema: Schema | None, kind: str) -> bytes | memoryview:
    """Foxglove's message in protobuf as the message of ROS 2 of that name; empty where there is none."""
    types = standard_types()
    if schema is None or kind not in types.fielddefs:
        return b""
    try:
        message = _parse_protobuf(schema.name, schema.data, bytes(data))
        sent = types.types["builtin_interfaces/msg/Time"](message.timestamp.seconds, message.timestamp.nanos)
        fields = [name for name, _ in types.fielddefs[kind][1]]
        held = {name: getattr(message, name) for name in fields if name != "timestamp"}
        held["data"] = np.frombuffer(held["data"], np.uint8)
        return bytes(types.serialize_cdr(types.types[kind](timestamp=sent, **held), kind))
    except (SerdeError, AttributeError, TypeError, *_CONVERSION_ERRORS):
        return b""


def _parse_protobuf(name: str, description: bytes, data: bytes) -> Any:
    from google.protobuf.message import DecodeError  # noqa: PLC0415 - loads protobuf

    try:
        message = _protobuf_class(name, description)()
        message.ParseFromString(data)
    except DecodeError as error:
        raise ValueError(str(error)) from error
    return message


@lru_cache(64)
def _protobuf_class(name: str, description: bytes) -> Any:
    """The class of messages that a channel's own description defines."""
    from google.protobuf.descriptor_pb2 import FileDescriptorSet  # noqa: PLC0415 - loads protobuf
    from google.protobuf.descriptor_pool import DescriptorPool  # noqa: PLC0415 - likewise
    from google.protobuf.message_factory import GetMessageClass  # noqa: PLC0415 - likewise

    pool = DescriptorPool()
    for file in FileDescriptorSet.FromString(description).file:
        pool.Add(file)
    return GetMessageClass(pool.FindMessageTypeByName(name))


def decompress_message(data: bytes | memoryview) -> bytes | memoryview:
    """Decompress a message that was compressed on its own (rosbag2's compression mode "message"): CDR bytes."""
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
