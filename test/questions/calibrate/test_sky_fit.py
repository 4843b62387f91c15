"""What peaks tell of a sky, on made scenes whose light is worked out without the code that is tested."""

import math

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.questions.calibrate.sky_fit import ClearScene, SkyLight, estimate_sky, hsv_peaks, peak, peak_colour
from simjudge.sim.scene.clouds import GradientSky

ZENITH, HORIZON = np.array([0.07, 0.2, 0.55]), np.array([0.55, 0.62, 0.7])
SINE, DISTANCE = np.array([0.05, 0.15, 0.25, 0.35]), np.array([4.0, 7.0, 12.0, 25.0, 60.0, 150.0])
GROUND = np.array([0.25, 0.22, 0.16])
SUN, SKY_LIGHT = 1.8, np.pi * (HORIZON + 2 * ZENITH) / 3
LUMINANCE = np.array([0.2126, 0.7152, 0.0722])
SCENE = ClearScene(
    GradientSky(ZENITH, HORIZON, GROUND),
    SUN,
    SINE,
    DISTANCE,
    np.tile(GROUND * SUN / np.pi, (6, 1)),
    np.tile(GROUND * 2 * ZENITH / 3, (6, 1)),
    np.tile(GROUND * HORIZON / 3, (6, 1)),
)


def made(cover, sun, sky, visibility=None, air=(0.6, 0.62, 0.65), ceiling=math.inf):
    """The peaks, by Kasten and Czeplak's total and diffuse share, and Koschmieder's law."""
    clear_sky = sky * float(SKY_LIGHT @ LUMINANCE)
    total = (clear_sky + sun * SUN) * (1 - 0.75 * cover**3.4)
    share = clear_sky / (clear_sky + sun * SUN)
    diffuse = total * (share + (1 - share) * cover**2)
    mixed = [sky * (1 - cover) * radiance for radiance in (ZENITH, HORIZON)]
    mixed = [mixed[0] + cover * clear_sky * 9 / (7 * np.pi), mixed[1] + cover * clear_sky * 3 / (7 * np.pi)]
    zenith, horizon = (radiance * diffuse / clear_sky for radiance in mixed)
    bands = horizon + np.outer(SINE, zenith - horizon)
    ground = GROUND / np.pi * (total - diffuse + np.pi * (horizon + 2 * zenith) / 3)
    ground = np.tile(ground, (6, 1))
    if visibility is None:
        return SkyLight(bands, ground)
    beta, air = 3.912 / visibility, np.array(air)
    through = np.exp(-beta * ceiling / SINE)[:, None]
    near = np.exp(-beta * DISTANCE)[:, None]
    return SkyLight(bands * through + air * (1 - through), ground * near + air * (1 - near))


@pytest.mark.parametrize(("cover", "sun", "sky"), [(0.0, 1.0, 1.0), (0.3, 0.6, 1.2), (0.7, 1.5, 0.8), (0.9, 1.0, 1.1)])
def test_planted_clouds_and_sun_come_back(cover, sun, sky):
    found = estimate_sky(SCENE, made(cover, sun, sky))
    assert found.fog is None
    assert found.cloud_cover == pytest.approx(cover, abs=0.005)
    assert found.sky == pytest.approx(sky, rel=0.01)
    assert found.sun == pytest.approx(sun, rel=0.02)
    assert found.off < 0.1


@pytest.mark.parametrize("visibility", [50, 200, 600])
def test_planted_fog_that_hides_the_sky_comes_back(visibility):
    found = estimate_sky(SCENE, made(0.0, 0.8, 0.8, visibility))
    assert found.fog is not None
    assert found.fog.ceiling == math.inf
    assert found.fog.visibility == pytest.approx(visibility, rel=0.02)
    np.testing.assert_allclose(found.fog.colour, (0.6, 0.62, 0.65), rtol=0.02)
    assert found.sun == pytest.approx(0.8, rel=0.05)
    assert math.isnan(found.error["cloud_cover"])
    assert "cloud cover is not told" in found.notes[0]


def test_planted_shallow_fog_leaves_the_sky_to_be_told():
    found = estimate_sky(SCENE, made(0.4, 1.0, 1.0, 300, ceiling=20.0))
    assert found.fog is not None
    assert found.fog.ceiling == 20
    assert found.fog.visibility == pytest.approx(300, rel=0.02)
    assert found.cloud_cover == pytest.approx(0.4, abs=0.02)


def test_noise_is_no_fog_and_errors_are_of_its_size():
    draw, far = np.random.default_rng(3), []
    for _ in range(40):
        seen = SkyLight(*(part * draw.normal(1, 0.02, part.shape) for part in made(0.5, 1.0, 1.0)))
        found = estimate_sky(SCENE, seen)
        far.append((found.cloud_cover - 0.5) / found.error["cloud_cover"] if found.fog is None else math.inf)
    assert sum(map(math.isinf, far)) <= 3
    assert 0.6 < np.std([z for z in far if math.isfinite(z)]) < 1.6


def test_parts_without_a_peak_are_left_out():
    seen = made(0.3, 0.6, 1.2)
    seen.sky[0] = seen.ground[2] = np.nan
    assert estimate_sky(SCENE, seen).cloud_cover == pytest.approx(0.3, abs=0.005)


def test_a_channel_that_saturates_does_not_bend_the_sky():
    seen = made(0.3, 0.9, 1.85)
    assert (seen.sky[:, 2] > 1).any()
    found = estimate_sky(SCENE, SkyLight(np.minimum(seen.sky, 1), seen.ground))
    assert found.cloud_cover == pytest.approx(0.3, abs=0.01)
    assert found.sky == pytest.approx(1.85, rel=0.01)


def test_a_saturated_sky_tells_the_least_cover_and_one_brightness():
    seen = made(0.6, 2.4, 2.4)
    assert seen.sky.min() > 1
    found = estimate_sky(SCENE, SkyLight(np.ones((4, 3)), seen.ground))
    again = made(found.cloud_cover, found.sun, found.sky)
    assert found.sun == found.sky
    assert again.sky.min() > 0.9
    np.testing.assert_allclose(again.ground, seen.ground, rtol=0.05)
    assert math.isnan(found.error["cloud_cover"])
    assert "the least that makes it so bright" in found.notes[0]


@pytest.mark.parametrize(("value", "how"), [(1.0, "saturated"), (0.0, "black")])
def test_pictures_that_are_all_saturated_or_black_are_refused(value, how):
    with pytest.raises(SimjudgeError, match=f"the pictures are {how} in sky and ground"):
        estimate_sky(SCENE, SkyLight(np.full((4, 3), value), np.full((6, 3), value)))


@pytest.mark.parametrize(("sun", "sky"), [(1.3, 1.0), (3.0, 1.0), (0.3, 1.0), (1.0, 3.0), (0.2, 0.2)])
def test_an_overcast_sky_keeps_its_brightness_and_the_sun_its_share(sun, sky):
    seen = made(1.0, sun, sky)
    found = estimate_sky(SCENE, seen)
    assert found.cloud_cover == pytest.approx(1, abs=0.03)
    assert found.sun == found.sky
    assert math.isnan(found.error["sun"])
    assert "overcast" in found.notes[0]
    again = made(found.cloud_cover, found.sun, found.sky)
    for part in (0, 1):
        np.testing.assert_allclose(again[part], seen[part], rtol=0.02)


def test_a_peak_is_the_mean_of_the_fullest_bin_and_its_neighbours():
    values = np.concatenate([np.full(60, 0.5), np.full(30, 0.52), np.linspace(0.7, 1, 40)])
    top, inside = peak(values)
    assert inside.sum() == 90
    assert top == pytest.approx((60 * 0.5 + 30 * 0.52) / 90)


def test_a_colour_is_that_of_the_brightness_most_pixels_have():
    pixels = np.concatenate([np.full((80, 3), [40, 90, 200]), np.full((30, 3), [10, 10, 10])]).astype(np.uint8)
    expected = ((np.array([40, 90, 200]) / 255 + 0.055) / 1.055) ** 2.4
    np.testing.assert_allclose(peak_colour(pixels), expected, rtol=1e-5)
    assert np.isnan(peak_colour(pixels[:40])).all()
    hue, saturation, value = hsv_peaks(pixels)
    assert (hue, saturation, value) == pytest.approx((221.25, 0.8, 200 / 255), abs=1e-4)
