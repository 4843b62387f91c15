"""How often a comparison would show a gap of a given size: power, simulated from the sets themselves.

Both sets are pooled, and their sampling units (frames) are dealt to A and B at random, many times over: nothing differs
between such an A and B. Then a gap is put into B: the performance of its objects is lowered, or more of them are
missed, so that endless samples would show a W1 of this size. The share of deals in which the test calls a gap is the
power.

The test compares W1 with that of relabelled units, which keep the gap if they were dealt to B. Each deal is relabelled
once, and all deals share these values: the floor of sets of this size that hold this gap.

The similarities do not change, so one join serves all deals, gaps and sizes. Every context stands in the pool twice: as
it is when it is dealt to A, and with the gap when it is dealt to B.

For sizes beyond those at hand, the gap that is shown in 80 of 100 cases is carried on. W1's noise falls with the square
root of the number of units, but less where contexts have few neighbours, since a context's own sample is always among
them. So D(n)^2 = c / (n + n0), with c and n0 from the gaps at all units and at half of them.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from simjudge.context.deal_loops import add_dealt
from simjudge.context.distinct import Members
from simjudge.context.method import Method
from simjudge.context.multiple_tests import holm
from simjudge.context.pool import ContextPool, Samples
from simjudge.context.resampling import PooledSamples
from simjudge.context.similarity_join import join_blocks
from simjudge.context.verdicts import FEWEST_UNITS, SIGNIFICANCE
from simjudge.core.arrays import BoolArray, FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.progress import Advance

SHOWN = 0.8
"""The power that is asked for."""
LOWERED = "lowered"
"""The gap lowers the performance of every object of B that is found."""
MISSED = "missed"
"""The gap lets B miss more objects."""
GAP_KINDS = (LOWERED, MISSED)
SIZES = (1.0, 0.5)
"""Shares of the units at hand at which power is simulated."""
_LEAST_FALL = 1.2
"""D(n/2)^2 / D(n)^2 is 2 where noise falls with the square root. Below this value, noise of the simulation is taken."""


@dataclass(frozen=True, repr=False)
class Deals(ShortRepr):
    """Random deals of the units of both sets (A's first, then B's: F in all) to A and to B.

    Attributes:
        order: int32 (F, D), the order in which chance puts the units; the first are dealt to A, the last to B. Both
            units of a pair have one order.
        again: int32 (F, D), the order by which the deal is relabelled; of pairs, 1 where the unit then counts for A.
        side: bool (F, D), of pairs: whether the unit is dealt to A, its partner to B; None where units are no pairs.
        count_a: units of A.
    """

    order: npt.NDArray[np.int32]
    again: npt.NDArray[np.int32]
    side: BoolArray | None
    count_a: int

    @classmethod
    def draw(cls, units: tuple[int, int], count: int, seed: int, *, paired: bool) -> Deals:
        """Draw deals.

        Args:
            units: of A and of B.
            count: how many.
            seed: of the random numbers.
            paired: unit i of A and unit i of B are a pair.
        """
        random = np.random.default_rng([seed, 2])
        width = units[0] if paired else sum(units)
        order = _orders(random, width, count)
        if not paired:
            return cls(order, _orders(random, width, count), None, units[0])
        again, side = (random.integers(0, 2, order.shape).astype(np.int32) for _ in range(2))
        both = (np.concatenate([bits, 1 - bits]) for bits in (again, side))
        return cls(np.concatenate([order, order]), next(both), next(both).astype(np.bool_), units[0])

    def labels(self, frame: IntArray, share: float) -> tuple[UnitLabels, UnitLabels]:
        """Which units are A's and which are B's, in every deal and when it is relabelled.

        As in `Resamples.within`, A and B have as many units that hold a class as they really have.

        Args:
            frame: pooled numbers of the units that hold the class, each perhaps several times.
            share: of the units that are dealt; the others are left out.
        """
        units = len(self.order)
        in_a, in_b, again = (np.zeros(self.order.shape, np.bool_) for _ in range(3))
        if self.side is not None:
            dealt = self.order < round(share * units / 2)
            in_a, in_b, again = dealt & self.side, dealt & ~self.side, dealt & self.again.astype(np.bool_)
        else:
            held = np.unique(frame)
            total_a = int(np.count_nonzero(held < self.count_a))
            count_a, count_b = round(share * total_a), round(share * (len(held) - total_a))
            place = _places(self.order[held])
            in_a[held], in_b[held] = place < count_a, place >= len(held) - count_b
            left_out = ~(in_a[held] | in_b[held])
            again[held] = _places(self.again[held] + units * left_out) < count_a
        return UnitLabels.build(in_a, in_b, again=None), UnitLabels.build(in_a, in_b, again=again)


Flags = npt.NDArray[np.uint8]


@dataclass(frozen=True, repr=False)
class UnitLabels(ShortRepr):
    """Which units count for A and for B.

    Attributes:
        a, b: uint8 (2 F, D); the first F rows are units without the gap, the others the same units with it.
    """

    a: Flags
    b: Flags

    @classmethod
    def build(cls, in_a: BoolArray, in_b: BoolArray, *, again: BoolArray | None) -> UnitLabels:
        """Labels of a deal.

        Args:
            in_a, in_b: (F, D), the deal; units of B have the gap.
            again: (F, D), the units that count for A when the deal is relabelled; None: it is not.
        """
        mine, theirs = (in_a, in_b) if again is None else (again, (in_a | in_b) & ~again)
        return cls(*(np.concatenate([side & in_a, side & in_b]).astype(np.uint8) for side in (mine, theirs)))


def _orders(random: np.random.Generator, width: int, count: int) -> npt.NDArray[np.int32]:
    return np.stack([random.permutation(width) for _ in range(count)], 1).astype(np.int32)


def _places(order: npt.NDArray[np.signedinteger]) -> IntArray:
    return order.argsort(0, kind="stable").argsort(0, kind="stable")


@dataclass(frozen=True, repr=False)
class PowerCurve(ShortRepr):
    """How often gaps are shown, of one class or of all classes together.

    Attributes:
        gaps: float64 (G,), ascending, W1 of endless samples.
        shown: by kind of gap, float64 (sizes, G), the share of deals in which a gap is called; NaN where performance
            cannot fall so far.
    """

    gaps: FloatArray
    shown: dict[str, FloatArray]

    def power(self, kind: str, gap: float, times: float = 1.0) -> float | None:
        """The share of cases in which a gap is shown.

        Args:
            kind: one of GAP_KINDS.
            gap: W1 of endless samples.
            times: as many times the units that were simulated.

        Returns:
            Between the simulated gaps by interpolation; None where performance cannot fall so far.
        """
        shown, known = self.shown[kind][0], ~np.isnan(self.shown[kind][0])
        if not known.any() or gap > self.gaps[known][-1] * (1 + 1e-9):
            return None
        # More units show a gap as often as these show a larger one.
        alike = min(gap / self._scale(kind, times), float(self.gaps[known][-1]))
        return float(np.interp(alike, np.concatenate([[0.0], self.gaps[known]]), [SIGNIFICANCE, *shown[known]]))

    def smallest_gap(self, kind: str, size: int = 0, times: float = 1.0) -> float | None:
        """The smallest gap that is shown in 80 of 100 cases.

        Args:
            kind: one of GAP_KINDS.
            size: place in SIZES.
            times: as many times the units that were simulated.

        Returns:
            Between the simulated gaps by interpolation of the power's normal quantile; None where none of them is shown
            so often.
        """
        shown = np.maximum.accumulate(np.nan_to_num(self.shown[kind][size], nan=0.0))
        above = np.flatnonzero(shown >= SHOWN)
        if not len(above):
            return None
        i = int(above[0])
        before, gap_before = (shown[i - 1], self.gaps[i - 1]) if i else (SIGNIFICANCE, 0.0)
        low, wanted, high = (NormalDist().inv_cdf(float(np.clip(p, 0.01, 0.99))) for p in (before, SHOWN, shown[i]))
        found = float(gap_before + (wanted - low) / (high - low) * (self.gaps[i] - gap_before))
        return found if times == 1 else found * self._scale(kind, times)

    def times_units(self, kind: str, gap: float) -> float | None:
        """How many times the units that were simulated show a gap in 80 of 100 cases.

        Args:
            kind: one of GAP_KINDS.
            gap: W1 of endless samples.

        Returns:
            The factor, below 1 where fewer units would do; None where no simulated gap is shown so often, or the gap
            cannot be.
        """
        shown = self.smallest_gap(kind)
        if shown is None or self.power(kind, gap) is None:
            return None
        spare = self._spare(kind)
        return (1 + spare) * (shown / gap) ** 2 - spare

    def _scale(self, kind: str, times: float) -> float:
        """What the smallest gap is multiplied by where there are so many times the units."""
        spare = self._spare(kind)
        return float(np.sqrt((1 + spare) / (times + spare)))

    def _spare(self, kind: str) -> float:
        """The n0 of the module's docstring, as a share of the units that were simulated."""
        whole, half = (self.smallest_gap(kind, size) for size in range(len(SIZES)))
        fall = 2.0 if whole is None or half is None else float(np.clip((half / whole) ** 2, _LEAST_FALL, 2.0))
        return (1 - fall / 2) / (fall - 1)


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
