"""Lenses: which way the light came that a pixel sees, and which pixel sees a point; made from what people know of them.

The camera's frame is REP 103's optical one: x right, y down, z forward, metres (any unit will do: only directions
count). Pixel coordinates are OpenCV's and ROS's: (0, 0) is the centre of the upper left pixel, the image's outer
edges are at -0.5 and width - 0.5. What the models are is said, and computed, in `distortion` (pinhole, fov, radial,
equidistant) and `opencv_distortion` (plumb_bob with tangential terms, rational_polynomial). An equirectangular lens
sees all around: columns are angles to the right, rows angles downwards, both from the optical axis.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import UsageError
from simjudge.sim.sensors.camera import distortion as opencv_distortion
from simjudge.sim.sensors.camera.calibration import Calibration
from simjudge.sim.sensors.camera.distortion import (
    Coefficients,
    equidistant_angle,
    equidistant_end,
    equidistant_radius,
    fov_radius,
    fov_slope,
    radial_end,
    radial_radius,
    radial_slope,
)

ROUNDING = 1e-9
"""Share by which such an image may be rounded to more than all around."""


def rays_around(angles: FloatArray) -> FloatArray:
    """Rays (..., 3) of angles (..., 2) to the right and downwards, radians; NaN beyond the poles."""
    right, down = angles[..., 0], angles[..., 1]
    rays = np.stack([np.sin(right) * np.cos(down), np.sin(down), np.cos(right) * np.cos(down)], -1)
    # Beyond a pole the formula gives a ray again, that of the other side.
    rays[np.abs(down) > math.pi / 2 * (1 + ROUNDING)] = np.nan
    return rays


def angles_around(xyz: FloatArray) -> FloatArray:
    """Angles (..., 2) to the right and downwards of points, radians; NaN at the camera's centre."""
    x, y, z = np.moveaxis(xyz, -1, 0)
    angles = np.stack([np.arctan2(x, z), np.arctan2(y, np.hypot(x, z))], -1)
    angles[~np.any(xyz, axis=-1)] = np.nan
    return angles


_TERMS = {
    "pinhole": (3,),
    "fov": (3,),
    "radial": (3,),
    "equidistant": (4,),
    "plumb_bob": (4, 5),
    "rational_polynomial": (8, 12, 14),
    "equirectangular": (3,),
}
"""How many coefficients each model may have; those of a pinhole, a fov and an equirectangular lens are 0."""
MODELS = tuple(_TERMS)
OPENCV_MODELS = ("plumb_bob", "rational_polynomial")
"""Models with all of OpenCV's terms: not round, unless their tangential, prism and tilt terms are 0."""
WIDEST_FIELD = {"fov": 2 * math.degrees(math.atan(math.pi / 2)), "equidistant": 360.0}
"""The horizontal field, degrees, that a model can just not reach; 180 where it is not said."""
_LARGEST_COEFFICIENT = 1e6
"""No lens has a larger coefficient."""
_FIT_LIMIT = 0.5
"""Pixels by which a camera_info may miss the rays at most."""


class CameraInfo(NamedTuple):
    """A calibration that stands for a lens.

    Attributes:
        calibration: K, D and model as sensor_msgs/CameraInfo has them.
        error: by how much it misses the lens's own pixels anywhere in the image, at most; 0 where it is exact.
    """

    calibration: Calibration
    error: float


@dataclass(frozen=True)
class Lens:
    """A lens before a sensor.

    Attributes:
        model: "pinhole", "fov", "radial", "equidistant", "plumb_bob", "rational_polynomial" or "equirectangular".
        size: width and height of the image, pixels.
        focal: pixels per unit of radius, across and down; of an equirectangular lens pixels per radian.
        centre: the principal point (x, y), pixels.
        coefficients: no unit. k1, k2, k3 of the radial model; D of the last three models, as ROS and OpenCV have it.
        half_tangent: tan of half the horizontal field, for the FOV model.
    """

    model: str
    size: tuple[int, int]
    focal: tuple[float, float]
    centre: tuple[float, float]
    coefficients: tuple[float, ...] = (0.0, 0.0, 0.0)
    half_tangent: float = 1.0

    def __post_init__(self) -> None:
        if self.model not in MODELS:
            raise UsageError(f"lens model {self.model!r}: one of {', '.join(MODELS)} is needed")
        if min(self.size) < 1:
            raise UsageError(f"an image of {self.size[0]}x{self.size[1]}: width and height must be 1 or more")
        numbers = (*self.focal, *self.centre, *self.coefficients, self.half_tangent)
        finite = all(math.isfinite(number) for number in numbers)
        if not finite or min(self.focal) <= 0 or max(map(abs, self.coefficients)) > _LARGEST_COEFFICIENT:
            raise UsageError(f"focal length {self.focal} px and coefficients {self.coefficients} are no lens's")
        if self.model in {"pinhole", "fov", "equirectangular"} and any(self.coefficients):
            raise UsageError(f"k1, k2, k3 belong to a radial lens, not to a {self.model} one")
        if len(self.coefficients) not in _TERMS[self.model]:
            counts = " or ".join(map(str, _TERMS[self.model]))
            raise UsageError(f"a {self.model} lens has {counts} coefficients; these are {len(self.coefficients)}")
        if self.model == "fov" and not 0 < self.half_tangent < math.pi / 2:
            raise UsageError(f"a fov lens reaches fields of view below {WIDEST_FIELD['fov']:.1f} degrees")
        if self.omnidirectional:
            self._check_sphere()
            return
        width, height = self.size
        corners = np.array([[x, y] for x in (-0.5, width - 0.5) for y in (-0.5, height - 0.5)])
        if not np.all(np.isfinite(self.rays_at(corners))):
            raise UsageError(self._blind_corners())

    @property
    def is_round(self) -> bool:
        """Whether a ray's radius depends on nothing but its slope."""
        return self.model not in OPENCV_MODELS and not self.omnidirectional

    @property
    def omnidirectional(self) -> bool:
        """Whether the lens sees all around, so that depth along its axis means nothing."""
        return self.model == "equirectangular"

    @property
    def wraps(self) -> bool:
        """Whether the image's right edge goes on at its left edge."""
        return self.omnidirectional and self.size[0] / self.focal[0] >= 2 * math.pi * (1 - ROUNDING)

    def slope(self, radius: npt.ArrayLike) -> FloatArray:
        """Tangent of the angle off the axis at a radius (both without unit); NaN where no ray arrives from ahead."""
        if self.model == "fov":
            return fov_slope(radius, self.half_tangent)
        if self.model == "equidistant":
            angle = equidistant_angle(radius, self.coefficients)
            return np.tan(np.where(angle < math.pi / 2, angle, np.nan))
        return radial_slope(radius, self._radial()) if self.model == "radial" else np.asarray(radius, np.float64)

    def radius(self, slope: npt.ArrayLike) -> FloatArray:
        """Radius of rays of a slope (both without unit); NaN where the lens does not take them in."""
        if self.model == "fov":
            return fov_radius(slope, self.half_tangent)
        if self.model == "equidistant":
            return equidistant_radius(np.arctan(slope), self.coefficients)
        return radial_radius(slope, self._radial()) if self.model == "radial" else np.asarray(slope, np.float64)

    def rays(self) -> FloatArray:
        """Unit ray through the centre of every pixel, optical frame: float64 (height, width, 3)."""
        width, height = self.size
        return self.rays_at(np.stack(np.meshgrid(np.arange(width), np.arange(height)), -1))

    def rays_at(self, pixels: npt.ArrayLike) -> FloatArray:
        """Unit rays, optical frame, of pixel coordinates (..., 2), whole or not: (..., 3); NaN where none arrives."""
        bent = (np.asarray(pixels, np.float64) - self.centre) / self.focal
        if self.model == "equidistant":
            return self._rays_by_angle(bent)
        if self.omnidirectional:
            return rays_around(bent)
        if self.is_round:
            # Slope over radius is one factor of both coordinates; at the axis both are 0, and any factor will do.
            radius = np.linalg.norm(bent, axis=-1)
            slope = self.slope(radius)
            straight = bent * np.divide(slope, radius, out=np.ones_like(radius), where=radius > 0)[..., None]
        else:
            straight = opencv_distortion.undistort(bent, self.coefficients)
        rays = np.concatenate([straight, np.ones((*bent.shape[:-1], 1))], -1)
        unit: FloatArray = rays / np.linalg.norm(rays, axis=-1, keepdims=True)
        return unit

    def project(self, points: npt.ArrayLike) -> FloatArray:
        """Pixel coordinates (..., 2) of points (..., 3) in the optical frame, also outside the image.

        NaN for those that the lens does not take in; for all lenses but the equidistant and the equirectangular one
        these are the points at or behind the camera's plane (z <= 0) too.
        """
        xyz = np.asarray(points, np.float64)
        if self.model == "equidistant":
            bent = self._bent_by_angle(xyz)
        elif self.omnidirectional:
            bent = angles_around(xyz)
        else:
            depth = xyz[..., 2:]
            ahead = np.divide(xyz[..., :2], depth, out=np.full_like(xyz[..., :2], np.nan), where=depth > 0)
            bent = self._bent_by_slope(ahead) if self.is_round else opencv_distortion.distort(ahead, self.coefficients)
        pixels: FloatArray = bent * np.array(self.focal) + np.array(self.centre)
        return pixels

    def _bent_by_slope(self, ahead: FloatArray) -> FloatArray:
        """Where a round lens shows (x / z, y / z), before focal length and principal point."""
        slope = np.linalg.norm(ahead, axis=-1)
        # At the axis 0 / 0 has the limit of the model.
        ratio = np.divide(self.radius(slope), slope, out=np.full_like(slope, self._ratio_at_axis()), where=slope > 0)
        bent: FloatArray = ahead * ratio[..., None]
        return bent

    def _rays_by_angle(self, bent: FloatArray) -> FloatArray:
        """Rays of an equidistant lens, which sees behind its own plane too."""
        radius = np.linalg.norm(bent, axis=-1)
        angle = equidistant_angle(radius, self.coefficients)
        # A unit ray by its angle: tangents would end at 90 degrees.
        aside = bent * np.divide(np.sin(angle), radius, out=np.ones_like(radius), where=radius > 0)[..., None]
        return np.concatenate([aside, np.cos(angle)[..., None]], -1)

    def _bent_by_angle(self, xyz: FloatArray) -> FloatArray:
        aside = np.linalg.norm(xyz[..., :2], axis=-1)
        radius = equidistant_radius(np.arctan2(aside, xyz[..., 2]), self.coefficients)
        ratio = np.divide(radius, aside, out=np.zeros_like(aside), where=aside > 0)
        bent: FloatArray = xyz[..., :2] * ratio[..., None]
        # Straight behind, no direction in the image is its own.
        bent[(aside == 0) & (xyz[..., 2] <= 0)] = np.nan
        return bent

    def horizontal_field(self) -> float:
        """The angle, degrees, between the rays at the middle of the image's left and right edge."""
        if self.omnidirectional:
            return math.degrees(self.size[0] / self.focal[0])
        edges = np.array([[-0.5, self.centre[1]], [self.size[0] - 0.5, self.centre[1]]])
        rays = self.rays_at(edges)
        left, right = (math.atan2(ray[0], ray[2]) for ray in rays)
        return math.degrees(right - left)

    def camera_info(self, name: str = "camera") -> CameraInfo:
        """The lens as ROS and OpenCV can say it.

        All but the FOV model are theirs exactly (pinhole and radial lenses as plumb_bob). Neither ROS nor OpenCV has
        the FOV model: it becomes the rational_polynomial that fits it best, and `error` says how well. Nor have they
        the equirectangular one: it is called by its name, and K has its centre and its pixels per radian.
        """
        if self.model == "fov":
            return self._rational_info(name)
        if self.omnidirectional:
            return CameraInfo(self._calibration(name, self.model, self.focal, np.zeros(0)), 0.0)
        if self.model == "equidistant" or not self.is_round:
            return CameraInfo(self._calibration(name, self.model, self.focal, np.array(self.coefficients)), 0.0)
        k1, k2, k3 = self._radial()
        return CameraInfo(self._calibration(name, "plumb_bob", self.focal, np.array([k1, k2, 0.0, 0.0, k3])), 0.0)

    def _rational_info(self, name: str) -> CameraInfo:
        """Least squares for ratio (1 + k4 s2 + k5 s4 + k6 s6) = 1 + k1 s2 + k2 s4 + k3 s6, s the slope."""
        width, height = self.size
        across = max(self.centre[0] + 0.5, width - 0.5 - self.centre[0]) / self.focal[0]
        down = max(self.centre[1] + 0.5, height - 0.5 - self.centre[1]) / self.focal[1]
        # To the farthest corner, without the axis, where radius over slope is 0 / 0.
        radius = np.linspace(0, math.hypot(across, down), 1001)[1:]
        slope = self.slope(radius)
        axis = self._ratio_at_axis()
        ratio = radius / slope / axis
        # Slopes scaled to 1: sixth powers of large ones would ruin the condition of the system.
        scale = float(slope[-1])
        powers = (slope / scale)[:, None] ** np.array([2, 4, 6])
        # Multiplied by the denominator the problem is linear; the error is measured afterwards, in pixels.
        solved = np.linalg.lstsq(np.hstack([powers, -ratio[:, None] * powers]), ratio - 1, rcond=None)[0]
        k = solved / np.tile(scale ** np.array([2.0, 4.0, 6.0]), 2)
        square = slope[:, None] ** np.array([2, 4, 6])
        fitted = axis * slope * (1 + square @ k[:3]) / (1 + square @ k[3:])
        error = float(np.max(np.abs(fitted - radius))) * max(self.focal)
        if not error <= _FIT_LIMIT:
            raise UsageError(
                f"a fov lens of {self.horizontal_field():.1f} degrees has no camera_info: the nearest"
                f" rational_polynomial misses it by {error:.2g} px in {width}x{height}; take a narrower field of view"
            )
        # The rational model is 1 at its axis, so that the FOV slope there goes into the focal length.
        focal = (self.focal[0] * axis, self.focal[1] * axis)
        return CameraInfo(
            self._calibration(name, "rational_polynomial", focal, np.array([*k[:2], 0, 0, k[2], *k[3:]])), error
        )

    def _calibration(self, name: str, model: str, focal: tuple[float, float], distortion: FloatArray) -> Calibration:
        matrix = np.array([[focal[0], 0, self.centre[0]], [0, focal[1], self.centre[1]], [0, 0, 1]])
        projection = np.hstack([matrix, np.zeros((3, 1))])
        return Calibration(name, self.size, model, matrix, distortion, np.eye(3), projection)

    def _radial(self) -> Coefficients:
        k1, k2, k3 = self.coefficients
        return k1, k2, k3

    def _check_sphere(self) -> None:
        """Refuse an image that goes around more than once, or beyond the poles."""
        (width, height), (fx, fy) = self.size, self.focal
        up, down = self.centre[1] + 0.5, height - 0.5 - self.centre[1]
        if width / fx > 2 * math.pi * (1 + ROUNDING) or max(up, down) / fy > math.pi / 2 * (1 + ROUNDING):
            across, high = math.degrees(width / fx), math.degrees(height / fy)
            raise UsageError(
                f"an equirectangular image of {width}x{height} with {fx:.4g} pixels a radian would be {across:.1f}"
                f" degrees wide and {high:.1f} high; 360 and 180 at most are needed, half of the height to each side"
            )

    def _ratio_at_axis(self) -> float:
        return math.tan(self.half_tangent) / self.half_tangent if self.model == "fov" else 1.0

    def _blind_corners(self) -> str:
        if self.model == "fov":
            size = f"{self.size[0]}x{self.size[1]}"
            return f"the corners of {size} see nothing through this fov lens; narrow its field of view"
        if self.model == "equidistant":
            end = equidistant_end(self.coefficients)
        elif self.is_round:
            end = math.atan(radial_end(self._radial()))
        else:
            end = math.atan(opencv_distortion.slope_end(opencv_distortion.whole(self.coefficients)))
        return (
            f"the {self.model} lens turns back {math.degrees(end):.1f} degrees off its axis, before the corners of"
            f" {self.size[0]}x{self.size[1]}: they would see nothing; narrow its field of view or correct its"
            " coefficients"
        )


def lens_with_field(
    model: str, size: tuple[int, int], field_of_view: float, coefficients: Sequence[float] = (0.0, 0.0, 0.0)
) -> Lens:
    """The centred lens with square pixels that sees `field_of_view` degrees from the left edge to the right edge.

    The field is what the lens sees, distortion included. Chrono's hFOV of a radial lens is not: it is the field of the
    pinhole of the same focal length (use `lens_with_focal_length` with width / 2 / tan(hFOV / 2)).

    Args:
        model: of a round lens: "pinhole", "fov", "radial" or "equidistant"; or "equirectangular".
        size: width and height, pixels.
        field_of_view: horizontal, degrees.
        coefficients: k1, k2, k3 of a radial lens, k1 to k4 of an equidistant one, no unit.
    """
    if model in OPENCV_MODELS:
        raise UsageError(f"a {model} lens is not the same to both sides: it is given by its focal length")
    if model == "equirectangular":
        if not 0 < field_of_view <= 360:
            raise UsageError(f"field of view {field_of_view} degrees: more than 0 and at most 360 are needed")
        return lens_with_focal_length(model, size, size[0] / math.radians(field_of_view), coefficients)
    widest = WIDEST_FIELD.get(model, 180.0)
    if not 0 < field_of_view < widest:
        raise UsageError(f"field of view {field_of_view} degrees: more than 0 and less than {widest:.4g} are needed")
    angle = math.radians(field_of_view / 2)
    tangent = math.tan(angle)
    if model == "equidistant":
        return _equidistant_with_field(size, angle, coefficients)
    radius = tangent
    if model == "radial":
        k1, k2, k3 = coefficients
        radius = float(radial_radius(tangent, (k1, k2, k3)))
        if not radius > 0:
            end = 2 * math.degrees(math.atan(radial_end((k1, k2, k3))))
            raise UsageError(f"field of view {field_of_view} degrees: the radial lens turns back at {end:.1f} degrees")
    # Pixel centres are whole numbers, so that the middle of the image is at (width - 1) / 2.
    focal, centre = size[0] / 2 / radius, ((size[0] - 1) / 2, (size[1] - 1) / 2)
    return Lens(model, size, (focal, focal), centre, tuple(coefficients), tangent)


def _equidistant_with_field(size: tuple[int, int], angle: float, coefficients: Sequence[float]) -> Lens:
    radius = float(equidistant_radius(angle, coefficients))
    if not radius > 0:
        end = 2 * math.degrees(equidistant_end(coefficients))
        raise UsageError(
            f"field of view {2 * math.degrees(angle):.4g} degrees: the equidistant lens turns back at {end:.1f} degrees"
        )
    return lens_with_focal_length("equidistant", size, size[0] / 2 / radius, coefficients)


def lens_with_focal_length(
    model: str, size: tuple[int, int], focal_length: float, coefficients: Sequence[float] = (0.0, 0.0, 0.0)
) -> Lens:
    """The centred lens with square pixels of a focal length, pixels (equirectangular: pixels per radian)."""
    if model == "fov":
        raise UsageError("a fov lens is given by its field of view, not by a focal length")
    width, height = size
    return Lens(model, size, (focal_length, focal_length), ((width - 1) / 2, (height - 1) / 2), tuple(coefficients))


def lens_from_calibration(calibration: Calibration) -> Lens:
    """The lens of a calibration, in the simplest equal model: pinhole, radial, or the calibration's own."""
    matrix, given = calibration.matrix, tuple(float(value) for value in calibration.distortion)
    if matrix[0, 1] != 0:
        raise UsageError(f"{calibration.name}: K has a skew of {matrix[0, 1]:g}; calibrate without skew")
    focal, centre = (float(matrix[0, 0]), float(matrix[1, 1])), (float(matrix[0, 2]), float(matrix[1, 2]))
    model, coefficients = calibration.model, given
    if model == "equirectangular":
        coefficients = (0.0, 0.0, 0.0)
    elif model != "equidistant" and not any(given):
        model, coefficients = "pinhole", (0.0, 0.0, 0.0)
    elif model == "plumb_bob" and not any(given[2:4]):
        model, coefficients = "radial", (*given[:2], *given[4:5], *(0.0,) * (5 - len(given)))
    try:
        return Lens(model, calibration.size, focal, centre, coefficients)
    except UsageError as error:
        raise UsageError(f"{calibration.name}: {error}") from error
