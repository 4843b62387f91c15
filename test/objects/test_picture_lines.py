"""Lines above which nothing is an object: tables, and the horizon against points far away."""

import numpy as np
import pytest
from moving_boxes import moving_set, steady
from scipy.spatial.transform import Rotation

from simjudge.core.errors import SimjudgeError
from simjudge.objects.sightings import horizon_lines, label_sightings, read_lines


def frames():
    return moving_set([steady(100, 100), steady(300, 200, 0, 10)], count=5)


def table(tmp_path, text):
    path = tmp_path / "lines.csv"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "row", "slope"),
    [
        ("0,50", [50] * 5, [0] * 5),
        ("frame, row\n1, 50\n3, 70 # far", [50, 50, 60, 70, 70], [0] * 5),
        ("frame;row;slope\n4;10;0.5\n0;50;0.1", [50, 40, 30, 20, 10], [0.1, 0.2, 0.3, 0.4, 0.5]),
        ("{name}\t80", [80] * 5, [0] * 5),
    ],
)
def test_tables(tmp_path, text, row, slope):
    given = frames()
    found = read_lines(table(tmp_path, text.replace("{name}", given.frame_name[2])), given)
    assert found.row == pytest.approx(row)
    assert found.slope == pytest.approx(slope)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no rows"),
        ("0", ":1: '0': frame, row"),
        ("0, nan", ":1: .*frame, row"),
        ("0, 5, 6, 7", ":1: .*frame, row"),
        ("0, 1e9", ":1: .*frame, row"),
        ("0, 5\n5, 5", ":2: set has no frame 5; give a frame's name, or its number from 0 to 4"),
        ("zero, 5", ":1: set has no frame zero"),
        ("1, 5\n1, 6", ":2: frame 1 stands there twice"),
    ],
)
def test_tables_that_are_none(tmp_path, text, message):
    with pytest.raises(SimjudgeError, match=message):
        read_lines(table(tmp_path, text), frames())


def test_what_is_above(tmp_path):
    given = frames()
    seen = label_sightings(given)
    # At column 100 the line is at 90 + 10, at column 300 at 90 + 30 up to frame 4.
    found = read_lines(table(tmp_path, "0, 90, 0.1001"), given)
    assert found.above(seen).tolist() == [True, False] * 5
    found = read_lines(table(tmp_path, "0, 215, 0"), given)
    assert found.above(seen)[1::2].tolist() == [True, True, False, False, False]


def test_the_horizon_is_where_points_far_away_are():
    rng = np.random.default_rng(0)
    matrix = np.array([[700, 0, 320], [0, 720, 250], [0, 0, 1.0]])
    level = Rotation.from_matrix(np.array([[0, 0, 1], [-1, 0, 0], [0, -1, 0.0]]))
    for pitch, roll, yaw in rng.uniform(-0.5, 0.5, (8, 3)):
        camera = Rotation.from_euler("zyx", [yaw, pitch, roll]) * level
        line = horizon_lines(camera.as_quat()[None], matrix)
        for angle in yaw + np.array([-0.3, 0.1, 0.4]):
            x, y, z = matrix @ camera.inv().apply([np.cos(angle), np.sin(angle), 0])
            assert z > 0
            assert line.row[0] + line.slope[0] * x / z == pytest.approx(y / z)
    level_line = horizon_lines(level.as_quat()[None], matrix)
    assert (level_line.row[0], level_line.slope[0]) == pytest.approx((250, 0))


def test_straight_down_there_is_no_horizon():
    down = Rotation.from_matrix(np.diag([1, -1, -1.0]))
    assert np.isnan(horizon_lines(down.as_quat()[None], np.eye(3)).row).all()
