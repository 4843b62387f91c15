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


KITTI = "".join(f"1 0 0 {x} 0 1 0 0 0 0 1 0\n" for x in (0, 1, "2e0", 3))
EUROC_ROWS = (
    "1403636580838555648,1,2,3,0.8660254037844387,0,0,0.5,0,0,0,0,0,0,0,0,0\n"
    "1403636580843555328,2,2,3,0.8660254037844387,0,0,0.5,0,0,0,0,0,0,0,0,0\n"
)
EUROC_HEAD = (
    "#timestamp, p_RS_R_x [m], p_RS_R_y [m], p_RS_R_z [m], q_RS_w [], q_RS_x [], q_RS_y [], q_RS_z [], "
    "v_RS_R_x [m s^-1], v_RS_R_y [m s^-1], v_RS_R_z [m s^-1], b_w_RS_S_x [rad s^-1], b_w_RS_S_y [rad s^-1], "
    "b_w_RS_S_z [rad s^-1], b_a_RS_S_x [m s^-2], b_a_RS_S_y [m s^-2], b_a_RS_S_z [m s^-2]\n"
)
YAW_60 = [0, 0, 0.5, math.sqrt(0.75)]


@pytest.mark.parametrize(
    "text", [KITTI, KITTI.replace(" ", ","), "# matrices, by row\n" + KITTI.replace("3 0", "3.0e+00 0")]
)
def test_twelve_numbers_a_row_are_kittis_matrices(tmp_path, text):
    path = tmp_path / "poses.txt"
    path.write_text(text)
    with pytest.raises(SimjudgeError, match=r"poses\.txt: rows of 12 numbers are KITTI's .* put times\.txt beside it"):
        read_pose_text(path)
    numbered, losses = read_pose_text(path, untimed_rate=10)
    assert not numbered.is_timed
    assert not losses
    assert numbered.stamp.tolist() == [0, 10**8, 2 * 10**8, 3 * 10**8]
    assert numbered.position.tolist() == [[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]]
    (tmp_path / "times.txt").write_text("0.000000e+00\n1.037e-01\n0.2\n0.3\n")
    timed, _ = read_pose_text(path)
    assert timed.is_timed
    assert timed.stamp.tolist() == [0, 103_700_000, 2 * 10**8, 3 * 10**8]
    (tmp_path / "times.txt").write_text("0\n1\n")
    with pytest.raises(SimjudgeError, match=r"times\.txt: 2 times for 4 poses"):
        read_pose_text(path)


def test_the_rotation_of_a_kitti_row_and_rows_that_are_none(tmp_path):
    turned = "0.5 -0.866025 0 1 0.866025 0.5 0 2 0 0 1 3"
    path = tmp_path / "poses.txt"
    path.write_text(f"{turned}\n2 0 0 1 0 1 0 2 0 0 1 3\nnan 0 0 0 0 1 0 0 0 0 1 0\n1 0 0 0 0 1 0 0 0 0 1\n{turned}\n")
    track, losses = read_pose_text(path, untimed_rate=1)
    np.testing.assert_allclose(track.orientation, [YAW_60] * 2, atol=1e-6)
    assert track.position.tolist() == [[1, 2, 3]] * 2
    assert track.stamp.tolist() == [0, 4 * 10**9]  # what is lost keeps its number
    assert losses.counts == {"rows that are not a pose": 3}
    assert f"{path}, line 2: '2 0 0 1" in losses.lines()[0]


@pytest.mark.parametrize(
    "head", [EUROC_HEAD, EUROC_HEAD.replace("#timestamp", "#timestamp [ns]"), "", EUROC_HEAD.lstrip("#")]
)
def test_eurocs_table_with_and_without_its_first_line(tmp_path, head):
    track, losses = read(tmp_path, head + EUROC_ROWS, "data.csv")
    assert track.stamp.tolist() == [1403636580838555648, 1403636580843555328]
    assert track.position.tolist() == [[1, 2, 3], [2, 2, 3]]
    np.testing.assert_allclose(track.orientation, [YAW_60] * 2)
    assert not losses


@pytest.mark.parametrize(
    "text",
    [
        "# timestamp tx ty tz qw qx qy qz\n1 2 3 4 0.8660254037844387 0 0 0.5\n",
        "# ground truth\n# a file, recorded\n#timestamp tx ty tz qx qy qz qw\n1 2 3 4 0 0 0.5 0.8660254037844387\n",
        "#tx ty tz qw qz qy qx timestamp[ms]\n2 3 4 0.8660254037844387 0.5 0 0 1000\n",
        "timestamp, tx, ty, tz, qw, qx, qy, qz\n1,2,3,4,0.8660254037844387,0,0,0.5,\n",
        "# time (s), p_x (m), p_y (m), p_z (m), q_w, q_x, q_y, q_z\n1 2 3 4 0.8660254037844387 0 0 0.5\n",
        "time;x;y;z;qw;qx;qy;qz\n1;2;3;4;0.8660254037844387;0;0;0.5\n",
        (
            "%time,field.header.seq,field.pose.position.x,field.pose.position.y,field.pose.position.z,"
            "field.pose.orientation.w,field.pose.orientation.z,field.pose.orientation.x,field.pose.orientation.y\n"
            "1000000000,9,2,3,4,0.8660254037844387,0.5,0,0\n"
        ),
        "t_us x y z vx vy vz qw qx qy qz\n1000000 2 3 4 9 9 9 0.8660254037844387 0 0 0.5\n",
    ],
)
def test_the_order_of_columns_is_the_one_that_the_file_names(tmp_path, text):
    track, losses = read(tmp_path, text)
    assert track.stamp.tolist() == [10**9]
    assert track.position.tolist() == [[2, 3, 4]]
    np.testing.assert_allclose(track.orientation, [YAW_60])
    assert not losses


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "# timestamp x y z q0 q1 q2 q3\n1 2 3 4 1 0 0 0\n",
            r"line 1: names no column qx \(it names stamp, x, y, z, q0",
        ),
        ("stamp,x [mm],y,z,qx,qy,qz,qw\n1,2,3,4,0,0,0,1\n", r"line 1: names no column x \(it names stamp, x \[mm\]"),
        ("stamp,x,px,y,z,qx,qy,qz,qw\n1,2,2,3,4,0,0,0,1\n", "line 1: two columns are x"),
        ("1 2 3 4 0 0 0 1 9\n", "holds no row 'stamp .* rows of other columns need a first line that names them"),
        ("12 1 0 0 0 0 1 0 0 0 0 1 0\n", "holds no row 'stamp"),  # KITTI-360's: a frame's number before the matrix
        ("1403636580838555648,1,2,3,1,0,0,0\n", r"name the column 'timestamp \[ns\]' in a first line"),
    ],
)
def test_columns_that_nobody_can_know_are_refused(tmp_path, text, said):
    with pytest.raises(SimjudgeError, match=said):
        read(tmp_path, text)


def test_rows_that_are_no_pose_are_counted(tmp_path):
    bad = ["2 0 0", "3 0 0 zero 0 0 0 1", "nan 0 0 0 0 0 0 1", "inf 0 0 0 0 0 0 1", "4 nan 0 0 0 0 0 1"]
    text = "\n".join(["1 0 0 0 0 0 0 1", *bad, "5 0 0 0 0 0 0 1"])
    track, losses = read(tmp_path, text)
    assert track.stamp.tolist() == [10**9, 5 * 10**9]
    path = tmp_path / "poses.txt"
    said = "; ".join(f"{path}, line {number}: {row!r}" for number, row in enumerate(bad[:4], 2))
    assert losses.lines() == [
        f"4 rows that are not a pose: {said}",
        f"1 pose with numbers that are not finite: {path}, line 6",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no row 'stamp x y z qx qy qz qw'"),
        ("1 2 3\n", r"holds no row .* \(1 row that is not a pose: .*line 1: '1 2 3'\)"),
        (
            "stamp,x,y,z\n1,2,3,4\n",
            r"line 1: names no column qx \(it names stamp, x, y, z\); stamp, x, y, z, qx, qy, qz, qw are needed",
        ),
        ('stamp,x,y,z,qx,qy,qz,qw\n1,0,0,0,0,0,0,"1\n', r"holds no row .* \(1 row that is not a pose: .*line 2"),
        ("9" * 5000 + " 0 0 0 0 0 0 1\n", r"line 1: the stamp 9{57}\.\.\. is beyond"),
        ("1678357906608480700 0 0 0 0 0 0 1\n", r"stamp 1678357906608480700 is beyond .* 10\^9, .*stamp \[ns\]"),
        ("1678357906608480 0 0 0 0 0 0 1\n", r"stamp 1678357906608480 is beyond .* 10\^6, or .*'timestamp \[us\]"),
        ("1678357906608 0 0 0 0 0 0 1\n", r"stamp 1678357906608 is beyond .* 10\^3, or .*'timestamp \[ms\]"),
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
    with pytest.raises(SimjudgeError, match=r"x\.csv: holds no row"):
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


def test_a_long_name_of_a_column_is_cut_off_in_the_message(tmp_path):
    path = tmp_path / "poses.csv"
    path.write_text(f"stamp,x,y{'(' * 5000},z,qx,qy,qz,qw,name\n0,0,0,0,0,0,0,1,a\n")
    with pytest.raises(SimjudgeError, match=r"names no column y \(it names stamp, x, y\({99}\.\.\., z") as error:
        read_pose_text(path)
    assert len(str(error.value)) < 500 + len(str(path))
