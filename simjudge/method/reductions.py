"""From the W1 list and its company to the numbers of a result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.method.algorithm import ClassComparison
from simjudge.method.entry_numbers import EntryNumbers
from simjudge.method.verdicts import Verdict

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def reduce_comparisons(parts: Sequence[ClassComparison]) -> EntryNumbers:
    """The numbers of one class, or of several classes together (each compared within itself).

    Returns:
        The numbers, not tested. What is undefined is None: every W1 number where no context was compared, means over
        nothing.
    """
    compared = [part.compared for part in parts]
    w1 = np.concatenate([part.w1[on] for part, on in zip(parts, compared, strict=True)])
    difference = np.concatenate([part.difference[on] for part, on in zip(parts, compared, strict=True)])
    batch = np.concatenate([part.batch[on] for part, on in zip(parts, compared, strict=True)])
    performance_a = np.concatenate([part.performance_a for part in parts])
    performance_b = np.concatenate([part.performance_b for part in parts])
    overlap_a = np.concatenate([part.overlap_a for part in parts])
    overlap_b = np.concatenate([part.overlap_b for part in parts])
    # Means over unlike classes say nothing about the sets: together, only the classes that both hold count.
    in_both = [part for part in parts if len(part.performance_a) and len(part.performance_b)] or parts
    any_compared = len(w1) > 0
    mean_w1, mean_performance_a = _mean(w1), _mean(np.concatenate([part.performance_a for part in in_both]))
    return EntryNumbers(
        n_a=len(performance_a),
        n_b=len(performance_b),
        compared=len(w1),
        mean_w1=mean_w1,
        relative_w1=mean_w1 / mean_performance_a if mean_w1 is not None and mean_performance_a else None,
        median_w1=float(np.median(w1)) if any_compared else None,
        max_w1=float(w1.max()) if any_compared else None,
        weighted_w1=float((w1 * batch[:, 0]).sum() / batch[:, 0].sum()) if any_compared else None,
        w1_quantiles={str(q): float(np.quantile(w1, q)) if any_compared else None for q in QUANTILES},
        mean_abs_mean_diff=_mean(np.abs(difference)),
        overlap_a=float(overlap_a.mean()) if len(overlap_a) else None,
        overlap_b=float(overlap_b.mean()) if len(overlap_b) else None,
        n_overlap_a=int(overlap_a.sum()),
        n_overlap_b=int(overlap_b.sum()),
        mean_batch_a=_mean(batch[:, 0].astype(np.float64)),
        mean_batch_b=_mean(batch[:, 1].astype(np.float64)),
        mean_performance_a=mean_performance_a,
        mean_performance_b=_mean(np.concatenate([part.performance_b for part in in_both])),
        **_outside("a", performance_a[~overlap_a]),
        **_outside("b", performance_b[~overlap_b]),
        verdict=Verdict.NOT_TESTED if any_compared else Verdict.NO_OVERLAP,
    )


def _outside(side: str, performance: FloatArray) -> dict[str, Any]:
    return {
        f"mean_performance_outside_{side}": _mean(performance),
        f"std_performance_outside_{side}": float(performance.std()) if len(performance) else None,
    }


def _mean(values: FloatArray) -> float | None:
    return float(values.mean()) if len(values) else None
