"""Features of pictures and blocks, and the distributions that are fitted to them."""

import numpy as np
import pytest
from naive_quality import naive_aggd, naive_brisque_features, naive_ggd, naive_gray, naive_niqe_features
from scipy.special import gamma
from scipy.stats import gennorm
from skimage import data

from simjudge.objects.image_quality.compiled_loops import block_sums
from simjudge.objects.image_quality.scene_statistics import SHAPES, brisque_features, fit_aggd, fit_ggd, niqe_features

PHOTOGRAPH = data.astronaut()[40:237, 100:360]
NOISE = np.random.default_rng(7).integers(0, 256, (99, 101, 3), dtype=np.uint8)


@pytest.mark.parametrize("pixels", [PHOTOGRAPH, NOISE])
def test_brisque_equals_the_literal_one(pixels):
    np.testing.assert_allclose(brisque_features(pixels), naive_brisque_features(naive_gray(pixels)), rtol=1e-6)


@pytest.mark.parametrize("pixels", [PHOTOGRAPH, NOISE])
def test_niqe_equals_the_literal_one(pixels):
    features, sharpness = niqe_features(pixels)
    expected, expected_sharpness = naive_niqe_features(naive_gray(pixels))
    np.testing.assert_allclose(features, expected, rtol=1e-6)
    np.testing.assert_allclose(sharpness, expected_sharpness, rtol=1e-6)


def test_blocks_are_those_that_are_whole():
    features, sharpness = niqe_features(PHOTOGRAPH)
    assert features.shape == (4, 36)
    assert sharpness.shape == (4,)
    assert niqe_features(PHOTOGRAPH[:95])[0].shape == (0, 36)


def test_a_flat_block_has_no_features():
    half_flat = PHOTOGRAPH[:96, :192].copy()
    half_flat[:, 90:] = 255
    features, _ = niqe_features(half_flat)
    np.testing.assert_array_equal(np.isnan(features).any(1), [False, True])


def test_a_flat_picture_has_no_features():
    assert np.isnan(brisque_features(np.full((50, 60, 3), 9, np.uint8))).any()


ALONE = np.zeros((1, 2), np.int64)


def sums_of(values):
    return block_sums(values[None], 1, len(values), ALONE)[0, 0, 0]


def asymmetric(shape, left, right, count, seed):
    """Draws of an AGGD: the side by its share of the probability, the size by a gamma distribution."""
    draw = np.random.default_rng(seed)
    scale = np.sqrt(gamma(1 / shape) / gamma(3 / shape))
    size = draw.gamma(1 / shape, 1, count) ** (1 / shape) * scale
    below = draw.random(count) < left / (left + right)
    return np.where(below, -left * size, right * size)


@pytest.mark.parametrize("shape", [0.5, 1.0, 2.0, 4.0])
def test_shape_and_variance_of_draws(shape):
    values = gennorm(shape, scale=3).rvs(200_000, random_state=4)
    found, variance = fit_ggd(sums_of(values), len(values))
    assert found == pytest.approx(shape, rel=0.02)
    assert variance == pytest.approx(9 * gamma(3 / shape) / gamma(1 / shape), rel=0.03)


@pytest.mark.parametrize(("shape", "left", "right"), [(0.7, 1.0, 1.0), (1.0, 0.3, 0.8), (2.0, 2.0, 0.5), (3.5, 1, 1.4)])
def test_asymmetry_of_draws(shape, left, right):
    values = asymmetric(shape, left, right, 300_000, 5)
    fit = fit_aggd(sums_of(values), len(values))
    assert fit.shape == pytest.approx(shape, rel=0.03)
    assert (fit.left, fit.right) == (pytest.approx(left, rel=0.02), pytest.approx(right, rel=0.02))
    assert fit.mean == pytest.approx(values.mean(), abs=0.01)


def test_equals_a_search_of_the_grid():
    for seed in range(20):
        values = asymmetric(*np.random.default_rng(seed).uniform(0.3, 5, 3), 300, seed)
        shape, variance = fit_ggd(sums_of(values), len(values))
        fit = fit_aggd(sums_of(values), len(values))
        assert (shape, variance) == pytest.approx(naive_ggd(values))
        assert (fit.shape, fit.left, fit.right) == pytest.approx(naive_aggd(values))


@pytest.mark.parametrize(("values", "shape"), [([-1.0, 1.0], 10.0), ([-1.0, *[0.0] * 99, 1.0], 0.2)])
def test_ends_of_the_grid(values, shape):
    found, _ = fit_ggd(sums_of(np.array(values)), len(values))
    assert found == shape in SHAPES


@pytest.mark.parametrize("values", [[0.0, 0.0], [0.0, 2.0], [-1.0, 0.0]])
def test_without_values_on_a_side_there_is_no_asymmetric_fit(values):
    assert np.isnan(fit_aggd(sums_of(np.array(values)), 2).shape)


def test_zeros_alone_have_no_fit():
    assert np.isnan(fit_ggd(sums_of(np.zeros(3)), 3)).all()


def test_shifts_go_round_within_blocks():
    values = np.random.default_rng(6).normal(size=(7, 9))
    shifts = np.array([(0, 1), (1, 0), (-1, 1), (1, -1)])
    found = block_sums(values, 3, 4, shifts)
    assert found.shape == (2, 2, 4, 5)
    for i, j, s in np.ndindex(2, 2, 4):
        block = values[3 * i : 3 * i + 3, 4 * j : 4 * j + 4]
        product = block * np.roll(block, shifts[s], (0, 1))
        below, above = product[product < 0], product[product > 0]
        expected = len(below), len(above), (below**2).sum(), (above**2).sum(), np.abs(product).sum()
        np.testing.assert_allclose(found[i, j, s], expected)
