"""Fog before cameras and lidars: how much light it takes away, what it shows of itself, and what it sends back.

A camera sees I = J t + A (1 - t) of a surface's light J and the air's light A, with t = exp(-beta d) after d metres
(Koschmieder, 1924). Fog is given by one of three numbers:

density: the extinction coefficient beta itself, 1/m.
visibility: metres at which 2 % of a contrast is left: 3.912 / beta.
optical_range: metres at which 5 % of a beam is left, the meteorological optical range (MOR) of WMO: 2.996 / beta.

A lidar's light goes there and back. Of a surface at R0 metres with the reflectance rho, facing the beam, comes back

    (rho / pi) exp(-2 beta R0) / R0^2,

and of the fog before it, which sends back b = 0.046 / MOR a metre and steradian, the largest of

    b (c / 2) integral over t from 0 to 2 tau of sin^2(pi t / (2 tau)) x(r) exp(-2 beta r) / r^2, r = R - c t / 2 < R0,

tau the pulse's width at half its power, and x the share of the beam that the receiver sees: 0 nearer than 0.9 m, 1 from
1 m on. As for surfaces, half of the pulse's length, c tau / 2, is taken off the range R of the largest. The device
reports whichever is stronger.

Source:
    Hahner, Sakaridis, Dai and Van Gool, "Fog simulation on real LiDAR point clouds for 3D object detection in adverse
    weather", ICCV 2021, after Rasshofer, Spies and Spies, "Influences of weather phenomena on automotive laser radar
    systems", 2011. There reflectances are unknown, and a constant stands for them; here each surface has its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numba import njit

from simjudge.core.arrays import FloatArray

CONTRAST_LEFT = 0.02  # Of a contrast, at the visibility
BEAM_LEFT = 0.05  # Of a beam, at the meteorological optical range
_BACKSCATTER = 0.046  # Times 1 / MOR: of fog, 1 / sr
_LIGHT = 299_792_458.0  # m/s
_SEEN_FROM, _SEEN_WHOLLY = 0.9, 1.0  # Metres between which a receiver comes to see its own beam
_STEP = 0.1  # Metres between the ranges at which the fog's echo is computed
_PARTS = 300  # Into which the fog within a pulse is divided
_FARTHEST = 20.0  # Metres of a surface: beyond, the echo of the fog before it changes no more


def extinction(density: float | None, visibility: float | None, optical_range: float | None) -> float:
    """The extinction coefficient, 1/m; one of the three is given."""
    if density is not None:
        return density
    if visibility is not None:
        return -math.log(CONTRAST_LEFT) / visibility
    assert optical_range is not None  # noqa: S101 - the callers check it
    return -math.log(BEAM_LEFT) / optical_range


@dataclass(frozen=True)
class LidarFog:
    """Fog before a lidar."""

    density: float  # extinction coefficient, 1/m
    pulse: float = 20e-9  # width of the lidar's pulse at half its power, seconds

    def __post_init__(self) -> None:
        if not (0 < self.density < math.inf and 0 < self.pulse < math.inf):
            raise ValueError(f"fog: density {self.density}, pulse {self.pulse}: above 0 each")

    def left(self, distance: FloatArray) -> FloatArray:
        """The share of a lidar's light that fog leaves on the way there and back; 0 from infinity."""
        share: FloatArray = np.exp(-2 * self.density * distance)
        return share

    def echo(self, distance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The echo of the fog before surfaces at distances (N,), inf for none: its range, metres, and its strength.

        A strength of 1 is what a white surface facing the beam gives at that range in clear air.
        """
        ranges, strengths = _echoes(self)
        row = np.minimum(distance / _STEP, len(ranges) - 1).astype(np.int64)
        return ranges[row], strengths[row]


@lru_cache(maxsize=8)
def _echoes(fog: LidarFog) -> tuple[FloatArray, FloatArray]:
    """Range and strength of the fog's echo before surfaces at 0, 0.1, 0.2, ... metres; the last is for all farther."""
    limits = np.arange(round(_FARTHEST / _STEP) + 1) * _STEP
    strongest, place = _strongest(limits, fog.density, _LIGHT * fog.pulse / 2)
    back = _BACKSCATTER * fog.density / -math.log(BEAM_LEFT)
    # A white surface at r sends back 1 / (pi r^2).
    return place, strongest * back * math.pi * place**2


@njit(cache=True, nogil=True)
def _strongest(limits, density, delay):  # type: ignore[no-untyped-def]
    """The largest integral over r, and the range at which it is, for fog that ends at each limit."""
    largest, place = np.zeros(len(limits)), np.zeros(len(limits))
    for n in range(len(limits)):
        for k in range(int((limits[n] + 2 * delay) / _STEP) + 1):
            far, total = k * _STEP, 0.0
            begin, end = max(far - 2 * delay, _SEEN_FROM), min(far, limits[n])
            if end <= begin:
                continue
            width = (end - begin) / _PARTS
            for part in range(_PARTS):
                r = begin + (part + 0.5) * width
                seen = min((r - _SEEN_FROM) / (_SEEN_WHOLLY - _SEEN_FROM), 1.0)
                wave = math.sin(math.pi * (far - r) / (2 * delay))
                total += wave * wave * seen * math.exp(-2 * density * r) / (r * r)
            if total * width > largest[n]:
                largest[n], place[n] = total * width, far - delay
    return largest, place
