"""Paths: lengths, headings and radii against what geometry says."""

import math

import numpy as np
import pytest

from simjudge.core.documents import check_content
from simjudge.core.errors import SimjudgeError
from simjudge.sim.scene.ground import build_line, headings, offset_line, resample, tightest_radius
from simjudge.sim.scene.scene_file import LineFields


def line_of(tmp_path, **fields):
    document = check_content(fields, LineFields, "path", tmp_path / "mine.yaml", ())
    return build_line(document, document.content, ())


def length(line):
    return float(np.sum(np.linalg.norm(np.diff(line, axis=0), axis=1)))


def test_arcs(tmp_path):
    pieces = [{"straight": 1}, {"left": 90, "radius": 2}, {"right": 180, "radius": 1.5}]
    line = line_of(tmp_path, arcs={"start": [1, 2, 90], "pieces": pieces})
    assert length(line) == pytest.approx(1 + math.pi + 1.5 * math.pi, abs=1e-3)
    assert line[0] == pytest.approx([1, 2])
    # Up 1, a quarter to the left about (-1, 3): there at (-1, 5), westward; half a turn right about (-1, 6.5).
    assert line[-1] == pytest.approx([-1, 8], abs=1e-9)
    angle = headings(line)
    assert (angle[0], math.cos(angle[-1])) == pytest.approx((math.pi / 2, 1), abs=0.01)
    assert tightest_radius(line) == pytest.approx(1.5, rel=0.01)
    assert np.ptp(np.linalg.norm(np.diff(line, axis=0), axis=1)) < 1e-4


def test_a_sine(tmp_path):
    line = line_of(tmp_path, sine={"from": [0, 1], "to": [10, 1], "amplitude": 0.8, "periods": 2})
    quarter = line[np.argmin(np.abs(line[:, 0] - 1.25))]
    assert quarter[1] == pytest.approx(1.8, abs=1e-3)  # to the left first
    x = np.linspace(0, 10, 100_001)
    slope = 0.8 * 2 * math.pi * 0.2 * np.cos(2 * math.pi * 0.2 * x)
    assert length(line) == pytest.approx(np.mean(np.hypot(1, slope)) * 10, rel=1e-3)
    assert tightest_radius(line) == pytest.approx(1 / (0.8 * (2 * math.pi * 0.2) ** 2), rel=0.02)


def test_waypoints_are_passed(tmp_path):
    points = [[0, 0], [2, 1], [4, -1], [6, 0]]
    line = line_of(tmp_path, waypoints=points)
    for point in points:
        assert np.min(np.linalg.norm(line - point, axis=1)) < 0.011
    assert (line[0], line[-1]) == (pytest.approx([0, 0]), pytest.approx([6, 0]))
    straight = line_of(tmp_path, waypoints=[[0, 0], [3, 4]])
    assert length(straight) == pytest.approx(5)
    assert tightest_radius(straight) > 1e6


def test_beside_is_to_the_left():
    line = resample(np.array([[0.0, 0], [4, 0]]), 0.5)
    assert len(line) == 9
    assert np.allclose(offset_line(line, 0.5)[:, 1], 0.5)
    turn = np.linspace(0, math.pi, 400)
    circle = 2 * np.stack([np.cos(turn), np.sin(turn)], 1)  # counter-clockwise: the middle is on the left
    assert np.linalg.norm(offset_line(circle, 0.5), axis=1) == pytest.approx(1.5 * np.ones(400), abs=1e-3)
    assert np.linalg.norm(offset_line(circle, -0.5), axis=1) == pytest.approx(2.5 * np.ones(400), abs=1e-3)


def test_closed_waypoints_come_back_smoothly(tmp_path):
    turn = np.linspace(0, 2 * math.pi, 13)[:-1]
    line = line_of(tmp_path, waypoints=(3 * np.stack([np.cos(turn), np.sin(turn)], 1)).tolist(), closed=True)
    assert np.array_equal(line[0], line[-1])
    assert length(line) == pytest.approx(6 * math.pi, rel=1e-3)
    assert np.linalg.norm(line, axis=1) == pytest.approx(np.full(len(line), 3.0), abs=2e-3)
    assert tightest_radius(line, closed=True) == pytest.approx(3.0, rel=0.03)
    angle = headings(line, closed=True)
    assert angle[0] == angle[-1] == pytest.approx(math.pi / 2, abs=1e-3)
    inside = offset_line(line, 0.5, closed=True)
    assert np.linalg.norm(inside, axis=1) == pytest.approx(np.full(len(line), 2.5), abs=5e-3)


def test_closed_arcs_end_where_they_began(tmp_path):
    pieces = [{"straight": 2}, {"left": 180, "radius": 1.5}, {"straight": 2}, {"left": 180, "radius": 1.5}]
    line = line_of(tmp_path, arcs={"start": [0, 0, 0], "pieces": pieces}, closed=True)
    assert np.array_equal(line[0], line[-1])
    assert length(line) == pytest.approx(4 + 3 * math.pi, abs=1e-3)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "no path: a table is needed .waypoints, arcs, sine."),
        ({"waypoints": [[0, 0]]}, r"waypoints: two points or more"),
        ({"waypoints": [[0, 0], [0, 0]]}, r"waypoints: two points or more, all apart"),
        ({"waypoints": [[0, 0], [1, "a"]]}, r"waypoints\[1\]: 2 numbers \[x, y\] are needed"),
        ({"waypoints": [[0, 0], [9000, 0]]}, r"waypoints: 9000 m long"),
        ({"arcs": {"start": [0, 0, 0], "pieces": [{"left": 90}]}}, r"pieces\[0\]\.radius: a number"),
        ({"arcs": {"start": [0, 0, 0], "pieces": [{"up": 90}]}}, r"pieces\[0\]\.up: no such field; there are left"),
        ({"arcs": {"start": [0, 0], "pieces": [{"straight": 1}]}}, r"arcs\.start: 3 numbers"),
        ({"arcs": {"start": [0, 0, 0], "pieces": [{"straight": 1, "radius": 2}]}}, r"radius: no such field"),
        ({"waypoints": [[0, 0], [1, 0]], "closed": True}, r"waypoints: three points or more, all apart"),
        ({"waypoints": [[0, 0], [1, 0], [1, 1], [0, 0]], "closed": True}, r"the first is not given again at the end"),
        (
            {"arcs": {"start": [0, 0, 0], "pieces": [{"straight": 1}, {"left": 90, "radius": 1}]}, "closed": True},
            r"arcs: they end 2\.236 m and 90\.0 degrees off their start",
        ),
        (
            {"sine": {"from": [0, 0], "to": [4, 0], "amplitude": 1, "periods": 1}, "closed": True},
            r"closed: a sine does not come back",
        ),
        ({"sine": {"from": [0, 0], "to": [0, 0], "amplitude": 1, "periods": 1}}, r"sine\.to: another point"),
    ],
)
def test_a_path_that_is_none(tmp_path, fields, message):
    with pytest.raises(SimjudgeError, match=message):
        line_of(tmp_path, **fields)
