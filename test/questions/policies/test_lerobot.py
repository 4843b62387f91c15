"""Files of lerobot-eval, in both forms that it has written."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import simjudge as sj
from simjudge.questions.policies.lerobot import data_sets, eval_infos, read_data_sets, read_eval_infos


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
    data_set(tmp_path / "old", [("pick", True)], version="v2.1")
    with pytest.raises(sj.SimjudgeError, match=r"is of version v2\.1; v3 is read"):
        read_data_sets(data_sets(tmp_path / "old"), real=True)
