"""What surfaces send back to a radar: radar cross sections of what its rays meet.

A ray stands for a solid angle W; at a range r, and met at an angle t from its normal, it stands for r^2 W / cos t of a
surface. A surface that reflects the share p of a wave's power when met squarely gives, by square metre,

    (1 - k) p exp(-tan^2 t / m^2) / (m^2 cos^4 t) + 4 k p cos^2 t

of radar cross section: what it mirrors, spread by an unevenness of the rms slope m (the geometric-optics limit of
Kirchhoff's approximation: Hagfors 1964, Barrick 1968), and the share k that it scatters to all sides (Lambert).
A sphere of radius a then has pi a^2 (1 + m^2 / 2) of the first, as by optics, and 8/3 pi a^2 of the second. Waves of
different rays have random phases: the sum of those in a cell glitters from reading to reading, as real echoes do.

Three surfaces at right angles send waves back to where they came from, in phase: rays are followed through three
mirrors. Where they come back parallel to themselves, their areas across the ray add up to an aperture A of one corner,

    4 pi A^2 / lambda^2, at most pi r^2,

4 pi a^4 / (3 lambda^2) for a triangular one of three edges a seen along its axis. The limit is that of a mirror of any
size, which shows the radar its own image at 2 r. Surfaces that reflect less than half mirror nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, ShortRepr
from simjudge.sim.sensors.radar.radar import Radar

MIRROR = 0.5  # Of a wave's power: surfaces that reflect less are too rough and lossy to be part of a corner
PARALLEL = 1e-3  # Radians between a wave and where it came from, within which it comes back
Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Echoes(ShortRepr):
    """Points that send waves back. Columns of E."""

    position: FloatArray  # (E, 3), in the sensor's frame, metres
    speed: FloatArray  # (E,), range rate, m/s
    section: FloatArray  # (E,), radar cross section, m^2
    thing: Indices  # int64 (E,), a number of what it is of

    def __len__(self) -> int:
        return len(self.section)


def aim_rays(radar: Radar, random: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Directions (N, 3) of a reading's rays in the sensor's frame, and the solid angle (N,) that each stands for.

    One lies anywhere within each of equal cells of azimuth and elevation: so the mean of many readings is exact.
    """
    width, height = radar.field_of_view
    columns, rows = (max(round(angle / radar.spacing), 1) for angle in (width, height))
    row, column = (index.ravel() for index in np.indices((rows, columns)))
    azimuth = -width / 2 + width * (column + random.random(rows * columns)) / columns
    elevation = -height / 2 + height * (row + random.random(rows * columns)) / rows
    flat = np.cos(elevation)
    direction = np.stack([flat * np.cos(azimuth), flat * np.sin(azimuth), np.sin(elevation)], 1)
    return direction, flat * (width / columns) * (height / rows)


def rough_sections(radar: Radar, area: FloatArray, cosine: FloatArray, reflected: FloatArray) -> FloatArray:
    """Radar cross sections (m^2) of pieces of surfaces, their areas (m^2) across the ray."""
    cosine = np.clip(cosine, 1e-6, 1.0)
    spread = np.exp(-(1 / cosine**2 - 1) / radar.slope**2) / (radar.slope**2 * cosine**4)
    section: FloatArray = reflected * (area / cosine) * ((1 - radar.diffuse) * spread + 4 * radar.diffuse * cosine**2)
    return section


def corner_section(radar: Radar, area: float, distance: float) -> float:
    """Radar cross section (m^2) of what sends an area (m^2) of a wave back in phase, so far away (metres)."""
    return min(4 * math.pi * area**2 / radar.wavelength**2, math.pi * distance**2)
