"""How often a comparison would show a gap of a given size: power, simulated from the sets themselves.

Both sets are pooled, and their sampling units (frames) are dealt to A and B at random, many times over: nothing differs
between such an A and B. Then a gap is put into B: the performance of its objects is lowered, or more of them are
missed, so that endless samples would show a W1 of this size. The share of deals in which the test calls a gap is the
power.

The test compares W1 with that of relabelled units, which keep the gap if they were dealt to B. Each deal is relabelled
once, and all deals share these values: the floor of sets of this size that hold this gap.

The similarities do not change, so one join serves all deals, gaps and sizes. Every context stands in the pool twice: as
it is when it is dealt to A, and with the gap when it is dealt to B.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simjudge.context.deal_loops import add_dealt
from simjudge.context.deals import Deals, UnitLabels
from simjudge.context.distinct import Members
from simjudge.context.method import Method
from simjudge.context.multiple_tests import holm
from simjudge.context.pool import ContextPool, Samples
from simjudge.context.power_curve import GAP_KINDS, MISSED, SIZES, PowerCurve
from simjudge.context.resampling import PooledSamples
from simjudge.context.similarity_join import join_blocks
from simjudge.context.verdicts import FEWEST_UNITS, SIGNIFICANCE
from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.progress import Advance


@dataclass(frozen=True, repr=False)
class _Pool(ShortRepr):
    """The samples of one class of both sets, A's first."""

    contexts: ContextPool
    performance: FloatArray
    frame: IntArray
    labels: list[tuple[UnitLabels, UnitLabels]]
    testable: bool


def simulate_power(
    classes: Sequence[tuple[Samples, Samples]],
    method: Method,
    deals: Deals,
    gaps: Sequence[float],
    *,
    seed: int = 0,
    advance: Advance | None = None,
) -> tuple[list[PowerCurve], PowerCurve]:
    """Simulate how often gaps are shown. A gap is put into all classes.

    Args:
        classes: the samples of A and of B, class by class.
        method: what a context is.
        deals: of the units.
        gaps: W1 of endless samples, ascending, above 0.
        seed: of the choice of objects that are missed.
        advance: told (contexts done, contexts in all).

    Returns:
        The curve of each class, as one of several, and that of all classes together.
    """
    pools = [_pooled(a, b, deals) for a, b in classes]
    scenarios = [(kind, gap) for kind in GAP_KINDS for gap in gaps]
    total, done = sum(len(pool.performance) for pool in pools), 0
    means: list[FloatArray] = []
    for pool in pools:
        means.append(_deal_w1(pool, method, deals, scenarios, seed))
        done += len(pool.performance)
        if advance is not None:
            advance(done, total)
    counts = np.array([len(pool.performance) for pool in pools], np.float64)
    return _curves(means, counts, [pool.testable for pool in pools], np.asarray(gaps, np.float64))


def _pooled(a: Samples, b: Samples, deals: Deals) -> _Pool:
    frame = np.concatenate([a.frame, b.frame + a.frame_count])
    held = [len(np.unique(side.frame)) for side in (a, b)]
    return _Pool(
        ContextPool.of_sets(a.contexts, b.contexts),
        np.concatenate([a.performance, b.performance]),
        frame,
        [deals.labels(frame, share) for share in SIZES],
        min(held) >= FEWEST_UNITS,
    )


def with_gap(performance: FloatArray, kind: str, gap: float, seed: int = 0) -> FloatArray | None:
    """Put a gap into samples.

    Args:
        performance: (N,) of the samples.
        kind: one of GAP_KINDS.
        gap: by how much the mean falls, which is the W1 between before and after, for nothing rises.
        seed: of the choice of objects that are missed.

    Returns:
        (N,) the performance with the gap; None where it cannot fall so far.
    """
    if not len(performance) or gap >= performance.mean():
        return None
    if kind == MISSED:
        order = np.random.default_rng([seed, 3]).permutation(len(performance))
        lost = np.cumsum(performance[order]) <= gap * len(performance)
        out = performance.copy()
        out[order[lost]] = 0.0
        return out
    low, high = 0.0, float(performance.max())
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if np.minimum(performance, middle).mean() < gap else (low, middle)
    return np.maximum(performance - high, 0.0)


def _deal_w1(
    pool: _Pool, method: Method, deals: Deals, scenarios: Sequence[tuple[str, float]], seed: int
) -> FloatArray:
    """Mean W1 of a class, (scenarios, sizes, deal and relabelled deal, deals); NaN where the gap cannot be."""
    units, tries = deals.order.shape
    shape = (len(scenarios), len(SIZES), 2, tries)
    sums, counts = np.zeros(shape), np.zeros(shape)
    doubled = []
    for kind, gap in scenarios:
        changed = with_gap(pool.performance, kind, gap, seed)
        doubled.append(None if changed is None else _ranked(pool, changed, units))
    tree, members = pool.contexts.tree, Members.of_groups(pool.contexts.place, len(pool.contexts.tree))
    rows, sizes = np.arange(len(tree)), 2 * np.diff(members.start)
    for block in join_blocks(tree, rows, sizes, [method.theta], strict=method.strict):
        mine = members.take(block.row)
        own = (mine.start, pool.frame[mine.item], units)
        for number, each in enumerate(doubled):
            if each is None:
                continue
            ranks, samples = each
            near = block.neighbours(ranks)
            shared = (near.start, near.rank, *own, samples.frame, samples.performance)
            for size, pair in enumerate(pool.labels):
                for again, labels in enumerate(pair):
                    into = (sums[number, size, again], counts[number, size, again])
                    add_dealt(*shared, labels.a, labels.b, method.min_batch_size, *into)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _ranked(pool: _Pool, changed: FloatArray, units: int) -> tuple[Members, PooledSamples]:
    """The pool as it is, and behind it with a gap: places in order of performance by context, and in that order."""
    performance = np.concatenate([pool.performance, changed])
    frame = np.concatenate([pool.frame, pool.frame + units])
    order = np.argsort(performance, kind="stable")
    rank_of = np.empty(len(order), np.int32)
    rank_of[order] = np.arange(len(order))
    both = Members.of_groups(np.tile(pool.contexts.place, 2), len(pool.contexts.tree))
    return Members(both.start, rank_of[both.item]), PooledSamples(frame[order], performance[order], units)


def _curves(
    means: list[FloatArray], counts: FloatArray, testable: list[bool], gaps: FloatArray
) -> tuple[list[PowerCurve], PowerCurve]:
    """From mean W1 of every class in every deal to the share of deals in which a gap is called."""
    shown = np.full((len(means) + 1, len(GAP_KINDS) * len(gaps), len(SIZES)), np.nan)
    for scenario, size in np.ndindex(shown.shape[1:]):
        of_classes = [mean[scenario, size] for mean in means]
        p_all = _p_values(*_together(of_classes, counts))
        shown[-1, scenario, size] = _share_shown(p_all)
        p = [_p_values(*one) if can else np.full_like(p_all, np.nan)
             for one, can in zip(of_classes, testable, strict=True)]  # fmt: skip
        for k, adjusted in enumerate(_holm_columns(np.array(p))):
            shown[k, scenario, size] = _share_shown(np.maximum(adjusted, p_all))
    curves = [
        PowerCurve(gaps, {kind: one[i * len(gaps) : (i + 1) * len(gaps)].T for i, kind in enumerate(GAP_KINDS)})
        for one in shown
    ]
    return curves[:-1], curves[-1]


def _together(of_classes: list[FloatArray], counts: FloatArray) -> FloatArray:
    """Mean W1 over the classes that hold the gap, each with its share of the contexts."""
    table = np.array(of_classes)
    weight = counts[:, None, None] * ~np.isnan(table)
    total = weight.sum(0)
    return np.where(total > 0, (np.nan_to_num(table) * weight).sum(0) / np.maximum(total, 1), np.nan)


def _p_values(found: FloatArray, null: FloatArray) -> FloatArray:
    """The p of each deal among the relabelled ones; NaN where the gap cannot be, 1 where nothing was compared."""
    if np.isnan(found).all():
        return np.full(len(found), np.nan)
    ordered = np.sort(np.where(np.isnan(null), np.inf, null))
    at_least = len(ordered) - np.searchsorted(ordered, found * (1 - 1e-12))
    return np.where(np.isnan(found), 1.0, (1 + at_least) / (1 + len(ordered)))


def _holm_columns(p: FloatArray) -> FloatArray:
    """Holm's correction in each deal, over the classes that can be tested."""
    out = np.full(p.shape, np.nan)
    for deal in range(p.shape[1]):
        adjusted = holm([None if np.isnan(one) else float(one) for one in p[:, deal]])
        out[:, deal] = [np.nan if one is None else one for one in adjusted]
    return out


def _share_shown(p: FloatArray) -> float:
    return float("nan") if np.isnan(p).all() else float(np.mean(p <= SIGNIFICANCE))
