"""Weather in recorded pictures, by distances that are assumed or measured."""

import json
import math

import cv2
import numpy as np
import pytest
import yaml

import simjudge as sj
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.images import ArrayImages
from simjudge.core.object_tables import Objects
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.camera.picture_distances import PictureDistances

PICTURE = np.random.default_rng(0).integers(0, 256, (24, 32, 3), np.uint8)
FRAMES = FrameSet.build(
    "s", [[32, 24]] * 2, Objects.build([], [], np.zeros((0, 4))), images=ArrayImages([PICTURE, PICTURE])
)


@pytest.fixture
def camera(tmp_path):
    """A camera in fog."""
    path = tmp_path / "foggy.yaml"
    fog = {"fog": {"density": 0.05, "red": 0.5, "green": 0.5, "blue": 0.5}}
    content = {"size": [32, 24], "field_of_view": 60, "rate": 10, "before_exposure": [fog], "filters": ["srgb"]}
    path.write_text(yaml.safe_dump(content))
    return path


def decoded(levels):
    """IEC 61966-2-1, by hand."""
    value = levels / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


@pytest.mark.parametrize("filters", [["srgb"], []])
def test_an_assumed_distance_puts_fog_into_a_picture_s_linear_light(camera, filters):
    content = yaml.safe_load(camera.read_text()) | {"filters": filters}
    camera.write_text(yaml.safe_dump(content))
    seen = sj.filter(FRAMES, camera=str(camera), distance=20.0)
    left = math.exp(-0.05 * 20)
    expected = decoded(PICTURE) * left + 0.5 * (1 - left)
    assert np.abs(decoded(seen.images.read(0)) - expected).max() < 0.005


def test_depth_pictures_say_how_far_each_pixel_is(camera, tmp_path):
    folder = tmp_path / "depth" / "train"
    folder.mkdir(parents=True)
    depth = np.full((24, 32), 10_000, np.uint16)
    depth[:, 16:] = 0
    for name in FRAMES.frame_name:
        cv2.imwrite(str(folder / f"{name}.png"), depth)
    out = tmp_path / "out"
    sj.filter(FRAMES, out, to="yolo", camera=str(camera), depth=tmp_path / "depth")
    seen = sj.filter(FRAMES, camera=str(camera), depth=tmp_path / "depth").images.read(1)
    rays = read_camera(camera).lens.rays()
    length = 10 / rays[..., 2]
    left = np.exp(-0.05 * length[:, :16])[..., None]
    assert np.abs(decoded(seen[:, :16]) - (decoded(PICTURE[:, :16]) * left + 0.5 * (1 - left))).max() < 0.005
    assert np.abs(decoded(seen[:, 16:]) - 0.5).max() < 0.005, "nothing is known there: infinitely far"
    assert json.loads((tmp_path / "out.filter.json").read_text())["depth"] == str(tmp_path / "depth")


def test_what_is_missing_or_contradicts_itself_is_said(camera, tmp_path):
    plain = tmp_path / "plain.yaml"
    plain.write_text(yaml.safe_dump({"size": [32, 24], "field_of_view": 60, "rate": 10, "filters": ["srgb"]}))
    other = tmp_path / "other.yaml"
    other.write_text(camera.read_text().replace("- 32", "- 48"))
    (tmp_path / "empty").mkdir()
    for given, says in (
        ({"camera": str(camera), "distance": 2.0, "depth": tmp_path}, "give one of them"),
        ({"camera": str(camera), "distance": -2.0}, "--distance -2"),
        ({"camera": str(plain), "distance": 2.0}, "filters in before_exposure"),
        ({"distance": 2.0}, "filters in before_exposure"),
        ({"camera": str(camera), "depth": tmp_path / "empty"}, "has no PNG for frame"),
    ):
        with pytest.raises(UsageError, match=says):
            sj.filter(FRAMES, **given)
    with pytest.raises(UsageError, match="is 32x24, camera other 48x24"):
        sj.filter(FRAMES, camera=str(other), distance=2.0).images.read(0)


def test_a_depth_picture_of_another_size_is_refused(camera, tmp_path):
    cv2.imwrite(str(tmp_path / "a.png"), np.ones((4, 4), np.uint16))
    with pytest.raises(SimjudgeError, match=r"a\.png: is no picture of depth"):
        PictureDistances(read_camera(camera).lens, files=(tmp_path / "a.png",)).of(0)
