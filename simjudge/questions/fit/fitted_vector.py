"""The parameters of a fit as a vector, in units in which a step of 1 is about equally large for all."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.sim.sensors.camera_matching.camera_difference import CameraDifference


@dataclass(frozen=True)
class FittedParameter:
    """One number of a camera.

    Attributes:
        name: as files and tables write it.
        part: the part of the camera that it belongs to, one of `FITTED`.
        unit: empty for none.
        logarithmic: a gain or an exponent, searched by its logarithm.
        step: of the search, in the parameter's unit or, where logarithmic, of the logarithm.
        get: the value of a difference; only what acts on B counts.
    """

    name: str
    part: str
    unit: str
    neutral: float
    low: float
    high: float
    logarithmic: bool
    step: float
    get: Callable[[CameraDifference], float]
    put: Callable[[CameraDifference, float], CameraDifference]

    def encode(self, value: float) -> float:
        """A value as a coordinate."""
        held = min(max(value, self.low), self.high)
        return (math.log(held) if self.logarithmic else held) / self.step

    @property
    def ends(self) -> list[float]:
        """The ends of the range that do change something: where a value lies there, the true one may lie beyond."""
        return [end for end in (self.low, self.high) if end != self.neutral]

    def decode(self, coordinate: float) -> float:
        """A coordinate as a value, inside the range."""
        value = coordinate * self.step
        return float(min(max(math.exp(min(value, 50.0)) if self.logarithmic else value, self.low), self.high))


def _noise(difference: CameraDifference) -> float:
    """Deviation of the noise at half of full scale."""
    return math.sqrt(difference.shot**2 / 2 + difference.read**2) if difference.noise_side == "b" else 0.0


def _motion(number: int) -> dict[str, Any]:
    """One of the two numbers of a motion, right and down."""

    def put(difference: CameraDifference, value: float) -> CameraDifference:
        right, down = (value if k == number else old for k, old in enumerate(difference.motion))
        return replace(difference, motion=(right, down), motion_side="b")

    return {"get": lambda d: d.motion[number] if d.motion_side == "b" else 0.0, "put": put}


PARAMETERS = (
    FittedParameter("haze", "haze", "", 0.0, 0.0, 0.9, logarithmic=False, step=0.05,
                    get=lambda d: max(d.haze, 0.0), put=lambda d, v: replace(d, haze=v)),
    FittedParameter("motion_right", "motion_blur", "px", 0.0, -30.0, 30.0, logarithmic=False, step=0.5, **_motion(0)),
    FittedParameter("motion_down", "motion_blur", "px", 0.0, -30.0, 30.0, logarithmic=False, step=0.5, **_motion(1)),
    FittedParameter("red_size", "chromatic_aberration", "", 1.0, 0.95, 1.05, logarithmic=True, step=0.001,
                    get=lambda d: d.red_size, put=lambda d, v: replace(d, red_size=v)),
    FittedParameter("blue_size", "chromatic_aberration", "", 1.0, 0.95, 1.05, logarithmic=True, step=0.001,
                    get=lambda d: d.blue_size, put=lambda d, v: replace(d, blue_size=v)),
    FittedParameter("blur", "blur", "px", 0.0, 0.0, 6.0, logarithmic=False, step=0.3,
                    get=lambda d: math.sqrt(max(d.blur, 0.0)), put=lambda d, v: replace(d, blur=v * v)),
    FittedParameter("vignetting", "vignetting", "°", 0.0, 0.0, 70.0, logarithmic=False, step=5.0,
                    get=lambda d: math.degrees(math.atan(math.sqrt(max(d.vignetting, 0.0)))),
                    put=lambda d, v: replace(d, vignetting=math.tan(math.radians(v)) ** 2)),
    FittedParameter("gain", "exposure", "", 1.0, 0.1, 10.0, logarithmic=True, step=0.1,
                    get=lambda d: d.gain, put=lambda d, v: replace(d, gain=v)),
    FittedParameter("red", "white_balance", "", 1.0, 0.2, 5.0, logarithmic=True, step=0.05,
                    get=lambda d: d.red, put=lambda d, v: replace(d, red=v)),
    FittedParameter("blue", "white_balance", "", 1.0, 0.2, 5.0, logarithmic=True, step=0.05,
                    get=lambda d: d.blue, put=lambda d, v: replace(d, blue=v)),
    FittedParameter("exponent", "contrast", "", 1.0, 0.3, 3.0, logarithmic=True, step=0.1,
                    get=lambda d: d.exponent, put=lambda d, v: replace(d, exponent=v)),
    FittedParameter("noise", "noise", "grey levels", 0.0, 0.0, 60.0, logarithmic=False, step=2.0,
                    get=_noise, put=lambda d, v: replace(d, shot=0.0, read=v, noise_side="b")),
    FittedParameter("sharpening", "sharpening", "", 0.0, 0.0, 4.0, logarithmic=False, step=0.1,
                    get=lambda d: max(d.sharpening, 0.0), put=lambda d, v: replace(d, sharpening=v)),
)  # fmt: skip
"""All numbers that can be fitted, in the order in which they act in a camera."""


def chosen_parameters(parts: Sequence[str]) -> list[FittedParameter]:
    """The numbers of some parts of a camera."""
    return [each for each in PARAMETERS if each.part in parts]


def encode(difference: CameraDifference, parameters: Sequence[FittedParameter]) -> FloatArray:
    """A difference as coordinates of the search.

    Returns:
        float64 (P,).
    """
    return np.array([each.encode(each.get(difference)) for each in parameters])


def decode(
    coordinates: FloatArray, parameters: Sequence[FittedParameter], held: CameraDifference | None = None
) -> CameraDifference:
    """Coordinates of the search as a difference; what is not fitted is as it was held, or nothing.

    Args:
        coordinates: (P,).
    """
    found = CameraDifference() if held is None else held
    for coordinate, each in zip(coordinates, parameters, strict=True):
        found = each.put(found, each.decode(float(coordinate)))
    return found
