"""What is said of the control."""

from __future__ import annotations

from pathlib import Path

import pytest

from simjudge.method.entry_numbers import Control, EntryNumbers
from simjudge.method.verdicts import Reason, Verdict
from simjudge.questions.compare.facts import control_sentence
from simjudge.results.result_header import ResultHeader
from simjudge.results.saved_result import Result

FEW = {"verdict": Verdict.TOO_FEW}
NONE = EntryNumbers(gap=0.004, gap_high=0.021, verdict=Verdict.PREDICTS)


def said(**control: Control) -> str:
    header = {"inputs": {"a": {"name": "hall"}, "b": {"name": "sim"}}}
    return control_sentence(Result("r", Path(), ResultHeader.from_json(header), None, (), None, control=control))


@pytest.mark.parametrize(
    ("control", "words"),
    [
        ({}, ""),
        (
            {"a": Control(NONE, 5, 1)},
            (
                "A (hall) against itself shows a gap in 1 of 5 splits into random halves (median 0.004, "
                "95 %: up to 0.021)."
            ),
        ),
        (
            {"b": Control(EntryNumbers(gap=0.1, **FEW, verdict_reason=Reason.FEW_UNITS, units_a=3, units_b=2), 5, 0)},
            "B (sim) against itself is too little to be halved (3 and 2 independent units).",
        ),
        (
            {
                "b": Control(
                    EntryNumbers(gap=0.1, **FEW, verdict_reason=Reason.LONE_UNITS, units_a=22, units_b=25), 5, 0
                )
            },
            (
                "B (sim) against itself is too little to be halved (22 and 25 independent units, too few of them in "
                "like contexts)."
            ),
        ),
        (
            {"b": Control(EntryNumbers(verdict=Verdict.NO_OVERLAP), 5, 0)},
            "B (sim) against itself has nothing in common to compare.",
        ),
    ],
)
def test_what_halves_show(control: dict, words: str) -> None:
    assert said(**control) == words


def test_where_most_splits_differ_p_is_not_to_be_trusted() -> None:
    assert said(a=Control(NONE, 5, 3), b=Control(NONE, 5, 2)).endswith(
        "A (hall) should not differ from itself: what is drawn independently is smaller than it seems (see --unit and "
        "--block), and p above is not to be trusted."
    )
