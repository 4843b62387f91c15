"""What a lidar is, once read, and the beams of its turn: where each points and when it fires.

What a lidar is, once read: its beams, when they fire, what they measure, and how well.

Metres, seconds, radians. The sensor's frame has x ahead, y left, z up (REP 103); azimuth goes counter-clockwise seen
from above, from x towards y; elevation goes up from the horizontal plane.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.display import ShortRepr

Returns = Literal["strongest", "first", "last", "mean", "dual"]


@dataclass(frozen=True)
class LidarNoise:
    """Standard deviations of what the device measures."""

    range: tuple[float, float] = (0.0, 0.0)  # metres; grows along a line with the range r: range[0] + range[1] r
    # azimuth, elevation: radians.
    azimuth: float = 0.0
    elevation: float = 0.0
    intensity: float = 0.0  # in the unit of the intensity as it is reported
    drop_out: float = 0.0  # probability that a return is lost, each on its own

    def __bool__(self) -> bool:
        return any((*self.range, self.azimuth, self.elevation, self.intensity, self.drop_out))


@dataclass(frozen=True)
class LidarIntensity:
    """How the light that comes back is turned into the intensity that is reported."""

    # Metres; what comes from farther away is weaker by (falloff / r)^2. inf: distance does not count.
    falloff: float = math.inf
    # Report what came back as if distance did not count, as devices do that report reflectivity; what is lost below the
    # threshold is lost all the same.
    calibrated: bool = True
    scale: float = 1.0  # reported for a white surface that faces the beam
    levels: int = 0  # the largest number that is reported, where the device reports whole numbers; 0: any number


@dataclass(frozen=True)
class Lidar:
    """A lidar."""

    name: str
    rate: float  # turns (scans) a second
    columns: int
    elevation: tuple[float, ...]  # of each ring's beam, radians, the lowest ring first
    range: tuple[float, float]  # nearest and farthest that is measured, metres
    field_of_view: float = 2 * math.pi  # width of the horizontal field, radians; 2 pi is a full turn
    window: float = 0.0  # seconds that a turn takes, at most 1 / rate; 0: all beams at once, at the stamp
    clockwise: bool = False  # whether the head turns clockwise seen from above, as most devices do
    # Azimuth at which a turn begins, radians; None: at the right end of the field, or the left one where the head turns
    # clockwise.
    start: float | None = None
    ring_azimuth: tuple[float, ...] = ()  # of each ring, added to the column's azimuth, radians; () for none
    # Of each ring, seconds after the column's time; () for none. The head turns on meanwhile.
    ring_delay: tuple[float, ...] = ()
    # Azimuth of the head less that of a head that turns evenly, radians, at equal steps of time from the first column's
    # firing to the end of the window, linear in between; () for none.
    head_deviation: tuple[float, ...] = ()
    divergence: tuple[float, float] = (0.0, 0.0)  # full angles of a beam, horizontal and vertical, radians
    samples: int = 1  # R: a beam is (2R - 1)^2 rays
    resolution: float = 0.1  # surfaces closer together than this along a beam give one return, metres
    returns: Returns = "strongest"  # which return is reported, see `simjudge.sim.sensors.lidar.rays`
    threshold: float = 0.0  # returns weaker than this are lost; 1 is a white surface that faces the whole beam nearby
    intensity: LidarIntensity = field(default_factory=LidarIntensity)  # of the intensity that is reported
    noise: LidarNoise = field(default_factory=LidarNoise)
    # Whether points are given in the sensor's frame at the stamp, instead of that of their own instant.
    deskew: bool = False

    @property
    def full_turn(self) -> bool:
        """Whether the field is a full turn."""
        return self.field_of_view > 2 * math.pi - 1e-9


_KEPT = 16  # Lidars whose beams are kept


@dataclass(frozen=True, eq=False, repr=False)
class Beams(ShortRepr):
    """All beams of one turn, in the order in which they fire."""

    # azimuth, elevation: (N,), radians, in the sensor's frame at the beam's own instant.
    azimuth: FloatArray
    elevation: FloatArray
    time: FloatArray  # (N,), seconds since the first column fired
    ring: npt.NDArray[np.int64]  # int64 (N,), 0 is the lowest
    column: npt.NDArray[np.int64]  # int64 (N,), 0 fires first
    # (N, S, 3), unit, of the S rays of each beam, in the sensor's frame; the beam's middle is in the middle.
    directions: FloatArray

    def __len__(self) -> int:
        return len(self.azimuth)


@lru_cache(maxsize=_KEPT)
def lidar_beams(lidar: Lidar) -> Beams:
    """Find the beams of a turn.

    Columns of a full turn are field / n apart: the first and the last do not coincide. Columns of a narrower field
    reach from one end to the other.
    """
    rings = len(lidar.elevation)
    column, ring = (index.ravel() for index in np.indices((lidar.columns, rings)))
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
    """
    count = 2 * lidar.samples - 1
    steps = np.arange(1 - lidar.samples, lidar.samples) / count
    upwards, across = np.meshgrid(steps * lidar.divergence[1], steps * lidar.divergence[0], indexing="ij")
    return across.ravel(), upwards.ravel()


def unit_directions(azimuth: npt.ArrayLike, elevation: npt.ArrayLike) -> FloatArray:
    """Turn angles into directions: x = cos(e) cos(a), y = cos(e) sin(a), z = sin(e)."""
    a, e = np.asarray(azimuth, np.float64), np.asarray(elevation, np.float64)
    flat = np.cos(e)
    return np.stack(np.broadcast_arrays(flat * np.cos(a), flat * np.sin(a), np.sin(e)), -1)


def _of_rings(values: tuple[float, ...], rings: int) -> FloatArray:
    return np.array(values, np.float64) if values else np.zeros(rings)


def _wrapped(angle: FloatArray) -> FloatArray:
    """Angles in [-pi, pi)."""
    wrapped: FloatArray = (angle + np.pi) % (2 * np.pi) - np.pi
    return wrapped
