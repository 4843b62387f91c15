"""Contexts that are feature vectors: each in unary code, so that the join of patches joins them as they are.

A feature is a run of bits, as many of them set as it is large. Intersection over union of two such contexts is then
the sum of the smaller features over the sum of the larger ones (Ruzicka's similarity, the weighted Jaccard index).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.errors import SimjudgeError
from simjudge.method.bits import WORD, whole_lines
from simjudge.method.patches import Contexts

MOST_BITS = 16_384
"""Bits of a context, shared out among its features."""
MOST_STEPS, FEWEST_STEPS = 256, 16
"""Steps between 0 and the largest feature of all."""
_ROWS = 2048
"""Contexts that are encoded together."""


def feature_steps(count: int) -> int:
    """Steps in which features are counted. `count`: features of a vector."""
    if not 1 <= count <= MOST_BITS // FEWEST_STEPS:
        raise SimjudgeError(f"{count} features: 1 to {MOST_BITS // FEWEST_STEPS} can be compared")
    return min(MOST_STEPS, MOST_BITS // count)


def feature_contexts(features: FloatArray, largest: float) -> Contexts:
    """One context for each vector.

    Args:
        features: (N, D), 0 or more.
        largest: the largest feature of both sets; a feature counts in steps of it, see `feature_steps`.
    """
    count, wide = features.shape
    steps = feature_steps(wide)
    level = np.floor(features / (largest or 1.0) * steps + 0.5).astype(np.int64)
    words = np.zeros((count, whole_lines(-(-wide * steps // WORD), 8)), np.uint64)
    for start in range(0, count, _ROWS):
        part = level[start : start + _ROWS]
        words[start : start + _ROWS] = _unary(part, steps, words.shape[1])
    area: IntArray = level.sum(1)
    ones = np.arange(count + 1, dtype=np.int64)
    return Contexts(ones, np.zeros(count, np.int64), words, area, area, (wide, steps)).marked_empty()


def _unary(level: IntArray, steps: int, words: int) -> npt.NDArray[np.uint64]:
    """Words whose bit d * steps + k says whether feature d is more than k steps large."""
    bits = (np.arange(steps) < level[:, :, None]).reshape(len(level), -1)
    packed = np.zeros((len(level), words * WORD // 8), np.uint8)
    own = np.packbits(bits, axis=1, bitorder="little")
    packed[:, : own.shape[1]] = own
    return packed.view("<u8").astype(np.uint64)
