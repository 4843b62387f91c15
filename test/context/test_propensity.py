"""The odds that a unit's contexts are A's, against loops, and the choice of units by them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_method import METHODS, frame_sets, naive_patch, naive_similar, samples_of

from simjudge.context.algorithm import compare_pairs
from simjudge.context.pool import ClassPair
from simjudge.context.resample_draws import ResampleDraws


@settings(max_examples=40, deadline=None)
@given(frame_sets(max_objects=14, max_frames=6), METHODS, st.integers(0, 6))
def test_propensity_is_the_mean_log_odds_of_the_objects_of_a_unit(made, method, first):
    frames, performance = made
    of_frame = frames.objects.frame
    first = min(first, len(frames))
    in_a = of_frame < first
    a, b = (samples_of(frames, performance, method, np.flatnonzero(side)) for side in (in_a, ~in_a))
    [found] = compare_pairs([ClassPair(a, b, propensity=True)], method)
    units = found.propensity[0].of_units()
    assert found.resampled == []
    patches = [naive_patch(frames, row, method) for row in range(len(performance))]
    share = float(np.mean(in_a)) if len(in_a) else 0.0
    for unit in range(len(frames)):
        odds = []
        for row in np.flatnonzero(of_frame == unit):
            like = [naive_similar(patches[row], other, method) for other in patches]
            near = np.flatnonzero(like & (of_frame != unit))
            of_a = int(np.sum(in_a[near]))
            odds.append(np.log((of_a + 4 * share) / (len(near) - of_a + 4 - 4 * share)) - np.log(share / (1 - share))
                        if 0 < share < 1 else 0.0)  # fmt: skip
        # Units are A's frames, then B's, as both tables number all frames.
        number = unit if unit < first else len(frames) + unit
        assert units[number] == pytest.approx(np.mean(odds) if odds else 0.0)


@pytest.mark.parametrize("preferred", [0.0, 1.5])
def test_units_are_chosen_about_as_often_as_their_odds_say(preferred):
    draws = ResampleDraws(20, 30, seed=5)
    draws.propensity = np.where(np.arange(50) % 2, preferred, 0.0)[np.newaxis]
    labels = draws.draw(4000, 0)[0].labels[:, 1:]
    assert np.all(labels.sum(0) == 20)
    # 20 = 25 p + 25 q, with the odds of p exp(preferred) times those of q.
    odds = np.roots([np.exp(preferred) * 30, (np.exp(preferred) + 1) * 5, -20]).max()
    for parity in (0, 1):
        each = odds * (np.exp(preferred) if parity else 1.0)
        assert labels[parity::2].mean() == pytest.approx(each / (1 + each), abs=0.01)
        assert labels[parity::2].mean(1) == pytest.approx(labels[parity::2].mean(), abs=0.04)
