"""Weather before a lidar: Goodin's formulas, a plume's echo by brute force, clear limits to the bit, recordings."""

import math
from dataclasses import replace

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.geometry.keyframes import Keyframes
from simjudge.geometry.poses import Pose
from simjudge.sim.sensors.fog import DUST_BACKSCATTER, FOG_BACKSCATTER, LidarAir
from simjudge.sim.sensors.lidar.lidar import Lidar, LidarNoise, lidar_beams
from simjudge.sim.sensors.lidar.lidar_weather import (
    CLEAR,
    Device,
    LidarDustFields,
    LidarFogFields,
    LidarRain,
    LidarSpray,
    LidarWeather,
    read_weather,
    through_weather,
    weather_cloud,
)
from simjudge.sim.sensors.lidar.scan import RayHits, measure
from simjudge.sim.sensors.sensor_file import read_sensors
from simjudge.sim.sensors.weather import Spray

STILL = Keyframes.build([0.0], [[Pose()]])
NOISY = LidarNoise((0.02, 0.001), 0.001, 0.001, 0.05, 0.1)
PLUME = Spray(0.5, (8.0, 0.0, 0.0), (1.5, 0.8, 0.6))
DEVICE = Device((0.5, 100.0))


def scan_in(weather, distance, reflected, seed=0, **more):
    lidar = replace(Lidar("roof", 10, len(distance), (0.0,), (0.5, 200.0), weather=weather), **more)
    hits = RayHits(np.array(distance), np.arange(len(distance)), np.array(reflected))
    return measure(lidar, hits, STILL, np.random.default_rng(seed))


def test_rain_leaves_what_goodin_says():
    distance = [5.0, 20.0, 80.0]
    scan = scan_in(LidarWeather(rain=LidarRain(10.0)), distance, [0.8] * 3)
    alpha = 0.01 * 10**0.6
    assert scan.intensity == pytest.approx([0.8 * math.exp(-2 * alpha * d) for d in distance])


@pytest.mark.parametrize("rate", [0.3, 2.0, 40.0])
def test_ranges_stray_in_rain_as_goodin_says(rate):
    count = 20_000
    scan = scan_in(LidarWeather(rain=LidarRain(rate)), [30.0] * count, [0.8] * count)
    expected = 0.02 * 30 * (1 - math.exp(-rate)) ** 2
    assert (scan.range - 30).std() == pytest.approx(expected, rel=0.02)
    assert abs((scan.range - 30).mean()) < 5 * expected / math.sqrt(count)
    assert np.linalg.norm(scan.true_points, axis=1) == pytest.approx(30)


def test_rain_loses_what_is_weaker_than_a_surface_of_nine_tenths_at_the_reach():
    rain = LidarRain(20.0, reach=100.0)
    distance = np.linspace(1, 99, 197)
    scan = scan_in(LidarWeather(rain=rain), distance, [0.3] * len(distance))
    power = 0.3 * np.exp(-2 * 0.01 * 20**0.6 * distance) / distance**2
    kept = power >= 0.9 / 100**2
    assert scan.thing.tolist() == np.flatnonzero(kept).tolist()
    assert 0 < kept.sum() < len(kept)
    least = scan_in(LidarWeather(rain=LidarRain(20.0, "marshall_palmer", 100.0)), distance, [0.3] * len(distance))
    assert len(least) > len(scan)


def test_without_rain_and_spray_a_scan_is_the_clear_one_to_the_bit():
    distance, reflected = np.linspace(1, 90, 300), np.linspace(0.05, 1, 300)
    clear = scan_in(CLEAR, distance, reflected, noise=NOISY)
    nothing = LidarWeather(
        rain=LidarRain(0.0, reach=100.0), spray=LidarSpray(replace(PLUME, density=0.0), patchiness=0.5)
    )
    hardly = LidarWeather(rain=LidarRain(1e-30, "marshall_palmer"))
    for weather in (nothing, hardly):
        scan = scan_in(weather, distance, reflected, noise=NOISY)
        assert np.array_equal(scan.points, clear.points)
        assert np.array_equal(scan.intensity, clear.intensity)


def test_a_lidar_s_own_noise_is_the_same_in_all_weathers():
    distance, reflected = np.linspace(1, 40, 300), np.full(300, 0.9)
    clear = scan_in(CLEAR, distance, reflected, noise=NOISY)
    rain = scan_in(LidarWeather(rain=LidarRain(0.5)), distance, reflected, noise=NOISY)
    assert np.array_equal(rain.azimuth, clear.azimuth)
    assert not np.array_equal(rain.range, clear.range)
    again, other = (scan_in(LidarWeather(rain=LidarRain(0.5)), distance, reflected, s, noise=NOISY) for s in (0, 1))
    assert np.array_equal(rain.points, again.points)
    assert not np.array_equal(rain.azimuth, other.azimuth[: len(rain)])


def brute_echo(ray, limit, density):
    """The largest of pi b(r) (c tau / 2) exp(-2 depth(r)) / r^2 at places a centimetre apart, and where it is."""
    places = np.arange(0.005, min(limit, 30.0), 0.01)
    away = (ray * places[:, None] - PLUME.position) / np.array(PLUME.size)
    beta = density * PLUME.density * np.exp(-0.5 * (away**2).sum(1))
    strength = math.pi * 0.046 / math.log(20) * beta * 299_792_458 * 10e-9 * np.exp(-2 * np.cumsum(beta) * 0.01)
    best = int(np.where(places > 1, strength / places**2, 0).argmax())
    return places[best], strength[best]


@pytest.mark.parametrize("limit", [7.0, 12.0, math.inf])
@pytest.mark.parametrize("density", [1.0, 3.0])
def test_a_plume_s_echo_is_the_largest_along_the_ray(limit, density):
    for azimuth in (-0.1, 0.0, 0.15):
        ray = np.array([math.cos(azimuth), math.sin(azimuth), 0.0])
        (place,), (strength,) = LidarSpray(PLUME).echo(ray[None], np.array([limit]), np.array([density]))
        expected_place, expected = brute_echo(ray, limit, density)
        assert place == pytest.approx(expected_place, abs=0.02)
        assert strength / place**2 == pytest.approx(expected / expected_place**2, rel=0.005)


def test_echoes_of_neighbouring_rays_lie_on_no_shells():
    azimuth = np.linspace(0, 0.12, 200)
    rays = np.stack([np.cos(azimuth), np.sin(azimuth), 0 * azimuth], 1)
    place, _ = LidarSpray(PLUME).echo(rays, np.full(200, math.inf), np.ones(200))
    steps = np.abs(np.diff(place))
    assert np.ptp(place) > 0.05
    assert steps.max() < 0.002


def test_a_plume_weakens_the_echo_of_the_fog_behind_it():
    near = Spray(0.8, (1.5, 0.0, 0.0), (0.3, 0.3, 0.3))
    fog = LidarAir(0.08)
    ray, far = np.array([[[1.0, 0.0, 0.0]]]), np.array([[50.0]])
    (place,), (strength,) = fog.echo(far[0])
    silent = LidarSpray(near, backscatter=1e-15)
    ranges, power, of_air = through_weather(
        LidarWeather(fog, spray=silent), DEVICE, ray, far, np.zeros((1, 1)), np.random.default_rng(0)
    )
    assert of_air.all()
    assert ranges == pytest.approx(place)
    assert power == pytest.approx(strength * math.exp(-2 * near.depth(ray[0, 0], np.array(place))))
    assert power < 0.7 * strength


def test_a_plume_hides_a_dark_wall_and_leaves_a_bright_one_weaker():
    thin = replace(PLUME, density=0.15)
    weather = LidarWeather(spray=LidarSpray(thin))
    lidar = Lidar("roof", 10, 5, (0.0,), (0.5, 100.0), field_of_view=0.4, weather=weather)
    rays = lidar_beams(lidar).directions[:, 0]
    for reflected, from_air in ((0.9, False), (0.01, True)):
        hits = RayHits(np.full(5, 14.0), np.arange(5), np.full(5, reflected))
        scan = measure(lidar, hits, STILL, np.random.default_rng(0))
        assert (scan.thing[2] == -1) == from_air
        if from_air:
            assert 5 < scan.range[2] < 10
        else:
            left = reflected * np.exp(-2 * thin.depth(rays, np.full(5, 14.0)))
            assert scan.intensity == pytest.approx(left)


def test_rays_beside_a_plume_bring_no_point_from_nowhere():
    spray = LidarWeather(spray=LidarSpray(PLUME))
    scan = scan_in(spray, [math.inf] * 360, [0.0] * 360)
    assert 0 < len(scan) < 60
    assert np.abs(scan.azimuth).max() < 0.4
    last = scan_in(spray, [14.0] * 360, [0.01] * 360, returns="last")
    assert np.array_equal(last.thing, np.arange(360))
    first = scan_in(spray, [14.0] * 360, [0.9] * 360, returns="first")
    assert (first.thing == -1).any()


def test_rain_weakens_a_plume_s_echo_as_it_weakens_surfaces():
    dry, wet = (
        weather_cloud([[20.0, 0, 0]], [0.0], LidarWeather(rain=LidarRain(rate), spray=LidarSpray(PLUME)), DEVICE)
        for rate in (0.0, 30.0)
    )
    assert dry.of_air.tolist() == wet.of_air.tolist() == [True]
    place = float(np.linalg.norm(dry.points[0]))
    assert wet.reflected / dry.reflected == pytest.approx(math.exp(-2 * 0.01 * 30**0.6 * place), rel=1e-6)


def test_patchy_plumes_keep_their_mean_density():
    drawn = LidarSpray(PLUME, patchiness=0.5).densities(100_000, np.random.default_rng(0))
    assert drawn.mean() == pytest.approx(1, abs=0.01)
    assert drawn.std() == pytest.approx(0.5, abs=0.01)


def test_dust_is_fog_that_sends_back_more():
    fog, dust = (LidarAir(0.05, backscatter=back) for back in (FOG_BACKSCATTER, DUST_BACKSCATTER))
    away = np.array([30.0])
    assert dust.echo(away)[0] == fog.echo(away)[0]
    assert dust.echo(away)[1] / fog.echo(away)[1] == pytest.approx(DUST_BACKSCATTER / FOG_BACKSCATTER)


def test_fog_and_dust_together_add_up():
    weather = read_weather(LidarFogFields(density=0.02), LidarDustFields(density=0.06, backscatter=0.03))
    assert weather.air.density == pytest.approx(0.08)
    assert weather.air.backscatter * 0.08 == pytest.approx(0.02 * FOG_BACKSCATTER + 0.06 * 0.03)


def test_a_sensors_file_says_the_weather_and_what_is_wrong_with_it(tmp_path):
    path = tmp_path / "s.yaml"
    head = "roof: {kind: lidar, rate: 10, columns: 4, range: [0.5, 50], "
    spray = "spray: {density: 0.5, position: [8, 0, 0], size: [1.5, 0.8, 0.6]}"
    path.write_text(head + "dust: {visibility: 60}, rain: {rate: 20, reach: 50}, " + spray + "}\n")
    (spec,) = read_sensors(path)
    weather = spec.model().weather
    assert weather.air == LidarAir(-math.log(0.02) / 60, backscatter=1 / 50)
    assert weather.rain == LidarRain(20.0, reach=50.0)
    assert weather.spray == LidarSpray(PLUME, patchiness=0.5)
    for wrong, says in (
        ("dust: {}", "dust needs one of density, visibility, optical_range"),
        ("rain: {rate: -1}", "rain.rate"),
        ("rain: {rate: 5, extinction: mie}", "there are goodin, marshall_palmer"),
        ("spray: {density: 1, position: [1, 2], size: [1, 1, 1]}", "spray.position"),
        ("spray: {density: 1, position: [8, 0, 0], size: [1, 0, 1]}", "spray.size"),
        ("fog: {density: 1, pulse: 5}, dust: {density: 1}", "a lidar has one pulse"),
    ):
        path.write_text(head + wrong + "}\n")
        with pytest.raises(SimjudgeError, match=says) as error:
            read_sensors(path)
        assert "\n" not in str(error.value)


def test_a_recorded_cloud_gets_what_a_simulated_one_gets():
    random = np.random.default_rng(3)
    points, reflected = random.normal(0, 12, (500, 3)), random.uniform(0.01, 0.9, 500)
    distance = np.linalg.norm(points, axis=1)
    weather = LidarWeather(LidarAir(0.002), LidarRain(2.0, reach=100.0), LidarSpray(PLUME, patchiness=0.5))
    cloud = weather_cloud(points, reflected, weather, DEVICE, seed=4)
    again = weather_cloud(points, reflected, weather, DEVICE, seed=4)
    assert np.array_equal(cloud.points, again.points)
    met = ~cloud.of_air
    left = np.exp(-2 * (0.002 + 0.01 * 2**0.6) * distance[cloud.row])
    beside = met & (PLUME.depth(points / distance[:, None], distance)[cloud.row] < 1e-6)
    assert beside.sum() > 20
    assert cloud.reflected[beside] == pytest.approx((reflected[cloud.row] * left)[beside], rel=1e-5)
    assert cloud.of_air.any()
    assert np.cross(points[cloud.row], cloud.points) == pytest.approx(0, abs=1e-9)


def test_a_recorded_cloud_in_clear_air_is_itself_to_the_bit():
    points, reflected = np.random.default_rng(3).normal(0, 12, (50, 3)), np.full(50, 0.5)
    for weather in (CLEAR, LidarWeather(rain=LidarRain(0.0), spray=LidarSpray(replace(PLUME, density=0)))):
        cloud = weather_cloud(points, reflected, weather, DEVICE)
        assert np.array_equal(cloud.points, points)
        assert np.array_equal(cloud.reflected, reflected)


@pytest.mark.parametrize(
    ("points", "reflected", "says"),
    [
        (np.zeros((2, 2)), [1, 1], "are needed"),
        ([[1, 0, 0], [0, 0, 0]], [1, 1], "point 1 is at the lidar itself"),
        ([[1, 0, math.nan]], [1], "not finite"),
    ],
)
def test_recorded_clouds_that_make_no_sense_are_refused(points, reflected, says):
    with pytest.raises(UsageError, match=says):
        weather_cloud(points, reflected, CLEAR, DEVICE)
