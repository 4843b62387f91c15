"""Names in data cannot steer a terminal: whatever writes them, they come as escapes."""

import json
import subprocess
import sys

import pytest

from simjudge.core.printable import printable

STEERS = "red\x1b[2J\x1b]0;t\x07\u202e\x9b<script>"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ü 中\n\ttext", "plain ü 中\n\ttext"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("a\rb\x00\x7f\x9b", r"a\x0db\x00\x7f\x9b".replace(r"\x0d", r"\r")),
        ("\u202eabc\u2066", r"\u202eabc\u2066"),
    ],
)
def test_what_would_steer_a_terminal_is_its_escape(text, shown):
    assert printable(text) == shown


@pytest.mark.parametrize("words", [["info"], ["convert", "--to", "yolo"], ["detect", "--model", "nothing.onnx"]])
def test_a_class_of_a_set_reaches_no_terminal_as_it_is(tmp_path, words):
    frame = {"size": [40, 30], "name": STEERS, "objects": [{"class": 1, "box": [1, 2, 11, 22]}] * 2}
    path = tmp_path / f"{STEERS[:5]}.json"
    path.write_text(json.dumps({"class_names": {"1": STEERS}, "frames": [frame]}))
    out = [tmp_path / "o"] if "convert" in words else []
    command = [sys.executable, "-m", "simjudge", words[0], path, *out, *words[1:]]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stdout + done.stderr
    assert not {"\x1b", "\x9b", "\u202e", "\x07"} & set(done.stdout + done.stderr)
