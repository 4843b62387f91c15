"""Recordings that grow: whole after close, readable after every flush, one line when the disk is full."""

import pytest
from rosbags.highlevel import AnyReader

from simjudge.core.errors import SimjudgeError
from simjudge.data.rosbag2.interfaces import standard_types
from simjudge.data.rosbag2.live_recording import LiveRecording, open_recording, recover
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.rosbag2.storage import RecordingForm

STRING = "std_msgs/msg/String"


def opened(path, storage="mcap"):
    recording = open_recording(path, RecordingForm(storage))
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


@pytest.mark.parametrize("name", ["r.mcap", "r.db3"])
def test_one_file_gets_its_name_when_it_is_whole(tmp_path, name):
    recording = opened(tmp_path / name)
    recording.write("/note", 10**18, note("x"))
    assert not (tmp_path / name).exists()
    recording.close()
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert [bytes(m.data) for m in Recording(tmp_path / name).messages({"/note"})] == [note("x")]
    with pytest.raises(SimjudgeError, match="exists already"):
        opened(tmp_path / name)


@pytest.mark.parametrize("name", ["r.mcap", "r.db3"])
@pytest.mark.parametrize("trouble", ["full", "taken"])
def test_one_file_that_cannot_get_its_name_is_kept_under_another(tmp_path, monkeypatch, name, trouble):
    recording = opened(tmp_path / name)
    for index in range(10):
        recording.write("/note", 10**18 + index, note(f"n{index}"))
    recording.flush()

    def full(*_args):
        raise OSError(28, "No space left on device")

    if trouble == "full":
        monkeypatch.setattr(recording._writer, "close", full)
    else:
        (tmp_path / name).write_text("mine")
    kept = tmp_path / f"r.unfinished{name[1:]}"
    said = "the disk is full" if trouble == "full" else "somebody else has written there"
    with pytest.raises(SimjudgeError, match=f"{said}.*; what was recorded is kept in {kept}: 'simjudge data recover"):
        recording.close()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    found = recover(kept)
    assert [bytes(m.data) for m in Recording(found.path).messages({"/note"})] == [note(f"n{i}") for i in range(10)]
