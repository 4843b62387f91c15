"""From counts and sums of pictures to numbers: tone, fall-off, sharpness, noise, JPEG and the grid of a mosaic."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from simjudge.core.arrays import FloatArray
from simjudge.core.display import ShortRepr
from simjudge.sim.sensors.camera_matching.picture_statistics import (
    BRIGHTNESS_BINS,
    COEFFICIENT_STEP,
    FREQUENCIES,
    LEVELS,
    RADIAL_BINS,
    PictureStatistics,
)

QUANTILES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
"""Of each colour, at which the tones of two sets are compared."""
_DARKEST, _BRIGHTEST = 3.0, 250.0
"""Grey levels: quantiles beyond these are left out, because they may be saturated."""
_FEWEST_EDGES = 200
"""Edges of one height that both sets must hold, so that their steepness counts."""
_NORMAL_MEDIAN = 0.6744897501960817
"""Median of |X| for a normal X of deviation 1: the robust noise level of Donoho and Johnstone (Biometrika 81, 1994)."""
_FEWEST_COEFFICIENTS = 300
"""Coefficients above half a step that a table must explain, so that it is believed."""
_BELIEVED_TABLE = 0.5
"""Mean cosine from which a table of JPEG is believed."""
_TABLE = np.array([[16, 11, 10, 16], [12, 12, 14, 19], [14, 13, 16, 24], [14, 17, 22, 29]])
"""Steps of luma at quality 50 for the lowest frequencies (ITU-T T.81, table K.1)."""
_FEWEST = 400
"""Details that a range of brightness must hold, so that its noise is believed."""


@dataclass(frozen=True, repr=False, eq=False)
class ToneDifference(ShortRepr):
    """How grey levels of one set follow from those of another: A = (gains B + offsets)^exponent, full scale 1.

    Attributes:
        gains: (3,), of red, green and blue.
        offsets: (3,), of red, green and blue; 0 where none was asked for.
        misfit: root of the mean square of the logarithms that is left.
    """

    gains: FloatArray
    exponent: float
    offsets: FloatArray
    misfit: float = 0.0


def tone_difference(a: PictureStatistics, b: PictureStatistics, *, offsets: bool = False) -> ToneDifference:
    """Fit the grey levels of A by a gain, and an offset, for each colour and one power law for all, over quantiles.

    All keep the order of grey levels, so quantiles go over into quantiles.

    Args:
        b: the set whose grey levels are changed.

    Returns:
        What leads from B to A; nothing where the sets tell nothing.
    """
    colours, of_b, wanted = [], [], []
    for number in range(3):
        for one, other in zip(*(_quantiles(each.values[number]) for each in (a, b)), strict=True):
            if min(one, other) >= _DARKEST and max(one, other) <= _BRIGHTEST:
                colours.append(number)
                of_b.append(other / (LEVELS - 1))
                wanted.append(math.log(one / (LEVELS - 1)))
    colour, level, wish = np.array(colours, np.int64), np.array(of_b), np.array(wanted)
    none = ToneDifference(np.ones(3), 1.0, np.zeros(3))
    if np.bincount(colour, minlength=3).min() < 3 or float(np.ptp(np.log(level))) < 0.1:
        return none

    def residual(x: FloatArray) -> FloatArray:
        lift = x[4 + colour] if offsets else 0.0
        return np.asarray(x[0] * np.log(np.exp(x[1 + colour]) * level + lift) - wish)

    start = np.array([1.0, *[0.0] * 3, *([0.0] * 3 if offsets else [])])
    ends = ([0.2, *[-4.0] * 3, *[0.0] * 3], [5.0, *[4.0] * 3, *[0.95] * 3])
    found = least_squares(residual, start, bounds=[end[: len(start)] for end in ends], loss="soft_l1", f_scale=0.02)
    lifts = found.x[4:] if offsets else np.zeros(3)
    misfit = math.sqrt(2 * found.cost / len(wish))
    return ToneDifference(np.exp(found.x[1:4]), float(found.x[0]), lifts, misfit)


def _quantiles(counts: FloatArray) -> FloatArray:
    """Grey levels at QUANTILES, interpolated within a level."""
    return _histogram_quantiles(counts, QUANTILES) - 0.5


def _histogram_quantiles(counts: FloatArray, shares: tuple[float, ...]) -> FloatArray:
    """Quantiles in bins; bin k reaches from k to k + 1."""
    total = np.concatenate([[0.0], np.cumsum(counts)])
    if total[-1] == 0:
        return np.full(len(shares), np.nan)
    wanted = np.array(shares) * total[-1]
    index = np.clip(np.searchsorted(total, wanted, side="left") - 1, 0, len(counts) - 1)
    inside = (wanted - total[index]) / np.maximum(counts[index], 1e-300)
    return np.asarray(index + np.clip(inside, 0, 1))


def vignetting_difference(a: PictureStatistics, b: PictureStatistics) -> float:
    """How much more A darkens towards its corners than B, by the cosine-fourth law.

    Returns:
        Squared tangent of the view's angle in the corners, of the law that leads from B to A; below 0 where B is the
        darker one.
    """
    ratio = _ring_means(a) / np.maximum(_ring_means(b), 1e-9)
    share = (np.arange(RADIAL_BINS) + 0.5) / RADIAL_BINS

    def residual(x: FloatArray) -> FloatArray:
        sign = math.copysign(1.0, x[1])
        return np.asarray(np.log(ratio) - x[0] + sign * 2 * np.log1p(abs(x[1]) * share))

    usable = np.isfinite(np.log(np.maximum(ratio, 1e-9))).all() and float(ratio.min()) > 0
    return float(least_squares(residual, np.array([0.0, 0.05]), loss="soft_l1", f_scale=0.02).x[1]) if usable else 0.0


def _ring_means(statistics: PictureStatistics) -> FloatArray:
    return np.asarray(statistics.rings[0] / np.maximum(statistics.rings[1], 1))


def sharpness_difference(a: PictureStatistics, b: PictureStatistics) -> float:
    """How much steeper the edges of B are than those of A.

    Gain and offset do not change it. Any blur of B lowers it.

    Args:
        a, b: two sets. Of the highest edges that both hold enough of, the median steepness counts.

    Returns:
        Logarithm of the ratio of the medians, B over A; 0 where there are no edges.
    """
    for of_a, of_b in zip(a.edges[::-1], b.edges[::-1], strict=True):
        if min(of_a.sum(), of_b.sum()) >= _FEWEST_EDGES:
            medians = [_histogram_quantiles(counts, (0.5,))[0] for counts in (of_a, of_b)]
            return float(np.log(medians[1] / medians[0]))
    return 0.0


def noise_variances(statistics: PictureStatistics) -> tuple[FloatArray, FloatArray]:
    """Variance of fine noise by brightness, from the median of the diagonal detail.

    Returns:
        Brightness (K,), full scale 1, and variance (K,), grey levels squared, of the ranges that hold enough.
    """
    brightness, variance = [], []
    for number, counts in enumerate(statistics.detail):
        if counts.sum() >= _FEWEST:
            median = _rounded_median(counts) / 2
            brightness.append((number + 0.5) / BRIGHTNESS_BINS)
            variance.append((median / _NORMAL_MEDIAN) ** 2)
    return np.array(brightness), np.array(variance)


def _rounded_median(counts: FloatArray) -> float:
    """Median of sizes 0, 1, 2, ... that were rounded: bin 0 reaches from 0 to 0.5, bin k from k - 0.5 to k + 0.5."""
    edges = np.concatenate([[0.0], np.arange(len(counts)) + 0.5])
    total = np.concatenate([[0.0], np.cumsum(counts)])
    return float(np.interp(total[-1] / 2, total, edges))


def jpeg_quality(statistics: PictureStatistics) -> int | None:
    """The quality of the JPEG that pictures went through last, by the steps of their coefficients.

    Coefficients behind JPEG are whole multiples of the steps of its table. The mean of cos(2 pi c / step) is then near
    1, and near 0 for other tables. The tables are those of ITU-T T.81, annex K, as libjpeg scales them.

    Returns:
        Quality, 5 to 92; None where no table fits: no JPEG, a better one, or one that other filters followed.
    """
    qualities = range(5, 93)
    scores = np.array([_table_score(statistics.coefficients, quality) for quality in qualities])
    best = float(scores.max())
    if best < _BELIEVED_TABLE:
        return None
    # Half of a table's steps fit as well: the coarsest table counts.
    first = int(np.argmax(scores >= 0.9 * best))
    near = scores[first : first + 4]
    return qualities[first + int(np.argmax(near))]


def _table_score(coefficients: FloatArray, quality: int) -> float:
    """How well coefficients fit the steps of a quality; 0 where too few of them say anything."""
    scale = 5000 // quality if quality < 50 else 200 - 2 * quality
    size = (np.arange(coefficients.shape[1]) + 0.5) * COEFFICIENT_STEP
    total, count = 0.0, 0.0
    for (row, column), counts in zip(FREQUENCIES, coefficients, strict=True):
        step = max((_TABLE[row, column] * scale + 50) // 100, 1)
        told = (size > step / 2) & (size < (coefficients.shape[1] - 1) * COEFFICIENT_STEP)
        total += float((counts * np.cos(2 * np.pi * size / step))[told].sum())
        count += float(counts[told].sum())
    return total / count if count >= _FEWEST_COEFFICIENTS else 0.0


def mosaic_contrast(statistics: PictureStatistics) -> tuple[float, str]:
    """How much the 2x2 grid of a Bayer mosaic shows.

    Sampled pixels lie off the mean of their neighbours, interpolated ones near it.

    Returns:
        Logarithm of how much more sampled green pixels are off than interpolated ones, 0 or more; and the pattern that
        fits, such as RGGB.
    """
    off = (statistics.mosaic[0] + 1e-9) / np.maximum(statistics.mosaic[1], 1)
    even, odd = off[1, [0, 3]].mean(), off[1, [1, 2]].mean()
    contrast = abs(math.log(even / odd))
    places = (0, 3) if odd > even else (1, 2)
    red = places[0] if off[0, places[0]] + off[2, places[1]] >= off[0, places[1]] + off[2, places[0]] else places[1]
    return float(contrast), {0: "RGGB", 3: "BGGR", 1: "GRBG", 2: "GBRG"}[red]


def colour_sizes(statistics: PictureStatistics) -> FloatArray:
    """By which share of the radius red and blue lie outside green, (2,); 0 where no edges tell it."""
    seen, power = statistics.colour_shift.T
    return np.asarray(np.divide(seen, power, out=np.zeros(2), where=power > 0))
