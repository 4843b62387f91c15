"""A lidar in a scene: the answers that are known beforehand."""

import math
from dataclasses import replace

import numpy as np
import pytest

from simjudge.geometry.keyframes import Keyframes
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.sensor_feed import LidarCapture
from simjudge.sim.engines.contract import BodyMotion
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.scene.model import Collider, Scene, Surface, Thing, box, cylinder
from simjudge.sim.sensors.lidar.lidar import Lidar, LidarNoise, lidar_beams

pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")

PLAIN = Lidar("roof", rate=20, columns=3600, elevation=(0.0,), range=(0.1, 100))
STILL = Keyframes.build([0.0], [[Pose()]])


def capture(things, lidar, sensor=STILL, motion=None, stamp=10**9, seed=0):
    engine = make_engine("default", Scene("s", tuple(things), ()))
    try:
        scanner = LidarCapture(engine, lidar, seed)
        return scanner.capture(stamp, sensor) if motion is None else scanner.capture(stamp, sensor, motion)
    finally:
        engine.close()


def post(name, x, y, instance, radius=0.5, **more):
    return Thing(name, cylinder(radius, 4.0, 256), Surface(), Pose((x, y, -2.0)), 1, instance, **more)


def wall(name, x, **more):
    return Thing(name, box(0.1, 200.0, 50.0), more.pop("surface", Surface()), Pose((x + 0.05, 0, -25.0)), **more)


def length_abeam(window, side):
    """Length along x of a post of 1 m at 5 m, which stands abeam when the beam comes round to it; 20 m/s at 20 Hz."""
    y, turned = (5.0, 0.75) if side == "left" else (-5.0, 0.25)
    abeam = turned if window else 1.0
    posts = [post(f"p{k}", abeam + 2.0 * k, y, k + 50) for k in range(-20, 20)]
    sensor = Keyframes.build([-0.05, 0.0], [[Pose((0.0, 0.0, 0.0))], [Pose((1.0, 0.0, 0.0))]])
    found = capture(posts, replace(PLAIN, window=window, columns=180_000), sensor)
    return np.ptp(found.scan.points[found.instance == 50, 0])


def test_a_driving_lidar_sees_posts_longer_on_the_left_and_shorter_on_the_right():
    """Counter-clockwise: on the right the beam sweeps along with the car, on the left against it.

    `1 / (1 -+ v / (2 pi f d))`, d being 4.5 m at the post's near side and 5 m at its ends.
    """
    standing = [length_abeam(0.0, side) for side in ("left", "right")]
    assert standing == pytest.approx([0.995, 0.995], abs=0.006)
    share = np.array([20 / (2 * math.pi * 20 * d) for d in (5.0, 4.5)])
    low, high = 1 / (1 - share)
    assert low - 0.005 < length_abeam(0.05, "left") / standing[0] < high + 0.005
    high, low = 1 / (1 + share)
    assert low - 0.005 < length_abeam(0.05, "right") / standing[1] < high + 0.005


def test_a_moving_thing_is_seen_where_it_is_at_each_beam():
    """A lidar at rest; a post goes across ahead at 10 m/s."""
    lidar = replace(PLAIN, window=0.05, field_of_view=1.0, columns=1000)
    motion = BodyMotion(("p",), Keyframes.build([-0.05, 0.0], [[Pose((5, -0.25, -2))], [Pose((5, 0.25, -2))]]))
    found = capture([post("p", 50, 0, 1, motion="free", mass=1.0, collider=Collider("hull"))], lidar, STILL, motion)
    time, points = found.scan.time, found.scan.points
    centre = 10 * (time + 0.025)
    assert np.hypot(points[:, 0] - 5, points[:, 1] - centre) == pytest.approx(np.full(len(time), 0.5), abs=1e-3)
    assert len(found.boxes) == 1
    assert found.boxes.centre[0] == pytest.approx([5, 0.25, 0], abs=1e-9)
    assert found.boxes.size[0] == pytest.approx([1, 1, 4], abs=1e-3)
    assert found.boxes.points[0] == len(time)


def test_a_thing_of_several_parts_has_one_box_and_stuff_has_none():
    """A low part and a high one, which the beams do not reach; a wall behind them that is stuff."""
    frame, road = Pose((5, 0.5, -2)), {"class_id": 3, "instance": 0}
    low = Thing("car", box(2.0, 1.0, 3.0), Surface(), frame, 1, 8)
    high = Thing("car/2", box(0.5, 0.5, 4.0), Surface((1, 0, 0)), frame, 1, 8)
    found = capture([low, high, wall("wall", 9.0, **road)], replace(PLAIN, columns=2000))
    assert (found.boxes.instance.tolist(), found.boxes.class_id.tolist()) == ([8], [1])
    assert found.boxes.size[0] == pytest.approx([2, 1, 4])
    assert found.boxes.centre[0] == pytest.approx([5, 0.5, 0])
    assert found.boxes.points[0] == np.count_nonzero(found.instance == 8) > 0
    assert np.count_nonzero(found.class_id == 3) > 100


@pytest.mark.parametrize(
    ("returns", "samples", "expected"),
    [
        ("strongest", 1, [2]),
        ("dual", 1, [2]),
        ("strongest", 2, [2]),
        ("last", 2, [6]),
        ("dual", 2, [2, 6]),
    ],
)
def test_a_beam_on_the_edge_of_a_near_wall(returns, samples, expected):
    """Two thirds of the beam's width lie on the near wall, whose edge is left of the beam's middle."""
    divergence = 0.06
    edge = 2 * math.tan(divergence / 6)
    near = Thing("near", box(0.1, 10.0, 50.0), Surface(), Pose((2.05, edge - 5.0, -25.0)), 1, 1)
    beam = {"divergence": (divergence, 0.001), "samples": samples, "returns": returns}
    lidar = replace(PLAIN, columns=1, field_of_view=1e-3, **beam)
    found = capture([near, wall("far", 6.0)], lidar)
    assert found.scan.range == pytest.approx(expected, rel=2e-3)
    if len(expected) == 2:
        assert found.scan.intensity[0] / found.scan.intensity[1] == pytest.approx(2, rel=0.01)
        assert found.class_id.tolist() == [1, 0]


def test_mean_puts_a_point_into_the_air_between():
    lidar = replace(PLAIN, columns=1, field_of_view=1e-3, divergence=(0.06, 0.001), samples=2, returns="mean")
    near = Thing("near", box(0.1, 10.0, 50.0), Surface(), Pose((2.05, 2 * math.tan(0.01) - 5.0, -25.0)), 1, 1)
    assert capture([near, wall("far", 6.0)], lidar).scan.range == pytest.approx([(2 * 2 + 6) / 3], rel=2e-3)


@pytest.mark.parametrize(
    ("surface", "expected"),
    [
        (Surface((0.5, 0.5, 0.5)), 0.5),
        (Surface((0.5, 0.5, 0.5), reflectance=0.9), 0.9),
        (Surface((1.0, 0.0, 0.0)), 0.2126),
        (Surface((0.5, 0.5, 0.5), texture=np.full((4, 4, 3), 0.5, np.float32)), 0.25),
    ],
)
def test_intensity_is_reflectance_times_cosine(surface, expected):
    lidar = replace(PLAIN, columns=201, field_of_view=2.0)
    found = capture([wall("w", 3.0, surface=surface)], lidar)
    assert found.scan.intensity == pytest.approx(expected * np.cos(found.scan.azimuth), abs=1e-5)


def test_a_wall_spreads_by_the_noise_and_comes_again_the_same():
    lidar = replace(PLAIN, columns=5000, field_of_view=0.02, noise=LidarNoise((0.03, 0.0), 0.002))
    found = capture([wall("w", 10.0)], lidar)
    again = capture([wall("w", 10.0)], lidar)
    other = capture([wall("w", 10.0)], lidar, stamp=2 * 10**9)
    assert np.array_equal(found.scan.points, again.scan.points)
    assert not np.array_equal(found.scan.points, other.scan.points)
    assert (found.scan.points - found.scan.true_points)[:, 0].std() == pytest.approx(0.03, rel=0.04)
    assert (found.scan.points - found.scan.true_points)[:, 1].std() == pytest.approx(10 * 0.002, rel=0.04)
    assert found.scan.true_points[:, 0] == pytest.approx(np.full(len(found.scan), 10.0), abs=1e-5)


def test_stamps_rise_and_angles_are_those_of_the_table():
    lidar = replace(PLAIN, columns=360, window=0.05, elevation=(-0.2, 0.0, 0.2), ring_delay=(4e-5, 0.0, 8e-5))
    found = capture([wall("w", 3.0)], lidar)
    beams = lidar_beams(lidar)
    assert np.all(np.diff(found.scan.time) > 0)
    row = np.searchsorted(beams.time, found.scan.time + 0.05)
    row = np.where(np.abs(beams.time[np.minimum(row, len(beams) - 1)] - found.scan.time - 0.05) < 1e-9, row, row - 1)
    measured = np.arctan2(found.scan.points[:, 1], found.scan.points[:, 0])
    assert measured == pytest.approx(beams.azimuth[row], abs=1e-12)
    assert np.arcsin(found.scan.points[:, 2] / found.scan.range) == pytest.approx(beams.elevation[row], abs=1e-12)
    assert found.scan.ring.tolist() == beams.ring[row].tolist()
