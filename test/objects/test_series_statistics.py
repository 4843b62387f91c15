"""The interval of a mean and the shift between series, against resampling and known shifts."""

import math

import numpy as np
import pytest
from scipy import stats

from simjudge.objects.series_comparison import block_spread, correlations, differences, holm, mean_interval, time_shift


def autoregressive(count, coefficient, rng):
    noise = rng.standard_normal(count + 200)
    out = np.empty(count + 200)
    out[0] = noise[0]
    for i in range(1, count + 200):
        out[i] = coefficient * out[i - 1] + noise[i]
    return out[200:]


def test_of_independent_samples_it_is_the_textbooks_interval_and_test():
    value = np.random.default_rng(1).normal(0.3, 2.0, 40)
    found = mean_interval(value, block=1)
    test = stats.ttest_1samp(value, 0.0)
    assert [found.low, found.high] == pytest.approx(test.confidence_interval(0.95))
    assert found.p == pytest.approx(test.pvalue)
    assert found.mean == pytest.approx(value.mean())


def test_of_independent_samples_the_spread_is_scipys_bootstrap():
    value = np.random.default_rng(2).exponential(2.0, 60)
    drawn = stats.bootstrap((value,), np.mean, n_resamples=20_000, method="basic", random_state=3).standard_error
    assert block_spread(value, 1) * math.sqrt(59 / 60) == pytest.approx(drawn, rel=0.02)


@pytest.mark.parametrize(("count", "block"), [(60, 6), (61, 7), (20, 3), (33, 11)])
def test_the_spread_of_blocks_is_that_of_drawn_blocks(count, block):
    rng = np.random.default_rng(4)
    value = autoregressive(count, 0.8, rng)
    means = []
    for _ in range(8_000):
        drawn = []
        while len(drawn) < count:
            first = rng.integers(count)
            drawn += [value[(first + i) % count] for i in range(min(block, count - len(drawn)))]
        means.append(sum(drawn) / count)
    blocks = count / block
    assert block_spread(value, block) == pytest.approx(np.std(means) * math.sqrt(blocks / (blocks - 1)), rel=0.04)


@pytest.mark.parametrize(
    ("value", "low", "high", "p"), [(np.full(9, 2.5), 2.5, 2.5, 0.0), (np.zeros(9), 0.0, 0.0, 1.0)]
)
def test_equal_values_have_no_spread(value, low, high, p):
    found = mean_interval(value)
    assert (found.low, found.high, found.p) == (low, high, p)


@pytest.mark.parametrize("size", [1e-24, 1.0, 1e12])
def test_small_numbers_have_a_spread_like_large_ones(size):
    first, second = np.random.default_rng(6).normal(0, 1, (2, 40)) + 5
    found, scaled = (mean_interval(differences(first * k, second * k), block=1) for k in (1.0, size))
    assert (scaled.mean, scaled.low, scaled.high) == pytest.approx(np.array([found.mean, found.low, found.high]) * size)
    assert scaled.p == pytest.approx(found.p)
    # What rounding leaves between equal values is no difference.
    rounded = mean_interval(differences(first * size, first * size * (1 + 1e-15)), block=1)
    assert (rounded.mean, rounded.p) == (0, 1)


def test_frames_without_a_value_are_left_out():
    value = np.random.default_rng(5).normal(size=12)
    holes = np.insert(value, [3, 3, 7], np.nan)
    assert mean_interval(holes, block=1) == mean_interval(value, block=1)
    assert mean_interval(np.array([1.0, np.nan, 2.0, 3.0, 4.0])) is None


@pytest.mark.parametrize("scale", [1e-23, 1e12])
def test_the_unit_does_not_matter(scale):
    value = np.random.default_rng(9).normal(0.1, 1, 30)
    found, other = mean_interval(value), mean_interval(scale * value)
    assert other.p == pytest.approx(found.p)
    assert other.low / scale == pytest.approx(found.low)


def test_neighbours_that_resemble_each_other_widen_the_interval():
    value = autoregressive(400, 0.9, np.random.default_rng(6))
    found, naive = mean_interval(value), mean_interval(value, block=1)
    assert found.block > 5
    assert found.high - found.low > 2 * (naive.high - naive.low)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("coefficient", "count", "least"),
    [(0.0, 30, 0.92), (0.0, 200, 0.92), (0.5, 200, 0.9), (0.8, 300, 0.9), (0.9, 300, 0.85)],
)
def test_intervals_hold_the_truth_about_as_often_as_they_say(coefficient, count, least):
    rng = np.random.default_rng(7)
    held = [
        found.low <= 0 <= found.high
        for found in (mean_interval(autoregressive(count, coefficient, rng)) for _ in range(400))
    ]
    assert least <= np.mean(held) <= 0.99


@pytest.mark.parametrize(
    ("p", "expected"),
    [
        ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]),
        ([0.5, 0.9], [1.0, 1.0]),
        ([0.02, np.nan, 0.03], [0.04, np.nan, 0.04]),
        ([], []),
    ],
)
def test_holm_by_hand(p, expected):
    assert holm(np.array(p)) == pytest.approx(expected, nan_ok=True)


def test_holm_claims_what_the_steps_of_the_paper_claim():
    rng = np.random.default_rng(8)
    for _ in range(50):
        p = rng.uniform(0, 0.05, 6) ** rng.uniform(1, 2)
        claimed = set()
        for step, row in enumerate(np.argsort(p)):
            if p[row] > 0.05 / (6 - step):
                break
            claimed.add(int(row))
        assert set(np.flatnonzero(holm(p) <= 0.05).tolist()) == claimed


def signal(time):
    """Smooth, without a period of its own."""
    return np.sin(1.3 * time) + 0.6 * np.sin(3.1 * time + 1) + 0.3 * np.cos(5.3 * time)


@pytest.mark.parametrize("shift", [-0.42, -0.1, -0.013, 0.0, 0.02, 0.05, 0.31, 0.9])
@pytest.mark.parametrize("rate", [15.0, 40.0])
def test_known_shifts_are_found(shift, rate):
    time, other = np.arange(0, 20, 1 / 15), np.arange(0.01, 20, 1 / rate)
    found = time_shift((time, signal(time)), (other, 3 * signal(other - shift) + 7), 1.0)
    assert found.seconds == pytest.approx(shift, abs=0.0005)
    assert found.correlation > 0.99


def test_it_is_found_in_noise_and_with_frames_missing():
    rng = np.random.default_rng(1)
    time = np.sort(rng.uniform(0, 30, 450))
    a = signal(time) + rng.normal(0, 0.2, 450)
    b = signal(time - 0.15) + rng.normal(0, 0.2, 450)
    a[100:115], b[300] = np.nan, np.nan
    assert time_shift((time, a), (time, b), 1.0).seconds == pytest.approx(0.15, abs=0.02)


def test_the_size_of_what_is_approached_tells_a_shift_as_surely_as_it_says():
    rng = np.random.default_rng(4)
    time = np.arange(0, 20, 1 / 15)
    for noise in (0.03, 0.05, 0.1):
        found = []
        for _ in range(20):
            a, b = (400 / (25 - time + late) + noise * rng.standard_normal(len(time)) for late in (0.0, 0.2))
            found.append(time_shift((time, a), (time, b), 1.0))
        apart = np.array([each.seconds - 0.2 for each in found])
        assert np.std(apart) == pytest.approx(np.mean([each.spread for each in found]), rel=0.5)
        assert abs(apart.mean()) < np.std(apart)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (lambda t: 3 * t, lambda t: 3 * t - 2),
        (lambda t: 3 * t + np.cos(40 * t), lambda t: 3 * t - 2 + np.sin(47 * t)),
        (lambda t: 0 * t + 2, signal),
        (signal, lambda t: np.where(t < 1, 1.0, np.nan)),
        (signal, lambda t: signal(t - 2.0)),
        (signal, lambda t: np.random.default_rng(2).normal(size=len(t))),
        (signal, lambda t: t * np.nan),
    ],
    ids=["a line", "a line in noise", "constant", "too short", "beyond the limit", "noise", "no value"],
)
def test_where_none_can_be_told_none_is(a, b):
    time = np.arange(0, 20, 1 / 15)
    assert time_shift((time, a(time)), (time, b(time)), 0.5) is None


def test_a_shift_that_may_as_well_be_none_is_not_told():
    """What drifts slowly in noise tells -225 +- 239 ms in one of many series."""
    rng = np.random.default_rng(7)
    time, told = np.arange(0, 20, 1 / 10), []
    for _ in range(200):
        a, b = (np.sin(0.7 * time) + rng.normal(0, 0.4, len(time)) for _ in range(2))
        found = time_shift((time, a), (time, b), 1.0)
        told += [] if found is None else [found]
    assert len(told) <= 0.05 * 200  # before, 199
    assert all(abs(each.seconds) > 2 * each.spread or 2 * each.spread < 0.25 / 10 for each in told)


def test_correlations_are_numpys_and_the_naive_loops():
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=80), rng.normal(size=80)
    found = correlations(a, b, 10)
    assert found[10] == pytest.approx(np.corrcoef(a, b)[0, 1])
    for k in range(-10, 11):
        x = [a[i] for i in range(80) if 0 <= i + k < 80]
        y = [b[i + k] for i in range(80) if 0 <= i + k < 80]
        assert found[k + 10] == pytest.approx(np.corrcoef(x, y)[0, 1])
    # Where all samples are common (zeros around), the sums are np.correlate's.
    a, b = (np.concatenate([np.zeros(12), each - each.mean(), np.zeros(12)]) for each in (a, b))
    sums = np.correlate(b, a, "full")[len(a) - 1 - 10 : len(a) + 10] / np.sqrt((a @ a) * (b @ b))
    assert correlations(a, b, 10) == pytest.approx(sums, abs=2e-3)
