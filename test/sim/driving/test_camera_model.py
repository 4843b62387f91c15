"""What driving needs of a camera, where only a calibration is known."""

import math
from dataclasses import replace

import numpy as np
import pytest
from toy_world import LENSES

from simjudge.sim.driving.cones import OpenCvCameraModel, camera_model_of
from simjudge.sim.sensors.camera.lens import Lens

PIXELS = np.stack(np.meshgrid(np.linspace(0, 1279, 9), np.linspace(0, 719, 7)), -1)


@pytest.mark.parametrize(("lens", "tolerance"), [("pinhole", 1e-9), ("radial", 1e-6), ("fov", 2e-3)])
def test_opencv_and_the_lens_agree(lens, tolerance):
    exact = LENSES[lens]
    view = OpenCvCameraModel(exact.camera_info().calibration)
    assert view.size == exact.size
    pixels = PIXELS[:, :5] if lens == "pinhole" else PIXELS
    rays = view.rays_at(pixels)
    np.testing.assert_allclose(rays, exact.rays_at(pixels), atol=tolerance)
    np.testing.assert_allclose(view.project(3 * rays), pixels, atol=1e-4)


def test_fisheye_is_equidistant():
    calibration = LENSES["pinhole"].camera_info().calibration
    view = OpenCvCameraModel(replace(calibration, model="equidistant", distortion=np.zeros(4)))
    angle = 0.6
    pixel = view.project([math.sin(angle), 0.0, math.cos(angle)])
    cx, cy = LENSES["pinhole"].centre
    np.testing.assert_allclose(pixel, [cx + LENSES["pinhole"].focal[0] * angle, cy], atol=1e-6)
    np.testing.assert_allclose(view.rays_at(pixel), [math.sin(angle), 0.0, math.cos(angle)], atol=1e-9)


def test_what_is_behind_is_not_seen():
    view = OpenCvCameraModel(LENSES["radial"].camera_info().calibration)
    assert np.all(np.isnan(view.project([[0, 0, -1.0], [1, 1, 0.0]])))
    assert view.rays_at(np.empty((0, 2))).shape == (0, 3)


def test_a_lens_is_taken_where_there_is_one():
    for name in ("radial", "fov"):
        assert isinstance(camera_model_of(LENSES[name].camera_info().calibration), Lens)
    folds = replace(LENSES["pinhole"].camera_info().calibration, distortion=np.array([-0.9, 0, 0.001, 0, 0]))
    assert isinstance(camera_model_of(folds), OpenCvCameraModel)
