"""`simjudge compare` and `sweep` as a user runs them: what is written, what is said, how they end."""

from __future__ import annotations

import json
import resource
import shutil
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pyarrow.parquet as pq
import pytest
from support import processes

from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects, Predictions
from simjudge.data.sets import write_set

FEW = ["--draws", "20"]


def made(seed: int, count: int = 12, name_of_class: str = "cone") -> FrameSet:
    random = np.random.default_rng(seed)
    corner = random.integers(20, 300, (count, 2)).astype(float)
    box = np.concatenate([corner, corner + 40], axis=1)
    return FrameSet.build(
        f"set{seed}",
        [[640, 480]] * count,
        Objects.build(np.arange(count), np.ones(count), box),
        Predictions.build(np.arange(count), np.ones(count), box + random.normal(0, 3, box.shape), np.full(count, 0.9)),
        class_names={1: name_of_class},
    )


def run(*arguments, cwd: Path, **options) -> processes.CompletedProcess[str]:
    command = [*processes.SIMJUDGE, *map(str, arguments)]
    return processes.run(command, cwd=cwd, capture_output=True, text=True, check=False, **options)


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("compare")
    for name, seed in (("a", 1), ("b", 2)):
        write_set(made(seed), folder / f"{name}.json")
    write_set(made(3).with_predictions(None), folder / "bare.json")
    write_set(made(4, name_of_class="duck"), folder / "ducks.json")
    return folder


@pytest.mark.slow
def test_a_comparison_leaves_a_result_and_a_table(place):
    done = run("compare", "a.json", "b.json", *FEW, "--out", "r", cwd=place)
    assert done.returncode == 0, done.stderr
    assert "  cone " in done.stdout
    assert len(done.stdout.splitlines()) < 12
    assert max(map(len, done.stdout.splitlines())) <= 100
    assert "W1" not in done.stdout
    assert "simjudge report r" in done.stderr
    result = json.loads((place / "r" / "result.json").read_text())
    assert result["parameters"]["patch_chosen"]
    assert result["inputs"]["a"]["objects"] == 12
    assert len(result["inputs"]["a"]["sha256"]) == 64
    assert result["class_names"] == {"1": "cone"}
    table = pq.read_table(place / "r" / "contexts.parquet")
    entry = result["by_class"]["1"]
    assert table.num_rows == entry["n_a"] + entry["n_b"] == 24
    assert entry["mean_w1"] == pytest.approx(np.nanmean([v for v in table["w1"].to_pylist() if v is not None]))
    assert entry["gap_low"] <= entry["gap"] <= entry["gap_high"]
    again = run("compare", "a.json", "b.json", *FEW, "--out", "r", cwd=place)
    assert again.returncode == 0
    assert json.loads((place / "r" / "result.json").read_text()) == result


@pytest.mark.slow
def test_a_sweep_leaves_curves(place):
    done = run(
        "sweep",
        "a.json",
        "b.json",
        "--thetas",
        "0.5,0.8",
        "--patch",
        "120",
        "--patches",
        "60,120",
        "--out",
        "s",
        cwd=place,
    )
    assert done.returncode == 0, done.stderr
    curves = json.loads((place / "s" / "sweep.json").read_text())["curves"]
    assert [(c["patch"], c["theta"]) for c in curves] == [([60, 60], 0.8), ([120, 120], 0.5), ([120, 120], 0.8)]


def test_a_gap_ends_a_check_with_exit_code_4(place):
    worse = made(5, 60)
    box = worse.objects.box + np.array([12, 0, 12, 0])
    found = Predictions.build(np.arange(60), np.ones(60), box, np.full(60, 0.9))
    write_set(made(6, 60), place / "good.json")
    write_set(worse.with_predictions(found), place / "worse.json")
    more = ["--patch", "40", "--draws", "100", "--fail-on"]
    done = run("compare", "good.json", "worse.json", *more, "gap", "--out", "f", cwd=place)
    assert done.returncode == 4, done.stderr
    assert "--fail-on gap: " in done.stderr
    assert (place / "f" / "result.json").is_file()
    done = run("compare", "good.json", "good.json", *more, "gap:0.1", "--out", "f", cwd=place)
    assert done.returncode == 0, done.stderr
    assert "passed; a gap of" in done.stderr


def test_what_is_required_is_written_for_ci_and_decides_the_exit_code(place):
    write_set(made(7, 3), place / "small.json")
    (place / "summary.md").write_text("# before\n")
    more = ["--patch", "40", "--draws", "100", "--junit", "j.xml", "--summary", "summary.md", "--out", "r"]
    few = run("compare", "small.json", "small.json", *more, "--fail-on", "gap", cwd=place)
    assert few.returncode == 0, few.stderr
    few = run("compare", "small.json", "small.json", *more, "--require", "predicts:0.9", cwd=place)
    assert few.returncode == 6, few.stderr
    assert "--require predicts:0.9: small against small, all classes: too few" in few.stderr
    said = (place / "summary.md").read_text()
    assert said.startswith("# before\n### simjudge compare: passed\n")
    assert "### simjudge compare: failed (too few)\n" in said
    (suite,) = ET.parse(place / "j.xml").getroot()  # noqa: S314 - it is our own
    assert (suite.get("name"), suite.find("testcase/failure").get("type")) == ("small against small", "too few")
    both = run("compare", "a.json", "b.json", "--fail-on", "gap", "--require", "predicts", "--out", "x", cwd=place)
    assert (both.returncode, "give one of them" in both.stderr) == (2, True)
    (place / "notes.xml").write_text("mine")
    kept = run("compare", "a.json", "b.json", "--junit", "notes.xml", "--out", "x", cwd=place)
    assert (kept.returncode, (place / "notes.xml").read_text()) == (1, "mine")


def test_predictions_can_come_from_elsewhere(place):
    write_set(made(3), place / "predicted.json")
    done = run("compare", "bare.json", "b.json", "--a-predictions", "predicted.json", *FEW, "--out", "e", cwd=place)
    assert done.returncode == 0, done.stderr
    inputs = json.loads((place / "e" / "result.json").read_text())["inputs"]
    assert inputs["a"]["predictions_path"] == "predicted.json"


def test_predictions_for_other_frames_are_counted(place):
    other = made(3)
    names = [*other.frame_name[:10], "elsewhere1", "elsewhere2"]
    write_set(replace(other, frame_name=names), place / "others.json")
    done = run("compare", "bare.json", "b.json", "--a-predictions", "others.json", *FEW, "--out", "o", cwd=place)
    assert done.returncode == 3, done.stderr
    assert "elsewhere1" in done.stderr
    assert json.loads((place / "o" / "result.json").read_text())["inputs"]["a"]["frames"] == 10


def test_pairs_are_made_by_name(place):
    done = run("compare", "a.json", "b.json", "--paired", *FEW, "--out", "p", cwd=place)
    assert done.returncode == 0, done.stderr
    result = json.loads((place / "p" / "result.json").read_text())
    assert result["parameters"]["paired"]
    assert "pointwise_mean_difference" in result["overall"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["compare", "bare.json", "b.json"], 1, "holds no predictions"),
        (["compare", "a.json", "ducks.json"], 1, "no class in common"),
        (["compare", "a.json", "nothing.json"], 1, "nothing.json"),
        (["compare", "a.json", "b.json", "--model", "no.onnx"], 2, "no.onnx"),
        (["compare", "a.json", "b.json", "--patch", "big"], 2, "120x120"),
        (["compare", "a.json", "b.json", "--theta", "nan"], 2, "theta"),
        (["compare", "a.json", "b.json", "--metric", "luck"], 2, "iou"),
        (["compare", "a.json", "b.json", "--preset", "mine"], 2, "paper"),
        (["compare", "a.json", "b.json", "--draws", "-1"], 2, "draws"),
        (["compare", "a.json", "b.json", "--fail-on", "gaps"], 2, "gap:0.05"),
        (["compare", "a.json", "b.json", "--fail-on", "gap", "--draws", "0"], 2, "--draws 0"),
        (["compare", "a.json", "b.json", "--require", "gap"], 2, "predicts:0.05"),
        (["sweep", "a.json", "b.json", "--thetas", "0.5:0.9"], 2, "first:last:count"),
    ],
)
def test_errors_are_one_line_and_leave_nothing(place, arguments, code, said):
    done = run(*arguments, "--out", "never", cwd=place)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    if code == 1:
        assert done.stderr.count("\n") == 1
    assert not (place / "never").exists()
    assert not list(place.glob(".never*"))


def test_a_folder_that_holds_something_else_is_not_touched(place):
    (place / "mine").mkdir(exist_ok=True)
    (place / "mine" / "thesis.tex").write_text("years of work")
    done = run("compare", "a.json", "b.json", *FEW, "--out", "mine", cwd=place)
    assert done.returncode == 1
    assert "thesis.tex" in done.stderr
    assert (place / "mine" / "thesis.tex").read_text() == "years of work"


@pytest.mark.parametrize("most", [2_000, 6_000])
def test_a_full_disk_leaves_nothing_half_written(place, most):
    """The kernel refuses to let any file grow beyond `most` bytes, in the middle of writing."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    done = run("compare", "a.json", "b.json", *FEW, "--out", "full", cwd=place, preexec_fn=limit)
    assert done.returncode == 1, done.stderr
    assert "disk is full" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (place / "full").exists()
    assert not list(place.glob(".full*"))


def test_an_earlier_result_survives_a_failed_one(place):
    shutil.rmtree(place / "kept", ignore_errors=True)
    assert run("compare", "a.json", "b.json", *FEW, "--out", "kept", cwd=place).returncode == 0
    before = (place / "kept" / "result.json").read_text()

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, 2_000))

    assert run("compare", "b.json", "a.json", *FEW, "--out", "kept", cwd=place, preexec_fn=limit).returncode == 1
    assert (place / "kept" / "result.json").read_text() == before
