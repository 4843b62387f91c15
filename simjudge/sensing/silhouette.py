"""How many pixels a thing would cover if nothing stood before it and the picture had no edges.

The pixels of a picture go on beyond its edges, with rays through the same lens, as far as the lens takes rays in and
the view does not exceed 80 degrees to either side, up or down. What lies behind the camera's plane covers nothing.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache

import numba
import numpy as np
import numpy.typing as npt

from simjudge.frames import FloatArray, IntArray
from simjudge.poses import Pose
from simjudge.sensing.lens import Lens
from simjudge.world.scene.model import Mesh

WIDEST = math.tan(math.radians(80))
"""Slope of the rays at which an unlimited picture ends."""
_MOST = 1_000_000
"""Pixels that are looked at, about; of larger things every other pixel, or every third, ... of every such row."""
_MARGIN = 1.0
_SLOPES = 4001
_LENSES = 2
_kept: OrderedDict[Lens, FloatArray] = OrderedDict()


def pixels_alone(parts: Sequence[tuple[Mesh, Pose]], camera: Pose, lens: Lens) -> int:
    """Pixels whose centre's ray hits a thing that is alone in the world, on a picture without edges.

    Exact up to about a million pixels around the thing; of larger ones every n-th pixel of every n-th row is looked at.

    Args:
        parts: the thing's meshes with their poses in the world.
        camera: pose of the optical frame in the world.
        lens: bends the rays.
    """
    corners = np.concatenate([camera.to_body(pose.to_world(mesh.vertices))[mesh.faces] for mesh, pose in parts])
    box = _boxes(np.ascontiguousarray(corners), lens)
    known = box[:, 0] <= box[:, 2]
    corners, box = np.ascontiguousarray(corners[known]), box[known]
    if not len(box):
        return 0
    low, high = box[:, :2].min(0), box[:, 2:].max(0)
    every = math.ceil(math.sqrt(float(np.prod(high - low + 1)) / _MOST))
    box = np.concatenate([-((low - box[:, :2]) // every), (box[:, 2:] - low) // every], 1)
    return every**2 * int(_covered(_rays(lens, low, high, every), corners, box))


def _boxes(corners: FloatArray, lens: Lens) -> IntArray:
    """Pixels in which triangles (F, 3, 3) may be seen: first and last column and row, int64 (F, 4); first > last: none.

    A triangle's edges are straight in slopes (x / z, y / z). A map of slopes to pixels that bends by no more than b
    leaves the box around the corners' pixels by no more than b L^2 / 6, with L the longest edge: the error of linear
    interpolation over a triangle within a circle of radius L / sqrt(3).
    """
    polygons, count = _clipped(corners, WIDEST)
    seen = np.arange(polygons.shape[1]) < count[:, None]
    longest = np.hypot(*(_span(polygons[:, :, axis], seen) for axis in (0, 1)))
    end, bend = _bend(lens)
    slope = np.linalg.norm(polygons, axis=-1)
    shrunk = np.minimum(1.0, end / np.maximum(slope, 1e-12))[..., None]
    pixels = lens.project(np.concatenate([polygons * shrunk, np.ones((*slope.shape, 1))], -1))
    margin = _MARGIN + max(lens.focal) * bend * longest**2 / 6
    low = np.where(seen[..., None], pixels, np.inf).min(1) - margin[:, None]
    high = np.where(seen[..., None], pixels, -np.inf).max(1) + margin[:, None]
    reach = _reach(lens, end)
    none = count == 0
    low, high = (np.clip(np.where(none[:, None], 0, each), reach[:2], reach[2:]) for each in (low, high))
    box = np.concatenate([np.floor(low), np.ceil(high)], 1).astype(np.int64)
    box[none] = (0, 0, -1, -1)
    return box


def _span(values: FloatArray, seen: npt.NDArray[np.bool_]) -> FloatArray:
    """Largest less smallest of the values seen in each row; 0 where there are none."""
    span = np.where(seen, values, -np.inf).max(1) - np.where(seen, values, np.inf).min(1)
    return np.asarray(np.maximum(span, 0.0), np.float64)


@lru_cache(maxsize=8)
def _bend(lens: Lens) -> tuple[float, float]:
    """The largest slope that counts, and the most by which the map of slopes to radii bends (its second derivative).

    Slopes beyond the end, where a lens has one, count as the end.
    """
    slope = np.linspace(0, WIDEST * math.sqrt(2), _SLOPES)[1:]
    radius = lens.radius(slope)
    known = np.isfinite(radius)
    slope, radius = slope[known], radius[known]
    along = np.gradient(np.gradient(radius, slope), slope)
    across = np.gradient(radius / slope, slope)
    beyond = 0.0 if known.all() else 2 * radius[-1] / slope[-1] ** 2
    return float(slope[-1]), max(float(np.max(np.abs(along) + 2 * np.abs(across))), float(beyond))


def _reach(lens: Lens, end: float) -> FloatArray:
    """The pixels of an unlimited picture: first column and row, last column and row."""
    radius = float(lens.radius(end))
    centre, ends = np.array(lens.centre), radius * np.array(lens.focal)
    reach: FloatArray = np.concatenate([np.floor(centre - ends), np.ceil(centre + ends)])
    return reach


def _rays(lens: Lens, low: IntArray, high: IntArray, every: int) -> FloatArray:
    """Rays (h, w, 3) through the centres of every n-th pixel from `low` to `high`, both (x, y) and included."""
    inside = (low >= 0).all() and (high < lens.size).all()
    if inside and every == 1:
        if lens not in _kept:
            _kept[lens] = lens.rays()
            while len(_kept) > _LENSES:
                _kept.popitem(last=False)
        return np.ascontiguousarray(_kept[lens][low[1] : high[1] + 1, low[0] : high[0] + 1])
    x, y = np.arange(low[0], high[0] + 1, every), np.arange(low[1], high[1] + 1, every)
    rays = lens.rays_at(np.stack(np.meshgrid(x, y), -1))
    beyond = np.abs(rays[..., :2]).max(-1) > WIDEST * rays[..., 2]
    rays[beyond] = np.nan
    return rays


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _clipped(corners: FloatArray, widest: float) -> tuple[FloatArray, IntArray]:
    """Triangles cut to the pyramid |x| <= w z, |y| <= w z (Sutherland and Hodgman, 1974).

    Returns:
        Slopes (x / z, y / z) of the polygons' corners, (F, 7, 2), and how many there are of each.
    """
    slopes = np.zeros((len(corners), 7, 2))
    count = np.zeros(len(corners), np.int64)
    now, cut = np.zeros((8, 3)), np.zeros((8, 3))
    for i in range(len(corners)):
        n = 3
        now[:3] = corners[i]
        for plane in range(4):
            axis, sign = plane // 2, 1.0 - 2.0 * (plane % 2)
            m = 0
            for k in range(n):
                here, there = now[k], now[(k + 1) % n]
                a, b = widest * here[2] - sign * here[axis], widest * there[2] - sign * there[axis]
                if a >= 0:
                    cut[m] = here
                    m += 1
                if (a > 0 and b < 0) or (a < 0 and b > 0):
                    cut[m] = here + (a / (a - b)) * (there - here)
                    m += 1
            now[:m] = cut[:m]
            n = m
        for k in range(n):
            if now[k, 2] > 0:
                slopes[i, count[i]] = now[k, :2] / now[k, 2]
                count[i] += 1
    return slopes, count


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _covered(rays: FloatArray, corners: FloatArray, box: IntArray) -> int:
    """Pixels whose ray hits a triangle (Moeller and Trumbore, 1997), each triangle tried within its box."""
    hit = np.zeros(rays.shape[:2], np.uint8)
    for i in range(len(corners)):
        ax, ay, az = corners[i, 0]
        ux, uy, uz = corners[i, 1, 0] - ax, corners[i, 1, 1] - ay, corners[i, 1, 2] - az
        vx, vy, vz = corners[i, 2, 0] - ax, corners[i, 2, 1] - ay, corners[i, 2, 2] - az
        # The rays start at the origin, so that s = -a, and s x u does not depend on the ray.
        qx, qy, qz = uy * az - uz * ay, uz * ax - ux * az, ux * ay - uy * ax
        reach = vx * qx + vy * qy + vz * qz
        for y in range(box[i, 1], box[i, 3] + 1):
            for x in range(box[i, 0], box[i, 2] + 1):
                if hit[y, x]:
                    continue
                dx, dy, dz = rays[y, x]
                px, py, pz = dy * vz - dz * vy, dz * vx - dx * vz, dx * vy - dy * vx
                determinant = ux * px + uy * py + uz * pz
                if not abs(determinant) > 1e-300:  # also where the ray is NaN
                    continue
                inverse = 1 / determinant
                b1 = -(ax * px + ay * py + az * pz) * inverse
                b2 = (dx * qx + dy * qy + dz * qz) * inverse
                if b1 >= 0 and b2 >= 0 and b1 + b2 <= 1 and reach * inverse > 0:
                    hit[y, x] = 1
    covered: int = hit.sum()
    return covered
