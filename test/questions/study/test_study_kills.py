"""Studies that are killed: at every file operation of a step, between steps, with a worker, with the whole cluster.

Each goes on afterwards to the bytes of a study that nobody has stopped.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from dask_processes import dask_processes, end, start, wait_until
from random_frames import made

from simjudge.core.errors import SimjudgeError
from simjudge.data.sets import write_set
from simjudge.questions.study.file import read_study
from simjudge.questions.study.run import StudyRunOptions, run_steps
from simjudge.questions.study.study import VERBS

LABELS = """
title: Parts of a set, joined again
steps:
  parts: {split: {source: set.json, parts: 2, to: json}}
  again: {join: {sources: [{step: parts, file: 1.json}, {step: parts, file: 2.json}], to: json}}
"""
JUDGED = """
title: Is a part of a set like the other?
sizes: {small: {draws: 20}, long: {draws: 100000}}
steps:
  parts: {matrix: {seed: [0, 1]}, split: {source: set.json, parts: 2, to: json, seed: "${seed}"}}
  judged:
    matrix: {seed: [0, 1]}
    compare:
      a: {step: "parts-${seed}", file: 1.json}
      b: {step: "parts-${seed}", file: 2.json}
      draws: {size: draws}
      theta: 0.3
"""
OPERATIONS = ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.link", "open", "shutil.rmtree")


def contents(folder):
    """Every file that a study has made, but for times and logs."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(".step.json")]
    ours = [path for path in files if not {".work", "logs", ".running"} & set(path.relative_to(folder).parts)]
    return {str(path.relative_to(folder)): path.read_bytes() for path in ours}


@pytest.fixture
def study_file(tmp_path):
    write_set(made(3, frames=8), tmp_path / "set.json")

    def written(content):
        (tmp_path / "study.yaml").write_text(content)
        return tmp_path / "study.yaml"

    return written


def run_killed(study, out, operation, **options):
    """Run a study in a process that kills itself before its n-th file operation; whether it was killed."""
    child = os.fork()
    if child:
        return os.WIFSIGNALED(os.waitpid(child, 0)[1])
    seen = 0

    def watch(event, arguments):
        nonlocal seen
        if event in OPERATIONS and str(arguments[0]).startswith(str(out)):
            seen += 1
            if seen == operation:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)
    try:
        run_steps(study, out, VERBS, **options)
    finally:
        os._exit(0)


@pytest.mark.long
@pytest.mark.slow
def test_killed_at_every_file_operation_it_ends_with_the_same_bytes(study_file, tmp_path):
    study, out = read_study(study_file(LABELS), VERBS), tmp_path / "out"
    run_steps(study, out, VERBS)
    whole = contents(out)
    assert {"parts/1.json", "parts/2.json", "again.json", "study.json"} <= set(whole)
    out.rename(tmp_path / "whole")
    operation, killed = 0, True
    while killed:
        operation += 1
        killed = run_killed(study, out, operation)
        done = {path.name for path in out.glob("*.step.json")} if out.exists() else set()
        result = run_steps(study, out, VERBS)
        result.check()
        assert {f"{each.name}.step.json" for each in result.steps if each.kept} == done, "only what is missing is done"
        assert contents(out) == whole, f"killed before operation {operation}"
        assert not (out / ".work").exists()
        for path in sorted(out.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        out.rmdir()
    assert operation > 40


def needs_dask():
    pytest.importorskip("distributed", reason="Dask (the extra `study`) is not installed")


def start_study(file, out, *options):
    command = ["-m", "simjudge", "study", "run", str(file), "--out", str(out), "--size", "long", *options]
    return start(command, out.with_suffix(".txt"))


@pytest.mark.slow
@pytest.mark.long
def test_killed_with_its_jobs_it_goes_on_to_the_same_bytes(study_file, tmp_path):
    needs_dask()
    file, out = study_file(JUDGED), tmp_path / "out"
    assert start_study(file, out, "--jobs", "1").wait() == 0
    whole = contents(out)
    out.rename(tmp_path / "whole")
    running = start_study(file, out, "--jobs", "2")
    wait_until(lambda: (out / "logs/judged-0.log").exists() and (out / "logs/judged-1.log").exists(), running)
    below = psutil.Process(running.pid).children(recursive=True)
    assert len(below) >= 4, "two workers, and a process for each step"
    end(running)
    assert not psutil.wait_procs(below, timeout=60)[1], "nothing of it runs on"
    assert not all((out / name).exists() for name in ("judged-0", "judged-1")), "it was killed before it was done"
    assert (out / "parts-0.step.json").exists()
    again = start_study(file, out, "--jobs", "2")
    assert again.wait() == 0, out.with_suffix(".txt").read_text()
    assert "parts-0: kept" in out.with_suffix(".txt").read_text()
    assert contents(out) == whole


@pytest.mark.slow
@pytest.mark.long
def test_ctrl_c_stops_it_with_its_jobs(study_file, tmp_path):
    needs_dask()
    file, out = study_file(JUDGED), tmp_path / "out"
    running = start_study(file, out, "--jobs", "2")
    wait_until(lambda: (out / "logs/judged-0.log").exists() and (out / "logs/judged-1.log").exists(), running)
    below = psutil.Process(running.pid).children(recursive=True)
    os.killpg(running.pid, signal.SIGINT)
    assert running.wait() == 130
    assert out.with_suffix(".txt").read_text().splitlines()[-1] == "stopped"
    assert "Traceback" not in out.with_suffix(".txt").read_text()
    assert not psutil.wait_procs(below, timeout=60)[1], "nothing of it runs on"


@pytest.fixture
def cluster(tmp_path):
    needs_dask()
    with dask_processes(tmp_path) as processes:
        yield processes


@pytest.mark.slow
@pytest.mark.long
def test_steps_of_a_worker_that_dies_run_elsewhere_and_a_cluster_may_go_away(study_file, cluster, tmp_path):
    file, out = study_file(JUDGED), tmp_path / "out"
    assert start_study(file, out, "--jobs", "1").wait() == 0
    whole = contents(out)
    out.rename(tmp_path / "whole")
    address, scheduler, worker = cluster
    first, second = worker("a"), worker("b")

    running = start_study(file, out, "--scheduler", address)
    wait_until(lambda: psutil.Process(first.pid).children() and (out / "logs/judged-0.log").exists(), running)
    end(first)
    assert running.wait() == 0, out.with_suffix(".txt").read_text()
    assert contents(out) == whole, "on a cluster, and with a worker less"

    for path in out.glob("judged-*.step.json"):
        path.unlink()
    running = start_study(file, out, "--scheduler", address)
    wait_until(lambda: psutil.Process(second.pid).children(), running)
    end(scheduler)
    end(second)
    assert running.wait() == 1
    said = out.with_suffix(".txt").read_text()
    assert "the Dask scheduler is gone; run the same command again" in said
    assert "Traceback" not in said
    assert start_study(file, out, "--jobs", "1").wait() == 0
    assert contents(out) == whole


def test_no_scheduler_answers(study_file, tmp_path, monkeypatch):
    needs_dask()
    monkeypatch.setattr("simjudge.judging.join_cluster._CONNECT_SECONDS", 0.2)
    with pytest.raises(SimjudgeError, match=r"--scheduler tcp://127.0.0.1:9: no Dask scheduler answers there"):
        run_steps(
            read_study(study_file(LABELS), VERBS),
            tmp_path / "out",
            VERBS,
            options=StudyRunOptions(scheduler="tcp://127.0.0.1:9"),
        )


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", pytest.param("2", marks=pytest.mark.long)])
def test_a_full_disk_is_said_and_nothing_half_written_stays(study_file, tmp_path, jobs):
    if jobs != "1":
        needs_dask()
    file, out = study_file(LABELS.replace("parts: 2,", "parts: 2, seed: 1,")), tmp_path / "out"
    write_set(made(3, frames=200), tmp_path / "large.json")
    more = "  more: {split: {source: set.json, to: json}}\n"
    file.write_text(file.read_text().replace("set.json", "large.json") + more)
    limit = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (30000, 30000)); from simjudge.cli import "
    command = [sys.executable, "-c", f"{limit}main; main()", "study", "run", str(file), "--out", str(out), "-j", jobs]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 1, ended.stderr
    assert "step parts failed" in ended.stderr
    assert "the disk is full (or a file-size limit is reached)" in ended.stderr
    assert "not begun, because they need it: again" in ended.stderr
    assert not (out / "parts").exists()
    assert (out / "more" / "1.json").exists(), "a step that does not need it is done"
    run_steps(read_study(file, VERBS), out, VERBS).check()
    assert Path(out / "again.json").exists()
