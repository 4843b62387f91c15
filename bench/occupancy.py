"""Times of an occupancy map: a VLP-16's turn entered into 60 x 60 m at ten cells a metre, beside OpenCV's lines."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import cv2
import numpy as np
from render import Row

from simjudge.objects.occupancy import BeamSet, MapExtent, OccupancyMap
from simjudge.objects.settings import OccupancySettings

HEIGHT, RANGE = 1.5, 30.0
RINGS, COLUMNS = 16, 1800
_TIMES = 20
_WANTED = 0.020
"""Seconds."""


def turn() -> BeamSet:
    """A turn over level ground between things 4 to 30 m away, an eighth of the beams without a return."""
    random = np.random.default_rng(0)
    up, around = np.meshgrid(np.radians(np.linspace(-15, 15, RINGS)), np.arange(COLUMNS) * (2 * np.pi / COLUMNS))
    direction = np.stack([np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)], -1).reshape(-1, 3)
    # A thing covers 20 columns and all rings.
    length = np.repeat(np.repeat(random.uniform(4, RANGE, COLUMNS // 20), 20), RINGS)
    returned = np.repeat(random.random(COLUMNS // 20) > 0.125, 20 * RINGS)
    with np.errstate(divide="ignore"):
        to_ground = np.where(direction[:, 2] < 0, -HEIGHT / direction[:, 2], np.inf)
    returned |= to_ground < RANGE
    length = np.minimum(np.where(returned, length, RANGE), to_ground)
    origin = np.tile([0.0, 0.0, HEIGHT], (len(direction), 1))
    return BeamSet(origin, origin + direction * length[:, None], returned)


def seconds(work: Callable[[], object], times: int) -> float:
    """The least processor time of some runs, after one that compiles: one core does it all."""
    work()
    best = np.inf
    for _ in range(times):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return float(best)


def rows() -> Iterator[Row]:
    """The lines of the benchmark's table."""
    beams, level = turn(), np.array([0.0, 0.0, 1.0, 0.0])
    extent = MapExtent.around(np.zeros((1, 2)), RANGE, 10.0)
    lines = seconds(lambda: _lines(beams, extent), 3)
    for name, low, high in (("heights 0.3 to 2 m", 0.3, 2.0), ("all heights", -100.0, 100.0)):
        made = OccupancyMap(extent, OccupancySettings(map_range=RANGE, map_low=low, map_high=high))
        took = seconds(lambda made=made: made.enter(beams, level), _TIMES)
        beside = f"{took / _WANTED:.2f} of that; OpenCV's lines, a call a beam: {lines / took:.1f} times as long"
        yield (
            f"a VLP-16 turn into a map, 60 x 60 m, 10 cells a metre, {name}",
            f"{took * 1e3:.1f} ms",
            "20 ms",
            beside,
        )


def _lines(beams: BeamSet, extent: MapExtent) -> None:
    """The cells of all beams, drawn one by one."""
    grid = np.zeros((extent.rows, extent.columns), np.uint8)
    first = ((beams.origin[:, :2] - extent.corner) * extent.cells_per_metre).astype(int).tolist()
    last = ((beams.end[:, :2] - extent.corner) * extent.cells_per_metre).astype(int).tolist()
    for begin, end in zip(first, last, strict=True):
        cv2.line(grid, begin, end, 1)


if __name__ == "__main__":
    for row in rows():
        print(*row, sep="; ")
