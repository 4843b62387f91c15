"""Trials in files of lerobot-eval and LeRobot, in recordings, and in tables that are written as trials end."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import simjudge as sj
from simjudge.core.errors import SimjudgeError
from simjudge.data.rosbag2.interfaces import standard_types
from simjudge.data.rosbag2.live_recording import record_messages
from simjudge.questions.policies.trial_files import (
    data_sets,
    eval_infos,
    read_data_sets,
    read_eval_infos,
    read_recorded_trials,
)


def written(folder, content):
    folder.mkdir(parents=True)
    path = folder / "eval_info.json"
    path.write_text(json.dumps(content))
    return path


def per_episode(*successes, first_seed=1000):
    rows = [
        {"episode_ix": k, "sum_reward": 1.5, "max_reward": 1.0, "success": success, "seed": first_seed + k}
        for k, success in enumerate(successes)
    ]
    return {"per_episode": rows, "aggregated": {"pc_success": 50.0}}


def per_task(**tasks):
    rows = [
        {"task_group": "libero_10", "task_id": k, "metrics": {"successes": found}}
        for k, found in enumerate(tasks.values())
    ]
    return {"per_task": rows, "per_group": {}, "overall": {"pc_success": 50.0}}


def test_one_task_with_seeds_gives_pairs(tmp_path):
    written(tmp_path / "real/act", per_episode(True, False, True))
    trials = read_eval_infos(eval_infos(tmp_path / "real"), real=True)
    assert (trials.policies, trials.tasks) == (("act",), ("task",))
    assert trials.outcome.tolist() == [1, 0, 1]
    assert trials.pair_names == ("task seed 1000", "task seed 1001", "task seed 1002")


def test_several_tasks_are_told_apart(tmp_path):
    path = written(tmp_path / "smolvla", per_task(a=[True, True], b=[False]))
    trials = read_eval_infos(eval_infos(path), real=False)
    assert trials.tasks == ("libero_10/0", "libero_10/1")
    assert not trials.real.any()


def test_two_folders_are_compared_with_their_pairs(tmp_path):
    for side, shift in (("real", 0), ("sim", 1)):
        for policy in ("act", "diffusion"):
            written(tmp_path / side / policy, per_episode(*[(k + shift) % 3 > 0 for k in range(30)]))
    found = sj.compare_policies(tmp_path / "real", tmp_path / "sim")
    assert found.content["policies"] == ["act", "diffusion"]
    assert found.content["overall"]["trials_real"] == 60
    with pytest.raises(sj.UsageError, match="does not say its side"):
        sj.compare_policies(tmp_path / "real")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ([], "is not what lerobot-eval writes"),
        ({"aggregated": {}}, "holds neither per_task nor per_episode"),
        ({"per_episode": []}, "holds no episode with a success flag"),
        ({"per_episode": [{"success": "yes"}]}, "holds no episode with a success flag"),
        ({"per_task": ["x"]}, "holds no episode with a success flag"),
    ],
)
def test_what_is_no_evaluation_is_refused(tmp_path, content, said):
    with pytest.raises(sj.SimjudgeError, match=said):
        read_eval_infos([written(tmp_path / "x", content)], real=True)


def data_set(folder, episodes, version="v3.0", success="frames"):
    """A data set of LeRobot v3, two frames an episode: (task, whether it succeeds) each."""
    for part in ("meta/episodes/chunk-000", "data/chunk-000", "videos/observation.images.top/chunk-000"):
        (folder / part).mkdir(parents=True)
    features = {"next.success": {"dtype": "bool", "shape": [1]}}
    info = {"codebase_version": version, "fps": 10, "total_episodes": len(episodes), "features": features}
    (folder / "meta/info.json").write_text(json.dumps(info))
    (folder / "videos/observation.images.top/chunk-000/file-000.mp4").write_bytes(b"never opened")
    rows = {
        "episode_index": list(range(len(episodes))),
        "tasks": [[task] for task, _ in episodes],
        "length": [2] * len(episodes),
        "stats/action/mean": [[0.0]] * len(episodes),
    }
    if success == "episodes":
        rows["success"] = [end for _, end in episodes]
    pq.write_table(pa.table(rows), folder / "meta/episodes/chunk-000/file-000.parquet")
    frames = {"episode_index": [k for k in range(len(episodes)) for _ in range(2)], "action": [0.0] * 2 * len(episodes)}
    if success == "frames":
        frames["next.success"] = [flag for _, end in episodes for flag in (False, end)]
    pq.write_table(pa.table(frames), folder / "data/chunk-000/file-000.parquet")


@pytest.mark.parametrize("success", ["frames", "episodes"])
def test_episodes_of_a_data_set_are_trials(tmp_path, success):
    data_set(tmp_path / "act", [("pick", True), ("pick", False), ("place", True)], success=success)
    trials = read_data_sets(data_sets(tmp_path), real=True)
    assert (trials.policies, trials.tasks) == (("act",), ("pick", "place"))
    assert trials.outcome.tolist() == [1, 0, 1]


def test_data_sets_of_both_sides_are_compared(tmp_path):
    for side, shift in (("real", 0), ("sim", 1)):
        for policy in ("act", "diffusion"):
            data_set(tmp_path / side / policy, [("pick", (k + shift) % 3 > 0) for k in range(12)])
    found = sj.compare_policies(tmp_path / "real", tmp_path / "sim")
    assert (found.content["policies"], found.content["overall"]["trials_sim"]) == (["act", "diffusion"], 24)


def test_data_sets_that_say_no_success_or_are_of_another_format_are_refused(tmp_path):
    data_set(tmp_path / "none", [("pick", True)], success="")
    with pytest.raises(sj.SimjudgeError, match="no episode says whether it succeeded"):
        read_data_sets(data_sets(tmp_path / "none"), real=True)
    data_set(tmp_path / "cut", [("pick", True)])
    next((tmp_path / "cut/data").rglob("*.parquet")).write_bytes(b"PAR1 cut")
    with pytest.raises(SimjudgeError, match=r"\.parquet: cannot be read as a table"):
        read_data_sets(data_sets(tmp_path / "cut"), real=True)
    data_set(tmp_path / "old", [("pick", True)], version="v2.1")
    with pytest.raises(sj.SimjudgeError, match=r"is of version v2\.1; v3 is read"):
        read_data_sets(data_sets(tmp_path / "old"), real=True)


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
