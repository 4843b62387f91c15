"""The difference between two cameras, as parameters of filters, cause by cause."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass

from simjudge.sim.sensors.camera.chain import Step
from simjudge.sim.sensors.camera_matching.cause_names import CAMERA_CAUSES
from simjudge.sim.sensors.camera_matching.frequency_fit import LEAST_SHARPENING, LONGEST, MOST_SHARPENING, SHORTEST

MOST_HAZE = 0.9
GAINS, EXPONENTS, SIZES = (0.05, 20.0), (0.2, 5.0), (0.95, 1.05)
WIDEST_BLUR, MOST_VIGNETTING, MOST_NOISE = 6.0, 3.0, 40.0
"""Ends of the ranges that are looked for: blur by its standard deviation in pixels, vignetting by its squared tangent,
noise by its standard deviation in grey levels of 255."""
SIDES = ("a", "b")
"""Whose pictures a filter changes."""


@dataclass(frozen=True)
class CameraDifference:
    """What leads from B's pictures to pictures as A's camera makes them.

    Filters add haze, blur, noise, sharpening, compression, fall-off and mosaic; none of them takes these away. Where B
    has more of it than A, the value is negative, or the side says so, and the filter acts on A's pictures: both sets
    are then equally bad.

    Attributes:
        blur: variance of the point-spread function, pixels squared.
        vignetting: squared tangent of the view's angle in the corners (cosine-fourth law).
        gain: of all colours of B, on display values.
        red, blue: further gains of B's red and blue; green has 1.
        exponent: of the power law of B's display values, full scale 1.
        pattern: Bayer pattern of a mosaic; empty for none.
        pattern_side: whose pictures lack the mosaic, "a" or "b".
        shot, read: noise of variance shot^2 I + read^2, grey levels of 255.
        noise_side: whose pictures lack the noise, "a" or "b".
        compression: 100 - quality of JPEG; 0 for none.
        air: of the air's light, red, green and blue, full scale 1.
        motion: pixels right and down of the path of a moving camera.
        motion_side: whose pictures lack the motion, "a" or "b".
        red_size, blue_size: of B's red and blue over green.
        radius: of the unsharp mask, pixels.
    """

    blur: float = 0.0
    vignetting: float = 0.0
    gain: float = 1.0
    red: float = 1.0
    blue: float = 1.0
    exponent: float = 1.0
    pattern: str = ""
    pattern_side: str = "b"
    shot: float = 0.0
    read: float = 0.0
    noise_side: str = "b"
    compression: int = 0
    haze: float = 0.0
    air: tuple[float, float, float] = (0.8, 0.8, 0.8)
    motion: tuple[float, float] = (0.0, 0.0)
    motion_side: str = "b"
    red_size: float = 1.0
    blue_size: float = 1.0
    sharpening: float = 0.0
    radius: float = 1.0

    def steps(self, side: str, causes: Collection[str] | None = None) -> list[Step]:
        """The filters for one side, in the order in which a camera has them.

        Args:
            causes: names of `CAUSES` that count; None for all.

        Returns:
            A chain on display values, empty where nothing changes.
        """
        found: list[Step] = []
        for cause in CAUSES:
            if causes is None or cause.name in causes:
                found += cause.steps(self, side)
        return found

    def causes(self) -> list[str]:
        """Names of the causes that change pictures by more than can be neglected."""
        return [cause.name for cause in CAUSES if any(cause.steps(self, side) for side in SIDES)]

    def side(self, name: str) -> str:
        """Whose pictures a cause changes."""
        return next(side for side in SIDES if _cause(name).steps(self, side))

    def at_end(self, name: str) -> list[str]:
        """What of a cause lies at the end of the range that is looked for, so that the true value may lie beyond."""
        found: dict[str, list[tuple[str, float, tuple[float, ...]]]] = {
            "haze": [("density", abs(self.haze), (MOST_HAZE,))],
            "motion_blur": [("length", max(map(abs, self.motion)), (LONGEST,))],
            "chromatic_aberration": [("red", self.red_size, SIZES), ("blue", self.blue_size, SIZES)],
            "blur": [("sigma", math.sqrt(abs(self.blur)), (WIDEST_BLUR,))],
            "vignetting": [("half_angle", abs(self.vignetting), (MOST_VIGNETTING,))],
            "exposure": [("gain", self.gain, GAINS)],
            "white_balance": [("red", self.red, GAINS), ("blue", self.blue, GAINS)],
            "contrast": [("exponent", self.exponent, EXPONENTS)],
            "noise": [("sigma", max(self.shot, self.read), (MOST_NOISE,))],
            "sharpening": [("amount", abs(self.sharpening), (MOST_SHARPENING,))],
        }
        return [parameter for parameter, value, ends in found.get(name, ())
                if any(math.isclose(value, end, rel_tol=0.02) for end in ends)]  # fmt: skip


@dataclass(frozen=True)
class CameraCause:
    """One way in which two cameras may differ.

    Attributes:
        name: as options and files write it.
        steps: the filters that undo it on one side; none where the difference can be neglected.
    """

    name: str
    words: str
    steps: Callable[[CameraDifference, str], list[Step]]


def _signed(value: float, side: str) -> float:
    """What one side gets of a signed difference, 0 or more."""
    return max(0.0, value if side == "b" else -value)


def _haze(difference: CameraDifference, side: str) -> list[Step]:
    density = _signed(difference.haze, side)
    air = dict(zip(("red", "green", "blue"), difference.air, strict=True))
    return [Step("haze", {"density": density, **air})] if density >= 0.01 else []


def _motion_blur(difference: CameraDifference, side: str) -> list[Step]:
    right, down = difference.motion
    length, angle = math.hypot(right, down), math.degrees(math.atan2(down, right)) % 180
    used = side == difference.motion_side and length >= SHORTEST
    return [Step("motion_blur", {"length": length, "angle": angle})] if used else []


def _aberration(difference: CameraDifference, side: str) -> list[Step]:
    red, blue = difference.red_size, difference.blue_size
    used = side == "b" and max(abs(math.log(red)), abs(math.log(blue))) >= 2e-4
    return [Step("chromatic_aberration", {"red": red, "blue": blue})] if used else []


def _sharpening(difference: CameraDifference, side: str) -> list[Step]:
    amount = _signed(difference.sharpening, side)
    used = amount >= LEAST_SHARPENING
    return [Step("sharpen", {"amount": amount, "radius": difference.radius})] if used else []


def _blur(difference: CameraDifference, side: str) -> list[Step]:
    sigma = math.sqrt(_signed(difference.blur, side))
    return [Step("gaussian_blur", {"sigma": sigma})] if sigma >= 0.25 else []


def _vignetting(difference: CameraDifference, side: str) -> list[Step]:
    angle = math.degrees(math.atan(math.sqrt(_signed(difference.vignetting, side))))
    return [Step("vignetting", {"half_angle": angle})] if angle >= 6.0 else []


def _exposure(difference: CameraDifference, side: str) -> list[Step]:
    gain = difference.gain
    used = side == "b" and abs(math.log(gain)) >= 0.01
    return [Step("white_balance", {"red": gain, "green": gain, "blue": gain})] if used else []


def _white_balance(difference: CameraDifference, side: str) -> list[Step]:
    red, blue = difference.red, difference.blue
    used = side == "b" and max(abs(math.log(red)), abs(math.log(blue))) >= 0.01
    return [Step("white_balance", {"red": red, "green": 1.0, "blue": blue})] if used else []


def _contrast(difference: CameraDifference, side: str) -> list[Step]:
    used = side == "b" and abs(math.log(difference.exponent)) >= 0.02
    return [Step("gamma", {"exponent": difference.exponent})] if used else []


def _mosaic(difference: CameraDifference, side: str) -> list[Step]:
    used = difference.pattern and side == difference.pattern_side
    return [Step("bayer", {"pattern": difference.pattern})] if used else []


def _noise(difference: CameraDifference, side: str) -> list[Step]:
    used = side == difference.noise_side and difference.shot**2 + difference.read**2 >= 0.5**2
    return [Step("shot_noise", {"shot": difference.shot, "read": difference.read})] if used else []


def _jpeg(difference: CameraDifference, side: str) -> list[Step]:
    strength = difference.compression if side == "b" else -difference.compression
    return [Step("jpeg", {"quality": 100 - strength})] if strength > 2 else []


_STEPS = {
    "haze": _haze,
    "motion_blur": _motion_blur,
    "chromatic_aberration": _aberration,
    "blur": _blur,
    "vignetting": _vignetting,
    "exposure": _exposure,
    "white_balance": _white_balance,
    "contrast": _contrast,
    "mosaic": _mosaic,
    "noise": _noise,
    "sharpening": _sharpening,
    "jpeg": _jpeg,
}
CAUSES = tuple(CameraCause(name, words, _STEPS[name]) for name, words in CAMERA_CAUSES.items())
"""All causes that filters undo, in the order in which they act in a camera."""


def cause_words(name: str) -> str:
    """A cause as sentences write it."""
    return _cause(name).words


def _cause(name: str) -> CameraCause:
    return next(cause for cause in CAUSES if cause.name == name)
