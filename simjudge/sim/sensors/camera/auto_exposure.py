"""Automatic exposure: each image is exposed by the brightness of those before it, as a camera's controller does.

    auto_exposure: {mean: 118, time_constant: 0.3, exposure: [0.01, 1], gain: [1, 16]}

The camera meters the light of each frame: the mean display value of its luminance, saturated as the image is. From
there it moves towards the wanted mean by 1 - exp(-dt / time_constant), in stops, for the next frame. Light comes from
the exposure (a longer or shorter one, or an aperture: multiples of the file's own) as long as it goes, then from the
amplifier, whose gain raises the noise too. The first frame is exposed as if the camera had looked at it for long.

The motion blur stays that of `exposure_time`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import model_validator

from simjudge.core.documents import Fields
from simjudge.core.field_types import Number, Vector, conflict
from simjudge.sim.sensors.camera.filters import FULL_SCALE, FloatImage
from simjudge.sim.sensors.camera.isp import gray, linear_light, srgb

_NANOSECONDS = 1e9
_STRIDE = 4
"""Every fourth pixel of every fourth row is metered."""
_DARKEST = 1e-4
"""Linear light that is metered where there is less: with none, no exposure would ever do."""
_HALVINGS = 40
"""Of the range in which the first frame's exposure is sought: to 1e-10 of a stop."""
_RANGE = Vector("least most", gt=0, largest=1e6)


@dataclass(frozen=True)
class MeteredFrame:
    """What a frame was exposed with, and what the camera saw.

    Attributes:
        stamp: of the frame, nanoseconds.
        exposure: light on the sensor, multiples of the file's.
        metered: linear light whose display value is the mean of the frame's, full scale 1.
    """

    stamp: int
    exposure: float
    gain: float
    metered: float

    @property
    def factor(self) -> float:
        """By what light is multiplied in all."""
        return self.exposure * self.gain


@dataclass(frozen=True)
class AutoExposure:
    """A camera's exposure controller.

    Attributes:
        mean: of the image's luminance that is wanted, grey levels of 255.
        time_constant: seconds in which 63 % of a difference is made good; 0: all of it by the next frame.
        exposure: least and most light, multiples of the file's.
        gain: least and most gain of the amplifier.
    """

    mean: float
    time_constant: float
    exposure: tuple[float, float]
    gain: tuple[float, float]

    def expose(self, light: FloatImage, stamp: int, before: MeteredFrame | None) -> MeteredFrame:
        """Choose the exposure of a frame, and meter it.

        Args:
            light: linear light (H, W, 3) with the file's own exposure and gain, full scale 1.
            stamp: of the frame, nanoseconds.
            before: the frame before; None: the camera has looked at this one for long.
        """
        grid = gray(light[::_STRIDE, ::_STRIDE])
        factor = self._settled(grid) if before is None else self._next(before, stamp)
        exposure = min(max(factor / self.gain[0], self.exposure[0]), self.exposure[1])
        amplified = min(max(factor / exposure, self.gain[0]), self.gain[1])
        return MeteredFrame(stamp, exposure, amplified, _meter(grid * np.float32(exposure * amplified)))

    def _next(self, before: MeteredFrame, stamp: int) -> float:
        seconds = max(stamp - before.stamp, 0) / _NANOSECONDS
        share = -math.expm1(-seconds / self.time_constant) if self.time_constant else 1.0
        return self._limited(before.factor * (self._wanted() / max(before.metered, _DARKEST)) ** share)

    def _settled(self, grid: FloatImage) -> float:
        """The factor that gives the wanted mean; the mean grows with it."""
        least, most = self._limited(0.0), self._limited(math.inf)
        if _meter(grid * np.float32(most)) <= self._wanted():
            return most
        low, high = math.log(least), math.log(most)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if _meter(grid * np.float32(math.exp(middle))) < self._wanted():
                low = middle
            else:
                high = middle
        return math.exp((low + high) / 2)

    def _wanted(self) -> float:
        return float(linear_light(np.array(self.mean / FULL_SCALE)))

    def _limited(self, factor: float) -> float:
        return min(max(factor, self.exposure[0] * self.gain[0]), self.exposure[1] * self.gain[1])


class AutoExposureFields(Fields):
    """Automatic exposure."""

    mean: Annotated[float, Number(gt=0, lt=255)] = 118.0
    """Mean of the image that is wanted, grey levels of 255; 118 is 18 % of the light of white."""
    time_constant: Annotated[float, Number(ge=0, le=1e4)] = 0.3
    """Seconds in which 63 % of a change of light is made good; 0: all of it by the next image."""
    exposure: Annotated[tuple[float, float], _RANGE] = (0.001, 1.0)
    """Least and most light on the sensor, multiples of the file's exposure."""
    gain: Annotated[tuple[float, float], _RANGE] = (1.0, 16.0)
    """Least and most gain of the amplifier, used where exposure does not do; it raises the noise too."""

    @model_validator(mode="after")
    def _check(self) -> AutoExposureFields:
        for name in ("exposure", "gain"):
            least, most = getattr(self, name)
            if least > most:
                raise conflict(f"the least is above the most: [{least:g}, {most:g}]; exchange them", name)
        return self

    def controller(self) -> AutoExposure:
        """The controller that it describes."""
        return AutoExposure(self.mean, self.time_constant, self.exposure, self.gain)


def _meter(grid: FloatImage) -> float:
    """Linear light whose display value is the mean of the pixels', each saturated at 0 and 1."""
    mean = np.array(srgb(np.clip(grid, 0, 1)).mean(dtype=np.float64))
    return float(linear_light(mean))
