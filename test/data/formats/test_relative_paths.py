"""Sets given as people type them: by a name beside them, by "." from within, or as the file inside."""

from __future__ import annotations

import numpy as np
import pytest
from cloud_samples import cloud_set, ground, table

from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages
from simjudge.core.object_tables import Objects
from simjudge.data.sets import read_clouds, read_set, write_set


@pytest.mark.parametrize("to", ["yolo", "coco", "cvat"])
def test_pictures_have_a_name_whatever_way_they_are_given(tmp_path, monkeypatch, to):
    pictures = ArrayImages([np.full((30, 40, 3), 90, np.uint8)])
    made = FrameSet.build(
        "x", [(40, 30)], Objects.build([0], [1], [[1, 1, 9, 9]]), class_names={1: "cone"}, images=pictures
    )
    write_set(made, tmp_path / "set", to)
    monkeypatch.chdir(tmp_path)
    assert read_set("set").name == "set"
    monkeypatch.chdir(tmp_path / "set")
    inside = {"yolo": "data.yaml", "coco": "annotations.json", "cvat": "annotations.xml"}[to]
    assert read_set(inside).name == read_set(".").name == "set"


def test_scans_of_a_sequence_are_read_from_beside_it_and_from_within(tmp_path, monkeypatch):
    write_set(cloud_set([table(ground())]), tmp_path / "made", "kitti")
    scan = next((tmp_path / "made").rglob("*.bin"))
    (tmp_path / "00" / "velodyne").mkdir(parents=True)
    (tmp_path / "00" / "velodyne" / "000000.bin").write_bytes(scan.read_bytes())
    monkeypatch.chdir(tmp_path)
    assert len(read_clouds("00")) == 1
    monkeypatch.chdir(tmp_path / "00")
    assert len(read_clouds(".")) == 1
