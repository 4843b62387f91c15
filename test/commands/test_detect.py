"""`simjudge detect` as a command, with colour thresholds on painted pictures."""

import json

import pytest
from red_squares import paint_red_squares
from support import processes

THRESHOLDS = """
min_area: 20
classes:
  0: {name: red, hue: [345, 15], saturation: [0.4, 1], value: [0.2, 1]}
  1: {name: green, hue: [90, 150], saturation: [0.4, 1], value: [0.2, 1]}
"""


def run(*arguments):
    line = [*processes.SIMJUDGE, "detect", *map(str, arguments)]
    return processes.run(line, capture_output=True, text=True, check=False)


@pytest.fixture
def data(tmp_path):
    """Three pictures with a red square each, labelled; the set calls red 4."""
    root = tmp_path / "data"
    paint_red_squares(root, "red")
    (tmp_path / "colours.yaml").write_text(THRESHOLDS)
    return root


def test_into_json(tmp_path, data):
    out = tmp_path / "out.json"
    done = run(data, "--model", tmp_path / "colours.yaml", "--out", out)
    assert done.returncode == 0, done.stderr
    assert "3 of 3 pictures" in done.stdout
    assert "1.000" in done.stdout
    assert "data does not have green" in done.stderr
    content = json.loads(out.read_text())
    frames = content if isinstance(content, list) else content["frames"]
    found = [[p["class"], *p["box"], p["score"]] for f in frames for p in f["predictions"]]
    assert found == [[4, 10 + i, 10, 30 + i, 30, 1.0] for i in range(3)]


@pytest.mark.parametrize(("name", "more"), [("out.mcap", []), ("out", ["--to", "yolo"]), ("out", ["--to", "coco"])])
def test_into_other_formats_and_again(tmp_path, data, name, more):
    out = tmp_path / name
    assert run(data, "--model", tmp_path / "colours.yaml", "--out", out, *more).returncode == 0
    again = run(out, "--model", tmp_path / "colours.yaml", "--out", tmp_path / "again.json")
    assert again.returncode == 0, again.stderr
    assert "3 of 3 pictures" in again.stdout


def test_a_damaged_picture_is_counted(tmp_path, data):
    picture = data / "images" / "1.png"
    picture.write_bytes(picture.read_bytes()[:-60])
    done = run(data, "--model", tmp_path / "colours.yaml", "--out", tmp_path / "out.json")
    assert done.returncode == 3
    assert "2 of 3 pictures" in done.stdout
    assert "left out 1 damaged picture, not predicted" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--model", "absent.onnx", "--out", "out.json"], 2, "absent.onnx: neither a file nor"),
        (["--model", "colours.yaml", "--out", "out.json", "--rename", "red"], 2, "give MODEL=SET"),
        (["--model", "colours.yaml", "--out", "out.json", "--rename", "red=cone"], 1, "no class in common"),
        (["--model", "colours.yaml", "--out", "data"], 2, "is the input"),
        (["--model", "cut.onnx", "--out", "out.json"], 1, "not a readable ONNX model"),
    ],
)
def test_requests_that_make_no_sense(tmp_path, data, monkeypatch, arguments, code, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cut.onnx").write_bytes(b"\x08\x07")
    done = run(data, *arguments)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out.json").exists()
