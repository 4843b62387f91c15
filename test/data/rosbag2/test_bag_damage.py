"""Damaged recordings: never a traceback, never a frame that differs from what was recorded, the loss always counted."""

from __future__ import annotations

import contextlib
import io
import random
import shutil
import sqlite3
import tracemalloc
from pathlib import Path
from typing import Any

import lz4.frame
import numpy as np
import pytest
import yaml
import zstandard
from bag_samples import SECOND, contents, image, labels, sample, write_mcap
from mcap.reader import make_reader
from mcap.writer import CompressionType
from mcap.writer import Writer as Mcap
from rosbags.rosbag2 import CompressionFormat, CompressionMode, Reader, StoragePlugin, Writer

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.images import encode_png
from simjudge.data.rosbag2 import (
    describe_recording,
    mcap_file,
    mcap_records,
    read_recording,
    recording,
    write_recording,
)
from simjudge.data.rosbag2.interfaces import standard_types
from simjudge.data.rosbag2.mcap_records import DamageError, Span, load_span

FRAMES = sample(24, (200, 150))
WHOLE = contents(FRAMES)


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


def check(path: Path) -> FrameSet | None:
    """Read what can be read, and compare each frame that comes back; None where nothing can be told."""
    try:
        back = read_recording(path)
    except SimjudgeError as error:
        said = str(error)
        back = None
    if back is None:
        assert "\n" not in said
        assert path.name in said
        return None
    for name, content in contents(back).items():
        assert content == WHOLE[name], name
    if len(back) < len(WHOLE):
        assert back.losses, "frames are gone and nobody says so"
    return back


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
    with pytest.raises(SimjudgeError, match=r"nothing of it can be read: 1 recordings cut off .* no message read"):
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


@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
@pytest.mark.parametrize("cut", [0, 10, 300, None])
def test_metadata_missing_or_cut(
    tmp_path: Path, storage: Any, cut: int | None, caplog: pytest.LogCaptureFixture
) -> None:
    write_recording(FRAMES, tmp_path / "rec", storage)
    file = tmp_path / "rec/metadata.yaml"
    text = file.read_text()
    file.unlink()
    if cut is not None:
        file.write_text(text[:cut])
    back = check(tmp_path / "rec")
    assert back is not None
    assert contents(back) == WHOLE
    assert not back.losses
    assert ("there is no metadata.yaml" if cut is None else "metadata.yaml is cut off or damaged") in caplog.text


def split(folder: Path, parts: int, names: list[str]) -> None:
    """A recording in several files, as rosbag2 splits it."""
    folder.mkdir()
    bounds = np.linspace(0, len(FRAMES), parts + 1).astype(int)
    for part in range(parts):
        chosen = FRAMES.take(np.arange(bounds[part], bounds[part + 1]))
        write_recording(chosen, folder / f"part_{part}.mcap")
        (folder / f"part_{part}.mcap").rename(folder / names[part])


def test_split_recording(tmp_path: Path) -> None:
    names = [f"rec_{i}.mcap" for i in range(12)]
    split(tmp_path / "rec", 12, names)
    back = check(tmp_path / "rec")
    assert back is not None
    assert contents(back) == WHOLE
    assert [p.name for p in describe_recording(tmp_path / "rec").files] == names
    assert describe_recording(tmp_path / "rec").message_count == 78


def test_split_recording_with_a_file_missing_or_empty(tmp_path: Path) -> None:
    split(tmp_path / "rec", 3, ["rec_0.mcap", "rec_1.mcap", "rec_2.mcap"])
    info = {"version": 5, "message_count": 78, "relative_file_paths": ["rec_0.mcap", "rec_1.mcap", "rec_2.mcap"]}
    (tmp_path / "rec/metadata.yaml").write_text(yaml.safe_dump({"rosbag2_bagfile_information": info}))
    (tmp_path / "rec/rec_1.mcap").write_bytes(b"")
    back = check(tmp_path / "rec")
    assert back is not None
    assert len(back) == 16
    assert back.losses.counts == {"storage files that cannot be read": 1}
    (tmp_path / "rec/rec_1.mcap").unlink()
    back = check(tmp_path / "rec")
    assert back is not None
    assert back.losses.counts == {"storage files that metadata.yaml names and that are missing": 1}
    shutil.copy(tmp_path / "rec/rec_0.mcap", tmp_path / "rec/rec_1.mcap")
    back = check(tmp_path / "rec")
    assert back is not None
    assert back.losses


@pytest.mark.parametrize("mode", ["FILE", "MESSAGE"])
@pytest.mark.parametrize("plugin", list(StoragePlugin))
@pytest.mark.parametrize("metadata", [True, False])
def test_rosbag2_compression(tmp_path: Path, mode: str, plugin: StoragePlugin, metadata: bool) -> None:
    types = standard_types()
    writer = Writer(tmp_path / "rec", version=9, storage_plugin=plugin)
    writer.set_compression(CompressionMode[mode], CompressionFormat.ZSTD)
    with writer:
        for topic, make in (("/cam/image_raw", image), ("/cam/ground_truth", labels)):
            kind = make(0).__msgtype__
            connection = writer.add_connection(topic, kind, typestore=types)
            for i in range(1, 9):
                writer.write(connection, i * SECOND, types.serialize_cdr(make(i * SECOND), kind))
    if not metadata:
        (tmp_path / "rec/metadata.yaml").unlink()
    back = read_recording(tmp_path / "rec")
    assert len(back) == len(back.objects) == 8
    assert back.images is not None
    assert back.images.read(7).shape == (6, 8, 3)
    assert not back.losses


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


def test_fewer_messages_than_the_metadata_promises(tmp_path: Path) -> None:
    write_recording(FRAMES, tmp_path / "rec")
    text = (tmp_path / "rec/metadata.yaml").read_text()
    assert "message_count: 78" in text
    (tmp_path / "rec/metadata.yaml").write_text(text.replace("message_count: 78", "message_count: 80"))
    back = check(tmp_path / "rec")
    assert back is not None
    assert back.losses.counts == {"messages that metadata.yaml promises and that are not there": 2}


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
    monkeypatch.setattr(mcap_records, "_LARGEST_CHUNK", 1_000_000)
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
