"""A camera's calibration, doubted where it should be, scaled, applied; and calibrations in files of many tools.

Pixel coordinates in here are OpenCV's and ROS's: (0, 0) is the centre of the upper left pixel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import cv2
import numpy as np
from pydantic import ConfigDict, model_validator

from simjudge.core.arrays import FloatArray, ShortRepr
from simjudge.core.documents import Fields, check_content
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.field_types import Choice, Label, NumberList, Vector, Whole, conflict
from simjudge.core.images import RgbImage
from simjudge.core.isolated_readers import OPENCV_NAMES
from simjudge.core.processes import read_isolated
from simjudge.core.text import YamlFile, read_text, read_yaml
from simjudge.data.rosbag2.image_messages import UNREADABLE, picture_geometry
from simjudge.data.rosbag2.interfaces import CAMERA_INFO, recorded_types
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.rosbag2.storage import is_recording

_ODD = 0.05  # Share of width or height that a principal point may be off the middle until it is doubted
_WRONG = 0.15  # Share of width or height that a principal point may be off the middle until it is refused
_SIZES = (
    (320, 240),
    (640, 360),
    (640, 480),
    (800, 600),
    (848, 480),
    (960, 540),
    (1024, 768),
    (1280, 720),
    (1280, 800),
    (1280, 960),
    (1280, 1024),
    (1600, 1200),
    (1920, 1080),
    (1920, 1200),
    (2048, 1536),
    (2592, 1944),
    (3840, 2160),
)


class Doubt(NamedTuple):
    """What is odd about a calibration; `wrong` where it can hardly be right."""

    wrong: bool
    message: str


@dataclass(frozen=True, repr=False)
class Calibration(ShortRepr):
    """A calibrated camera."""

    name: str
    size: tuple[int, int]  # width and height of the images it holds for, pixels
    # "plumb_bob", "rational_polynomial" or "equidistant"; or simjudge's own "equirectangular", of which K has the
    # centre and pixels per radian.
    model: str
    matrix: FloatArray  # K, float64 (3, 3), pixels
    distortion: FloatArray  # D, float64 (n,), no unit
    rectification: FloatArray  # R, float64 (3, 3), a rotation
    projection: FloatArray  # P, float64 (3, 4), pixels: the camera of the undistorted image
    sensor: Calibration | None = None  # that of the whole sensor, of which the images are a part; None for all of it

    def doubt(self) -> Doubt | None:
        """Whether the principal point suits the size: calibrations get copied to another resolution without scaling."""
        if self.sensor is not None:
            return self.sensor.doubt()
        centre = (float(self.matrix[0, 2]), float(self.matrix[1, 2]))
        off = max(abs(c - (n - 1) / 2) / n for c, n in zip(centre, self.size, strict=True))
        if off <= _ODD:
            return None
        likely = _size_with_centre(centre)
        other = f"; it suits images of {likely[0]}x{likely[1]}" if likely and likely != self.size else ""
        width, height = self.size
        text = (
            f"the principal point ({centre[0]:.1f}, {centre[1]:.1f}) is {off:.0%} off the middle of the"
            f" {width}x{height} images that it is said to be for{other}"
        )
        return Doubt(off > _WRONG, text)

    def scaled(self, size: tuple[int, int]) -> Calibration:
        """The calibration of the same images in another size (size: width and height of the scaled images, pixels)."""
        factors = [new / old for new, old in zip(size, self.size, strict=True)]
        if abs(factors[0] / factors[1] - 1) > 1 / min(*size, *self.size):
            raise SimjudgeError(
                f"a calibration for {self.size[0]}x{self.size[1]} cannot be scaled to {size[0]}x{size[1]}: "
                "another shape shows another part of the scene; calibrate at this size"
            )
        fx, fy = factors
        # The outer edges of the image coincide, not the centres of its corner pixels.
        shift = np.array([[fx, 0, (fx - 1) / 2], [0, fy, (fy - 1) / 2], [0, 0, 1]])
        return replace(self, size=size, matrix=shift @ self.matrix, projection=shift @ self.projection)

    def undistortion(self) -> Undistortion:
        """What turns images of this camera into those of the ideal camera P."""
        if self.model == "equirectangular":
            raise SimjudgeError(f"{self.name}: an equirectangular image sees all around; no pinhole image shows that")
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
    """An image's pixels, moved to where an ideal camera sees them; black where the real one saw nothing."""

    size: tuple[int, int]
    coarse: Any
    fine: Any

    def __call__(self, image: RgbImage) -> RgbImage:
        """The undistorted image; bilinear."""
        height, width = image.shape[:2]
        if (width, height) != self.size:
            raise SimjudgeError(f"an image of {width}x{height} with a calibration for {self.size[0]}x{self.size[1]}")
        return np.asarray(cv2.remap(image, self.coarse, self.fine, cv2.INTER_LINEAR), np.uint8)


def _size_with_centre(centre: tuple[float, float]) -> tuple[int, int] | None:
    """The usual image size whose middle is nearest to a point, if it is near at all."""
    off = {size: max(abs(2 * c + 1 - n) / n for c, n in zip(centre, size, strict=True)) for size in _SIZES}
    best = min(_SIZES, key=off.__getitem__)
    return best if off[best] <= _ODD else None


# Kalibr's distortion models (github.com/ethz-asl/kalibr, wiki: supported models) and ROS's names for them.
_KALIBR_MODELS = {"radtan": "plumb_bob", "equidistant": "equidistant", "none": "plumb_bob"}
# Of the fields of OpenCV's calibrations, those that are needed.
_OPENCV_PARTS = ("matrix", "distortion", "width", "height")
_LARGEST_SIDE = 20_000  # Pixels


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
    """The calibration of one camera ("cam0") of Kalibr's camchain.yaml; without a name, of the only one."""
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
            needed = [OPENCV_NAMES[part][0] for part in _OPENCV_PARTS]
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
    """The calibration in the first camera_info of a recording, of a topic or of the only one."""
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
    whole = picture_geometry(message, whole=True)
    if not matrix[0, 0] > 0 or not matrix[1, 1] > 0:
        raise SimjudgeError("camera_info tells no focal length: the camera is not calibrated")
    rectification = np.array(message.r).reshape(3, 3)
    name = message.header.frame_id or "camera"
    distortion = np.array(message.d, np.float64)
    model = message.distortion_model
    sensor = None
    if whole.size != size or np.any(whole.matrix != matrix):
        sensor = Calibration(name, whole.size, model, whole.matrix, distortion, rectification, whole.projection)
    return Calibration(name, size, model, matrix, distortion, rectification, projection, sensor)


def choose(found: Mapping[str, object], name: str | None, path: Path) -> str:
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
    """A calibration of a single camera: nothing to rectify, and K (3, 3) as the camera of the undistorted image."""
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


# Distortion models (sensor_msgs/distortion_models.hpp) and how many coefficients each may have.
COEFFICIENTS = {"plumb_bob": (4, 5), "rational_polynomial": (8, 12, 14), "equidistant": (4,), "fisheye": (4,)}
_OTHER_NAMES = {"fisheye": "equidistant"}
_WIDEST = 1_000_000  # Pixels; no image is wider


class MatrixFields(Fields):
    """A matrix, row by row."""

    model_config = ConfigDict(extra="ignore")

    data: Annotated[tuple[float, ...], NumberList()]
    """Its numbers; rows and cols, which ROS writes too, follow from the field's name."""

    def shaped(self, rows: int, columns: int) -> FloatArray:
        """The matrix (rows, columns: its shape, which suits the count of its numbers)."""
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
            counts = " or ".join(str(count) for count in allowed)
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
    """Read the calibration of a camera."""
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
