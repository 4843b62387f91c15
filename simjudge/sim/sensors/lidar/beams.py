"""The beams of a lidar's turn: where each points in the sensor's frame, and when it fires."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.display import ShortRepr
from simjudge.sim.sensors.lidar.lidar import Lidar

_KEPT = 16
"""Lidars whose beams are kept."""


@dataclass(frozen=True, eq=False, repr=False)
class Beams(ShortRepr):
    """All beams of one turn, in the order in which they fire.

    Attributes:
        azimuth, elevation: (N,), radians, in the sensor's frame at the beam's own instant.
        time: (N,), seconds since the first column fired.
        ring: int64 (N,), 0 is the lowest.
        column: int64 (N,), 0 fires first.
        directions: (N, S, 3), unit, of the S rays of each beam, in the sensor's frame; the beam's middle is in the
            middle.
    """

    azimuth: FloatArray
    elevation: FloatArray
    time: FloatArray
    ring: npt.NDArray[np.int64]
    column: npt.NDArray[np.int64]
    directions: FloatArray

    def __len__(self) -> int:
        """The number of beams."""
        return len(self.azimuth)


@lru_cache(maxsize=_KEPT)
def lidar_beams(lidar: Lidar) -> Beams:
    """Find the beams of a turn.

    Columns of a full turn are field / n apart: the first and the last do not coincide. Columns of a narrower field
    reach from one end to the other.

    Returns:
        The beams; those that fire together come in the order of their columns and rings.
    """
    rings = len(lidar.elevation)
    column, ring = (each.ravel() for each in np.indices((lidar.columns, rings)))
    sense = -1.0 if lidar.clockwise else 1.0
    start = lidar.start if lidar.start is not None else -sense * lidar.field_of_view / 2
    parts = lidar.columns if lidar.full_turn else max(lidar.columns - 1, 1)
    delay = _of_rings(lidar.ring_delay, rings)[ring]
    passed = column / lidar.columns
    if lidar.window > 0:
        passed = passed + delay / lidar.window
    turned = lidar.field_of_view * (lidar.columns / parts) * passed
    if lidar.head_deviation:
        knots = np.linspace(0, 1, len(lidar.head_deviation))
        turned = turned + sense * np.interp(passed, knots, lidar.head_deviation)
    azimuth = _wrapped(start + sense * turned + _of_rings(lidar.ring_azimuth, rings)[ring])
    elevation = np.array(lidar.elevation)[ring]
    time = lidar.window * (column / lidar.columns) + delay
    order = np.argsort(time, kind="stable")
    azimuth, elevation = azimuth[order], elevation[order]
    across, upwards = sample_offsets(lidar)
    directions = unit_directions(azimuth[:, None] + across, elevation[:, None] + upwards)
    directions.flags.writeable = False
    return Beams(azimuth, elevation, time[order], ring[order], column[order], directions)


def sample_offsets(lidar: Lidar) -> tuple[FloatArray, FloatArray]:
    """Where the rays of a beam point, beside its middle.

    The beam's cross-section is cut into (2R - 1)^2 equal cells; each ray goes through the middle of one.

    Returns:
        Azimuth and elevation of each ray less those of the beam, radians, (S,) each.
    """
    count = 2 * lidar.samples - 1
    steps = np.arange(1 - lidar.samples, lidar.samples) / count
    upwards, across = np.meshgrid(steps * lidar.divergence[1], steps * lidar.divergence[0], indexing="ij")
    return across.ravel(), upwards.ravel()


def unit_directions(azimuth: npt.ArrayLike, elevation: npt.ArrayLike) -> FloatArray:
    """Turn angles into directions: x = cos(e) cos(a), y = cos(e) sin(a), z = sin(e).

    Args:
        azimuth: (...), radians, counter-clockwise from x.
        elevation: (...), radians, up from the plane of x and y.
    """
    a, e = np.asarray(azimuth, np.float64), np.asarray(elevation, np.float64)
    flat = np.cos(e)
    return np.stack(np.broadcast_arrays(flat * np.cos(a), flat * np.sin(a), np.sin(e)), -1)


def _of_rings(values: tuple[float, ...], rings: int) -> FloatArray:
    return np.array(values, np.float64) if values else np.zeros(rings)


def _wrapped(angle: FloatArray) -> FloatArray:
    """Angles in [-pi, pi)."""
    wrapped: FloatArray = (angle + np.pi) % (2 * np.pi) - np.pi
    return wrapped
