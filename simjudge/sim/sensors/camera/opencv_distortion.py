"""OpenCV's distortion model with all its terms, there and back: what plumb_bob and rational_polynomial of ROS say.

A straight image point (x, y) = (X / Z, Y / Z), r^2 = x^2 + y^2, becomes (docs.opencv.org, calib3d)

    g  = (1 + k1 r^2 + k2 r^4 + k3 r^6) / (1 + k4 r^2 + k5 r^4 + k6 r^6)
    x' = x g + 2 p1 x y + p2 (r^2 + 2 x^2) + s1 r^2 + s2 r^4
    y' = y g + p1 (r^2 + 2 y^2) + 2 p2 x y + s3 r^2 + s4 r^4

and, where the sensor is tilted by tx and ty, the point at which its ray meets the tilted sensor. D is ROS's and
OpenCV's: k1 k2 p1 p2 [k3 [k4 k5 k6 [s1 s2 s3 s4 [tx ty]]]].

Such a map may fold: OpenCV would show points from beyond the fold a second time. Here a lens ends, all around, at the
least slope at which its map folds (the determinant of its derivative reaches 0) or its radius turns back; points beyond
are NaN. OpenCV inverts by a fixed-point iteration that need not converge; here Newton steps do, or the result is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray

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
    """The least slope, in any direction, at which the map folds or turns back; infinite where it never does.

    Found to 0.025 degrees off the axis, on the safe side.
    """
    slopes = np.tan(np.linspace(0, math.pi / 2, _STEEPNESSES, endpoint=False)[1:])
    around = np.linspace(0, 2 * math.pi, _ANGLES, endpoint=False)
    across, down = np.cos(around), np.sin(around)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        a, b, c, d = _derivatives(slopes[:, None] * across, slopes[:, None] * down, terms)
        outwards = across * (a * across + b * down) + down * (c * across + d * down)
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
    ratio_by = (above_by - ratio * below_by) / below
    prism_x, prism_y = 2 * (s1 + 2 * s2 * square), 2 * (s3 + 2 * s4 * square)
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
    onto = np.array([[rotation[2, 2], 0, -rotation[0, 2]], [0, rotation[2, 2], -rotation[1, 2]], [0, 0, 1]])
    homography: FloatArray = onto @ rotation
    return homography


def _tilted(xy: FloatArray, homography: FloatArray) -> FloatArray:
    seen = np.concatenate([xy, np.ones((*xy.shape[:-1], 1))], -1) @ homography.T
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(seen[..., 2:] > 0, seen[..., :2] / seen[..., 2:], np.nan)


_compiled_bent = numba.njit(cache=True, nogil=True)(_bent)
_compiled_derivatives = numba.njit(cache=True, nogil=True)(_derivatives)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _solved(u: float, v: float, x: float, y: float, terms: Terms, end: float) -> tuple[float, float]:
    """The point that the map without the tilt brings to (u, v); NaN where none is found.

    Newton's steps from a start (x, y), each halved until it leads nearer.
    """
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


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _undistort_all(targets: FloatArray, terms: Terms, end: float, out: FloatArray) -> None:
    """Solve for every target (N, 2), from itself or, where that fails, in stages from the axis."""
    for i in range(len(targets)):
        u, v = targets[i, 0], targets[i, 1]
        length = math.hypot(u, v)
        inside = 1.0 if length <= 0.99 * end else 0.99 * end / length
        x, y = _solved(u, v, inside * u, inside * v, terms, end)
        if math.isnan(x) and not math.isnan(length):
            x, y = 0.0, 0.0
            for stage in range(1, _STAGES + 1):
                x, y = _solved(u * stage / _STAGES, v * stage / _STAGES, x, y, terms, end)
        out[i, 0], out[i, 1] = x, y
