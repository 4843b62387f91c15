"""Trajectories as text."""

import math

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.data.pose_text import read_pose_text, read_scene_seeds

HALF = math.sqrt(0.5)
TUM = """# timestamp tx ty tz qx qy qz qw
1678357906.6084807 0.5 -1 0.25 0 0 0 1

1678357906.708480701   0.6 -1.1 0.25 0 0 1.0 1.0
# the end
"""


def read(tmp_path, text, name="poses.txt"):
    path = tmp_path / name
    path.write_text(text)
    return read_pose_text(path)


def test_tum_rows_to_the_nanosecond(tmp_path):
    track, losses = read(tmp_path, TUM)
    assert track.stamp.tolist() == [1678357906608480700, 1678357906708480701]
    np.testing.assert_allclose(track.position, [[0.5, -1, 0.25], [0.6, -1.1, 0.25]])
    np.testing.assert_allclose(track.orientation, [[0, 0, 0, 1], [0, 0, HALF, HALF]])
    assert not losses
    assert track.name == str(tmp_path / "poses.txt")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("1,2,3,4,0,0,0,1\n2,3,3,4,0,0,0,1\n", "poses.csv"),
        ("stamp,x,y,z,qx,qy,qz,qw\n1,2,3,4,0,0,0,1\n2,3,3,4,0,0,0,1\n", "poses.csv"),
        ("# Time, qw, qx, qy, qz, note, x, y, z\n1,1,0,0,0,a,2,3,4\n#\n2, 1,0,0,0,b, 3,3,4\n", "poses.csv"),
        ("1, 2, 3, 4, 0, 0, 0, 1\n2, 3, 3, 4, 0, 0, 0, 1\n", "poses.txt"),
        ("timestamp tx ty tz qx qy qz qw\n1 2 3 4 0 0 0 1\n2 3 3 4 0 0 0 1\n", "poses.tum"),
    ],
)
def test_tables(tmp_path, text, name):
    track, losses = read(tmp_path, text, name)
    assert track.stamp.tolist() == [10**9, 2 * 10**9]
    assert track.position.tolist() == [[2, 3, 4], [3, 3, 4]]
    assert track.orientation.tolist() == [[0, 0, 0, 1]] * 2
    assert not losses


def test_rows_that_are_no_pose_are_counted(tmp_path):
    bad = ["2 0 0", "3 0 0 zero 0 0 0 1", "nan 0 0 0 0 0 0 1", "inf 0 0 0 0 0 0 1", "4 nan 0 0 0 0 0 1"]
    text = "\n".join(["1 0 0 0 0 0 0 1", *bad, "5 0 0 0 0 0 0 1"])
    track, losses = read(tmp_path, text)
    assert track.stamp.tolist() == [10**9, 5 * 10**9]
    path = tmp_path / "poses.txt"
    said = "; ".join(f"{path}, line {number}: {row!r}" for number, row in enumerate(bad[:4], 2))
    assert losses.lines() == [
        f"4 rows that are no pose: {said}",
        f"1 poses with numbers that are not finite: {path}, line 6",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no row 'stamp x y z qx qy qz qw'"),
        ("1 2 3\n", r"holds no row .* \(1 rows that are no pose: .*line 1: '1 2 3'\)"),
        ("stamp,x,y,z\n1,2,3,4\n", "line 1: names no column qx; stamp, x, y, z, qx, qy, qz, qw are needed"),
        ('stamp,x,y,z,qx,qy,qz,qw\n1,0,0,0,0,0,0,"1\n', r"holds no row .* \(1 rows that are no pose: .*line 2"),
        ("9" * 5000 + " 0 0 0 0 0 0 1\n", r"line 1: the stamp 9{57}\.\.\. is beyond"),
        ("1678357906608480700 0 0 0 0 0 0 1\n", "line 1: the stamp 1678357906608480700 is beyond .* divide by 10"),
    ],
)
def test_texts_that_are_no_trajectory(tmp_path, text, said):
    with pytest.raises(SimjudgeError, match=said):
        read(tmp_path, text)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(SimjudgeError, match="cannot be read: No such file"):
        read_pose_text(tmp_path / "nothing.txt")
    (tmp_path / "x.txt").write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(SimjudgeError, match="not UTF-8 text"):
        read_pose_text(tmp_path / "x.txt")


def test_a_table_of_nothing_but_the_sign_of_a_comment(tmp_path):
    (tmp_path / "x.csv").write_text("#")
    with pytest.raises(SimjudgeError, match="line 1: names no column stamp"):
        read_pose_text(tmp_path / "x.csv")


def test_seeds_of_the_scene_by_stamp(tmp_path):
    path = tmp_path / "poses.csv"
    path.write_text("scene_seed,t,x,y,z,qx,qy,qz,qw\n7,2.5,0,0,0,0,0,0,1\n3,1,0,0,0,0,0,0,1\n3,word,0,0,0,0,0,0,1\n")
    assert read_scene_seeds(path) == {2_500_000_000: 7, 1_000_000_000: 3}
    path.write_text("1,2,3,4,0,0,0,1\n2,3,3,4,0,0,0,1\n")
    assert read_scene_seeds(path) == {}


@pytest.mark.parametrize("seed", ["", "-1", "1.5", "²"])
def test_a_seed_that_is_no_number_names_its_line(tmp_path, seed):
    path = tmp_path / "poses.csv"
    path.write_text(f"stamp,x,y,z,qx,qy,qz,qw,scene_seed\n1,0,0,0,0,0,0,1,{seed}\n")
    with pytest.raises(SimjudgeError, match=r"poses\.csv, line 2: scene_seed .* is not an integer from 0 on"):
        read_scene_seeds(path)
