"""What a picture shows of its camera: histograms and sums that add over frames, and the numbers that they come to.

Nothing here looks at what the picture shows: colours, fine noise, edges, frequencies, the steps of JPEG, the grid of a
Bayer mosaic, how brightness falls off towards the corners, and how far red and blue lie off green there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
from scipy.fft import dctn, rfft2
from scipy.ndimage import maximum_filter1d
from scipy.optimize import least_squares

from simjudge.core.arrays import FloatArray, ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.core.images import RgbImage

LEVELS = 256  # Grey levels of 8 bits
BRIGHTNESS_BINS = 8  # Ranges of brightness, of equal width, within which noise is measured
DETAIL_STEPS = 512  # Bins of the noise detail, half a grey level each
# Bins of how steep an edge is: the largest step from pixel to pixel over the height of the edge, 0 to 1.
EDGE_BINS = 256
EDGE_HEIGHTS = (12.0, 24.0, 48.0)  # Heights of edges from which on they are counted apart, grey levels
EDGE_REACH = 8  # Pixels over which the height of an edge is taken
RADIAL_BINS = 12  # Rings of equal area around the middle of the picture
JPEG_BLOCK = 8  # Pixels along a side of a block of JPEG (ITU-T T.81)
# Rows and columns of the coefficients of a block that are counted.
FREQUENCIES = ((0, 1), (1, 0), (1, 1), (0, 2), (2, 0), (1, 2), (2, 1), (2, 2), (0, 3), (3, 0))
COEFFICIENT_BINS, COEFFICIENT_STEP = 1024, 0.25  # Bins of the sizes of coefficients, and the width of one
TILE = 64  # Pixels along a side of the tiles whose frequencies are counted; they overlap by half
COLOUR_WINDOW = 16  # Pixels along a side of the windows in which red and blue are laid over green
# Standard deviation of the blur before that, pixels: slopes are then straight over the shifts that are looked for.
_COLOUR_BLUR = 1.0
# Grey levels: larger differences are edges of things and count as this much in the grid of a mosaic.
_STRONGEST_STEP = 16.0
FloatImage = npt.NDArray[np.floating[Any]]  # A picture of one channel
_LUMINANCE = np.array([0.2126, 0.7152, 0.0722], np.float32)
_LUMA = np.array([0.299, 0.587, 0.114], np.float32)  # What JPEG compresses (ITU-R BT.601)


@dataclass(frozen=True, repr=False, eq=False)
class PictureStatistics(ShortRepr):
    """What one picture, or several together, shows of its camera. All entries are counts or sums."""

    values: FloatArray  # (4, 256), how often each grey level occurs in red, green, blue and luminance
    # (8, 512), by brightness, how often each size of the 2x2 diagonal detail occurs, in half grey levels.
    detail: FloatArray
    edges: FloatArray  # (3, 256), by height, how often each steepness of an edge occurs
    coefficients: FloatArray  # (10, 1024), by frequency, how often each size of a coefficient of JPEG's blocks occurs
    # (2, 3, 4), sum and count of how far a pixel lies from the mean of its four neighbours, by colour and by phase of
    # the 2x2 grid (row * 2 + column).
    mosaic: FloatArray
    rings: FloatArray  # (2, 12), sum of luminance (full scale 1) and count of pixels, in rings of equal area
    # (64, 33), power of the luminance of tiles by frequency down and across, as `rfft2` orders them.
    spectrum: FloatArray
    # (2, 2), of red and blue: how they lie off green along the radius, and the sum of squares by which this is divided
    # for the share of the radius.
    colour_shift: FloatArray

    @classmethod
    def pooled(cls, parts: Sequence[PictureStatistics]) -> PictureStatistics:
        """Several pictures together."""
        if not parts:
            raise SimjudgeError("no picture to measure a camera on")
        columns = [sum(getattr(part, field.name) for part in parts) for field in fields(cls)]
        return cls(*(np.asarray(column, np.float64) for column in columns))


def measure_pictures(images: Iterable[RgbImage]) -> PictureStatistics:
    """Measure several pictures together; one at a time is held (images: uint8 (H, W, 3) each, red first)."""
    return PictureStatistics.pooled([measure_picture(image) for image in images])


def measure_picture(image: RgbImage) -> PictureStatistics:
    """Measure one picture (image: uint8 (H, W, 3), red first)."""
    luminance = image.astype(np.float32) @ _LUMINANCE
    planes = [image[:, :, 0], image[:, :, 1], image[:, :, 2], np.rint(luminance).astype(np.uint8)]
    values = np.stack([np.bincount(plane.ravel(), minlength=LEVELS) for plane in planes]).astype(np.float64)
    return PictureStatistics(
        values,
        _detail(image),
        _edges(luminance),
        _coefficients(image),
        _mosaic(image),
        _rings(luminance),
        _spectrum(luminance),
        _colour_shift(image),
    )


def _detail(image: RgbImage) -> FloatArray:
    """Diagonal detail (the HH band of a Haar transform), whose deviation is that of white noise."""
    height, width = (side - side % 2 for side in image.shape[:2])
    cells = image[:height, :width].astype(np.int32)
    a, b, c, d = cells[::2, ::2], cells[::2, 1::2], cells[1::2, ::2], cells[1::2, 1::2]
    size = np.minimum(np.abs(a - b - c + d), DETAIL_STEPS - 1)
    brightness = (a + b + c + d) * BRIGHTNESS_BINS // (4 * LEVELS)
    # Saturated values have lost their noise.
    low = np.minimum(np.minimum(a, b), np.minimum(c, d)) > 0
    high = np.maximum(np.maximum(a, b), np.maximum(c, d)) < LEVELS - 1
    index = (brightness * DETAIL_STEPS + size)[low & high]
    counts = np.bincount(index, minlength=BRIGHTNESS_BINS * DETAIL_STEPS)
    return counts.reshape(BRIGHTNESS_BINS, DETAIL_STEPS).astype(np.float64)


def _edges(luminance: FloatImage) -> FloatArray:
    """How steep the edges along rows and columns are: the largest of EDGE_REACH steps over the height of them all."""
    counts = np.zeros((len(EDGE_HEIGHTS), EDGE_BINS))
    side = EDGE_REACH // 2
    for plane in (luminance, luminance.T):
        if plane.shape[1] <= EDGE_REACH:
            continue
        step = np.abs(np.diff(plane, axis=1))
        height = np.abs(plane[:, EDGE_REACH:] - plane[:, :-EDGE_REACH])
        largest = np.asarray(maximum_filter1d(step, EDGE_REACH, axis=1))[:, side : side + height.shape[1]]
        middle = np.maximum(step[:, side - 1 : side - 1 + height.shape[1]], step[:, side : side + height.shape[1]])
        # Once for each edge: where its steepest step is in the middle.
        chosen = (height >= EDGE_HEIGHTS[0]) & (middle >= largest)
        ratio = np.minimum(largest[chosen] / height[chosen], 1) * (EDGE_BINS - 1)
        kind = np.digitize(height[chosen], EDGE_HEIGHTS) - 1
        index = kind * EDGE_BINS + np.rint(ratio).astype(np.int64)
        counts += np.bincount(index, minlength=counts.size).reshape(counts.shape)
    return counts


def _coefficients(image: RgbImage) -> FloatArray:
    """Cosine transform of the blocks of 8x8 pixels, as JPEG has it."""
    rows, columns = (side // JPEG_BLOCK for side in image.shape[:2])
    luma = image[: rows * JPEG_BLOCK, : columns * JPEG_BLOCK].astype(np.float32) @ _LUMA
    blocks = luma.reshape(rows, JPEG_BLOCK, columns, JPEG_BLOCK).swapaxes(1, 2).reshape(-1, JPEG_BLOCK, JPEG_BLOCK)
    found = np.abs(np.asarray(dctn(blocks, axes=(1, 2), norm="ortho")))
    out = []
    for row, column in FREQUENCIES:
        index = np.minimum(found[:, row, column] / COEFFICIENT_STEP, COEFFICIENT_BINS - 1).astype(np.int64)
        out.append(np.bincount(index, minlength=COEFFICIENT_BINS))
    return np.stack(out).astype(np.float64)


def _mosaic(image: RgbImage) -> FloatArray:
    """How far each pixel lies from the mean of its neighbours; interpolated pixels lie near it."""
    values = image.astype(np.float32)
    kernel = np.array([[0, 0.25, 0], [0.25, 0, 0.25], [0, 0.25, 0]], np.float32)
    residual = np.minimum(np.abs(values - np.asarray(cv2.filter2D(values, -1, kernel))), _STRONGEST_STEP)
    out = np.zeros((2, 3, 4))
    for phase in range(4):
        part = residual[phase // 2 :: 2, phase % 2 :: 2]
        out[0, :, phase] = part.sum((0, 1), dtype=np.float64)
        out[1, :, phase] = part.shape[0] * part.shape[1]
    return out


def _rings(luminance: FloatImage) -> FloatArray:
    """Mean brightness by distance from the middle."""
    height, width = luminance.shape
    x, y = np.arange(width) - (width - 1) / 2, np.arange(height) - (height - 1) / 2
    share = (x[None, :] ** 2 + y[:, None] ** 2) / max(x[0] ** 2 + y[0] ** 2, 1.0)
    ring = np.minimum((share * RADIAL_BINS).astype(np.int64), RADIAL_BINS - 1).ravel()
    total = np.bincount(ring, luminance.ravel() / (LEVELS - 1), RADIAL_BINS)
    return np.stack([total, np.bincount(ring, minlength=RADIAL_BINS)]).astype(np.float64)


def _spectrum(luminance: FloatImage) -> FloatArray:
    """Power by frequency of all tiles behind a Hann window, their means taken off."""
    total = np.zeros((TILE, TILE // 2 + 1))
    if min(luminance.shape) < TILE:
        return total
    window = np.outer(np.hanning(TILE), np.hanning(TILE)).astype(np.float32)
    tiles = np.lib.stride_tricks.sliding_window_view(luminance, (TILE, TILE))[:: TILE // 2, :: TILE // 2]
    for row in tiles:
        bare = row - row.mean(axis=(1, 2), keepdims=True)
        total += (np.abs(np.asarray(rfft2(bare * window))) ** 2).sum(axis=0)
    return total


def _colour_shift(image: RgbImage) -> FloatArray:
    """How far red and blue lie off green along the radius, in windows in which one colour follows from the other.

    In a window red = p + q green, shifted by a share s of the radius: red - p - q green = -q s x . grad green.
    """
    height, width = (side // COLOUR_WINDOW * COLOUR_WINDOW for side in image.shape[:2])
    if not height or not width:
        return np.zeros((2, 2))
    red, green, blue = np.moveaxis(cv2.GaussianBlur(image.astype(np.float32), (0, 0), _COLOUR_BLUR), 2, 0)
    x, y = (np.arange(side) - (side - 1) / 2 for side in (image.shape[1], image.shape[0]))
    slope = np.gradient(green)
    radial = slope[0] * y[:, None] + slope[1] * x[None, :]

    def windows(plane: FloatImage) -> FloatArray:
        cut = plane[:height, :width].astype(np.float64)
        parts = cut.reshape(height // COLOUR_WINDOW, COLOUR_WINDOW, -1, COLOUR_WINDOW).swapaxes(1, 2)
        flat = parts.reshape(-1, COLOUR_WINDOW**2)
        return np.asarray(flat - flat.mean(axis=1, keepdims=True))

    g, r = windows(green), windows(radial)
    power = (g * g).sum(1)
    # What of the slope a factor of green would say as well is left out.
    r -= np.divide((g * r).sum(1), power, out=np.zeros_like(power), where=power > 0)[:, None] * g
    out = np.zeros((2, 2))
    for number, plane in enumerate((red, blue)):
        c = windows(plane)
        both, own = (g * c).sum(1), (c * c).sum(1)
        told = (both > 0.9 * np.sqrt(power * own)) & (power > COLOUR_WINDOW**2 * 4)
        gain = both[told] / power[told]
        out[number] = -(gain[:, None] * r[told] * c[told]).sum(), ((gain[:, None] * r[told]) ** 2).sum()
    return out


# Of each colour, at which the tones of two sets are compared.
QUANTILES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
_DARKEST, _BRIGHTEST = 3.0, 250.0  # Grey levels: quantiles beyond these are left out, because they may be saturated
_FEWEST_EDGES = 200  # Edges of one height that both sets must hold, so that their steepness counts
# Median of |X| for a normal X of deviation 1: the robust noise level of Donoho and Johnstone (Biometrika 81, 1994).
_NORMAL_MEDIAN = 0.6744897501960817
_FEWEST_COEFFICIENTS = 300  # Coefficients above half a step that a table must explain, so that it is believed
_BELIEVED_TABLE = 0.5  # Mean cosine from which a table of JPEG is believed
# Steps of luma at quality 50 for the lowest frequencies (ITU-T T.81, table K.1).
_TABLE = np.array([[16, 11, 10, 16], [12, 12, 14, 19], [14, 13, 16, 24], [14, 17, 22, 29]])
_FEWEST = 400  # Details that a range of brightness must hold, so that its noise is believed


@dataclass(frozen=True, repr=False, eq=False)
class ToneDifference(ShortRepr):
    """How grey levels of one set follow from those of another: A = (gains B + offsets)^exponent, full scale 1."""

    gains: FloatArray  # (3,), of red, green and blue
    exponent: float
    offsets: FloatArray  # (3,), of red, green and blue; 0 where none was asked for
    misfit: float = 0.0  # root of the mean square of the logarithms that is left


def tone_difference(a: PictureStatistics, b: PictureStatistics, *, offsets: bool = False) -> ToneDifference:
    """Fit grey levels of A by a gain and offset a colour and one power law, over quantiles: all keep the order."""
    colours, of_b, wanted = [], [], []
    for number in range(3):
        for one, other in zip(*(_quantiles(statistics.values[number]) for statistics in (a, b)), strict=True):
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
    """How much more A darkens towards its corners than B, by the cosine-fourth law."""
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
    """How much steeper the edges of B are than those of A, whatever gain and offset; any blur of B lowers it."""
    for of_a, of_b in zip(a.edges[::-1], b.edges[::-1], strict=True):
        if min(of_a.sum(), of_b.sum()) >= _FEWEST_EDGES:
            medians = [_histogram_quantiles(counts, (0.5,))[0] for counts in (of_a, of_b)]
            return float(np.log(medians[1] / medians[0]))
    return 0.0


def noise_variances(statistics: PictureStatistics) -> tuple[FloatArray, FloatArray]:
    """Variance of fine noise by brightness, from the median of the diagonal detail: brightness (K,)."""
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
    """How much a Bayer mosaic's 2x2 grid shows: only interpolated pixels lie near the mean of their neighbours."""
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
