from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance as scipy_distance

from simjudge.method.wasserstein import wasserstein_distance

UNIT = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1))


@settings(deadline=None)
@given(st.lists(UNIT, min_size=1, max_size=60), st.lists(UNIT, min_size=1, max_size=60))
def test_equals_scipy_and_is_symmetric(a, b):
    first, second = np.array(a), np.array(b)
    np.testing.assert_allclose(wasserstein_distance(first, second), scipy_distance(first, second), atol=1e-12)
    assert wasserstein_distance(first, second) == wasserstein_distance(second, first)


def test_of_two_single_values_is_their_distance():
    assert wasserstein_distance(np.array([0.2]), np.array([0.9])) == 0.9 - 0.2
