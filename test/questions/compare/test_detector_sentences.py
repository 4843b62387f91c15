"""What else the detector does, in words: the worst comes first, and a set is recommended only for what was judged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from simjudge.method.detector_measures import MeasureCode
from simjudge.method.entry_numbers import EntryNumbers
from simjudge.method.verdicts import Verdict
from simjudge.questions.compare.facts import next_step
from simjudge.questions.compare.overall_words import (
    judged_words,
    measure_notes,
    measure_rows,
    overall_headline,
    overall_meaning,
    verdicts_said,
    worst_measure,
)
from simjudge.questions.compare.reporting import summary_text
from simjudge.results.result_header import ResultHeader
from simjudge.results.saved_result import Result, ResultEntry

CALM = {
    "value_a": 0.5,
    "value_b": 0.51,
    "difference": 0.01,
    "low": -0.02,
    "high": 0.04,
    "p_value": 0.5,
    "p_adjusted": 0.9,
    "margin": 0.05,
    "units_a": 50,
    "units_b": 300,
    "draws": 1000,
    "adjusted": False,
    "verdict": "predicts",
    "verdict_reason": "",
}
INVENTED = CALM | {
    "value_a": 5.0,
    "value_b": 0.1,
    "difference": -4.9,
    "low": -5.4,
    "high": -4.4,
    "p_adjusted": 0.002,
    "margin": 0.15,
    "verdict": "large_gap",
}


def made(performance: str = "predicts", **measures: dict) -> Result:
    numbers = {
        "mean_w1": 0.03,
        "noise": 0.03,
        "gap": 0.0,
        "gap_low": 0.0,
        "gap_high": 0.03,
        "p_value": 0.4,
        "p_adjusted": 0.4,
        "draws": 1000,
        "units_a": 50,
        "units_b": 300,
        "overlap_a": 0.9,
        "margin": 0.05,
        "detectable_gap": 0.06,
    }
    inputs = {"a": {"name": "hall"}, "b": {"name": "sim"}}
    header = {"inputs": inputs, "parameters": {"min_score": 0.3}, "measures": measures}
    entry = ResultEntry("overall", "all classes", EntryNumbers.from_json(numbers | {"verdict": performance}))
    return Result("r", Path(), ResultHeader.from_json(header), entry, (), None)


def test_what_a_detector_invents_comes_before_performance_that_agrees() -> None:
    result = made(false_positives=INVENTED, recall=CALM)
    assert result.verdict == Verdict.LARGE_GAP
    first = "Large gap: what the detector invents (5.0 false positives a frame in A, 0.10 in B)"
    assert overall_headline(result) == first
    said = overall_meaning(result)
    assert said.startswith("B (sim) does not predict A (hall) in what the detector invents: they differ by 0.15 or")
    assert "by itself: predicts within 0.05. No difference is shown" in said
    assert "Use B" not in next_step(result)
    assert "clutter" in next_step(result)


def test_reports_exports_and_dossiers_say_the_worst_first_and_then_the_classes() -> None:
    result = made(false_positives=INVENTED)
    calm = result.overall
    result = replace(result, classes=(replace(calm, key="1", label="cone"),))
    (label, said, _), (of_class, calm_said, _) = verdicts_said(result)
    assert (label, of_class) == ("all classes", "cone")
    assert said.startswith("Large gap: what the detector invents")
    assert calm_said == "Predicts within 0.05"
    assert "## all classes: Large gap: what the detector invents" in summary_text(result)


@pytest.mark.parametrize(
    ("verdict", "said", "step"),
    [
        ("gap", "whether by more or by less than 0.05", "simjudge explain"),
        ("small_gap", "but by less than 0.05", "If differences below 0.05 do not matter to you, use B (sim)"),
        ("cannot_tell", "one of 0.05 or more is not ruled out", "Record more frames"),
        ("too_few", "Only 50 independent units of A (hall) and 300 of B (sim)", "Record longer"),
        ("large_gap", "they differ by 0.05 or more", "though not which difference causes this"),
    ],
)
@pytest.mark.parametrize("measure", list(MeasureCode))
def test_every_verdict_on_every_measure_has_words(measure: MeasureCode, verdict: str, said: str, step: str) -> None:
    result = made(**{measure.value: CALM | {"verdict": verdict}})
    assert said in overall_meaning(result)
    assert overall_headline(result).startswith(verdict.replace("_", " ").capitalize() + ": ")
    if not measure.startswith("false"):
        assert step in next_step(result)
    assert next_step(result).endswith(".")


def test_explain_and_fit_are_named_where_performance_shows_a_gap_too() -> None:
    lost = CALM | {"verdict": "large_gap"}
    assert "simjudge fit" in next_step(made("gap", recall=lost))
    assert "simjudge fit" not in next_step(made("cannot_tell", recall=lost))


def test_of_equal_verdicts_the_one_of_most_margins_is_named() -> None:
    near = CALM | {"verdict": "gap", "difference": 0.06, "low": 0.02, "high": 0.1}
    far = near | {"difference": 0.2, "low": 0.01, "high": 0.39}
    assert worst_measure(made(recall=near, map50=far)).measure == MeasureCode.MAP50


def test_performance_that_is_as_bad_or_worse_stays_first() -> None:
    assert overall_headline(made("large_gap", false_positives=INVENTED)) == "Large gap"
    assert worst_measure(made("cannot_tell", recall=CALM)) is None
    assert made("not_tested", false_positives=INVENTED).verdict == Verdict.NOT_TESTED
    assert made("too_few", recall=CALM | {"verdict": "cannot_tell"}).verdict == Verdict.TOO_FEW
    assert made("small_gap", recall=CALM | {"verdict": "not_tested"}).verdict == Verdict.SMALL_GAP


def test_b_is_recommended_for_what_was_judged() -> None:
    said = next_step(made(false_positives=CALM, match_score=CALM, recall=CALM, map50=CALM))
    assert said.startswith("Use B (sim) in place of A (hall)")
    assert said.endswith(
        "Judged were the performance of labelled objects in like contexts, false positives, scores of matches, recall "
        "and average precision."
    )
    assert "alone: not what the detector invents" in next_step(made())
    assert judged_words(made(recall=CALM | {"verdict": "not_tested"})) == judged_words(made())


def test_the_table_has_every_number() -> None:
    row, other = measure_rows(made(false_positives=INVENTED, recall=CALM))
    assert row.cells == ("5.0", "0.10", "−4.90", "−5.40 to −4.40", "0.50", "0.002", "0.15", "50, 300")
    assert (row.verdict, other.verdict, other.kind) == ("large gap", "predicts within 0.05", "predicts")
    assert other.cells[2:4] == ("+0.010", "−0.020 to +0.040")
    few = CALM | {"verdict": "too_few", "p_adjusted": None}
    assert measure_rows(made(recall=few))[0].cells[3:6] == ("–", "–", "–")
    assert "a score of 0.3 or more" in measure_notes(made(recall=CALM))[0]
    assert "recall" in measure_notes(made(recall=CALM | {"adjusted": True}))[1]


def test_results_of_earlier_versions_have_no_measures() -> None:
    result = made()
    assert not measure_rows(result)
    assert result.verdict == result.overall.verdict
