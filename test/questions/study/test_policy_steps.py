"""A comparison of policies is a step of a study like any other: page, findings, --fail-on."""

from support.processes import simjudge as run

STUDY = """
title: Policies
inputs: {trials: a table}
sizes: {small: {}}
steps:
  judged:
    compare_policies: {real: {input: trials}, draws: 199}
"""


def test_a_study_compares_policies(tmp_path):
    (tmp_path / "mini.yaml").write_text(STUDY)
    cells = [("act", 40, 10), ("dp", 20, 8)]
    rows = "".join(f"{p},t,real,50,{a}\n{p},t,sim,50,{b}\n" for p, a, b in cells)
    (tmp_path / "trials.csv").write_text("policy,task,side,trials,successes\n" + rows)
    given = ["study", "run", tmp_path / "mini.yaml", "--input", f"trials={tmp_path / 'trials.csv'}"]
    done = run(*given, "--out", tmp_path / "out", "--fail-on", "gap")
    assert done.returncode == 4, done.stderr
    assert "judged, all: gap 0." in done.stderr
    page = (tmp_path / "out/index.html").read_text()
    assert "The simulation picks the policy that is best on the robot, act" in page
    assert "Which order can be told" in (tmp_path / "out/judged.html").read_text()
