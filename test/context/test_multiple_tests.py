"""Holm's correction, against values by hand and its promise."""

import numpy as np
import pytest

from simjudge.context.multiple_tests import holm


@pytest.mark.parametrize(
    ("p_values", "adjusted"),
    [
        ([], []),
        ([0.03], [0.03]),
        # As R's p.adjust(c(0.01, 0.02, 0.03, 0.04, 0.05), "holm") has it, in another order.
        ([0.03, 0.01, 0.05, 0.02, 0.04], [0.09, 0.05, 0.09, 0.08, 0.09]),
        ([0.6, 0.7], [1.0, 1.0]),
        ([None, 0.02, None, 0.03], [None, 0.04, None, 0.04]),
        ([0.02, 0.02, 0.02], [0.06, 0.06, 0.06]),
    ],
)
def test_values_by_hand(p_values, adjusted):
    assert holm(p_values) == pytest.approx(adjusted)


def test_a_family_without_differences_rarely_holds_a_false_alarm():
    random = np.random.default_rng(0)
    alarms = [min(holm(family)) <= 0.05 for family in random.random((2000, 10)).tolist()]
    assert np.mean(alarms) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 2000)
