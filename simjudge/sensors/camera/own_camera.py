"""What a camera's file asks of Chrono's own cameras, under the key `chrono`; other engines refuse such a camera.

    chrono: {noise: {constant: {mean: 0, deviation: 0.01}}}          # ChFilterCameraNoiseConstNormal
    chrono: {noise: {pixel_dependent: {slope: 0.0004, intercept: 0.0004}}}     # ChFilterCameraNoisePixDep
    chrono:
      physical:                            # ChPhysCameraSensor
        aperture: 1.6                      # F-number
        exposure: 0.01                     # seconds
        iso: 100
        focal_length: 0.012                # metres
        focus_distance: 3.0                # metres
        vignetting: true                   # its stages, each off if left out
        defocus: true
        exposure_to_value: true            # aperture, exposure and ISO make the brightness
        noise: true                        # not together with exposure_to_value

The camera's own `filters` follow, as ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from simjudge.core.errors import SimjudgeError

_NOISES = {"constant": ("mean", "deviation"), "pixel_dependent": ("slope", "intercept")}
LIGHT = 1e7 * 250 * 5.86e-6**2
"""Aggregator gain x scene light x pixel area, ChPhysCameraSensor's defaults: a radiance of 1 becomes LIGHT x exposure x
ISO / aperture^2 of full scale with exposure_to_value."""


@dataclass(frozen=True)
class ChronoNoise:
    """Noise that Chrono adds to the gamma-encoded picture, each colour of each pixel on its own; full scale is 1.

    Attributes:
        kind: "constant": normal with a mean and a deviation; "pixel_dependent": normal with the variance
            slope x value + intercept.
        mean, deviation: of the constant kind.
        slope, intercept: of the other.
    """

    kind: Literal["constant", "pixel_dependent"]
    mean: float = 0.0
    deviation: float = 0.0
    slope: float = 0.0
    intercept: float = 0.0


@dataclass(frozen=True)
class ChronoPhysical:
    """Settings of ChPhysCameraSensor, in its own units.

    Attributes:
        aperture: F-number.
        exposure: seconds.
        iso: ISO speed.
        focal_length, focus_distance: metres; the sensor's width follows from the camera's lens.
        vignetting, defocus, noise, exposure_to_value: which of its stages work; the aggregation of light always does
            where exposure_to_value works.
    """

    aperture: float = 1.6
    exposure: float = 0.01
    iso: float = 100.0
    focal_length: float = 0.012
    focus_distance: float = 3.0
    vignetting: bool = False
    defocus: bool = False
    noise: bool = False
    exposure_to_value: bool = False


OwnCamera = ChronoNoise | ChronoPhysical


def read_own(where: str, given: Any) -> OwnCamera:
    """What stands under the key.

    Args:
        where: the file and the key, for messages.
        given: what YAML made of it.

    Raises:
        SimjudgeError: it is something else; the message names the field.
    """
    kind, content = _single(where, given, ("noise", "physical"))
    if kind == "physical":
        return _physical(f"{where}.physical", content)
    name, values = _single(f"{where}.noise", content, tuple(_NOISES))
    inside = f"{where}.noise.{name}"
    _only(inside, values, _NOISES[name])
    low = {"mean": -1.0}
    found = {key: _number(inside, key, values.get(key, 0.0), low.get(key, 0.0), 1.0) for key in _NOISES[name]}
    return ChronoNoise("constant" if name == "constant" else "pixel_dependent", **found)


def _physical(where: str, given: Any) -> ChronoPhysical:
    types = {field.name: type(field.default) for field in fields(ChronoPhysical)}
    _only(where, given, tuple(types))
    found: dict[str, Any] = {}
    for name, value in given.items():
        if types[name] is float:
            found[name] = _number(where, name, value, 1e-9, 1e9)
        elif isinstance(value, bool):
            found[name] = value
        else:
            raise SimjudgeError(f"{where}.{name}: true or false is needed, not {value!r}")
    made = ChronoPhysical(**found)
    if made.noise and made.exposure_to_value:
        # phys_cam_ops.cu: (signal + 1 electron/s x t) x ISO, the signal LIGHT x t / aperture^2 at radiance 1.
        times = made.aperture**2 / LIGHT
        raise SimjudgeError(
            f"{where}: noise, exposure_to_value: Chrono's default dark current, which Python cannot set, is {times:.0f}"
            " times the light of white at this aperture; leave one of the two out"
        )
    return made


def _single(where: str, given: Any, known: tuple[str, ...]) -> tuple[str, Any]:
    if not isinstance(given, Mapping) or len(given) != 1 or next(iter(given)) not in known:
        raise SimjudgeError(f"{where}: one of {', '.join(known)} is needed, with its figures")
    return next(iter(given.items()))


def _only(where: str, given: Any, known: tuple[str, ...]) -> None:
    if not isinstance(given, Mapping):
        raise SimjudgeError(f"{where}: {{{known[0]}: ..., ...}} is needed")
    unknown = [key for key in given if key not in known]
    if unknown:
        raise SimjudgeError(f"{where}.{unknown[0]}: no such field; there are {', '.join(known)}")


def _number(where: str, name: str, value: Any, low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise SimjudgeError(f"{where}.{name}: a number from {low:g} to {high:g} is needed, not {value!r}")
    return float(value)
