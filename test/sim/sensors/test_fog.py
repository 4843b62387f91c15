"""Fog before a lidar: Beer and Lambert's law, and the echo of the fog against its integral."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad

from simjudge.core.errors import SimjudgeError
from simjudge.geometry.keyframes import Keyframes
from simjudge.geometry.poses import Pose
from simjudge.sim.sensors.fog import LidarAir, extinction
from simjudge.sim.sensors.lidar.lidar import Lidar
from simjudge.sim.sensors.lidar.lidar_weather import LidarWeather
from simjudge.sim.sensors.lidar.scan import RayHits, measure
from simjudge.sim.sensors.sensor_file import read_sensors

LIGHT = 299_792_458.0
STILL = Keyframes.build([0.0], [[Pose()]])
THICK = LidarAir(extinction(None, None, 50.0))


def test_the_three_ways_to_give_fog_are_one():
    assert extinction(0.1, None, None) == 0.1
    assert extinction(None, 3.912 / 0.1, None) == pytest.approx(0.1, rel=1e-4)
    assert extinction(None, None, 2.996 / 0.1) == pytest.approx(0.1, rel=1e-3)
    assert THICK.left(np.array([0.0, 50.0, math.inf])) == pytest.approx([1, 0.05**2, 0])


def soft_echo(far, limit, density, pulse):
    """The received power at the time of range `far`, over P0 C_A: the integral of Hahner and others over time."""

    def integrand(t):
        r = far - LIGHT * t / 2
        if r >= limit or r <= 0.9:
            return 0.0
        seen = min((r - 0.9) / 0.1, 1.0)
        return math.sin(math.pi * t / (2 * pulse)) ** 2 * seen * math.exp(-2 * density * r) / r**2

    corners = [2 * (far - r) / LIGHT for r in (0.9, 1.0, limit)]
    inside = [t for t in corners if 0 < t < 2 * pulse]
    value, _ = quad(integrand, 0, 2 * pulse, points=inside or None, limit=200)
    return 0.046 * density / math.log(20) * LIGHT / 2 * value


@pytest.mark.parametrize("limit", [2.0, 5.0, math.inf])
@pytest.mark.parametrize(("optical_range", "pulse"), [(50.0, 20e-9), (20.0, 20e-9), (150.0, 5e-9)])
def test_the_echo_is_the_largest_of_the_integral(optical_range, pulse, limit):
    fog = LidarAir(extinction(None, None, optical_range), pulse)
    (place,), (strength,) = fog.echo(np.array([limit]))
    shift = LIGHT * pulse / 2
    powers = [soft_echo(far, limit, fog.density, pulse) for far in np.arange(0.9, min(limit, 10) + 2 * shift, 0.02)]
    best = 0.9 + 0.02 * int(np.argmax(powers)) - shift
    assert place == pytest.approx(best, abs=0.06)
    white = 1 / math.pi / place**2
    assert strength * white == pytest.approx(max(powers), rel=0.005)


def beams(distance, reflected, **more):
    """One beam for each distance, all level."""
    lidar = replace(Lidar("roof", 10, len(distance), (0.0,), (0.5, 200.0), weather=LidarWeather(air=THICK)), **more)
    hits = RayHits(np.array(distance), np.arange(len(distance)), np.array(reflected))
    return measure(lidar, hits, STILL, np.random.default_rng(0))


def test_what_a_near_wall_sends_back_falls_by_beer_and_lambert():
    distance = [2.0, 4.0, 8.0]
    scan = beams(distance, [0.8] * 3)
    assert scan.range == pytest.approx(distance)
    assert scan.intensity == pytest.approx([0.8 * 0.05 ** (2 * d / 50) for d in distance])
    assert scan.thing.tolist() == [0, 1, 2]


def test_a_far_wall_is_lost_in_the_fog_before_it():
    scan = beams([5.0, 60.0], [0.5, 0.5])
    assert scan.range[0] == pytest.approx(5)
    assert 1 < scan.range[1] < 2, "the fog's own echo stands where the receiver begins to see the beam"
    assert scan.thing.tolist() == [0, -1]


def test_where_fog_takes_over_is_where_the_two_powers_are_equal():
    (place,), (strength,) = THICK.echo(np.array([50.0]))
    distance = np.linspace(5, 40, 141)
    found = beams(distance, [0.5] * len(distance)).thing >= 0
    power = 0.5 * np.exp(-2 * THICK.density * distance) / distance**2
    assert np.array_equal(found, power >= strength / place**2)
    assert 0 < found.sum() < len(distance)


@pytest.mark.parametrize(("returns", "seen"), [("last", [0, -1]), ("first", [-1, -1]), ("strongest", [-1, -1])])
def test_the_first_return_is_the_fog_s_and_the_last_one_the_wall_s(returns, seen):
    scan = beams([60.0, math.inf], [0.5, 0.0], returns=returns)
    assert scan.thing.tolist() == seen


def test_returns_below_the_threshold_are_lost_in_fog():
    assert len(beams([5.0, 60.0, math.inf], [0.5, 0.5, 0.0], threshold=0.1)) == 1


def test_a_sensors_file_says_the_fog(tmp_path):
    path = tmp_path / "s.yaml"
    text = "roof: {{kind: lidar, rate: 10, columns: 4, range: [0.5, 50], fog: {fog}}}\n"
    path.write_text(text.format(fog="{optical_range: 50, pulse: 5}"))
    (spec,) = read_sensors(path)
    fog = spec.model().weather.air
    assert (fog.density, fog.pulse) == pytest.approx((THICK.density, 5e-9))
    for wrong, says in (("{density: 0.1, visibility: 40}", "fog"), ("{}", "fog"), ("{density: -1}", "above 0")):
        path.write_text(text.format(fog=wrong))
        with pytest.raises(SimjudgeError, match=says):
            read_sensors(path)
