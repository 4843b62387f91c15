"""How large the gap between the populations is, from W1 and its noise (method, section 6).

W1 of a finite sample is above that of the populations, and noise and gap do not simply add. Where F_A - F_B is D at
some value, its estimate is about normal around D with a spread s, and contributes E|N(D, s)| = s h(D / s), h(x) =
sqrt(2/pi) exp(-x^2 / 2) + x erf(x / sqrt 2). So a context with the noise N and the gap g has an expected W1 of about
S h(g / S), with S = N / h(0). What W1 is above its noise depends on how the gap is spread over the contexts, which is
why two moments are needed: the mean, and the mean of the squares.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import FloatArray, ShortRepr
from simjudge.core.numba_cache import njit
from simjudge.method.loop_choice import has_numpy_form

FOLD_AT_ZERO = math.sqrt(2 / math.pi)
"""Mean size of a standard normal number: h(0)."""
_FAR = 40.0
"""Spreads from which on h(x) is x."""
_STEPS = 60
"""Bisections: more than a double has bits for."""
_TABLE = 200
"""Sizes of a gap, a factor of 1.05 apart, between which draws are read off in proportion."""


@dataclass(frozen=True)
class Gap:
    """A gap of `size` in the share `share` of the contexts, and none in the others: `mean` over all of them."""

    mean: float
    share: float
    size: float


def expected_w1(gap: float, noise: FloatArray) -> FloatArray:
    """(C,) the expected W1 of contexts with this gap and (C,) noise."""
    out = np.empty(len(noise))
    _fold(gap, noise, out)
    return out


def folded_variance(gap: float, noise: FloatArray) -> FloatArray:
    """(C,) the variance of W1 of such contexts: of a normal number around the gap, folded at 0."""
    return np.asarray(np.maximum(0.0, gap**2 + (noise / FOLD_AT_ZERO) ** 2 - expected_w1(gap, noise) ** 2))


@has_numpy_form
@njit(cache=True, nogil=True)
def _fold(gap, noise, out):  # type: ignore[no-untyped-def]
    """S h(gap / S), by loop: scipy.special, which has erf for arrays, takes a second to import."""
    for i in range(len(noise)):
        spread = noise[i] / FOLD_AT_ZERO
        if gap < _FAR * spread:
            ratio = gap / spread
            out[i] = spread * (FOLD_AT_ZERO * math.exp(-ratio * ratio / 2) + ratio * math.erf(ratio / math.sqrt(2)))
        else:
            out[i] = gap


def estimate_gap(
    w1: FloatArray, noise: FloatArray, square: FloatArray, weight: FloatArray, largest: float = 1.0
) -> Gap:
    """Estimate the gap of (C,) contexts from their W1, and from the mean of W* and of its square over the draws.

    Where both moments ask for more than all contexts, the gap is in all of them, and the mean alone tells its size: the
    square of the noise is too much of W1's there, most of all in pairs. No gap is above `largest`.
    """
    weight = weight / weight.sum()
    above, above_square = float(weight @ (w1 - noise)), float(weight @ (w1 * w1 - square))
    if not above_square > 0:
        return Gap(0.0, 0.0, 0.0)
    low, high = min(math.sqrt(above_square), largest), largest
    if above > float(weight @ (expected_w1(low, noise) - noise)):
        everywhere = min(gap_behind(float(weight @ w1), noise, weight), largest)
        return Gap(everywhere, 1.0, everywhere)
    for _ in range(_STEPS):
        size = (low + high) / 2
        # With the size grows what the square is of the mean.
        if above * size * size > above_square * float(weight @ (expected_w1(size, noise) - noise)):
            high = size
        else:
            low = size
    return Gap(above_square / high, min(1.0, above_square / high**2), high)


def gap_behind(w1: float, noise: FloatArray, weight: FloatArray, share: float = 1.0) -> float:
    """The mean gap from which this mean W1 is expected, if it sits in this share of the contexts; 0 below the noise."""
    weight = weight / weight.sum()
    chance = float(weight @ noise)
    low, high = 0.0, w1 / share
    if w1 <= chance:
        return 0.0
    for _ in range(_STEPS):
        size = (low + high) / 2
        if chance + share * float(weight @ (expected_w1(size, noise) - noise)) < w1:
            low = size
        else:
            high = size
    return share * high


@dataclass(frozen=True, repr=False)
class GapCurve(ShortRepr):
    """`estimate_gap` for many draws at once, by a table.

    Attributes:
        size: (K,) sizes of a gap, ascending.
        above: (K,) at each size, what the mean of W1 is above the noise; ascending.
        ratio: (K,) that over what the mean square is; descending.
    """

    size: FloatArray
    above: FloatArray
    ratio: FloatArray

    @classmethod
    def of_contexts(cls, noise: FloatArray, weight: FloatArray, largest: float) -> GapCurve:
        """The table of (C,) contexts with this noise; no gap is above `largest`."""
        size = np.geomspace(1e-4 * largest, largest, _TABLE)
        above = np.array([float(weight @ (expected_w1(gap, noise) - noise)) for gap in size.tolist()])
        return cls(size, np.maximum.accumulate(above), np.minimum.accumulate(above / size**2))

    def gaps(self, above: FloatArray, above_square: FloatArray) -> FloatArray:
        """(D,) the mean gaps of draws whose mean W1 and mean square are (D,) this much above those of the noise."""
        positive = np.maximum(above_square, 1e-300)
        least = np.sqrt(positive)
        size = np.interp(-above / positive, -self.ratio, self.size)
        somewhere = above_square / np.clip(np.maximum(size, least), 0.0, self.size[-1])
        everywhere = np.interp(above, self.above, self.size)
        return np.asarray(np.where(above_square > 0, np.where(everywhere > least, everywhere, somewhere), 0.0))
