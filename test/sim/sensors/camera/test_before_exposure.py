"""Filters before and within a camera's exposure, and fog by distance: known answers."""

import math
from dataclasses import replace

import numpy as np
import pytest
import yaml
from solid_scenes import box, random_scene, scene_of

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.capture import Capture, FrameExposure, Metering, develop, gather_light
from simjudge.sim.engines.contract import SceneState
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.scene.model import Fog
from simjudge.sim.sensors.camera.camera import AutoExposure
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.camera.chain import Step, apply_steps
from simjudge.sim.sensors.camera.filters import CAMERA_FILTERS, camera_filter
from simjudge.sim.sensors.camera.lens import lens_with_field
from simjudge.sim.sensors.camera.picture_distances import ray_lengths
from simjudge.sim.sensors.camera.weather_filters import fog

pytest.importorskip("mujoco", reason="MuJoCo (the extra `sim`) is not installed")
pytest.importorskip("mitsuba", reason="Mitsuba (the extra `sim`) is not installed")

PLAIN = replace(read_camera("plain"), lens=lens_with_field("radial", (96, 64), 80, (-0.1, 0.01, 0)), supersampling=1)
LIGHT = np.random.default_rng(3).random((64, 96, 3), np.float32)


@pytest.fixture(autouse=True)
def cut():
    """A filter that is not linear: light above half of full scale is cut."""

    @camera_filter
    def cut_light(image):
        return np.minimum(image, np.float32(0.5))

    yield
    del CAMERA_FILTERS.functions["cut_light"]


@pytest.mark.parametrize(
    ("given", "density"), [({"density": 0.05}, 0.05), ({"visibility": 78.24}, 0.05), ({"optical_range": 59.915}, 0.05)]
)
def test_fog_is_koschmieder_s_law_pixel_by_pixel(given, density):
    distance = np.random.default_rng(1).uniform(0, 90, (64, 96))
    distance[0] = math.inf
    seen = fog(LIGHT, distance=distance, red=0.7, green=0.8, blue=0.9, **given)
    for row, column in np.ndindex(4, 96):
        left = math.exp(-density * distance[row, column])
        for channel, air in enumerate((0.7, 0.8, 0.9)):
            expected = LIGHT[row, column, channel] * left + air * (1 - left)
            assert seen[row, column, channel] == pytest.approx(expected, abs=1e-4)
    for wrong in ({}, {"density": 0.1, "visibility": 10}, {"density": 0}):
        with pytest.raises(UsageError, match="fog"):
            fog(LIGHT, distance=distance, **wrong)


def test_a_camera_in_fog_sees_what_the_engine_shows_of_a_foggy_scene():
    """Two programs: the filter on a clear scene's light and depth, the engine's own fog along each ray."""
    clear = replace(random_scene(1), ambient=(0.5, 0.5, 0.5))
    foggy = replace(clear, fog=Fog(0.2, (0.6, 0.7, 0.8)))
    camera = replace(PLAIN, before_exposure=(Step("fog", {"density": 0.2, "red": 0.6, "green": 0.7, "blue": 0.8}),))
    state = SceneState(Pose().optical_frame())
    exposure = FrameExposure("a", 0, (state,), state)
    images = []
    for scene, seen_by in ((clear, camera), (foggy, PLAIN), (clear, PLAIN)):
        engine = make_engine("default", scene)
        images.append(Capture(engine, seen_by).capture(exposure).pixels().astype(int))
        engine.close()
    apart = np.abs(images[0] - images[1])
    assert np.percentile(apart, 99) <= 1, "grey levels; mirrored light has its own way through the engine's fog"
    assert np.abs(images[2] - images[1]).mean() > 10


def test_distances_are_along_the_ray():
    depth = np.full((64, 96), 5.0, np.float32)
    depth[0, 0] = math.inf
    lengths = ray_lengths(PLAIN.lens, depth)
    rays = PLAIN.lens.rays()
    assert (lengths[1:, :, None] * rays[1:])[..., 2] == pytest.approx(5.0)
    assert lengths[0, 0] == math.inf


def test_filters_before_the_exposure_come_before_gain_and_metering():
    camera = replace(PLAIN, gain=3.0, before_exposure=(Step("cut_light"),))
    plain = replace(PLAIN, gain=3.0)
    assert np.array_equal(develop(camera, LIGHT).pixels, develop(plain, np.minimum(LIGHT, 0.5)).pixels)
    metered = AutoExposure(100.0, 0.0, (0.01, 10.0), (1.0, 1.0))
    seen = develop(replace(camera, auto_exposure=metered), LIGHT, metering=Metering(0, None)).metered
    alone = develop(replace(plain, auto_exposure=metered), np.minimum(LIGHT, 0.5), metering=Metering(0, None)).metered
    assert seen == alone


def test_filters_within_the_exposure_act_on_each_moment():
    plate = box("plate", (0.001, 1.0, 2.0), Pose((2.0, 0, 0)))
    engine = make_engine("default", replace(scene_of(plate), ambient=(0.9, 0.9, 0.9)))
    states = [SceneState(Pose((0, y, 0)).optical_frame()) for y in (-0.4, 0.0, 0.4)]
    camera = replace(PLAIN, exposure_time=0.01, exposure_samples=3, within_exposure=(Step("cut_light"),))
    seen = gather_light(engine, camera, states)
    moments = [np.minimum(gather_light(engine, PLAIN, [state]), 0.5) for state in states]
    engine.close()
    assert seen == pytest.approx(np.mean(moments, 0), abs=1e-6)
    assert seen.max() == pytest.approx(0.5)


def test_each_moment_has_noise_of_its_own_that_follows_the_seed():
    engine = make_engine("default", replace(scene_of(box("w", (0.001, 9, 9), Pose((2.0, 0, 0)))), ambient=(0.5,) * 3))
    state = SceneState(Pose().optical_frame())
    camera = replace(PLAIN, within_exposure=(Step("gaussian_noise", {"sigma": 10}),))
    one, again = (gather_light(engine, camera, [state], (1,)) for _ in range(2))
    four = gather_light(engine, camera, [state] * 4, (1,))
    engine.close()
    assert np.array_equal(one, again)
    assert four.std() == pytest.approx(one.std() / 2, rel=0.05)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"before_exposure": ["srgb"]}, "srgb comes after the exposure; put it into filters"),
        ({"within_exposure": [{"jpeg": {"quality": 90}}]}, "jpeg comes after the exposure"),
        ({"within_exposure": [{"fog": {"density": 0.1}}]}, "fog needs distances; put it into before_exposure"),
        ({"filters": [{"fog": {"density": 0.1}}]}, "needs distances; it stands in a camera's before_exposure"),
        ({"before_exposure": [{"fog": {}}]}, "give one of density, visibility and optical_range"),
        ({"within_exposure": ["cut_light"], "line_time": 1e-6}, "rays have times of their own"),
    ],
)
def test_a_cameras_file_says_what_is_wrong(tmp_path, fields, says):
    path = tmp_path / "c.yaml"
    path.write_text(yaml.safe_dump({"size": [96, 64], "field_of_view": 60, "rate": 10} | fields))
    with pytest.raises(SimjudgeError, match=says):
        read_camera(path)


def test_a_cameras_file_has_both(tmp_path):
    path = tmp_path / "c.yaml"
    fields = {"before_exposure": [{"fog": {"optical_range": 40}}], "within_exposure": ["cut_light"]}
    path.write_text(yaml.safe_dump({"size": [96, 64], "field_of_view": 60, "rate": 10} | fields))
    camera = read_camera(path)
    assert camera.before_exposure == (Step("fog", {"optical_range": 40}),)
    assert camera.within_exposure == (Step("cut_light"),)
    with pytest.raises(UsageError, match="needs distances"):
        apply_steps(LIGHT, camera.before_exposure)
