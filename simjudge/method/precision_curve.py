"""Average precision of a ranked list, as COCO takes it, and how much each prediction and object moves it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr

_RECALLS = np.linspace(0.0, 1.0, 101)
_ROUNDING = 1e-9


@dataclass(frozen=True, repr=False)
class RankedPredictions(ShortRepr):
    """P predictions of one class in the order of their scores, the best first.

    Attributes:
        prediction: int64 (P,), rows of the set's predictions.
        matched: int64 (P,), the row of the object that each is a hit on; -1 for a false positive.
    """

    prediction: IntArray
    matched: IntArray

    @property
    def hit(self) -> BoolArray:
        """Which are hits."""
        return np.asarray(self.matched >= 0)


def coco_precision(hit: BoolArray, objects: float, weight: FloatArray | None = None) -> float:
    """COCO's average precision: the mean over 101 recalls of the best precision at that recall or a higher one.

    Args:
        hit: bool (P,), the best score first.
        weight: float64 (P,), of the predictions; None: 1 each.
    """
    heavy = np.ones(len(hit)) if weight is None else weight
    hits, total = np.cumsum(heavy * hit), np.cumsum(heavy)
    precision = hits / np.maximum(total, np.spacing(1))
    # A recall that is never reached finds the 0 behind the end.
    best = np.append(np.maximum.accumulate(precision[::-1])[::-1], 0.0)
    recall = hits / objects + (0.0 if weight is None else _ROUNDING)
    return float(best[np.searchsorted(recall, _RECALLS, side="left")].mean())


def precision_influence(hit: BoolArray, objects: float, weight: FloatArray | None = None) -> tuple[FloatArray, float]:
    """How much more of each prediction, and of an object, moves average precision.

    It is the derivative of the area under the same curve, the mean over objects of the best precision from their hit
    on, by the weights of predictions and objects.

    Returns:
        float64 (P,) of the predictions, and that of one object of weight 1.
    """
    heavy = np.ones(len(hit)) if weight is None else weight
    count = len(hit)
    if not count:
        return np.zeros(0), 0.0
    total = np.maximum(np.cumsum(heavy), np.spacing(1))
    precision = np.cumsum(heavy * hit) / total
    best = np.maximum.accumulate(precision[::-1])[::-1]
    # Where each hit's best precision is reached: the last place that has it, from the hit on.
    records = np.flatnonzero(precision > np.append(best[1:], -1.0))
    reached = records[np.searchsorted(records, np.arange(count))]
    weighted = heavy * hit
    # The best precision of a hit is a quotient at `reached`: all predictions up to there move its two parts.
    by_hit = np.bincount(reached, weighted / total[reached], count)
    by_all = np.bincount(reached, weighted * best / total[reached], count)
    # Suffix sums: a prediction moves every curve point that is reached at its place or later.
    more, less = (np.cumsum(counts[::-1])[::-1] for counts in (by_hit, by_all))
    area = float(weighted @ best) / objects
    return heavy * (hit * (best + more) - less) / objects, -area / objects
