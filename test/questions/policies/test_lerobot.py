"""Files of lerobot-eval, in both forms that it has written."""

import json

import pytest

import simjudge as sj
from simjudge.questions.policies.lerobot import eval_infos, read_eval_infos


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
