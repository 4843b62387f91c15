"""The records of an mcap file: spans of them decompressed and checked, topics registered.

The format: https://mcap.dev/spec. Single records are parsed by the mcap package.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from typing import BinaryIO

import lz4.frame  # type: ignore[import-untyped]
import zstandard
from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import Channel, Schema, Statistics

_LARGEST_CHUNK = 4 << 30
"""Bytes, decompressed; a larger one is taken for damage."""
_STEP = 1024
"""Bytes of a cut chunk that are decompressed at once; they may grow 30,000 times."""
BROKEN = (McapError, struct.error, UnicodeDecodeError, ValueError, KeyError)
"""What the mcap package raises for a record that does not hold what it should."""


class DamageError(Exception):
    """A piece that does not hold what it should; the text says in a few words what is wrong with it."""


@dataclass(frozen=True)
class Span:
    """A stretch of the file that holds messages: a chunk, or a group of records outside any chunk.

    Attributes:
        at: where it starts in the file, for messages to people.
        offset, stored: where its bytes are in the file, and how many.
        crc: CRC-32 of the decompressed bytes, 0 where the recorder wrote none.
        channels: messages in it by channel, None where no index says so.
        cut: the file ends before the span does.
    """

    at: int
    offset: int
    stored: int
    size: int
    compression: str = ""
    crc: int = 0
    channels: dict[int, int] | None = None
    cut: bool = False


@dataclass
class McapContents:
    """What an mcap file holds.

    Attributes:
        statistics: what its summary says, None without a summary.
        indexed: whether the spans are those of the index, and their `channels` all there are.
        data_crc, data_end: CRC-32 over the first `data_end` bytes of the file, 0 where the recorder wrote none.
        metadata: what rosbag2 keeps about the recording, as YAML; empty where it keeps nothing.
        trouble: how the file ends or where it cannot be followed further, empty where it is whole.
    """

    spans: list[Span] = field(default_factory=list)
    schemas: dict[int, Schema] = field(default_factory=dict)
    channels: dict[int, Channel] = field(default_factory=dict)
    statistics: Statistics | None = None
    indexed: bool = False
    data_crc: int = 0
    data_end: int = 0
    metadata: str = ""
    trouble: str = ""


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


def iterate_records(data: memoryview, *, cut: bool = False) -> Iterator[tuple[int, int, int]]:
    """Go through the records of a span.

    Args:
        cut: whether the span is cut off, so that its last record may be incomplete.
    """
    at, size = 0, len(data)
    while at < size:
        if at + 9 > size or (end := at + 9 + int(struct.unpack_from("<Q", data, at + 1)[0])) > size:
            if cut:
                return
            raise DamageError("its records do not follow one another")
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
