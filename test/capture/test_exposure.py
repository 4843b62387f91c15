"""From light to a picture: gain, chain, noise by name, and the instants of an exposure."""

from dataclasses import replace

import numpy as np
import pytest

from simjudge.capture.exposure import (
    between,
    develop,
    gather,
    middle,
    pose_between,
    scene_states_between,
    shot_of,
    take,
)
from simjudge.core.images import decode_image
from simjudge.engines.contract import SceneState
from simjudge.geometry.poses import Pose
from simjudge.sensors.camera.camera_file import read_camera
from simjudge.sensors.camera.chain import Step, apply_steps, frame_seed

NOISE = Step("shot_noise", {"shot": 10, "read": 1})
PLAIN = read_camera("plain")
LIGHT = np.random.default_rng(0).random((30, 40, 3), np.float32)


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
    assert develop(PLAIN, light)[:, 0, 0].tolist() == [min(round(255 * v), 255) for v in expected]


def test_gain_brings_radiance_to_full_scale():
    brighter = replace(PLAIN, gain=2.5)
    assert np.array_equal(develop(brighter, LIGHT / 2.5), develop(PLAIN, LIGHT))


@pytest.mark.parametrize("steps", [[NOISE], [NOISE, Step("srgb")], [Step("srgb"), NOISE], [Step("srgb")], []])
def test_a_chain_does_the_same_to_light_and_to_the_picture_of_it(steps):
    """Steps before `srgb` act on linear light, also where a picture comes in."""
    camera, picture = replace(PLAIN, steps=tuple(steps)), develop(PLAIN, LIGHT)
    from_picture = apply_steps(picture, steps, frame_seed(3, "a")).astype(int)
    from_light = develop(camera, LIGHT, "a", 3).astype(int)
    assert np.abs(from_light - from_picture).max() <= (3 if NOISE in steps else 0)  # the picture was rounded before


def test_noise_before_srgb_is_that_of_linear_light():
    grey = np.full((200, 200, 3), 0.2, np.float32)
    linear = develop(replace(PLAIN, steps=(NOISE, Step("srgb"))), grey).astype(float)
    display = develop(replace(PLAIN, steps=(NOISE,)), grey).astype(float)
    slope = 1.055 / 2.4 * 0.2 ** (1 / 2.4 - 1)
    value = 1.055 * 0.2 ** (1 / 2.4) - 0.055
    rounding = 1 / 12
    assert linear.var() == pytest.approx((100 * 0.2 + 1) * slope**2 + rounding, rel=0.03)
    assert display.var() == pytest.approx(100 * value + 1 + rounding, rel=0.03)


def test_the_same_seed_and_name_give_the_same_bytes():
    camera = replace(PLAIN, steps=(NOISE,))
    first = develop(camera, LIGHT, "a", 1)
    assert np.array_equal(first, develop(camera, LIGHT, "a", 1))
    assert not np.array_equal(first, develop(camera, LIGHT, "b", 1))
    assert not np.array_equal(first, develop(camera, LIGHT, "a", 2))


def test_a_chain_that_ends_in_jpeg_is_stored_as_that_jpeg_and_others_without_loss():
    camera = replace(PLAIN, steps=(Step("jpeg", {"quality": 80}),))
    shot = shot_of(camera, LIGHT)
    assert shot.stored().suffix == ".jpg"
    assert np.array_equal(decode_image(shot.stored().data, "it"), shot.pixels)
    plain = shot_of(PLAIN, LIGHT)
    assert plain.encoded is None
    assert plain.stored().suffix == ".png"
    assert np.array_equal(decode_image(plain.stored().data, "it"), develop(PLAIN, LIGHT))


def test_an_exposure_is_averaged_and_one_scene_state_stands_for_those_that_are_alike():
    camera, lamp = replace(PLAIN, supersampling=3, exposure_time=0.01, exposure_samples=2), Lamp()
    moving = [SceneState(Pose((x, 0, 0))) for x in (0.2, 0.4)]
    assert gather(lamp, camera, moving)[0, 0, 0] == pytest.approx(0.3)
    gather(lamp, camera, [moving[0]] * 2)
    gather(lamp, camera, [moving[0], SceneState(moving[0].camera, {"cone": Pose((1, 0, 0))})])
    assert lamp.asked == [(2, 9), (1, 9), (2, 9)]
    assert np.array_equal(take(lamp, PLAIN, moving), develop(PLAIN, np.full((720, 1280, 3), 0.3, np.float32)))


def test_scene_states_are_the_middles_of_equal_parts():
    begin = SceneState(Pose(), {"cone": Pose((0, 0, 1)), "crate": Pose()})
    end = SceneState(Pose.from_euler(1, 0, yaw=0.4), {"cone": Pose((0, 2, 1)), "crate": Pose()})
    four = scene_states_between(begin, end, 4)
    assert [m.camera.position[0] for m in four] == pytest.approx([1 / 8, 3 / 8, 5 / 8, 7 / 8])
    assert [m.camera.angles()[0] for m in four] == pytest.approx([0.05, 0.15, 0.25, 0.35])
    assert [m.bodies["cone"].position[1] for m in four] == pytest.approx([1 / 4, 3 / 4, 5 / 4, 7 / 4])
    assert four[0].bodies["crate"] == Pose()
    assert middle(four).camera.position == pytest.approx((0.5, 0, 0))
    assert middle(four).bodies["cone"].position == pytest.approx((0, 1, 1))
    assert middle(four[:3]) is four[1]
    assert between(begin, SceneState(Pose()), 0.3).bodies["cone"] == Pose((0, 0, 1))


def test_poses_turn_the_short_way():
    begin, end = Pose.from_euler(0, 0, yaw=3.0), Pose.from_euler(0, 0, yaw=-3.0)
    turned = pose_between(begin, end, 0.25).angles()[0]
    assert turned == pytest.approx(3.0 + 0.25 * (2 * np.pi - 6))
    assert pose_between(begin, begin, 0.7) == begin
