"""Calibrations that other tools wrote: Kalibr, OpenCV, MATLAB, and the camera_info in a recording."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import ConfigDict, model_validator

from simjudge.core.arrays import FloatArray
from simjudge.core.documents import Fields, check_content
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.field_types import Choice, NumberList, Vector, conflict
from simjudge.core.isolated_readers import OPENCV_NAMES
from simjudge.core.processes import read_isolated
from simjudge.core.yaml_file import YamlFile
from simjudge.data.rosbag2.image_messages import UNREADABLE, picture_geometry
from simjudge.data.rosbag2.interfaces import CAMERA_INFO, recorded_types
from simjudge.data.rosbag2.recording import Recording
from simjudge.sim.sensors.camera.calibration import Calibration

_KALIBR_MODELS = {"radtan": "plumb_bob", "equidistant": "equidistant", "none": "plumb_bob"}
"""Kalibr's distortion models (github.com/ethz-asl/kalibr, wiki: supported models) and ROS's names for them."""
_OPENCV_PARTS = ("matrix", "distortion", "width", "height")
"""Of the fields of OpenCV's calibrations, those that are needed."""
_LARGEST_SIDE = 20_000
"""Pixels."""


class KalibrCamera(Fields):
    """A camera of Kalibr's camchain.yaml."""

    model_config = ConfigDict(extra="ignore")

    camera_model: Annotated[Literal["pinhole"], Choice()]
    """Kalibr's omni, eucm and ds are none of ROS's models."""
    intrinsics: Annotated[tuple[float, float, float, float], Vector("fx fy cx cy")]
    """Pixels."""
    distortion_model: Annotated[Literal["radtan", "equidistant", "none"], Choice()] = "none"
    """Kalibr's name of it."""
    distortion_coeffs: Annotated[tuple[float, ...], NumberList()] = ()
    """Four numbers: k1 k2 p1 p2 of radtan, k1 k2 k3 k4 of equidistant."""
    resolution: Annotated[tuple[int, int], Vector("width height", ge=1, le=_LARGEST_SIDE, whole=True)]
    """Pixels."""

    @model_validator(mode="after")
    def _check(self) -> KalibrCamera:
        if min(self.intrinsics[:2]) <= 0:
            raise conflict("focal lengths above 0 are needed", "intrinsics")
        count = len(self.distortion_coeffs)
        if count != (0 if self.distortion_model == "none" else 4):
            raise conflict(f"{self.distortion_model} has 4 numbers; these are {count}", "distortion_coeffs")
        return self


def kalibr_calibration(file: YamlFile, name: str | None) -> Calibration:
    """The calibration of one camera of Kalibr's camchain.yaml.

    Args:
        name: of the camera ("cam0"); None where the file has only one.
    """
    cameras = {str(key): value for key, value in file.content.items() if isinstance(value, Mapping)}
    chosen = choose(cameras, name, file.path)
    camera = check_content(cameras[chosen], KalibrCamera, f"camera {chosen} of Kalibr", file.path, (file,)).content
    fx, fy, cx, cy = camera.intrinsics
    distortion = np.array(camera.distortion_coeffs or (0.0,) * 4)
    matrix = np.array([[fx, 0, cx], [0, fy, cy], [0, 0, 1]])
    return plain_calibration(chosen, camera.resolution, _KALIBR_MODELS[camera.distortion_model], matrix, distortion)


def opencv_calibration(path: Path) -> Calibration:
    """The calibration in a file of cv::FileStorage (YAML, XML or JSON), by the names that OpenCV's samples give."""
    found = read_isolated("opencv", path, "OpenCV cannot read it; write it again with cv::FileStorage")
    for part in _OPENCV_PARTS:
        if found[part] is None:
            needed = [OPENCV_NAMES[each][0] for each in _OPENCV_PARTS]
            lacking = OPENCV_NAMES[part][0]
            raise SimjudgeError(f"{path}: no {lacking} in it; a calibration of OpenCV has {', '.join(needed)}")
    try:
        distortion = np.ravel(np.asarray(found["distortion"], np.float64))
    except (TypeError, ValueError) as error:
        raise SimjudgeError(f"{path}: its distortion holds what is no number") from error
    model = "equidistant" if found["fisheye"] else _model_of(len(distortion))
    return _checked(path, path.stem, (found["width"], found["height"]), model, found["matrix"], distortion)


def matlab_calibration(path: Path) -> Calibration:
    """The calibration in a .mat file that holds MATLAB's cameraParameters or cameraIntrinsics as a struct.

    MATLAB saves its objects in a form that only MATLAB reads; `s = toStruct(cameraParams); save(FILE, "s", "-v7")`
    writes one that others can. MATLAB counts pixels from 1; IntrinsicMatrix, before R2022b, is K transposed.
    """
    fields = read_isolated("matlab", path, 'no whole .mat file of version 7 or before; save it with "-v7"')
    if fields is not None:
        return _matlab(path, fields)
    remedy = 's = toStruct(cameraParams); save(FILE, "s", "-v7")'
    raise SimjudgeError(f"{path}: no struct with ImageSize and RadialDistortion in it; write {remedy}")


def recorded_calibration(path: Path, topic: str | None) -> Calibration:
    """The calibration in the first camera_info of a recording.

    Args:
        topic: of the camera_info; None where there is only one.
    """
    recording = Recording(path)
    topics = {info.topic: info for info in recording.topic_infos() if info.type == CAMERA_INFO}
    # A depth image has its colour image's camera_info a second time.
    colour = {name: info for name, info in topics.items() if "/depth/" not in name}
    chosen = choose(topics if topic else colour or topics, topic, path)
    for message in recording.messages({chosen}):
        types = recorded_types(((CAMERA_INFO, recording.topics[chosen].definition),))
        try:
            return message_calibration(types.deserialize_cdr(message.data, CAMERA_INFO))
        except UNREADABLE as error:
            raise SimjudgeError(f"{path}: the first message on {chosen} cannot be decoded") from error
    raise SimjudgeError(f"{path}: no message on {chosen} can be read")


def message_calibration(message: Any) -> Calibration:
    """The calibration in a camera_info, of the pictures that it goes with: after binning and region of interest."""
    size, matrix, projection = picture_geometry(message)
    if not matrix[0, 0] > 0 or not matrix[1, 1] > 0:
        raise SimjudgeError("camera_info tells no focal length: the camera is not calibrated")
    rectification = np.array(message.r).reshape(3, 3)
    name = message.header.frame_id or "camera"
    distortion = np.array(message.d, np.float64)
    return Calibration(name, size, message.distortion_model, matrix, distortion, rectification, projection)


def choose(found: Mapping[str, Any], name: str | None, path: Path) -> str:
    """The camera of a name, or the only one."""
    if not found:
        raise UsageError(f"{path}: no calibration of a camera in it")
    if name is None and len(found) == 1:
        return next(iter(found))
    if name is None or name not in found:
        many = f"no camera {name}" if name is not None else f"{len(found)} cameras"
        raise UsageError(
            f"{path}: {many} in it; it has {', '.join(sorted(found))}: write a camera's file with calibration: and"
            " calibration_name:"
        )
    return name


def plain_calibration(
    name: str, size: tuple[int, int], model: str, matrix: FloatArray, distortion: FloatArray
) -> Calibration:
    """A calibration of a single camera: nothing to rectify, and K as the camera of the undistorted image.

    Args:
        size: width and height, pixels.
        matrix: K, (3, 3), pixels.
    """
    return Calibration(name, size, model, matrix, distortion, np.eye(3), np.hstack([matrix, np.zeros((3, 1))]))


def _model_of(count: int) -> str:
    """By how many numbers OpenCV's D has: k1 k2 p1 p2 k3, and what comes behind."""
    return "plumb_bob" if count <= 5 else "rational_polynomial"


def _checked(
    path: Path, name: str, given: tuple[Any, Any], model: str, matrix: Any, distortion: FloatArray
) -> Calibration:
    try:
        size = int(given[0]), int(given[1])
    except (TypeError, ValueError, OverflowError) as error:
        raise SimjudgeError(f"{path}: width and height of its images are no whole numbers; correct them") from error
    try:
        whole = np.asarray(matrix, np.float64)
    except (TypeError, ValueError):
        whole = np.empty(0)
    if whole.shape != (3, 3) or not np.isfinite(whole).all() or min(whole[0, 0], whole[1, 1]) <= 0:
        raise SimjudgeError(f"{path}: its camera matrix is that of no camera; 3x3 finite numbers are needed")
    if not 0 < min(size) <= max(size) <= _LARGEST_SIDE:
        raise SimjudgeError(
            f"{path}: images of {size[0]}x{size[1]}; width and height of 1 to {_LARGEST_SIDE} are needed"
        )
    return plain_calibration(name, size, model, whole, np.asarray(distortion, np.float64))


def _matlab(path: Path, fields: Mapping[str, list[float]]) -> Calibration:
    """The calibration of a struct of MATLAB's, whose first pixel's centre is (1, 1)."""
    try:
        if "FocalLength" in fields and "PrincipalPoint" in fields:
            (fx, fy), (cx, cy) = fields["FocalLength"], fields["PrincipalPoint"]
            (skew,) = fields.get("Skew", [0.0])
            matrix = np.array([[fx, skew, cx], [0, fy, cy], [0, 0, 1]])
        elif "K" in fields:
            matrix = np.reshape(fields["K"], (3, 3))
        else:
            matrix = np.reshape(fields["IntrinsicMatrix"], (3, 3)).T
        matrix = matrix - [[0, 0, 1], [0, 0, 1], [0, 0, 0]]
        k1, k2, k3 = (*fields["RadialDistortion"], 0.0)[:3]
        p1, p2 = fields.get("TangentialDistortion", (0.0, 0.0))
        height, width = fields["ImageSize"][:2]
        distortion = np.array([k1, k2, p1, p2, k3], np.float64)
    except (KeyError, ValueError, TypeError) as error:
        raise SimjudgeError(f"{path}: its struct is no cameraParameters and no cameraIntrinsics of MATLAB") from error
    return _checked(path, path.stem, (width, height), "plumb_bob", matrix, distortion)
