"""Simulated power: against known gaps put in by hand, and against comparisons of sets that really have the gap."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import wasserstein_distance
from simulated_gaps import GapModel, rates

from simjudge.context.algorithm import compare_class
from simjudge.context.deals import Deals
from simjudge.context.method import Method
from simjudge.context.patches import Contexts, label_contexts
from simjudge.context.pool import Samples
from simjudge.context.power import _deal_w1, _pooled, simulate_power, with_gap
from simjudge.context.power_curve import GAP_KINDS, LOWERED, MISSED, SIZES, PowerCurve

METHOD = Method(patch=(2, 4))
GAPS = (0.02, 0.035, 0.05, 0.07, 0.1, 0.14, 0.2)


def samples(model: GapModel, random: np.random.Generator) -> Samples:
    """Objects of one kind have equal patches, others have patches of another class."""
    frame, kind, value = model.draw(random, model.frames, is_b=False)
    patches = np.repeat(kind[:, None] + 1, 8, axis=1).reshape(-1, 2, 4).astype(np.int64)
    return Samples(label_contexts(patches, np.ones(patches.shape, np.bool_)), value, frame, model.frames)


def curve(model: GapModel, seed: int, deals: int = 300) -> PowerCurve:
    """Power over all, from one pilot without a gap."""
    random = np.random.default_rng(seed)
    drawn = Deals.draw((model.frames, model.frames), deals, seed, paired=False)
    return simulate_power([(samples(model, random), samples(model, random))], METHOD, drawn, GAPS)[1]


@pytest.mark.parametrize("kind", GAP_KINDS)
@pytest.mark.parametrize("gap", [0.01, 0.1, 0.4])
def test_a_gap_is_as_large_as_asked(kind, gap):
    value = np.random.default_rng(0).beta(6, 2, 2000)
    changed = with_gap(value, kind, gap)
    assert wasserstein_distance(value, changed) == pytest.approx(gap, abs=5e-4)
    assert (changed <= value).all()
    assert (changed == value).any() or kind == LOWERED
    assert with_gap(value, kind, 0.9) is None


@pytest.mark.parametrize("paired", [False, True])
def test_each_deal_is_algorithm_1_on_the_frames_dealt(paired):
    model = GapModel(8, 2)
    random = np.random.default_rng(4)
    a, b = samples(model, random), samples(model, random)
    deals = Deals.draw((8, 8), 3, 0, paired=paired)
    pool, contexts = _pooled(a, b, deals), Contexts.concatenate([a.contexts, b.contexts])
    found = _deal_w1(pool, METHOD, deals, [(LOWERED, 0.1)], 0)
    changed = with_gap(pool.performance, LOWERED, 0.1)
    for size in range(len(SIZES)):
        for again, labels in enumerate(pool.labels[size]):
            for deal in range(3):
                sides = [dealt(pool, contexts, side[:, deal], changed) for side in (labels.a, labels.b)]
                (result,), _ = compare_class(*sides, METHOD)
                w1 = result.w1[result.compared]
                expected = w1.mean() if len(w1) else np.nan
                assert found[0, size, again, deal] == pytest.approx(expected, nan_ok=True)
    whole = pool.labels[0][0]
    assert (whole.a[:16].sum(0) == 8).all()
    assert (whole.b[16:].sum(0) == 8).all()
    if paired:
        assert (whole.a[:8] + whole.a[8:16] == 1).all()


def dealt(pool, contexts, flags, changed) -> Samples:
    """The samples of the units that a side was dealt, half of them with the gap."""
    plain, gap = (np.flatnonzero(part[pool.frame]) for part in (flags[:16], flags[16:]))
    rows = np.concatenate([plain, gap])
    value = np.concatenate([pool.performance[plain], changed[gap]])
    return Samples(contexts.take(rows), value, np.arange(len(rows)), len(rows))


def test_where_nothing_can_be_told_nothing_is_claimed():
    few = GapModel(4, 1)
    drawn = Deals.draw((4, 4), 100, 0, paired=False)
    random = np.random.default_rng(0)
    (one,), _ = simulate_power([(samples(few, random), samples(few, random))], METHOD, drawn, GAPS)
    assert one.times_units(LOWERED, 0.05) is None  # four frames of a class
    assert one.smallest_gap(MISSED) is None


def test_more_units_are_forecast_by_the_root_of_their_number():
    shown = np.array([[0.1, 0.8, 1.0], [0.05, 0.3, 0.8]])
    made = PowerCurve(np.array([0.05, 0.1, np.sqrt(0.02)]), {LOWERED: shown})
    assert made.smallest_gap(LOWERED) == pytest.approx(0.1)
    assert made.smallest_gap(LOWERED, 1) == pytest.approx(np.sqrt(0.02))
    assert made.times_units(LOWERED, 0.05) == pytest.approx(4)
    assert made.smallest_gap(LOWERED, times=4) == pytest.approx(0.05)
    assert made.power(LOWERED, 0.05, times=4) == pytest.approx(0.8)
    assert made.power(LOWERED, 0.5) is None


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(("kind", "of_model"), [(LOWERED, "shift"), (MISSED, "miss")])
def test_the_gap_that_is_named_is_shown_in_about_80_of_100_real_comparisons(kind, of_model):
    """Power by many comparisons of new sets that have this gap, each with its own permutations."""
    model = GapModel(80, 4)
    named = float(np.mean([curve(model, seed).smallest_gap(kind) for seed in range(3)]))
    with_it = GapModel(80, 4, kind_of_gap=of_model, gap=named)
    assert with_it.true_gap() == pytest.approx(named, abs=0.012)
    assert abs(rates(with_it, 100).gaps - 0.8) <= 0.15  # 0.04 by chance, the rest by three pilots of 80 frames


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(("kind", "of_model"), [(LOWERED, "shift"), (MISSED, "miss")])
def test_as_many_frames_as_planned_show_the_gap(kind, of_model):
    pilot = GapModel(50, 4)
    times = float(np.median([curve(pilot, seed).times_units(kind, 0.06) for seed in range(3)]))
    shown = rates(GapModel(round(50 * times), 4, kind_of_gap=of_model, gap=0.06), 100).gaps
    assert 0.65 <= shown <= 0.98
