"""Every line that a command or a page prints for a person to type runs as typed, on a set of each kind."""

from __future__ import annotations

import html
import re
import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from called_command import called
from drive_recordings import write_drive
from drive_samples import made_drive, write_csv
from object_sets import block_drive
from painted_streets import paint_streets
from typer.testing import CliRunner

from simjudge.commands.app import app
from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages
from simjudge.core.object_tables import Objects
from simjudge.data.sets import write_set
from simjudge.ros.graphs import GRAPHS

HEAVY = {"replay", "render", "drive", "fit", "cover", "train", "explain", "run"}
"""Commands that render, train or start nodes: their lines are parsed, and not run."""
PATTERNS = (
    re.compile(r"(?:^\s*|[:;(] ?)(simjudge [a-z][^\n;]*?)(?: writes all.*)?[.)]?$", re.MULTILINE),
    re.compile(r"['`](simjudge [^'`]+)['`]"),
)
PLACEHOLDER = re.compile(r"\b(MODEL\.onnx|labels_of_an_annotation_tool)\b")
"""Files that only the reader has."""


def pictures(path, seed, *, stamped=True, to="yolo"):
    """Red cones on grey, a few in each picture, which cones_red_green finds."""
    random, images, rows = np.random.default_rng(seed), [], []
    for number in range(12):
        picture = np.full((96, 128, 3), 110, np.uint8)
        for column in range(2):
            x, y = int(random.integers(4, 30)) + 60 * column, int(random.integers(10, 50))
            cv2.rectangle(picture, (x, y), (x + 19, y + 29), (20, 20, 220), -1)
            rows.append((number, [x, y, x + 20, y + 30], column))
        images.append(picture[:, :, ::-1].copy())
    frame, box, instance = zip(*rows, strict=True)
    stamps = 1_700_000_000_000_000_000 + 100_000_000 * np.arange(12) if stamped else None
    objects = Objects.build(frame, [0] * len(rows), box, instance)
    frames = FrameSet.build(
        path.stem, [(128, 96)] * 12, objects, stamp=stamps, class_names={0: "red"}, images=ArrayImages(images)
    )
    write_set(frames, path, to)
    return path


def made(kind, folder):
    """Two sets of a kind."""
    a, b = folder / "real", folder / "sim"
    if kind == "drives":
        for side in (a, b):
            side.mkdir()
            for seed in range(3):
                write_csv(side / f"{seed}.csv", made_drive(seed))
        return a, b
    if kind == "label pictures":
        return paint_streets(a, 4), paint_streets(b, 4, seed=1)
    if kind in ("lidar", "robot", "recording"):
        a, b = a.with_suffix(".mcap"), b.with_suffix(".mcap")
    if kind == "lidar":
        for path, seed in ((a, 0), (b, 1)):
            clouds = block_drive(path.stem, seed)
            write_set(replace(clouds, labelled=np.ones(len(clouds), np.bool_)), path)
        return a, b
    if kind == "robot":
        return write_drive(a), write_drive(b)
    seeds = (0, 0) if kind == "paired pictures" else (0, 1)
    return tuple(
        pictures(path, seed, stamped=kind != "unstamped pictures", to=None if path.suffix else "yolo")
        for path, seed in zip((a, b), seeds, strict=True)
    )


def run(words):
    """Run a command as `simjudge` does: whether it made sense, and what it printed."""
    done = CliRunner().invoke(app, words)
    sane = done.exception is None or (isinstance(done.exception, SystemExit) and done.exit_code != 2)
    error = "" if sane else f"\n{type(done.exception).__name__}: {done.exception}"
    return sane, done.output + error


def parse(line):
    words = shlex.split(line)[1:]
    if words[:2] == ["ros", "run"]:
        assert {word.partition(":=")[0] for word in words[3:]} <= {
            argument.name for argument in GRAPHS[words[2]].arguments
        }
        return
    command, rest = called(words)
    assert command.make_context(command.name, rest).params, line


def page_text(path):
    text = re.sub(r"<(style|script)\b.*?</\1>", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]+>", "\n", text))


def lines_in(text):
    return {match.strip() for pattern in PATTERNS for match in pattern.findall(text)}


def filled(line, a, b):
    """The line with its placeholders filled in."""
    names = {
        "SIMULATED": b,
        "VIRTUAL": b,
        "IN": a,
        "ANY": a,
        "FOLDER": "result",
        "OUT": "out.mcap",
        "FILE": "rows.csv",
        "RESULT": "result",
    }
    return " ".join(shlex.quote(str(names.get(word, word))) for word in shlex.split(line))


KINDS = ["pictures", "unstamped pictures", "paired pictures", "label pictures", "lidar", "recording", "robot", "drives"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_printed_line_runs(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")
    names = [path.name for path in made(kind, tmp_path)]
    begun = {
        "paired pictures": [["compare", *names, "--model", "cones_red_green", "--paired", "--out", "result"]],
        "drives": [
            [
                "compare-drives",
                *(f"{names[0]}/{n}.csv" for n in range(3)),
                "--",
                *(f"{names[1]}/{n}.csv" for n in range(3)),
                "--out",
                "result",
            ]
        ],
    }.get(kind, [["info", names[0]], ["doctor", names[0]]])
    done, failed = [], []
    for words in begun:
        _run_all(shlex.join(["simjudge", *words]), names, done, failed)
    assert not failed
    assert len(done) > len(begun), done


def _run_all(line, names, done, failed):
    """Run a line, and the lines that it prints or that its page shows; what fails is kept with what was said."""
    if line in done:
        return
    done.append(line)
    typed = filled(line, *names)
    try:
        parse(typed)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the parser says
        failed.append((line, repr(error)))
        return
    words = shlex.split(typed)[1:]
    if HEAVY & {*words[:2]} or PLACEHOLDER.search(typed):
        return
    if "--out" in words and words[0] not in ("report", "doctor"):
        # Lines of one page are ways to go, each by itself.
        out = Path(words[words.index("--out") + 1])
        shutil.rmtree(out) if out.is_dir() else out.unlink(missing_ok=True)
    sane, printed = run(words)
    if not sane:
        failed.append((line, printed[-300:]))
    pages = [*Path().glob("*.html"), *Path().glob("*/*.html")] if words[0] == "report" else []
    shown = "".join(map(page_text, pages))
    for each in sorted(lines_in(printed + shown)):
        _run_all(each, names, done, failed)
