"""Tables of trials as people have them."""

import numpy as np
import pandas as pd
import pytest
from policy_trials import published

import simjudge as sj
from simjudge.questions.policies.tables import read_policy_table
from simjudge.questions.policies.trials import PolicyTrials

TRIALS = "policy,task,side,success\na,t,real,1\na,t,real,0\na,t,sim,True\na,t,sim,False\n"


@pytest.fixture
def table(tmp_path):
    def write(text, name="t.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize(
    ("name", "rows", "policies", "tasks", "rates"),
    [
        ("lbm_seen_tasks", 20333, 3, 16, False),
        ("worldgym-decisions", 1020, 3, 17, False),
        ("real2sim-200-trials", 11520, 20, 3, False),
        ("simpler-decisions", 84, 7, 9, True),
        ("wm-policyeval", 48, 3, 4, True),
        ("molmospaces", 48, 8, 3, True),
    ],
)
def test_published_tables_are_read_as_they_are(name, rows, policies, tasks, rates):
    trials = read_policy_table(published(name)).trials
    assert (len(trials), len(trials.policies), len(trials.tasks), trials.has_rates) == (rows, policies, tasks, rates)
    assert not trials.losses


def test_progress_of_one_side_is_read():
    trials = read_policy_table(published("lbm_progress"), "real").trials
    assert len(trials) == 200
    assert set(trials.policies) == {"Single Task", "LBM Finetuned", "LBM Finetuned 15%", "LBM Finetuned 50%"}


def test_a_row_is_a_trial(table):
    trials = read_policy_table(table(TRIALS)).trials
    assert trials.outcome.tolist() == [1, 0, 1, 0]
    assert trials.real.tolist() == [True, True, False, False]


def test_a_row_is_a_cell_with_successes(table):
    trials = read_policy_table(table("method,env,side,n,k\na,t,real,10,7.5\na,t,sim,4,1\n")).trials
    assert sorted(trials.outcome[trials.real]) == [0, 0, 0.5, *[1] * 7]
    assert trials.outcome[~trials.real].sum() == 1


def test_records_and_pandas_tables_are_read_as_files_are(table):
    path = table(TRIALS)
    frame = pd.read_csv(path)
    for source in (frame, frame.to_dict("records")):
        assert read_policy_table(source).trials.outcome.tolist() == [1, 0, 1, 0]


def test_json_lines(table):
    path = table('{"policy": "a", "task": "t", "side": "real", "success": true}\n' * 3, "t.jsonl")
    assert read_policy_table(path).trials.outcome.tolist() == [1, 1, 1]


def test_columns_that_are_called_otherwise_are_named(table):
    path = table("who,where,side,won\na,t,real,1\n")
    with pytest.raises(sj.SimjudgeError, match="no column names the policy; it has who, where, side, won"):
        read_policy_table(path)
    named = {"policy": "who", "task": "where", "outcome": "won"}
    assert read_policy_table(path, columns=named).taken["policy"] == "who"


@pytest.mark.parametrize(
    "text",
    [
        "policy,task,trials,real_successes,sim_successes\na,t,10,7,6\na,t,10,2,3\nb,t,10,5,5\n",
        "policy,task,side,n,k\na,t,real,10,7\na,t,sim,10,6\na,t,real,10,2\na,t,sim,10,3\nb,t,real,10,5\nb,t,sim,10,5\n",
    ],
    ids=["wide", "long"],
)
def test_rows_that_repeat_a_policy_are_checkpoints_in_either_form(table, text):
    trials = read_policy_table(table(text)).trials
    assert trials.policies == ("a #1", "a #2", "b")
    hits = [
        [trials.outcome[(trials.policy == p) & (trials.real == side)].sum() for side in (True, False)] for p in range(3)
    ]
    assert hits == [[7, 6], [2, 3], [5, 5]]
    sessions = read_policy_table(table("session," + "\ns,".join(text.strip().splitlines()))).trials
    assert (sessions.policies, len(np.unique(sessions.unit))) == (("a", "b"), 2)


def test_rates_of_either_side_are_named(table):
    path = table("policy,task,n,real_sr,wm_sr\na,t,10,0.7,0.4\n")
    named = {"real_rate": "real_sr", "sim_rate": "wm_sr"}
    trials = read_policy_table(path, columns=named).trials
    assert (trials.outcome[trials.real].sum(), trials.outcome[~trials.real].sum()) == (7, 4)
    with pytest.raises(sj.UsageError, match="has no rate of the real side; name it with real_rate=NAME"):
        read_policy_table(path, columns={"sim_rate": "wm_sr"})


def test_percent_is_told_by_the_values(table):
    trials = read_policy_table(table("policy,task,side,success_rate,n\na,t,real,70,10\na,t,sim,40,10\n")).trials
    assert trials.outcome[trials.real].mean() == pytest.approx(0.7)
    assert "success_rate is in percent" in trials.notes


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("policy,task,side,n,k\na,t,real,10,11\n", "row 1: 11 successes in 10 trials"),
        ("policy,task,side,n,k\na,t,real,9,1\na,t,real,9,2\na,t,sim,9,1\n", "row 1: a at t has 2 real and 1 simulated"),
        ("policy,task,side,n,k\na,t,real,2.5,1\n", "row 1: 2.5 trials; a whole number from 1 on is needed"),
        ("policy,task,side,success_rate,n\na,t,real,70,10\na,t,sim,0.4,10\n", "row 2: .* percent and shares are mixed"),
        ("policy,task,side,success\na,t,real,1\na,t,moon,1\n", "row 2: side is 'moon', neither real nor sim"),
        ("policy,task,side,success\na,t,real,7\n", r"row 1: success is 7, outside \[0, 1\]"),
        ("policy,task,success\na,t,1\n", "nothing says which trials are real"),
        ("policy,task,side\na,t,real\n", "no column says how trials ended"),
        ("policy,task,side,success\n", "has no rows"),
        ("", "cannot be read as a table|has no rows"),
    ],
)
def test_a_wrong_table_is_refused_in_one_line(table, text, said):
    with pytest.raises(sj.SimjudgeError, match=said) as refused:
        read_policy_table(table(text))
    assert "\n" not in str(refused.value)


def test_trials_without_an_outcome_are_counted(table):
    trials = read_policy_table(table(TRIALS + "a,t,real,\na,t,sim,nan\n")).trials
    assert trials.losses.lines() == ["2 rows without an outcome: row 5; row 6"]
    assert len(trials) == 4


def test_names_with_commas_and_markup_stay_names(table):
    trials = read_policy_table(table('policy,task,side,success\n"a, b <script>",t,real,1\n')).trials
    assert trials.policies == ("a, b <script>",)


def test_other_columns_become_conditions(table):
    lights = list(enumerate(("day", "night")))
    rows = "".join(f"a,t,{side},1,{light},{k}\n" for side in ("real", "sim") for k, light in lights)
    trials = read_policy_table(table("policy,task,side,success,light,friction\n" + rows)).trials
    assert trials.word_names == {"light": ("day", "night")}
    assert trials.numbers["friction"].tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_trials_are_written_and_read_again_without_loss(tmp_path, ending):
    """Names that begin a comment, conditions that are the same everywhere, missing numbers, rates among trials."""
    text = {"policy": ["#1, a", "b <script>", " b", "1"], "task": ["t"] * 4}
    given = PolicyTrials.of_columns(
        *map(np.array, text.values()),
        np.array([True, False, True, False]),
        np.array([0.1 + 0.2, 1, 0, 1 / 3]),
        is_rate=np.array([False, False, True, False]),
        unit=np.array(["s", "", "s", ""]),
        pair=np.array(["p", "p", "", "q"]),
        words={"id": np.array(["1", "2", "", "x"]), "light": np.array(["day"] * 4)},
        numbers={"seed": np.array([1.0, np.nan, 1e-300, 2.5]), "friction": np.ones(4)},
    )
    given.write(tmp_path / f"again.{ending}")
    again = sj.read_policy_trials(tmp_path / f"again.{ending}")
    assert (again.policies, again.tasks, again.pair_names) == (given.policies, given.tasks, given.pair_names)
    assert again.word_names == given.word_names
    for name in ("policy", "task", "real", "outcome", "is_rate", "pair"):
        assert getattr(again, name).tolist() == getattr(given, name).tolist()
    assert (again.unit[:, None] == again.unit).tolist() == (given.unit[:, None] == given.unit).tolist()
    assert {name: list(column) for name, column in again.words.items()} == {
        name: list(column) for name, column in given.words.items()
    }
    for name, column in given.numbers.items():
        np.testing.assert_array_equal(again.numbers[name], column)


def test_a_written_table_that_was_cut_is_refused(table):
    path = table(
        '# simjudge trials: {"words": ["light"], "numbers": []}\nside,policy,task,outcome,is_rate\nreal,a,t,1,False'
    )
    with pytest.raises(sj.SimjudgeError, match="lacks the column light"):
        read_policy_table(path)


def test_a_measured_quantity_becomes_an_outcome(table):
    path = table("policy,task,side,seconds\na,t,real,0\na,t,real,15\na,t,real,60\n")
    assert read_policy_table(path, outcome="seconds:0:30:lower").trials.outcome.tolist() == [1, 0.5, 0]
    with pytest.raises(sj.UsageError, match="seconds:30 is not NAME:LOW:HIGH"):
        read_policy_table(path, outcome="seconds:30")
