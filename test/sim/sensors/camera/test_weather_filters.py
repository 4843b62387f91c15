"""Dust, rain and spray as cameras see them; fog is in test_before_exposure.py."""

import math

import numpy as np
import pytest
import yaml

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.camera.chain import Seen, Step, apply_steps
from simjudge.sim.sensors.camera.lens import Lens
from simjudge.sim.sensors.camera.weather_filters import dust, fog, rain, spray
from simjudge.sim.sensors.weather import Spray, rain_extinction, section

LENS = Lens("pinhole", (96, 64), (80.0, 80.0), (47.5, 31.5))
RAYS = LENS.rays()
LIGHT = np.random.default_rng(3).random((64, 96, 3), np.float32)
FAR = np.full((64, 96), 60.0)
SEEN = {"distance": FAR, "rays": RAYS}
BLACK = np.zeros((64, 96, 3))


def test_dust_is_fog_of_another_colour():
    colour = {"red": 0.6, "green": 0.45, "blue": 0.3}
    assert np.array_equal(dust(LIGHT, distance=FAR, visibility=80), fog(LIGHT, distance=FAR, visibility=80, **colour))


def test_rain_is_a_veil_of_the_drops_beyond_and_streaks_of_those_near():
    """On average over many drops, of black things before white air: both parts by their formulas."""
    white = {"red": 1, "green": 1, "blue": 1}
    shown = [rain(BLACK, **SEEN, exposure_time=0.005, rate=30, seed=seed, **white).mean() for seed in range(60)]
    veil = 1 - math.exp(-rain_extinction(30) * 56)
    covered = section(30) * 3.5
    error = np.std(shown) / math.sqrt(len(shown))
    assert np.mean(shown) == pytest.approx(veil + (1 - veil) * covered, abs=4 * error + 1e-4)


def test_rain_that_fades_away_leaves_the_picture_to_the_bit():
    picture = (LIGHT * 255).astype(np.uint8)
    for rate in (0, 1e-12):
        assert np.array_equal(rain(picture, **SEEN, exposure_time=0.01, rate=rate), picture)


def test_rain_follows_the_seed_and_lengthens_with_the_exposure_unless_told():
    one, again, other = (rain(BLACK, **SEEN, exposure_time=0.01, rate=10, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)
    assert np.array_equal(one, rain(BLACK, **SEEN, exposure_time=0.5, exposure=0.01, rate=10, seed=1))


def test_spray_is_seen_by_the_integral_along_each_pixel_s_ray():
    seen = spray(LIGHT, **SEEN, density=0.6, ahead=6, left=0.5, up=-0.3, red=0.5, green=0.6, blue=0.7)
    plume = Spray(0.6, (6, 0.5, -0.3), (3.0, 0.8, 0.6))
    for row, column in ((0, 0), (31, 48), (40, 30), (63, 95)):
        x, y, z = RAYS[row, column]
        left = math.exp(-float(plume.depth(np.array([z, -x, -y]), np.array(60.0))))
        expected = LIGHT[row, column] * left + np.array([0.5, 0.6, 0.7]) * (1 - left)
        assert seen[row, column] == pytest.approx(expected, abs=1e-5)
    thickness = spray(BLACK, **SEEN, density=0.6, ahead=6, left=0.5, up=-0.3)[..., 0]
    row, column = np.unravel_index(thickness.argmax(), thickness.shape)
    assert column < 47, "it is to the left"
    assert row > 31, "it is below"


def test_what_is_before_a_plume_is_not_behind_it():
    near = spray(LIGHT, distance=np.full((64, 96), 1.0), rays=RAYS, density=5, ahead=30, length=1)
    assert np.array_equal(near, LIGHT)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: dust(LIGHT, distance=FAR), "dust: give one of density, visibility and optical_range"),
        (lambda: dust(LIGHT, distance=FAR, density=1, red=-1), "dust: light -1, 0.45, 0.3; 0 or more each"),
        (lambda: rain(LIGHT, **SEEN, exposure_time=0, rate=-1), "rain: rate -1 mm/h; it must be in 0..300"),
        (lambda: rain(LIGHT, **SEEN, exposure_time=0, rate=math.nan), "rain: rate nan"),
        (lambda: rain(LIGHT, **SEEN, exposure_time=0, rate=1, exposure=-1), "rain: exposure -1 s"),
        (lambda: rain(LIGHT, **SEEN, exposure_time=1, rate=300, near=0.2, speed=9), "rain: [0-9]+ million drops come"),
        (lambda: rain(LIGHT, **SEEN, exposure_time=0, rate=1, near=5), "rain: near 5, far 4.0 m"),
        (lambda: rain(LIGHT, **SEEN, exposure_time=0, rate=1, speed=200), "rain: speed 200"),
        (lambda: spray(LIGHT, **SEEN, density=1, ahead=5, width=0), "spray: size"),
        (lambda: spray(LIGHT, **SEEN, ahead=5), "spray: give one of"),
    ],
)
def test_weather_that_makes_no_sense_is_refused(call, says):
    with pytest.raises(UsageError, match=says):
        call()


def test_a_cameras_file_has_all_weather_before_its_exposure(tmp_path):
    path = tmp_path / "c.yaml"
    steps = [{"dust": {"visibility": 50}}, {"rain": {"rate": 30}}, {"spray": {"ahead": 8, "density": 0.3}}]
    head = {"size": [96, 64], "field_of_view": 60, "rate": 10}
    path.write_text(yaml.safe_dump(head | {"before_exposure": steps}))
    camera = read_camera(path)
    assert [step.name for step in camera.before_exposure] == ["dust", "rain", "spray"]
    seen = apply_steps(LIGHT, camera.before_exposure, seen=Seen(FAR, RAYS, 0.01))
    assert seen.shape == LIGHT.shape
    for wrong, says in (
        ({"filters": [{"rain": {"rate": 3}}]}, "rain: needs distances"),
        ({"before_exposure": [{"rain": {}}]}, "rate is missing"),
        ({"before_exposure": [{"spray": {"density": 1}}]}, "ahead is missing"),
        ({"before_exposure": [{"rain": {"rate": 3, "rays": 1}}]}, "no parameter 'rays'"),
    ):
        path.write_text(yaml.safe_dump(head | wrong))
        with pytest.raises(SimjudgeError, match=says):
            read_camera(path)


def test_each_step_of_weather_draws_its_own_drops():
    step = Step("rain", {"rate": 20})
    once, twice = (apply_steps(BLACK, [step] * count, 5, Seen(FAR, RAYS, 0.0)) for count in (1, 2))
    assert twice.sum() > 1.5 * once.sum()
