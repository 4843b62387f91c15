"""That frames were drawn one by one is kept in every format, and by every command that writes a set again."""

import json
from dataclasses import replace

import numpy as np
import pytest

from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages
from simjudge.core.object_tables import Objects
from simjudge.data.conversion import convert
from simjudge.data.set_parts import join_sets, split
from simjudge.data.sets import read_set, write_set

FOLDERS = ("yolo", "coco", "cvat", "cpd")


@pytest.fixture
def frames():
    objects = Objects.build([0, 1], [1, 2], [[3, 4, 9, 10], [3, 4, 19, 20]])
    images = ArrayImages([np.full((30, 40, 3), 60 * i, np.uint8) for i in range(3)])
    made = FrameSet.build(
        "made", [(40, 30)] * 3, objects, stamp=[10**9, 2 * 10**9, 3 * 10**9], class_names={1: "red", 2: "green"},
        images=images, independent=True,
    )  # fmt: skip
    assert made.take([0, 2]).independent
    return made


def write(frames, path):
    write_set(frames, path, path.name if path.name in FOLDERS else None)
    return path


@pytest.mark.parametrize("name", [*FOLDERS, "x.json", "x.mcap", "x.db3"])
def test_every_format_keeps_it(frames, tmp_path, name):
    path = write(frames, tmp_path / name)
    assert read_set(path).independent
    assert not read_set(write(replace(frames, independent=False), tmp_path / "plain" / name)).independent
    assert convert(path, tmp_path / "again.json").independent
    assert [read_set(part).independent for part in split(path, 2, tmp_path / "parts", to="coco").paths] == [True] * 2


def test_a_joined_set_has_it_if_all_have(frames):
    assert join_sets([frames, frames]).independent
    assert not join_sets([frames, replace(frames, independent=False)]).independent


def test_a_folder_with_a_frame_of_somebody_else_has_it_not(frames, tmp_path):
    path = write(frames, tmp_path / "yolo")
    stem = next((path / "images").glob("*.png"))
    (path / "images/another.png").write_bytes(stem.read_bytes())
    read = read_set(path)
    assert len(read) == 4
    assert not read.independent


@pytest.mark.parametrize("value", ["yes", 1, None])
def test_only_true_is_a_mark(frames, tmp_path, value):
    path = write(frames, tmp_path / "x.json")
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "independent": value}))
    assert not read_set(path).independent
