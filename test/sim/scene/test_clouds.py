"""Clouds against the formulas' own numbers, and sums over the sky."""

import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.sim.scene.clouds import GradientSky, clouded, light_left, sun_left
from simjudge.sim.scene.read import read_scene
from simjudge.sim.scene.scene_fields import luminance

BLUE = GradientSky(np.array([0.07, 0.2, 0.55]), np.array([0.6, 0.65, 0.7]), np.array([0.15, 0.15, 0.12]))
SUN = 2.0


def summed(sky):
    """The irradiance of level ground, summed over rings of the sky."""
    elevation = (np.arange(20000) + 0.5) / 20000 * np.pi / 2
    sine = np.sin(elevation)
    radiance = sky.horizon + (sky.zenith - sky.horizon) * sine[:, None]
    return (radiance * (sine * np.cos(elevation))[:, None]).sum(0) * 2 * np.pi * (np.pi / 2 / 20000)


def test_the_sky_lights_level_ground_as_a_sum_over_it_says():
    np.testing.assert_allclose(BLUE.irradiance, summed(BLUE), rtol=1e-6)


@pytest.mark.parametrize("cover", [0.0, 0.2, 0.5, 0.8, 1.0])
def test_light_and_its_diffuse_share_are_those_of_kasten_and_czeplak(cover):
    own = luminance(summed(BLUE))
    sky, sun = luminance(summed(clouded(BLUE, SUN, cover))), SUN * sun_left(cover)
    assert sky + sun == pytest.approx((own + SUN) * (1 - 0.75 * cover**3.4), rel=1e-5)
    clear = own / (own + SUN)
    assert sky / (sky + sun) == pytest.approx(clear + (1 - clear) * cover**2, rel=1e-5)


def test_an_overcast_sky_is_gray_and_three_times_as_bright_above_as_around():
    sky = clouded(BLUE, SUN, 1.0)
    np.testing.assert_allclose(sky.zenith, 3 * sky.horizon)
    assert np.ptp(sky.zenith) == 0
    np.testing.assert_allclose(sky.ground, BLUE.ground * 0.25)


def test_half_the_clouds_make_a_brighter_sky_and_a_weaker_sun():
    half = clouded(BLUE, SUN, 0.5)
    assert luminance(half.zenith) > luminance(BLUE.zenith)
    assert np.ptp(half.zenith) / half.zenith.max() < np.ptp(BLUE.zenith) / BLUE.zenith.max()
    assert sun_left(0.5) < light_left(0.5) < 1


def test_scenes_take_a_cloud_cover(tmp_path):
    (tmp_path / "clear.yaml").write_text("extends: krc\n")
    (tmp_path / "covered.yaml").write_text("extends: krc\nsky: {cloud_cover: 0.6}\n")
    clear, covered = read_scene(tmp_path / "clear.yaml"), read_scene(tmp_path / "covered.yaml")
    np.testing.assert_allclose(covered.sun.irradiance, np.array(clear.sun.irradiance) * sun_left(0.6))
    sky = GradientSky(*map(np.array, clear.sky.gradient), np.zeros(3))
    level = luminance(clear.sun.irradiance) * clear.sun.direction[2]
    np.testing.assert_allclose(covered.sky.gradient[0], clouded(sky, level, 0.6).zenith, rtol=1e-6)
    np.testing.assert_allclose(covered.sky.gradient[1], clouded(sky, level, 0.6).horizon, rtol=1e-6)
    np.testing.assert_allclose(covered.sky.image[0, 0], covered.sky.gradient[0], rtol=1e-3)


@pytest.mark.parametrize(
    ("sky", "message"),
    [("{cloud_cover: 1.5}", "cloud_cover"), ("{file: a.hdr, cloud_cover: 0.5}", "the picture shows its own clouds")],
)
def test_other_covers_are_refused(tmp_path, sky, message):
    (tmp_path / "a.yaml").write_text(f"sky: {sky}\n")
    with pytest.raises(SimjudgeError, match=message):
        read_scene(tmp_path / "a.yaml")
