import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing

import numpy as np
import pytest

import simjudge as sj
from simjudge.core.errors import SimjudgeError
from simjudge.method.betting import SequenceVerdict
from simjudge.questions.policies.settings import PolicyWatchSettings
from simjudge.questions.policies.trial_files import TrialTable, trial_of_values
from simjudge.questions.policies.watch import TableFollower, watch_policies

HEAD = "policy,task,side,success\n"


def table(path, real, sim, count=300, seed=1):
    random = np.random.default_rng(seed)
    rows = [
        f"a,x,{side},{int(random.random() < rate)}\n"
        for _ in range(count)
        for side, rate in (("real", real), ("sim", sim))
    ]
    path.write_text(HEAD + "".join(rows))
    return path


def test_equal_sides_predict_and_unlike_ones_have_a_gap(tmp_path):
    lines = []
    same = watch_policies(table(tmp_path / "a.csv", 0.97, 0.97, 900), follow=False, margin=0.2, log=lines.append)
    assert same.verdict is SequenceVerdict.PREDICTS
    assert "predicts within 20 points" in lines[-1]
    unlike = watch_policies(table(tmp_path / "b.csv", 0.2, 0.9), tmp_path / "out", follow=False)
    assert unlike.verdict is SequenceVerdict.GAP
    assert "worse than the simulation says" in unlike.meaning
    read = sj.load_result(tmp_path / "out")
    assert read.content["looks"] == unlike.content["looks"]
    page = read.report(tmp_path / "page.html").path.read_text()
    assert "worse than the simulation says" in page


def test_verdict_ends_at_the_first_certain_look_whatever_comes_later(tmp_path):
    path = table(tmp_path / "a.csv", 0.1, 0.9)
    found = watch_policies(path, follow=False)
    look = found.saved.last
    assert look["entered"] < 60
    assert look["high"] < 0
    longer = path.with_name("b.csv")
    longer.write_text(path.read_text() + "a,x,real,1\na,x,sim,0\n" * 400)
    assert watch_policies(longer, follow=False).saved.last == look


def test_a_growing_file_is_followed_and_half_a_line_waits(tmp_path):
    path = tmp_path / "a.csv"
    follower = TableFollower(path, PolicyWatchSettings())
    assert follower.new_trials() == []
    path.write_text(HEAD + "a,x,real,1\na,x,si")
    assert [each.real for each in follower.new_trials()] == [True]
    with path.open("a") as file:
        file.write("m,0\n")
    assert [each.outcome for each in follower.new_trials()] == [0.0]
    path.write_text(HEAD + "a,x,real,0\n")
    with pytest.raises(SimjudgeError, match=r"a\.csv: what was read before has changed"):
        follower.new_trials()


def test_following_ends_when_certain(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(HEAD)

    def write():
        for row in table(tmp_path / "all.csv", 0.1, 0.9).read_text().splitlines()[1:]:
            with path.open("a") as file:
                file.write(f"{row}\n")

    writer = threading.Thread(target=write)
    writer.start()
    assert watch_policies(path, period=0.01).verdict is SequenceVerdict.GAP
    writer.join()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("policy,task,success\na,x,1\n", "nothing says which trials are real"),
        ("policy,task,side,trials,successes\na,x,real,10,3\na,x,sim,10,3\n", "rows are cells"),
    ],
)
def test_what_cannot_be_watched_is_refused_in_a_line(tmp_path, text, said):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(SimjudgeError, match=said):
        watch_policies(tmp_path / "a.csv", follow=False)


def test_ctrl_c_leaves_the_state_said_and_the_result(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(HEAD + "a,x,real,1\na,x,sim,0\n")
    command = [sys.executable, "-m", "simjudge", "watch-policies", str(path), "--out", str(tmp_path / "out")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"})
    assert "1 real     1 sim" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "so far: 1 real" in said
    assert json.loads((tmp_path / "out" / "policy_watch.json").read_text())["looks"][-1]["entered"] == 1


def test_rows_of_a_table_are_on_the_disk_and_a_cut_line_is_cut_away(tmp_path):
    path = tmp_path / "t.jsonl"
    made = TrialTable(path)
    made.add(trial_of_values({"Policy": "a", "task": "x", "success": "True"}, "real"))
    assert json.loads(path.read_text())["outcome"] == 1.0, "before it is closed"
    with path.open("a") as file:
        file.write('{"policy": "b')
    made.close()
    again = TrialTable(path)
    again.add(trial_of_values({"method": "b", "env": "y", "progress": 0.5, "side": "sim"}, "real"))
    again.close()
    with closing(TrialTable(path)) as third:
        assert [(each.policy, each.real) for each in third.held] == [("a", True), ("b", False)]
    for values, said in (
        ({"policy": "a", "task": "x", "success": "2"}, "from 0 to 1 is needed"),
        ({"task": "x", "success": 1}, "no policy"),
        ({"policy": "a", "task": "x"}, "no outcome"),
        ({"policy": "a", "task": "x", "success": 1, "side": "moon"}, "side 'moon'"),
    ):
        with pytest.raises(SimjudgeError, match=said):
            trial_of_values(values, "real")


def test_a_hundred_thousand_rows_are_looked_at_in_seconds(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(HEAD + "a,x,sim,1\n" * 100_000 + "a,x,real,1\n" * 5)
    begin = time.monotonic()
    found = watch_policies(path, follow=False)
    assert found.saved.last["entered"] == 5
    assert time.monotonic() - begin < 30


@pytest.mark.parametrize("row", ["a,t,real,3", "a,t,reel,1"])
def test_a_row_that_cannot_be_read_is_named_with_its_file(tmp_path, row):
    (tmp_path / "x.csv").write_text(f"policy,task,side,success\na,t,sim,1\n{row}\n")
    with pytest.raises(SimjudgeError, match=r"x\.csv, row 2: "):
        watch_policies(tmp_path / "x.csv", follow=False)
