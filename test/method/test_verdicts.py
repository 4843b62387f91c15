"""The codes of verdicts and reasons."""

import re

import pytest
from project_file import ROOT

from simjudge.method.verdicts import Reason, Verdict, verdict_by_margin, worst_verdict


@pytest.mark.parametrize(
    ("p", "low", "high", "verdict"),
    [
        (0.05, 0.05, 0.2, Verdict.LARGE_GAP),
        (0.01, 0.0499, 0.2, Verdict.GAP),
        (0.01, -0.01, 0.05, Verdict.GAP),
        (0.01, 0.01, 0.0499, Verdict.SMALL_GAP),
        (0.051, -0.01, 0.0499, Verdict.PREDICTS),
        (0.051, -0.01, 0.05, Verdict.CANNOT_TELL),
        (0.9, 0.06, 0.2, Verdict.CANNOT_TELL),
    ],
)
def test_a_verdict_is_p_and_the_place_of_the_interval(p, low, high, verdict):
    assert verdict_by_margin(p, low, high, 0.05) == verdict


def test_the_worst_of_all_that_was_judged_counts():
    order = ["detector_fails", "large_gap", "gap", "no_overlap", "cannot_tell", "too_few", "small_gap", "predicts"]
    for place, worse in enumerate(order):
        for better in order[place:]:
            assert worst_verdict(Verdict(worse), Verdict(better)) == worse
            if (better, worse) != ("too_few", "cannot_tell"):
                assert worst_verdict(Verdict(better), Verdict.NOT_TESTED, Verdict(worse)) == worse
    assert worst_verdict(Verdict.NOT_TESTED, Verdict.LARGE_GAP) == Verdict.NOT_TESTED
    assert {*order, "not_tested"} == set(Verdict)


def test_too_few_units_are_said_before_what_nobody_can_tell_of_the_rest():
    assert worst_verdict(Verdict.TOO_FEW, Verdict.CANNOT_TELL, Verdict.PREDICTS) == Verdict.TOO_FEW
    assert worst_verdict(Verdict.TOO_FEW, Verdict.CANNOT_TELL, Verdict.GAP) == Verdict.GAP


@pytest.mark.parametrize(("kind", "codes"), [("VERDICT", Verdict), ("REASON", Reason)])
def test_messages_name_the_same_codes(kind, codes):
    text = (ROOT / "msgs" / "msg" / "ClassSummary.msg").read_text()
    named = dict(re.findall(rf'^string {kind}_(\w+) = "(\w+)"', text, re.MULTILINE))
    assert named == {code.name: code.value for code in codes if code}
