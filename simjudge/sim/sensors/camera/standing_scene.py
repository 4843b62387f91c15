"""Many pictures of a scene that stands: how each pixel varies in time, and whether the scene really stands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.core.text import list_some
from simjudge.sim.sensors.camera.filters import FULL_SCALE, FloatImage

FEWEST = 10
"""Pictures: with fewer, one that differs cannot be told from noise."""
_BLOCK = 16
"""Pixels: side of the blocks whose means are watched."""
_SIGMAS = 6.0
"""Standard deviations of a block's mean that are believed to be noise."""
_UNSEEN = 0.1
"""Grey levels of 255 by which a block's mean may always differ: it adds 0.01 to a variance."""
_RESTLESS = 3.0
"""Times the usual difference of two neighbouring pictures in a block, squared, that is believed to be noise."""
_CHI_SQUARED_MEDIAN = 0.4549
"""Of one degree of freedom."""


@dataclass(frozen=True, eq=False, repr=False)
class PixelNoise(ShortRepr):
    """How each pixel varies in time. Values are linear light, full scale 1.

    Attributes:
        mean, variance: over time, (H, W, C).
        at_limit: share of the pictures in which a pixel is 0 or full scale, (H, W, C).
        correlation: of the noise of neighbours in a row, -1 to 1; near 0 for raw pixels.
    """

    frames: int
    mean: FloatArray
    variance: FloatArray
    at_limit: FloatArray
    correlation: float


class StandingScene:
    """Takes pictures one by one; keeps sums, and the block means of each picture."""

    def __init__(self, name: str, linear: Callable[[FloatImage], FloatImage]) -> None:
        """Begin without pictures."""
        self._name, self._linear = name, linear
        self._frames: list[str] = []
        self._blocks: list[FloatArray] = []
        self._restlessness: list[FloatArray] = []
        self._products = self._squares = 0.0
        self._previous: FloatImage = np.empty(0)
        self._mean: FloatArray = np.empty(0)
        self._squared: FloatArray = np.empty(0)
        self._at_limit: IntArray = np.empty(0, np.int64)

    def add(self, frame_name: str, values: FloatImage, at_limit: npt.NDArray[np.bool_]) -> None:
        """Take a picture.

        Args:
            values: (H, W, C), full scale 1, not linearized.
            at_limit: where it holds the least or the largest value that it can, (H, W, C).
        """
        if not self._frames:
            self._mean, self._squared = np.zeros(values.shape), np.zeros(values.shape)
            self._at_limit = np.zeros(values.shape, np.int64)
        elif values.shape != self._mean.shape:
            raise SimjudgeError(
                f"{self._name}: {frame_name} is {values.shape[1]}x{values.shape[0]}, {self._frames[0]}"
                f" {self._mean.shape[1]}x{self._mean.shape[0]}; pictures of one camera are needed"
            )
        self._frames.append(frame_name)
        light = self._linear(values)
        change = light - self._mean
        self._mean += change / len(self._frames)
        self._squared += change * (light - self._mean)
        self._at_limit += at_limit
        gray = values.mean(axis=2) * FULL_SCALE
        self._blocks.append(_block_means(gray))
        if len(self._frames) > 1:
            difference = gray - self._previous
            self._restlessness.append(_block_means(difference**2) / 2)
            self._products += float((difference[:, 1:] * difference[:, :-1]).mean())
            self._squares += float((difference**2).mean())
        self._previous = gray

    def noise(self, *, compressed: bool = False) -> PixelNoise:
        """Mean and variance of each pixel."""
        count = len(self._frames)
        if count < FEWEST:
            raise SimjudgeError(f"{self._name}: {count} pictures are too few; {FEWEST} are needed, 100 are better")
        self._check_standing(compressed=compressed)
        correlation = self._products / self._squares if self._squares else 0.0
        variance = self._squared / (count - 1)
        return PixelNoise(count, self._mean, variance, self._at_limit / count, correlation)

    def _check_standing(self, *, compressed: bool) -> None:
        means, restlessness = np.array(self._blocks), np.array(self._restlessness)
        usual = np.median(restlessness, axis=0)
        away = means - np.median(means, axis=0)
        moved = np.abs(away) > _SIGMAS * _block_deviation(means, usual) + _UNSEEN
        jumped = restlessness > _RESTLESS * usual + _SIGMAS * _UNSEEN
        moved[1:] |= jumped & ~moved[:-1]
        frames = np.flatnonzero(moved.any(axis=1))
        if not len(frames):
            return
        worst = int(np.argmax(np.where(moved, np.abs(away), 0).max(axis=1)))
        same_way = max((away[worst] > 0).mean(), (away[worst] < 0).mean())
        whole = moved[worst].mean() > 0.5 and same_way > 0.9
        what = "the brightness changes (lamps, automatic exposure)" if whole else "the scene or the camera moves"
        what += ", or JPEG changes whole blocks," if compressed else ""
        named = list_some([self._frames[row] for row in frames])
        raise SimjudgeError(
            f"{self._name}: {what} in {len(frames)} of {len(self._frames)} pictures ({named}; the most, by"
            f" {np.abs(away[worst]).max():.2g} grey levels in a block of {_BLOCK} pixels, in {self._frames[worst]});"
            " take them while all stands, or give the part in which it does (--begin, --end)"
        )


def _block_deviation(means: FloatArray, usual: FloatArray) -> FloatArray:
    """The standard deviation that noise alone gives the mean of each block.

    Args:
        means: of the blocks in each picture, (N, B), grey levels.
        usual: variance of a pixel in each block, (B,), from neighbouring pictures.
    """
    alone = usual / _BLOCK**2
    seen = np.median(np.diff(means, axis=0) ** 2, axis=0) / 2 / _CHI_SQUARED_MEDIAN
    # Demosaicing and compression spread noise over neighbours, whose mean then varies more.
    shared = float(np.median(seen[alone > 0] / alone[alone > 0])) if (alone > 0).any() else 1.0
    return np.asarray(np.sqrt(alone * max(shared, 1.0)))


def _block_means(values: FloatImage) -> FloatArray:
    """Means of the blocks of an image, one row."""
    height, width = values.shape
    rows, columns = min(_BLOCK, height), min(_BLOCK, width)
    inside = values[: height // rows * rows, : width // columns * columns]
    blocks = inside.reshape(height // rows, rows, width // columns, columns)
    return np.asarray(blocks.mean(axis=(1, 3), dtype=np.float64).reshape(-1))
