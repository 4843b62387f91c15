"""Intervals and verdicts where the gap is known: coverage, errors of "predicts within", how often a gap is shown."""

from __future__ import annotations

import numpy as np
import pytest
from simulated_gaps import GapModel, rates

from simjudge.method.entry_numbers import EntryNumbers
from simjudge.method.verdicts import MARGIN
from simjudge.questions.compare.facts import times_more_frames
from simjudge.results.context_table import OVERALL
from simjudge.results.saved_result import ResultEntry

RUNS = 100
SLACK = 3 * float(np.sqrt(0.05 * 0.95 / RUNS))
"""Three standard errors of a share of 5 %."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        GapModel(120, 8),
        GapModel(120, 8, gap=0.05),
        GapModel(300, 8, gap=0.05, kind_of_gap="miss"),
        GapModel(120, 8, gap=0.05, kind_of_gap="one"),
        GapModel(60, 1, gap=0.1),
    ],
    ids=str,
)
def test_the_interval_holds_the_gap_of_endless_samples(model):
    found = rates(model, RUNS)
    assert found.below <= 0.025 + SLACK
    assert found.above <= 0.025 + SLACK


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [GapModel(60, 60), GapModel(60, 40, objects=4), GapModel(120, 100), GapModel(120, 8), GapModel(30, 1)],
    ids=str,
)
def test_where_nothing_differs_a_gap_is_rare(model):
    """With 60 kinds, batches hold three objects a side."""
    assert rates(model, RUNS).gaps <= 0.05 + SLACK


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["shift", "miss", "one", "spread"])
def test_a_gap_as_large_as_the_margin_is_hardly_ever_called_less(kind):
    """The margin is set to the true gap: "predicts within" and "small gap" are then wrong, in at most 5 % of runs."""
    model = GapModel(200, 6, gap=0.06, kind_of_gap=kind)
    found = rates(model, RUNS, margin=model.true_gap())
    assert found.predicts + found.small <= 0.05 + SLACK


@pytest.mark.slow
@pytest.mark.long
def test_that_a_simulator_is_good_enough_can_be_shown():
    """500 frames with about 1,500 objects, where nothing differs."""
    found = rates(GapModel(500, 8), RUNS)
    assert found.predicts >= 0.8
    assert found.gaps <= 0.05 + SLACK


@pytest.mark.slow
def test_a_gap_of_the_size_that_is_named_is_shown_in_four_of_five_cases():
    named = rates(GapModel(150, 8), 10).detectable
    model = GapModel(150, 8, gap=named)
    assert abs(model.true_gap() - named) < 0.01
    assert rates(model, RUNS).gaps >= 0.8 - 2 * float(np.sqrt(0.8 * 0.2 / RUNS))


@pytest.mark.slow
def test_as_many_frames_as_forecast_tell_a_gap_of_the_margin_from_none():
    random = np.random.default_rng(3)
    few = [ResultEntry(OVERALL, "", EntryNumbers().judged(GapModel(60, 8).certainty(random))) for _ in range(15)]
    wanted = round(60 * float(np.median([times_more_frames(entry) or np.nan for entry in few])))
    assert rates(GapModel(wanted, 8, gap=MARGIN), RUNS).gaps >= 0.8
    none = rates(GapModel(wanted, 8), RUNS)
    assert none.predicts + none.small >= 0.5
