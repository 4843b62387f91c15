"""The test of the specification (method.md, section 6) in plain NumPy, told what chance drew together.

It knows nothing of simjudge. Objects must be alone in their patches: two are similar where their boxes, one laid over
the other, are.
"""

from __future__ import annotations

from itertools import zip_longest

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray


def batches(
    sizes: tuple[IntArray, IntArray], classes: tuple[IntArray, IntArray], theta: float
) -> list[tuple[int, IntArray, IntArray]]:
    """How many contexts of A have each batch, and the rows of A and of B in it; those with rows of both.

    Args:
        sizes: int64 (N, 2), width and height, of A and of B.
        classes: int64 (N,), of A and of B.
        theta: threshold of similarity.
    """
    kinds, number = np.unique(np.column_stack([classes[0], sizes[0]]), axis=0, return_counts=True)
    found = []
    for (class_id, width, height), contexts in zip(kinds.tolist(), number.tolist(), strict=True):
        rows = []
        for side_sizes, side_classes in zip(sizes, classes, strict=True):
            inside = np.minimum(side_sizes[:, 0], width) * np.minimum(side_sizes[:, 1], height)
            union = side_sizes.prod(1) + width * height - inside
            rows.append(np.flatnonzero((side_classes == class_id) & (inside >= theta * union)))
        if len(rows[1]):
            found.append((contexts, rows[0], rows[1]))
    return found


def told_test(
    performance: tuple[FloatArray, FloatArray],
    units: tuple[tuple[IntArray, ...], tuple[IntArray, ...]],
    compared: list[tuple[int, IntArray, IntArray]],
    draws: int,
    random: np.random.Generator,
) -> tuple[float, float]:
    """Mean W1, and its p by a multiplier bootstrap over the units.

    Args:
        performance: float64 (N,), of A and of B.
        units: int64 (N,) columns of A and of B, one or two; a number that both have is one unit of both.
        compared: see `batches`.
        draws: normal numbers of each unit.
        random: draws them.
    """
    multiplier = [np.zeros((len(values), draws), np.float32) for values in performance]
    nothing = np.zeros(0, np.int64)
    for columns in zip_longest(*units, fillvalue=nothing):
        names, place = np.unique(np.concatenate(columns), return_inverse=True)
        normal = random.standard_normal((len(names), draws), np.float32)
        parts = np.split(place, [len(columns[0])])
        multiplier = [
            known + normal[part] if len(part) else known for known, part in zip(multiplier, parts, strict=True)
        ]
    observed, drawn, contexts = 0.0, np.zeros(draws), 0
    for count, *rows in compared:
        value = np.concatenate([values[chosen] for values, chosen in zip(performance, rows, strict=True)])
        order = np.argsort(value, kind="stable")
        share = np.concatenate([np.full(len(rows[0]), 1 / len(rows[0])), np.full(len(rows[1]), -1 / len(rows[1]))])
        steps = np.diff(value[order]).astype(np.float32)
        observed += count * float(np.abs(np.cumsum(share[order])[:-1]) @ steps)
        weighted = np.concatenate([each[chosen] for each, chosen in zip(multiplier, rows, strict=True)])
        weighted = np.cumsum(weighted[order] * share[order, np.newaxis].astype(np.float32), axis=0)
        below = (np.arange(1, len(value)) / len(value)).astype(np.float32)
        drawn += count * (steps @ np.abs(weighted[:-1] - below[:, np.newaxis] * weighted[-1]))
        contexts += count
    if not contexts:
        return np.nan, 1.0
    return observed / contexts, float((1 + np.sum(drawn >= observed)) / (1 + draws))
