"""Calibrations in files: as ROS's camera_calibration and camera_info_manager write them, and by other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import ConfigDict, model_validator

from simjudge.core.arrays import FloatArray
from simjudge.core.documents import Fields, check_content
from simjudge.core.field_types import Choice, Label, NumberList, Whole, conflict
from simjudge.core.text import read_text
from simjudge.core.yaml_file import YamlFile, read_yaml
from simjudge.data.rosbag2.storage import is_recording
from simjudge.sim.sensors.camera.calibration import Calibration
from simjudge.sim.sensors.camera.calibration_formats import (
    kalibr_calibration,
    matlab_calibration,
    opencv_calibration,
    recorded_calibration,
)

COEFFICIENTS = {"plumb_bob": (4, 5), "rational_polynomial": (8, 12, 14), "equidistant": (4,), "fisheye": (4,)}
"""Distortion models (sensor_msgs/distortion_models.hpp) and how many coefficients each may have."""
_OTHER_NAMES = {"fisheye": "equidistant"}
_WIDEST = 1_000_000
"""Pixels; no image is wider."""


class MatrixFields(Fields):
    """A matrix, row by row."""

    model_config = ConfigDict(extra="ignore")

    data: Annotated[tuple[float, ...], NumberList()]
    """Its numbers; rows and cols, which ROS writes too, follow from the field's name."""

    def shaped(self, rows: int, columns: int) -> FloatArray:
        """The matrix.

        Args:
            rows, columns: its shape, which suits the count of its numbers.
        """
        return np.array(self.data, np.float64).reshape(rows, columns)


class CalibrationFile(Fields):
    """A camera's calibration as ROS writes it."""

    model_config = ConfigDict(extra="ignore")

    image_width: Annotated[int, Whole(1, _WIDEST)]
    """Pixels."""
    image_height: Annotated[int, Whole(1, _WIDEST)]
    """Pixels."""
    camera_name: Annotated[str, Label()] | None = None
    """The file's own without its suffix, if left out."""
    camera_matrix: MatrixFields
    """K, 3x3, pixels."""
    distortion_model: Annotated[Literal["plumb_bob", "rational_polynomial", "equidistant", "fisheye"], Choice()]
    """As sensor_msgs/CameraInfo names it; fisheye is equidistant."""
    distortion_coefficients: MatrixFields
    """D."""
    rectification_matrix: MatrixFields | None = None
    """R, 3x3, a rotation; none, if left out."""
    projection_matrix: MatrixFields | None = None
    """P, 3x4, pixels; that of camera_matrix, if left out."""

    @model_validator(mode="after")
    def _check(self) -> CalibrationFile:
        allowed = COEFFICIENTS[self.distortion_model]
        count = len(self.distortion_coefficients.data)
        if count not in allowed:
            counts = " or ".join(str(each) for each in allowed)
            raise conflict(
                f"{self.distortion_model} has {counts} numbers; these are {count}", "distortion_coefficients"
            )
        _check_camera_matrix("camera_matrix", self.camera_matrix, 3)
        if self.projection_matrix is not None:
            _check_camera_matrix("projection_matrix", self.projection_matrix, 4)
        if self.rectification_matrix is not None:
            _check_count("rectification_matrix", self.rectification_matrix, 3)
            rotation = self.rectification_matrix.shaped(3, 3)
            if not np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-3):
                raise conflict("this is no rotation; leave it out or calibrate again", "rectification_matrix")
        return self


def read_calibration(path: Path, name: str | None = None) -> Calibration:
    """Read the calibration of a camera.

    Args:
        path: a YAML file of ROS's camera_calibration, Kalibr's camchain.yaml, a file of OpenCV's cv::FileStorage
            (.yaml, .xml, .json), MATLAB's struct (.mat), or a recording with a camera_info.
        name: which of several cameras: Kalibr's name, or the topic of a recording.
    """
    if is_recording(path):
        return recorded_calibration(path, name)
    if path.suffix.lower() == ".mat":
        return matlab_calibration(path)
    if _is_of_opencv(path):
        return opencv_calibration(path)
    file = read_yaml(path)
    if _is_of_kalibr(file.content):
        return kalibr_calibration(file, name)
    return _ros_calibration(file)


def holds_calibration(path: Path) -> bool:
    """Tell whether a path holds a calibration and not a camera's file."""
    if is_recording(path) or path.suffix.lower() == ".mat" or _is_of_opencv(path):
        return True
    content = read_yaml(path).content
    return _is_of_kalibr(content) or (isinstance(content, dict) and "camera_matrix" in content)


def _is_of_opencv(path: Path) -> bool:
    """Whether cv::FileStorage wrote it, as YAML, XML or JSON: by its own words for a matrix and for a file."""
    text = read_text(path)
    return "opencv-matrix" in text or "<opencv_storage>" in text


def _is_of_kalibr(content: Any) -> bool:
    return isinstance(content, dict) and any(
        isinstance(camera, dict) and "intrinsics" in camera and "camera_model" in camera for camera in content.values()
    )


def _ros_calibration(given: YamlFile) -> Calibration:
    file = check_content(
        given.content, CalibrationFile, "camera calibration as ROS writes it", given.path, (given,)
    ).content
    matrix = file.camera_matrix.shaped(3, 3)
    projection = (
        file.projection_matrix.shaped(3, 4) if file.projection_matrix else np.hstack([matrix, np.zeros((3, 1))])
    )
    rotation = file.rectification_matrix.shaped(3, 3) if file.rectification_matrix else np.eye(3)
    return Calibration(
        name=file.camera_name or given.path.stem,
        size=(file.image_width, file.image_height),
        model=_OTHER_NAMES.get(file.distortion_model, file.distortion_model),
        matrix=matrix,
        distortion=np.array(file.distortion_coefficients.data, np.float64),
        rectification=rotation,
        projection=projection,
    )


def _check_count(field: str, matrix: MatrixFields, columns: int) -> None:
    if len(matrix.data) != 3 * columns:
        raise conflict(f"3x{columns} numbers are needed; these are {len(matrix.data)}", field)


def _check_camera_matrix(field: str, matrix: MatrixFields, columns: int) -> None:
    _check_count(field, matrix, columns)
    numbers = matrix.shaped(3, columns)
    if min(numbers[0, 0], numbers[1, 1]) <= 0 or not np.array_equal(numbers[2, :3], [0, 0, 1]):
        raise conflict("no camera has it: focal lengths above 0 and a last row 0 0 1 are needed", field)
