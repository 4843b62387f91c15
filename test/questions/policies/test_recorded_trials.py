import json

import pytest

import simjudge as sj
from simjudge.core.errors import SimjudgeError
from simjudge.data.rosbag2.interfaces import standard_types
from simjudge.data.rosbag2.live_recording import record_messages
from simjudge.questions.policies.recorded_trials import read_recorded_trials

TYPES = standard_types().types
KINDS = {"status": "diagnostic_msgs/msg/DiagnosticStatus", "text": "std_msgs/msg/String", "bool": "std_msgs/msg/Bool"}


def status(policy="", **values):
    pairs = [TYPES["diagnostic_msgs/msg/KeyValue"](key=k, value=str(v)) for k, v in values.items()]
    return TYPES[KINDS["status"]](level=0, name=policy, message="", hardware_id="", values=pairs)


def record(path, *messages, topic="/policies/trials"):
    path.parent.mkdir(parents=True, exist_ok=True)
    with record_messages(path) as recording:
        for number, message in enumerate(messages):
            recording.write(topic, number + 1, message)


def drive(path, *, finished=True, touched=(), way=5.0, seed=0, scene="lab", detector="lab_pico"):
    outcome = {"finished": finished, "touched": list(touched), "way": way, "length": 10.0}
    about = {"driver": "cones", "detector": detector, "scene": {"name": scene}, "seed": seed, "outcome": outcome}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_name(f"{path.name}.drive.json").write_text(json.dumps(about))


def test_last_message_of_the_status_topic_counts_and_the_path_fills_in(tmp_path):
    record(tmp_path / "a/x/1.mcap", status("a", task="x", success="false"), status("a", task="x", success="true"))
    record(tmp_path / "a/x/2.mcap", TYPES[KINDS["bool"]](data=False), topic="/done")
    record(tmp_path / "b/y/3.mcap", TYPES[KINDS["text"]](data='{"progress": 0.25, "unit": "s1", "side": "sim"}'))
    trials = read_recorded_trials(tmp_path, real=True)
    rows = [
        (trials.policies[p], trials.tasks[t], o)
        for p, t, o in zip(trials.policy, trials.task, trials.outcome, strict=True)
    ]
    assert rows == [("a", "x", 1.0), ("a", "x", 0.0), ("b", "y", 0.25)]
    assert trials.real.all(), "the side is that of the folder"


def test_what_says_no_outcome_is_counted_by_name(tmp_path):
    record(tmp_path / "a/x/1.mcap", status("a", task="x", success="true"))
    record(tmp_path / "a/x/2.mcap", status("a", task="x"))
    record(tmp_path / "a/x/3.mcap", status("a", success="1"), topic="/one")
    (tmp_path / "a/x/4.mcap").write_bytes(b"nothing")
    trials = read_recorded_trials(tmp_path, real=True)
    assert len(trials) == 2
    (line,) = trials.losses.lines()
    assert "2 recordings without an outcome" in line
    assert "no outcome among" in line
    with pytest.raises(SimjudgeError, match="say which tells the outcome with --status-topic"):
        read_recorded_trials(tmp_path, real=True, status_topic="/none")


@pytest.mark.parametrize(("outcome", "values"), [("", [1, 1, 0]), ("clean", [1, 0, 0]), ("progress", [1, 1, 0.5])])
def test_drives_of_our_referee_are_trials(tmp_path, outcome, values):
    drive(tmp_path / "1.mcap", seed=1)
    drive(tmp_path / "2.mcap", seed=2, touched=["cone_1"])
    drive(tmp_path / "3.mcap", seed=3, finished=False)
    trials = read_recorded_trials(tmp_path, real=False, outcome=outcome)
    assert trials.outcome.tolist() == values
    assert trials.pair_names == ("lab seed 1", "lab seed 2", "lab seed 3")
    assert trials.policies == ("lab_pico",)


def test_two_folders_are_compared_and_pairs_survive_a_renamed_scene(tmp_path):
    for seed in range(12):
        drive(tmp_path / "real" / f"{seed}.mcap", seed=seed, scene="lab_stand_in", finished=seed % 3 > 0)
        drive(tmp_path / "sim" / f"{seed}.mcap", seed=seed, finished=seed % 3 > 0)
        drive(tmp_path / "sim" / f"{seed + 20}.mcap", seed=seed + 20, finished=seed % 3 > 0)
    found = sj.compare_policies(tmp_path / "real", tmp_path / "sim", rename={"lab_stand_in": "lab"}, draws=50)
    assert found.content["overall"]["trials_real"] == 12
    assert found.content["sharpened"]["lab_pico"]["pairs"] == 12


def test_a_drive_that_was_recorded_is_one_trial(tmp_path):
    record(tmp_path / "1.mcap", status("other", task="x", success="true"))
    drive(tmp_path / "1.mcap")
    assert len(read_recorded_trials(tmp_path, real=True)) == 1
