"""`simjudge sim train` for real, on painted pictures: what it leaves, that it learns, and how it ends."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from painted_data import paint

from simjudge.core.files import hash_files
from simjudge.data.sets import read_set
from simjudge.detectors.assignment import OVERALL, average_precision
from simjudge.detectors.detection import detect, load_detector

pytest.importorskip("torch", reason="the extra 'train' is not installed")
pytestmark = pytest.mark.xdist_group("ultralytics")
SMALL = ["--size", "pico", "--imgsz", "96", "--workers", "0", "--device", "cpu"]


def command(*arguments):
    return [sys.executable, "-c", "from simjudge.cli import main; main()", "train", *map(str, arguments)]


def run(*arguments):
    return subprocess.run(command(*arguments), capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A detector trained for half a minute, and what was said."""
    folder = tmp_path_factory.mktemp("trained")
    data = paint(folder / "data", 64)
    out = folder / "signs.onnx"
    keep = folder / "kept"
    done = run(data, "--out", out, *SMALL, "--epochs", 30, "--batch", 4, "--half", "--keep", keep)
    assert done.returncode == 0, done.stderr
    return data, out, keep, done


@pytest.mark.slow
def test_it_learns(trained):
    data, out, _, done = trained
    assert "split by source photograph" in done.stderr
    assert "epoch 30/30: loss" in done.stderr
    assert done.stdout.startswith(f"{out}: mAP50 ")
    unseen = read_set(paint(data.parent / "unseen", 20, seed=9))
    at50, _ = average_precision(detect(unseen, load_detector(out)))[OVERALL]
    assert at50 > 0.8


@pytest.mark.slow
def test_the_card_tells_the_truth(trained):
    data, out, _, done = trained
    card = json.loads(out.with_suffix(".json").read_text())
    assert card["sha256"] == hash_files(out)
    assert card["data"]["sha256"] == hash_files(data)
    assert card["classes"] == ["red", "green"]
    counts = card["data"]
    assert counts["train_pictures"] + counts["valid_pictures"] == 64
    assert counts["train_objects"] == 2 * counts["train_pictures"]
    assert len(card["epochs"]) == 30
    best = max(e["map50_95"] for e in card["epochs"])
    assert card["valid"]["map50_95"] == best
    assert f"mAP50-95 {best:.3f}" in done.stdout
    page = out.with_suffix(".md").read_text()
    assert f"| mAP50-95 on valid | {best:.3f} |" in page
    assert "AGPL-3.0" in page
    assert b"/data.yaml" not in out.read_bytes()  # no trace of the temporary folder


@pytest.mark.slow
def test_same_boxes_after_training(trained):
    data, out, keep, _ = trained
    frames = read_set(data)
    images = [frames.images.read(i) for i in range(24)]
    ours = load_detector(out, min_score=0.25)
    theirs = load_detector(keep / "weights" / "best.pt", min_score=0.25, device="cpu")
    assert theirs.imgsz == 96
    total = 0
    for first, second in zip(ours(images), theirs(images), strict=True):
        assert first.class_id.tolist() == second.class_id.tolist()
        assert np.abs(first.box - second.box).max(initial=0) < 0.5
        assert np.abs(first.score - second.score).max(initial=0) < 0.01
        total += len(first)
    assert total > 24


@pytest.mark.slow
@pytest.mark.long
def test_the_same_seed_gives_the_same_weights_and_a_checkpoint_can_be_gone_on_from(tmp_path):
    data = paint(tmp_path / "data", 16)
    pixels = np.random.default_rng(0).random((1, 3, 96, 96), np.float32)
    outputs = []
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        more = ["--epochs", 1, "--seed", seed, "--keep", tmp_path / name]
        done = run(data, "--out", tmp_path / f"{name}.onnx", *SMALL, *more)
        assert done.returncode == 0, done.stderr
        assert "finds nothing on the validation side" in done.stderr
        outputs.append(load_detector(tmp_path / f"{name}.onnx").run(pixels))
    assert np.array_equal(outputs[0], outputs[1])
    assert not np.array_equal(outputs[0], outputs[2])
    start = tmp_path / "a" / "weights" / "best.pt"
    done = run(data, "--out", tmp_path / "d.onnx", *SMALL, "--epochs", 1, "--from", start)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "d.json").read_text())["options"]["size"] == "as in best.pt"


@pytest.mark.long
@pytest.mark.slow
def test_ctrl_c_exports_the_best_so_far(tmp_path):
    data = paint(tmp_path / "data", 16)
    out = tmp_path / "m.onnx"
    process = subprocess.Popen(
        command(data, "--out", out, *SMALL, "--epochs", 500), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    for line in process.stderr:
        if line.startswith("epoch 2/"):
            process.send_signal(signal.SIGINT)
            break
    try:
        stdout, stderr = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 0, stderr
    assert "the best weights so far are exported" in stderr
    assert "Traceback" not in stderr
    assert stdout.startswith(f"{out}: mAP50")
    assert load_detector(out).class_names == {0: "red", 1: "green"}
    card = json.loads(out.with_suffix(".json").read_text())
    assert card["stopped_early"]
    assert 2 <= len(card["epochs"]) < 500


@pytest.mark.long
@pytest.mark.slow
def test_training_ends_when_the_validation_side_improves_no_more(tmp_path):
    out = tmp_path / "m.onnx"
    done = run(paint(tmp_path / "data", 32), "--out", out, *SMALL, "--epochs", 500, "--batch", 4, "--patience", 1)
    assert done.returncode == 0, done.stderr
    card = json.loads(out.with_suffix(".json").read_text())
    assert not card["stopped_early"], "that a person did so"
    scores = [epoch["map50_95"] for epoch in card["epochs"]]
    assert 1 < len(scores) < 500
    assert scores[-1] <= max(scores[:-1])


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--out", "m.pt"], 2, "give a name that ends in .onnx"),
        (["--out", "m.onnx", "--imgsz", "100"], 2, "must be a multiple of 32"),
        (["--out", "m.onnx", "--val-fraction", "1"], 2, "must lie between 0 and 1"),
        (["--out", "m.onnx", "--epochs", "1000000000"], 2, "less than or equal to 100000"),
        (["--out", "m.onnx", "--windows", "1000000"], 2, "less than or equal to 1000"),
        (["--out", "m.onnx", "--workers", "100000"], 2, "less than or equal to 256"),
        (["--out", "data/data.yaml/m.onnx"], 1, "cannot be written to"),
        (["--out", "m.onnx", "--size", "huge"], 2, "'huge' is not one of"),
        (["--out", "m.onnx", "--from", "absent.pt"], 2, "absent.pt: neither a file nor the name of a checkpoint"),
    ],
)
def test_requests_that_make_no_sense(tmp_path, monkeypatch, arguments, code, message):
    monkeypatch.chdir(tmp_path)
    done = run(paint(tmp_path / "data", 4), *arguments)
    assert done.returncode == code
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not Path("m.onnx").exists()


def test_a_set_that_does_not_exist(tmp_path):
    done = run(tmp_path / "absent", "--out", tmp_path / "m.onnx")
    assert done.returncode == 1
    assert "absent" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_without_ultralytics_it_is_said(tmp_path, monkeypatch):
    (tmp_path / "ultralytics.py").write_text("raise ImportError('no such package')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    done = run(paint(tmp_path / "data", 4), "--out", tmp_path / "m.onnx")
    assert done.returncode == 1
    assert "pip install 'simjudge[train]'" in done.stderr
    assert "Traceback" not in done.stderr
