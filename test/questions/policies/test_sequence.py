import numpy as np
import pytest

from simjudge.method.betting import SequenceVerdict
from simjudge.questions.policies.few_real import StreamedTrial, TrialStream


def trial(real, outcome, *, policy="a", task="x", unit="", pair=""):
    return StreamedTrial(policy, task, real, outcome, unit, pair)


def fed(*trials, margin=0.1):
    stream = TrialStream(margin)
    for each in trials:
        stream.add(each)
    return stream


def test_trials_meet_only_in_their_own_cell_and_initial_state():
    stream = fed(
        trial(True, 1.0, task="x"),
        trial(False, 0.0, task="y"),
        trial(True, 1.0, task="y", pair="3"),
        trial(False, 1.0, task="y", pair="4"),
    )
    assert stream.state.entered == 0
    assert stream.state.waiting == (2, 2)
    stream.add(trial(False, 0.5, task="y", pair="3"))
    assert stream.state.entered == 1
    assert stream.state.rate == (1.0, 0.5)


def test_a_unit_enters_once_as_the_mean_of_its_differences():
    stream = fed(*[trial(False, 0.0)] * 4, *[trial(True, v, unit="s1") for v in (1.0, 1.0, 0.0)])
    assert stream.state.entered == 0, "more trials of the unit may come"
    stream.add(trial(True, 1.0, unit="s2"))
    assert stream.state.entered == 1
    assert stream.state.rate == (pytest.approx(2 / 3), 0.0)
    stream.finish()
    assert stream.state.entered == 2
    assert stream.state.waiting == (0, 0)


def test_blocks_of_both_sides_meet_where_they_hold_the_same_cells():
    stream = fed(
        trial(False, 0.5, unit="p", task="x"),
        trial(False, 0.5, unit="p", task="y"),
        trial(True, 1.0, unit="q", task="y"),
        trial(True, 0.0, unit="q", task="x"),
        trial(True, 0.0, unit="q", task="x"),
    )
    stream.finish()
    assert stream.state.entered == 1
    assert stream.state.rate == (0.5, 0.5), "cells alike, however many trials each has"


def test_a_unit_that_comes_back_is_counted():
    stream = fed(trial(True, 1.0, unit="s1"), trial(True, 1.0, unit="s2"), trial(True, 1.0, unit="s1"))
    assert stream.returned == 1


def test_a_block_waits_until_the_other_side_has_a_trial_for_each_of_its():
    stream = fed(trial(True, 1.0, unit="s1"), trial(True, 0.0, unit="s1"))
    stream.finish()
    stream.add(trial(False, 0.0))
    assert stream.state.entered == 0
    stream.add(trial(False, 0.0))
    assert stream.state.entered == 1


@pytest.mark.parametrize("margin", [0.1, 0.2])
def test_error_over_all_times_is_at_most_five_percent_where_blocks_enter(margin):
    """60 campaigns of 300 blocks, looked at after each: bench/policies.py has more."""
    random = np.random.default_rng(4)
    wrong = 0
    for _ in range(60):
        stream = TrialStream(margin)
        for block in range(150):
            ability = random.beta(4, 4)  # of a session: trials of one go together
            for _ in range(int(random.integers(1, 4))):
                stream.add(trial(True, float(random.random() < ability), unit=f"s{block}"))
                stream.add(trial(False, float(random.random() < 0.5)))
            if stream.state.verdict is not SequenceVerdict.OPEN:
                break
        wrong += stream.state.verdict is SequenceVerdict.GAP
    assert wrong <= 6, "binomial: more than 6 of 60 has a chance of 3 % at 5 %"
