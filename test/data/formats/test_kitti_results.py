"""What a detector found, as KITTI's results: rows with a score, against the formulas of KITTI's development kit."""

from dataclasses import replace

import numpy as np
import pytest
from cloud_samples import cloud_set, ground, table

import simjudge as sj
from simjudge.data.clouds import CloudPredictions
from simjudge.geometry.poses import Pose

YAW = 0.4


def clouds():
    found = CloudPredictions(
        np.array([0, 0, 2]),
        np.zeros(3, int),
        np.full(3, -1),
        np.array([[5.0, 1, -0.5], [8, 3, 0], [10, 2, 0.25]]),
        np.tile([0.0, 0, np.sin(YAW / 2), np.cos(YAW / 2)], (3, 1)),
        np.tile([4.0, 1.5, 2], (3, 1)),
        np.array([0.5, 0.25, 1]),
        np.full(3, 9),
    )
    made = cloud_set([table(ground(seed=i)) for i in range(3)], [Pose()] * 3, class_names={0: "any thing"})
    return replace(made, predictions=found, predicted=np.array([True, True, True]))


def test_rows_with_scores_in_the_cameras_frame(tmp_path):
    done = sj.convert(clouds(), tmp_path / "kitti", to="kitti")
    assert done.losses.counts == {}
    files = sorted((tmp_path / "kitti/results/data").iterdir())
    assert [file.name for file in files] == ["000000.txt", "000001.txt", "000002.txt"]
    assert files[1].read_text() == ""
    kind, *numbers = files[2].read_text().split()
    values = [float(number) for number in numbers]
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
    sj.convert(
        replace(read, predictions=found, predicted=np.array([True, False, True]), class_names={0: "x"}),
        tmp_path / "again",
        to="kitti",
    )
    names = sorted(file.name for file in (tmp_path / "again/results/data").iterdir())
    assert names == ["000000.txt", "000002.txt"]
    first, again = ((tmp_path / each / "results/data/000002.txt").read_text().split() for each in ("first", "again"))
    np.testing.assert_allclose(np.array(again[1:], float), np.array(first[1:], float), atol=1e-6)


def test_pcd_has_no_place_for_them(tmp_path):
    assert sj.convert(clouds(), tmp_path / "pcd", to="pcd").losses.counts == {
        "cuboids that PCD files have no place for": 3
    }


def test_results_are_read_back(tmp_path):
    sj.convert(clouds(), tmp_path / "kitti", to="kitti")
    made, read = clouds().predictions, sj.read_clouds(tmp_path / "kitti")
    assert read.losses.counts == {}
    assert read.predicted.tolist() == [True] * 3
    found = read.predictions
    assert found.cloud.tolist() == made.cloud.tolist()
    assert [read.class_names[number] for number in found.class_id.tolist()] == ["any_thing"] * 3
    np.testing.assert_allclose(found.centre, made.centre, atol=2e-6)
    np.testing.assert_allclose(np.abs(np.einsum("ni,ni->n", found.orientation, made.orientation)), 1, atol=1e-9)
    np.testing.assert_allclose(found.size, made.size)
    assert found.score.tolist() == made.score.tolist()
    assert found.points.tolist() == [-1] * 3


def test_results_of_another_detector_go_through_a_recording_byte_for_byte(tmp_path):
    sj.convert(clouds(), tmp_path / "kitti", to="kitti")
    file = "results/data/000001.txt"
    text = "Car 0 0 -1.5 3 4 20 20 1.6 1.7 3.6 1 1.7 9 -1.5 0.75\n"
    text += "DontCare -1 -1 -10 1 1 9 9 -1 -1 -1 -1000 -1000 -1000 -10 1\n"
    (tmp_path / "kitti" / file).write_text(text)
    sj.convert(tmp_path / "kitti", tmp_path / "d.mcap")
    recorded = sj.read_clouds(tmp_path / "d.mcap")
    assert sorted(recorded.predictions.score.tolist()) == [0.25, 0.5, 0.75, 1]
    sj.convert(tmp_path / "d.mcap", tmp_path / "again", to="kitti")
    assert (tmp_path / "again" / file).read_text() == text
    none = replace(recorded, predictions=None, predicted=None)
    sj.convert(none, tmp_path / "none", to="kitti")
    assert sj.read_clouds(tmp_path / "none").predictions is None


@pytest.mark.parametrize(
    ("name", "row", "what"),
    [
        (
            "000001",
            "Car 0 0 -1.5 3 4 20 20 1.6 1.7 3.6 1 1.7 9 -1.5 17.5",
            "result rows whose score is not within 0 and 1",
        ),
        ("000001", "Car 0 0 -1.5 3 4 20 20 1.6 1.7 3.6 1 1.7 9 -1.5", "result rows whose score is not within 0 and 1"),
        ("000001", "Car 0 0 -1.5 3 4 20 20 1.6 1.7 3.6 1 1.7 far -1.5 1", "malformed label rows"),
        ("000009", "", "result files without a scan"),
    ],
)
def test_results_that_cannot_be_used_are_counted(tmp_path, name, row, what):
    sj.convert(clouds(), tmp_path / "kitti", to="kitti")
    (tmp_path / f"kitti/results/data/{name}.txt").write_text(row)
    read = sj.read_clouds(tmp_path / "kitti")
    assert read.losses.counts == {what: 1}
    assert f"{name}.txt" in read.losses.lines()[0]
    assert len(read.predictions) == 3
