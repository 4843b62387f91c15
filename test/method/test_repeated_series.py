"""Series that come back after a lag, with members lost and cut in two, and series that do not."""

import itertools

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from simjudge.method.pass_loops import AS_GOOD, BESIDE, is_as_likely, likeliest_lags
from simjudge.method.repeated_series import pass_before


def laps(rng, things, passes, correlation=0.95, slips=0.03):
    """Values of passes, and the thing of each: now and then one is lost, or there twice."""
    thing = np.tile(np.arange(things), passes)
    thing = np.repeat(thing, rng.choice([0, 1, 2], len(thing), p=[slips / 2, 1 - slips, slips / 2]))
    kept, own = rng.normal(size=things), rng.normal(size=len(thing))
    return np.sqrt(correlation) * kept[thing] + np.sqrt(1 - correlation) * own, thing


def found_things(before):
    """The number of the first member of each one's passes."""
    first = np.arange(len(before))
    for member in np.flatnonzero(before >= 0).tolist():
        first[member] = first[before[member]]
    return first


@pytest.mark.parametrize(("things", "passes"), [(24, 5), (24, 2), (60, 3), (12, 6)])
def test_members_of_a_lap_are_found_whatever_is_lost_or_cut_in_two(things, passes):
    rng, right = np.random.default_rng(things), []
    for seed in range(10):
        value, thing = laps(rng, things, passes)
        before = pass_before(value, 6, seed)
        assert 0.85 * things <= len(np.unique(found_things(before))) <= 1.2 * things
        again = before >= 0
        right.append(np.mean(thing[again] == thing[before[again]]))
    assert np.mean(right) >= 0.88


def test_passes_that_nothing_slips_in_are_found_member_by_member():
    value, _ = laps(np.random.default_rng(0), 24, 5, 0.95, 0.0)
    assert pass_before(value, 6).tolist() == [-1] * 24 + list(range(96))


def test_of_series_that_do_not_come_back_one_in_ten_seems_to():
    rng = np.random.default_rng(0)
    found = sum(pass_before(rng.exponential(size=60), 6, seed) is not None for seed in range(100))
    assert 2 <= found <= 20  # binomial(100, 0.1): outside once in 500


def test_weak_correlation_of_passes_is_found_more_often_than_not():
    rng = np.random.default_rng(0)
    assert sum(pass_before(laps(rng, 24, 5, 0.5)[0], 6, seed) is not None for seed in range(20)) >= 12


def test_what_is_short_or_does_not_vary_never_comes_back():
    assert pass_before(np.full(60, 0.5), 6) is None
    assert pass_before(np.tile(np.arange(4.0), 3), 6) is None


def test_of_a_long_series_short_passes_are_found_in_seconds():
    value, _ = laps(np.random.default_rng(1), 300, 20, 0.9)
    assert 260 <= len(np.unique(found_things(pass_before(value, 6)))) <= 380


@pytest.mark.parametrize("correlation", [0.3, 0.9])
def test_the_likeliest_way_is_that_of_all_ways_tried_one_by_one(correlation):
    """Eight members of which four may have had a pass before: all ways through the lags 4 to 7."""
    for seed in range(5):
        value = np.random.default_rng(seed).normal(size=8)
        pair = multivariate_normal([0, 0], [[1, correlation], [correlation, 1]])

        def gain(member, lag, value=value, pair=pair):
            both = value[member], value[member - lag]
            return max(pair.logpdf(both) - norm.logpdf(both[0]) - norm.logpdf(both[1]), -3.0)

        best = -np.inf
        for begin in range(4, 8):
            for way in itertools.product(range(4, 8), repeat=8 - begin):
                lags = dict(zip(range(begin, 8), way, strict=True))
                changes = np.abs(np.diff(way))
                if any(lag > member for member, lag in lags.items()) or begin - way[0] > 2 or (changes > 2).any():
                    continue
                best = max(best, sum(gain(*each) for each in lags.items()) - 2.0 * changes.sum())
        assert likeliest_lags(value, 4, 4, correlation)[0] == pytest.approx(best, abs=1e-5)


def naive_scores(value, least, lags, correlation):
    """Log likelihoods by member and lag, float32 (K, lags), cell by cell and with the logarithm of each."""
    shape = len(value), lags
    score, total, passes = np.full(shape, -np.inf, np.float32), np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    for member in range(least, shape[0]):
        for place in range(min(member - least + 1, lags)):
            around = range(max(0, place - 2), min(lags, place + 3))
            best = max(float(score[member - 1, other]) - 2.0 * abs(other - place) for other in around)
            before = member - least - place
            if before <= 2:
                best = max(best, 0.0)
            near = max(around, key=lambda other, row=score[before]: row[other])
            known = score[before, near] > -np.inf
            summed, weight = (
                (float(total[before, near]), float(passes[before, near])) if known else (value[before], 1.0)
            )
            common = correlation / (1 + (weight - 1) * correlation)
            variance = 1 - weight * correlation * common
            own = value[member]
            gain = own**2 / 2 - (own - common * summed) ** 2 / (2 * variance) - np.log(variance) / 2
            score[member, place] = best + max(gain, -3.0)
            total[member, place], passes[member, place] = own + 0.5 * summed, 1 + 0.5 * weight
    return score


@pytest.mark.parametrize("correlation", [0.3, 0.9])
@pytest.mark.parametrize(("things", "passes", "lags"), [(9, 6, 48), (20, 3, 25), (7, 1, 90)])
def test_likelihoods_are_those_of_a_loop_over_all_cells(correlation, things, passes, lags):
    """Also where the loop ends early, because a likelihood cannot be reached any more."""
    for seed in range(3):
        value, _ = laps(np.random.default_rng(seed), things, passes, 0.8, 0.1)
        value = value if passes > 1 else np.random.default_rng(seed).normal(size=90)
        scores = naive_scores(value, 6, lags, correlation)[-1]
        found, lag = likeliest_lags(value, 6, lags, correlation)
        assert found == pytest.approx(scores.max(), rel=1e-6)
        good = [
            place
            for place in range(lags)
            if scores[place] > 0
            and scores[place] >= AS_GOOD * scores.max()
            and scores[place] >= scores[max(0, place - BESIDE) : place + BESIDE + 1].max()
        ]
        assert lag[-1] == (6 + good[0] if good else 0)
        for goal in (found, np.nextafter(found, np.float32(np.inf)), 0.5 * found, found - 1, found + 1, 2 * found + 5):
            assert is_as_likely(value, 6, lags, correlation, goal) == (found >= goal)
