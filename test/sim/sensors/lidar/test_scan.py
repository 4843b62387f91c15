"""Scans of hits that are known: noise, intensity, motion, against formulas."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from simjudge.geometry.keyframes import Keyframes
from simjudge.geometry.poses import Pose
from simjudge.sim.sensors.lidar.lidar import Lidar, LidarIntensity, LidarNoise, lidar_beams
from simjudge.sim.sensors.lidar.rays import turn_rays
from simjudge.sim.sensors.lidar.scan import RayHits, measure

PLAIN = Lidar("l", rate=10, columns=200, elevation=(-0.2, 0.0, 0.3), range=(0.5, 50))
STILL = Keyframes.build([0.0], [[Pose()]])


def sphere(lidar, radius, reflected=1.0):
    """Every ray meets something at the same distance."""
    rays = lidar_beams(lidar).directions.shape[0] * lidar_beams(lidar).directions.shape[1]
    return RayHits(np.full(rays, float(radius)), np.zeros(rays, np.int64), np.full(rays, float(reflected)))


def scan(lidar, radius, reflected=1.0, seed=0, sensor=STILL):
    return measure(lidar, sphere(lidar, radius, reflected), sensor, np.random.default_rng(seed))


def test_without_noise_points_are_where_the_beams_end():
    found = scan(PLAIN, 7)
    assert len(found) == found.beams == 600
    assert found.points == pytest.approx(7 * lidar_beams(PLAIN).directions[:, 0])
    assert np.array_equal(found.points, found.true_points)


def test_noise_lies_on_range_and_angles():
    """A wall at r: radial spread s_r, sideways r s_a, upwards r s_e. Of 60,000 points: 4 standard errors are 1.2 %."""
    lidar = replace(PLAIN, columns=20_000, noise=LidarNoise((0.02, 0.001), 1e-3, 2e-3))
    found = scan(lidar, 20)
    beams = lidar_beams(lidar)
    e = beams.elevation
    radial = np.linalg.norm(found.points, axis=1) - 20
    outward = beams.directions[:, 0]
    beside = np.stack([-np.sin(beams.azimuth), np.cos(beams.azimuth), np.zeros_like(e)], 1)
    upward = np.cross(outward, beside)
    for values, expected in [
        (radial, 0.02 + 0.001 * 20),
        (np.einsum("ni,ni->n", found.points - found.true_points, beside) / np.cos(e), 20 * 1e-3),
        (np.einsum("ni,ni->n", found.points - found.true_points, upward), 20 * 2e-3),
    ]:
        assert abs(values.mean()) < 5 * expected / math.sqrt(len(values))
        assert values.std() == pytest.approx(expected, rel=0.013)
    # And no two of the three go together.
    parts = np.corrcoef([radial, found.azimuth - beams.azimuth, found.elevation - beams.elevation])
    assert np.abs(parts - np.eye(3)).max() < 0.02


def test_returns_drop_out_each_on_its_own():
    """Of 60,000 beams a fifth is lost: 4 standard errors are 0.0065."""
    found = scan(replace(PLAIN, columns=20_000, noise=LidarNoise(drop_out=0.2)), 20)
    assert len(found) / found.beams == pytest.approx(0.8, abs=0.0065)


def test_nothing_beyond_the_range_and_nothing_nearer():
    for radius, seen in [(0.49, 0), (0.5, 600), (50, 600), (50.1, 0), (math.inf, 0)]:
        assert len(scan(PLAIN, radius)) == seen


@pytest.mark.parametrize(
    ("about", "radius", "reflected", "expected"),
    [
        (LidarIntensity(), 40, 0.3, 0.3),
        (LidarIntensity(scale=100), 40, 0.3, 30),
        (LidarIntensity(scale=100, levels=255), 40, 0.303, 30),
        (LidarIntensity(scale=900, levels=255), 40, 0.3, 255),
        (LidarIntensity(falloff=10, calibrated=False), 40, 0.8, 0.05),
        (LidarIntensity(falloff=10), 40, 0.8, 0.8),
        (LidarIntensity(falloff=10, calibrated=False), 5, 0.8, 0.8),  # nearer than that, all of it comes back
    ],
)
def test_intensity(about, radius, reflected, expected):
    assert scan(replace(PLAIN, intensity=about), radius, reflected).intensity == pytest.approx(expected)


def test_what_is_too_weak_is_lost_even_where_distance_is_taken_out():
    lidar = replace(PLAIN, threshold=0.1, intensity=LidarIntensity(falloff=10))
    assert len(scan(lidar, 30, 0.8)) == 0  # 0.8 / 9
    assert len(scan(lidar, 25, 0.8)) == 600  # 0.8 / 6.25


def test_intensity_does_not_vary_beyond_its_noise():
    lidar = replace(PLAIN, noise=LidarNoise(intensity=0.01))
    scans = np.array([scan(lidar, 10, 0.5, seed).intensity for seed in range(200)])
    assert scans.std(0).mean() == pytest.approx(0.01, rel=0.02)
    assert scans.mean(0) == pytest.approx(np.full(600, 0.5), abs=0.005)


def test_the_same_noise_whatever_else_was_hit():
    lidar = replace(PLAIN, noise=LidarNoise((0.05, 0.0), 1e-3))
    hits = sphere(lidar, 8)
    whole = measure(lidar, hits, STILL, np.random.default_rng(3))
    hits.distance[::2] = np.inf
    half = measure(lidar, hits, STILL, np.random.default_rng(3))
    assert np.array_equal(half.points, whole.points[1::2])


def test_each_beam_starts_where_the_sensor_is_when_it_fires():
    """A sensor that turns and goes ahead: poses by SciPy at each beam's time."""
    lidar = replace(PLAIN, window=0.1, ring_delay=(0.0, 2e-4, 1e-4))
    ends = [
        Pose.from_euler(1, 2, 3, yaw=0.3),
        Pose.from_euler(1.5, 2.2, 3.1, yaw=0.7, pitch=0.2),
        Pose.from_euler(2, 2, 3, yaw=1),
    ]
    sensor = Keyframes.build([-0.1, -0.04, 0.0], [[pose] for pose in ends])
    rays = turn_rays(lidar, sensor)
    beams = lidar_beams(lidar)
    assert rays.time == pytest.approx(beams.time - 0.1)
    for n in range(0, 600, 37):
        t = rays.time[n]
        k = 0 if t < -0.04 else 1
        share = (t - sensor.time[k]) / (sensor.time[k + 1] - sensor.time[k])
        one, other = (Rotation.from_quat(ends[j].orientation) for j in (k, k + 1))
        rotation = one * Rotation.from_rotvec((one.inv() * other).as_rotvec() * share)
        position = (1 - share) * np.array(ends[k].position) + share * np.array(ends[k + 1].position)
        assert rays.origin[n] == pytest.approx(position, abs=1e-12)
        assert rays.direction[n] == pytest.approx(rotation.apply(beams.directions[n, 0].copy()), abs=1e-12)


def test_deskewing_puts_a_standing_wall_together_again():
    """A plane x = 10 seen by a sensor that drives towards it at 20 m/s and turns."""
    lidar = replace(PLAIN, window=0.1, field_of_view=1.0, elevation=(0.0,))
    sensor = Keyframes.build([-0.1, 0.0], [[Pose.from_euler(-2, 0, 0)], [Pose.from_euler(0, 0, 0, yaw=0.2)]])
    rays = turn_rays(lidar, sensor)
    distance = (10 - rays.origin[:, 0]) / rays.direction[:, 0]
    hits = RayHits(distance, np.zeros(200, np.int64), np.ones(200))
    raw, straight = (
        measure(replace(lidar, deskew=deskew), hits, sensor, np.random.default_rng(0)) for deskew in (False, True)
    )
    end = Pose.from_euler(0, 0, 0, yaw=0.2)
    assert end.to_world(straight.points)[:, 0] == pytest.approx(np.full(200, 10.0), abs=1e-9)
    assert np.ptp(end.to_world(raw.points)[:, 0]) > 1
    assert np.all(np.diff(raw.time) > 0)
    assert raw.time[-1] < 0 <= raw.time[-1] + 0.1 / 200 + 1e-12
