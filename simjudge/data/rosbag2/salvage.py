"""The pieces of an mcap file, whole or damaged: found by its index or by walking through it, each checked on its own.

The format: https://mcap.dev/spec. Neither rosbags nor the mcap package reads on behind a damage, and only whole chunks
have checksums, so the walk over records is done here; single records are parsed by the mcap package.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any, BinaryIO

from mcap.opcode import Opcode
from mcap.records import ChunkIndex, Metadata, MetadataIndex, Statistics

from simjudge.data.rosbag2.mcap_records import (
    BROKEN,
    DamageError,
    McapContents,
    Span,
    iterate_records,
    record_stream,
    register_record,
)

MAGIC = b"\x89MCAP0\r\n"
_FOOTER_LENGTH = 9 + 20 + len(MAGIC)
_CHUNK_HEAD = 9 + 40
_GROUP = 4 << 20
_RECORD_HEAD = 9
"""Bytes of a record before its content: opcode and length."""
_LONGEST_METADATA = 16 << 20
"""Bytes of a metadata record; a longer one is not rosbag2's."""


def read_summary(stream: BinaryIO, size: int) -> McapContents | None:
    """Read the index at the file's end.

    Returns:
        What the index says; None where there is none, or its checksum does not fit.
    """
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
        follows = len(head) == 9 and end <= size and _is_opcode(opcode)
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


def _is_opcode(opcode: int) -> bool:
    """Whether a record may start with this; what the specification leaves to come starts with 0x80."""
    return 0x01 <= opcode <= 0x0F or opcode >= 0x80


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
