"""The shift in time between two series: of signals with a known one, and correlations against NumPy's."""

import numpy as np
import pytest

from simjudge.objects.series_statistics import correlations, time_shift


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
