"""What pictures of clouds have in common: how much is shown, the colours of heights, the places of the grid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray

HEIGHT_COLOURS = mpl.colormaps["turbo"].resampled(256)(np.linspace(0.1, 0.93, 256))[:, :3]
"""(256, 3), low to high, 0 to 1: without the darkest blue and red, which the ground would swallow."""
_LOWEST, _HIGHEST = 2, 98
"""Percentiles of the places at the edges of what is shown, and of the heights at the ends of the colours."""
_ROUND = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0)
_STEPS = (1.0, 2.0, 5.0, 10.0)
_LINES = 4
"""The fewest lines of the grid on either side of the origin, but for rounding."""


@dataclass(frozen=True)
class CloudScale:
    """What pictures of several clouds have in common.

    Attributes:
        radius: half the side of the square that is shown, metres.
        low, high: heights at the ends of the colours, metres.
        centre: x and y of the square's middle, metres.
    """

    radius: float
    low: float
    high: float
    centre: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def of_clouds(cls, clouds: Sequence[npt.ArrayLike], radius: float | None = None) -> CloudScale:
        """Choose a scale.

        Args:
            clouds: points, (N, 3) each, metres.
            radius: metres around the origin; None: a square that holds the origin and along x and along y 96 % of the
                points, a round number of metres wide.

        Returns:
            The scale; the colours reach from the 2nd to the 98th percentile of the heights in the square.
        """
        points = np.concatenate([np.empty((0, 3)), *(finite_points(each) for each in clouds)])
        centre = np.zeros(2)
        if radius is None:
            ends = np.percentile(points[:, :2], (_LOWEST, _HIGHEST), axis=0) if len(points) else np.array([[-10], [10]])
            low, high = np.minimum(ends[0], 0), np.maximum(ends[1], 0)
            radius, centre = _rounded_up(float((high - low).max()) / 2), np.broadcast_to((low + high) / 2, 2)
        height = points[(np.abs(points[:, :2] - centre) <= radius).all(1), 2]
        bottom, top = np.percentile(height, (_LOWEST, _HIGHEST)).tolist() if len(height) else (0.0, 1.0)
        return cls(radius, bottom, max(top, bottom + 0.01 * radius), (float(centre[0]), float(centre[1])))

    @property
    def step(self) -> float:
        """Metres between the lines of the grid: 1, 2 or 5 of a power of ten."""
        most = self.radius / _LINES
        power = 10.0 ** math.floor(math.log10(most) + 1e-9)
        return max(step * power for step in _STEPS if step * power <= most * (1 + 1e-9))

    def colours(self, height: FloatArray) -> npt.NDArray[np.uint8]:
        """The colours of heights.

        Args:
            height: (N,), metres.

        Returns:
            (N, 3), RGB.
        """
        share = np.clip((height - self.low) / (self.high - self.low), 0, 1)
        colours: npt.NDArray[np.uint8] = np.round(255 * HEIGHT_COLOURS).astype(np.uint8)[
            np.round(share * (len(HEIGHT_COLOURS) - 1)).astype(np.int64)
        ]
        return colours


def finite_points(points: npt.ArrayLike) -> FloatArray:
    """The points that are places: drivers write NaN, or 0 0 0, where a beam has no return.

    Args:
        points: (N, 3), metres.

    Returns:
        (K, 3).
    """
    table = np.asarray(points, np.float64).reshape(-1, 3)
    return table[np.isfinite(table).all(1) & table.any(1)]


def grid_places(scale: CloudScale, axis: int) -> FloatArray:
    """Where the lines of the grid cross an axis."""
    first, last = ((scale.centre[axis] + side * scale.radius) / scale.step for side in (-1, 1))
    return np.asarray(np.arange(math.ceil(first - 1e-9), math.floor(last + 1e-9) + 1) * scale.step, np.float64)


def _rounded_up(distance: float) -> float:
    """The next round number of metres."""
    if distance <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(distance))
    return next((each * power for each in _ROUND if each * power >= distance * (1 - 1e-9)), 10 * power)
