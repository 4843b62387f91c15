"""Expected performance against the curves that samples were drawn from, and adjusted W1 against known gaps."""

import time

import numpy as np
import pytest
from scipy.stats import wasserstein_distance
from unlike_sizes import UnlikeSizes, above_noise, adjusted_w1_reference, mean_w1

from simjudge.method.performance_model import PerformanceModel, fit_performance


def log_area(size):
    return 2 * np.log(size)[:, None]


def fitted(value, size, in_b, **options):
    return fit_performance(value, log_area(size), in_b, np.arange(len(size)), **options)


def rms_of_differences(found, expected):
    """Only differences of a model are used, never its level."""
    off = found - expected
    return float(np.sqrt(np.mean((off - off.mean()) ** 2)))


@pytest.mark.parametrize("curve", ["line", "saturating"])
@pytest.mark.parametrize("gap", [0.0, 0.1])
def test_adjusted_w1_is_of_the_gap_and_not_of_sizes(curve, gap):
    plain, adjusted = [], []
    for seed in range(3):
        value, size, in_b = UnlikeSizes(gap=gap, curve=curve).draw(np.random.default_rng(seed))
        model = fitted(value, size, in_b)
        for found, by in ((plain, None), (adjusted, model)):
            found.append(mean_w1(value, size, in_b, 0.5, by, contexts=30))
    assert above_noise(*np.mean(adjusted, axis=0)) == pytest.approx(gap, abs=0.008)
    # Performance falls with size and B's objects are larger: sizes add to the gap.
    assert above_noise(*np.mean(plain, axis=0)) > gap + 0.02


def test_misses_that_depend_on_size_are_weighed_to_the_same_sizes():
    value, size, in_b = UnlikeSizes(frames=4000, missed=0.5).draw(np.random.default_rng(2))
    model = fitted(value, size, in_b)
    plain, _ = mean_w1(value, size, in_b, 0.5, None, contexts=8)
    adjusted, noise = mean_w1(value, size, in_b, 0.5, model, contexts=8)
    assert plain > 0.03
    assert adjusted < 1.5 * noise + 0.004


def test_curves_are_found_where_b_is_worse_and_shows_other_sizes():
    sets = UnlikeSizes(frames=3000, gap=0.2, missed=0.5)
    value, size, in_b = sets.draw(np.random.default_rng(5))
    # All of B's misses once more: a term for the set, in the share as well.
    value[in_b & (np.random.default_rng(6).random(len(size)) < 0.2)] = 0
    model = fitted(value, size, in_b)
    found = value > 0
    assert rms_of_differences(model.found_mean, sets.mean(size)) < 0.006
    pooled = np.polynomial.Polynomial.fit(np.log(size[found]), value[found], 3)(np.log(size))
    assert rms_of_differences(pooled, sets.mean(size)) > 0.02
    missed = 0.5 * np.exp(-np.log(4) * (size - 20) / 40)
    share_a, share_b = 1 - missed, 0.8 * (1 - missed)
    logit = (np.log(share_a / (1 - share_a)) + np.log(share_b / (1 - share_b))) / 2
    assert np.abs(model.found_share - 1 / (1 + np.exp(-logit))).max() < 0.05


def test_a_gap_that_grows_with_size_leaves_the_mean_of_both_curves():
    sets = UnlikeSizes(frames=4000)
    value, size, in_b = sets.draw(np.random.default_rng(7))
    growing = 0.3 * np.log(size / 20) / np.log(3)
    value = value - growing * in_b
    assert rms_of_differences(fitted(value, size, in_b).found_mean, sets.mean(size) - growing / 2) < 0.008


def test_every_covariate_has_its_curve():
    random = np.random.default_rng(8)
    count = 4000
    in_b = np.arange(count) % 2 == 1
    area, cut = random.normal(8, 0.5, count), random.random(count) < np.where(in_b, 0.6, 0.2)
    visible, constant = random.random(count), np.full(count, 3.3)
    expected = 0.5 + 0.1 * (area - 8) - 0.2 * cut + 0.2 * np.sqrt(visible)
    value = np.clip(expected - 0.1 * in_b + random.normal(0, 0.05, count), 0.01, 1)
    model = fit_performance(value, np.stack([area, cut, visible, constant], axis=1), in_b, np.arange(count))
    assert rms_of_differences(model.found_mean, expected) < 0.012


def test_what_is_expected_of_a_unit_is_not_learned_from_it():
    value, size, in_b = UnlikeSizes(frames=100).draw(np.random.default_rng(9))
    unit = np.arange(200) // 5
    odd = unit == 7
    changed = value.copy()
    changed[odd] = np.clip(value[odd] + 0.02 * (size[odd] - size[odd].mean()) / size[odd].std(), 0.01, 1)
    before, after = (fit_performance(each, log_area(size), in_b, unit).found_mean for each in (value, changed))
    assert np.diff(after[odd]) == pytest.approx(np.diff(before[odd]), abs=1e-12)
    assert np.abs(np.diff(after[~odd]) - np.diff(before[~odd])).max() > 1e-6


def test_scale_and_origin_of_covariates_do_not_matter():
    value, size, in_b = UnlikeSizes(missed=0.3).draw(np.random.default_rng(10))
    unit = np.arange(len(size))
    one, other = (fit_performance(value, each, in_b, unit) for each in (log_area(size), 1e6 + 40 * log_area(size)))
    assert one.found_mean == pytest.approx(other.found_mean, abs=1e-6)
    assert one.found_share == pytest.approx(other.found_share, abs=1e-6)


def test_the_same_samples_give_the_same_model():
    value, size, in_b = UnlikeSizes(missed=0.3).draw(np.random.default_rng(11))
    one, other = fitted(value, size, in_b), fitted(value, size, in_b)
    assert one.found_mean.tolist() == other.found_mean.tolist()
    assert one.found_share.tolist() == other.found_share.tolist()


@pytest.mark.parametrize(
    "case",
    [
        "no sample",
        "none found",
        "all found",
        "few found",
        "one size",
        "no covariate",
        "no b",
        "b finds none",
        "b finds all",
        "one unit",
        "one unit each",
        "shared units",
        "three of b",
    ],
)
def test_what_samples_do_not_tell_is_taken_as_constant(case):
    value, size, in_b = UnlikeSizes(frames=100, missed=0.3).draw(np.random.default_rng(12))
    unit, covariates = np.arange(200), log_area(size)
    if case == "no sample":
        value, in_b, unit, covariates = value[:0], in_b[:0], unit[:0], covariates[:0]
    value = np.where(case == "none found", 0, np.where(case == "all found", np.maximum(value, 0.1), value))
    if case == "few found":
        value = np.where(np.arange(200) % 25 == 0, np.maximum(value, 0.1), 0)
    covariates = np.full_like(covariates, 7.3) if case == "one size" else covariates
    covariates = covariates[:, :0] if case == "no covariate" else covariates
    in_b = in_b & (case != "no b")
    if case == "three of b":
        in_b = np.arange(200) >= 197
    value = np.where(in_b & (case == "b finds none"), 0, value)
    value = np.where(in_b & (case == "b finds all"), np.maximum(value, 0.1), value)
    unit = {"one unit": unit * 0, "one unit each": unit // 100, "shared units": unit % 100}.get(case, unit)
    model = fit_performance(value, covariates, in_b, unit)
    assert len(model.found_mean) == len(model.found_share) == len(value)
    assert np.isfinite(model.found_mean).all()
    assert ((model.found_share >= 0.01) & (model.found_share <= 0.99)).all()
    if case in {"none found", "few found", "one size", "no covariate"}:
        assert np.ptp(model.found_mean) == pytest.approx(0, abs=1e-12)
    if case in {"none found", "all found", "few found", "one size", "no covariate"}:
        assert np.ptp(model.found_share) == pytest.approx(0, abs=1e-12)


def test_noise_alone_gives_curves_that_hardly_move():
    moved = []
    for seed in range(5):
        random = np.random.default_rng(seed)
        value = np.clip(random.normal(0.6, 0.1, 400), 0.01, 1)
        model = fitted(value, random.uniform(20, 60, 400), np.arange(400) % 2 == 0)
        moved.append(model.found_mean.std())
    assert np.mean(moved) < 0.012


def test_reference_is_the_plain_w1_of_a_flat_model():
    value, _, _ = UnlikeSizes(frames=50, missed=0.3).draw(np.random.default_rng(13))
    flat = PerformanceModel(np.full(100, 0.6), np.full(100, 0.8))
    found = adjusted_w1_reference(value, flat, 0, list(range(50)), list(range(50, 100)))
    assert found == pytest.approx(wasserstein_distance(value[:50], value[50:]))


def test_reference_by_hand():
    model = PerformanceModel(np.array([0.8, 0.6, 0.8, 0.6]), np.array([0.9, 0.6, 0.9, 0.6]))
    performance = np.array([0.7, 0.0, 0.9, 0.7])
    # Context 0. A: 0.7 by weight 1, 0 by weight 0.1 / 0.4. B: 0.9 by weight 1, 0.7 + 0.2 = 0.9 by weight 0.9 / 0.6.
    assert adjusted_w1_reference(performance, model, 0, [0, 1], [2, 3]) == pytest.approx(0.9 - 0.7 / 1.25)


@pytest.mark.slow
def test_a_million_samples_take_seconds():
    value, size, in_b = UnlikeSizes(frames=500_000, missed=0.3).draw(np.random.default_rng(14))
    covariates = np.concatenate([log_area(size), np.random.default_rng(1).random((1_000_000, 3))], axis=1)
    begin = time.process_time()
    model = fit_performance(value, covariates, in_b, np.arange(1_000_000) // 20)
    assert time.process_time() - begin < 60
    assert rms_of_differences(model.found_mean, UnlikeSizes().mean(size)) < 0.003
