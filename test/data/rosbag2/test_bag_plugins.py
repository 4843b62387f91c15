"""Recordings in storages that only plugins of rosbag2 read: the choice of the reader, what is said without one.

What comes out is tested with a stand-in of rosbag2_py's interface, and with rosbag2_py itself where it is installed.
"""

from __future__ import annotations

import importlib.util
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rosbag2_stand_in
import yaml
from bag_samples import frame_content, sample
from rosbag2_stand_in import SequentialCompressionReader, SequentialReader, record

from simjudge.core.errors import SimjudgeError
from simjudge.data.rosbag2 import describe_recording, is_recording, read_recording, write_recording
from simjudge.data.rosbag2.mcap_file import McapFile
from simjudge.data.rosbag2.recording import PluginFile, Recording

SAMPLES = Path(__file__).parents[3] / "bags"


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "rec.mcap"
    write_recording(sample(), path, "mcap")
    return path


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rosbag2_py", rosbag2_stand_in)


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, ModuleNotFoundError("No module named 'rosbag2_py'", name="rosbag2_py"))


def hide(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Importing rosbag2_py fails."""

    class Finder:
        @staticmethod
        def find_spec(name: str, *_: Any) -> None:
            if name == "rosbag2_py":
                raise error

    monkeypatch.delitem(sys.modules, "rosbag2_py", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])


def lost(recording: Recording) -> int:
    return sum(recording.losses.counts.values())


FOREIGN = [
    ({}, "storage 'myplugin'"),
    ({"storage_identifier": "mcap", "compression_format": "lz4", "compression_mode": "FILE"}, "compression 'lz4'"),
    ({"storage_identifier": "mcap", "compression_format": "lz4", "compression_mode": "message"}, "compression 'lz4'"),
]


@pytest.mark.parametrize(("metadata", "named"), FOREIGN)
@pytest.mark.usefixtures("absent")
def test_without_rosbag2_py(written: Path, tmp_path: Path, metadata: Any, named: str) -> None:
    path = record(written, tmp_path / "rec", **metadata)
    assert is_recording(path)
    for action in (read_recording, describe_recording):
        with pytest.raises(SimjudgeError) as caught:
            action(path)
        said = str(caught.value)
        assert said.startswith(f"{path}: {named} ")
        assert "a ROS 2 installation with rosbag2_py and the plugin for it reads it" in said
        assert "\n" not in said
        assert "does not work" not in said


def test_a_rosbag2_py_that_does_not_load(written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = record(written, tmp_path / "rec")
    hide(monkeypatch, ImportError("librosbag2_cpp.so: cannot open\nshared object file"))
    said = "is installed and does not work here: librosbag2_cpp.so: cannot open shared object file$"
    with pytest.raises(SimjudgeError, match=said):
        Recording(path)


@pytest.mark.usefixtures("absent")
@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_what_simjudge_reads_itself_needs_no_rosbag2_py(tmp_path: Path, storage: Any) -> None:
    write_recording(sample(), tmp_path / "rec", storage)
    assert not any(isinstance(file, PluginFile) for file in Recording(tmp_path / "rec").files)


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize("mode", ["", "NONE", "none"])
def test_our_own_reader_stays_the_default(tmp_path: Path, mode: str) -> None:
    write_recording(sample(), tmp_path / "rec", "mcap")
    file = tmp_path / "rec/metadata.yaml"
    content = yaml.safe_load(file.read_text())
    content["rosbag2_bagfile_information"].update(compression_mode=mode, compression_format="lz4" if mode else "")
    file.write_text(yaml.safe_dump(content))
    assert [type(storage) for storage in Recording(tmp_path / "rec").files] == [McapFile]


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize(("metadata", "named"), FOREIGN)
def test_the_reader_for_compressed_recordings(written: Path, tmp_path: Path, metadata: Any, named: str) -> None:
    before = SequentialReader.opened, SequentialCompressionReader.opened
    recording = Recording(record(written, tmp_path / "rec", **metadata))
    packed = named.startswith("compression")
    wanted = (before[0] + (not packed), before[1] + packed)
    assert (SequentialReader.opened, SequentialCompressionReader.opened) == wanted
    assert recording.notes == [f"{tmp_path / 'rec'}: {named}, read by rosbag2_py"]


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize("splits", [1, 3, 17])
def test_the_same_set_from_a_plugin(written: Path, tmp_path: Path, splits: int) -> None:
    path = record(written, tmp_path / "rec", splits=splits)
    frames, wanted = read_recording(path), read_recording(written)
    assert len(frames) == len(wanted) == 12
    order = list(range(12))
    for _ in range(3):
        for i in order:
            assert frame_content(frames, i) == frame_content(wanted, i)
            assert frames.images is not None
            assert wanted.images is not None
            if wanted.images.has(i):
                assert np.array_equal(frames.images.read(i), wanted.images.read(i))
        random.Random(splits).shuffle(order)
    ours, theirs = describe_recording(written), describe_recording(path)
    assert (theirs.topics, theirs.start, theirs.end) == (ours.topics, ours.start, ours.end)
    assert not theirs.losses


@pytest.mark.usefixtures("stand_in")
def test_several_messages_of_one_time_across_files(written: Path, tmp_path: Path) -> None:
    path = record(written, tmp_path / "rec")
    # Everything at one time: only the content tells the messages apart, and each file begins and ends with it.
    for file in path.glob("*.mine"):
        held = rosbag2_stand_in.pickle.loads(file.read_bytes())
        file.write_bytes(rosbag2_stand_in.pickle.dumps([(topic, data, 5) for topic, data, _ in held]))
    recording = Recording(path)
    all_of_them = list(recording.messages(set(recording.topics)))
    random.Random(0).shuffle(all_of_them)
    for stored in all_of_them:
        assert recording.read(stored.location) == stored.data


@pytest.mark.usefixtures("stand_in")
def test_reading_in_order_searches_once(written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording = Recording(record(written, tmp_path / "rec"))
    stored = list(recording.messages({"/camera/frame_info"}))
    sought: list[int] = []
    seek: Callable[[SequentialReader, int], None] = SequentialReader.seek
    monkeypatch.setattr(SequentialReader, "seek", lambda self, time: (sought.append(time), seek(self, time))[-1])
    assert [recording.read(message.location) for message in stored] == [message.data for message in stored]
    assert [time for time in sought if time] == [stored[0].time]


@pytest.mark.usefixtures("stand_in")
def test_damage_is_counted(written: Path, tmp_path: Path) -> None:
    whole = Recording(written)
    total, on_info = sum(whole.counts.values()), whole.counts["/camera/frame_info"]
    path = record(written, tmp_path / "rec", splits=2)
    (path / "rec_1.mine").unlink()
    recording = Recording(path)
    read = len(list(recording.messages(set(recording.topics))))
    assert read == -(-total // 2)
    assert lost(recording) == 1
    assert f"No storage could be initialized. Abort; {read} messages read, the last at " in recording.losses.lines()[0]

    path = record(written, tmp_path / "short", splits=1)
    held = rosbag2_stand_in.pickle.loads((path / "rec_0.mine").read_bytes())
    kept = [message for message in held if message[0] != "/camera/frame_info"]
    (path / "rec_0.mine").write_bytes(rosbag2_stand_in.pickle.dumps(kept))
    recording = Recording(path)
    assert len(list(recording.messages(set(recording.topics)))) == total - on_info
    assert lost(recording) == on_info


@pytest.mark.usefixtures("stand_in")
def test_what_changed_since_is_noticed(written: Path, tmp_path: Path) -> None:
    path = record(written, tmp_path / "rec", splits=1)
    recording = Recording(path)
    stored = list(recording.messages(set(recording.topics)))[-1]
    held = rosbag2_stand_in.pickle.loads((path / "rec_0.mine").read_bytes())
    held[-1] = (held[-1][0], held[-1][1][:-1] + b"\xee", held[-1][2])
    (path / "rec_0.mine").write_bytes(rosbag2_stand_in.pickle.dumps(held))
    with pytest.raises(SimjudgeError, match="is no longer there"):
        recording.read(stored.location)


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ({"storage_identifier": "other"}, "cannot open storage 'other' .No storage could be initialized"),
        ({"starting_time": None}, "metadata.yaml is damaged"),
        ({"topics_with_message_count": [{"message_count": 3}]}, "metadata.yaml is damaged"),
    ],
)
def test_what_cannot_be_opened(written: Path, tmp_path: Path, metadata: Any, said: str) -> None:
    with pytest.raises(SimjudgeError, match=said):
        Recording(record(written, tmp_path / "rec", **metadata))


def test_rosbag2_py_and_our_own_reader_agree(tmp_path: Path) -> None:
    if importlib.util.find_spec("rosbag2_py") is None:
        pytest.skip("rosbag2_py is not installed: it comes with a ROS 2 installation only")
    for name in ("real_stand_in", "sim"):
        write_recording(read_recording(SAMPLES / f"{name}.mcap"), tmp_path / name, "mcap")
        ours = Recording(tmp_path / name)
        theirs = PluginFile(tmp_path / name, ours.layout.info, "storage 'mcap'")
        assert {(t.name, t.type, t.count) for t in theirs.topics} == {
            (t.topic, t.type, t.count) for t in ours.topic_infos()
        }
        for topic in ours.topics:
            wanted = [(m.time, bytes(m.data)) for m in ours.messages({topic})]
            found = list(theirs.messages({topic}, 0))
            assert [(m.time, bytes(m.data)) for m in found] == wanted
            for message in reversed(found):
                assert theirs.read(message.location) == message.data
        assert not theirs.losses
