"""From pictures alone: how two cameras differ, how far that may be off, and how bright a scene's lights must be.

Each statistic answers to one parameter most, but others move it too: blur hides noise, gains amplify it. So the filters
found so far act on a sample of the pictures before it is measured again (indirect inference), in a few rounds.

Two ways tell it. The estimate on drawn pictures says how pictures spread it. The estimate on pictures whose cameras
differ by just what was found says by how much it errs where nothing spreads: levels are rounded, and searches stop.

Light adds up: a picture in linear light is a sum of what each kind of light alone gives. So a few renderings, each
without one kind, tell by least squares how bright each kind is in another camera's pictures of the same view.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

from simjudge.core.arrays import FloatArray, ShortRepr
from simjudge.core.errors import Advance, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.images import ImageError, RgbImage
from simjudge.sim.sensors.camera.chain import Step, apply_steps
from simjudge.sim.sensors.camera.filters import WIDEST_GLARE
from simjudge.sim.sensors.camera.isp import linear_light
from simjudge.sim.sensors.camera_matching.camera_difference import (
    EXPONENTS,
    GAINS,
    LONGEST,
    MOST_GLARE,
    MOST_HAZE,
    MOST_NOISE,
    MOST_SHARPENING,
    MOST_VIGNETTING,
    NARROWEST_RADIUS,
    SIZES,
    WIDEST_BLUR,
    WIDEST_RADIUS,
    CameraDifference,
    FrequencyDifference,
    frequency_difference,
)
from simjudge.sim.sensors.camera_matching.picture_statistics import (
    PictureStatistics,
    ToneDifference,
    colour_sizes,
    jpeg_quality,
    measure_pictures,
    mosaic_contrast,
    noise_variances,
    sharpness_difference,
    tone_difference,
    vignetting_difference,
)

SAMPLE = 16  # Pictures of each set that are measured, evenly chosen
ROUNDS = 3  # How often every cause is estimated, with the filters found for the others in place
_NARROW_BLUR = 0.5  # Standard deviation from which on wider blurs are tried, pixels
_LEAST_SHARPNESS = 0.02  # Difference of `sharpness_difference` below which blur is not looked for: 0.1 px
_MOSAIC_CONTRAST = 0.05  # `mosaic_contrast` from which a mosaic is believed
_LEAST_QUALITY = 3  # Difference of two JPEG qualities below which they are taken for equal
_LEAST_MISFIT = 0.01  # What tones must be off by without haze, so that haze is looked for
# Share of this that may be left with haze, and the lift of each colour from which haze is believed, full scale 1.
_BETTER, _LEAST_LIFT = 0.65, 0.01
_LEAST_AIR = 0.4  # Darkest light of the air that is believed, full scale 1: haze is brighter than most of what it hides
_LIKELY_AIR = 0.8  # Light of the air where equal exposure would make it darker, or brighter than full scale
_DETAIL_FREQUENCY = 0.5  # Cycles per pixel about which the diagonal detail of noise lies
_BISECTIONS = 8


@dataclass(repr=False, eq=False)
class PicturePair(ShortRepr):
    """A sample of both sets' pictures, and what they show behind filters."""

    a: Sequence[RgbImage]
    b: Sequence[RgbImage]
    near: bool = False  # whether a search may stay near what was found before, on like pictures
    # Statistics by side and chain; the same chain is not measured twice.
    measured: dict[tuple[str, str], PictureStatistics] = field(default_factory=dict)

    def statistics(self, difference: CameraDifference) -> tuple[PictureStatistics, PictureStatistics]:
        """Statistics of both sides behind the filters of a difference."""
        return self._of("a", difference.steps("a")), self._of("b", difference.steps("b"))

    def _of(self, side: str, steps: Sequence[Step]) -> PictureStatistics:
        key = (side, repr([(step.name, sorted(step.parameters.items())) for step in steps]))
        if key not in self.measured:
            images = self.a if side == "a" else self.b
            seen = (apply_steps(image, steps, number) if steps else image for number, image in enumerate(images))
            self.measured[key] = measure_pictures(seen)
        return self.measured[key]


def sample_pictures(frames: FrameSet, count: int = SAMPLE) -> list[RgbImage]:
    """Read some pictures of a set, evenly chosen (count: at most so many; damaged and missing ones are passed over)."""
    if frames.images is None:
        raise SimjudgeError(f"{frames.name}: has no pictures; its camera cannot be told from labels")
    found: list[RgbImage] = []
    for index in np.unique(np.linspace(0, len(frames) - 1, min(count, len(frames))).round().astype(int)):
        if frames.images.has(int(index)):
            try:
                found.append(frames.images.read(int(index)))
            except ImageError:
                continue
    if not found:
        raise SimjudgeError(f"{frames.name}: no picture can be read")
    return found


def estimate_difference(
    a: Sequence[RgbImage],
    b: Sequence[RgbImage],
    *,
    rounds: int = ROUNDS,
    start: CameraDifference | None = None,
    advance: Advance | None = None,
) -> CameraDifference:
    """Estimate what leads from B's pictures to pictures as A's camera makes them; pairs of one scene are best."""
    pair, found = PicturePair(a, b, start is not None), start or CameraDifference()
    total = rounds * len(_ESTIMATORS)
    for number in range(total):
        found = _ESTIMATORS[number % len(_ESTIMATORS)](pair, found)
        if advance is not None:
            advance(number + 1, total)
    return found


def _haze(pair: PicturePair, found: CameraDifference) -> CameraDifference:
    """Haze lifts dark levels, which neither gains nor a power law do. Gains and exponent are found beside it."""
    bare = replace(found, haze=0.0, gain=1.0, red=1.0, blue=1.0, exponent=1.0)
    a, b = pair.statistics(bare)
    plain = tone_difference(a, b).misfit
    for first, second, sign in ((a, b, 1.0), (b, a, -1.0)):
        lifted = tone_difference(first, second, offsets=True)
        if plain >= _LEAST_MISFIT and lifted.misfit <= _BETTER * plain and lifted.offsets.min() > _LEAST_LIFT:
            density, air = _air(lifted)
            hazy = replace(bare, haze=sign * density, air=air)
            if sign < 0:
                return _tone(pair, hazy)
            return _with_tone(hazy, lifted.gains / (1 - density), lifted.exponent)
    return replace(found, haze=0.0)


def _air(lifted: ToneDifference) -> tuple[float, tuple[float, float, float]]:
    """Share and light of haze, from gains and offsets; exposure is taken as equal where the air is then bright enough.

    gain (1 - density) and gain density air are known, so that one of the three is free.
    """
    gain, lift = float(lifted.gains[1]), float(lifted.offsets[1])
    air = lift / max(1 - gain, 1e-6)
    air = air if gain < 1 and _LEAST_AIR <= air <= 1 else _LIKELY_AIR
    density = min((lift / gain) / (air + lift / gain), MOST_HAZE)
    # The same density in all colours; white balance acts on the air's light too.
    colours = lifted.offsets / lifted.gains * (1 - density) / density
    red, green, blue = (float(np.clip(colour, 0, 2)) for colour in colours)
    return density, (red, green, blue)


def _tone(pair: PicturePair, found: CameraDifference) -> CameraDifference:
    """Gains and exponent: what is left is put behind what was found."""
    left = tone_difference(*pair.statistics(found))
    gains = np.array([found.red, 1.0, found.blue]) * found.gain * left.gains ** (1 / found.exponent)
    return _with_tone(found, gains, found.exponent * left.exponent)


def _with_tone(found: CameraDifference, gains: FloatArray, exponent: float) -> CameraDifference:
    gain = float(np.clip(gains[1], *GAINS))
    red, blue = (float(np.clip(gains[colour] / gain, *GAINS)) for colour in (0, 2))
    return replace(found, gain=gain, red=red, blue=blue, exponent=float(np.clip(exponent, *EXPONENTS)))


def _vignetting(pair: PicturePair, found: CameraDifference) -> CameraDifference:
    """Fall-off: gains behind it raise ratios to the exponent."""
    left = vignetting_difference(*pair.statistics(found)) / found.exponent
    return replace(found, vignetting=float(np.clip(found.vignetting + left, -MOST_VIGNETTING, MOST_VIGNETTING)))


def _aberration(pair: PicturePair, found: CameraDifference) -> CameraDifference:
    """Sizes of red and blue: what is left is put behind what was found."""
    a, b = (colour_sizes(statistic) for statistic in pair.statistics(found))
    red, blue = (
        float(np.clip(size * (1 + left), *SIZES))
        for size, left in zip((found.red_size, found.blue_size), a - b, strict=True)
    )
    return replace(found, red_size=red, blue_size=blue)


def _frequencies(pair: PicturePair, found: CameraDifference) -> CameraDifference:
    """Motion and sharpening, found beside blur and noise, which are then found behind them."""
    bare = replace(found, motion=(0.0, 0.0), sharpening=0.0, blur=0.0, shot=0.0, read=0.0)
    near = FrequencyDifference(found.motion, found.motion_side, found.sharpening, found.radius) if pair.near else None
    left = frequency_difference(*pair.statistics(bare), near)
    return replace(found, motion=left.motion, motion_side=left.motion_side, sharpening=left.amount, radius=left.radius)


def _blur(pair: PicturePair, found: CameraDifference) -> CameraDifference:
    """Blur: both sides are equally sharp behind it."""
    bare = replace(found, blur=0.0)

    def missing(blur: float) -> float:
        return sharpness_difference(*pair.statistics(replace(found, blur=blur)))

    first = missing(0.0)
    if abs(first) < _LEAST_SHARPNESS:
        return bare
    sign = math.copysign(1.0, first)
    # Behind noise, far too wide a blur looks sharp again: the edges that are left are noise. So the narrowest counts.
    low, high = 0.0, _NARROW_BLUR
    while high < WIDEST_BLUR and missing(sign * high**2) * sign > 0:
        low, high = high, min(2 * high, WIDEST_BLUR)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if missing(sign * middle**2) * sign > 0 else (low, middle)
    return replace(found, blur=sign * ((low + high) / 2) ** 2)


def _noise(pair: PicturePair, found: CameraDifference) -> CameraDifference:
    """Noise: variances add, so that what is missing is added to what was found. Behind JPEG they do not."""
    if found.compression:
        return _compressed_noise(pair, found)
    sign = 1.0 if found.noise_side == "b" else -1.0
    brightness, missing = _common_bins(pair, found)
    # Sharpening stands behind the noise, and makes its fine detail stronger.
    sharper = 1 + abs(found.sharpening) * -math.expm1(-2 * (math.pi * found.radius) ** 2 * _DETAIL_FREQUENCY**2)
    missing = missing / sharper**2
    if not len(brightness):
        return found
    wanted = missing + sign * (found.shot**2 * brightness + found.read**2)
    side, sign = ("b", 1.0) if wanted.mean() >= 0 else ("a", -1.0)
    (shot, read), _ = nnls(np.stack([brightness, np.ones(len(brightness))], axis=1), sign * wanted)
    return replace(found, shot=math.sqrt(shot), read=math.sqrt(read), noise_side=side)


def _compressed_noise(pair: PicturePair, found: CameraDifference) -> CameraDifference:
    """Noise before JPEG: as much of one brightness as leaves both sides equally noisy behind it."""
    bare = replace(found, shot=0.0, read=0.0)
    first = _common_bins(pair, bare)[1]
    if not len(first) or abs(first.mean()) < 1e-3:
        return bare
    sign, side = (1.0, "b") if first.mean() > 0 else (-1.0, "a")
    low, high = 0.0, MOST_NOISE
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        left = _common_bins(pair, replace(bare, read=middle, noise_side=side))[1]
        low, high = (middle, high) if len(left) and sign * left.mean() > 0 else (low, middle)
    return replace(bare, read=(low + high) / 2, noise_side=side)


def _common_bins(pair: PicturePair, found: CameraDifference) -> tuple[FloatArray, FloatArray]:
    """Brightness that both sets hold, and by how much A's variance is larger there."""
    a, b = (noise_variances(statistic) for statistic in pair.statistics(found))
    common, in_a, in_b = np.intersect1d(a[0], b[0], return_indices=True)
    return common, a[1][in_a] - b[1][in_b]


def _mosaic(pair: PicturePair, found: CameraDifference) -> CameraDifference:
    """Mosaic: the side that lacks it gets it. Its grid shows in the pictures as they are."""
    a, b = (mosaic_contrast(statistic) for statistic in pair.statistics(CameraDifference()))
    if max(a[0], b[0]) < _MOSAIC_CONTRAST or abs(a[0] - b[0]) < max(a[0], b[0]) / 2:
        return replace(found, pattern="")
    more, side = (a, "b") if a[0] > b[0] else (b, "a")
    return replace(found, pattern=more[1], pattern_side=side)


def _jpeg(pair: PicturePair, found: CameraDifference) -> CameraDifference:
    """JPEG: its quality can be read off the pictures, behind what else was found.

    Whatever acts behind a JPEG file hides its traces: noise, a gain, a blur. So where B is of JPEG photographs, and
    A shows no traces, A's may be hidden by the very difference that was found. B's are then hidden behind it too.
    """
    a, b = (jpeg_quality(statistic) for statistic in pair.statistics(replace(found, compression=0)))
    if a is not None and (b is None or a < b - _LEAST_QUALITY):
        return replace(found, compression=100 - a)
    if b is not None and (a is None or b < a - _LEAST_QUALITY):
        return replace(found, compression=b - 100)
    return replace(found, compression=0)


_ESTIMATORS: tuple[Callable[[PicturePair, CameraDifference], CameraDifference], ...] = (
    _mosaic,
    _haze,
    _tone,
    _vignetting,
    _aberration,
    _frequencies,
    _blur,
    _noise,
    _jpeg,
)


REFITS = 5  # How often a difference is estimated anew on drawn pictures
_STREAM = 28


@dataclass(frozen=True)
class EstimationError:
    """What an estimate might have been."""

    refits: tuple[CameraDifference, ...]
    corrected: CameraDifference  # the estimate, less by what it errs on pictures of a known difference


def estimation_error(
    a: Sequence[RgbImage],
    b: Sequence[RgbImage],
    found: CameraDifference,
    *,
    paired: bool,
    seed: int,
    refits: int = REFITS,
    advance: Advance | None = None,
) -> EstimationError:
    """Estimate a difference again, on drawn pictures and on pictures for which it is known."""
    random = np.random.default_rng([seed, _STREAM])
    drawn = []
    for number in range(refits):
        rows = random.integers(0, len(a), len(a))
        others = rows if paired and len(a) == len(b) else random.integers(0, len(b), len(b))
        drawn.append(estimate_difference([a[k] for k in rows], [b[k] for k in others], rounds=1, start=found))
        if advance is not None:
            advance(number + 1, refits + 1)
    known = [
        [apply_steps(image, found.steps(side), (seed, _STREAM, number)) for number, image in enumerate(b)]
        for side in ("b", "a")
    ]
    again = estimate_difference(known[0], known[1])
    return EstimationError(tuple(drawn), _reflected(found, again))


def _reflected(found: CameraDifference, again: CameraDifference) -> CameraDifference:
    """The estimate, less by what the second one is larger, inside the ranges that are looked for."""
    ends = {
        "blur": (-(WIDEST_BLUR**2), WIDEST_BLUR**2),
        "vignetting": (-MOST_VIGNETTING, MOST_VIGNETTING),
        "haze": (-MOST_HAZE, MOST_HAZE),
        "sharpening": (-MOST_SHARPENING, MOST_SHARPENING),
        "gain": GAINS,
        "red": GAINS,
        "blue": GAINS,
        "exponent": EXPONENTS,
        "red_size": SIZES,
        "blue_size": SIZES,
        "shot": (0.0, MOST_NOISE),
        "read": (0.0, MOST_NOISE),
        "radius": (NARROWEST_RADIUS, WIDEST_RADIUS),
        "glare": (0.0, MOST_GLARE),
        "glare_radius": (0.0, WIDEST_GLARE),
    }
    changed: dict[str, Any] = {}
    for cause in fields(found):
        first, second = getattr(found, cause.name), getattr(again, cause.name)
        if isinstance(first, float):
            changed[cause.name] = float(np.clip(2 * first - second, *ends[cause.name]))
    moved = [2 * first - second for first, second in zip(found.motion, again.motion, strict=True)]
    # Opposite motions are the same one.
    if np.dot(found.motion, again.motion) < 0:
        moved = [2 * first + second for first, second in zip(found.motion, again.motion, strict=True)]
    moved = [part * min(1.0, LONGEST / max(math.hypot(*moved), LONGEST)) for part in moved]
    same = again.motion_side == found.motion_side and any(again.motion)
    return replace(found, **changed, motion=(moved[0], moved[1]) if same else found.motion)


LEAST_CHANGE = 0.1  # Logarithm of a factor from which a kind of light counts as changed
_GREEN = 1
_DARKEST, _BRIGHTEST = 6, 245
_BLUR, _STRIDE = 2.0, 4
_MOST_SPREAD = 0.35  # Standard deviation of a factor's logarithm above which it is not told
_FLOOR = 0.02
_JACKKNIFE = 8


@dataclass(frozen=True)
class LightFit:
    """How bright each kind of light is in the other pictures."""

    gain: float  # of all kinds together: what an exposure does
    factors: Mapping[str, float]  # beside the gain, by kind; 1 where it cannot be told from 1


def fit_light(pictures: Sequence[RgbImage], lights: Sequence[Mapping[str, FloatArray]]) -> LightFit:
    """Fit the brightness of each kind of light.

    A change that all kinds share cannot be told from an exposure. The gain is taken under which most kinds are left as
    they are; of several, the one nearest to 1.
    """
    kinds = list(lights[0]) if lights else []
    nothing = LightFit(1.0, dict.fromkeys(kinds, 1.0))
    rows = [_equations(picture, light, kinds) for picture, light in zip(pictures, lights, strict=True)]
    if len(kinds) < 2 or sum(len(row) for row in rows) < 10 * len(kinds):
        return nothing
    value, spread = _solve(rows), np.zeros(len(kinds))
    count = min(_JACKKNIFE, len(rows))
    groups = [rows[start::count] for start in range(count)]
    if len(groups) > 1:
        others = [[row for other in groups if other is not group for row in other] for group in groups]
        left_out = np.stack([_solve(rows_left) for rows_left in others])
        logs = np.log(np.maximum(left_out, 1e-3))
        spread = logs.std(axis=0) * math.sqrt(len(groups) - 1)
    logs = np.log(np.maximum(value, 1e-3))
    known = spread <= _MOST_SPREAD
    if known.sum() < 2:
        return nothing
    gain = _common_gain(logs[known])
    changed = known & (np.abs(logs - gain) > np.maximum(LEAST_CHANGE, 2 * spread))
    factors = {kind: float(np.exp(logs[k] - gain)) if changed[k] else 1.0 for k, kind in enumerate(kinds)}
    return LightFit(math.exp(gain), factors)


def _common_gain(logs: FloatArray) -> float:
    """The logarithm of the gain under which most kinds are unchanged; of several, the one nearest to none."""
    candidates = [0.0, *sorted(logs.tolist(), key=abs)]
    counts = [int((np.abs(logs - candidate) <= LEAST_CHANGE).sum()) for candidate in candidates]
    return float(candidates[int(np.argmax(counts))])


def _equations(picture: RgbImage, light: Mapping[str, FloatArray], kinds: Sequence[str]) -> FloatArray:
    """(N, K + 1): the parts of the light, then what the picture holds, each row weighted by its brightness."""
    size = next(iter(light.values())).shape[1::-1]
    if picture.shape[1::-1] != size:
        picture = np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.uint8)
    inside = ((picture >= _DARKEST) & (picture <= _BRIGHTEST)).all(axis=2).astype(np.float32)
    share = _smooth(inside)
    seen = linear_light(picture.astype(np.float32) / np.float32(255))[:, :, _GREEN]
    planes = [_smooth(np.asarray(plane, np.float32) * inside) for plane in (*(light[kind] for kind in kinds), seen)]
    good = share > 0.5
    table = np.stack([plane[good] / share[good] for plane in planes], axis=1).astype(np.float64)
    return np.asarray(table / (table[:, -1:] + _FLOOR))


def _smooth(plane: npt.ArrayLike) -> FloatArray:
    return np.asarray(cv2.GaussianBlur(np.asarray(plane, np.float32), (0, 0), _BLUR)[::_STRIDE, ::_STRIDE], np.float64)


def _solve(rows: Sequence[FloatArray]) -> FloatArray:
    table = np.concatenate(rows)
    found, _ = nnls(table[:, :-1], table[:, -1])
    return np.asarray(found)
