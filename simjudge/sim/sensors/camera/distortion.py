"""Lens models: where a ray meets the sensor, and back. Round ones are pure functions on arrays; OpenCV's others follow.

Most lenses here are round and centred: a pixel's distance from the principal point over the focal length, its *radius*,
depends on nothing but the *slope* of its ray, tan(angle off the axis).

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
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.numba_cache import njit

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
    # Up to its turn the polynomial grows, so that the value at the end is the largest there is.
    reached = target <= _polynomial(high, coefficients)
    found = np.clip(target, low, high)
    for _ in range(_STEPS):
        off = _polynomial(found, coefficients) - target
        if np.all(np.abs(off[reached]) <= _TOLERANCE * np.maximum(target[reached], 1)):
            break
        # The bracket shrinks at every step: where Newton leaves it, half of it is taken instead.
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


TERMS = 14  # Numbers of a whole D
_ANGLES = 180  # Directions around the axis in which a fold is looked for
_STEEPNESSES = 3600  # Angles off the axis, up to 90 degrees, at which a fold is looked for: every 0.025 degrees
# Of the inverse: how far the map of what was found may miss, relative to 1 or to the point's own size.
_POINT_TOLERANCE = 1e-12
_POINT_STEPS = 60  # Newton steps at most
_HALVINGS = 30  # Times that a Newton step is halved, at most, until it leads nearer
_STAGES = 16  # Stages in which a point that Newton's steps do not reach at once is approached from the axis

Terms = tuple[float, ...]  # D with all its 14 terms


def whole(distortion: Sequence[float]) -> Terms:
    """D with all its terms, those that it leaves out 0."""
    return (*map(float, distortion), *(0.0,) * (TERMS - len(distortion)))


def distort(straight: npt.ArrayLike, distortion: Sequence[float]) -> FloatArray:
    """Where a lens shows points; NaN beyond where its map folds. Float64 (..., 2)."""
    xy = np.asarray(straight, np.float64)
    terms = whole(distortion)
    x, y = xy[..., 0], xy[..., 1]
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        beyond = ~(np.hypot(x, y) <= slope_end(terms))
        bent = _tilted(np.stack(_bent(x, y, terms), -1), _tilt(terms))
    bent[beyond] = np.nan
    return bent


def undistort(bent: npt.ArrayLike, distortion: Sequence[float]) -> FloatArray:
    """The inverse of `distort`; NaN where no ray arrives (bent: float (..., 2)). Float64 (..., 2)."""
    given = np.asarray(bent, np.float64)
    terms = whole(distortion)
    target = _tilted(given.reshape(-1, 2), np.asarray(np.linalg.inv(_tilt(terms)), np.float64))
    found = np.empty_like(target)
    _undistort_all(np.ascontiguousarray(target), terms, slope_end(terms), found)
    return found.reshape(given.shape)


@lru_cache(maxsize=16)
def slope_end(terms: Terms) -> float:
    """The least slope, in any direction, at which the map folds or turns back (to 0.025 degrees); inf: nowhere."""
    # Even in angle: even in slope, nearly all would lie at the rim.
    slopes = np.tan(np.linspace(0, math.pi / 2, _STEEPNESSES, endpoint=False)[1:])
    around = np.linspace(0, 2 * math.pi, _ANGLES, endpoint=False)
    across, down = np.cos(around), np.sin(around)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        a, b, c, d = _derivatives(slopes[:, None] * across, slopes[:, None] * down, terms)
        # Directional derivative along the ray from the centre: the radius must go on growing.
        outwards = across * (a * across + b * down) + down * (c * across + d * down)
        # A map folds where the determinant of its derivative changes sign.
        sound = np.all((a * d - b * c > 0) & (outwards > 0), axis=1)
    if sound.all():
        return math.inf
    first = int(np.argmin(sound))
    return float(slopes[first - 1]) if first else 0.0


def _bent(x: Any, y: Any, terms: Terms) -> tuple[Any, Any]:
    """The map without the tilt; of numbers, and of arrays."""
    k1, k2, p1, p2, k3, k4, k5, k6, s1, s2, s3, s4, _, _ = terms
    square = x * x + y * y
    ratio = (1 + square * (k1 + square * (k2 + square * k3))) / (1 + square * (k4 + square * (k5 + square * k6)))
    return (
        x * ratio + 2 * p1 * x * y + p2 * (square + 2 * x * x) + square * (s1 + square * s2),
        y * ratio + p1 * (square + 2 * y * y) + 2 * p2 * x * y + square * (s3 + square * s4),
    )


def _derivatives(x: Any, y: Any, terms: Terms) -> tuple[Any, Any, Any, Any]:
    """Of the map without the tilt: x' by x and by y, y' by x and by y; of numbers, and of arrays."""
    k1, k2, p1, p2, k3, k4, k5, k6, s1, s2, s3, s4, _, _ = terms
    square = x * x + y * y
    above, below = 1 + square * (k1 + square * (k2 + square * k3)), 1 + square * (k4 + square * (k5 + square * k6))
    ratio = above / below
    above_by, below_by = k1 + square * (2 * k2 + square * 3 * k3), k4 + square * (2 * k5 + square * 3 * k6)
    # Quotient rule, by the square of the radius; the chain rule gives 2 x and 2 y below.
    ratio_by = (above_by - ratio * below_by) / below
    prism_x, prism_y = 2 * (s1 + 2 * s2 * square), 2 * (s3 + 2 * s4 * square)
    # x by y and y by x are one but for the prism terms: the rest is a gradient.
    both = 2 * x * y * ratio_by + 2 * p1 * x + 2 * p2 * y
    return (
        ratio + 2 * x * x * ratio_by + 2 * p1 * y + 6 * p2 * x + prism_x * x,
        both + prism_x * y,
        both + prism_y * x,
        ratio + 2 * y * y * ratio_by + 6 * p1 * y + 2 * p2 * x + prism_y * y,
    )


def _tilt(terms: Terms) -> FloatArray:
    """The homography of a tilted sensor, (3, 3); that of a straight one changes nothing."""
    tx, ty = terms[12], terms[13]
    about_x = np.array([[1, 0, 0], [0, math.cos(tx), math.sin(tx)], [0, -math.sin(tx), math.cos(tx)]])
    about_y = np.array([[math.cos(ty), 0, -math.sin(ty)], [0, 1, 0], [math.sin(ty), 0, math.cos(ty)]])
    rotation = about_y @ about_x
    # Projects the tilted sensor back onto the plane z = 1 along the rays, as OpenCV has it.
    onto = np.array([[rotation[2, 2], 0, -rotation[0, 2]], [0, rotation[2, 2], -rotation[1, 2]], [0, 0, 1]])
    homography: FloatArray = onto @ rotation
    return homography


def _tilted(xy: FloatArray, homography: FloatArray) -> FloatArray:
    seen = np.concatenate([xy, np.ones((*xy.shape[:-1], 1))], -1) @ homography.T
    with np.errstate(invalid="ignore", divide="ignore"):
        # Behind the tilted plane there is no picture.
        return np.where(seen[..., 2:] > 0, seen[..., :2] / seen[..., 2:], np.nan)


_compiled_bent = njit(cache=True, nogil=True)(_bent)
_compiled_derivatives = njit(cache=True, nogil=True)(_derivatives)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _solved(u: float, v: float, x: float, y: float, terms: Terms, end: float) -> tuple[float, float]:
    """The point that the map without the tilt brings to (u, v), by halved Newton steps from (x, y); NaN for none."""
    bent = _compiled_bent(x, y, terms)
    miss_x, miss_y = bent[0] - u, bent[1] - v
    miss = math.hypot(miss_x, miss_y)
    allowed = _POINT_TOLERANCE * max(math.hypot(u, v), 1.0)
    for _ in range(_POINT_STEPS):
        if not miss > allowed:
            break
        a, b, c, d = _compiled_derivatives(x, y, terms)
        determinant = a * d - b * c
        if determinant == 0:
            break
        # The inverse of a 2 x 2 matrix, written out.
        step_x, step_y = (d * miss_x - b * miss_y) / determinant, (a * miss_y - c * miss_x) / determinant
        nearer = False
        for _ in range(_HALVINGS):
            there_x, there_y = x - step_x, y - step_y
            bent = _compiled_bent(there_x, there_y, terms)
            length = math.hypot(bent[0] - u, bent[1] - v)
            nearer = length < miss and math.hypot(there_x, there_y) <= end
            if nearer:
                x, y, miss_x, miss_y, miss = there_x, there_y, bent[0] - u, bent[1] - v, length
                break
            step_x, step_y = step_x / 2, step_y / 2
        if not nearer:
            break
    if miss <= allowed and math.hypot(x, y) <= end:
        return x, y
    return math.nan, math.nan


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _undistort_all(targets: FloatArray, terms: Terms, end: float, out: FloatArray) -> None:
    """Solve for every target (N, 2), from itself or, where that fails, in stages from the axis."""
    for i in range(len(targets)):
        u, v = targets[i, 0], targets[i, 1]
        length = math.hypot(u, v)
        # A start just short of the fold: beyond it Newton steps lead to the wrong branch.
        inside = 1.0 if length <= 0.99 * end else 0.99 * end / length
        x, y = _solved(u, v, inside * u, inside * v, terms, end)
        if math.isnan(x) and not math.isnan(length):
            x, y = 0.0, 0.0
            for stage in range(1, _STAGES + 1):
                # A homotopy along the ray: each solution is a start close to the next one.
                x, y = _solved(u * stage / _STAGES, v * stage / _STAGES, x, y, terms, end)
        out[i, 0], out[i, 1] = x, y
