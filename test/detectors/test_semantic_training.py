"""`simjudge sim train --task segment-semantic` for real, on painted streets: that it learns, and what it leaves."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from painted_streets import paint_streets
from typer.testing import CliRunner

from simjudge.commands.app import app
from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.files import hash_files
from simjudge.data.sets import read_set
from simjudge.detectors.semantic_net import (
    SemanticNet,
    is_semantic_net,
    mean_iou,
    pixel_accuracy,
    pixel_confusion,
    predict_semantic,
    score_pixels,
)
from simjudge.detectors.semantic_training import free_core
from simjudge.detectors.training import train

torch = pytest.importorskip("torch", reason="the extra 'train' is not installed")
torch.set_num_threads(1)  # two threads on a busy core wait for each other, ten times as long as they work
pytestmark = pytest.mark.xdist_group("ultralytics")
SMALL = {"task": "segment-semantic", "size": "pico", "input_size": (96, 64), "device": "cpu", "batch": 4}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A net trained for some seconds, and the data it has never seen."""
    folder = tmp_path_factory.mktemp("net")
    data = paint_streets(folder / "data", 24)
    lines = []
    net = train(data, folder / "streets.onnx", epochs=12, log=lines.append, **SMALL)
    return net, paint_streets(folder / "unseen", 4, seed=9), lines


@pytest.mark.parametrize(("cores", "before", "within"), [(2, 2, 1), (1, 1, 1), (4, 4, 3), (64, 64, 8), (8, 2, 2)])
def test_one_core_stays_free(monkeypatch, cores, before, within):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(cores)))
    taken = [before]
    threads = SimpleNamespace(get_num_threads=lambda: taken[-1], set_num_threads=taken.append)
    with free_core(threads):
        assert taken[-1] == within
    assert taken[-1] == before


def test_it_learns_to_tell_pixels_apart(trained):
    net, unseen, _ = trained
    assert net.training.class_names == ["road", "sky", "car"]
    found = predict_semantic(unseen, SemanticNet.load(net.path))
    scores = score_pixels(found, Losses())
    assert scores.accuracy > 0.85
    assert found.predicted_semantic.read(0).shape == (64, 96)
    assert set(np.unique(found.predicted_semantic.read(0))) <= {7, 23, 26}


def test_the_card_says_data_options_and_scores(trained):
    net, _, lines = trained
    card = json.loads(net.path.with_suffix(".json").read_text())
    assert card["sha256"] == hash_files(net.path)
    assert card["valid"]["mean_iou"] == net.best.mean_iou == max(epoch.mean_iou for epoch in net.training.epochs)
    assert set(card["valid"]["iou"]) == {"road", "sky", "car"}
    assert "| IoU of car |" in net.path.with_suffix(".md").read_text()
    assert lines[0].startswith("19 pictures")
    assert "epoch 12/12: loss" in lines[-1]
    best = net.best
    assert net.score.startswith(f"mean class IoU {best.mean_iou:.3f}, pixel accuracy {best.accuracy:.3f} on valid")
    assert repr(net).splitlines() == [
        f"{net.path}: semantic segmentation net",
        "trained on   19 pictures",
        "validated on 5 pictures",
        "classes      road, sky, car",
        f"epochs       12, best {best.number}",
        f"mean class IoU {best.mean_iou:.3f}",
        f"pixel accuracy {best.accuracy:.3f}",
    ]


def test_the_same_seed_gives_the_same_weights(tmp_path):
    data = paint_streets(tmp_path / "data", 6)
    nets = [train(data, tmp_path / f"{i}.onnx", epochs=1, **SMALL).card["sha256"] for i in (1, 2)]
    # The description names the file; the weights do not differ.
    first, second = (SemanticNet.load(tmp_path / f"{i}.onnx") for i in (1, 2))
    picture = [read_set(data).images.read(0)]
    assert len(nets) == 2
    assert np.array_equal(first.segment(picture)[0], second.segment(picture)[0])


def test_detect_writes_predicted_label_pictures_and_compare_reads_them(trained, tmp_path):
    net, unseen, _ = trained
    done = CliRunner().invoke(
        app, ["detect", str(unseen), "--model", str(net.path), "--out", str(tmp_path / "out"), "--to", "yolo"]
    )
    assert done.exit_code == 0, done.output
    assert "mean class IoU" in done.stdout
    read = read_set(tmp_path / "out")
    assert [read.predicted_semantic.has(i) for i in range(4)] == [True] * 4
    assert read.predicted.all()
    assert is_semantic_net(net.path)


def test_confusion_accuracy_and_iou_are_those_of_a_loop():
    rng = np.random.default_rng(0)
    truth, guess = rng.integers(0, 4, (2, 30, 40))
    truth[0] = 255
    count = pixel_confusion(truth, guess, 5)
    used = [(t, g) for t, g in zip(truth.ravel(), guess.ravel(), strict=True) if t != 255]
    assert pixel_accuracy(count) == pytest.approx(np.mean([t == g for t, g in used]))
    iou = []
    for k in range(4):
        both = sum(t == k == g for t, g in used)
        iou.append(both / sum(k in (t, g) for t, g in used))
    mean, each = mean_iou(count)
    assert each[4] is None
    assert (mean, each[:4]) == (pytest.approx(np.mean(iou)), pytest.approx(iou))


def test_bad_input_is_refused_in_words(tmp_path):
    with pytest.raises(UsageError, match="--windows"):
        train(tmp_path, tmp_path / "x.onnx", windows=2, **SMALL)
    data = paint_streets(tmp_path / "data", 2)
    for file in (data / "semantic").iterdir():
        file.write_bytes(b"no picture")
    with pytest.raises(SimjudgeError, match=r"no label pictures|labelled photographs"):
        train(data, tmp_path / "x.onnx", epochs=1, **SMALL)
    (tmp_path / "bad.onnx").write_bytes(b"nothing")
    with pytest.raises(SimjudgeError, match=r"bad\.onnx"):
        SemanticNet.load(tmp_path / "bad.onnx")
