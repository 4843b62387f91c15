"""What `simjudge compare` prints without `--details`."""

from pathlib import Path

import pytest

from simjudge.method.entry_numbers import Control, EntryNumbers
from simjudge.method.verdicts import Reason, Verdict
from simjudge.questions.compare.brief import brief_lines
from simjudge.results.result_header import ResultHeader
from simjudge.results.saved_result import Result, ResultEntry

GAP = {"gap": 0.232, "gap_low": 0.17, "gap_high": 0.329, "mean_w1": 0.3, "noise": 0.1, "p_value": 0.003, "draws": 399}
FEW = {"verdict": Verdict.TOO_FEW, "verdict_reason": Reason.FEW_UNITS, "units_a": 3, "units_b": 2, **GAP}
CONTROL = {"a": Control(EntryNumbers(gap=0.004, gap_high=0.02, verdict=Verdict.PREDICTS), 5, 0)}


def printed(a="real", b="plain", lost=0, **numbers):
    header = ResultHeader.from_json({"inputs": {"a": {"name": a}, "b": {"name": b}}})
    overall = ResultEntry("overall", "all", EntryNumbers(**numbers))
    classes = tuple(ResultEntry(str(n), f"class{n}", EntryNumbers(**numbers)) for n in range(9))
    return brief_lines(Result("r", Path(), header, overall, classes, None, control=CONTROL), lost)


@pytest.mark.parametrize(
    ("numbers", "sentence"),
    [
        (
            {"verdict": Verdict.LARGE_GAP, **GAP},
            "Large gap: in similar surroundings performance differs by 0.23 (0.17 to 0.33) between real and plain.",
        ),
        (
            {"verdict": Verdict.LARGE_GAP, **GAP, "a": "a name of twenty letters", "lost": 2},
            "Large gap: in similar surroundings performance differs by 0.23 (0.17 to 0.33) between A and B.",
        ),
        (FEW, "Too few: only 3 independent units of real and 2 of plain were compared"),
        (
            {"verdict": Verdict.DETECTOR_FAILS, **GAP},
            "The detector finds next to nothing in either set: this says nothing about the simulation.",
        ),
    ],
)
def test_the_sentence_says_what_a_reader_must_know(numbers, sentence):
    lines = printed(**numbers)
    assert " ".join(lines).startswith(sentence)
    assert len(lines) < 12
    assert max(map(len, lines)) <= 100


def test_what_few_units_or_a_failing_detector_cannot_tell_is_not_a_number():
    assert "0.23" not in " ".join(printed(**FEW))
    fails = " ".join(printed(verdict=Verdict.DETECTOR_FAILS, **GAP))
    assert "control" not in fails
    assert "class1" not in fails


def test_halves_stand_in_half_a_line():
    assert "control, gaps between random halves: of real 0 of 5 splits" in printed(verdict=Verdict.LARGE_GAP, **GAP)
