"""Recordings that grow: whole after close, readable after every flush, one line when the disk is full."""

import pytest
from rosbags.highlevel import AnyReader

from simjudge.core.errors import SimjudgeError
from simjudge.data.rosbag2.interfaces import standard_types
from simjudge.data.rosbag2.live_recording import LiveRecording
from simjudge.data.rosbag2.recording import Recording

STRING = "std_msgs/msg/String"


def opened(path, storage="mcap"):
    recording = LiveRecording(path, storage)
    text, _ = standard_types().generate_msgdef(STRING, ros_version=2)
    recording.add_topic("/note", STRING, (text, standard_types().hash_rihs01(STRING)), [])
    return recording


def note(text):
    types = standard_types()
    return bytes(types.serialize_cdr(types.types[STRING](data=text), STRING))


@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_what_is_closed_is_read_by_others_and_by_us(tmp_path, storage):
    recording = opened(tmp_path / "r", storage)
    for index in range(10):
        recording.write("/note", 10**18 + index, note(f"n{index}"))
    assert recording.counts == {"/note": 10}
    recording.close()
    with AnyReader([tmp_path / "r"]) as reader:
        held = [(time, reader.deserialize(raw, link.msgtype).data) for link, time, raw in reader.messages()]
    assert held == [(10**18 + i, f"n{i}") for i in range(10)]
    mine = [(m.time, bytes(m.data)) for m in Recording(tmp_path / "r").messages({"/note"})]
    assert mine == [(10**18 + i, note(f"n{i}")) for i in range(10)]


@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_what_was_flushed_can_be_read_though_never_closed(tmp_path, storage):
    recording = opened(tmp_path / "r", storage)
    for index in range(10):
        recording.write("/note", 10**18 + index, note(f"n{index}"))
    recording.flush()
    read = Recording(tmp_path / "r")
    assert [m.time - 10**18 for m in read.messages({"/note"})] == list(range(10))
    recording.abort()


def test_nothing_recorded_is_a_recording_too(tmp_path):
    opened(tmp_path / "r").close()
    read = Recording(tmp_path / "r")
    assert read.span() is None
    assert not read.losses
    assert "message_count: 0" in (tmp_path / "r/metadata.yaml").read_text()


def test_an_existing_name_is_refused(tmp_path):
    with pytest.raises(SimjudgeError, match="exists already"):
        LiveRecording(tmp_path)


def test_a_full_disk_is_one_line(tmp_path, monkeypatch):
    recording = opened(tmp_path / "r")

    def full(*_args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(recording._writer.storage, "write", full)
    with pytest.raises(SimjudgeError, match="the disk is full"):
        recording.write("/note", 1, note("x"))
    recording.abort()
