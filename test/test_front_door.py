"""The Python front door: what it holds, and what importing it loads."""

import ast
import re
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import simjudge as sj
from simjudge.core.images import ArrayImages

HEAVY = ("numpy", "scipy", "numba", "cv2", "pyarrow", "onnxruntime", "rosbags", "typer", "rich", "yaml", "mitsuba")


def loaded_by(code):
    """The heavy packages that some code imports, in a process of its own."""
    asked = f"{code}\nimport sys\nprint(*[name for name in {HEAVY!r} if name in sys.modules])"
    return subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout.split()


def test_importing_it_loads_nothing():
    assert loaded_by("import simjudge; simjudge.__all__; dir(simjudge); simjudge.SimjudgeError") == []


def test_every_name_is_there_and_described():
    assert set(sj.__all__) <= set(dir(sj))
    assert [name for name in sj.__all__ if not getattr(sj, name).__doc__] == []


def test_what_editors_see_is_what_is_there():
    tree = ast.parse(Path(sj.__file__).read_text(encoding="utf-8"))
    branch = next(n for n in tree.body if isinstance(n, ast.If))
    seen = {a.asname for n in branch.body if isinstance(n, ast.ImportFrom) for a in n.names if a.asname}
    for node in branch.body:
        if isinstance(node, ast.Assign):
            seen |= {name.id for name in ast.walk(node.targets[0]) if isinstance(name, ast.Name)}
    assert seen == set(sj.__all__)


def test_nothing_else_is_shown():
    assert {name for name in dir(sj) if not name.startswith("_")} == set(sj.__all__)


def test_an_unknown_name():
    with pytest.raises(AttributeError, match="has no attribute 'reed'"):
        sj.reed  # noqa: B018


def test_the_command_line_loads_its_own_libraries_only():
    assert set(loaded_by("import simjudge.cli, simjudge.commands.app")) <= {"typer", "rich"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with a set of four red squares and colour thresholds for them."""
    images = ArrayImages([np.full((40, 60, 3), 90, np.uint8) for _ in range(4)])
    for number, image in enumerate(images.arrays):
        image[10:20, 5 + number : 15 + number] = (255, 0, 0)
    boxes = [[5 + i, 10, 15 + i, 20] for i in range(4)]
    frames = sj.FrameSet.build(
        "set", [(60, 40)] * 4, sj.Objects.build(range(4), [1] * 4, boxes), class_names={1: "red"}, images=images
    )
    sj.write(frames, str(tmp_path / "set"), to="yolo")
    (tmp_path / "red.yaml").write_text(
        "classes:\n  0: {name: red, hue: [345, 15], saturation: [0.4, 1], value: [0.2, 1]}\n"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("path", [str, Path])
def test_paths_may_be_texts(path):
    frames = sj.read(path("set"))
    assert not sj.write(frames, path("w"), to="coco")
    assert len(sj.detect(path("set"), path("red.yaml"), path("d.json")).predictions) == 4
    assert len(sj.convert(path("w"), path("c.json"), labels=path("set"))) == 4
    assert len(sj.filter(path("set"), path("f"), to="yolo", blur=1, white_balance=(1, 1, 0.5))) == 4
    assert [len(part) for part in sj.split(path("set"), 2, path("s"))] == [2, 2]
    assert len(sj.join(path("s/1"), path("s/2"), out=path("j"), to="cvat")) == 4
    assert sj.info(path("j")).kind == "cvat"
    assert sj.load_detector(path("red.yaml")).class_names == {0: "red"}


def test_sets_go_in_and_come_out_without_files(folder):
    frames = sj.read("set")
    before = set(folder.rglob("*"))
    first, second = sj.split(frames)
    both = sj.join(first, second)
    seen = sj.detect(sj.filter(both, noise=1, jpeg=90), "red.yaml")
    assert len(seen.predictions) == 4
    assert frames.predictions is None
    assert set(folder.rglob("*")) == before


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: sj.read("nowhere"), sj.SimjudgeError, "nowhere: does not exist"),
        (lambda: sj.read("set", topics=sj.Topics("/a")), sj.UsageError, "is no recording"),
        (lambda: sj.write(sj.read("set"), "x"), sj.UsageError, "a folder needs --to"),
        (lambda: sj.detect("set", "nothing"), sj.SimjudgeError, "nor the name of a detector"),
        (lambda: sj.detect("set", "red.yaml", "set"), sj.UsageError, "is the input"),
        (lambda: sj.convert("set", "set"), sj.UsageError, "is the input"),
        (lambda: sj.convert("set", "x.json", to="yolo"), sj.UsageError, "leave out --to"),
        (lambda: sj.filter("set"), sj.UsageError, "no filter given"),
        (lambda: sj.filter("set", camera="art1", blur=1), sj.UsageError, "brings its own filters"),
        (lambda: sj.filter("set", white_balance=3), sj.UsageError, "three gains"),
        (lambda: sj.split("set", 9), sj.UsageError, "9 parts of 4"),
        (lambda: sj.split("set", out="s", to="zip"), sj.UsageError, "no such format"),
        (lambda: sj.join("set", "set"), sj.UsageError, "given twice"),
        (lambda: sj.join("set"), sj.UsageError, "nothing to join it with"),
        (sj.join, sj.UsageError, "nothing to join it with"),
        (lambda: sj.info("red.yaml"), sj.SimjudgeError, "red.yaml"),
        (lambda: sj.report("set"), sj.SimjudgeError, "neither result.json nor sweep.json"),
        (lambda: sj.train("set", "m.pt"), sj.UsageError, "ends in .onnx"),
        (lambda: sj.train("set", "m.onnx", epochs=10**9), sj.UsageError, "epochs 1000000000: must be 1 to 100000"),
        (lambda: sj.train("set", "m.onnx", input_size="9x"), sj.UsageError, "WIDTHxHEIGHT"),
        (lambda: sj.render("nowhere", "r.mcap", camera="plain", poses="path"), sj.SimjudgeError, "nowhere"),
        (lambda: sj.drive("lab", "d.mcap", camera="nowhere"), sj.SimjudgeError, "nowhere"),
        (lambda: sj.replay("nowhere.mcap", "r.mcap", scene="lab", camera="plain"), sj.SimjudgeError, "nowhere"),
    ],
)
def test_errors_have_types_and_one_line(call, error, message):
    with pytest.raises(error, match=re.escape(message)) as raised:
        call()
    assert "\n" not in str(raised.value)


@pytest.mark.usefixtures("folder")
def test_callbacks_hear_what_a_command_prints():
    said, tasks = [], []

    @contextmanager
    def progress(task):
        tasks.append(task)
        yield lambda done, total: tasks.append((done, total))

    renamed = replace(sj.read("set"), class_names={1: "cone"})
    sj.detect(renamed, "red.yaml", batch=2, rename={"red": "cone"}, log=said.append, progress=progress)
    assert tasks == ["detecting on set", (2, 4), (4, 4)]
    assert said == []
    sj.filter("set", "f", to="yolo", camera="noise", progress=progress, log=said.append)
    assert "filtering" in tasks
