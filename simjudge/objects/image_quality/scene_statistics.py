"""Statistics of natural scenes: luminance, distributions fitted to it, and the features of BRISQUE and NIQE.

Luminance is gray, its local normalization (MSCN), and its half scale; all three metrics start from it. Generalized
Gaussian distributions, symmetric (GGD) and asymmetric (AGGD), are fitted by moments on a grid of shapes, from the sums
of `compiled_loops.block_sums`, so that a picture is passed over once. BRISQUE takes 36 features of a picture, NIQE 36
of each block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import cv2
import numpy as np
from scipy.special import gamma

from simjudge.core.arrays import FloatArray, ShortRepr
from simjudge.core.images import RgbImage
from simjudge.objects.image_quality import compiled_loops
from simjudge.objects.image_quality.compiled_loops import block_sums

SHAPES: FloatArray = np.arange(200, 10_001) / 1000
"""The shapes that are tried: 0.2 to 10 in steps of 0.001. 2 is a normal distribution, 1 a Laplace distribution."""
_RATIO: FloatArray = gamma(2 / SHAPES) ** 2 / (gamma(1 / SHAPES) * gamma(3 / SHAPES))
"""(E |x|)^2 / E x^2 of a GGD of each shape; it ascends."""
_INVERSE: FloatArray = 1 / _RATIO


@dataclass(frozen=True, repr=False, eq=False)
class AsymmetricFit(ShortRepr):
    """Fitted AGGDs. NaN where there are no values on one of the two sides."""

    shape: FloatArray  # float64 (...)
    left: FloatArray  # left, right: float64 (...), the standard deviations below and above 0
    right: FloatArray

    @property
    def scale(self) -> FloatArray:
        """What makes a standard deviation the parameter beta: sqrt(Gamma(1 / shape) / Gamma(3 / shape))."""
        scale: FloatArray = np.sqrt(gamma(1 / self.shape) / gamma(3 / self.shape))
        return scale

    @property
    def mean(self) -> FloatArray:
        """The mean: (beta_right - beta_left) Gamma(2 / shape) / Gamma(1 / shape)."""
        mean: FloatArray = (self.right - self.left) * self.scale * gamma(2 / self.shape) / gamma(1 / self.shape)
        return mean


def fit_ggd(sums: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
    """Fit generalized Gaussian distributions around 0.

    Source:
        Sharifi and Leon-Garcia, IEEE Trans. Circuits and Systems for Video Technology 5(1), 1995.
    """
    variance = (sums[..., 2] + sums[..., 3]) / count
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = variance / (sums[..., 4] / count) ** 2
    return _nearest_shape(-_INVERSE, -ratio), np.where(np.isnan(ratio), np.nan, variance)


def fit_aggd(sums: FloatArray, count: int) -> AsymmetricFit:
    """Fit asymmetric generalized Gaussian distributions around 0.

    Source:
        Lasmar, Stitou and Berthoumieu, ICIP 2009; Mittal et al. 2012, equations 8 to 13.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        left, right = np.sqrt(sums[..., 2] / sums[..., 0]), np.sqrt(sums[..., 3] / sums[..., 1])
        g = left / right
        ratio = (sums[..., 4] / count) ** 2 / ((sums[..., 2] + sums[..., 3]) / count)
        ratio = ratio * (g**3 + 1) * (g + 1) / (g**2 + 1) ** 2
    return AsymmetricFit(_nearest_shape(_RATIO, ratio), left, right)


def _nearest_shape(ratios: FloatArray, wanted: FloatArray) -> FloatArray:
    """The shape whose ratio is nearest; the ratios ascend. NaN stays NaN."""
    after = np.clip(np.searchsorted(ratios, wanted), 1, len(ratios) - 1)
    nearer_before = wanted - ratios[after - 1] <= ratios[after] - wanted
    return np.where(np.isnan(wanted), np.nan, SHAPES[np.where(nearer_before, after - 1, after)])


WINDOW, SIGMA = 7, 7 / 6
"""Side and standard deviation of the Gaussian window, pixels."""
ROUNDING = 1e-6
"""Gray levels: a smaller deviation from the local mean is rounding. The least that bytes can have is about 1e-4."""
_KERNEL = cv2.getGaussianKernel(WINDOW, SIGMA, cv2.CV_64F)
_BORDERS = {"zero": cv2.BORDER_CONSTANT, "repeat": cv2.BORDER_REPLICATE}
_AFTER, _BEFORE = 4, 3
"""Pixels that a pixel of the half scale reaches before and after the first of its two."""

Edge = Literal["zero", "repeat"]
"""What lies beyond a picture's edge: zeros, or the last pixel again."""


def gray_levels(pixels: RgbImage) -> FloatArray:
    """MATLAB's rgb2gray, 0.2989 R + 0.5870 G + 0.1140 B in whole levels, float64 (H, W), of uint8 (H, W, 3 or 1)."""
    if pixels.shape[2] == 1:
        return pixels[:, :, 0].astype(np.float64)
    gray: FloatArray = compiled_loops.rgb_to_gray(np.ascontiguousarray(pixels))
    return gray


def normalized_luminance(gray: FloatArray, edge: Edge) -> tuple[FloatArray, FloatArray]:
    """Mean-subtracted, contrast-normalized (MSCN) coefficients: (I - mu) / (sigma + 1).

    mu and sigma are mean and standard deviation under a 7 x 7 Gaussian window of sigma 7/6. A deviation below 1e-6 gray
    levels, as flat regions have it from rounding, becomes 0, so that no rounding decides which sign a flat region has.

    Source:
        Mittal, Moorthy and Bovik, IEEE Trans. Image Processing 21(12), 2012, equations 1 to 3.
    """
    border = _BORDERS[edge]
    mean = cv2.sepFilter2D(gray, cv2.CV_64F, _KERNEL, _KERNEL, borderType=border)
    square = cv2.sepFilter2D(gray * gray, cv2.CV_64F, _KERNEL, _KERNEL, borderType=border)
    deviation = np.sqrt(np.abs(square - mean * mean))
    difference = gray - mean
    difference[np.abs(difference) < ROUNDING] = 0.0
    return difference / (deviation + 1.0), deviation


def half_scale(gray: FloatArray) -> FloatArray:
    """Half the size by bicubic reduction with antialiasing, without rounding, as MATLAB's imresize(I, 0.5).

    The cubic kernel (a = -0.5) is stretched to twice its width. All pixels then have the same eight weights in each
    direction. Beyond the edge the picture is mirrored.

    Source:
        Keys, IEEE Trans. Acoustics, Speech and Signal Processing 29(6), 1981, equation 15.
    """
    return _half_rows(_half_rows(gray).T).T


def _half_rows(values: FloatArray) -> FloatArray:
    count = (len(values) + 1) // 2
    # An odd row more would be the last pixel's second half.
    padded = np.pad(values, ((_BEFORE, _AFTER + len(values) % 2), (0, 0)), mode="symmetric")
    weights = _cubic(np.arange(-_BEFORE, _AFTER + 1) / 2 - 0.25) / 2
    total = np.zeros((count, values.shape[1]))
    for first, weight in enumerate(weights / weights.sum()):
        total += weight * padded[first : first + 2 * count : 2]
    return total


def _cubic(distance: FloatArray) -> FloatArray:
    """Keys' kernel with a = -0.5."""
    x = np.abs(distance)
    near, far = 1.5 * x**3 - 2.5 * x**2 + 1, -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2
    return np.where(x <= 1, near, np.where(x <= 2, far, 0.0))


FEATURES = 36
"""18 at full scale, then 18 at half scale."""
NIQE_BLOCK = 96
"""Side of NIQE's blocks at full scale, pixels."""
_ALONE = (0, 0)
_BRISQUE_SHIFTS = np.array([_ALONE, (0, 1), (1, 0), (1, 1), (-1, 1)])
_NIQE_SHIFTS = np.array([_ALONE, (0, 1), (1, 0), (1, 1), (1, -1)])
"""Rows and columns by which the MSCN coefficients are shifted before they are multiplied with themselves."""


def brisque_features(pixels: RgbImage) -> FloatArray:
    """The features of BRISQUE, in its order.

    At each of two scales: shape and variance of a GGD fitted to the MSCN coefficients; then shape, mean, left and right
    variance of an AGGD fitted to their products with the neighbour at (0, 1), (1, 0), (1, 1) and (-1, 1), in a circle.
    Beyond the picture's edge there are zeros.

    Source:
        Mittal, Moorthy and Bovik, IEEE Trans. Image Processing 21(12), 2012, table I.
    """
    gray = gray_levels(pixels)
    return np.concatenate([_brisque_scale(gray), _brisque_scale(half_scale(gray))])


def _brisque_scale(gray: FloatArray) -> FloatArray:
    mscn, _ = normalized_luminance(gray, "zero")
    sums = block_sums(mscn, *mscn.shape, _BRISQUE_SHIFTS)[0, 0]
    shape, variance = fit_ggd(sums[0], mscn.size)
    pairs = fit_aggd(sums[1:], mscn.size)
    products = np.stack([pairs.shape, pairs.mean, pairs.left**2, pairs.right**2], axis=-1)
    return np.concatenate([[shape, variance], products.ravel()])


def niqe_features(pixels: RgbImage) -> tuple[FloatArray, FloatArray]:
    """The features of NIQE of each whole block of 96 x 96 pixels, in its order.

    At each of two scales: shape and mean beta of an AGGD fitted to the MSCN coefficients; then shape, mean, left and
    right beta of an AGGD fitted to their products with the neighbour at (0, 1), (1, 0), (1, 1) and (1, -1), in a circle
    within the block. Beyond the edge of the whole blocks the last pixel is repeated.

    Source:
        Mittal, Soundararajan and Bovik, IEEE Signal Processing Letters 20(3), 2013, section II.
    """
    gray = gray_levels(pixels)
    rows, columns = gray.shape[0] // NIQE_BLOCK, gray.shape[1] // NIQE_BLOCK
    if rows * columns == 0:
        return np.empty((0, FEATURES)), np.empty(0)
    gray = np.ascontiguousarray(gray[: rows * NIQE_BLOCK, : columns * NIQE_BLOCK])
    full, deviation = _niqe_scale(gray, NIQE_BLOCK)
    half, _ = _niqe_scale(half_scale(gray), NIQE_BLOCK // 2)
    sharpness = deviation.reshape(rows, NIQE_BLOCK, columns, NIQE_BLOCK).mean(axis=(1, 3))
    return np.hstack([full, half]), sharpness.ravel()


def _niqe_scale(gray: FloatArray, side: int) -> tuple[FloatArray, FloatArray]:
    """A row of 18 features for each block, and the local standard deviation of each pixel."""
    mscn, deviation = normalized_luminance(gray, "repeat")
    sums = block_sums(mscn, side, side, _NIQE_SHIFTS).reshape(-1, len(_NIQE_SHIFTS), 5)
    fits = fit_aggd(sums, side * side)
    alone = np.stack([fits.shape[:, 0], fits.scale[:, 0] * (fits.left[:, 0] + fits.right[:, 0]) / 2], axis=1)
    return np.hstack([alone, _products(fits)]), deviation


def _products(fits: AsymmetricFit) -> FloatArray:
    columns = np.stack([fits.shape, fits.mean, fits.scale * fits.left, fits.scale * fits.right], axis=-1)
    return columns[:, 1:].reshape(len(columns), -1)
