"""From bounding boxes to cones on the floor, by what driving needs of the camera: rays of pixels, pixels of points.

A box gives two estimates of a cone's distance. Its lower edge is where the cone stands on the floor, and its height is
that of the cone. The first estimate is sharper but depends on the camera's pitch, which changes when the car brakes;
the second does not. Each is weighted by its uncertainty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import BoolArray, FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import UsageError
from simjudge.detectors.detector import Detections
from simjudge.geometry.poses import Pose
from simjudge.sim.sensors.camera.calibration import Calibration
from simjudge.sim.sensors.camera.lens import lens_from_calibration

# In OpenCV 4, Python's undistortPoints takes no criteria, and this one does.
_undistort: Any = getattr(cv2, "undistortPointsIter", cv2.undistortPoints)
# OpenCV inverts a distortion in so many steps, or until a step is that small.
_STEPS = (cv2.TERM_CRITERIA_COUNT | cv2.TERM_CRITERIA_EPS, 100, 1e-12)
_NEAREST = 1e-6  # Points must be so far before the camera's plane, metres


class CameraModel(Protocol):
    """A lens as `sensors.camera.lens.Lens`: optical frame, pixel (0, 0) at the upper left pixel's centre."""

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the picture, pixels."""

    def rays_at(self, pixels: npt.ArrayLike) -> FloatArray:
        """Rays of pixels: unit vectors (..., 3) in the optical frame (pixels: pixel coordinates (..., 2))."""

    def project(self, points: npt.ArrayLike) -> FloatArray:
        """Pixels of points (points: points (..., 3) in the optical frame, metres)."""


class OpenCvCameraModel:
    """A camera whose calibration none of simjudge's lenses has, by OpenCV's formulas."""

    def __init__(self, calibration: Calibration) -> None:
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


_DISTANCES = np.geomspace(0.1, 50.0, 1000)  # Distances, metres, at which the angle that a cone fills is computed


@dataclass(frozen=True)
class ConeShape:
    """Shape of a cone; ART-1's cones are 8 x 8 x 7.7 cm."""

    radius: float = 0.04  # radius of the foot, metres
    height: float = 0.077  # metres


@dataclass(frozen=True)
class DetectionUncertainty:
    """How far a detector's boxes and the camera's pitch can be trusted."""

    min_score: float = 0.25  # boxes with a lower score do not count
    edge: float = 2.0  # a box nearer to the image's edge may be cut off, and does not count, pixels
    pixel_error: float = 0.7  # standard deviation of a box's edge, pixels
    tilt_error: float = 0.004  # standard deviation of the camera's pitch, radians
    farthest: float = 5.5  # cones farther away do not count, metres
    # Largest ratio between the distances by height and by lower edge, and between the widths of the box and of a cone
    # at that distance; a box beyond it does not count.
    disagreement: float = 1.6
    # Standard deviation of a position that boxes do not explain, metres: no cone is quite a cone.
    position_error: float = 0.02


@dataclass(frozen=True, repr=False)
class ConeObservations(ShortRepr):
    """N cones as one image shows them, in the frame of the camera's pose."""

    position: FloatArray  # x and y of the middle of the foot, float64 (N, 2), metres
    covariance: FloatArray  # of the positions, float64 (N, 2, 2), square metres
    class_id: IntArray  # int64 (N,)
    score: FloatArray  # float64 (N,), 0 to 1

    def __len__(self) -> int:
        return len(self.position)


def floor_points(view: CameraModel, camera: Pose, pixels: npt.ArrayLike) -> FloatArray:
    """Where rays of pixels (N, 2) meet the floor z = 0: float64 (N, 2), metres; NaN for rays that do not go down."""
    rays = view.rays_at(pixels) @ camera.rotation_matrix().T
    x, y, height = camera.position
    down = -rays[..., 2]
    reach = np.divide(height, down, out=np.full_like(down, np.nan), where=down > 0)
    points: FloatArray = np.array([x, y]) + rays[..., :2] * reach[..., None]
    return points


def locate_cones(
    found: Detections,
    view: CameraModel,
    camera: Pose,
    shape: ConeShape | None = None,
    uncertainty: DetectionUncertainty | None = None,
) -> ConeObservations:
    """Locate the detected cones on the floor, the plane z = 0 of the frame that the camera's pose is in."""
    shape, uncertainty = shape or ConeShape(), uncertainty or DetectionUncertainty()
    whole = _whole(found, view, uncertainty)
    box, class_id, score = found.box[whole], found.class_id[whole], found.score[whole]
    # Box coordinates have a pixel's edges at whole numbers, lens coordinates its centre.
    middle = (box[:, 0] + box[:, 2]) / 2 - 0.5
    low, high = np.stack([middle, box[:, 3] - 0.5], 1), np.stack([middle, box[:, 1] - 0.5], 1)
    foot = floor_points(view, camera, low)
    below_camera, height = np.array(camera.position[:2]), camera.position[2]
    away = foot - below_camera
    ground = np.linalg.norm(away, axis=1)
    bearing = away / ground[:, None]
    half = np.array([0.0, 0.5])
    pixel = _angle_between(view.rays_at(low - half), view.rays_at(low + half))
    # The lower edge is the near rim of the foot.
    from_floor = ground + shape.radius
    depression = height / (ground**2 + height**2)
    floor_error = np.hypot(pixel * uncertainty.pixel_error, uncertainty.tilt_error) / depression
    angle = _angle_between(view.rays_at(low), view.rays_at(high))
    from_height, slope = _distance_filling(angle, height, shape)
    height_error = np.sqrt(2) * pixel * uncertainty.pixel_error / slope
    share = floor_error**-2 / (floor_error**-2 + height_error**-2)
    distance = share * from_floor + (1 - share) * from_height
    along = np.hypot((floor_error**-2 + height_error**-2) ** -0.5, uncertainty.position_error)
    across = np.hypot(distance * pixel * uncertainty.pixel_error, uncertainty.position_error)
    sides = np.stack([box[:, ::2] - 0.5, np.repeat(low[:, 1:], 2, 1)], 2)
    wide = _angle_between(view.rays_at(sides[:, 0]), view.rays_at(sides[:, 1]))
    with np.errstate(invalid="ignore"):
        good = np.isfinite(distance) & (distance <= uncertainty.farthest)
        for ratio in (from_height / from_floor, wide * np.hypot(distance, height) / (2 * shape.radius)):
            good &= (ratio < uncertainty.disagreement) & (ratio > 1 / uncertainty.disagreement)
    axes = np.stack([bearing, np.stack([-bearing[:, 1], bearing[:, 0]], 1)], 2)
    spread = np.stack([along, across], 1)[:, None, :] * axes
    covariance = spread @ spread.transpose(0, 2, 1)
    position = below_camera + bearing * distance[:, None]
    return ConeObservations(position[good], covariance[good], class_id[good], score[good])


def filled_angle(distance: FloatArray, camera_height: float, shape: ConeShape) -> FloatArray:
    """The angle from the near rim of a cone's foot to its tip, seen from a height; it falls with distance (metres)."""
    to_rim = np.arctan2(camera_height, distance - shape.radius)
    to_tip = np.arctan2(camera_height - shape.height, distance)
    angle: FloatArray = to_rim - to_tip
    return angle


def _distance_filling(angle: FloatArray, camera_height: float, shape: ConeShape) -> tuple[FloatArray, FloatArray]:
    """The distances at which a cone fills angles, metres, and how much the angle falls there, radians a metre."""
    filled = filled_angle(_DISTANCES, camera_height, shape)
    # From high above, a cone below the camera fills less than one farther off.
    first = int(np.argmax(filled))
    filled, table = filled[first:], _DISTANCES[first:]
    distance = np.interp(angle, filled[::-1], table[::-1])
    return distance, np.interp(distance, table, -np.gradient(filled, table))


def _whole(found: Detections, view: CameraModel, uncertainty: DetectionUncertainty) -> BoolArray:
    """Boxes that show all of a thing, and are surely one."""
    width, height = view.size
    x0, y0, x1, y1 = found.box.T
    inside = (
        (x0 >= uncertainty.edge)
        & (x1 <= width - uncertainty.edge)
        & (y1 <= height - uncertainty.edge)
        & (y0 >= uncertainty.edge)
    )
    good: BoolArray = inside & (found.score >= uncertainty.min_score) & (x1 - x0 >= 1) & (y1 - y0 >= 1)
    return good


def _angle_between(one: FloatArray, other: FloatArray) -> FloatArray:
    """Angles between unit vectors, radians; exact for small ones."""
    angle: FloatArray = 2 * np.arcsin(np.clip(np.linalg.norm(one - other, axis=-1) / 2, 0, 1))
    return angle
