"""What is written is read back, to the last bit, and other programs read it too."""

from __future__ import annotations

import logging
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from bag_samples import contents, sample
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcap.reader import make_reader
from rosbags.highlevel import AnyReader
from rosbags.rosbag2 import Reader

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages, FileImages, encode_jpeg, encode_png
from simjudge.core.names import NO_STAMP
from simjudge.core.object_tables import Masks, Objects, Predictions
from simjudge.data.rosbag2 import describe_recording, is_recording, read_recording, write_recording
from simjudge.data.rosbag2.interfaces import FRAME_INFO, IMAGE, LABELS, standard_types
from simjudge.data.rosbag2.recording import Recording

TARGETS = [("x.mcap", "mcap"), ("x.db3", "mcap"), ("folder", "mcap"), ("folder", "sqlite3")]


@pytest.mark.parametrize(("name", "storage"), TARGETS)
@pytest.mark.parametrize("stamped", [True, False])
def test_all_content_comes_back(tmp_path: Path, name: str, storage: Any, stamped: bool) -> None:
    frames = sample(stamped=stamped)
    assert not write_recording(frames, tmp_path / name, storage)
    back = read_recording(tmp_path / name)
    assert contents(back) == contents(frames)
    assert list(back.frame_name) == list(frames.frame_name)
    assert back.class_names == frames.class_names
    assert not back.losses
    assert [p.name for p in tmp_path.iterdir()] == [name]


def numbers(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high, allow_nan=False, width=64)


UNKNOWN = st.just(float("nan"))


@st.composite
def frame_sets(draw: st.DrawFn) -> FrameSet:
    count = draw(st.integers(0, 6))
    stamps = draw(st.lists(st.integers(0, 2**31 * 10**9 - 10**9 - 1), min_size=count, max_size=count, unique=True))
    unstamped = draw(st.lists(st.booleans(), min_size=count, max_size=count))
    names = draw(st.lists(st.text("abcäü_0 /.", min_size=1, max_size=5), min_size=count, max_size=count, unique=True))
    rows: list[Any] = []
    for frame in range(count):
        for _ in range(draw(st.integers(0, 3))):
            x, y = draw(numbers(-5, 30)), draw(numbers(-5, 30))
            box = [x, y, x + draw(numbers(6, 50)), y + draw(numbers(6, 50))]
            kind = draw(st.sampled_from([0, 3, 70_000]))
            crop = draw(st.sampled_from([None, np.eye(3, dtype=bool), np.ones((2, 9), bool)]))
            origin = [draw(st.integers(-3, 30)), 2] if crop is not None else [0, 0]
            rows.append((frame, kind, box, draw(st.integers(-1, 2**40)), crop, origin, draw(numbers(0, 1))))
    columns = list(zip(*rows, strict=True)) or [()] * 7
    masks = Masks.from_crops(columns[4], np.array(columns[5]).reshape(-1, 2)) if draw(st.booleans()) else None
    truth = [[draw(UNKNOWN | numbers(low, high)) for _ in rows] for low, high in ((1e-3, 1e9), (0, 1))]
    objects = Objects.build(
        columns[0],
        columns[1],
        np.array(columns[2]).reshape(-1, 4),
        columns[3],
        masks,
        distance=truth[0],
        visible=truth[1],
    )
    predictions = Predictions.build(columns[0], columns[1], np.array(columns[2]).reshape(-1, 4), columns[6], masks)
    has = np.isin(np.arange(count), objects.frame)
    labelled = has | np.array(draw(st.lists(st.booleans(), min_size=count, max_size=count)), bool)
    predicted = has | np.array(draw(st.lists(st.booleans(), min_size=count, max_size=count)), bool)
    with_predictions = draw(st.booleans())
    images = [draw(st.sampled_from([None, np.full((9, 7, 3), i, np.uint8)])) for i in range(count)]
    return FrameSet.build(
        "drawn",
        np.full((count, 2), [40, 32]),
        objects,
        predictions if with_predictions else None,
        frame_name=names,
        stamp=np.where(unstamped, NO_STAMP, np.array(stamps, np.int64)) if count else [],
        labelled=labelled,
        predicted=predicted if with_predictions else None,
        class_names={0: "a", 3: "a", 70_000: "", 9: "never seen"},
        images=ArrayImages(images) if draw(st.booleans()) else None,
    )


@given(frame_sets(), st.sampled_from(TARGETS))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_set_comes_back(tmp_path_factory: pytest.TempPathFactory, frames: FrameSet, target: Any) -> None:
    path = tmp_path_factory.mktemp("any") / target[0]
    assert not write_recording(frames, path, target[1])
    if len(frames) == 0:
        with pytest.raises(SimjudgeError, match="no image, label or detection topic"):
            read_recording(path)
        return
    back = read_recording(path)
    assert contents(back) == contents(frames)
    assert list(back.frame_name) == list(frames.frame_name)
    assert back.class_names == frames.class_names
    assert not back.losses


def test_encoded_images_pass_through_unchanged(tmp_path: Path) -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (40, 30, 3), np.uint8)
    jpeg, png = encode_jpeg(pixels, 71), encode_png(pixels)
    (tmp_path / "a.jpg").write_bytes(jpeg)
    (tmp_path / "b.png").write_bytes(png)
    frames = FrameSet.build("files", [[30, 40]] * 2, images=FileImages([tmp_path / "a.jpg", tmp_path / "b.png"]))
    write_recording(frames, tmp_path / "x.mcap")
    with AnyReader([tmp_path / "x.mcap"]) as reader:
        found = [c for c in reader.connections if c.topic == "/camera/image_raw/compressed"]
        sent = [reader.deserialize(raw, c.msgtype) for c, _, raw in reader.messages(found)]
    assert [(m.format, bytes(m.data)) for m in sent] == [("jpeg", jpeg), ("png", png)]  # type: ignore[attr-defined]
    back = read_recording(tmp_path / "x.mcap")
    assert back.images is not None
    assert [back.images.read_encoded(i).data for i in range(2)] == [jpeg, png]  # type: ignore[union-attr]
    assert np.array_equal(back.images.read(1), pixels)


@pytest.mark.parametrize(("name", "storage"), TARGETS)
def test_other_programs_read_it(tmp_path: Path, name: str, storage: Any) -> None:
    """The types' hashes are checked by rosbags."""
    frames = sample()
    write_recording(frames, tmp_path / name, storage)
    with AnyReader([tmp_path / name]) as reader:
        topics = {c.topic: (c.msgtype, c.msgcount) for c in reader.connections}
        message: Any = next(reader.deserialize(r, c.msgtype) for c, _, r in reader.messages() if c.msgtype == LABELS)
        offered = {c.topic: c.ext.offered_qos_profiles[0] for c in reader.connections}  # type: ignore[union-attr]
    assert topics["/camera/frame_info"] == (FRAME_INFO, 12)
    assert topics["/camera/image_raw"] == (IMAGE, 9)
    assert topics["/camera/ground_truth"] == (LABELS, 9)
    assert message.objects[1].class_name == "green"
    assert message.objects[1].box.x0 == frames.objects.box[1, 0]
    assert offered["/camera/image_raw"].reliability.name == "BEST_EFFORT"
    assert offered["/camera/ground_truth"].reliability.name == "RELIABLE"


def test_bare_mcap_holds_what_rosbag2_wants(tmp_path: Path) -> None:
    write_recording(sample(), tmp_path / "x.mcap")
    with (tmp_path / "x.mcap").open("rb") as stream:
        reader = make_reader(stream, validate_crcs=True)
        summary = reader.get_summary()
        assert summary is not None
        assert reader.get_header().profile == "ros2"
        assert len(list(reader.iter_messages())) == 12 + 9 + 9 + 9
        inner = yaml.safe_load(next(reader.iter_metadata()).metadata["serialized_metadata"])
    assert inner["relative_file_paths"] == ["x.mcap"]
    assert inner["message_count"] == 39
    for channel in summary.channels.values():
        assert channel.message_encoding == "cdr"
        kind = summary.schemas[channel.schema_id].name
        assert channel.metadata["topic_type_hash"] == standard_types().hash_rihs01(kind)
        assert yaml.safe_load(channel.metadata["offered_qos_profiles"])[0]["history"] == "keep_last"


def test_folder_metadata(tmp_path: Path) -> None:
    frames = sample()
    write_recording(frames, tmp_path / "drive")
    info = yaml.safe_load((tmp_path / "drive/metadata.yaml").read_text())["rosbag2_bagfile_information"]
    assert info["relative_file_paths"] == ["drive.mcap"]
    assert info["message_count"] == 39
    assert info["starting_time"]["nanoseconds_since_epoch"] == frames.stamp[0]
    with Reader(tmp_path / "drive") as reader:
        assert reader.message_count == 39


def test_description(tmp_path: Path) -> None:
    frames = sample()
    write_recording(frames, tmp_path / "drive")
    said = describe_recording(tmp_path / "drive")
    assert [(t.topic, t.count) for t in said.topics] == [
        ("/camera/detections", 9),
        ("/camera/frame_info", 12),
        ("/camera/ground_truth", 9),
        ("/camera/image_raw", 9),
    ]
    assert (said.start, said.end) == (frames.stamp[0], frames.stamp[-1])
    assert said.duration == 11 * 33_333_333
    assert said.message_count == 39
    assert not said.losses


def test_frames_with_one_stamp_are_refused(tmp_path: Path) -> None:
    frames = FrameSet.build("twins", [[8, 8]] * 2, stamp=[5, 5], frame_name=["left", "right"])
    with pytest.raises(SimjudgeError, match="right: has the same stamp as left"):
        write_recording(frames, tmp_path / "x.mcap")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("stamp", [-2, 2**31 * 10**9])
def test_a_stamp_that_no_message_holds(tmp_path: Path, stamp: int) -> None:
    with pytest.raises(SimjudgeError, match="cannot hold the stamp"):
        write_recording(FrameSet.build("late", [[8, 8]], stamp=[stamp]), tmp_path / "x.mcap")


def test_images_that_cannot_be_read_are_left_out_and_counted(tmp_path: Path) -> None:
    (tmp_path / "zero.jpg").write_bytes(b"")
    paths = [tmp_path / "zero.jpg", tmp_path / "gone.jpg", None]
    frames = FrameSet.build("files", [[30, 40]] * 3, Objects.empty(), images=FileImages(paths))
    losses = write_recording(frames, tmp_path / "x.mcap")
    assert losses.counts == {"images that cannot be read": 2}
    back = read_recording(tmp_path / "x.mcap")
    assert len(back) == 3
    assert back.images is None


@pytest.mark.parametrize("name", ["x.mcap", "x.db3", "folder"])
def test_a_full_disk_leaves_nothing(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        if name.endswith(".db3"):
            raise sqlite3.OperationalError("database or disk is full")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("simjudge.data.rosbag2.folder_writer.CheckedMcapWriter.write", fail)
    monkeypatch.setattr("simjudge.data.rosbag2.folder_writer.Sqlite3Writer.write", fail)
    with pytest.raises(SimjudgeError, match="the disk is full"):
        write_recording(sample(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


_TOO_SMALL = """
import resource, signal, sys
from pathlib import Path
from bag_samples import sample
from simjudge.data.rosbag2 import write_recording
from simjudge.core.errors import SimjudgeError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
try:
    write_recording(sample(60, (200, 150)), Path(sys.argv[1]), sys.argv[2])
except SimjudgeError as error:
    print(error)
"""


@pytest.mark.parametrize(("name", "storage"), TARGETS)
def test_a_disk_that_really_takes_no_more(tmp_path: Path, name: str, storage: str) -> None:
    command = [sys.executable, "-c", _TOO_SMALL, str(tmp_path / name), storage]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert "the disk is full or" in done.stdout.replace("full (or", "full or")
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == []


def test_nothing_that_exists_is_replaced(tmp_path: Path) -> None:
    write_recording(sample(4, seed=2), tmp_path / "x.mcap")
    for path in (tmp_path / "x.mcap", tmp_path):
        with pytest.raises(SimjudgeError, match="exists already"):
            write_recording(sample(), path)
    assert len(read_recording(tmp_path / "x.mcap")) == 4


def test_what_is_a_recording(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_recording(sample(4), tmp_path / "rec")
    (tmp_path / "plain").mkdir()
    (tmp_path / "x.txt").write_text("x")
    assert is_recording(tmp_path / "rec")
    assert is_recording(tmp_path / "rec/rec.mcap")
    assert not is_recording(tmp_path / "plain")
    assert not is_recording(tmp_path / "x.txt")
    assert not is_recording(tmp_path / "gone.mcap")
    (tmp_path / "rec/metadata.yaml").unlink()
    assert is_recording(tmp_path / "rec")
    with caplog.at_level(logging.WARNING):
        assert len(read_recording(tmp_path / "rec")) == 4
    assert "no metadata.yaml" in caplog.text


@pytest.mark.parametrize(("name", "storage"), [("x.mcap", "mcap"), ("x.db3", "sqlite3")])
def test_frames_are_written_in_the_order_of_their_stamps(tmp_path, name, storage):
    sizes, stamps = [(64, 48)] * 4, [100_000_000_000, 107_000_000_000, 10_000_000_000, 20_000_000_000]
    images = ArrayImages([np.full((48, 64, 3), k, np.uint8) for k in range(4)])
    frames = FrameSet.build("set", sizes, frame_name=list("abcd"), stamp=stamps, images=images)
    assert not write_recording(frames, tmp_path / name, storage)
    times = [message.time for message in Recording(tmp_path / name).messages(set(Recording(tmp_path / name).topics))]
    assert list(dict.fromkeys(times)) == sorted(stamps)
