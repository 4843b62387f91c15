"""What a recording leaves behind when the disk is full, its writer fails or is killed, and `simjudge data recover`."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import simjudge
from simjudge.core.errors import SimjudgeError
from simjudge.data.rosbag2.interfaces import standard_types
from simjudge.data.rosbag2.live_recording import (
    UnfinishedRecording,
    describe_unfinished,
    find_unfinished,
    record_messages,
)
from simjudge.data.rosbag2.recording import Recording, describe_recording

TOPIC = "/camera/image_raw/compressed"
NAMES = ["a.mcap", "a.db3", "a"]
RECORD = f"""
import os, resource, signal, sys
from simjudge.core.errors import SimjudgeError
sys.path[:0] = [{str(Path(__file__).parent)!r}, {str(Path(__file__).parents[2])!r}]
from test_bag_recovery import write
how, out = sys.argv[1:]
if how == "full":
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
try:
    write(out, kill=how == "kill")
except SimjudgeError as error:
    sys.exit(str(error))
"""


def image(index):
    """A message whose bytes tell its number."""
    types = standard_types().types
    head = types["std_msgs/msg/Header"](types["builtin_interfaces/msg/Time"](index, 0), "cam")
    data = np.random.default_rng(index).integers(0, 255, 20_000, np.uint8)
    return types["sensor_msgs/msg/CompressedImage"](head, "jpeg", data)


def write(out, *, kill=False, fail=None):
    """Forty messages, four in a second; `kill` and `fail` come behind the thirtieth."""
    with record_messages(out, {"simjudge": "{}"}) as recording:
        for index in range(40):
            recording.write(TOPIC, (index + 1) * 250_000_000, image(index))
            if index == 29 and kill:
                os.kill(os.getpid(), 9)
            if index == 29 and fail is not None:
                raise fail


def record(how, out):
    return subprocess.run([sys.executable, "-c", RECORD, how, out], capture_output=True, text=True, check=False)


def simjudge_command(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "simjudge", *map(str, arguments)], capture_output=True, text=True, check=False
    )


def indexes(path):
    """The numbers of the messages that a recording holds, each read and compared byte for byte."""
    recording, types = Recording(path), standard_types()
    found = []
    for message in recording.messages({TOPIC}):
        index = types.deserialize_cdr(message.data, "sensor_msgs/msg/CompressedImage").header.stamp.sec
        assert bytes(message.data) == bytes(types.serialize_cdr(image(index), "sensor_msgs/msg/CompressedImage"))
        assert message.time == (index + 1) * 250_000_000
        found.append(index)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_full_disk_keeps_what_was_recorded_under_the_name_that_is_said(tmp_path, name):
    ended = record("full", tmp_path / name)
    assert ended.returncode == 1
    assert len(ended.stderr.splitlines()) == 1
    assert ended.stderr.startswith(f"{tmp_path / name}: the disk is full")
    kept = Path(re.search(r"kept in (\S+):", ended.stderr)[1])
    assert [path.name for path in tmp_path.iterdir()] == [kept.name]  # nothing named is gone, nothing else is there
    said = re.search(r"'(simjudge data recover .*)'", ended.stderr)[1].split()
    recovered = simjudge_command(*said[1:])
    assert recovered.returncode in (0, 3)
    out = tmp_path / f"a.recovered{Path(name).suffix}"
    found = indexes(out)
    assert found == list(range(len(found)))
    assert len(found) >= 8  # 300 kB are 15 messages; a second's four may be lost
    assert f"wrote {out}: {len(found)} messages" in recovered.stderr


@pytest.mark.parametrize("name", NAMES)
def test_a_killed_recording_is_named_by_the_next_one_and_can_be_recovered(tmp_path, name):
    assert record("kill", tmp_path / name).returncode == -9
    (left,) = find_unfinished(tmp_path)
    (line,) = describe_unfinished(tmp_path)
    assert f"simjudge data recover {left}'" in line
    before = {path: path.read_bytes() for path in left.rglob("*.mcap")}
    ended = simjudge_command("recover", left)
    assert ended.returncode in (0, 3), ended.stderr
    assert "Traceback" not in ended.stderr
    out = next(path for path in tmp_path.iterdir() if "recovered" in path.name)
    found = indexes(out)
    assert found == list(range(len(found)))
    assert len(found) >= 26  # all but the last second
    described = describe_recording(out)
    assert described.message_count == len(found)
    assert not described.losses
    assert {path: path.read_bytes() for path in left.rglob("*.mcap")} == before


def test_a_drive_names_what_an_earlier_one_left(tmp_path):
    record("kill", tmp_path / "a.mcap")
    lines = []
    with pytest.raises(SimjudgeError):
        simjudge.drive("no such scene", tmp_path / "b.mcap", camera="art1", log=lines.append)
    assert lines[:1] == describe_unfinished(tmp_path)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("error", [SimjudgeError("the engine stopped"), ValueError("a fault")])
def test_any_error_keeps_all_that_was_recorded(tmp_path, name, error, caplog):
    with pytest.raises(type(error)) as raised:
        write(tmp_path / name, fail=error)
    said = str(raised.value) if isinstance(error, SimjudgeError) else caplog.text
    kept = Path(re.search(r"kept in (\S+):", said)[1])
    assert indexes(simjudge.recover(kept).path) == list(range(30))
    assert str(raised.value).startswith(str(error))


def test_what_is_kept_replaces_nothing(tmp_path):
    for _ in range(2):
        with pytest.raises(SimjudgeError):
            write(tmp_path / "a.mcap", fail=SimjudgeError("no"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.unfinished.mcap", "a.unfinished2.mcap"]


def test_a_recording_without_a_message_leaves_nothing(tmp_path):
    with pytest.raises(SimjudgeError, match="nothing was recorded"), record_messages(tmp_path / "a.mcap"):
        raise SimjudgeError("no")
    assert not list(tmp_path.iterdir())


def test_a_recording_that_is_being_made_is_none_of_a_killed_one(tmp_path):
    with UnfinishedRecording(tmp_path / "a.mcap") as place:
        place.folder.mkdir()
        (place.folder / "a.mcap").write_bytes(b"x")
        assert find_unfinished(tmp_path) == []
        with pytest.raises(SimjudgeError, match="is being recorded right now"):
            simjudge.recover(place.folder.parent)


@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_a_cut_recording_is_recovered_to_its_last_message(tmp_path, share):
    write(tmp_path / "a.mcap")
    whole = (tmp_path / "a.mcap").read_bytes()
    (tmp_path / "cut.mcap").write_bytes(whole[: int(len(whole) * share)])
    found = simjudge.recover(tmp_path / "cut.mcap", tmp_path / "out.db3")
    assert found.losses
    held = indexes(tmp_path / "out.db3")
    assert held == list(range(len(held)))
    assert held == indexes(tmp_path / "cut.mcap")
    assert len(held) > 40 * share - 3
    assert str(found) == f"{tmp_path / 'out.db3'}: {len(held)} messages on 1 topics"


def test_all_topics_and_types_survive(tmp_path):
    shipped = Path(__file__).parents[3] / "bags" / "sim.mcap"
    simjudge.recover(shipped, tmp_path / "again.mcap")
    before, after = describe_recording(shipped), describe_recording(tmp_path / "again.mcap")
    assert (after.topics, after.start, after.end) == (before.topics, before.start, before.end)
    qos = [{name: topic.offered_qos for name, topic in Recording(p).topics.items()} for p in (shipped, after.path)]
    assert qos[0].keys() == qos[1].keys()
    assert all(qos[1].values())


@pytest.mark.parametrize("content", [b"", b"\x89MCAP0\r\n", b"something else"])
def test_what_holds_nothing_ends_in_one_line(tmp_path, content):
    (tmp_path / "a.mcap").write_bytes(content)
    ended = simjudge_command("recover", tmp_path / "a.mcap")
    assert ended.returncode == 1
    assert len(ended.stderr.splitlines()) == 1
    assert not list(tmp_path.glob("*recovered*"))
    assert not list(tmp_path.glob(".recording*"))
