"""The grid of a range image: a row a ring, the highest first; columns around the turn, from behind over the left.

A person who stands at the lidar and looks ahead sees the same: ahead is the middle, left is left. The first and the
last column are neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.data.clouds import CloudSet
from simjudge.data.lidar_points import LidarPoints, lidar_points

COLUMNS = 1800
"""Of a range image where nobody says otherwise: 0.2 degrees, as most spinning lidars have them at 10 turns a second."""
EVEN_ROWS = 64
"""Rows of a grid for clouds without rings."""
_CLOUDS = 8
"""Clouds of a set that the grid is measured on."""
_STEADY = 0.25
"""Share of the distance to the next ring by which a ring's elevation may vary (median absolute deviation)."""
_ENDS = (0.2, 99.8)
"""Percentiles of the elevations that an even grid reaches from and to."""


@dataclass(frozen=True, eq=False, repr=False)
class RangeGrid(ShortRepr):
    """Where the beams of a range image point.

    Attributes:
        elevation: (R,), radians, of each row, the highest first.
        rings: whether the rows are a device's rings.
    """

    elevation: FloatArray
    columns: int = COLUMNS
    rings: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.elevation), self.columns

    @property
    def azimuth(self) -> FloatArray:
        """(C,), radians, of each column's middle."""
        return np.asarray(math.pi - (np.arange(self.columns) + 0.5) * (2 * math.pi / self.columns), np.float64)

    def pixels(self, points: FloatArray) -> tuple[IntArray, IntArray]:
        """The pixel of each point.

        Args:
            points: (N, 3), metres, from the lidar.

        Returns:
            Rows, int64 (N,), -1 for points above or below the grid; and columns, int64 (N,).
        """
        elevation = np.arctan2(points[:, 2], np.hypot(points[:, 0], points[:, 1]))
        ascending = self.elevation[::-1]
        between = (ascending[1:] + ascending[:-1]) / 2
        ends = [ascending[0] - (between[0] - ascending[0]), ascending[-1] + (ascending[-1] - between[-1])]
        place = np.searchsorted(np.concatenate([ends[:1], between, ends[1:]]), elevation, "right") - 1
        rows = len(ascending) - 1 - place
        rows[(place < 0) | (place >= len(ascending))] = -1
        return rows.astype(np.int64), self.column(np.arctan2(points[:, 1], points[:, 0]))

    def column(self, azimuth: FloatArray) -> IntArray:
        """The columns of azimuths.

        Args:
            azimuth: radians, counter-clockwise from ahead.
        """
        number = np.floor((math.pi - np.asarray(azimuth)) * (self.columns / (2 * math.pi)))
        return number.astype(np.int64) % self.columns

    @property
    def pixel_height(self) -> float:
        """How high a pixel is, on average, as a multiple of its width, by angle."""
        height = (self.elevation[0] - self.elevation[-1]) / (len(self.elevation) - 1)
        return float(height / (2 * math.pi / self.columns))

    def content(self) -> dict[str, Any]:
        """What result.json says of it."""
        return {
            "rows": len(self.elevation), "columns": self.columns, "rings": self.rings,
            "elevations_deg": np.round(np.degrees(self.elevation), 4).tolist(), "pixel_height": self.pixel_height,
        }  # fmt: skip

    def describe(self) -> str:
        """Rows, columns and elevations, for a person to read."""
        high, low = np.degrees(self.elevation[[0, -1]])
        kind = "rings" if self.rings else "even rows"
        return f"{len(self.elevation)} {kind} from {low:.2f} to {high:.2f} degrees, {self.columns} columns"


def even_grid(low: float, high: float, rows: int, columns: int = COLUMNS) -> RangeGrid:
    """A grid with rows as far apart everywhere.

    Args:
        low, high: elevations of the last and the first row, radians.
    """
    return RangeGrid(np.linspace(high, low, rows), columns)


def measure_grid(clouds: CloudSet, columns: int = COLUMNS) -> RangeGrid:
    """Choose the grid for a set: its rings where its clouds number them, else even rows over its elevations.

    Returns:
        The grid. Rings whose elevations vary are none: clouds that were moved to another place have such.
    """
    several = [points for points in _some(clouds) if len(points)]
    if not several:
        raise SimjudgeError(f"{clouds.name}: no point in its first clouds; a range image needs some")
    elevation = np.concatenate([_elevations(points) for points in several])
    rings = [points.ring for points in several if points.ring is not None]
    if len(rings) == len(several):
        found = _ring_elevations(np.concatenate(rings), elevation)
        if found is not None:
            return RangeGrid(found, columns, rings=True)
    low, high = np.percentile(elevation, _ENDS)
    return even_grid(float(low), max(float(high), float(low) + 1e-3), EVEN_ROWS, columns)


def _some(clouds: CloudSet) -> Sequence[LidarPoints]:
    chosen = np.unique(np.linspace(0, len(clouds) - 1, min(_CLOUDS, len(clouds))).astype(np.int64))
    read = (clouds[int(index)] for index in chosen)
    return [lidar_points(cloud.table, cloud.where) for cloud in read]


def _elevations(points: LidarPoints) -> FloatArray:
    x, y, z = points.stored.astype(np.float64).T
    elevation: FloatArray = np.arctan2(z, np.hypot(x, y))
    return elevation


def _ring_elevations(ring: IntArray, elevation: FloatArray) -> FloatArray | None:
    """The rings' elevations, the highest first; None where they vary too much to be rings."""
    numbers, row = np.unique(ring, return_inverse=True)
    if len(numbers) < 2:
        return None
    each = [elevation[row == number] for number in range(len(numbers))]
    middle = np.array([np.median(values) for values in each])
    spread = np.array([np.median(np.abs(values - m)) for values, m in zip(each, middle, strict=True)])
    order = np.argsort(-middle)
    step = -np.diff(middle[order])
    nearest = np.minimum(np.append(step, np.inf), np.append(np.inf, step))
    return None if (spread[order] > _STEADY * nearest).any() else middle[order]
