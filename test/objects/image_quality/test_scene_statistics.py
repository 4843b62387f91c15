"""The features of BRISQUE and NIQE against a literal second implementation."""

import numpy as np
import pytest
from naive_quality import naive_brisque_features, naive_gray, naive_niqe_features
from skimage import data

from simjudge.objects.image_quality.scene_statistics import brisque_features, niqe_features

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
