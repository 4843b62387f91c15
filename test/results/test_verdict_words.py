"""Verdicts as people read them."""

from simjudge.method.verdicts import Verdict
from simjudge.results.verdict_words import VERDICT_WORDS, verdict_words


def test_the_margin_stands_in_the_words():
    assert verdict_words(Verdict.PREDICTS, 0.1) == "predicts within 0.1"
    assert verdict_words("predicts", 0.25, "m/s") == "predicts within 0.25 m/s"
    assert verdict_words(Verdict.GAP, 0.1) == "gap"


def test_every_verdict_has_words_of_its_own():
    assert set(VERDICT_WORDS) == set(Verdict)
    assert len({verdict_words(verdict, 0.1) for verdict in Verdict}) == len(Verdict)
