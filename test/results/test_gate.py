"""`--fail-on` and `--require`: which comparisons fail, alone and as one of several, and what CI is told."""

from dataclasses import replace
from datetime import datetime
from xml.etree import ElementTree as ET

import pytest
from made_results import KINDS

from simjudge.core.errors import UsageError
from simjudge.method.detector_measures import DetectorMeasure, MeasureCode
from simjudge.method.entry_numbers import EntryNumbers
from simjudge.method.kinds import KindDifferences
from simjudge.results.gate import (
    GAP,
    PREDICTS,
    Gate,
    NamedComparison,
    Outcome,
    compared_metrics,
    gate_junit,
    gate_summary,
    worst_outcome,
)
from simjudge.results.saved_result import ResultEntry


def entry(p: float | None, low: float = 0.02, high: float = 0.09, key: str = "overall") -> ResultEntry:
    fields = {
        "p_adjusted": p,
        "gap": (low + high) / 2,
        "gap_low": low,
        "gap_high": high,
        "margin": 0.05,
        "detectable_gap": 0.07,
    }
    return ResultEntry(key, f"class {key}", EntryNumbers.from_json(fields))


def result(p: float | None, *classes: ResultEntry, **interval: float) -> NamedComparison:
    return NamedComparison(f"p {p}", (entry(p, **interval), *classes))


@pytest.mark.parametrize(
    ("text", "p", "low", "high", "fails"),
    [
        ("gap", 0.05, 0.02, 0.09, True),
        ("gap", 0.051, 0.02, 0.09, False),
        ("gap", 0.001, 0.02, 0.04, False),  # a small gap: below the margin of the comparison, 0.05
        ("gap:0.04", 0.001, 0.02, 0.04, True),
        ("gap:0.1", 0.001, 0.02, 0.09, False),
        ("gap:0.01", 0.001, 0.02, 0.09, True),
        ("gap:0", 0.2, 0.02, 0.09, False),
    ],
)
def test_a_difference_beyond_chance_that_reaches_the_margin_fails(text, p, low, high, fails):
    assert (worst_outcome(Gate.parse(GAP, text).cases([result(p, low=low, high=high)])) == Outcome.GAP) == fails


def failures(gate: Gate, *compared: NamedComparison) -> list[str]:
    return [case.line for case in gate.cases(compared) if case.outcome not in (Outcome.PASSED, Outcome.NOT_JUDGED)]


FAIL_ON = Gate(GAP)
SHOWN = "gap 0.055 (95 %: 0.020 to 0.090)"


def test_several_comparisons_are_corrected_with_holm():
    alone, other = result(0.03), result(0.2)
    assert failures(FAIL_ON, alone) == [f"p 0.03, class overall: {SHOWN}"]
    assert not failures(FAIL_ON, alone, other)  # 2 x 0.03
    assert failures(FAIL_ON, result(0.01), other) == [f"p 0.01, class overall: {SHOWN}"]


def test_a_class_fails_only_with_its_comparison():
    bad = entry(0.001, key="1")
    assert failures(FAIL_ON, result(0.04, bad)) == [f"p 0.04, class {key}: {SHOWN}" for key in ("overall", "1")]
    assert failures(FAIL_ON, result(0.2, bad)) == []
    assert failures(FAIL_ON, result(0.01, bad, low=0.01, high=0.03)) == [f"p 0.01, class 1: {SHOWN}"]


INVENTED = DetectorMeasure(
    MeasureCode.FALSE_POSITIVES, difference=-4.9, low=-5.4, high=-4.4, p_adjusted=0.02, margin=0.15
)


def test_what_a_detector_invents_fails_too():
    one, other = NamedComparison("hall", (entry(0.6),), (INVENTED,)), result(0.5)
    assert failures(FAIL_ON, one) == ["hall, false positives: B less A -4.900 (95 %: -5.400 to -4.400)"]
    assert failures(Gate(GAP, 0.9), one)  # 18 times the margin of the comparison: 2.7 false positives a frame
    assert failures(FAIL_ON, one, other)
    assert failures(FAIL_ON, one, other, other) == []  # 3 x 0.02


def test_what_could_not_be_told_is_said():
    blind = result(None)
    assert failures(FAIL_ON, blind) == []
    assert FAIL_ON.sight([blind]) == "1 of 1 comparisons could not tell any gap (no overlap, or too few units)"
    assert FAIL_ON.sight([]) == "nothing was compared"
    assert "a gap of 0.070 would have been shown" in FAIL_ON.sight([result(0.3)])


def compared(
    verdict: str, p: float | None = 0.4, low: float = 0.0, high: float = 0.03, **more: object
) -> NamedComparison:
    fields = {"verdict": verdict, "p_adjusted": p, "gap": high / 2, "gap_low": low, "gap_high": high, "margin": 0.05}
    made = ResultEntry("overall", "all classes", EntryNumbers.from_json(fields | more))
    return NamedComparison("hall", (made,))


REQUIRED = [
    ("predicts", compared("predicts"), Outcome.PASSED),
    ("predicts", compared("small_gap", 0.001), Outcome.PASSED),
    ("predicts:0.02", compared("predicts"), Outcome.CANNOT_TELL),
    ("predicts:0.02", compared("small_gap", 0.001), Outcome.GAP),
    ("predicts", compared("cannot_tell", high=0.06), Outcome.CANNOT_TELL),
    ("predicts:0.1", compared("cannot_tell", high=0.06), Outcome.PASSED),
    ("predicts:0.1", compared("cannot_tell", verdict_reason="turns_with_theta"), Outcome.CANNOT_TELL),
    ("predicts", compared("gap", 0.001, 0.01, 0.2), Outcome.GAP),
    ("predicts:1", compared("too_few", None), Outcome.TOO_FEW),
    ("predicts:1", compared("no_overlap", None), Outcome.NO_OVERLAP),
    ("predicts:1", compared("not_tested", None), Outcome.CANNOT_TELL),
    ("predicts:1", compared("detector_fails"), Outcome.DETECTOR_FAILS),
    ("predicts", compared("predicts", scope="these_recordings"), Outcome.CANNOT_TELL),
    ("predicts", compared("predicts", scope="recordings_like_these"), Outcome.PASSED),
    ("predicts", compared("gap", 0.001, 0.01, 0.2, scope="these_recordings"), Outcome.GAP),
    ("predicts", replace(compared("predicts"), measures=(INVENTED,)), Outcome.GAP),
    ("predicts", replace(compared("predicts"), where=KindDifferences.from_json(KINDS)), Outcome.NOT_EVERYWHERE),
    ("predicts:0.3", replace(compared("predicts"), where=KindDifferences.from_json(KINDS)), Outcome.PASSED),
]


@pytest.mark.parametrize(("text", "one", "outcome"), REQUIRED)
def test_only_a_gap_that_is_ruled_out_passes_what_is_required(text, one, outcome):
    assert worst_outcome(Gate.parse(PREDICTS, text).cases([one])) == outcome


def test_a_verdict_on_the_recordings_at_hand_passes_where_they_are_what_is_asked_for():
    one = compared("predicts", scope="these_recordings")
    assert worst_outcome(Gate.parse(PREDICTS, "predicts", these=True).cases([one])) == Outcome.PASSED
    assert "in these recordings alone: give three or more a side, or --scope these" in failures(Gate(PREDICTS), one)[0]


@pytest.mark.parametrize("verdict", ["detector_fails", "too_few", "no_overlap", "cannot_tell", "not_tested"])
def test_what_cannot_be_told_passes_fail_on_as_it_did(verdict):
    assert worst_outcome(FAIL_ON.cases([compared(verdict, None)])) == Outcome.PASSED


def test_a_class_with_few_units_does_not_fail_what_is_required():
    few = ResultEntry("2", "green", EntryNumbers.from_json({"verdict": "too_few", "margin": 0.05}))
    one = compared("predicts")
    cases = Gate(PREDICTS).cases([replace(one, entries=(*one.entries, few))])
    assert [case.outcome for case in cases] == [Outcome.PASSED, Outcome.NOT_JUDGED]


def test_the_worst_comparison_decides():
    many = [compared("predicts"), compared("too_few", None), compared("cannot_tell", high=0.2)]
    assert worst_outcome(Gate(PREDICTS).cases(many)) == Outcome.CANNOT_TELL


SHOWN_TO_CI = [
    compared("predicts"),
    replace(compared("gap", 0.001, 0.1, 0.2), name="a|b <c>\x00"),
    compared("too_few", None),
]


def test_the_summary_is_a_table_of_markdown():
    said = gate_summary("simjudge compare", Gate(PREDICTS).cases(SHOWN_TO_CI))
    assert said.startswith(
        "### simjudge compare: failed (gap)\n\n| comparison | of | verdict | size | outcome |\n| --- "
    )
    rows = [line for line in said.splitlines() if line.startswith("| ")][2:]
    assert rows[0] == "| hall | all classes | predicts within 0.05 | gap 0.015 (95 %: 0.000 to 0.030) | passed |"
    assert rows[1].startswith(r"| a\|b &lt;c&gt;")
    assert rows[2] == "| hall | all classes | too few |  | too few |"
    assert gate_summary("x", Gate(PREDICTS).cases(SHOWN_TO_CI), "pict\x1b```ure").splitlines()[2:5] == [
        "```text",
        r"pict\x1b'''ure",
        "```",
    ]
    assert gate_summary("x", []) == "### x: passed\n\nNothing was compared.\n\n"


def read(text: str) -> ET.Element:
    return ET.fromstring(text)  # noqa: S314 - it is our own


def test_junit_is_read_by_a_parser_and_has_what_its_schema_asks_for():
    """Attributes and children of the schema that pytest's own output is tested with (junit-10.xsd)."""
    root = read(gate_junit("simjudge compare", Gate(PREDICTS).cases(SHOWN_TO_CI)))
    assert root.tag == "testsuites"
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("3", "2", "0")
    suites = list(root)
    assert [suite.get("name") for suite in suites] == ["hall", "a|b <c>?"]
    for suite in suites:
        assert {"name", "tests", "failures", "errors", "skipped", "time", "timestamp", "hostname"} == set(suite.attrib)
        assert int(suite.get("tests")) == len(suite.findall("testcase"))
        assert int(suite.get("failures")) == len(suite.findall("testcase/failure"))
        assert datetime.fromisoformat(suite.get("timestamp")).tzinfo is None
        for case in suite:
            assert set(case.attrib) == {"classname", "name", "time"}
            assert {held.tag for held in case} <= {"failure", "skipped", "system-out"}
    failure = suites[1].find("testcase/failure")
    assert failure.get("type") == "gap"
    assert failure.text == "large gap; gap 0.100 (95 %: 0.100 to 0.200)"
    skipped = read(gate_junit("x", FAIL_ON.cases(SHOWN_TO_CI)))
    assert [suite.get("skipped") for suite in skipped] == ["1", "0"]


@pytest.mark.parametrize("text", ["", "gaps", "gap:", "gap:x", "gap:nan", "gap:-0.1", "gap:2", "small gap", "predicts"])
def test_other_texts_are_refused(text):
    with pytest.raises(UsageError, match=r"gap:0\.05"):
        Gate.parse(GAP, text)
    with pytest.raises(UsageError, match=r"--require .*predicts:0\.05"):
        Gate.parse(PREDICTS, text.replace("predicts", "gap"))


def metric(name, p, low, high):
    """A row of a comparison of metrics with a margin of 0.1, in shares of 2."""
    numbers = {"p_adjusted": p, "gap": (low + high) / 2, "gap_low": low, "gap_high": high, "margin": 0.1}
    return {**numbers, "metric": name, "unit": "m", "reach": 2.0}


def test_a_gap_must_be_ruled_out_in_each_metric_not_in_that_with_the_smallest_p_alone():
    told, open_one = metric("drift", 0.2, 0.0, 0.08), metric("height", 0.9, 0.0, 0.4)
    gate = Gate(PREDICTS)
    assert worst_outcome(gate.cases([compared_metrics("slam", [told])])) == Outcome.PASSED
    cases = gate.cases([compared_metrics("slam", [told, open_one])])
    assert worst_outcome(cases) == Outcome.CANNOT_TELL
    assert [case.subject for case in cases if case.outcome != Outcome.PASSED] == ["height in shares of 2 m"]
    assert worst_outcome(FAIL_ON.cases([compared_metrics("slam", [told, open_one])])) == Outcome.PASSED
