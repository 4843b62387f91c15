"""Exposures in which each ray has a time of its own: motion blur as grain, and a rolling shutter.

The camera is where it is at the ray's own time (linear, slerp). Moving bodies are put once for each of a few equal
parts of the exposure, where they are in its middle: rays of one part share a scene, which the tracers need. A body is
therefore off by no more than its way in half a part.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.core.numba_cache import njit
from simjudge.geometry.keyframes import Keyframes, place_body
from simjudge.sim.engines.contract import Labels, Poses
from simjudge.sim.sensors.camera.lens import Lens

_BATCH = 1 << 17  # Rays that one thread places at a time

_STREAM = (1,)  # Sets the rays' times apart from other numbers of the same seed: a camera's noise has it too


@dataclass(frozen=True, eq=False, repr=False)
class TimedExposure(ShortRepr):
    """An exposure whose rays have times of their own: seconds from the beginning of the first row's exposure."""

    camera: Keyframes  # keyframes of the optical frame in the world, from time 0 until the last row has been exposed
    # Poses of the bodies that are not where the scene has them, in the middle of each of equal parts of that time; one
    # where nothing but the camera moves.
    bodies: tuple[Poses, ...]
    exposure_time: float  # seconds that light falls on each row
    line_time: float  # seconds from the exposure of a row to that of the next, top to bottom; 0: all rows at once
    seed: tuple[int, ...]  # the rays' times follow from it

    def ray_times(self, size: tuple[int, int], rays_per_pixel: int) -> FloatArray:
        """The time of each ray, uniform over the exposure of its row.

        A pixel's rays fall into equal parts of the exposure, one into each, in an order that differs from pixel to
        pixel; within its part a ray's time is random. Any one ray's time is thus uniform over the whole exposure, and
        the grain is less than that of independent times.
        """
        width, height = size
        random = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=_STREAM))
        within = random.random((height, width, rays_per_pixel))
        first = random.integers(rays_per_pixel, size=(height, width, 1))
        part = (first + np.arange(rays_per_pixel)) % rays_per_pixel
        return self._row_begins(height)[:, None, None] + (part + within) * (self.exposure_time / rays_per_pixel)

    def label_times(self, rows: npt.ArrayLike, height: int) -> FloatArray:
        """The middle of each row's exposure, seconds; rows beyond the image are taken with the row at its edge."""
        within = np.clip(np.asarray(rows, np.float64), 0, height - 1)
        times: FloatArray = within * self.line_time + self.exposure_time / 2
        return times

    def parts(self, times: FloatArray) -> IntArray:
        """The part of the exposure, and so the row of `bodies`, that each time (seconds) belongs to."""
        length = self.camera.time[-1] / len(self.bodies)
        parts: IntArray = np.clip((times / length).astype(np.int64), 0, len(self.bodies) - 1)
        return parts

    def _row_begins(self, height: int) -> FloatArray:
        begins: FloatArray = np.arange(height, dtype=np.float64) * self.line_time
        return begins


@runtime_checkable
class EngineWithRayTimes(Protocol):
    """An engine whose rays may each have a time of its own."""

    def render_timed(self, lens: Lens, exposure: TimedExposure, rays_per_pixel: int = 1) -> npt.NDArray[np.float32]:
        """Linear RGB radiance (H, W, 3), averaged over each pixel's rays, each at its own time.

        `lens`: the lens; it sets the size of the image too; `rays_per_pixel`: n^2 with whole n, rays on an n x n grid
        in each pixel. Returns float32 (H, W, 3), 1 is full scale. The same bytes for the same arguments, engine,
        variant and machine.
        """

    def labels_timed(self, lens: Lens, exposure: TimedExposure) -> Labels:
        """Classes, instances and depth through the pixels' centres, each row in the middle of its own exposure."""


def place_rays(
    camera: Keyframes, times: FloatArray, directions: npt.NDArray[np.float32]
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Rays of a camera in the world, each at its own time (seconds): origins and directions, float32 (N, 3) each."""
    origins, turned = np.empty((len(times), 3), np.float32), np.empty((len(times), 3), np.float32)
    keyframes = camera.arrays()

    def place(begin: int) -> None:
        rows = slice(begin, begin + _BATCH)
        _place(keyframes, times[rows], directions[rows], origins[rows], turned[rows])

    begins = range(0, len(times), _BATCH)
    if len(begins) == 1:
        place(0)
        return origins, turned
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(place, begins))
    return origins, turned


@njit(cache=True, nogil=True)
def _place(keyframes, times, directions, origins, turned):  # type: ignore[no-untyped-def]
    rotation, position = np.empty((3, 3)), np.empty(3)
    for n in range(len(times)):
        place_body(keyframes, 0, times[n], rotation, position)
        x, y, z = directions[n, 0], directions[n, 1], directions[n, 2]
        for k in range(3):
            origins[n, k] = position[k]
            turned[n, k] = rotation[k, 0] * x + rotation[k, 1] * y + rotation[k, 2] * z
