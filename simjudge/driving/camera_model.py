"""What driving needs of a camera: which way a pixel looks, and where a point appears."""

from __future__ import annotations

from typing import Protocol

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.errors import UsageError
from simjudge.core.frames import FloatArray
from simjudge.sensors.camera.calibration import Calibration
from simjudge.sensors.camera.lens import lens_from_calibration

_STEPS = (cv2.TERM_CRITERIA_COUNT | cv2.TERM_CRITERIA_EPS, 100, 1e-12)
_BEHIND = 1e-6


class CameraModel(Protocol):
    """A lens, as `sensors.camera.lens.Lens` is one: optical frame, pixel (0, 0) the upper left pixel's centre."""

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the picture, pixels."""

    def rays_at(self, pixels: npt.ArrayLike) -> FloatArray:
        """Unit rays (..., 3) of pixel coordinates (..., 2); NaN where none arrives."""

    def project(self, points: npt.ArrayLike) -> FloatArray:
        """Pixel coordinates (..., 2) of points (..., 3), metres; NaN behind the camera."""


class OpenCvCameraModel:
    """A camera whose calibration no lens of simjudge's has, by OpenCV's formulas."""

    def __init__(self, calibration: Calibration) -> None:
        """Take a calibration of any model that ROS has."""
        self._calibration = calibration
        self._fisheye = calibration.model == "equidistant"

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the picture, pixels."""
        return self._calibration.size

    def rays_at(self, pixels: npt.ArrayLike) -> FloatArray:
        """Unit rays (..., 3) of pixel coordinates (..., 2)."""
        given = np.asarray(pixels, np.float64)
        flat = given.reshape(-1, 1, 2)
        matrix, distortion = self._calibration.matrix, self._calibration.distortion
        if not len(flat):
            return np.empty((*given.shape[:-1], 3))
        if self._fisheye:
            straight = cv2.fisheye.undistortPoints(flat, matrix, distortion)
        else:
            straight = cv2.undistortPoints(flat, matrix, distortion, None, None, None, _STEPS)
        rays = np.concatenate([np.asarray(straight).reshape(-1, 2), np.ones((len(flat), 1))], 1)
        unit: FloatArray = (rays / np.linalg.norm(rays, axis=1, keepdims=True)).reshape(*given.shape[:-1], 3)
        return unit

    def project(self, points: npt.ArrayLike) -> FloatArray:
        """Pixel coordinates (..., 2) of points (..., 3), metres; NaN at or behind the camera's plane."""
        given = np.asarray(points, np.float64)
        flat = given.reshape(-1, 1, 3)
        out = np.full((len(flat), 2), np.nan)
        ahead = flat[:, 0, 2] > _BEHIND
        if ahead.any():
            still = np.zeros(3)
            project = cv2.fisheye.projectPoints if self._fisheye else cv2.projectPoints
            seen = project(flat[ahead], still, still, self._calibration.matrix, self._calibration.distortion)[0]
            out[ahead] = np.asarray(seen).reshape(-1, 2)
        return out.reshape(*given.shape[:-1], 2)


def camera_model_of(calibration: Calibration) -> CameraModel:
    """What a calibrated camera sees: an exact lens where there is one, else OpenCV's formulas."""
    try:
        return lens_from_calibration(calibration)
    except UsageError:
        return OpenCvCameraModel(calibration)
