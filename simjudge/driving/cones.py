"""From boxes to cones on the floor, by the camera's model.

A box tells the distance of a cone twice: its lower edge is where the cone stands on the floor, and its height is the
cone's own. The first is the sharper one but leans on the camera's pitch, which changes when the car brakes; both
together, weighed by what a pixel's error does to them, are better than either.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simjudge.core.frames import BoolArray, FloatArray, IntArray
from simjudge.driving.camera_model import CameraModel
from simjudge.geometry.poses import Pose
from simjudge.perception.detector import Detections

_TABLE = np.geomspace(0.1, 50.0, 1000)
"""Distances, metres, at which the angle that a cone fills is worked out."""


@dataclass(frozen=True)
class ConeShape:
    """A cone: radius of its foot and height, metres (ART-1's: 8 x 8 x 7.7 cm)."""

    radius: float = 0.04
    height: float = 0.077


@dataclass(frozen=True)
class DetectionUncertainty:
    """What is believed of a detector's boxes.

    Attributes:
        min_score: boxes below do not count.
        edge: pixels; a box that comes so close to the picture's edge may be cut off, and does not count.
        pixel_error: standard deviation of a box's edge, pixels.
        tilt_error: standard deviation of the camera's pitch, radians.
        farthest: metres beyond which a cone does not count.
        disagreement: how many times farther (or nearer) the box's height may put the cone than its lower edge, and how
            many times wider (or narrower) than a cone there the box may be.
        place_error: standard deviation of a place that no pixel is to blame for, metres: no cone is quite a cone.
    """

    min_score: float = 0.25
    edge: float = 2.0
    pixel_error: float = 0.7
    tilt_error: float = 0.004
    farthest: float = 5.5
    disagreement: float = 1.6
    place_error: float = 0.02


@dataclass(frozen=True)
class ConeObservations:
    """N cones as one picture shows them, in the frame that the camera's pose was given in.

    Attributes:
        position: float64 (N, 2), x and y of the middle of the foot, metres.
        covariance: float64 (N, 2, 2), square metres.
        class_id: int64 (N,).
        score: float64 (N,).
    """

    position: FloatArray
    covariance: FloatArray
    class_id: IntArray
    score: FloatArray

    def __len__(self) -> int:
        """The number of cones."""
        return len(self.position)


def floor_points(view: CameraModel, camera: Pose, pixels: npt.ArrayLike) -> FloatArray:
    """Where the rays of pixels (lens coordinates, (N, 2)) meet the floor, the plane z = 0: float64 (N, 2), metres.

    Args:
        view: bends the rays.
        camera: pose of the optical frame in a frame whose plane z = 0 is the floor.
        pixels: the centre of the upper left pixel is (0, 0).

    Returns:
        NaN for rays that do not go down.
    """
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
    sight: DetectionUncertainty | None = None,
) -> ConeObservations:
    """Where the detected cones stand.

    Args:
        found: boxes, continuous pixels whose edges are whole numbers.
        view: the camera's lens.
        camera: pose of the optical frame in a frame whose plane z = 0 is the floor: base_link, if the car stands
            level, or the odometry's frame.
        shape: of the cones.
        sight: what is believed of the boxes.
    """
    shape, sight = shape or ConeShape(), sight or DetectionUncertainty()
    whole = _whole(found, view, sight)
    box, class_id, score = found.box[whole], found.class_id[whole], found.score[whole]
    # Box coordinates have a pixel's edges at whole numbers, lens coordinates its centre.
    middle = (box[:, 0] + box[:, 2]) / 2 - 0.5
    low, high = np.stack([middle, box[:, 3] - 0.5], 1), np.stack([middle, box[:, 1] - 0.5], 1)
    foot = floor_points(view, camera, low)
    eye, height = np.array(camera.position[:2]), camera.position[2]
    away = foot - eye
    ground = np.linalg.norm(away, axis=1)
    bearing = away / ground[:, None]
    pixel = _pixel_angle(view, low)
    # The lower edge is the near rim of the foot.
    from_floor = ground + shape.radius
    depression = height / (ground**2 + height**2)
    floor_error = np.hypot(pixel * sight.pixel_error, sight.tilt_error) / depression
    angle = _angle_between(view.rays_at(low), view.rays_at(high))
    from_height, slope = _distance_filling(angle, height, shape)
    height_error = np.sqrt(2) * pixel * sight.pixel_error / slope
    share = floor_error**-2 / (floor_error**-2 + height_error**-2)
    distance = share * from_floor + (1 - share) * from_height
    along = np.hypot((floor_error**-2 + height_error**-2) ** -0.5, sight.place_error)
    across = np.hypot(distance * pixel * sight.pixel_error, sight.place_error)
    sides = np.stack([box[:, ::2] - 0.5, np.repeat(low[:, 1:], 2, 1)], 2)
    wide = _angle_between(view.rays_at(sides[:, 0]), view.rays_at(sides[:, 1]))
    with np.errstate(invalid="ignore"):
        good = np.isfinite(distance) & (distance <= sight.farthest)
        for ratio in (from_height / from_floor, wide * np.hypot(distance, height) / (2 * shape.radius)):
            good &= (ratio < sight.disagreement) & (ratio > 1 / sight.disagreement)
    rotate_points = np.stack([bearing, np.stack([-bearing[:, 1], bearing[:, 0]], 1)], 2)
    spread = np.stack([along, across], 1)[:, None, :] * rotate_points
    covariance = spread @ spread.transpose(0, 2, 1)
    position = eye + bearing * distance[:, None]
    return ConeObservations(position[good], covariance[good], class_id[good], score[good])


def filled_angle(distance: FloatArray, eye_height: float, shape: ConeShape) -> FloatArray:
    """The angle, radians, from the near rim of a cone's foot to its tip, seen from a height: falls with distance.

    Args:
        distance: horizontal, from the eye to the cone's axis, metres, more than the foot's radius.
        eye_height: metres above the floor.
        shape: of the cone.
    """
    to_rim = np.arctan2(eye_height, distance - shape.radius)
    to_tip = np.arctan2(eye_height - shape.height, distance)
    angle: FloatArray = to_rim - to_tip
    return angle


def _distance_filling(angle: FloatArray, eye_height: float, shape: ConeShape) -> tuple[FloatArray, FloatArray]:
    """The distances at which a cone fills angles, metres, and by how much the angle falls there a metre."""
    filled = filled_angle(_TABLE, eye_height, shape)
    # From high above, a cone below the camera fills less than one farther off.
    first = int(np.argmax(filled))
    filled, table = filled[first:], _TABLE[first:]
    distance = np.interp(angle, filled[::-1], table[::-1])
    return distance, np.interp(distance, table, -np.gradient(filled, table))


def _whole(found: Detections, view: CameraModel, sight: DetectionUncertainty) -> BoolArray:
    """Boxes that show all of a thing, and are surely one."""
    width, height = view.size
    x0, y0, x1, y1 = found.box.T
    inside = (x0 >= sight.edge) & (x1 <= width - sight.edge) & (y1 <= height - sight.edge) & (y0 >= sight.edge)
    good: BoolArray = inside & (found.score >= sight.min_score) & (x1 - x0 >= 1) & (y1 - y0 >= 1)
    return good


def _pixel_angle(view: CameraModel, pixels: FloatArray) -> FloatArray:
    """The angle between rays one pixel apart, up and down, radians."""
    half = np.array([0.0, 0.5])
    return _angle_between(view.rays_at(pixels - half), view.rays_at(pixels + half))


def _angle_between(one: FloatArray, other: FloatArray) -> FloatArray:
    """Angles between unit vectors, radians; exact for small ones."""
    angle: FloatArray = 2 * np.arcsin(np.clip(np.linalg.norm(one - other, axis=-1) / 2, 0, 1))
    return angle
