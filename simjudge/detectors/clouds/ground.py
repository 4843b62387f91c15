"""Ground in a cloud: one plane, by RANSAC and then least squares, or Patchwork++ for slopes, kerbs and ramps.

RANSAC (Fischler and Bolles, Communications of the ACM 24(6), 1981) tries planes through three points and keeps the one
with the most points near it whose normals are near its own. The plane of least squares through these points replaces
it, and is fitted again until the points stay the same. Ground is what lies near the plane with a normal near its own,
and what lies so near that normals do not count: at the foot of an object no normal can be trusted, because some of the
points around belong to the object.

Patchwork++ fits planes to patches around the lidar: Lee, Lim and Myung, Patchwork++: Fast and Robust Ground
Segmentation Solving Partial Under-Segmentation Using 3D Point Cloud, IROS 2022; the authors' own library.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import BoolArray, FloatArray, ShortRepr
from simjudge.core.errors import UsageError
from simjudge.core.installed import install_command
from simjudge.core.numba_cache import njit
from simjudge.core.processes import silent_output

_MOST_FITS = 10
_NO_CONTACT = -1.0


@dataclass(frozen=True, eq=False, repr=False)
class GroundPlane(ShortRepr):
    """A plane n . p + offset = 0."""

    normal: FloatArray  # float64 (3,), of length 1, upwards
    offset: float  # metres
    ground: BoolArray  # bool (N,), the points that lie near it, with a normal near its own

    def height(self, points: FloatArray) -> FloatArray:
        """How far points lie above the plane, metres (points (N, 3))."""
        above: FloatArray = points @ self.normal + self.offset
        return above

    def z(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """The plane's z at places (x, y (N,), metres)."""
        found: FloatArray = -(self.normal[0] * x + self.normal[1] * y + self.offset) / self.normal[2]
        return found


def fit_ground_plane(
    points: FloatArray,
    normals: FloatArray,
    *,
    distance: float,
    contact: float,
    angle_deg: float,
    slope_deg: float,
    trials: int,
    least: float,
    seed: int,
) -> GroundPlane | None:
    """Find the plane of the ground.

    `points`: float64 (N, 3), metres; `normals` (N, 3), of length 1, in either direction; NaN where there is none: there
    the distance alone decides; `distance`: how far ground lies from the plane, metres; `contact`: points so near to the
    plane are ground whatever their normals, metres; `angle_deg`: how far a point's normal may turn from the plane's,
    degrees; `slope_deg`: how far the plane's normal may turn from the z axis, degrees; `least`: share of the points
    that the plane holds at least, with normals near its own. Returns the plane; None where none holds enough points.
    """
    # In the search normals always count: a slab through walls holds points enough, but no ground.
    limits = (distance, _NO_CONTACT, math.cos(math.radians(angle_deg)), math.cos(math.radians(slope_deg)))
    # Points of walls are not tried: no plane of theirs is ground.
    upright = math.cos(math.radians(min(angle_deg + slope_deg, 90.0)))
    candidates = np.flatnonzero(~(np.abs(normals[:, 2]) < upright))
    if len(candidates) < 3:
        return None
    drawn = candidates[np.random.default_rng(seed).integers(0, len(candidates), (trials, 3))]
    normal, offset, count = best_plane(points, normals, drawn, limits)
    needed = max(3, least * len(points))
    if count < needed:
        return None
    ground: BoolArray = near_plane(points, normals, normal, offset, limits)
    for _ in range(_MOST_FITS):
        fitted = least_squares_plane(points[ground])
        # Ground that leans too far ends the fitting with the last plane that does not.
        if fitted[0][2] < limits[3]:
            break
        mask: BoolArray = near_plane(points, normals, *fitted, limits)
        if np.count_nonzero(mask) < needed:
            break
        (normal, offset), same = fitted, bool((mask == ground).all())
        ground = mask
        if same:
            break
    ground = near_plane(points, normals, normal, offset, (distance, contact, *limits[2:]))
    return GroundPlane(normal, float(offset), ground)


def least_squares_plane(points: FloatArray) -> tuple[FloatArray, float]:
    """Normal (of length 1, upwards) and offset of the plane from which squared distances of points (N, 3) are least."""
    middle = points.mean(0)
    centred = points - middle
    # The eigenvector of the least eigenvalue: eigh sorts them ascending.
    normal = np.linalg.eigh(centred.T @ centred)[1][:, 0]
    normal = -normal if normal[2] < 0 else normal
    return normal, -float(normal @ middle)


@njit(cache=True, nogil=True)
def best_plane(points, normals, drawn, limits):  # type: ignore[no-untyped-def]
    """Of planes through points `drawn` (T, 3), the first with most ground: normal, offset, count (0: too steep)."""
    best, best_offset, most = np.zeros(3), 0.0, 0
    for trial in range(len(drawn)):
        p, q, r = points[drawn[trial, 0]], points[drawn[trial, 1]], points[drawn[trial, 2]]
        u, v = q - p, r - p
        normal = np.array([u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]])
        length = math.sqrt(normal[0] ** 2 + normal[1] ** 2 + normal[2] ** 2)
        if length < 1e-9:
            continue
        # Upwards, so that heights are positive above the ground.
        normal /= -length if normal[2] < 0 else length
        if normal[2] < limits[3]:
            continue
        offset = -(normal[0] * p[0] + normal[1] * p[1] + normal[2] * p[2])
        count = 0
        for row in range(len(points)):
            count += _is_near(points, normals, row, normal, offset, limits)
        if count > most:
            best, best_offset, most = normal, offset, count
    return best, best_offset, most


@njit(cache=True, nogil=True)
def near_plane(points, normals, normal, offset, limits):  # type: ignore[no-untyped-def]
    """Find the points near a plane with a normal near its own: bool (N,); normal (3,), of length 1; offset: metres."""
    out = np.zeros(len(points), np.bool_)
    for row in range(len(points)):
        out[row] = _is_near(points, normals, row, normal, offset, limits)
    return out


@njit(cache=True, nogil=True)
def _is_near(points, normals, row, normal, offset, limits):  # type: ignore[no-untyped-def]
    height = normal[0] * points[row, 0] + normal[1] * points[row, 1] + normal[2] * points[row, 2] + offset
    if abs(height) > limits[0]:
        return False
    if abs(height) <= limits[1]:
        return True
    agreement = normal[0] * normals[row, 0] + normal[1] * normals[row, 1] + normal[2] * normals[row, 2]
    # NaN is below nothing.
    return not abs(agreement) < limits[2]


def patchwork_ground(points: FloatArray, sensor_height: float, farthest: float) -> BoolArray:
    """Find ground: bool (N,); points: float64 (N, 3); farthest: points farther away are not looked at, metres."""
    try:
        import pypatchworkpp  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise UsageError(f"ground by Patchwork++ needs pypatchworkpp: {install_command('pypatchworkpp')}") from error
    parameters = pypatchworkpp.Parameters()
    parameters.sensor_height = sensor_height
    parameters.max_range = farthest
    # Its removal of reflections goes by intensities as KITTI has them, which other devices scale otherwise.
    parameters.enable_RNR = False
    with silent_output():
        # A new one each time: it adapts to the clouds it has seen, and a cloud's ground must not depend on others.
        finder = pypatchworkpp.patchworkpp(parameters)
    out = np.zeros(len(points), np.bool_)
    finder.estimateGround(np.column_stack([points, np.zeros(len(points))]).astype(np.float32))
    out[np.asarray(finder.getGroundIndices(), np.int64).reshape(-1)] = True
    return out
