"""From light to a picture: gain, chain, noise by name, and the instants of an exposure."""

import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from simjudge.core.images import decode_image
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.capture import develop, exposure_at, gather_light
from simjudge.sim.engines.contract import SceneState
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.camera.chain import Step, apply_steps, frame_seed

NOISE = Step("shot_noise", {"shot": 10, "read": 1})
PLAIN = read_camera("plain")
LIGHT = np.random.default_rng(0).random((30, 40, 3), np.float32)


def pixels(*given):
    """The pixels of an image."""
    return develop(*given).pixels


class Lamp:
    """An engine that shines by where the camera is: radiance x, the same everywhere; counts what it is asked."""

    def __init__(self):
        self.asked = []

    def render(self, lens, scene_states, rays_per_pixel=1):
        self.asked.append((len(scene_states), rays_per_pixel))
        value = np.mean([scene_state.camera.position[0] for scene_state in scene_states])
        return np.full((lens.size[1], lens.size[0], 3), value, np.float32)


def test_linear_light_becomes_srgb():
    levels = np.array([0.0, 0.001, 0.0031308, 0.05, 0.18, 0.5, 1.0, 3.0], np.float32)
    light = np.broadcast_to(levels[:, None, None], (8, 1, 3))
    # IEC 61966-2-1, by hand: 12.92 v below, 1.055 v^(1/2.4) - 0.055 above; saturated at full scale.
    expected = [12.92 * v if v <= 0.0031308 else 1.055 * v ** (1 / 2.4) - 0.055 for v in levels.tolist()]
    assert pixels(PLAIN, light)[:, 0, 0].tolist() == [min(round(255 * v), 255) for v in expected]


def test_gain_brings_radiance_to_full_scale():
    brighter = replace(PLAIN, gain=2.5)
    assert np.array_equal(pixels(brighter, LIGHT / 2.5), pixels(PLAIN, LIGHT))


@pytest.mark.parametrize("steps", [[NOISE], [NOISE, Step("srgb")], [Step("srgb"), NOISE], [Step("srgb")], []])
def test_a_chain_does_the_same_to_light_and_to_the_picture_of_it(steps):
    """Steps before `srgb` act on linear light, also where a picture comes in."""
    camera, picture = replace(PLAIN, steps=tuple(steps)), pixels(PLAIN, LIGHT)
    from_picture = apply_steps(picture, steps, frame_seed(3, "a")).astype(int)
    from_light = pixels(camera, LIGHT, "a", 3).astype(int)
    assert np.abs(from_light - from_picture).max() <= (3 if NOISE in steps else 0)  # the picture was rounded before


def test_noise_before_srgb_is_that_of_linear_light():
    grey = np.full((200, 200, 3), 0.2, np.float32)
    linear = pixels(replace(PLAIN, steps=(NOISE, Step("srgb"))), grey).astype(float)
    display = pixels(replace(PLAIN, steps=(NOISE,)), grey).astype(float)
    slope = 1.055 / 2.4 * 0.2 ** (1 / 2.4 - 1)
    value = 1.055 * 0.2 ** (1 / 2.4) - 0.055
    rounding = 1 / 12
    assert linear.var() == pytest.approx((100 * 0.2 + 1) * slope**2 + rounding, rel=0.03)
    assert display.var() == pytest.approx(100 * value + 1 + rounding, rel=0.03)


def test_the_same_seed_and_name_give_the_same_bytes():
    camera = replace(PLAIN, steps=(NOISE,))
    first = pixels(camera, LIGHT, "a", 1)
    assert np.array_equal(first, pixels(camera, LIGHT, "a", 1))
    assert not np.array_equal(first, pixels(camera, LIGHT, "b", 1))
    assert not np.array_equal(first, pixels(camera, LIGHT, "a", 2))


def test_a_chain_that_ends_in_jpeg_is_stored_as_that_jpeg_and_others_without_loss():
    camera = replace(PLAIN, steps=(Step("jpeg", {"quality": 80}),))
    image = develop(camera, LIGHT)
    assert image.stored().suffix == ".jpg"
    assert np.array_equal(decode_image(image.stored().data, "it"), image.pixels)
    plain = develop(PLAIN, LIGHT)
    assert plain.encoded is None
    assert plain.stored().suffix == ".png"
    assert np.array_equal(decode_image(plain.stored().data, "it"), pixels(PLAIN, LIGHT))


def test_an_exposure_is_averaged_and_one_scene_state_stands_for_those_that_are_alike():
    camera, lamp = replace(PLAIN, supersampling=3, exposure_time=0.01, exposure_samples=2), Lamp()
    moving = [SceneState(Pose((x, 0, 0))) for x in (0.2, 0.4)]
    assert gather_light(lamp, camera, moving)[0, 0, 0] == pytest.approx(0.3)
    gather_light(lamp, camera, [moving[0]] * 2)
    gather_light(lamp, camera, [moving[0], SceneState(moving[0].camera, {"cone": Pose((1, 0, 0))})])
    assert lamp.asked == [(2, 9), (1, 9), (2, 9)]


def test_an_exposure_is_seen_at_the_middles_of_its_equal_parts_and_labelled_in_its_middle():
    camera = replace(PLAIN, exposure_time=0.08, exposure_samples=4)
    second = 1_000_000_000
    exposure = exposure_at(
        camera,
        3 * second,
        "a",
        lambda stamps: [Pose((stamp / second, 0, 0)) for stamp in stamps],
        lambda stamp: {"cone": Pose((0, stamp / second, 1))},
    )
    assert (exposure.frame_name, exposure.stamp) == ("a", 3 * second)
    assert [state.camera.position[0] for state in exposure.scene_states] == pytest.approx([3.01, 3.03, 3.05, 3.07])
    assert exposure.middle.camera.position[0] == pytest.approx(3.04)
    for state in (*exposure.scene_states, exposure.middle):
        assert state.bodies["cone"].position[1] == state.camera.position[0]


@pytest.mark.parametrize("end", [[], [Step("jpeg", {"quality": 95})]])
def test_a_gray_camera_has_one_channel_in_its_file_and_three_equal_ones_in_its_pixels(end):
    image = develop(replace(PLAIN, steps=(Step("gray"), NOISE, Step("srgb"), *end)), LIGHT, "a", 2)
    assert image.gray
    assert image.channels.shape == (30, 40, 1)
    assert image.pixels.shape == (30, 40, 3)
    assert np.ptp(image.pixels, axis=2).max() == 0
    assert Image.open(io.BytesIO(image.stored().data)).mode == "L"
    assert np.array_equal(decode_image(image.stored().data, "x"), image.pixels)
