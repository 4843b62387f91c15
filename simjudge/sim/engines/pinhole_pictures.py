"""Pictures by engines that render whole pinhole pictures: grids of rays in a pixel, and lenses that such engines lack.

An unknown lens is looked up in a larger pinhole picture, by our own rays.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.ndimage import map_coordinates

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.sim.sensors.camera.lens import Lens

STEEPEST = 4.0  # Slope (tan of the angle off the axis) that a looked-up picture may reach: 76 degrees
_LARGEST = 64_000_000  # Pixels of a picture that an engine is asked for, at most


def side_of(rays_per_pixel: int) -> int:
    """The n of n x n rays a pixel."""
    side = math.isqrt(rays_per_pixel) if rays_per_pixel > 0 else 0
    if side < 1 or side * side != rays_per_pixel:
        raise UsageError(f"{rays_per_pixel} rays a pixel: a square number (1, 4, 9, ...) is needed")
    return side


def rays_of_a_scene_state(rays_per_pixel: int, scene_states: int) -> int:
    """Rays per pixel, a square, that each instant of an exposure gets so that blur costs about no more rays.

    Such an engine can only be asked for whole centred grids, not for an instant's own part of one (`Engine.render`):
    k x k with k = n // ceil(sqrt(instants)), but 2 x 2 at least where n is 2 or more, since one ray through the pixels'
    centres, the same in all instants, would leave every edge jagged that does not move.
    """
    side = side_of(rays_per_pixel)
    part = side // math.ceil(math.sqrt(scene_states))
    return max(part, min(side, 2)) ** 2


def average_blocks(image: npt.NDArray[np.float32], side: int) -> npt.NDArray[np.float32]:
    """Means of side x side blocks of a picture (H side, W side, C): float32 (H, W, C); side of a block, pixels."""
    height, width, channels = image.shape
    blocks = image.reshape(height // side, side, width // side, side, channels)
    return np.asarray(blocks.mean(axis=(1, 3), dtype=np.float64), np.float32)


@dataclass(frozen=True, eq=False)
class Lookup:
    """Where in a larger pinhole picture our pixels are."""

    tangent: float  # tan of half the horizontal field of that picture
    size: tuple[int, int]

    def pixels(self, rays: FloatArray) -> FloatArray:
        """Pixel coordinates (..., 2) in it (centre of the upper left pixel is 0, 0) of rays (..., 3), optical frame."""
        width, height = self.size
        focal = width / 2 / self.tangent
        straight = rays[..., :2] / rays[..., 2:]
        found: FloatArray = straight * focal + np.array([(width - 1) / 2, (height - 1) / 2])
        return found


def lookup_for(engine: str, lens: Lens, oversample: int) -> Lookup:
    """The pinhole picture that holds everything this lens sees, `oversample` times as fine as it is at its finest."""
    rays = lens.rays()
    widest = float(np.max(np.arctan2(np.abs(rays[..., :2]), rays[..., 2:])))
    if widest > math.atan(STEEPEST):
        raise SimjudgeError(
            f"engine {engine}: the lens sees {math.degrees(widest):.0f} degrees off its axis;"
            f" up to {math.degrees(math.atan(STEEPEST)):.0f} can be taken from a pinhole; narrow its field"
        )
    slopes = rays[..., :2] / rays[..., 2:]
    across, down = (float(np.max(np.abs(slopes[..., axis]))) for axis in (0, 1))
    steps = [np.abs(np.diff(slopes[..., axis], axis=1 - axis)) for axis in (0, 1)]
    finest = min((float(np.min(step)) for step in steps if step.size), default=2 * across or 1e-3)
    pitch = finest / oversample
    width, height = (2 * math.ceil(extent / pitch + 1) for extent in (across, down))
    if width * height > _LARGEST:
        raise SimjudgeError(
            f"engine {engine}: this lens needs a pinhole picture of {width}x{height}; narrow its field, or take a"
            " pinhole lens with square pixels"
        )
    return Lookup(width / 2 * pitch, (width, height))


def look_up(image: npt.NDArray[np.float32], lookup: Lookup, lens: Lens, side: int) -> npt.NDArray[np.float32]:
    """A pinhole picture seen through our lens: bilinear at n x n rays of each pixel, averaged."""
    width, height = lens.size
    offsets = (np.arange(side) + 0.5) / side - 0.5
    total = np.zeros((height, width, 3))
    grid = np.stack(np.meshgrid(np.arange(width, dtype=float), np.arange(height, dtype=float)), -1)
    for down in offsets:
        for across in offsets:
            found = lookup.pixels(lens.rays_at(grid + np.array([across, down])))
            where = [found[..., 1], found[..., 0]]
            for channel in range(3):
                total[..., channel] += map_coordinates(image[..., channel], where, order=1, mode="nearest")
    return (total / side**2).astype(np.float32)
