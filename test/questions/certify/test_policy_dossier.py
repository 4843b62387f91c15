"""A dossier of policies, and the script that checks it."""

import itertools
import math
import shutil

import numpy as np
import pytest
from forged import edit_json, sign_again, verify
from typer.testing import CliRunner

import simjudge as sj
from simjudge.commands.app import app
from simjudge.questions.certify import check_policies
from simjudge.questions.certify.dossier import certify
from simjudge.questions.certify.remake import check_again

CELLS = {("act", "pick"): (9, 5), ("act", "place"): (7, 6), ("dp", "pick"): (3, 2), ("dp", "place"): (6, 6)}


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compared") / "result"
    rows = [
        {"policy": policy, "task": task, "side": side, "success": k < hits}
        for (policy, task), sides in CELLS.items()
        for side, hits in zip(("real", "sim"), sides, strict=True)
        for k in range(10)
    ]
    sj.compare_policies(rows, out=folder)
    return folder


@pytest.fixture(scope="module")
def dossier(result, tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "dossier"
    written = certify([result], folder)
    assert "The simulation picks the policy that is best on the robot, act" in written.sentences[0]
    return folder


@pytest.fixture
def forged(dossier, tmp_path):
    shutil.copytree(dossier, tmp_path / "forged")
    return tmp_path / "forged"


def test_a_dossier_of_policies_agrees_with_its_trials_and_is_made_again_to_the_byte(dossier):
    done = verify(dossier)
    assert done.returncode == 0, done.stdout
    assert "NOT CHECKED: result, " not in done.stdout
    assert "NOT CHECKED: posteriors (chance of the right choice" in done.stdout
    done = CliRunner().invoke(app, ["certify", "--check", str(dossier)])
    assert done.exit_code == 0, done.output
    made = "made again, byte by byte: verify.py, results/result/index.html, results/result/trials.csv"
    assert made in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("overall", "w1"), 0.01, "all cells, w1: 0.01 is stated"),
        (("overall", "p_value"), 0.9, "all cells, p_value: 0.9 is stated"),
        (("overall", "p_value"), None, "all cells, p_value: None is stated"),
        (("overall", "p_value"), ..., "all cells, p_value: nothing is stated"),
        (("overall", "gap"), math.inf, "policies.json holds Infinity, which is no number"),
        (("overall", "gap"), math.nan, "policies.json holds NaN, which is no number"),
        (("overall", "gap_low"), 0.2, "all cells, gap_low: 0.2 is stated"),
        (("overall", "gap_high"), 0.01, "all cells, gap_high: 0.01 is stated"),
        (("by_cell", 0, "gap_high"), 0.1, "act, pick, gap_high: 0.1 is stated"),
        (("by_policy", 1, "margin"), 0.9, "dp, margin: 0.9 is stated"),
        (("by_task", 0, "p_adjusted"), 0.001, "pick, p_adjusted: 0.001 is stated"),
        (("by_cell", 2, "verdict"), "too_few", "dp, pick, verdict: too_few is stated"),
        (("overall", "verdict"), "predicts", "all cells, verdict: predicts is stated"),
        (("by_policy", 0), ..., "by_policy: 2 rows are found, 1 "),
        (("parameters", "seed"), 9, "is stated"),
        (("parameters", "margin"), 0.5, "is stated, 0.5 is found"),
        (("ranking", "r", "value"), 0.5, "r: 0.5 is stated"),
        (("ranking", "by_sim", "policy"), "dp", "choice: dp is stated, act is found"),
        (("ranking",), None, "ranking: none is stated, though"),
    ],
)
def test_a_number_that_was_changed_is_found(forged, path, value, said):
    edit_json(forged / "results/result/policies.json", path, value)
    sign_again(forged)
    lines, wrong = check_policies.check_policy_dossier(forged)
    assert any(said in line for line in wrong), (lines, wrong)


def test_a_result_that_its_trials_do_not_give_is_not_certified(result, tmp_path):
    shutil.copytree(result, tmp_path / "result")
    edit_json(tmp_path / "result/policies.json", ("overall", "p_value"), 0.9)
    with pytest.raises(sj.SimjudgeError, match="trials give: all cells, p_value: 0.9 is stated".replace(".", "[.]")):
        certify([tmp_path / "result"], tmp_path / "dossier")


@pytest.mark.parametrize("name", ["results", "results/result/trials.csv", "results/result/policies.json"])
def test_what_was_taken_away_is_missed(forged, name):
    shutil.rmtree(forged / name) if name == "results" else (forged / name).unlink()
    sign_again(forged)
    done = verify(forged)
    assert done.returncode == 1
    words = "there are no results: nothing was checked" if name == "results" else "cannot be computed: FileNotFound"
    assert f"WRONG: {words}" in done.stdout or f"WRONG: result, {words}" in done.stdout


SHOWN = {
    "a comment": "<!-- Predicts within 0.05 -->",
    "a script": "<script>document.body.prepend('Predicts within 0.05')</script>",
    "a style": "<style>h1::after { content: 'Predicts within 0.05' }</style>",
    "zero-width text": "Pre\u200bdicts within 0.05",
    "words": "<p>Predicts within 0.05</p>",
}


@pytest.mark.parametrize("name", SHOWN)
def test_a_page_that_says_more_is_found(forged, name):
    page = forged / "results/result/index.html"
    page.write_text(page.read_text(encoding="utf-8").replace("</body>", f"{SHOWN[name]}</body>"), encoding="utf-8")
    sign_again(forged)
    assert check_again(forged)[1] == ["results/result/index.html is not what simjudge makes of the results"]


def test_units_conditions_and_pairs_are_dealt_as_the_seed_has_it(tmp_path):
    random = np.random.default_rng(0)
    units = [
        {
            "policy": p,
            "task": t,
            "side": s,
            "light": w,
            "unit": f"{s}{k // 2}",
            "outcome": float(np.clip(random.normal(0.5, 0.2), 0, 1)),
        }
        for p, t, w, s, k in itertools.product("ab", "xy", ("dim", "day"), ("real", "sim"), range(14))
    ]
    pairs = [
        {"policy": p, "task": t, "side": s, "pair": f"p{k}", "success": bool(random.random() < 0.6)}
        for p, t, s, k in itertools.product("ab", "xy", ("real", "sim"), range(14))
    ]
    sj.compare_policies(units, out=tmp_path / "units", weights="trials")
    sj.compare_policies(pairs, out=tmp_path / "pairs")
    certify([tmp_path / "units", tmp_path / "pairs"], tmp_path / "dossier")
    assert check_again(tmp_path / "dossier")[1] == []


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
    assert verify(tmp_path / "dossier").returncode == 0


def test_a_file_that_was_changed_is_found(forged):
    trials = forged / "results/result/trials.csv"
    trials.write_text(trials.read_text().replace("real,act,pick,0.0", "real,act,pick,1.0", 1))
    assert "WRONG: results/result/trials.csv is not the file that manifest.sha256 names" in verify(forged).stdout
    sign_again(forged)
    assert "act, pick, rate_real" in verify(forged).stdout
    assert any("trials.csv is not what" in line or "rate_real" in line for line in check_again(forged)[1])
