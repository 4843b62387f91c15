"""A layer for Foxglove and Lichtblick: topics with the stamps of a person's recording, read by the mcap library."""

from __future__ import annotations

import tracemalloc
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bag_samples import image, write_mcap
from made_results import made_contexts, stamped_set, write_result
from mcap.reader import make_reader
from mcap.writer import CompressionType, IndexType, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

import simjudge as sj
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.frames import FrameSet
from simjudge.data.rosbag2.interfaces import describe_unread
from simjudge.questions.compare import mcap_layer
from simjudge.questions.watch import OUTSIDE_COLOUR, w1_colour
from simjudge.results.saved_result import load_result

FRAMES, START, STEP, LATE = 6, 1_700_000_000_000_000_000, 100_000_000, 37_000_000


def stamped(name: str, seed: int, start: int) -> FrameSet:
    return stamped_set(name, seed, FRAMES, start, STEP)


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sets = stamped("hall", 1, START), stamped("chrono", 2, START + 3600 * 10**9)
    return write_result(tmp_path_factory.mktemp("result") / "result", made_contexts(*sets))


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A person's recording: each picture recorded later than it was taken, two of them never judged."""
    path = tmp_path_factory.mktemp("own") / "own.mcap"
    stamps = [START + STEP * number for number in range(FRAMES + 2)]
    write_mcap(path, [("/camera/image_raw", stamp + LATE, image(stamp)) for stamp in stamps])
    return path


def read(path: Path) -> dict[str, list[tuple[int, Any]]]:
    """Times and messages by topic, decoded by the definitions that stand in the file."""
    out: dict[str, list[tuple[int, Any]]] = defaultdict(list)
    stores: dict[int, Any] = {}
    with path.open("rb") as stream:
        for schema, channel, message in make_reader(stream, validate_crcs=True).iter_messages():
            assert schema is not None
            assert (schema.encoding, channel.message_encoding) == ("ros2msg", "cdr")
            if schema.id not in stores:
                stores[schema.id] = get_typestore(Stores.EMPTY)
                stores[schema.id].register(get_types_from_msg(schema.data.decode(), schema.name))
            out[channel.topic].append((message.log_time, stores[schema.id].deserialize_cdr(message.data, schema.name)))
    return out


def stamp_of(head: Any) -> int:
    return int(head.sec) * 10**9 + int(head.nanosec)


def test_every_context_stands_at_its_picture_with_its_numbers(result: Path, own: Path, tmp_path: Path) -> None:
    written = sj.report(result, tmp_path / "gap.mcap", to="mcap", onto=str(own))
    assert not written.losses
    found, contexts = read(written.path), load_result(result).contexts
    assert contexts is not None
    messages = found["/simjudge/contexts"]
    assert [(time, stamp_of(message.header.stamp)) for time, message in messages] == [
        (START + STEP * number + LATE, START + STEP * number) for number in range(FRAMES)
    ]
    for (_, message), (_, mean) in zip(messages, found["/simjudge/frame/performance"], strict=True):
        rows = [
            r for r in np.flatnonzero(contexts.is_a).tolist() if contexts.text("frame", [r])[0] == message.frame_name
        ]
        assert [one.w1 for one in message.contexts] == pytest.approx(contexts["w1"][rows].tolist(), nan_ok=True)
        assert [one.performance for one in message.contexts] == contexts["performance"][rows].tolist()
        assert [one.in_overlap for one in message.contexts] == (contexts["in_overlap"][rows] == 1).tolist()
        assert [one.box.x0 for one in message.contexts] == contexts["x0"][rows].tolist()
        assert [one.compared for one in message.contexts] == np.isfinite(contexts["w1"][rows]).tolist()
        assert mean.data == pytest.approx(contexts["performance"][rows].mean())


def test_boxes_are_coloured_by_w1_and_end_with_their_picture(result: Path, own: Path, tmp_path: Path) -> None:
    found = read(sj.report(result, tmp_path / "gap.mcap", to="mcap", onto=str(own)).path)
    contexts, drawn = load_result(result).contexts, found["/simjudge/annotations"]
    assert contexts is not None
    assert len(drawn) == FRAMES + 2
    assert [len(message.points) for _, message in drawn[-2:]] == [0, 0]
    shown = [box for _, message in drawn for box in message.points if box.thickness == 2]
    rows = np.flatnonzero(contexts.is_a).tolist()
    assert len(shown) == len(rows)
    for box, row in zip(shown, rows, strict=True):
        x0, y0, x1, y1 = (contexts[edge][row] for edge in ("x0", "y0", "x1", "y1"))
        assert [(p.x, p.y) for p in box.points] == [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
        colour = w1_colour(contexts["w1"][row]) if contexts["in_overlap"][row] else OUTSIDE_COLOUR
        assert [255 * value for value in (box.outline_color.r, box.outline_color.g, box.outline_color.b)] == (
            pytest.approx(colour)
        )
    assert all(stamp_of(box.timestamp) + LATE == time for time, message in drawn for box in message.points)


def test_the_verdict_is_a_diagnostic_that_is_there_from_the_start(result: Path, own: Path, tmp_path: Path) -> None:
    found = read(sj.report(result, tmp_path / "gap.mcap", to="mcap", onto=str(own)).path)
    ((time, verdict),) = found["/simjudge/verdict"]
    loaded = load_result(result)
    assert loaded.overall is not None
    assert time == START + LATE
    assert [(one.name, one.message) for one in verdict.status] == [
        (f"simjudge: {entry.label}", entry.verdict_words) for entry in loaded.entries
    ]
    assert {one.level for one in verdict.status} == {2}
    values = {pair.key: float(pair.value) for pair in verdict.status[0].values}
    assert values["gap"] == pytest.approx(loaded.overall.numbers.gap, rel=1e-3)


def test_a_copy_holds_every_message_of_the_recording_as_it_was(result: Path, own: Path, tmp_path: Path) -> None:
    written = sj.report(result, tmp_path / "both.mcap", to="mcap", onto=str(own), merged=True)
    both, before = {}, []
    for path, kept in ((written.path, both.setdefault("all", [])), (own, before)):
        with path.open("rb") as stream:
            for schema, channel, message in make_reader(stream, validate_crcs=True).iter_messages():
                assert schema is not None
                kept.append((channel.topic, schema.name, message.log_time, message.publish_time, message.data))
    assert [one for one in both["all"] if one[0] == "/camera/image_raw"] == before
    assert len(both["all"]) > len(before) + 4 * FRAMES
    assert sj.read(written.path).frame_name == sj.read(own).frame_name
    assert describe_unread([(one[0], one[1]) for one in both["all"]]) == []  # its own topics are no strangers' labels
    times = [one[2] for one in both["all"]]
    assert times == sorted(times)


def test_a_second_copy_holds_the_last_layer_alone(result: Path, own: Path, tmp_path: Path) -> None:
    once = sj.report(result, tmp_path / "once.mcap", to="mcap", onto=str(own), merged=True).path
    lines: list[str] = []
    twice = sj.report(result, tmp_path / "twice.mcap", to="mcap", onto=str(once), merged=True, log=lines.append).path
    assert {topic: len(held) for topic, held in read(twice).items()} == {
        topic: len(held) for topic, held in read(once).items()
    }
    assert any("once.mcap holds already is left out of the copy" in line for line in lines)


@pytest.mark.parametrize("chunked", [False, True])
def test_a_copy_of_a_file_without_an_index_is_not_held_in_memory(tmp_path: Path, *, chunked: bool) -> None:
    path, size, count = tmp_path / "long.mcap", 100_000, 300
    with path.open("wb") as stream:
        writer = Writer(stream, index_types=IndexType.NONE, use_chunking=chunked)
        writer.start()
        channel = writer.register_channel("/x", "raw", 0)
        for number in range(count):
            writer.add_message(channel, number, bytes([number % 256]) * size, number)
        writer.finish()
    tracemalloc.start()
    with (tmp_path / "copy.mcap").open("wb") as stream:
        writer = Writer(stream)
        writer.start()
        assert list(mcap_layer._copy(writer, path)) == list(range(count))
        writer.finish()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < size * count / 3
    with (tmp_path / "copy.mcap").open("rb") as stream:
        for number, (_, _, message) in enumerate(make_reader(stream).iter_messages()):
            assert message.data == bytes([number % 256]) * size


@pytest.mark.parametrize("compression", [CompressionType.ZSTD, CompressionType.LZ4])
def test_a_damaged_recording_is_not_copied_in_a_traceback(
    result: Path, tmp_path: Path, compression: CompressionType
) -> None:
    path = tmp_path / "damaged.mcap"
    stamps = [START + STEP * number for number in range(FRAMES)]
    messages = [("/camera/image_raw", stamp, image(stamp)) for stamp in stamps]
    write_mcap(path, messages, compression=compression, chunk_size=500)
    with path.open("rb") as stream:
        summary = make_reader(stream).get_summary()
    assert summary is not None
    chunk = summary.chunk_indexes[-1]
    data = bytearray(path.read_bytes())
    place = chunk.chunk_start_offset + chunk.chunk_length - chunk.compressed_size
    data[place : place + 20] = bytes(20)
    path.write_bytes(bytes(data))
    with pytest.raises(SimjudgeError, match=r"damaged\.mcap: cannot be copied whole"):
        sj.report(result, tmp_path / "x.mcap", to="mcap", onto=str(path), merged=True)
    assert not (tmp_path / "x.mcap").exists()
    losses = sj.report(result, tmp_path / "x.mcap", to="mcap", onto=str(path)).losses
    assert losses.counts["frames whose picture the recording does not hold"] > 0
    assert len(losses.counts) > 1, "what is damaged is said too"


def test_wrong_requests_are_refused(result: Path, own: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--to mcap: .*say which with --onto RECORDING"):
        sj.report(result, tmp_path / "gap.mcap", to="mcap")
    with pytest.raises(UsageError, match=r"--out .*gap\.bag: the name of a layer for recordings ends in \.mcap"):
        sj.report(result, tmp_path / "gap.bag", to="mcap", onto=str(own))
    with pytest.raises(UsageError, match="--merged: is for a layer over a recording"):
        sj.report(result, tmp_path / "x.rrd", to="rrd", merged=True)
    before = own.read_bytes()
    with pytest.raises(UsageError, match=r"own\.mcap: is the recording itself; the layer needs a file of its own"):
        sj.report(result, own, to="mcap", onto=str(own), overwrite=True)
    assert own.read_bytes() == before
    with pytest.raises(SimjudgeError, match=r"--onto .*nowhere\.mcap: does not exist"):
        sj.report(result, tmp_path / "gap.mcap", to="mcap", onto=str(tmp_path / "nowhere.mcap"))
    write_mcap(tmp_path / "later.mcap", [("/camera/image_raw", 5, image(5))])
    with pytest.raises(SimjudgeError, match=r"later\.mcap: no picture in it is a frame of the result"):
        sj.report(result, tmp_path / "gap.mcap", to="mcap", onto=str(tmp_path / "later.mcap"))
