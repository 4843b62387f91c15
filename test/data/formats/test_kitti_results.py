"""What a detector found, as KITTI's results: rows with a score, against the formulas of KITTI's development kit."""

from dataclasses import replace

import numpy as np
import pytest
from cloud_samples import cloud_set, ground, table

import simjudge as sj
from simjudge.data.clouds.cloud_set import CloudPredictions
from simjudge.geometry.poses import Pose

YAW = 0.4


def clouds():
    found = CloudPredictions(
        np.array([0, 0, 2]), np.zeros(3, int), np.full(3, -1), np.array([[5.0, 1, -0.5], [8, 3, 0], [10, 2, 0.25]]),
        np.tile([0.0, 0, np.sin(YAW / 2), np.cos(YAW / 2)], (3, 1)), np.tile([4.0, 1.5, 2], (3, 1)),
        np.array([0.5, 0.25, 1]), np.full(3, 9),
    )  # fmt: skip
    made = cloud_set([table(ground(seed=i)) for i in range(3)], [Pose()] * 3, class_names={0: "any thing"})
    return replace(made, predictions=found, predicted=np.array([True, True, True]))


def test_rows_with_scores_in_the_cameras_frame(tmp_path):
    done = sj.convert(clouds(), tmp_path / "kitti", to="kitti")
    assert done.losses.counts == {}
    files = sorted((tmp_path / "kitti/results/data").iterdir())
    assert [file.name for file in files] == ["000000.txt", "000001.txt", "000002.txt"]
    assert files[1].read_text() == ""
    kind, *numbers = files[2].read_text().split()
    values = [float(each) for each in numbers]
    assert kind == "any_thing"
    assert len(values) == 15
    # Height, width, length; x right, y down, z ahead, at the middle of the bottom; rotation_y, from x to z.
    assert values[7:10] == [2, 1.5, 4]
    assert values[10:13] == pytest.approx([-2, -0.25 + 1, 10])
    assert values[13] == pytest.approx(-YAW - np.pi / 2)
    assert values[14] == 1


def test_a_kitti_folder_keeps_its_files_and_gets_results(tmp_path):
    sj.convert(clouds(), tmp_path / "first", to="kitti")
    read = sj.read_clouds(tmp_path / "first")
    found = clouds().predictions
    sj.convert(replace(read, predictions=found, predicted=np.array([True, False, True]), class_names={0: "x"}),
               tmp_path / "again", to="kitti")  # fmt: skip
    names = sorted(file.name for file in (tmp_path / "again/results/data").iterdir())
    assert names == ["000000.txt", "000002.txt"]
    first, again = ((tmp_path / each / "results/data/000002.txt").read_text().split() for each in ("first", "again"))
    np.testing.assert_allclose(np.array(again[1:], float), np.array(first[1:], float), atol=1e-6)


def test_pcd_has_no_place_for_them(tmp_path):
    assert sj.convert(clouds(), tmp_path / "pcd", to="pcd").losses.counts == {
        "cuboids that PCD files have no place for": 3
    }
