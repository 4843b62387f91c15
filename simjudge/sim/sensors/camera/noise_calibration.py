"""The noise of a camera from many pictures of a standing scene: the photon transfer curve and the line through it.

In linear light the variance of a pixel over time is s1^2 I + s2^2, I its mean. Pixels are sorted by their mean; the
variance of each group is one point of the curve.

Source: EMVA Standard 1288, release 4.0 Linear, section 6.6 (photon transfer). Rounding is taken off by Sheppard's
correction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.core.text import list_some
from simjudge.sim.sensors.camera.filters import FULL_SCALE, FloatImage
from simjudge.sim.sensors.camera.isp import linear_light

FEWEST = 10  # Pictures: with fewer, one that differs cannot be told from noise
_BLOCK = 16  # Pixels: side of the blocks whose means are watched
_SIGMAS = 6.0  # Standard deviations of a block's mean that are believed to be noise
_UNSEEN = 0.1  # Grey levels of 255 by which a block's mean may always differ: it adds 0.01 to a variance
# Times the usual difference of two neighbouring pictures in a block, squared, that is believed to be noise.
_RESTLESS = 3.0
_CHI_SQUARED_MEDIAN = 0.4549  # Of one degree of freedom


@dataclass(frozen=True, eq=False, repr=False)
class PixelNoise(ShortRepr):
    """How each pixel varies in time. Values are linear light, full scale 1."""

    frames: int
    # mean, variance: over time, (H, W, C).
    mean: FloatArray
    variance: FloatArray
    at_limit: FloatArray  # share of the pictures in which a pixel is 0 or full scale, (H, W, C)
    correlation: float  # of the noise of neighbours in a row, -1 to 1; near 0 for raw pixels


class StandingScene:
    """Takes pictures one by one; keeps sums, and the block means of each picture."""

    def __init__(self, name: str, linear: Callable[[FloatImage], FloatImage]) -> None:
        self._name, self._linear = name, linear
        self._frames: list[str] = []
        self._blocks: list[FloatArray] = []
        self._restlessness: list[FloatArray] = []
        self._products = self._squares = 0.0
        self._previous: FloatImage = np.empty(0)
        self._mean: FloatArray = np.empty(0)
        self._squared: FloatArray = np.empty(0)
        self._at_limit: IntArray = np.empty(0, np.int64)

    def add(self, frame_name: str, values: FloatImage, at_limit: npt.NDArray[np.bool_]) -> None:
        """Take a picture (H, W, C), full scale 1, and where it holds the least or the largest value that it can."""
        if not self._frames:
            self._mean, self._squared = np.zeros(values.shape), np.zeros(values.shape)
            self._at_limit = np.zeros(values.shape, np.int64)
        elif values.shape != self._mean.shape:
            raise SimjudgeError(
                f"{self._name}: {frame_name} is {values.shape[1]}x{values.shape[0]}, {self._frames[0]}"
                f" {self._mean.shape[1]}x{self._mean.shape[0]}; pictures of one camera are needed"
            )
        self._frames.append(frame_name)
        light = self._linear(values)
        change = light - self._mean
        self._mean += change / len(self._frames)
        self._squared += change * (light - self._mean)
        self._at_limit += at_limit
        gray = values.mean(axis=2) * FULL_SCALE
        self._blocks.append(_block_means(gray))
        if len(self._frames) > 1:
            difference = gray - self._previous
            self._restlessness.append(_block_means(difference**2) / 2)
            self._products += float((difference[:, 1:] * difference[:, :-1]).mean())
            self._squares += float((difference**2).mean())
        self._previous = gray

    def noise(self, *, compressed: bool = False) -> PixelNoise:
        """Mean and variance of each pixel."""
        count = len(self._frames)
        if count < FEWEST:
            raise SimjudgeError(f"{self._name}: {count} pictures are too few; {FEWEST} are needed, 100 are better")
        self._check_standing(compressed=compressed)
        correlation = self._products / self._squares if self._squares else 0.0
        variance = self._squared / (count - 1)
        return PixelNoise(count, self._mean, variance, self._at_limit / count, correlation)

    def _check_standing(self, *, compressed: bool) -> None:
        means, restlessness = np.array(self._blocks), np.array(self._restlessness)
        usual = np.median(restlessness, axis=0)
        away = means - np.median(means, axis=0)
        moved = np.abs(away) > _SIGMAS * _block_deviation(means, usual) + _UNSEEN
        jumped = restlessness > _RESTLESS * usual + _SIGMAS * _UNSEEN
        moved[1:] |= jumped & ~moved[:-1]
        frames = np.flatnonzero(moved.any(axis=1))
        if not len(frames):
            return
        worst = int(np.argmax(np.where(moved, np.abs(away), 0).max(axis=1)))
        same_way = max((away[worst] > 0).mean(), (away[worst] < 0).mean())
        whole = moved[worst].mean() > 0.5 and same_way > 0.9
        what = "the brightness changes (lamps, automatic exposure)" if whole else "the scene or the camera moves"
        what += ", or JPEG changes whole blocks," if compressed else ""
        named = list_some([self._frames[row] for row in frames])
        raise SimjudgeError(
            f"{self._name}: {what} in {len(frames)} of {len(self._frames)} pictures ({named}; the most, by"
            f" {np.abs(away[worst]).max():.2g} grey levels in a block of {_BLOCK} pixels, in {self._frames[worst]});"
            " take them while all stands, or give the part in which it does (--begin, --end)"
        )


def _block_deviation(means: FloatArray, usual: FloatArray) -> FloatArray:
    """The standard deviation that noise alone gives the mean of each block: of means (N, B), variances (B,)."""
    alone = usual / _BLOCK**2
    seen = np.median(np.diff(means, axis=0) ** 2, axis=0) / 2 / _CHI_SQUARED_MEDIAN
    # Demosaicing and compression spread noise over neighbours, whose mean then varies more.
    shared = float(np.median(seen[alone > 0] / alone[alone > 0])) if (alone > 0).any() else 1.0
    return np.asarray(np.sqrt(alone * max(shared, 1.0)))


def _block_means(values: FloatImage) -> FloatArray:
    height, width = values.shape
    rows, columns = min(_BLOCK, height), min(_BLOCK, width)
    inside = values[: height // rows * rows, : width // columns * columns]
    blocks = inside.reshape(height // rows, rows, width // columns, columns)
    return np.asarray(blocks.mean(axis=(1, 3), dtype=np.float64).reshape(-1))


Encoding = Literal["srgb", "linear"]
ENCODINGS: tuple[Encoding, ...] = ("srgb", "linear")
_GROUPS = (16, 128)  # Groups by mean, fewest and most, at even steps of its square root: dark ones are narrower
_CELLS_OF_GROUP = 100  # Cells that a group has, if they are spread evenly over more than the fewest groups
_FEWEST_CELLS = 30  # Cells of 2 x 2 pixels in a group
_MOST_AT_LIMIT = 0.05  # Share of the pictures in which a pixel may be 0 or full scale
_MOST_CUT = 0.1  # Share of a group's cells that may lie at a limit; with more, those that are left are no fair sample
_ROUNDED = 0.4  # Steps of the pictures' values: rounding of noise that is smaller is no noise of its own
_FEWEST_GROUPS = 5
_ALL_STILL = 0.2  # Share of the pixels that may have the same value in all pictures
_UNEVEN = 1.5  # Times that the mean variance of a group may be above the median one
_OFF_THE_LINE = 0.25  # Share of the variance that the groups may lie off the line, root mean square
_OFF_THE_LINE_JPEG = 0.1  # The same for JPEG, which takes noise away before it bends the curve
_UNSURE = 0.5  # Share of s1 that its standard error may be
_SURE = 5.0  # Standard errors
_SHARED = 0.1  # Correlation of neighbours' noise that is said


@dataclass(frozen=True, eq=False, repr=False)
class PhotonTransferCurve(ShortRepr):
    """Groups of pixels of one channel, by mean. Values are linear light, full scale 1."""

    # mean, variance: of each group, (G,), rounding taken off.
    mean: FloatArray
    variance: FloatArray
    error: FloatArray  # standard error of the variance, (G,), as the fitted line has it
    pixels: FloatArray  # in each group, (G,)
    frames: int


@dataclass(frozen=True)
class PhotonTransferFit:
    """The line variance = s1^2 mean + s2^2, full scale 1."""

    # s1, s1_error: standard deviation of photon noise at full scale, and its standard error.
    s1: float
    s1_error: float
    # s2, s2_error: the same of the noise in the dark; where s2 is 0, the error is what s2 may be up to.
    s2: float
    s2_error: float
    off: float  # how far the groups lie off the line, share of the variance, root mean square
    # crossing, crossing_error: mean at which the line's variance is 0, where that is above 0 (s2 is 0 then), and its
    # standard error: a black level that was not taken off.
    crossing: float = 0.0
    crossing_error: float = 0.0

    def variance(self, mean: FloatArray) -> FloatArray:
        """The variance on the line."""
        return self.s1**2 * mean + self.s2**2


@dataclass(frozen=True, eq=False, repr=False)
class NoiseCalibration(ShortRepr):
    """What pictures of a standing scene tell of a camera's noise."""

    name: str
    encoding: Encoding  # how the pictures' values were read
    size: tuple[int, int]  # width and height, pixels
    frames: int
    # curves, fits: by channel ("red", "green", "blue", or "gray").
    curves: Mapping[str, PhotonTransferCurve]
    fits: Mapping[str, PhotonTransferFit]
    together: PhotonTransferFit
    notes: tuple[str, ...]  # what a person should know, one sentence each

    def filter_file(self) -> str:
        """The filters of a camera's file that make this noise."""
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        width, height = self.size
        yield f"# Noise of {' '.join(self.name.split())}."
        yield f"# {self.frames} pictures of a standing scene, {width}x{height}, by simjudge sim calibrate noise."
        yield f"# The pictures were read as {self.encoding}. Standard errors behind +-; full scale is 1."
        for channel, fit in self.fits.items():
            yield f"# {channel}: s1 {fit.s1:.5g} +- {fit.s1_error:.1g}, s2 {fit.s2:.5g} +- {fit.s2_error:.1g}"
        for note in self.notes:
            yield f"# Note: {note}."
        yield "# Put these filters into a camera's file (docs/guides/camera.md)."
        yield "filters:"
        if "gray" in self.fits:
            yield "  - gray"
        noise = f"s1: {self.together.s1:.5g}, s2: {self.together.s2:.5g}"
        yield f"  - physical_noise: {{{noise}}}   # 1 / s1^2 is {1 / self.together.s1**2:.4g} electrons at full scale"
        yield "  - srgb"


def linearize(values: FloatImage, encoding: Encoding) -> FloatImage:
    """Linear light of stored values."""
    return linear_light(values) if encoding == "srgb" else values


def calibrate_noise_of(
    name: str, noise: PixelNoise, encoding: Encoding, step: float, *, compressed: bool, gray: bool
) -> NoiseCalibration:
    """Fit a camera's noise (noise of each pixel; step: between two values that the pictures can hold, full scale 1)."""
    channels = ("gray",) if gray else ("red", "green", "blue")
    curves = {
        channel: _curve(name, noise, number, encoding, step, compressed=compressed)
        for number, channel in enumerate(channels)
    }
    fits = {channel: fit_line(curve) for channel, curve in curves.items()}
    together = fit_line(_join(tuple(curves.values())))
    _check_law(name, curves, fits, encoding, step, compressed=compressed)
    height, width = noise.mean.shape[:2]
    notes = tuple(_notes(noise, fits, compressed=compressed))
    return NoiseCalibration(name, encoding, (width, height), noise.frames, curves, fits, together, notes)


def fit_line(curve: PhotonTransferCurve) -> PhotonTransferFit:
    """The weighted line through a photon transfer curve.

    The variance of a group of n pixels over N pictures has the variance 2 V^2 / ((N - 1) n); V is the line's, so that
    groups which happen to vary less do not count more. Errors grow with what the groups scatter beyond this.
    """
    design = np.stack([curve.mean, np.ones(len(curve.mean))], axis=1)
    model = np.full(len(curve.mean), curve.variance.mean())
    for _ in range(10):
        sigma = _errors(model, curve)
        slope, offset = np.linalg.lstsq(design / sigma[:, None], curve.variance / sigma, rcond=None)[0]
        model = np.maximum(slope * curve.mean + offset, 1e-3 * curve.variance)
    slope_error, offset_error = _line_errors(design, curve.variance - model, sigma)
    crossing, crossing_error = (-offset / slope, offset_error / slope) if offset < 0 < slope else (0.0, 0.0)
    if offset < 0:
        offset = 0.0
        slope = float((curve.variance * curve.mean / sigma**2).sum() / ((curve.mean / sigma) ** 2).sum())
        model = np.maximum(slope * curve.mean, 1e-3 * curve.variance)
        slope_error, offset_error = _line_errors(design, curve.variance - model, sigma)
    off = float(np.sqrt(np.average((curve.variance / model - 1) ** 2, weights=curve.pixels)))
    s1, s2 = float(np.sqrt(max(slope, 0.0))), float(np.sqrt(offset))
    s1_error = slope_error / (2 * s1) if s1 else float("inf")
    s2_error = min(offset_error / (2 * s2), offset_error**0.5) if s2 else (2 * offset_error) ** 0.5
    return PhotonTransferFit(s1, s1_error, s2, s2_error, off, float(crossing), float(crossing_error))


def _line_errors(design: FloatArray, residual: FloatArray, sigma: FloatArray) -> tuple[float, float]:
    """Standard errors of slope and offset; they grow with the groups' scatter where it is more than their errors."""
    scatter = float(((residual / sigma) ** 2).sum()) / max(len(residual) - 2, 1)
    weighted = design / sigma[:, None]
    slope, offset = np.sqrt(np.diag(np.linalg.inv(weighted.T @ weighted)) * max(scatter, 1.0)).tolist()
    return slope, offset


def _errors(variance: FloatArray, curve: PhotonTransferCurve) -> FloatArray:
    return variance * np.sqrt(2 / ((curve.frames - 1) * curve.pixels))


def _join(curves: tuple[PhotonTransferCurve, ...]) -> PhotonTransferCurve:
    return PhotonTransferCurve(
        np.concatenate([curve.mean for curve in curves]),
        np.concatenate([curve.variance for curve in curves]),
        np.concatenate([curve.error for curve in curves]),
        np.concatenate([curve.pixels for curve in curves]),
        curves[0].frames,
    )


def _curve(
    name: str, noise: PixelNoise, channel: int, encoding: Encoding, step: float, *, compressed: bool
) -> PhotonTransferCurve:
    """Pixels of one channel in groups by mean."""
    # Cells of 2 x 2 pixels: the noise of a demosaiced pixel depends on where it lies in the pattern.
    mean, variance = _cells(noise.mean[..., channel]).mean(1), _cells(noise.variance[..., channel]).mean(1)
    cut = _cells(noise.at_limit[..., channel]).max(1) > _MOST_AT_LIMIT
    _check_still(name, variance[~cut], step, compressed=compressed)
    groups = int(np.clip(len(mean) // _CELLS_OF_GROUP, *_GROUPS))
    group = np.minimum((np.sqrt(np.clip(mean, 0, 1)) * groups).astype(np.int64), groups - 1)
    cells = np.bincount(group[~cut], minlength=groups)
    every = np.maximum(np.bincount(group, minlength=groups), 1)
    usable = (cells >= _FEWEST_CELLS) & (1 - cells / every <= _MOST_CUT)
    at, uneven = [], []
    for number in np.flatnonzero(usable):
        inside = (group == number) & ~cut
        middle, spread = float(mean[inside].mean()), float(variance[inside].mean())
        rounding = (step * _slope(middle, encoding)) ** 2
        if spread < _ROUNDED**2 * rounding:
            continue
        at.append((middle, spread - rounding / 12, 4.0 * inside.sum()))
        uneven.append(spread / max(float(np.median(variance[inside])), 1e-30))
    if len(at) < _FEWEST_GROUPS:
        raise SimjudgeError(
            f"{name}: only {len(at)} of the {_FEWEST_GROUPS} groups of brightness that are needed are neither"
            " saturated nor without noise; take a scene from dark to bright, longer or shorter exposed"
        )
    means, variances, pixels = np.array(at).T
    if np.average(uneven, weights=pixels) > _UNEVEN:
        why = "JPEG has removed it in some" if compressed else "the scene moves all the time, or they were compressed"
        raise SimjudgeError(
            f"{name}: pixels of the same brightness differ in their noise ({np.average(uneven, weights=pixels):.1f}"
            f" times the median on average): {why}; take pictures without compression of a standing scene"
        )
    curve = PhotonTransferCurve(means, variances, variances, pixels, noise.frames)
    return PhotonTransferCurve(means, variances, _errors(variances, curve), pixels, noise.frames)


def _check_still(name: str, variance: FloatArray, step: float, *, compressed: bool) -> None:
    still = float((variance == 0).mean()) if len(variance) else 0.0
    if still > _ALL_STILL:
        why = "compression has removed the noise" if compressed else f"noise is below a step of {step * 255:.2g} levels"
        raise SimjudgeError(
            f"{name}: {still:.0%} of the pixels have the same value in all pictures: {why}; take pictures without"
            " compression, of more bits or at a higher gain"
        )


def _check_law(
    name: str,
    curves: Mapping[str, PhotonTransferCurve],
    fits: Mapping[str, PhotonTransferFit],
    encoding: Encoding,
    step: float,
    *,
    compressed: bool,
) -> None:
    """Refuse what is not of the law: it was stored otherwise, compressed, or the scene tells too little."""
    most = _OFF_THE_LINE_JPEG if compressed else _OFF_THE_LINE
    for channel, fit in fits.items():
        if fit.crossing > _SURE * fit.crossing_error and fit.crossing > step:
            level = fit.crossing / step if encoding == "linear" else 0.0
            remedy = f"give --black-level, about {level:.0f} or more" if level else "give raw pictures"
            raise SimjudgeError(
                f"{name}: {channel}: without light the variance would be below 0: the pictures hold a black level, or"
                f" another tone curve has changed them; {remedy}"
            )
        if fit.off <= most and fit.s1_error <= _UNSURE * fit.s1:
            continue
        other: Encoding = "linear" if encoding == "srgb" else "srgb"
        suited = fit_line(_reread(curves[channel], encoding))
        hint = ""
        if suited.off < fit.off / 2 and suited.s1_error <= _UNSURE * suited.s1:
            hint = f"; as {other} values they would suit it: give --encoding {other}"
        elif compressed:
            hint = "; they are JPEG: take pictures without compression"
        if fit.off <= most:
            raise SimjudgeError(
                f"{name}: {channel}: noise does not grow with light as far as {len(curves[channel].mean)} groups of"
                f" brightness tell (s1 {fit.s1:.2g} +- {fit.s1_error:.1g})"
                + (hint or "; take a scene from dark to bright, and more pictures")
            )
        raise SimjudgeError(
            f"{name}: {channel}: the variances lie {fit.off:.0%} off the line s1^2 I + s2^2"
            + (hint or "; another tone curve or compression has changed them: take raw pictures")
        )


def _reread(curve: PhotonTransferCurve, encoding: Encoding) -> PhotonTransferCurve:
    """The curve, to first order, had the pictures been read in the other encoding."""
    low, high = np.linspace(0, 1, 4097), linear_light(np.linspace(0, 1, 4097))
    if encoding == "srgb":
        stored = np.interp(curve.mean, high, low)
        change = 1 / np.array([_slope(mean, "srgb") for mean in curve.mean])
    else:
        stored = np.interp(curve.mean, low, high)
        change = np.array([_slope(mean, "srgb") for mean in stored])
    return PhotonTransferCurve(stored, curve.variance * change**2, curve.error, curve.pixels, curve.frames)


def _notes(noise: PixelNoise, fits: Mapping[str, PhotonTransferFit], *, compressed: bool) -> Iterator[str]:
    if compressed:
        yield "the pictures are JPEG, which changes noise; the numbers are those of the compressed pictures"
    if noise.correlation > _SHARED:
        yield (
            f"neighbours share noise (correlation {noise.correlation:.2f}), as demosaicing and smoothing make it; the"
            " numbers are those of the finished pictures, not of the raw sensor: use them without the filter bayer"
        )
    slopes = [fit.s1 for fit in fits.values()]
    if max(slopes) > 1.1 * min(slopes):
        each = ", ".join(f"{channel} {fit.s1:.3g}" for channel, fit in fits.items())
        yield f"s1 differs by channel ({each}), as white balance makes it"


def _slope(mean: float, encoding: Encoding) -> float:
    """Change of linear light with the stored value, where linear light is `mean`."""
    if encoding == "linear":
        return 1.0
    if mean <= 0.0031308:
        return 1 / 12.92
    return float(2.4 / 1.055 * mean ** (1.4 / 2.4))


def _cells(values: FloatArray) -> FloatArray:
    """Cells of 2 x 2 pixels, one row each."""
    height, width = (side // 2 * 2 for side in values.shape)
    return values[:height, :width].reshape(height // 2, 2, width // 2, 2).transpose(0, 2, 1, 3).reshape(-1, 4)
