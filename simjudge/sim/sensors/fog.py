"""Fog and dust before cameras and lidars: how much light they take away, what they show and send back of themselves.

A camera sees I = J t + A (1 - t) of a surface's light J and the air's light A, with t = exp(-beta d) after d metres
(Koschmieder, 1924). Fog and dust are given by one of three numbers:

density: the extinction coefficient beta itself, 1/m.
visibility: metres at which 2 % of a contrast is left: 3.912 / beta.
optical_range: metres at which 5 % of a beam is left, the meteorological optical range (MOR) of WMO: 2.996 / beta.

A lidar's light goes there and back. Of a surface at R0 metres with the reflectance rho, facing the beam, comes back

    (rho / pi) exp(-2 beta R0) / R0^2,

and of the fog before it, which sends back b = 0.046 / MOR = beta / 65 a metre and steradian, the largest of

    b (c / 2) integral over t from 0 to 2 tau of sin^2(pi t / (2 tau)) x(r) exp(-2 beta r) / r^2, r = R - c t / 2 < R0,

tau the pulse's width at half its power, and x the share of the beam that the receiver sees: 0 nearer than 0.9 m, 1 from
1 m on. As for surfaces, half of the pulse's length, c tau / 2, is taken off the range R of the largest. The device
reports whichever is stronger. Dust is the same with b = beta / 50: its light is sent back more.

Source:
    Hahner, Sakaridis, Dai and Van Gool, "Fog simulation on real LiDAR point clouds for 3D object detection in adverse
    weather", ICCV 2021, after Rasshofer, Spies and Spies, "Influences of weather phenomena on automotive laser radar
    systems", 2011. There reflectances are unknown, and a constant stands for them; here each surface has its own.
    Dust: Shin and others, "On the spectral depolarisation and lidar ratio of mineral dust", Atmospheric Chemistry and
    Physics 18, 2018: beta / b is 35 to 45 sr for dust of the Great Basin, 50 to 70 sr for that of the Sahara.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.numba_cache import njit

CONTRAST_LEFT = 0.02  # Of a contrast, at the visibility
BEAM_LEFT = 0.05  # Of a beam, at the meteorological optical range
FOG_BACKSCATTER = 0.046 / -math.log(BEAM_LEFT)  # Times the extinction: 0.046 / MOR; 1 / sr
DUST_BACKSCATTER = 1 / 50  # Likewise
LIGHT = 299_792_458.0  # m/s
_SEEN_FROM, SEEN_WHOLLY = 0.9, 1.0  # Metres between which a receiver comes to see its own beam
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
class LidarAir:
    """Fog, dust or both before a lidar."""

    density: float  # extinction coefficient, 1/m
    pulse: float = 20e-9  # width of the lidar's pulse at half its power, seconds
    backscatter: float = FOG_BACKSCATTER  # what is sent back a steradian, as a share of the extinction

    def __post_init__(self) -> None:
        if not all(0 < value < math.inf for value in (self.density, self.pulse, self.backscatter)):
            found = f"density {self.density}, pulse {self.pulse}, backscatter {self.backscatter}"
            raise ValueError(f"fog: {found}: above 0 each")

    def left(self, distance: FloatArray) -> FloatArray:
        """The share of a lidar's light that is left on the way there and back; 0 from infinity."""
        share: FloatArray = np.exp(-2 * self.density * distance)
        return share

    def echo(self, distance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The echo of the air before surfaces at distances (N,), inf for none: its range, metres, and its strength.

        A strength of 1 is what a white surface facing the beam gives at that range in clear air.
        """
        ranges, strengths = _echoes(self)
        row = np.minimum(distance / _STEP, len(ranges) - 1).astype(np.int64)
        return ranges[row], strengths[row]


@lru_cache(maxsize=8)
def _echoes(air: LidarAir) -> tuple[FloatArray, FloatArray]:
    """Range and strength of the air's echo before surfaces at 0, 0.1, 0.2, ... metres; the last is for all farther."""
    limits = np.arange(round(_FARTHEST / _STEP) + 1) * _STEP
    strongest, place = _strongest(limits, air.density, LIGHT * air.pulse / 2)
    # A white surface at r sends back 1 / (pi r^2).
    return place, strongest * air.backscatter * air.density * math.pi * place**2


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
                seen = min((r - _SEEN_FROM) / (SEEN_WHOLLY - _SEEN_FROM), 1.0)
                wave = math.sin(math.pi * (far - r) / (2 * delay))
                total += wave * wave * seen * math.exp(-2 * density * r) / (r * r)
            if total * width > largest[n]:
                largest[n], place[n] = total * width, far - delay
    return largest, place
