"""A dossier of policies, and the script that checks it."""

import json
import subprocess
import sys

import pytest

import simjudge as sj
from simjudge.questions.certify.dossier import certify

CELLS = {("act", "pick"): (9, 5), ("act", "place"): (7, 6), ("dp", "pick"): (3, 2), ("dp", "place"): (6, 6)}


@pytest.fixture
def result(tmp_path):
    rows = [
        {"policy": policy, "task": task, "side": side, "success": k < hits}
        for (policy, task), sides in CELLS.items()
        for side, hits in zip(("real", "sim"), sides, strict=True)
        for k in range(10)
    ]
    sj.compare_policies(rows, out=tmp_path / "result")
    return tmp_path / "result"


def verify(folder):
    return subprocess.run([sys.executable, "-I", folder / "verify.py"], capture_output=True, text=True, check=False)


def test_a_dossier_of_policies_agrees_with_its_trials(result, tmp_path):
    written = certify([result], tmp_path / "dossier")
    assert "The simulation picks the policy that is best on the robot, act" in written.sentences[0]
    done = verify(tmp_path / "dossier")
    assert (done.returncode, done.stdout) == (0, "everything agrees\n"), done.stdout
    certify([result], tmp_path / "dossier")


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("overall", "w1"), 0.01, "mean W1: 0.01 is stated"),
        (("overall", "p_value"), 0.9, "p: 0.9 is stated"),
        (("ranking", "r", "value"), 0.5, "r: 0.5 is stated"),
        (("ranking", "by_sim", "policy"), "dp", "choice: dp is stated, act is found"),
        (("overall", "verdict"), "predicts", "verdict predicts: "),
    ],
)
def test_a_number_that_was_changed_is_found(result, tmp_path, path, value, said):
    content = json.loads((result / "policies.json").read_text())
    *folders, last = path
    row = content
    for name in folders:
        row = row[name]
    row[last] = value
    (result / "policies.json").write_text(json.dumps(content))
    with pytest.raises(sj.SimjudgeError, match="does not say what its trials give") as refused:
        certify([result], tmp_path / "dossier")
    assert said in str(refused.value)


def test_a_tie_at_the_top_is_checked_as_the_worst_of_the_tied(tmp_path):
    rows = [
        {"policy": policy, "task": task, "side": side, "trials": 10, "successes": hits}
        for policy, sides in {"a": ((9, 8), (7, 9)), "b": ((4, 8), (9, 7))}.items()
        for task, counts in zip(("t", "u"), zip(*sides, strict=True), strict=True)
        for side, hits in zip(("real", "sim"), counts, strict=True)
    ]
    ranking = sj.compare_policies(rows, out=tmp_path / "result").content["ranking"]
    assert (ranking["by_sim"]["policy"], ranking["by_sim"]["regret"]) == ("b", pytest.approx(0.25))
    certify([tmp_path / "result"], tmp_path / "dossier")
    assert verify(tmp_path / "dossier").stdout == "everything agrees\n"


def test_a_file_that_was_changed_is_found(result, tmp_path):
    certify([result], tmp_path / "dossier")
    trials = tmp_path / "dossier/results/result/trials.csv"
    trials.write_text(trials.read_text().replace("real,act,pick,0.0", "real,act,pick,1.0", 1))
    done = verify(tmp_path / "dossier")
    assert done.returncode == 1
    assert "trials.csv: has changed" in done.stdout
    assert "rate_real" in done.stdout
