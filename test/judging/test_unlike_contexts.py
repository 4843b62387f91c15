"""Contexts that one set shows more often, or alone: no gap where the detector does the same."""

from dataclasses import replace

import pytest
from simulated_contexts import CASES

MOST_ALARMS = 0.1
"""Of 100 pairs; 0.05 and 2.3 standard errors."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "both show the same",
        "A more small, B more large objects",
        "the same, large ones vary more",
        "the same, frames vary",
        "B shows few of what A shows",
        "six objects a frame in A, one in B",
    ],
)
def test_what_a_set_shows_more_often_is_no_gap(name):
    assert CASES[name].rate(100, seed=1) <= MOST_ALARMS


@pytest.mark.slow
@pytest.mark.parametrize(("name", "least"), [("both show the same", 0.9), ("B shows few of what A shows", 0.5)])
def test_a_gap_is_found_all_the_same(name, least):
    assert replace(CASES[name], gap=0.1).rate(40, seed=2) >= least
