"""What the pages on performances of one's own and on photographs without labels show, runs as it stands there."""

import shlex
import shutil
from pathlib import Path

import cv2
import numpy as np
import pytest
from own_number_sets import write_rows
from pages import ROOT, blocks
from typer.testing import CliRunner

import simjudge as sj
from simjudge.commands.app import app
from simjudge.core.images import encode_png
from simjudge.data.sets import write_set

OWN, BARE = (ROOT / "docs/guides" / f"{name}.md" for name in ("own_performance", "unlabelled"))
EXAMPLES = blocks(OWN.read_text(encoding="utf-8"), "python")


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A folder with twelve frames of each sample recording."""
    for name, sample in (("real", "real_stand_in"), ("sim", "sim")):
        frames = sj.read(ROOT / f"bags/{sample}.mcap")
        write_set(frames.take(np.arange(0, 36, 3)), tmp_path / f"{name}.mcap")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def depth_set(folder, told_too_far):
    """Photographs with the depth of a floor beside them, and a prediction that is too far by a factor."""
    frames = sj.read(ROOT / "demo/photographs")
    write_set(frames.take(np.arange(0, 40, 4)), folder, "yolo")
    for name in ("depth", "predicted_depth"):
        (folder / name).mkdir()
    for number, name in enumerate(frames.frame_name[index] for index in range(0, 40, 4)):
        truth = np.linspace(9, 1, 240)[:, None] + np.random.default_rng(number).random((240, 320))
        for kind, metres in (("depth", truth), ("predicted_depth", truth * told_too_far)):
            steps = np.round(metres * 1000).astype(np.uint16)
            (folder / kind / f"{Path(name).stem}.png").write_bytes(cv2.imencode(".png", steps)[1].tobytes())


@pytest.mark.slow
@pytest.mark.parametrize(("number", "said"), [(0, "Performance is depth_error"), (1, "all"), (2, "frame")])
def test_each_example_runs(desk, capsys, number, said):
    assert desk.is_dir()
    exec(compile(EXAMPLES[number], "example", "exec"), {})  # noqa: S102 - our own page
    assert said in capsys.readouterr().out


def test_the_command_of_the_page_runs(desk):
    rows = []
    for side, name in (("a", "real"), ("b", "sim")):
        frames = sj.read(desk / f"{name}.mcap")
        first = {}
        for row, frame in enumerate(frames.objects.frame.tolist()):
            number = row - first.setdefault(frame, row)
            rows.append({"set": side, "frame": frames.frame_name[frame], "object": number, "error": row % 7 / 2})
    write_rows(desk / "depth.csv", rows)
    (line,) = blocks(OWN.read_text(encoding="utf-8"), "sh")
    done = CliRunner().invoke(app, shlex.split(line)[1:])
    assert done.exit_code == 0, done.output
    assert "Performance is error (depth.csv), 0 to 5; lower is better" in " ".join(done.output.split())


@pytest.mark.slow
def test_the_lines_on_photographs_without_labels_run(desk):
    shutil.copytree(ROOT / "demo/photographs/images", desk / "photographs")
    for picture in sorted((desk / "photographs").iterdir())[24:]:
        picture.unlink()
    for name in ("teacher", "student"):
        shutil.copy(ROOT / "models/real_signals_yolo11n.onnx", desk / f"{name}.onnx")
    glare = sj.read(ROOT / "demo/glare")
    (desk / "sim.mcap").unlink()
    write_set(glare.take(np.arange(0, len(glare), 6)), desk / "sim.mcap")
    streets = desk / "streets"
    for folder in ("images", "labels", "semantic"):
        (streets / folder).mkdir(parents=True)
    pixels = np.zeros((64, 64), np.uint8)
    pixels[10:30, 10:40], pixels[40:60, 5:15] = 1, 2
    (streets / "images/one.png").write_bytes(encode_png(np.zeros((64, 64, 3), np.uint8)))
    (streets / "semantic/one.png").write_bytes(encode_png(pixels[..., None]))
    (streets / "data.yaml").write_text("train: images\nval: images\nnames: [road, car, person]\n")
    depth_set(desk / "real", 1.02)
    depth_set(desk / "sim", 1.1)
    for line in "".join(blocks(BARE.read_text(encoding="utf-8"), "sh")).splitlines():
        done = CliRunner().invoke(app, shlex.split(line)[1:])
        assert done.exit_code == 0, f"{line}\n{done.output}\n{done.exception!r}"
    assert len(sj.read(desk / "objects").objects) == 2
    assert "labels: predictions of teacher at 0.5, a teacher" in sj.load_result(desk / "result").meaning
