"""What driving needs of a camera: the ray of a pixel, and the pixel of a point."""

from __future__ import annotations

from typing import Any, Protocol

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import UsageError
from simjudge.sim.sensors.camera.calibration import Calibration
from simjudge.sim.sensors.camera.lens import lens_from_calibration

# In OpenCV 4, Python's undistortPoints takes no criteria, and this one does.
_undistort: Any = getattr(cv2, "undistortPointsIter", cv2.undistortPoints)
_STEPS = (cv2.TERM_CRITERIA_COUNT | cv2.TERM_CRITERIA_EPS, 100, 1e-12)
"""OpenCV inverts a distortion in so many steps, or until a step is that small."""
_NEAREST = 1e-6
"""Points must be so far before the camera's plane, metres."""


class CameraModel(Protocol):
    """A lens as `sensors.camera.lens.Lens`: optical frame, pixel (0, 0) at the upper left pixel's centre."""

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the picture, pixels."""

    def rays_at(self, pixels: npt.ArrayLike) -> FloatArray:
        """Rays of pixels.

        Args:
            pixels: pixel coordinates (..., 2).

        Returns:
            Unit vectors (..., 3) in the optical frame; NaN where no ray arrives.
        """

    def project(self, points: npt.ArrayLike) -> FloatArray:
        """Pixels of points.

        Args:
            points: points (..., 3) in the optical frame, metres.

        Returns:
            Pixel coordinates (..., 2); NaN behind the camera.
        """


class OpenCvCameraModel:
    """A camera whose calibration none of simjudge's lenses has, by OpenCV's formulas."""

    def __init__(self, calibration: Calibration) -> None:
        """Take a calibration."""
        self._calibration = calibration
        self._fisheye = calibration.model == "equidistant"

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the picture, pixels."""
        return self._calibration.size

    def rays_at(self, pixels: npt.ArrayLike) -> FloatArray:
        """Rays of pixels: see `CameraModel.rays_at`."""
        given = np.asarray(pixels, np.float64)
        flat = given.reshape(-1, 1, 2)
        matrix, distortion = self._calibration.matrix, self._calibration.distortion
        if not len(flat):
            return np.empty((*given.shape[:-1], 3))
        if self._fisheye:
            straight = cv2.fisheye.undistortPoints(flat, matrix, distortion)
        else:
            straight = _undistort(flat, matrix, distortion, R=None, P=None, criteria=_STEPS)
        rays = np.concatenate([np.asarray(straight).reshape(-1, 2), np.ones((len(flat), 1))], 1)
        unit: FloatArray = (rays / np.linalg.norm(rays, axis=1, keepdims=True)).reshape(*given.shape[:-1], 3)
        return unit

    def project(self, points: npt.ArrayLike) -> FloatArray:
        """Pixels of points: see `CameraModel.project`."""
        given = np.asarray(points, np.float64)
        flat = given.reshape(-1, 1, 3)
        out = np.full((len(flat), 2), np.nan)
        ahead = flat[:, 0, 2] > _NEAREST
        if ahead.any():
            no_motion = np.zeros(3)
            project = cv2.fisheye.projectPoints if self._fisheye else cv2.projectPoints
            seen = project(flat[ahead], no_motion, no_motion, self._calibration.matrix, self._calibration.distortion)[0]
            out[ahead] = np.asarray(seen).reshape(-1, 2)
        return out.reshape(*given.shape[:-1], 2)


def camera_model_of(calibration: Calibration) -> CameraModel:
    """The model of a calibrated camera: an exact lens where there is one, else OpenCV's formulas."""
    try:
        return lens_from_calibration(calibration)
    except UsageError:
        return OpenCvCameraModel(calibration)
