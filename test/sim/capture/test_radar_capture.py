"""A radar in a scene: the answers that are known beforehand."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from simjudge.geometry.keyframes import Keyframes
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.radar_capture import RadarCapture
from simjudge.sim.engines.contract import STANDING, BodyMotion
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.scene.model import Collider, Mesh, Scene, Surface, Thing, box, cylinder
from simjudge.sim.sensors.filter_registry import FilterStep
from simjudge.sim.sensors.lidar.cloud_filters import CloudFilterStep
from simjudge.sim.sensors.radar.radar import Radar, ratio

pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")

METAL = Surface(metallic=1.0)
STILL = Keyframes.build([0.0], [[Pose()]])
RADAR = Radar(
    "front",
    20,
    77e9,
    (math.radians(100), math.radians(10)),
    (0.5, 90.0),
    (-35.0, 35.0),
    (0.5, 0.3, math.radians(3)),
    ratio(13) * 70.0**4,
    false_alarms=1e-3,
    spacing=math.radians(0.5),
)
# Rays close together straight ahead, for the sections of small things.
FINE = replace(RADAR, field_of_view=(math.radians(2), math.radians(2)), spacing=math.radians(0.01))


def before(things, radar, filters=()):
    return RadarCapture(make_engine("default", Scene("s", tuple(things), ())), radar, 1, filters)


def corner(edge, distance, surface=METAL):
    """A triangular corner with its apex so far ahead; it opens towards the radar."""
    vertices = edge * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float)
    mesh = Mesh(vertices, np.array([[0, 1, 2], [0, 2, 3], [0, 3, 1]]), np.zeros((4, 2)), np.tile([1.0, 0, 0], (4, 1)))
    turned, _ = Rotation.align_vectors([[-1, 0, 0]], [np.ones(3) / math.sqrt(3)])
    return Thing("corner", mesh, surface, Pose((distance, 0, 0), tuple(turned.as_quat())), 1, 7)


@pytest.mark.parametrize(("edge", "distance"), [(0.1, 10.0), (0.15, 15.0), (0.15, 20.0)])
def test_a_corner_reflector_has_the_section_of_its_formula(edge, distance):
    """4 pi a^4 / (3 lambda^2), found by rays that three mirrors send back."""
    capture = before([corner(edge, distance)], FINE)
    found = [capture.echoes(STILL, STANDING, np.random.default_rng(seed)) for seed in range(5)]
    section = np.mean([one.section.max() for one in found])
    assert section == pytest.approx(4 * math.pi * edge**4 / (3 * RADAR.wavelength**2), rel=0.06)
    assert found[0].position[found[0].section.argmax()] == pytest.approx([distance, 0, 0], abs=0.01)


def test_the_power_of_a_corner_reflector_falls_with_the_fourth_power_of_the_range():
    snr = []
    for distance in (10.0, 20.0, 40.0):
        fine = replace(
            FINE,
            resolution=(0.5, 0.3, math.radians(0.1)),
            spacing=math.radians(0.1 / distance),
            field_of_view=(math.radians(15 / distance),) * 2,
        )
        snr.append(before([corner(0.1, distance)], fine).capture(10**9, STILL).found.snr.max())
    assert -np.diff(snr) == pytest.approx([40 * math.log10(2)] * 2, abs=0.5)


def test_a_corner_of_wood_is_none():
    found = before([corner(0.15, 15.0, Surface())], FINE).echoes(STILL, STANDING, np.random.default_rng(0))
    assert found.section.sum() < 0.1


def test_a_metal_sphere_has_the_section_of_optics_and_a_dull_one_its_share():
    """Pi a^2 (1 + m^2 / 2) mirrored and 8/3 pi a^2 scattered, in the shares 0.9 and 0.1."""
    expected = math.pi * 0.1**2 * (0.9 * (1 + 0.2**2 / 2) + 0.1 * 8 / 3)
    for surface, share in ((METAL, 1.0), (Surface(), 0.1), (Surface(metallic=1.0, radar_reflectance=0.3), 0.3)):
        ball = Thing("ball", _sphere(0.1), surface, Pose((40, 0, 0)))
        capture = before([ball], replace(FINE, field_of_view=(math.radians(0.4),) * 2, spacing=math.radians(0.004)))
        sections = [capture.echoes(STILL, STANDING, np.random.default_rng(seed)).section.sum() for seed in range(10)]
        assert np.mean(sections) == pytest.approx(share * expected, rel=0.02)


def _sphere(radius):
    """Rings of 3 degrees."""
    polar, around = np.meshgrid(np.radians(np.arange(0, 181, 3)), np.radians(np.arange(0, 360, 3)), indexing="ij")
    normals = np.stack([np.sin(polar) * np.cos(around), np.sin(polar) * np.sin(around), np.cos(polar)], -1)
    rows, columns = polar.shape
    i, j = (index.ravel() for index in np.indices((rows - 1, columns)))
    a, b = i * columns + j, i * columns + (j + 1) % columns
    faces = np.concatenate([np.stack([a, a + columns, b], 1), np.stack([b, a + columns, b + columns], 1)])
    flat = normals.reshape(-1, 3)
    return Mesh(radius * flat, faces.astype(np.int64), np.zeros((len(flat), 2)), flat)


def test_a_car_that_passes_at_20_m_per_s_has_the_range_rate_of_geometry():
    """A post for a car, 6 m aside, goes from 40 m ahead towards the radar: v_r = v x / sqrt(x^2 + y^2)."""
    post = Thing(
        "car", cylinder(0.3, 2.0, 64), METAL, Pose((40, 6, -1)), 2, 9, "free", mass=1.0, collider=Collider("hull")
    )
    capture = before([post], RADAR)
    for number, x in enumerate([40.0, 30.0, 20.0, 12.0, 8.0]):
        half = RADAR.window * 20 / 2
        ends = [[Pose((x + half, 6, -1))], [Pose((x - half, 6, -1))]]
        motion = BodyMotion(("car",), Keyframes.build([-RADAR.window, 0.0], ends))
        taken = capture.capture(10**9 + number, STILL, motion)
        best = taken.found.snr.argmax()
        # The post's near side is what is met.
        assert taken.found.speed[best] == pytest.approx(-20 * x / math.hypot(x, 6), abs=0.1)
        assert taken.found.range[best] == pytest.approx(math.hypot(x, 6) - 0.3, abs=0.1)
        assert taken.found.azimuth[best] == pytest.approx(math.atan2(6, x), abs=0.01)
        assert (taken.class_id[best], taken.instance[best]) == (2, 9)


def test_ego_speed_follows_from_standing_things():
    """Range rates of standing things are -(v_x cos a + v_y sin a): least squares over azimuth gives both."""
    random = np.random.default_rng(5)
    posts = [
        Thing(f"p{k}", cylinder(0.1, 2.0, 32), METAL, Pose((*place, -1.0)), 1, k + 1)
        for k, place in enumerate(random.uniform([8, -25], [50, 25], (30, 2)).tolist())
    ]
    window = RADAR.window
    sensor = Keyframes.build([-window, 0.0], [[Pose((-15 * window, 2 * window, 0))], [Pose()]])
    found = before(posts, RADAR).capture(10**9, sensor).found
    assert len(found) > 15
    across = np.stack([np.cos(found.azimuth), np.sin(found.azimuth)], 1)
    (ahead, left), *_ = np.linalg.lstsq(across, -found.speed, rcond=None)
    assert ahead == pytest.approx(15, abs=0.05)
    assert left == pytest.approx(-2, abs=0.1)


def test_every_detection_has_its_truth_and_false_alarms_have_none():
    wall = Thing("wall", box(0.1, 6.0, 4.0), METAL, Pose((30, 0, -2.0)), 3, 4)
    taken = before([wall], replace(RADAR, false_alarms=20.0)).capture(10**9, STILL)
    false = taken.found.thing < 0
    assert 5 < false.sum() < 40
    assert np.isnan(taken.found.true_speed[false]).all()
    assert set(taken.instance[false]) == {0}
    assert set(taken.instance[~false]) == {4}
    assert taken.found.true_points[~false][:, 0] == pytest.approx(np.full((~false).sum(), 29.95), abs=0.05)


def test_the_same_seed_gives_the_same_reading_and_filters_act():
    wall = Thing("wall", box(0.1, 6.0, 4.0), METAL, Pose((30, 0, -2.0)), 3, 4)
    first, again = (before([wall], RADAR).capture(10**9, STILL).found for _ in range(2))
    assert np.array_equal(first.points, again.points)
    shifted: tuple[FilterStep, ...] = (CloudFilterStep("shift_range", {"offset": 1.5}),)
    off = before([wall], RADAR, shifted).capture(10**9, STILL).found
    assert off.range == pytest.approx(first.range + 1.5)
    assert off.true_points == pytest.approx(first.true_points)
    assert before([wall], RADAR, (CloudFilterStep("drop", {"probability": 1.0}),)).capture(10**9, STILL) is None


def test_an_elevation_that_is_measured_places_detections_at_their_height():
    ball = Thing("ball", _sphere(0.3), METAL, Pose((20, 2, 1.2)))
    flat, high = (
        before([ball], replace(RADAR, noise=replace(RADAR.noise, elevation=elevation))).capture(10**9, STILL).found
        for elevation in (None, 0.0)
    )
    assert flat.points[0, 2] == 0
    assert high.points[0] == pytest.approx([19.7, 1.97, 1.18], abs=0.15)
