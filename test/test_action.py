"""action.yml, the gate for GitHub: its step runs as GitHub runs it."""

import os
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]


def judge_step():
    steps = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
    return next(step["run"] for step in steps if step.get("name") == "judge")


def run_step(folder, **given):
    inputs = yaml.safe_load((ROOT / "action.yml").read_text())["inputs"]
    values = {name.upper(): str(value.get("default", "")) for name, value in inputs.items()} | given
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, **values, "PATH": path, "GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", judge_step()],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_a_gap_fails_the_job_and_leaves_summary_report_and_junit(tmp_path):
    golden = ROOT / "test/golden"
    done = run_step(tmp_path, REAL=str(golden / "a.json"), SIM=str(golden / "b.json"), OPTIONS="--theta 0.7 --draws 99")
    assert done.returncode in {4, 5}, done.stderr
    assert "failed" in (tmp_path / "summary.md").read_text().splitlines()[0]
    assert "├" in (tmp_path / "summary.md").read_text(encoding="utf-8")  # the intervals, drawn
    out = tmp_path / "simjudge-result"
    assert {file.name for file in out.iterdir()} == {"result", "judged.xml", "report.html"}


def test_an_input_that_is_missing_fails_with_its_line(tmp_path):
    done = run_step(tmp_path, REAL="none.json", SIM="none.json")
    assert done.returncode == 1
    assert "none.json" in done.stderr + done.stdout
