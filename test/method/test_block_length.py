"""The block length: on series whose best length is known, against a literal second version, and with gaps."""

import math

import numpy as np
import pytest
from simulated_series import Series, false_alarms

from simjudge.method.block_length import LEAST_UNITS, estimate_block_length, independent_frames, longest_block


def autoregressive(count, coefficient, seed):
    """AR(1) with variance 1."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal(count) * math.sqrt(1 - coefficient**2)
    series = np.empty(count)
    series[0] = rng.standard_normal()
    for i in range(1, count):
        series[i] = coefficient * series[i - 1] + noise[i]
    return series


def moving_average(count, coefficient, seed):
    noise = np.random.default_rng(seed).standard_normal(count + 1)
    return noise[1:] + coefficient * noise[:-1]


def estimate(series, slot=None, run=None, own=0.0):
    count = len(series)
    slots, runs = np.arange(count) if slot is None else slot, np.zeros(count, np.int64) if run is None else run
    return estimate_block_length(runs, slots, np.asarray(series, float), own=own)


def suspected(correlation, n):
    """Correlation within chance: blocks of the AR(1) series with it, where it is above a standard error."""
    c = max(correlation + (1 + 3 * correlation) / n, 0)
    top = min(c + 1.645 * math.sqrt((1 - c * c) / n), 0.99)
    if n * (1 - top) / (1 + top) < LEAST_UNITS:
        return (n - 1) // 5
    if c <= 1 / math.sqrt(n):
        return 1
    g, d = 2 * sum(k * c**k for k in range(1, 200)), 4 / 3 * (1 + 2 * sum(c**k for k in range(1, 200))) ** 2
    return min(math.ceil(2 * (2 * g * g / d * n) ** (1 / 3)), (n - 1) // 5)


def literal(series):
    """Politis and White (2004), as their paper reads, loop by loop; without gaps."""
    n = len(series)
    x = [v - sum(series) / n for v in series]
    at_once = max(5, math.ceil(math.sqrt(math.log10(n))))
    lags = math.ceil(math.sqrt(n)) + at_once
    r = [sum(x[i] * x[i + k] for i in range(n - k)) / n for k in range(lags + 1)]
    small = [abs(v / r[0]) < 2 * math.sqrt(math.log10(n) / n) for v in r]
    m = next((m for m in range(lags - at_once + 1) if all(small[m + k] for k in range(1, at_once + 1))), None)
    if m is None:
        m = max(k for k in range(1, lags + 1) if not small[k])
    if m == 0:
        return suspected(r[1] / r[0], n)
    width = min(2 * m, lags)
    flat = {k: 1 if abs(k) / width <= 0.5 else 2 * (1 - abs(k) / width) for k in range(-width, width + 1)}
    g = sum(flat[k] * abs(k) * r[abs(k)] for k in flat)
    d = 4 / 3 * sum(flat[k] * r[abs(k)] for k in flat) ** 2
    best = min((2 * g * g / d) ** (1 / 3) * n ** (1 / 3), 3 * math.sqrt(n), n / 3)
    return max(1, min(math.ceil(2 * best), (n - 1) // 5))


@pytest.mark.parametrize("coefficient", [0.0, 0.3, 0.6, 0.9, 0.97])
@pytest.mark.parametrize("count", [40, 300, 1000])
@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_published_length(coefficient, count, seed):
    series = autoregressive(count, coefficient, seed)
    assert estimate(series).frames == literal(series.tolist())


@pytest.mark.parametrize(
    ("series", "known"),
    [
        # (2 G^2 / D)^(1/3) with the true autocovariances, which both processes have in closed form.
        (lambda seed: autoregressive(4000, 0.5, seed), (6 * 0.25 / (1 - 0.25) ** 2) ** (1 / 3)),
        (lambda seed: autoregressive(4000, 0.8, seed), (6 * 0.64 / (1 - 0.64) ** 2) ** (1 / 3)),
        (lambda seed: moving_average(4000, 1.0, seed), (6 * 0.5**2 / (1 + 2 * 0.5) ** 2) ** (1 / 3)),
    ],
)
def test_it_finds_the_best_length(series, known):
    """On average over series; the factor 2 is that of blocks which are permuted."""
    found = np.mean([estimate(series(seed)).frames for seed in range(20)])
    assert found == pytest.approx(2 * known * 4000 ** (1 / 3), rel=0.2)


@pytest.mark.parametrize("coefficient", [0.3, 0.6, 0.8])
def test_the_design_effect_is_that_of_the_series(coefficient):
    """(1 + c) / (1 - c) of an AR(1) series."""
    found = np.mean([estimate(autoregressive(4000, coefficient, seed)).design_effect for seed in range(20)])
    assert found == pytest.approx((1 + coefficient) / (1 - coefficient), rel=0.15)


@pytest.mark.parametrize(("count", "coefficient"), [(60, 0.8), (200, 0.9), (600, 0.8)])
def test_noise_of_few_objects_does_not_hide_how_long_light_lasts(count, coefficient):
    """Light under noise: 1 + (share of light) * ((1 + c) / (1 - c) - 1); neighbours alone tell less than half of it."""
    rng = np.random.default_rng(1)
    found, plain = [], []
    for seed in range(60):
        series = autoregressive(count, coefficient, seed) + rng.normal(0, 0.7, count)
        found.append(estimate(series, own=0.49).worth)
        plain.append(estimate(series).worth)
    true = count / (1 + (2 * coefficient / (1 - coefficient)) / 1.49)
    assert np.median(np.minimum(found, count)) == pytest.approx(true, rel=0.3)
    assert np.median(np.minimum(plain, count)) > (1.4 if count < 600 else 1) * true


@pytest.mark.parametrize("own", [0.3, 1.0])
def test_what_objects_have_by_themselves_does_not_make_independent_frames_go_together(own):
    rng = np.random.default_rng(6)
    found = [estimate(rng.normal(0, 1, 60), own=own) for _ in range(200)]
    assert sum(one.too_short for one in found) <= 4
    assert sum(one.limited for one in found) <= 12
    assert sum(one.frames == 1 for one in found) >= 140


def test_objects_that_stay_in_sight_are_no_light():
    """Own noise that lasts with the objects: neighbours have more in common than a frame's objects do at one time."""
    series = autoregressive(600, 0.8, 3) + autoregressive(600, 0.8, 4)
    assert estimate(series, own=1.0).worth > 40


def test_independent_frames_stay_alone():
    rng = np.random.default_rng(5)
    lengths = [estimate(rng.uniform(size=200)).frames for _ in range(100)]
    assert lengths.count(1) >= 70  # a standard error above 0 is reached by 16 in 100
    assert max(lengths) <= 15
    rng = np.random.default_rng(5)
    marked = [
        estimate_block_length(np.zeros(200, np.int64), np.arange(200), rng.uniform(size=200), independent=True).frames
        for _ in range(200)
    ]
    assert marked.count(1) >= 190  # a false alarm in 100 is meant


@pytest.mark.parametrize(
    "value", [[0.5] * 50, [math.nan] * 50, [], [0.1, 0.9, 0.2], [math.nan] * 45 + [0.1, 0.2, 0.3, 0.4, 0.5]]
)
def test_frames_that_tell_nothing_stay_alone(value):
    assert estimate(value).frames == 1


def test_order_gaps_and_doubled_slots_do_not_count():
    """Shuffled rows are the same series; a frame in a hundred missing hardly changes it, nor does every frame twice."""
    series, rng = autoregressive(1000, 0.9, 1), np.random.default_rng(2)
    whole, order = estimate(series).frames, rng.permutation(1000)
    assert estimate(series[order], order).frames == whole
    kept = np.flatnonzero(rng.random(1000) > 0.01)
    assert estimate(series[kept], kept * 1).frames == pytest.approx(whole, rel=0.15)
    with_nan = np.where(np.isin(np.arange(1000), kept), series, math.nan)
    assert estimate(with_nan).frames == estimate(series[kept], kept).frames
    assert estimate(np.repeat(series, 2), np.repeat(np.arange(1000), 2)).frames == whole


def test_frames_of_two_runs_are_no_neighbours():
    """Sorted values, dealt to four runs at random: in their runs they are independent, row by row they are not."""
    rng = np.random.default_rng(3)
    values, place = np.sort(rng.uniform(size=400)), rng.permutation(400)
    assert estimate(values).frames > 1
    assert estimate(values, place % 100, place // 100).frames == 1


def test_a_set_that_is_too_short_says_so():
    slow = estimate(np.sin(np.linspace(0, 6, 60)))
    assert slow.limited
    assert slow.too_short
    assert slow.frames == 59 // 5
    assert not estimate(autoregressive(1000, 0.5, 0)).limited


@pytest.mark.parametrize("count", [6, 7, 20, 21, 24, 25, 26, 59, 60, 61, 100])
def test_the_longest_block_leaves_as_many_as_a_verdict_needs(count):
    longest = longest_block(count)
    assert math.ceil(count / longest) >= LEAST_UNITS
    assert math.ceil(count / (longest + 1)) < LEAST_UNITS


@pytest.mark.parametrize(
    ("correlation", "count", "worth"), [(0.0, 30, 15.0), (0.3, 30, 6.52), (0.0, 1000, 899), (1.0, 1000, 5.03)]
)
def test_frames_that_a_short_recording_is_worth(correlation, count, worth):
    """Against the formula by hand: r = 0 + 1/30 + 1.645 / sqrt(30) * 0.9994 = 0.333; 30 * 0.667 / 1.333 = 15.0."""
    assert independent_frames(correlation, count) == pytest.approx(worth, rel=0.01)


def test_slots_may_lie_far_apart():
    """Two recordings of different years in one set."""
    series = autoregressive(400, 0.9, 4)
    slot = np.concatenate([np.arange(200), 10**15 + np.arange(200)])
    assert 5 < estimate(series, slot).frames <= 80


@pytest.mark.parametrize(
    ("count", "coefficient", "short"),
    [(16, 0.9, 1.0), (20, 0.0, 0.05), (24, 0.0, 0.05), (24, 0.3, 0.2), (40, 0.0, 0.02), (60, 0.3, 0.02)],
)
def test_short_recordings_of_one_kind_are_seldom_a_gap(count, coefficient, short):
    """Where chance may hide a correlation of 0.3, blocks are made for it: 11 of 100 pairs were a gap without."""
    kind = Series(count, coefficient)
    found = false_alarms(kind, kind, 400)
    assert found.gaps <= 0.075
    assert found.short <= short
    assert found.gaps + found.short >= 0.01


@pytest.mark.parametrize(("count", "coefficient"), [(20, 0.4), (26, 0.6), (100, 0.9)])
def test_of_the_verdicts_given_on_frames_that_go_together_few_are_false(count, coefficient):
    """Most such recordings are too short for one; of those that look long enough, 11 to 21 of 100 were false gaps."""
    kind = Series(count, coefficient)
    found = false_alarms(kind, kind, 400)
    assert found.gaps <= 0.1 * (1 - found.short) + 0.01
