"""Verdicts as people read them."""

import pytest

from simjudge.method.verdicts import Verdict, failing_side
from simjudge.results.metric_rows import verdict_with_failing_side, verdict_words


def test_the_margin_stands_in_the_words():
    assert verdict_words(Verdict.PREDICTS, 0.1) == "predicts within 0.1"
    assert verdict_words("predicts", 0.25, "m/s") == "predicts within 0.25 m/s"
    assert verdict_words(Verdict.GAP, 0.1) == "gap"


def test_every_verdict_has_words_of_its_own():
    assert len({verdict_words(verdict, 0.1) for verdict in Verdict}) == len(Verdict)


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        ((0.0, 0.6), (0.6, 0.6), "next to nothing found in A: large gap"),
        ((0.6, 0.6), (0.6, 0.09), "next to nothing found in B: large gap"),
        ((0.05, 0.1), (0.6, 0.6), "large gap"),
        ((0.0, 0.0), (0.04, 0.6), "large gap"),
        ((None, None), (0.6, 0.6), "large gap"),
        ((float("nan"), None), (0.6, 0.6), "large gap"),
    ],
)
def test_a_live_view_says_in_which_set_the_detector_finds_next_to_nothing(a, b, said):
    assert verdict_with_failing_side("large_gap", 0.05, failing_side(a, b)) == said
