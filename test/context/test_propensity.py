"""The odds that a unit's contexts are A's, against loops and formulas, and the choice of units by them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_method import METHODS, frame_sets, naive_patch, naive_similar, samples_of

from simjudge.context.algorithm import compare_pairs
from simjudge.context.pool import ClassPair
from simjudge.context.propensity import PRIORS, Propensity, UnitOdds
from simjudge.context.resample_draws import ResampleDraws


@settings(max_examples=40, deadline=None)
@given(frame_sets(max_objects=14, max_frames=6), METHODS, st.integers(0, 6))
def test_propensity_is_the_log_odds_of_the_objects_of_a_unit(made, method, first):
    frames, performance = made
    of_frame = frames.objects.frame
    first = min(first, len(frames))
    in_a = of_frame < first
    a, b = (samples_of(frames, performance, method, np.flatnonzero(side)) for side in (in_a, ~in_a))
    [found] = compare_pairs([ClassPair(a, b, propensity=True)], method)
    [odds] = found.propensity
    assert found.resampled == []
    patches = [naive_patch(frames, row, method) for row in range(len(performance))]
    alike = [np.array([naive_similar(patches[row], other, method) for other in patches]) for row in range(len(patches))]
    share = float(np.mean(in_a)) if len(in_a) else 0.0
    total, count = np.zeros((len(PRIORS), 2 * len(frames))), np.zeros(2 * len(frames))
    shown = []
    for row, unit in enumerate(of_frame.tolist() if 0 < share < 1 else []):
        near = np.flatnonzero(alike[row] & (of_frame != unit))
        of_a = int(np.sum(in_a[near]))
        # Units are A's frames, then B's, as both tables number all frames.
        number = unit if unit < first else len(frames) + unit
        for each, prior in enumerate(PRIORS):
            ratio = (of_a + prior * share) / (len(near) - of_a + prior * (1 - share))
            total[each, number] += np.log(ratio) - np.log(share / (1 - share))
        count[number] += 1
        units_a, units = (len(np.unique(of_frame[side])) for side in (alike[row] & in_a, alike[row]))
        shown.append((units_a, units, sum(alike[row])))
    np.testing.assert_allclose(odds.total, total, atol=1e-9)
    np.testing.assert_array_equal(odds.count, count)
    k, m, samples = np.array(shown, np.float64).reshape(-1, 3).T
    moments = [k.sum(), m.sum(), (k * k).sum(), (k * m).sum(), (m * m).sum(), samples.sum()]
    np.testing.assert_allclose(odds.moments, moments)


def _scattered(units: int, correlation: float, rows: int, random) -> Propensity:
    """Rows that each show `units` units, two samples of each, of which a beta-binomial number are A's."""
    share = 0.3
    strength = 1 / correlation - 1 if correlation else np.inf
    chance = random.beta(share * strength, (1 - share) * strength, rows) if correlation else np.full(rows, share)
    k = random.binomial(units, chance)
    m = np.full(rows, units)
    odds = Propensity.zeros(1)
    odds.moments[:] = [k.sum(), m.sum(), (k * k).sum(), (k * m).sum(), (m * m).sum(), 2 * m.sum()]
    return odds


@pytest.mark.parametrize("correlation", [0.02, 0.1, 0.5])
def test_the_prior_is_that_of_the_distribution_that_the_shares_come_from(correlation):
    odds = _scattered(12, correlation, 100_000, np.random.default_rng(1))
    assert odds.prior == pytest.approx(2 * (1 / correlation - 1), rel=0.05)


def test_where_shares_scatter_as_in_a_lottery_the_odds_say_nothing():
    odds = _scattered(12, 0.0, 100_000, np.random.default_rng(2))
    assert odds.prior > 2 * 1000
    alternating = Propensity.zeros(3)
    alternating.moments[:] = [5, 10, 5, 10, 20, 20]
    alternating.total[:] = np.linspace(1, 0, len(PRIORS))[:, np.newaxis]
    assert np.isinf(alternating.prior), "each of five rows shows one unit of A and one of B"
    assert alternating.settled() == pytest.approx(np.zeros(3))


@pytest.mark.parametrize(("prior", "place"), [(0.2, 0), (1, 0), (3, 1.585), (4, 2), (512, 9)])
def test_odds_between_two_priors_are_in_proportion(prior, place, monkeypatch):
    monkeypatch.setattr(Propensity, "prior", prior)
    odds = Propensity.zeros(2)
    odds.total[:] = np.arange(len(PRIORS))[:, np.newaxis] * [1, -2]
    assert odds.settled() == pytest.approx([place, -2 * place], abs=1e-3)


def test_classes_add_to_a_unit_as_often_as_it_holds_them():
    both = UnitOdds(3)
    for total, count in (([2, 0, -1], [2, 0, 1]), ([1, 0, 3], [1, 0, 1])):
        odds = Propensity.zeros(3)
        odds.total[:], odds.count[:] = total, count
        both.add(odds)
    assert both.of_units() == pytest.approx([1, 0, 1])


@pytest.mark.parametrize("preferred", [0.0, 1.5])
def test_units_are_chosen_about_as_often_as_their_odds_say(preferred):
    draws = ResampleDraws(20, 30, seed=5)
    draws.propensity = np.where(np.arange(50) % 2, preferred, 0.0)[np.newaxis]
    labels = draws.draw(4000, 0)[0].labels[:, 1:]
    assert np.all(labels.sum(0) == 20)
    # 20 = 25 p + 25 q, with the odds of p exp(preferred) times those of q.
    odds = np.roots([np.exp(preferred) * 30, (np.exp(preferred) + 1) * 5, -20]).max()
    for parity in (0, 1):
        each = odds * (np.exp(preferred) if parity else 1.0)
        assert labels[parity::2].mean() == pytest.approx(each / (1 + each), abs=0.01)
        assert labels[parity::2].mean(1) == pytest.approx(labels[parity::2].mean(), abs=0.04)
