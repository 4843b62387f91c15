"""Which pixels of a range image show each labelled thing: cuboids cast onto the grid, or the points that lie in them.

Cuboids show what the device could have seen: its dropouts do not change them. What lies nearer hides what lies behind.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import BoolArray, FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.detectors.range_images.range_grid import RangeGrid

NOBODY = -1
"""The owner of a pixel that shows nothing labelled."""


@dataclass(frozen=True, eq=False, repr=False)
class Silhouettes(ShortRepr):
    """What a scan's range image shows of K things.

    Attributes:
        owner: int64 (R, C), the thing that each pixel shows; NOBODY for none.
        share: (K,), which part of its own silhouette is not hidden by another, 0 to 1; NaN where nobody knows.
    """

    owner: IntArray
    share: FloatArray


def cast_cuboids(cuboids: FloatArray, grid: RangeGrid) -> Silhouettes:
    """Cast rays through all pixels onto upright cuboids.

    Args:
        cuboids: (K, 7), x, y, z, length, width, height, metres, from the lidar, and yaw, radians.

    Returns:
        The nearest cuboid of each pixel. A cuboid that the lidar is inside of shows nowhere.
    """
    depth = np.full(grid.shape, np.inf)
    owner = np.full(grid.shape, NOBODY, np.int64)
    whole = np.zeros(len(cuboids))
    for k, cuboid in enumerate(cuboids):
        columns = _columns_around(cuboid, grid)
        distance = _distances(cuboid, grid, columns)
        whole[k] = np.count_nonzero(np.isfinite(distance))
        nearer = distance < depth[:, columns]
        owner[:, columns] = np.where(nearer, k, owner[:, columns])
        depth[:, columns] = np.where(nearer, distance, depth[:, columns])
    shown = np.bincount(owner[owner >= 0], minlength=len(cuboids))
    return Silhouettes(owner, np.divide(shown, whole, out=np.zeros(len(cuboids)), where=whole > 0))


def own_pixels(cuboid: FloatArray, grid: RangeGrid) -> tuple[IntArray, IntArray]:
    """The rows and columns that a cuboid would show in if nothing hid it.

    Args:
        cuboid: (7,), see `cast_cuboids`.
    """
    columns = _columns_around(cuboid, grid)
    rows, places = np.nonzero(np.isfinite(_distances(cuboid, grid, columns)))
    return rows.astype(np.int64), columns[places]


def mark_points(points: FloatArray, cuboids: FloatArray, grid: RangeGrid) -> Silhouettes:
    """Mark the pixels of the points that lie in upright cuboids, their faces included.

    Args:
        points: (N, 3), metres, from the lidar.
        cuboids: (K, 7), see `cast_cuboids`.

    Returns:
        For each pixel the cuboid of its nearest point. A point in several belongs to the one with the nearer middle.
    """
    thing = np.full(len(points), NOBODY, np.int64)
    for k in np.argsort(-np.linalg.norm(cuboids[:, :3], axis=1), kind="stable"):
        thing[_inside(points, cuboids[k])] = k
    rows, columns = grid.pixels(points)
    # The nearest comes last, and stays; of equally near ones that of the first thing, whatever their order.
    order = np.lexsort((-thing, -np.linalg.norm(points, axis=1)))
    order = order[rows[order] >= 0]
    owner = np.full(grid.shape, NOBODY, np.int64)
    owner[rows[order], columns[order]] = thing[order]
    return Silhouettes(owner, np.full(len(cuboids), np.nan))


def _inside(points: FloatArray, cuboid: FloatArray) -> BoolArray:
    offset = points - cuboid[:3]
    cos, sin = math.cos(cuboid[6]), math.sin(cuboid[6])
    own = np.column_stack([
        cos * offset[:, 0] + sin * offset[:, 1], cos * offset[:, 1] - sin * offset[:, 0], offset[:, 2],
    ])  # fmt: skip
    return np.asarray((np.abs(own) <= cuboid[3:6] / 2).all(1))


def _columns_around(cuboid: FloatArray, grid: RangeGrid) -> IntArray:
    """The columns that a cuboid may show in, each once."""
    distance, radius = math.hypot(cuboid[0], cuboid[1]), math.hypot(cuboid[3], cuboid[4]) / 2
    if distance <= radius:
        return np.arange(grid.columns)
    half = math.ceil(math.asin(radius / distance) / (2 * math.pi) * grid.columns) + 1
    middle = int(grid.column(np.array(math.atan2(cuboid[1], cuboid[0]))))
    count = min(2 * half + 1, grid.columns)
    return (middle - half + np.arange(count)) % grid.columns


def _distances(cuboid: FloatArray, grid: RangeGrid, columns: IntArray) -> FloatArray:
    """How far away the rays of some columns meet a cuboid, (R, columns); inf where they do not (slab method)."""
    relative = grid.azimuth[columns] - cuboid[6]
    level, rise = np.cos(grid.elevation)[:, None], np.sin(grid.elevation)[:, None]
    direction = (level * np.cos(relative), level * np.sin(relative), np.broadcast_to(rise, (len(rise), len(columns))))
    cos, sin = math.cos(cuboid[6]), math.sin(cuboid[6])
    x, y, z = cuboid[:3]
    near, far = np.full(direction[0].shape, -np.inf), np.full(direction[0].shape, np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        for along, middle, size in zip(direction, (cos * x + sin * y, cos * y - sin * x, z), cuboid[3:6], strict=True):
            one, other = (middle - size / 2) / along, (middle + size / 2) / along
            # A ray in the plane of a face: 0 / 0, which limits nothing.
            near = np.fmax(near, np.fmin(one, other))
            far = np.fmin(far, np.fmax(one, other))
    return np.where((near <= far) & (near > 0), near, np.inf)
