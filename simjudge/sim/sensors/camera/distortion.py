"""Round lens models: the radius at which a ray of a slope meets the sensor, and back. Pure functions on arrays.

The lenses here are round and centred: a pixel's distance from the principal point over the focal length, its *radius*,
depends on nothing but the *slope* of its ray, tan(angle off the axis). What is not round is in `opencv_distortion`.

* pinhole: radius = slope.
* fov: slope = t tan(radius) / tan(t) with t = tan(half the horizontal field). In half widths, r1 = radius / t and
  r2 = slope / t, that is r2 = tan(r1 t) / t scaled by t / tan(t), so that r1 = 1 stays at r2 = 1: the FOV lens of
  Chrono::Sensor (camera.cu, FOV_LENS) as Elmquist, Serban and Negrut describe it in "A sensor simulation framework
  for training and testing robots and autonomous vehicles". Newer sources of Chrono hold Devernay and Faugeras' form
  instead, which does not keep the field.
* radial: radius = slope (1 + k1 slope^2 + k2 slope^4 + k3 slope^6), Brown's model as in OpenCV and ROS (plumb_bob).
  Chrono inverts it by a truncated series (Drap and Lefevre); here it is inverted to the last bits, by Newton steps.
* equidistant: radius = angle (1 + k1 angle^2 + k2 angle^4 + k3 angle^6 + k4 angle^8), the fisheye model of Kannala and
  Brandt (2006) as in cv2.fisheye and ROS; angle in radians off the axis, up to pi.

A polynomial may turn back: beyond some slope the radius shrinks again, and OpenCV would show such a point a second
time. Here a lens ends where its polynomial turns: slopes and radii beyond are NaN, and a camera whose image reaches
there is refused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray

STEEPEST = 1e6  # The largest slope that is told from a ray across the axis: an angle of 89.9999 degrees
_TOLERANCE = 1e-14  # Of the inverse of the radial polynomial, relative
_STEPS = 100  # Newton steps at most; where the polynomial is flat they become halvings

Coefficients = tuple[float, float, float]  # k1, k2, k3 of the radial model


def radial_radius(slope: npt.ArrayLike, coefficients: Coefficients) -> FloatArray:
    """Radius of rays through a radial lens: any shape, no unit; NaN beyond where the polynomial turns."""
    return _evaluated(slope, coefficients, radial_end(coefficients))


def radial_slope(radius: npt.ArrayLike, coefficients: Coefficients) -> FloatArray:
    """The inverse of `radial_radius`; NaN where no ray arrives. Float64 of the same shape."""
    return _inverted(radius, coefficients, radial_end(coefficients))


def radial_end(coefficients: Coefficients) -> float:
    """The slope at which the polynomial turns back; 1e6, an angle of 89.9999 degrees, where it does not before."""
    return _end(coefficients, STEEPEST)


def equidistant_radius(angle: npt.ArrayLike, coefficients: Sequence[float]) -> FloatArray:
    """Radius of rays through an equidistant lens: any shape, no unit; NaN beyond where the polynomial turns."""
    return _evaluated(angle, coefficients, equidistant_end(coefficients))


def equidistant_angle(radius: npt.ArrayLike, coefficients: Sequence[float]) -> FloatArray:
    """The inverse of `equidistant_radius`; NaN where no ray arrives. Float64 of the same shape."""
    return _inverted(radius, coefficients, equidistant_end(coefficients))


def equidistant_end(coefficients: Sequence[float]) -> float:
    """The angle at which the polynomial turns back, radians; pi, straight behind, where it does not before."""
    return _end(coefficients, math.pi)


def fov_radius(slope: npt.ArrayLike, half_tangent: float) -> FloatArray:
    """Radius of rays through the FOV lens whose half horizontal field has the tangent `half_tangent` (below pi / 2)."""
    return np.arctan(np.asarray(slope, np.float64) * math.tan(half_tangent) / half_tangent)


def fov_slope(radius: npt.ArrayLike, half_tangent: float) -> FloatArray:
    """The inverse of `fov_radius`; NaN from a radius of pi / 2 on, where no ray arrives. Float64 of the same shape."""
    rho = np.asarray(radius, np.float64)
    with np.errstate(invalid="ignore"):
        return np.where(rho < math.pi / 2, half_tangent * np.tan(rho) / math.tan(half_tangent), np.nan)


def _evaluated(values: npt.ArrayLike, coefficients: Sequence[float], end: float) -> FloatArray:
    given = np.asarray(values, np.float64)
    return np.where(given <= end, _polynomial(given, coefficients), np.nan)


def _inverted(values: npt.ArrayLike, coefficients: Sequence[float], end: float) -> FloatArray:
    """Where the polynomial has a value, by Newton steps kept within a shrinking bracket; NaN beyond its end."""
    target = np.atleast_1d(np.asarray(values, np.float64))
    low, high = np.zeros_like(target), np.full_like(target, end)
    reached = target <= _polynomial(high, coefficients)
    found = np.clip(target, low, high)
    for _ in range(_STEPS):
        off = _polynomial(found, coefficients) - target
        if np.all(np.abs(off[reached]) <= _TOLERANCE * np.maximum(target[reached], 1)):
            break
        low, high = np.where(off < 0, found, low), np.where(off > 0, found, high)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = found - off / _derivative(found, coefficients)
        inside = (step > low) & (step < high)
        found = np.where(off == 0, found, np.where(inside, step, (low + high) / 2))
    return np.where(reached, found, np.nan).reshape(np.shape(values))


def _end(coefficients: Sequence[float], limit: float) -> float:
    """The first zero of the polynomial's derivative above 0; the limit, where there is none before it."""
    # The derivative's zeros in 1 / x^2: the leading 1 keeps vanishing coefficients harmless.
    roots = np.roots([1.0, *((2 * i + 3) * k for i, k in enumerate(coefficients))])
    real = [float(root.real) for root in roots if abs(root.imag) <= 1e-9 * abs(root) and root.real > limit**-2]
    return 1 / math.sqrt(max(real)) if real else limit


def _polynomial(x: npt.NDArray[Any], coefficients: Sequence[float]) -> FloatArray:
    """X (1 + k1 x^2 + k2 x^4 + ...), by Horner's rule."""
    square = x * x
    ratio: Any = 0.0
    for k in reversed(coefficients):
        ratio = square * (k + ratio)
    value: FloatArray = x * (1 + ratio)
    return value


def _derivative(x: npt.NDArray[Any], coefficients: Sequence[float]) -> FloatArray:
    square = x * x
    ratio: Any = 0.0
    for i in reversed(range(len(coefficients))):
        ratio = square * ((2 * i + 3) * coefficients[i] + ratio)
    value: FloatArray = 1 + ratio
    return value
