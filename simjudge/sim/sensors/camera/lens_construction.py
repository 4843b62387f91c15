"""Lenses from what people know of them: a field of view, a focal length, a calibration."""

from __future__ import annotations

import math
from collections.abc import Sequence

from simjudge.core.errors import UsageError
from simjudge.sim.sensors.camera.calibration import Calibration
from simjudge.sim.sensors.camera.distortion import equidistant_end, equidistant_radius, radial_end, radial_radius
from simjudge.sim.sensors.camera.lens import OPENCV_MODELS, WIDEST_FIELD, Lens


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
    """The centred lens with square pixels of a focal length, pixels (equirectangular: pixels per radian).

    Args:
        size: width and height, pixels.
        focal_length: pixels.
    """
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
