"""Generalized Gaussian distributions (GGD), symmetric and asymmetric (AGGD), fitted by moments on a grid of shapes.

Both fits start from the sums of `compiled_loops.block_sums`, so that a picture is passed over once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gamma

from simjudge.core.arrays import FloatArray
from simjudge.core.display import ShortRepr

SHAPES: FloatArray = np.arange(200, 10_001) / 1000
"""The shapes that are tried: 0.2 to 10 in steps of 0.001. 2 is a normal distribution, 1 a Laplace distribution."""
_RATIO: FloatArray = gamma(2 / SHAPES) ** 2 / (gamma(1 / SHAPES) * gamma(3 / SHAPES))
"""(E |x|)^2 / E x^2 of a GGD of each shape; it ascends."""
_INVERSE: FloatArray = 1 / _RATIO


@dataclass(frozen=True, repr=False, eq=False)
class AsymmetricFit(ShortRepr):
    """Fitted AGGDs. NaN where there are no values on one of the two sides.

    Attributes:
        shape: float64 (...).
        left, right: float64 (...), the standard deviations below and above 0.
    """

    shape: FloatArray
    left: FloatArray
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

    Args:
        sums: float64 (..., 5), of `block_sums`.

    Returns:
        Shape and variance, float64 (...) each; NaN where all values are 0.

    Source:
        Sharifi and Leon-Garcia, IEEE Trans. Circuits and Systems for Video Technology 5(1), 1995.
    """
    variance = (sums[..., 2] + sums[..., 3]) / count
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = variance / (sums[..., 4] / count) ** 2
    return _nearest_shape(-_INVERSE, -ratio), np.where(np.isnan(ratio), np.nan, variance)


def fit_aggd(sums: FloatArray, count: int) -> AsymmetricFit:
    """Fit asymmetric generalized Gaussian distributions around 0.

    Args:
        sums: float64 (..., 5), of `block_sums`.

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
