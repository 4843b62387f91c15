"""Paths of scripted things against formulas: where they are, how fast they are, where they look."""

import math

import numpy as np
import pytest
from scene_files import scene_file, thing
from scipy.spatial.transform import Rotation

from simjudge.core.errors import SimjudgeError
from simjudge.sim.scene.read import read_scene

SQUARE = [[0, 0], [4, 0], [4, 4], [0, 4]]
ROUND = [[3 * math.cos(a), 3 * math.sin(a), 0.5] for a in np.linspace(0, 2 * math.pi, 17)[:-1]]
"""Points of a circle of 3 m, counter-clockwise."""


def path_of(tmp_path, turned=None, **fields):
    cart = {"box": [0.6, 0.4, 0.3], "path": fields, **(turned or {})}
    return thing(read_scene(scene_file(tmp_path, things__cart=cart)), "cart")


def yaw_of(pose):
    return math.degrees(pose.angles()[0])


def speeds(path, times, step=1e-4):
    at = np.array([[path.pose_at(t - step).position, path.pose_at(t + step).position] for t in times])
    return np.linalg.norm(at[:, 1] - at[:, 0], axis=1) / (2 * step)


@pytest.mark.parametrize(
    ("seconds", "x", "y", "yaw"),
    [
        (-1, 0, 0, 0),
        (0, 0, 0, 0),
        (1, 2, 0, 0),
        (3, 4, 2, 90),
        (5, 2, 4, 180),
        (6, 0, 4, 180),
        (60, 0, 4, 180),
    ],
)
def test_straight_legs_at_an_even_speed(tmp_path, seconds, x, y, yaw):
    cart = path_of(tmp_path, waypoints=SQUARE, speed=2)
    assert (cart.motion, cart.pose.position) == ("scripted", (0, 0, 0))
    pose = cart.path.pose_at(seconds)
    assert pose.position == pytest.approx((x, y, 0), abs=1e-9)
    assert math.cos(math.radians(yaw_of(pose) - yaw)) == pytest.approx(1)
    assert speeds(cart.path, [0.5, 1.9, 2.1, 5.9]) == pytest.approx([2, 2, 2, 2])


@pytest.mark.parametrize("seconds", [0.0, 1.0, 3.0, 7.3, 8.0, 100.5, -2.5])
def test_a_closed_path_goes_round_and_round(tmp_path, seconds):
    cart = path_of(tmp_path, waypoints=SQUARE, speed=2, closed=True)
    along = 2 * seconds % 16
    corner, rest = int(along // 4), along % 4
    begin, end = np.array(SQUARE[corner]), np.array(SQUARE[(corner + 1) % 4])
    assert cart.path.pose_at(seconds).position[:2] == pytest.approx(begin + (end - begin) * rest / 4, abs=1e-5)


@pytest.mark.parametrize("start", [3.0, -3.0])
def test_it_can_start_on_its_way_or_later(tmp_path, start):
    cart = path_of(tmp_path, waypoints=SQUARE, speed=2, start=start)
    assert cart.pose.position[:2] == pytest.approx((4, 2) if start > 0 else (0, 0), abs=1e-5)
    assert cart.path.pose_at(4.0 - start).position == pytest.approx((4, 4, 0), abs=1e-5)


def test_times_say_the_speed_of_each_leg_and_who_waits_looks_where_he_came_from(tmp_path):
    cart = path_of(tmp_path, waypoints=[[0, 0], [4, 0], [4, 0], [4, 1]], times=[1, 3, 5, 9])
    at = [cart.path.pose_at(t) for t in (0, 1, 2, 4, 7, 9, 20)]
    assert [pose.position[:2] for pose in at] == [
        pytest.approx(each, abs=1e-5) for each in [(0, 0), (0, 0), (2, 0), (4, 0), (4, 0.5), (4, 1), (4, 1)]
    ]
    assert [round(yaw_of(pose)) for pose in at] == [0, 0, 0, 0, 90, 90, 90]


def test_a_smooth_closed_path_through_a_circle_is_one(tmp_path):
    """A periodic cubic spline through 16 points of a circle is off it by 3e-4 of the radius at most."""
    path = path_of(tmp_path, waypoints=ROUND, speed=1.5, smooth=True, closed=True).path
    assert path.duration == pytest.approx(2 * math.pi * 3 / 1.5, rel=3e-4)
    for seconds in np.linspace(0, 2 * path.duration, 37):
        pose = path.pose_at(seconds)
        angle = 2 * math.pi * seconds / path.duration
        assert pose.position == pytest.approx((3 * math.cos(angle), 3 * math.sin(angle), 0.5), abs=2e-3)
        assert math.cos(math.radians(yaw_of(pose) - 90) - angle) > 1 - 1e-5
    # Even across the seam, where the path begins again.
    assert speeds(path, [0.0, 1e-3, 2.0, path.duration - 1e-3], 2e-3) == pytest.approx([1.5] * 4, rel=1e-3)


def test_smooth_times_are_kept_and_a_wait_stands_still(tmp_path):
    waypoints, times = [[0, 0], [4, 1], [4, 1], [8, 0], [9, 3]], [0, 4, 6, 8, 12]
    path = path_of(tmp_path, waypoints=waypoints, times=times, smooth=True).path
    for waypoint, time in zip(waypoints, times, strict=True):
        assert path.pose_at(time).position[:2] == pytest.approx(waypoint, abs=1e-3)
    assert speeds(path, [5.0], 0.9) == pytest.approx([0], abs=1e-6)
    # No jump of the speed anywhere: it changes by a cubic's slope, not at once.
    pace = speeds(path, np.arange(0.02, 11.98, 0.02), 0.01)
    assert np.abs(np.diff(pace)).max() < 0.2
    assert pace.min() >= 0


def test_facing_fixed_and_turned(tmp_path):
    fixed = path_of(tmp_path, {"yaw": 30}, waypoints=SQUARE, speed=1, facing="fixed").path
    assert [round(yaw_of(fixed.pose_at(t))) for t in (1, 5, 9)] == [30, 30, 30]
    sideways = path_of(tmp_path, {"yaw": 90}, waypoints=SQUARE, speed=1).path
    assert [round(yaw_of(sideways.pose_at(t))) % 360 for t in (1, 5, 9)] == [90, 180, 270]


def test_a_climb_lifts_the_nose(tmp_path):
    path = path_of(tmp_path, waypoints=[[0, 0, 0], [3, 4, 5]], speed=1).path
    ahead = path.pose_at(2.0).rotation_matrix()[:, 0]
    assert ahead == pytest.approx(np.array([3, 4, 5]) / math.sqrt(50))
    assert path.pose_at(2.0).rotation_matrix()[2, 1] == pytest.approx(0, abs=1e-12)  # its sides stay level


def test_parts_of_several_surfaces_go_together(tmp_path):
    parts = [{"box": [1, 1, 1]}, {"box": [0.2, 0.2, 0.2], "at": [0, 0, 1], "surface": {"colour": "#ff0000"}}]
    scene = read_scene(scene_file(tmp_path, things__cart={"parts": parts, "path": {"waypoints": SQUARE, "speed": 1}}))
    poses = scene.scripted_poses(6.0)
    assert list(poses) == ["cart", "cart/2"]
    assert poses["cart"] == poses["cart/2"]
    assert Rotation.from_quat(poses["cart"].orientation).as_rotvec() == pytest.approx([0, 0, math.pi / 2])


def test_random_things_keep_clear_of_the_path(tmp_path):
    random = {"random": {"kinds": ["red_cone"], "count": 60, "spacing": 0.2}}
    scene = read_scene(
        scene_file(
            tmp_path,
            things__cart={"box": [0.6, 0.4, 0.3], "path": {"waypoints": [[-3, 0], [3, 0]], "speed": 1}},
            placements={"more": random},
        )
    )
    y = [abs(each.pose.position[1]) for each in scene.things if each.name.startswith("more")]
    assert min(y) > math.hypot(0.3, 0.2)


WRONG = {
    "no pace": ({"waypoints": SQUARE}, r"path: a path needs one of speed, times; none is given"),
    "two paces": ({"waypoints": SQUARE, "speed": 1, "times": [0, 1, 2, 3]}, r"speed and times are given"),
    "one waypoint": ({"waypoints": [[0, 0]], "speed": 1}, r"path\.waypoints"),
    "one place": ({"waypoints": [[1, 1], [1, 1]], "times": [0, 1]}, r"waypoints: all waypoints are one point"),
    "standing at a speed": ({"waypoints": [[0, 0], [1, 1], [1, 1]], "speed": 1}, r"waypoints\[2\]: .* by times in"),
    "closed twice": ({"waypoints": [*SQUARE, [0, 0]], "speed": 1, "closed": True}, r"at the end of the closed path"),
    "times that are few": ({"waypoints": SQUARE, "times": [0, 1]}, r"times: 4 times are needed, .*; these are 2"),
    "no time back": ({"waypoints": SQUARE, "times": [0, 1, 2, 3], "closed": True}, r"5 times .* return to the first"),
    "times that run back": ({"waypoints": SQUARE, "times": [0, 2, 1, 3]}, r"times\[2\]: more than 2 s is needed"),
    "a speed of 0": ({"waypoints": SQUARE, "speed": 0}, r"path\.speed: a number above 0"),
    "an unknown facing": ({"waypoints": SQUARE, "speed": 1, "facing": "ahead"}, r"path\.facing: there is no 'ahead'"),
    "an unknown field": ({"waypoints": SQUARE, "speed": 1, "close": True}, r"close: no such field; is closed meant"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_path_is_one_line(tmp_path, name):
    fields, message = WRONG[name]
    with pytest.raises(SimjudgeError, match=message) as caught:
        path_of(tmp_path, **fields)
    assert str(caught.value).count("\n") == 0
    assert "mine.yaml" in str(caught.value)


@pytest.mark.parametrize(
    ("beside", "message"),
    [
        ({"at": [1, 1]}, r"cart\.at: the path's waypoints say it"),
        ({"copies": [{"at": [1, 1]}]}, r"cart\.copies: the path's waypoints say it"),
        ({"motion": "free", "mass": 1}, r"cart\.path: what is free obeys physics"),
    ],
)
def test_what_does_not_go_with_a_path(tmp_path, beside, message):
    with pytest.raises(SimjudgeError, match=message):
        path_of(tmp_path, beside, waypoints=SQUARE, speed=1)
