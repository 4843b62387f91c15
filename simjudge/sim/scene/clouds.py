"""Cloud cover: a weaker sun under a greyer sky, as an even veil without single clouds.

With the cover c, 0 to 1, and the share d of the sky in the light on level ground without clouds:

    all light on level ground   1 - 0.75 c^3.4                                 of that without clouds
    share of the sky in it      d + (1 - d) c^2

The sky's picture goes from its own to the overcast sky of the CIE, gray and three times as bright at the zenith as at
the horizon.

Source:
    Kasten and Czeplak, Solar and terrestrial radiation dependent on the amount and type of cloud, Solar Energy 24(2),
    1980 (there c in eighths, and d = 0.3). Moon and Spencer, Illumination from a non-uniform sky, 1942.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.sim.scene.scene_fields import luminance


class GradientSky(NamedTuple):
    """Linear RGB radiances (3,) of a sky that changes linearly with the sine of the elevation."""

    zenith: FloatArray
    horizon: FloatArray
    ground: FloatArray  # everywhere below the horizon

    @property
    def irradiance(self) -> FloatArray:
        """Of level ground: the integral of the radiance times the sine of the elevation."""
        return np.pi * (self.horizon + 2 * self.zenith) / 3


def light_left(cover: float) -> float:
    """The share of all light on level ground that clouds leave."""
    return 1 - 0.75 * float(cover**3.4)


def sun_left(cover: float) -> float:
    """The share of the sun's own light that clouds leave."""
    return light_left(cover) * (1 - cover**2)


def clouded(sky: GradientSky, sun: float, cover: float) -> GradientSky:
    """A sky under clouds (sun: luminance of the sun's irradiance on level ground, without clouds)."""
    own = float(luminance(sky.irradiance))
    if cover == 0 or own == 0:
        return sky
    brighter = light_left(cover) * (1 + sun / own * cover**2)
    gray = np.full(3, 9 * own / (7 * np.pi))  # zenith of an overcast sky that lights level ground as this one does
    return GradientSky(
        brighter * ((1 - cover) * sky.zenith + cover * gray),
        brighter * ((1 - cover) * sky.horizon + cover * gray / 3),
        light_left(cover) * sky.ground,
    )
