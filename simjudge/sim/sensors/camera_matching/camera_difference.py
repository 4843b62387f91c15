"""The difference between two cameras, as parameters of filters, cause by cause; blur and sharpening from frequencies.

Both sets show like things, so that their mean powers differ by what the cameras do: a blur in one direction, a blur in
all, noise, sharpening, each on either side. All are fitted together; a motion or a sharpening is believed where the
powers fit much better with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import pstdev

import numpy as np
from scipy.optimize import least_squares

from simjudge.core.arrays import FloatArray, ShortRepr
from simjudge.sim.sensors.camera.chain import ENCODING, Step
from simjudge.sim.sensors.camera.filters import motion_kernel
from simjudge.sim.sensors.camera_matching.cause_names import CAMERA_CAUSES
from simjudge.sim.sensors.camera_matching.picture_statistics import TILE, PictureStatistics

LONGEST = 30.0  # Pixels of the longest path that is looked for: about half a tile
SHORTEST = 1.5  # Pixels of the shortest path that is believed
MOST_SHARPENING, WIDEST_RADIUS, NARROWEST_RADIUS = 4.0, 4.0, 0.5  # Range of sharpening that is looked for
LEAST_GLARE, MOST_GLARE = 0.01, 0.6  # Shares of light that are believed
LEAST_SHARPENING = 0.1  # Amount of sharpening from which it is believed
# Cycles per pixel: below, the window of a tile leaks; above, JPEG and mosaics have their own ways.
_LOWEST, _HIGHEST = 0.04, 0.46
_BETTER = 0.4  # Share of the squares that may be left where a motion or a sharpening is believed
_NOISE_UNIT = 1e-3
_LEAST_POWER = 1e-3  # Share of the power that a motion leaves at its zeros: windows leak
_LEFT = 2e-3  # Mean square of the logarithms below which nothing is left to be told
_ACROSS = np.fft.rfftfreq(TILE)[None, :].repeat(TILE, axis=0)
_DOWN = np.fft.fftfreq(TILE)[:, None].repeat(TILE // 2 + 1, axis=1)
_RADIUS = np.hypot(_ACROSS, _DOWN)
_EVEN = np.add.outer(np.arange(TILE), np.arange(TILE // 2 + 1)) % 2 == 0
_USED = _EVEN & (_RADIUS >= _LOWEST) & (_RADIUS <= _HIGHEST)
_SQUARED = _RADIUS[_USED] ** 2
_RING = np.rint(_RADIUS[_USED] * TILE).astype(np.int64)
_SHARPENED = ((0.7, 1.0), (0.7, 2.0), (-0.7, 1.0), (-0.7, 2.0))  # Amounts and radii from which sharpening is looked for
_LENGTHS = (2.0, 3.0, 4.5, 6.5, 9.0, 13.0, 18.0, 25.0)
_OTHER_LENGTHS = (4.0, 11.0, 20.0)
_ANGLES = tuple(np.arange(0.0, 180.0, 15.0).tolist())


@dataclass(frozen=True)
class FrequencyDifference:
    """What acts on B's pictures where positive, on A's where the side or the sign says so."""

    motion: tuple[float, float] = (0.0, 0.0)  # pixels right and down of the path; (0, 0) for none
    motion_side: str = "b"  # whose pictures lack the motion, "a" or "b"
    amount: float = 0.0  # of sharpening; below 0 for sharpening of A
    radius: float = 1.0  # of the sharpening, pixels


def frequency_difference(
    a: PictureStatistics, b: PictureStatistics, near: FrequencyDifference | None = None
) -> FrequencyDifference:
    """Find motion and sharpening between two sets, neither of which has filters against blur or noise."""
    powers = [np.asarray(statistics.spectrum[_USED]) for statistics in (a, b)]
    if min(float(power.min()) for power in powers) <= 0:
        return FrequencyDifference()
    fit = _Fit(np.log(powers[0] / powers[0].mean()), np.log(powers[1] / powers[1].mean()))
    if near is not None:
        along, sharpened = any(near.motion), near.amount != 0
        if not along and not sharpened:
            return FrequencyDifference()
        begin = _start((near.motion_side, *near.motion), (near.amount, near.radius))
        return fit.run(begin, near.motion_side, moved=along, sharp=sharpened, precise=True).difference()
    best = plain = _best([fit.run(_START + blur * _BLURRED) for blur in (-1, 0, 1)])
    if plain.left < _LEFT:
        return FrequencyDifference()
    moves = _motions(fit)
    moved = _best([fit.run(_start(move), move[0], moved=True) for move in moves])
    sharp = _best([fit.run(_start(None, amount), sharp=True) for amount in _SHARPENED])
    both = _best(
        [
            fit.run(_start(move, amount), move[0], moved=True, sharp=True)
            for move in (moves[0], (moved.side, float(moved.x[3]), float(moved.x[4])))
            for amount in _SHARPENED[::2]
        ]
    )
    for found in (moved, sharp, both):
        if found.believed and found.left <= _BETTER * best.left:
            best = found
    return fit.run(best.x, best.side, moved=best.moved, sharp=best.sharp, precise=True).difference()


def _best(found: Sequence[_Found]) -> _Found:
    return min(found, key=lambda fit: fit.left)


@dataclass(frozen=True, eq=False)
class _Found:
    """A fit: its parameters (see `_Fit`), which of them were free, and the mean square that is left."""

    x: FloatArray
    left: float
    side: str
    moved: bool
    sharp: bool

    @property
    def believed(self) -> bool:
        """Whether the motion is long enough, and the sharpening strong enough."""
        long_enough = not self.moved or math.hypot(self.x[3], self.x[4]) >= SHORTEST
        return long_enough and (not self.sharp or abs(self.x[5]) >= LEAST_SHARPENING)

    def difference(self) -> FrequencyDifference:
        motion = (float(self.x[3]), float(self.x[4])) if self.moved else (0.0, 0.0)
        amount, radius = (float(self.x[5]), float(self.x[6])) if self.sharp else (0.0, 1.0)
        return FrequencyDifference(motion, self.side, amount, radius)


@dataclass(frozen=True, repr=False, eq=False)
class _Fit(ShortRepr):
    """Logarithms of the powers of A and B, and a model that makes them equal.

    Parameters: the gain's logarithm, variance of a blur, noise in units of the mean power, motion right and down,
    amount of sharpening and its radius. Where blur, noise or amount is below 0, it acts on A.
    """

    a: FloatArray
    b: FloatArray

    def residual(self, x: FloatArray, side: str) -> FloatArray:
        gain, blur, noise, right, down, amount, radius = x
        moving = np.log(np.maximum(motion_power(right, down), _LEAST_POWER)) if right or down else 0.0
        sharper = 2 * np.log1p(abs(amount) * -np.expm1(-2 * np.pi**2 * radius**2 * _SQUARED))
        spread = 4 * np.pi**2 * _SQUARED

        def seen(power: FloatArray, sign: int, *, moves: bool) -> FloatArray:
            blurred = power - spread * max(sign * blur, 0.0) + (moving if moves else 0.0)
            noisy = np.logaddexp(blurred, math.log(max(sign * noise, 0.0) * _NOISE_UNIT + 1e-12))
            return np.asarray(noisy + (sharper if sign * amount > 0 else 0.0))

        of_b = seen(self.b + gain, 1, moves=side == "b")
        of_a = seen(self.a, -1, moves=side == "a")
        return np.asarray(of_a - of_b)

    def run(
        self, begin: FloatArray, side: str = "b", *, moved: bool = False, sharp: bool = False, precise: bool = False
    ) -> _Found:
        free = [0, 1, 2, *([3, 4] if moved else []), *([5, 6] if sharp else [])]
        low = np.array([-5, -36, -1000, -LONGEST, -LONGEST, -MOST_SHARPENING, NARROWEST_RADIUS])
        high = np.array([5, 36, 1000, LONGEST, LONGEST, MOST_SHARPENING, WIDEST_RADIUS])

        def left(chosen: FloatArray) -> FloatArray:
            x = begin.copy()
            x[free] = chosen
            return self.residual(x, side)

        inside = np.clip(begin[free], low[free] + 1e-9, high[free] - 1e-9)
        scale = np.array([1, 1, 1, 1, 1, 1, 1.0])[free]
        done = least_squares(
            left,
            inside,
            bounds=(low[free], high[free]),
            loss="soft_l1",
            f_scale=0.3,
            x_scale=scale,
            diff_step=1e-3,
            max_nfev=90 if precise else 30,
            ftol=1e-6 if precise else 1e-3,
        )
        x = begin.copy()
        x[free] = done.x
        return _Found(x, float(2 * done.cost / len(_SQUARED)), side, moved, sharp)


def motion_power(right: float, down: float) -> FloatArray:
    """How much of the power a motion leaves at each frequency that is used."""
    kernel = motion_kernel(math.hypot(right, down), math.degrees(math.atan2(down, right)))
    return np.asarray(np.abs(np.fft.rfft2(kernel, (TILE, TILE))) ** 2)[_USED] if len(kernel) <= TILE else _ONES


_ONES = np.ones(len(_SQUARED))


def _without_rings(values: FloatArray) -> FloatArray:
    """What is left where the mean of each ring of frequencies is taken off."""
    count = np.maximum(np.bincount(_RING), 1)
    return np.asarray(values - (np.bincount(_RING, values) / count)[_RING])


_Move = tuple[str, float, float]  # Whose pictures lack a motion, and pixels right and down


def _motions(fit: _Fit) -> list[_Move]:
    """The likeliest motion, the same at other lengths, and the likeliest on the other side, by the ratio in rings."""
    wanted = _without_rings(fit.a - fit.b)
    matches = sorted((float(wanted @ template), right, down) for right, down, template in _templates())
    (low, *other), (high, *first) = matches[0], matches[-1]
    side, rest = ("b", "a") if high >= -low else ("a", "b")
    first, other = (first, other) if side == "b" else (other, first)
    length = math.hypot(*first)
    return [
        (side, first[0], first[1]),
        (rest, other[0], other[1]),
        *(
            (side, first[0] * other_length / length, first[1] * other_length / length)
            for other_length in _OTHER_LENGTHS
        ),
    ]


@cache
def _templates() -> list[tuple[float, float, FloatArray]]:
    """Motions, and how they change the powers within rings, of length 1."""
    found = []
    for length in _LENGTHS:
        for angle in np.radians(_ANGLES).tolist():
            right, down = length * math.cos(angle), length * math.sin(angle)
            template = _without_rings(np.log(np.maximum(motion_power(right, down), 0.03)))
            found.append((right, down, np.asarray(template / np.linalg.norm(template))))
    return found


_START = np.array([0, 0, 0.01, 0, 0, 0, 1.0])
_BLURRED = np.array([0, 2.0, 0, 0, 0, 0, 0])


def _start(move: _Move | None, sharpening: tuple[float, float] = (0.0, 1.0)) -> FloatArray:
    changed = _START.copy()
    if move is not None:
        changed[3:5] = move[1:]
    changed[5:7] = sharpening
    return changed


MOST_HAZE = 0.9
GAINS, EXPONENTS, SIZES = (0.05, 20.0), (0.2, 5.0), (0.95, 1.05)
# Ends of the ranges that are looked for: blur by its standard deviation in pixels, vignetting by its squared tangent,
# noise by its standard deviation in grey levels of 255.
WIDEST_BLUR, MOST_VIGNETTING, MOST_NOISE = 6.0, 3.0, 40.0
SIDES = ("a", "b")  # Whose pictures a filter changes


@dataclass(frozen=True)
class CameraDifference:
    """What leads from B's pictures to pictures as A's camera makes them.

    Filters add haze, blur, noise, sharpening, compression, fall-off and mosaic; none of them takes these away. Where B
    has more of it than A, the value is negative, or the side says so, and the filter acts on A's pictures: both sets
    are then equally bad.
    """

    blur: float = 0.0  # variance of the point-spread function, pixels squared
    vignetting: float = 0.0  # squared tangent of the view's angle in the corners (cosine-fourth law)
    gain: float = 1.0  # of all colours of B, on display values
    # red, blue: further gains of B's red and blue; green has 1.
    red: float = 1.0
    blue: float = 1.0
    exponent: float = 1.0  # of the power law of B's display values, full scale 1
    pattern: str = ""  # Bayer pattern of a mosaic; empty for none
    pattern_side: str = "b"  # whose pictures lack the mosaic, "a" or "b"
    # shot, read: noise of variance shot^2 I + read^2, grey levels of 255.
    shot: float = 0.0
    read: float = 0.0
    noise_side: str = "b"  # whose pictures lack the noise, "a" or "b"
    compression: int = 0  # 100 - quality of JPEG; 0 for none
    haze: float = 0.0
    air: tuple[float, float, float] = (0.8, 0.8, 0.8)  # of the air's light, red, green and blue, full scale 1
    motion: tuple[float, float] = (0.0, 0.0)  # pixels right and down of the path of a moving camera
    motion_side: str = "b"  # whose pictures lack the motion, "a" or "b"
    # red_size, blue_size: of B's red and blue over green.
    red_size: float = 1.0
    blue_size: float = 1.0
    sharpening: float = 0.0
    radius: float = 1.0  # of the unsharp mask, pixels
    glare: float = 0.0  # share of B's light that is scattered; where B's light is known, else of its pixels
    glare_radius: float = 12.0  # pixels within which half of it falls

    def steps(self, side: str, causes: Collection[str] | None = None) -> list[Step]:
        """The filters for one side, in the order in which a camera has them; `causes`: names of `CAUSES` that count."""
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

    def at_end(self, name: str, refits: Sequence[CameraDifference] = ()) -> list[str]:
        """What of a cause lies at the end of the range that is looked for, so that the true value may lie beyond.

        `refits`: the same estimated again; two of their standard deviations from an end are at the end.
        """
        again = [dict(each.ranges(name)) for each in refits]
        return [
            parameter
            for parameter, (value, ends) in self.ranges(name)
            for error in [2 * pstdev(each[parameter][0] for each in again) if again else 0.0]
            if any(math.isclose(value, end, rel_tol=0.02, abs_tol=error) for end in ends)
        ]

    def ranges(self, name: str) -> list[tuple[str, tuple[float, tuple[float, ...]]]]:
        """The numbers of a cause with the ends of what is looked for."""
        found: dict[str, list[tuple[str, tuple[float, tuple[float, ...]]]]] = {
            "glare": [("share", (self.glare, (MOST_GLARE,)))],
            "haze": [("density", (abs(self.haze), (MOST_HAZE,)))],
            "motion_blur": [("length", (max(map(abs, self.motion)), (LONGEST,)))],
            "chromatic_aberration": [("red", (self.red_size, SIZES)), ("blue", (self.blue_size, SIZES))],
            "blur": [("sigma", (math.sqrt(abs(self.blur)), (WIDEST_BLUR,)))],
            "vignetting": [("half_angle", (abs(self.vignetting), (MOST_VIGNETTING,)))],
            "exposure": [("gain", (self.gain, GAINS))],
            "white_balance": [("red", (self.red, GAINS)), ("blue", (self.blue, GAINS))],
            "contrast": [("exponent", (self.exponent, EXPONENTS))],
            "noise": [("sigma", (max(self.shot, self.read), (MOST_NOISE,)))],
            "sharpening": [("amount", (abs(self.sharpening), (MOST_SHARPENING,)))],
        }
        return found.get(name, [])


@dataclass(frozen=True)
class CameraCause:
    """One way in which two cameras may differ."""

    name: str  # as options and files write it
    words: str
    # The filters that undo it on one side; none where the difference can be neglected.
    steps: Callable[[CameraDifference, str], list[Step]]


def _signed(value: float, side: str) -> float:
    """What one side gets of a signed difference, 0 or more."""
    return max(0.0, value if side == "b" else -value)


def _glare(difference: CameraDifference, side: str) -> list[Step]:
    scattered = Step("glare", {"share": difference.glare, "radius": difference.glare_radius})
    return [scattered, Step(ENCODING)] if side == "b" and difference.glare >= LEAST_GLARE else []


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
    "glare": _glare,
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
# All causes that filters undo, in the order in which they act in a camera.
CAUSES = tuple(CameraCause(name, words, _STEPS[name]) for name, words in CAMERA_CAUSES.items())


def cause_words(name: str) -> str:
    """A cause as sentences write it."""
    return _cause(name).words


def _cause(name: str) -> CameraCause:
    return next(cause for cause in CAUSES if cause.name == name)
