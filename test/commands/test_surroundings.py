"""Commands in odd surroundings: a terminal without the characters, numba without its compiler. No traceback."""

import json
import os
import subprocess
import sys

import cv2
import numpy as np
import pytest


def run(folder, *arguments, **surroundings):
    return subprocess.run(
        [sys.executable, "-m", "simjudge", *arguments],
        cwd=folder,
        env={**os.environ, **surroundings},
        capture_output=True,
        check=False,
    )


@pytest.fixture
def folder(tmp_path):
    row = {"class": 1, "box": [2, 3, 20, 30]}
    frames = [
        {"size": [64, 48], "name": f"ä{i}", "objects": [row], "predictions": [{**row, "score": 0.9}]} for i in range(6)
    ]
    (tmp_path / "ü.json").write_text(json.dumps({"class_names": {"1": "Hütchen→中"}, "frames": frames}))
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [
        ["info", "ü.json"],
        ["compare", "ü.json", "ü.json", "--draws", "9", "--out", "r"],
        ["split", "ü.json", "--to", "json", "--out", "parts"],
        ["convert", "ü.json", "out.json"],
        ["compare", "--help"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_terminal_that_lacks_the_characters(folder, arguments):
    done = run(folder, *arguments, PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr.decode()
    assert b"Traceback" not in done.stderr
    (done.stdout + done.stderr).decode("ascii")


def test_an_error_that_it_cannot_show(folder):
    done = run(folder, "info", "ö.json", PYTHONIOENCODING="ascii")
    assert done.returncode == 1
    assert done.stderr.startswith(b"error: \\xf6.json: does not exist")


def test_numba_without_its_compiler(folder):
    done = run(folder, "compare", "ü.json", "ü.json", "--out", "r", NUMBA_DISABLE_JIT="1")
    assert done.returncode == 1
    assert done.stderr.decode().splitlines()[-1].startswith("error: NUMBA_DISABLE_JIT is set")
    assert "Traceback" not in done.stderr.decode()


@pytest.mark.parametrize("arguments", [["info", "ü.json"], ["split", "ü.json", "--to", "yolo", "--out", "parts"]])
def test_names_of_files_that_are_taken_for_another_encoding(folder, arguments):
    done = run(folder, *arguments, PYTHONUTF8="0", LC_ALL="C", PYTHONCOERCECLOCALE="0")
    assert done.returncode == 2
    (line,) = done.stderr.decode().splitlines()
    assert line == "error: names of files are taken for ascii here; unset PYTHONUTF8, or set LC_ALL=C.UTF-8"
    assert not (folder / "parts").exists()


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("split", ["--to", "yolo", "--out", "out"]),
        ("convert", ["out", "--to", "coco"]),
        ("compare", ["set", "--out", "out"]),
    ],
)
def test_names_of_files_that_are_no_utf8(tmp_path, command, arguments):
    """Whatever would be written of them: one line, and nothing half-written."""
    images, labels = tmp_path / "set/images", tmp_path / "set/labels"
    for each in (images, labels):
        each.mkdir(parents=True)
    for name in (b"caf\xe9", b"b"):
        cv2.imwrite(str(tmp_path / "a.png"), np.zeros((30, 40, 3), np.uint8))
        (tmp_path / "a.png").rename(images / f"{os.fsdecode(name)}.png")
        (labels / f"{os.fsdecode(name)}.txt").write_text("0 .5 .5 .2 .2\n")
    done = run(tmp_path, command, "set", *arguments)
    assert done.returncode == 1
    assert done.stderr.decode().splitlines()[-1] == (
        "error: 'caf\\udce9': the name of this file is not valid UTF-8; rename it"
    )
    assert not (tmp_path / "out").exists()
    done = run(tmp_path, "info", os.fsdecode(b"caf\xe9.json"))
    assert done.returncode == 2
    assert b"is no UTF-8 text; rename the file" in done.stderr
