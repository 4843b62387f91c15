"""Damaged recordings: never a traceback, never a frame that differs from what was recorded, the loss always counted."""

from __future__ import annotations

import contextlib
import random
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from bag_samples import SECOND, contents, image, write_mcap
from damaged_bags import FRAMES, WHOLE, check
from mcap.reader import make_reader
from mcap.writer import CompressionType
from mcap.writer import Writer as Mcap
from rosbags.rosbag2 import CompressionFormat, CompressionMode, Reader, StoragePlugin, Writer

from simjudge.core.errors import SimjudgeError
from simjudge.data.rosbag2 import (
    describe_recording,
    read_recording,
    write_recording,
)
from simjudge.data.rosbag2.interfaces import standard_types


def remade(source: Path, target: Path, compression: CompressionType, *, chunked: bool = True, **more: Any) -> None:
    """The messages of a recording in another file, compressed or without chunks."""
    with source.open("rb") as stream, target.open("wb") as out:
        writer = Mcap(out, compression=compression, chunk_size=200_000, use_chunking=chunked, **more)
        writer.start("ros2", "test")
        channels: dict[int, int] = {}
        for schema, channel, message in make_reader(stream).iter_messages(log_time_order=False):
            assert schema is not None
            if channel.id not in channels:
                kind = writer.register_schema(schema.name, schema.encoding, schema.data)
                channels[channel.id] = writer.register_channel(channel.topic, "cdr", kind, channel.metadata)
            writer.add_message(channels[channel.id], message.log_time, message.data, message.publish_time)
        writer.finish()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The sample in every kind of mcap file, as bytes."""
    folder = tmp_path_factory.mktemp("whole")
    write_recording(FRAMES, folder / "own.mcap")
    remade(folder / "own.mcap", folder / "zstd.mcap", CompressionType.ZSTD)
    remade(folder / "own.mcap", folder / "lz4.mcap", CompressionType.LZ4)
    remade(folder / "own.mcap", folder / "plain.mcap", CompressionType.NONE)
    remade(folder / "own.mcap", folder / "bare.mcap", CompressionType.NONE, chunked=False, enable_data_crcs=True)
    sums = {"enable_data_crcs": True, "enable_crcs": False}
    remade(folder / "own.mcap", folder / "data_crc.mcap", CompressionType.NONE, **sums)
    return {path.stem: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("kind", ["own", "zstd", "lz4", "plain", "bare", "data_crc"])
def test_whole(tmp_path: Path, files: dict[str, bytes], kind: str) -> None:
    (tmp_path / "x.mcap").write_bytes(files[kind])
    back = check(tmp_path / "x.mcap")
    assert back is not None
    assert contents(back) == WHOLE
    assert not back.losses
    assert back.images is not None
    backwards = [i for i in reversed(range(24)) if back.images.has(i)]
    assert all(np.array_equal(back.images.read(i), FRAMES.images.read(i)) for i in backwards)  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", ["own", "zstd", "lz4", "plain", "bare", "data_crc"])
def test_cut_at_any_place(tmp_path: Path, files: dict[str, bytes], kind: str) -> None:
    rng = random.Random(kind)
    counts = []
    for place in sorted(rng.randrange(len(files[kind])) for _ in range(20)):
        path = tmp_path / "cut.mcap"
        path.write_bytes(files[kind][:place])
        back = check(path)
        counts.append(0 if back is None else len(back))
    assert counts == sorted(counts)
    assert counts[-1] > 12
    assert 0 < counts[10] < 24


def test_a_cut_is_named(tmp_path: Path, files: dict[str, bytes]) -> None:
    path = tmp_path / "cut.mcap"
    path.write_bytes(files["plain"][: len(files["plain"]) * 2 // 3])
    back = check(path)
    assert back is not None
    (line,) = [line for line in back.losses.lines() if "cut off" in line]
    assert "cut.mcap: ends in the middle of a chunk; " in line
    assert "messages read, the last at 1700000000." in line
    assert describe_recording(path).losses


@pytest.mark.parametrize("kind", ["own", "zstd", "lz4", "plain", "bare", "data_crc"])
@pytest.mark.parametrize("seed", range(4))
def test_flipped_bytes_anywhere(tmp_path: Path, files: dict[str, bytes], kind: str, seed: int) -> None:
    rng = random.Random(f"{kind}{seed}")
    path = tmp_path / "flipped.mcap"
    for _ in range(15):
        damaged = bytearray(files[kind])
        for _ in range(rng.choice([1, 1, 3])):
            damaged[rng.randrange(len(damaged))] ^= rng.randrange(1, 256)
        path.write_bytes(damaged)
        check(path)


def test_a_cut_before_the_first_topic(tmp_path: Path, files: dict[str, bytes]) -> None:
    (tmp_path / "x.mcap").write_bytes(files["own"][:60])
    with pytest.raises(SimjudgeError, match=r"nothing of it can be read: 1 recording cut off .* no message read"):
        read_recording(tmp_path / "x.mcap")


def without_sums(folder: Path, plugin: StoragePlugin, name: str, mode: CompressionMode) -> bytes:
    """The sample as rosbags writes it: no checksum anywhere, so that what is damaged cannot always be told."""
    write_recording(FRAMES.take(np.arange(8)), folder / f"{name}.mcap")
    types = standard_types()
    writer = Writer(folder / name, version=9, storage_plugin=plugin)
    writer.set_compression(mode, CompressionFormat.ZSTD)
    with Reader(folder / f"{name}.mcap") as reader, writer:
        made = {c.topic: writer.add_connection(c.topic, c.msgtype, typestore=types) for c in reader.connections}
        for connection, time, raw in reader.messages():
            writer.write(made[connection.topic], time, raw)
    return next(p for p in (folder / name).iterdir() if p.name != "metadata.yaml").read_bytes()


@pytest.mark.parametrize(
    ("plugin", "mode"),
    [
        (StoragePlugin.MCAP, CompressionMode.NONE),
        (StoragePlugin.MCAP, CompressionMode.MESSAGE),
        (StoragePlugin.MCAP, CompressionMode.STORAGE),
        (StoragePlugin.SQLITE3, CompressionMode.NONE),
    ],
)
def test_never_a_traceback_even_without_checksums(tmp_path: Path, plugin: StoragePlugin, mode: CompressionMode) -> None:
    whole = without_sums(tmp_path, plugin, "made", mode)
    path = tmp_path / ("x.mcap" if plugin == StoragePlugin.MCAP else "x.db3")
    rng = random.Random(mode.name + plugin.name)
    for _ in range(60):
        damaged = bytearray(whole)
        ends = (rng.randrange(3000), len(damaged) - 1 - rng.randrange(3000), rng.randrange(len(damaged)))
        for _ in range(rng.choice([1, 2, 8])):
            damaged[rng.choice(ends)] = rng.randrange(256)
        path.write_bytes(damaged[: rng.choice([len(damaged), rng.randrange(len(damaged))])])
        try:
            back = read_recording(path)
        except SimjudgeError as error:
            assert "\n" not in str(error)  # noqa: PT017
            continue
        for index in range(len(back)):
            if back.images is not None and back.images.has(index):
                with contextlib.suppress(SimjudgeError):
                    back.images.read(index)


@pytest.mark.parametrize("kind", ["own", "zstd", "plain"])
def test_flipped_bytes_between_and_at_the_ends(tmp_path: Path, files: dict[str, bytes], kind: str) -> None:
    """Every byte of heads, of the index records and of the summary, where a wrong length leads astray."""
    data = files[kind]
    places = list(range(120)) + list(range(len(data) - 400, len(data)))
    at = 0
    while (at := data.find(b"\x07", at + 1)) > 0 and len(places) < 700:
        places += list(range(at, min(at + 4, len(data))))
    path = tmp_path / "flipped.mcap"
    rng = random.Random(kind)
    for place in rng.sample(places, 60):
        damaged = bytearray(data)
        damaged[place] ^= rng.choice([1, 0x10, 0xFF])
        path.write_bytes(damaged)
        check(path)


def test_cut_and_flipped(tmp_path: Path, files: dict[str, bytes]) -> None:
    """Chunks that are whole are checked without an index too."""
    data = bytearray(files["plain"][: len(files["plain"]) - 50_000])
    data[300_000] ^= 1
    (tmp_path / "both.mcap").write_bytes(data)
    back = check(tmp_path / "both.mcap")
    assert back is not None
    assert back.losses.counts["recordings cut off or damaged"] == 1
    assert back.losses.counts["messages in damaged chunks"] > 0


def test_a_damaged_chunk_is_left_out_with_its_count(tmp_path: Path, files: dict[str, bytes]) -> None:
    path = tmp_path / "x.mcap"
    path.write_bytes(files["plain"])
    with path.open("rb") as stream:
        summary = make_reader(stream).get_summary()
    assert summary is not None
    chunk = summary.chunk_indexes[2]
    damaged = bytearray(files["plain"])
    damaged[chunk.chunk_start_offset + chunk.chunk_length // 2] ^= 0x40
    path.write_bytes(damaged)
    with path.open("rb") as stream:
        inside = 0
        for offset in chunk.message_index_offsets.values():
            stream.seek(offset + 9 + 2)
            inside += int.from_bytes(stream.read(4), "little") // 16
    back = check(path)
    assert back is not None
    assert back.losses.counts["messages in damaged chunks"] == inside
    assert f"chunk at byte {chunk.chunk_start_offset}, its checksum does not fit" in back.losses.lines()[0]
    assert 15 < len(back) < 24


def test_without_checksums_of_its_own_a_wrong_sum_over_all_ends_it(tmp_path: Path, files: dict[str, bytes]) -> None:
    damaged = bytearray(files["data_crc"])
    damaged[200_000] ^= 1
    (tmp_path / "x.mcap").write_bytes(damaged)
    with pytest.raises(SimjudgeError, match=r"x\.mcap: the checksum over the whole file does not fit"):
        read_recording(tmp_path / "x.mcap")


@pytest.mark.parametrize("name", ["x.mcap", "x.db3"])
@pytest.mark.parametrize(
    ("content", "said"), [(b"", "is empty"), (b"not a recording at all" * 9, "is not"), (b"\x89MCAP0\r\n", "")]
)
def test_no_recording(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SimjudgeError, match=rf"{name}: {said}"):
        read_recording(tmp_path / name)


def test_db3_cut_at_any_place(tmp_path: Path) -> None:
    write_recording(FRAMES, tmp_path / "x.db3")
    data = (tmp_path / "x.db3").read_bytes()
    rng = random.Random(3)
    counts = []
    for place in sorted(rng.randrange(len(data)) for _ in range(20)):
        path = tmp_path / "cut.db3"
        path.write_bytes(data[:place])
        back = check(path)
        counts.append(0 if back is None else len(back))
        if back is not None:
            assert any("malformed" in line for line in back.losses.lines())
    assert counts == sorted(counts)
    assert counts[-1] > 12
    assert 0 < counts[10] < 24


def test_db3_with_messages_in_its_write_ahead_log(tmp_path: Path) -> None:
    """A recorder that crashed leaves them there."""
    write_recording(FRAMES, tmp_path / "x.db3")
    base = sqlite3.connect(tmp_path / "x.db3")
    base.execute("PRAGMA journal_mode=WAL")
    base.execute("PRAGMA wal_autocheckpoint=0")
    times = [row[0] for row in base.execute("SELECT DISTINCT timestamp FROM messages ORDER BY timestamp")]
    rows = base.execute("SELECT * FROM messages WHERE timestamp >= ?", (times[20],)).fetchall()
    base.execute("DELETE FROM messages WHERE timestamp >= ?", (times[20],))
    base.commit()
    base.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    base.executemany("INSERT INTO messages VALUES (?, ?, ?, ?)", rows)
    base.commit()
    (tmp_path / "copy").mkdir()
    shutil.copy(tmp_path / "x.db3", tmp_path / "copy/y.db3")
    shutil.copy(tmp_path / "x.db3-wal", tmp_path / "copy/y.db3-wal")
    base.close()
    back = check(tmp_path / "copy/y.db3")
    assert back is not None
    assert contents(back) == WHOLE


def test_cut_compressed_file(tmp_path: Path, files: dict[str, bytes]) -> None:
    packed = zstandard.ZstdCompressor().compress(files["plain"])
    (tmp_path / "x.mcap.zstd").write_bytes(packed)
    back = check(tmp_path / "x.mcap.zstd")
    assert back is not None
    assert not back.losses
    (tmp_path / "x.mcap.zstd").write_bytes(packed[: len(packed) // 2])
    back = check(tmp_path / "x.mcap.zstd")
    assert back is not None
    assert 0 < len(back) < 24
    assert back.losses.counts["recordings cut off or damaged"] == 1


def test_messages_that_cannot_be_decoded(tmp_path: Path) -> None:
    write_mcap(tmp_path / "x.mcap", [("/image_raw", i, image(i * SECOND, value=i)) for i in range(1, 5)])
    data = bytearray((tmp_path / "x.mcap").read_bytes())
    write_mcap(tmp_path / "x.mcap", [("/image_raw", i, image(i * SECOND, value=i)) for i in range(1, 5)], crcs=False)
    data = bytearray((tmp_path / "x.mcap").read_bytes())
    place = data.find(b"rgb8") - 4
    data[place : place + 4] = b"\xff\xff\xff\x0f"
    (tmp_path / "x.mcap").write_bytes(data)
    back = read_recording(tmp_path / "x.mcap")
    assert len(back) == 3
    assert back.losses.counts == {"messages that cannot be decoded": 1}


@pytest.mark.parametrize("index", [True, False])
def test_a_recording_of_damaged_chunks_alone_is_said_to_be_damaged(tmp_path, index):
    """Not "holds no frame": a person would look for the fault in what was recorded."""
    from simjudge.data.rosbag2.mcap_file import McapFile  # noqa: PLC0415
    from simjudge.data.sets import read_set  # noqa: PLC0415

    shipped = Path(__file__).parents[3] / "bags" / "sim.mcap"
    data = bytearray(shipped.read_bytes())
    for span in McapFile(shipped)._contents.spans:
        data[span.offset + span.stored // 2] ^= 1
    (tmp_path / "x.mcap").write_bytes(data if index else data[:-100])
    with pytest.raises(SimjudgeError, match=r"can be read.*(damaged|checksum)") as raised:
        read_set(tmp_path / "x.mcap")
    assert "holds no frame" not in str(raised.value)


def test_a_time_beyond_64_bits_is_damage(tmp_path: Path) -> None:
    times = [SECOND, 2**63 + 5, 2 * SECOND]
    write_mcap(tmp_path / "x.mcap", [("/i", time, image(time % 2**31)) for time in times], chunked=False)
    losses = read_recording(tmp_path / "x.mcap").losses
    assert any("beyond the year 2262" in line for line in losses.lines())
    write_mcap(tmp_path / "y.mcap", [("/i", 2**63 + 5, image(7))])
    frames = read_recording(tmp_path / "y.mcap")
    assert len(frames) == 0
    assert "beyond the year 2262" in frames.losses.lines()[0]
