"""Recordings that claim, or unpack to, more than memory holds are refused before they fill it."""

from __future__ import annotations

import io
import struct
import tracemalloc
from pathlib import Path

import lz4.frame
import numpy as np
import pytest
import zstandard
from bag_samples import SECOND, image, write_mcap

from simjudge.core.errors import SimjudgeError
from simjudge.core.images import encode_png
from simjudge.data.rosbag2 import (
    mcap_file,
    read_recording,
    recording,
)
from simjudge.data.rosbag2.interfaces import standard_types
from simjudge.data.rosbag2.mcap_file import DamageError, Span, load_span


def test_an_image_whose_header_claims_a_gigantic_one(tmp_path: Path) -> None:
    data = bytearray(b"BM" + bytes(12) + (40).to_bytes(4, "little") + (200_000).to_bytes(4, "little") * 2)
    data += (1).to_bytes(2, "little") + (24).to_bytes(2, "little") + bytes(24)
    kind = standard_types().types["sensor_msgs/msg/CompressedImage"]
    giant = kind(image(SECOND).header, "bmp", np.frombuffer(bytes(data), np.uint8))
    small = standard_types().types["sensor_msgs/msg/CompressedImage"]
    whole = small(image(2 * SECOND).header, "png", np.frombuffer(encode_png(np.zeros((4, 4, 3), np.uint8)), np.uint8))
    write_mcap(tmp_path / "x.mcap", [("/i", SECOND, giant), ("/i", 2 * SECOND, whole)])
    frames = read_recording(tmp_path / "x.mcap")
    assert len(frames) == 1
    assert frames.losses.counts["images that cannot be read"] == 1


def test_a_message_that_grows_without_end_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcap_file, "_LARGEST_MESSAGE", 10_000_000)
    packed = zstandard.ZstdCompressor().compress(bytes(50_000_000))
    assert len(packed) < 10_000
    assert mcap_file.decompress_message(packed) == b""
    assert mcap_file.decompress_message(zstandard.ZstdCompressor().compress(b"12345")) == b"12345"


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
@pytest.mark.parametrize("cut", [False, True])
def test_a_chunk_without_end_is_damaged(compression: str, cut: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcap_file, "_LARGEST_CHUNK", 1_000_000)
    zeros = bytes(300_000_000)
    packed = zstandard.ZstdCompressor().compress(zeros) if compression == "zstd" else lz4.frame.compress(zeros)
    del zeros
    span = Span(0, 0, len(packed), 1000, compression, cut=cut)
    tracemalloc.start()
    try:
        if cut:
            assert len(load_span(io.BytesIO(packed), span)) < 200_000_000
        else:
            with pytest.raises(DamageError):
                load_span(io.BytesIO(packed), span)
        assert tracemalloc.get_traced_memory()[1] < 200_000_000
    finally:
        tracemalloc.stop()


def test_a_file_that_grows_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "_SMALL", 1_000_000)
    packed = zstandard.ZstdCompressor().compress(bytes(100_000_000))
    (tmp_path / "x.db3.zstd").write_bytes(packed)
    with pytest.raises(SimjudgeError, match=r"x\.db3\.zstd: unpacks to more than 0\.0 GB, 1000 times its size; "):
        read_recording(tmp_path / "x.db3.zstd")


def zeros_in_chunks(path: Path, count: int, size: int) -> Path:
    """A file of chunks that hold zeros alone, without an index."""

    def record(kind: int, content: bytes) -> bytes:
        return struct.pack("<BQ", kind, len(content)) + content

    packed = zstandard.ZstdCompressor().compress(bytes(size))
    chunk = struct.pack("<QQQII", 0, 0, size, 0, 4) + b"zstd" + struct.pack("<Q", len(packed)) + packed
    end = record(0x0F, bytes(4)) + record(0x02, bytes(20)) + mcap_file.MAGIC
    path.write_bytes(mcap_file.MAGIC + record(0x01, struct.pack("<II", 0, 0)) + record(0x06, chunk) * count + end)
    return path


def test_chunks_of_nothing_are_damage_at_their_first_record(tmp_path: Path) -> None:
    read = mcap_file.McapFile(zeros_in_chunks(tmp_path / "x.mcap", 3, 50_000_000))
    assert dict(read.losses.counts) == {"damaged chunks, their messages uncounted": 3}


def test_chunks_that_claim_what_no_recording_compresses_to_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SimjudgeError, match=r"its 200 chunks of \d+ kB claim to hold 10\.0 GB; no recording"):
        recording.Recording(zeros_in_chunks(tmp_path / "x.mcap", 200, 50_000_000))
