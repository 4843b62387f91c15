"""A camera's calibration, as ROS's camera_calibration writes it: read, doubted where it should be, applied.

Pixel coordinates in here are OpenCV's and ROS's: (0, 0) is the centre of the upper left pixel.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
import yaml

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FloatArray
from simjudge.core.images import RgbImage

_COEFFICIENTS = {"plumb_bob": (4, 5), "rational_polynomial": (8, 12, 14), "equidistant": (4,)}
"""Distortion models (sensor_msgs/distortion_models.hpp) and how many coefficients each may have."""
_ALIASES = {"fisheye": "equidistant"}
_ODD, _WRONG = 0.05, 0.15
"""How far from the middle a principal point may be, as a share of width or height, until it is doubted, or refused."""
_SIZES = (
    (320, 240), (640, 360), (640, 480), (800, 600), (848, 480), (960, 540), (1024, 768), (1280, 720), (1280, 800),
    (1280, 960), (1280, 1024), (1600, 1200), (1920, 1080), (1920, 1200), (2048, 1536), (2592, 1944), (3840, 2160),
)  # fmt: skip


class Doubt(NamedTuple):
    """What is odd about a calibration; `wrong` where it can hardly be right."""

    wrong: bool
    message: str


@dataclass(frozen=True)
class Calibration:
    """A calibrated camera.

    Attributes:
        name: of the camera.
        size: width and height of the pictures it holds for, pixels.
        model: "plumb_bob", "rational_polynomial" or "equidistant".
        matrix: K, float64 (3, 3), pixels.
        distortion: D, float64 (n,), no unit.
        rectification: R, float64 (3, 3), a rotation.
        projection: P, float64 (3, 4), pixels: the camera of the undistorted picture.
    """

    name: str
    size: tuple[int, int]
    model: str
    matrix: FloatArray
    distortion: FloatArray
    rectification: FloatArray
    projection: FloatArray

    def doubt(self) -> Doubt | None:
        """Whether the principal point suits the size: calibrations get copied to another resolution without scaling."""
        centre = (float(self.matrix[0, 2]), float(self.matrix[1, 2]))
        off = max(abs(c - (n - 1) / 2) / n for c, n in zip(centre, self.size, strict=True))
        if off <= _ODD:
            return None
        likely = _size_with_centre(centre)
        other = f"; it suits pictures of {likely[0]}x{likely[1]}" if likely and likely != self.size else ""
        width, height = self.size
        text = (
            f"the principal point ({centre[0]:.1f}, {centre[1]:.1f}) is {off:.0%} off the middle of the"
            f" {width}x{height} pictures that it is said to be for{other}"
        )
        return Doubt(off > _WRONG, text)

    def scaled(self, size: tuple[int, int]) -> Calibration:
        """The calibration of the same pictures in another size.

        Raises:
            SimjudgeError: width and height scale differently, so that the pictures cannot be the same.
        """
        factors = [new / old for new, old in zip(size, self.size, strict=True)]
        if abs(factors[0] / factors[1] - 1) > 1 / min(*size, *self.size):
            raise SimjudgeError(
                f"a calibration for {self.size[0]}x{self.size[1]} cannot be scaled to {size[0]}x{size[1]}: "
                "another shape shows another part of the scene; calibrate at this size"
            )
        fx, fy = factors
        # The outer edges of the picture coincide, not the centres of its corner pixels.
        shift = np.array([[fx, 0, (fx - 1) / 2], [0, fy, (fy - 1) / 2], [0, 0, 1]])
        return replace(self, size=size, matrix=shift @ self.matrix, projection=shift @ self.projection)

    def undistortion(self) -> Undistortion:
        """What turns pictures of this camera into those of the ideal camera P."""
        target = self.projection[:, :3]
        if self.model == "equidistant":
            maps = cv2.fisheye.initUndistortRectifyMap(
                self.matrix, self.distortion, self.rectification, target, self.size, cv2.CV_16SC2
            )
        else:
            maps = cv2.initUndistortRectifyMap(
                self.matrix, self.distortion, self.rectification, target, self.size, cv2.CV_16SC2
            )
        return Undistortion(self.size, *maps)


@dataclass(frozen=True)
class Undistortion:
    """A picture's pixels, moved to where an ideal camera sees them; black where the real one saw nothing."""

    size: tuple[int, int]
    coarse: Any
    fine: Any

    def __call__(self, picture: RgbImage) -> RgbImage:
        """The undistorted picture; bilinear."""
        height, width = picture.shape[:2]
        if (width, height) != self.size:
            raise SimjudgeError(f"a picture of {width}x{height} with a calibration for {self.size[0]}x{self.size[1]}")
        return np.asarray(cv2.remap(picture, self.coarse, self.fine, cv2.INTER_LINEAR), np.uint8)


def read_calibration(path: Path) -> Calibration:
    """Read the YAML file of ROS's camera_calibration (and camera_info_manager).

    Raises:
        SimjudgeError: the file cannot be read, lacks something, or holds what no camera has.
    """
    entry = _content(path)
    size = tuple(_whole(path, entry, key) for key in ("image_width", "image_height"))
    model = str(entry.get("distortion_model", ""))
    model = _ALIASES.get(model, model)
    if model not in _COEFFICIENTS:
        raise SimjudgeError(f"{path}: distortion_model {model!r}: one of {', '.join(_COEFFICIENTS)} is needed")
    distortion = _numbers(path, entry, "distortion_coefficients").reshape(-1)
    if len(distortion) not in _COEFFICIENTS[model]:
        counts = " or ".join(str(n) for n in _COEFFICIENTS[model])
        raise SimjudgeError(f"{path}: {len(distortion)} distortion_coefficients: {model} has {counts}")
    matrix = _matrix(path, entry, "camera_matrix", (3, 3))
    _check_matrix(path, "camera_matrix", matrix)
    rotation = np.eye(3)
    if "rectification_matrix" in entry:
        rotation = _matrix(path, entry, "rectification_matrix", (3, 3))
    if not np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-3):
        raise SimjudgeError(f"{path}: rectification_matrix is no rotation")
    projection = np.hstack([matrix, np.zeros((3, 1))])
    if "projection_matrix" in entry:
        projection = _matrix(path, entry, "projection_matrix", (3, 4))
        _check_matrix(path, "projection_matrix", projection)
    name = str(entry.get("camera_name", path.stem))
    return Calibration(name, (size[0], size[1]), model, matrix, distortion, rotation, projection)


def _content(path: Path) -> dict[str, Any]:
    try:
        entry = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SimjudgeError(f"{path}: cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise SimjudgeError(f"{path}: no camera calibration as ROS writes it: {reason}") from error
    if not isinstance(entry, dict) or "camera_matrix" not in entry:
        raise SimjudgeError(f"{path}: no camera calibration as ROS writes it: camera_matrix is missing")
    return entry


def _whole(path: Path, entry: dict[str, Any], key: str) -> int:
    value = entry.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise SimjudgeError(f"{path}: {key} {value!r}: a whole number of pixels is needed")
    return value


def _numbers(path: Path, entry: dict[str, Any], key: str) -> FloatArray:
    value = entry.get(key)
    data = value.get("data") if isinstance(value, dict) else None
    good = isinstance(data, list) and all(isinstance(v, int | float) and math.isfinite(v) for v in data)
    if not good:
        raise SimjudgeError(f"{path}: {key}: rows, cols and data (finite numbers) are needed")
    return np.array(data, np.float64)


def _matrix(path: Path, entry: dict[str, Any], key: str, shape: tuple[int, int]) -> FloatArray:
    values = _numbers(path, entry, key)
    if values.size != shape[0] * shape[1]:
        raise SimjudgeError(f"{path}: {key} has {values.size} numbers: {shape[0]}x{shape[1]} are needed")
    return values.reshape(shape)


def _check_matrix(path: Path, key: str, matrix: FloatArray) -> None:
    fx, fy = float(matrix[0, 0]), float(matrix[1, 1])
    if fx <= 0 or fy <= 0 or not np.array_equal(matrix[2, :3], [0, 0, 1]):
        raise SimjudgeError(f"{path}: {key} is no camera's: focal lengths above 0 and a last row 0 0 1 are needed")


def _size_with_centre(centre: tuple[float, float]) -> tuple[int, int] | None:
    """The usual picture size whose middle is nearest to a point, if it is near at all."""
    off = {size: max(abs(2 * c + 1 - n) / n for c, n in zip(centre, size, strict=True)) for size in _SIZES}
    best = min(_SIZES, key=off.__getitem__)
    return best if off[best] <= _ODD else None
