"""`simjudge robot policies` and `sj.compare_policies`, from tables to the page."""

import json

import numpy as np
import pytest
from policy_trials import published
from support.processes import simjudge as run

import simjudge as sj

HEAD = "policy,task,side,success\n"


def rows(policy, task, side, hits, count):
    return "".join(f"{policy},{task},{side},{int(k < hits)}\n" for k in range(count))


@pytest.fixture
def both_sides(tmp_path):
    path = tmp_path / "trials.csv"
    cells = [("act", 40, 20), ("diffusion", 25, 12), ("rt <b>&", 5, 4)]
    path.write_text(HEAD + "".join(rows(p, "pick", "real", a, 50) + rows(p, "pick", "sim", b, 50) for p, a, b in cells))
    return path


def test_the_command_says_choice_and_rates_and_writes_a_page(both_sides, tmp_path):
    done = run("compare-policies", both_sides, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "The simulation picks the policy that is best on the robot, act" in done.stderr + done.stdout
    assert "it cannot be trusted for rates: it says 24 %, the robot does 47 %" in " ".join(
        (done.stderr + done.stdout).split()
    )
    content = json.loads((tmp_path / "out/policies.json").read_text())
    assert content["overall"]["verdict"] in {"gap", "large_gap"}
    assert run("report", tmp_path / "out", "--out", tmp_path / "page.html").returncode == 0
    page = (tmp_path / "page.html").read_text()
    assert "<b>&</td>" not in page
    assert page.count("<svg") == 3


def test_two_tables_are_two_sides(both_sides, tmp_path):
    text = both_sides.read_text()
    for side in ("real", "sim"):
        lines = [line.replace(f",{side},", ",") for line in text.splitlines() if f",{side}," in line]
        (tmp_path / f"{side}.csv").write_text("policy,task,success\n" + "\n".join(lines))
    split = sj.compare_policies(tmp_path / "real.csv", tmp_path / "sim.csv")
    joined = sj.compare_policies(both_sides)
    # Draws are dealt to the trials in another order.
    assert split.content["overall"]["w1"] == joined.content["overall"]["w1"]
    assert split.content["overall"]["gap"] == pytest.approx(joined.content["overall"]["gap"], rel=0.05)
    assert split.content["ranking"] == joined.content["ranking"]


def test_a_saved_result_is_read_again(both_sides, tmp_path):
    made = sj.compare_policies(both_sides, out=tmp_path / "out")
    read = sj.load_result(tmp_path / "out", sj.PolicyComparisonResult)
    assert read.content == made.content
    assert str(read) == str(made)
    assert set(read.figures) == {"bars", "scatter", "pairs"}


def test_names_of_the_simulation_are_joined_by_rename(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(HEAD + rows("act", "pick", "real", 8, 20) + rows("ACT_v2", "Pick-v0", "sim", 8, 20))
    with pytest.raises(sj.SimjudgeError, match="no policy has real and simulated trials at one task"):
        sj.compare_policies(path)
    found = sj.compare_policies(path, rename={"ACT_v2": "act", "Pick-v0": "pick"})
    assert found.content["policies"] == ["act"]


def test_what_one_side_alone_has_is_counted(both_sides):
    both_sides.write_text(both_sides.read_text() + rows("only real", "pick", "real", 1, 2))
    assert sj.compare_policies(both_sides).losses == ["1 policy with real trials alone: only real"]


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ([("a", 10, 10)], "predicts|cannot_tell|too_few"),  # all successes
        ([("a", 0, 0)], "predicts|cannot_tell|too_few"),  # all failures
    ],
)
def test_cells_without_any_spread_are_judged(tmp_path, cells, said):
    path = tmp_path / "t.csv"
    path.write_text(HEAD + "".join(rows(p, "t", "real", a, 10) + rows(p, "t", "sim", b, 10) for p, a, b in cells))
    assert sj.compare_policies(path).content["overall"]["verdict"] in said.split("|")


def test_rates_without_numbers_of_trials_are_not_tested(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "policy,task,real_success,sim_success\n" + "".join(f"p{k},t,0.{k},0.{k + 1}\n" for k in range(1, 8))
    )
    found = sj.compare_policies(path, margin=0.2)
    assert (found.content["overall"]["verdict"], found.content["overall"]["margin"]) == ("not_tested", 0.2)
    assert found.content["ranking"]["verdict"] == "not_tested"
    assert "rates: not tested" in found.meaning


@pytest.mark.parametrize(
    ("cells", "count", "said"),
    [
        # A certain gap below the margin passes --require predicts:0.1: its rates are not called untrustworthy.
        ({("a", "t"): (0.62, 0.65)}, 20_000, "Its rates predict the real ones within 10 points."),
        (
            {("a", "t"): (0.6, 0.1), ("a", "u"): (0.1, 0.6)},
            100,
            "single cells differ by 50 points on average, though it says 35 % and the robot does 35 %.",
        ),
        (
            {("a", "t"): (1, 0), ("b", "t"): (0, 1)},
            1,
            "The simulation picks b, and in these trials the robot does best with a (chance of error ",
        ),
        (
            {("a", "t"): (0.5, 0.9), ("b", "t"): (0.8, 0.9)},
            100,
            "The simulation does not choose between a, b, which do best in it alike; deploying a of them costs 29",
        ),
    ],
)
def test_the_lead_says_what_the_verdict_does(cells, count, said):
    rows = [
        {"policy": policy, "task": task, "side": side, "trials": count, "successes": round(rate * count)}
        for (policy, task), rates in cells.items()
        for side, rate in zip(("real", "sim"), rates, strict=True)
    ]
    assert said in sj.compare_policies(rows, draws=199).meaning.replace("\xa0", " ")


def test_two_hundred_policies_are_compared(tmp_path):
    random = np.random.default_rng(0)
    path = tmp_path / "t.csv"
    lines = [f"p{k},t,{side},20,{random.binomial(20, k / 200)}" for k in range(200) for side in ("real", "sim")]
    path.write_text("policy,task,side,trials,successes\n" + "\n".join(lines))
    found = sj.compare_policies(path, draws=199)
    assert len(found.content["ranking"]["policies"]) == 200
    assert found.content["ranking"]["rho"]["value"] > 0.8


def test_each_robot_and_each_simulator_has_a_ranking_of_its_own():
    result = sj.compare_policies(published("wm-policyeval"))
    assert "Under world_model IRASim alone, the simulation picks Octo-Base, which costs 27.5 points" in result.meaning
    found = result.content["rankings"]
    by_model = {row["value"]: row for row in found if row["condition"] == "world_model"}
    assert by_model["IRASim"]["r"]["value"] == pytest.approx(0.5074, abs=5e-5)
    assert by_model["IRASim"]["by_sim"]["regret"] == pytest.approx(0.275)
    assert by_model["Cosmos"]["by_sim"]["regret"] == 0


def test_real_trials_that_stand_beside_each_simulator_are_told():
    rates = {"a": (10, 13, 15), "b": (14, 17, 19), "c": (6, 9, 11)}
    rows = [
        {"policy": p, "task": "t", "trials": 20, "real_successes": real, "sim_successes": sim, "simulator": name}
        for p, (real, *simulated) in rates.items()
        for name, sim in zip(("one", "two"), simulated, strict=True)
    ]
    said = "real outcomes are the same under each simulator"
    assert any(note.startswith(said) for note in sj.compare_policies(rows, draws=199).content["notes"])
    other = [row | {"real_successes": row["real_successes"] - (row["simulator"] == "two")} for row in rows]
    assert not any(said in note for note in sj.compare_policies(other, draws=199).content["notes"])


def test_a_gap_fails_the_command_where_it_is_asked_to(both_sides, tmp_path):
    failed = run("compare-policies", both_sides, "--out", tmp_path / "out", "--fail-on", "gap")
    assert failed.returncode == 4
    assert "--fail-on gap: out, all: gap 0." in failed.stderr
    passed = run("compare-policies", both_sides, "--out", tmp_path / "out", "--fail-on", "gap:0.6")
    assert passed.returncode == 0
    assert "--fail-on gap:0.6: passed" in passed.stderr


def test_conditions_that_are_numbers_are_a_map_of_the_page(tmp_path):
    random = np.random.default_rng(0)
    lines = [
        f"act,pick,{side},{int(random.random() < 0.6)},{x:.3f},{y:.3f},12"
        for side in ("real", "sim")
        for x, y in random.random((40, 2))
    ]
    path = tmp_path / "t.csv"
    path.write_text("policy,task,side,success,x,y,episode_length\n" + "\n".join(lines))
    sj.compare_policies(path, out=tmp_path / "out")
    assert run("report", tmp_path / "out", "--out", tmp_path / "page.html").returncode == 0
    assert "Where the simulation misleads" in (tmp_path / "page.html").read_text()
    assert sj.load_result(tmp_path / "out").content["contexts"]["columns"] == ["x", "y"]


def test_rows_of_a_condition_say_which_it_is(tmp_path):
    cells = [(light, side, hits) for light, hits in (("dark", 4), ("bright", 8)) for side in ("real", "sim")]
    rows = [
        {"policy": p, "task": "t", "side": side, "light": light, "success": int(k < hits)}
        for p in ("a", "b")
        for light, side, hits in cells
        for k in range(10)
    ]
    page = sj.compare_policies(rows, out=tmp_path / "out").report(tmp_path / "x.html").path.read_text()
    by_light = page[page.index("By light") :]
    assert by_light.index(">bright<") < by_light.index(">dark<") < by_light.index("By cell")
    assert by_light[by_light.index("By cell") :].count(">dark<") == 2
