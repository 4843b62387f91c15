"""The numbers of an entry, to JSON and back."""

import json
from dataclasses import fields, replace

import pytest

from simjudge.method.certainty import Certainty
from simjudge.method.detector_measures import DetectorMeasure, MeasureCode
from simjudge.method.entry_numbers import ComparisonNumbers, Control, EntryNumbers
from simjudge.method.verdicts import Reason, Scope, Verdict

FULL = EntryNumbers(
    n_a=3,
    n_b=4,
    compared=2,
    mean_w1=0.2,
    w1_quantiles={"0.5": 0.1},
    gap=0.1,
    gap_share=0.25,
    verdict=Verdict.TOO_FEW,
    verdict_reason=Reason.FEW_UNITS,
    scope=Scope.THESE,
    false_positives_a=0,
    recall_a=0.5,
    pointwise_pairs=0,
    verdict_study=Verdict.GAP,
)


@pytest.mark.parametrize("entry", [EntryNumbers(), FULL])
def test_what_is_written_is_read_again(entry):
    assert EntryNumbers.from_json(json.loads(json.dumps(entry.to_json()))) == entry
    invented = DetectorMeasure(MeasureCode.FALSE_POSITIVES, 5.0, 0.1, -4.9, verdict=Verdict.LARGE_GAP)
    measures = (invented, DetectorMeasure(MeasureCode.RECALL))
    both = ComparisonNumbers({"1": entry}, entry, {"a": {"1": {"none": 2}}}, {"a": Control(entry, 5, 1)}, measures)
    assert ComparisonNumbers.from_json(json.loads(json.dumps(both.to_json()))) == both


def test_the_verdict_is_on_all_that_was_judged():
    calm = replace(FULL, verdict=Verdict.PREDICTS)
    invented = DetectorMeasure(MeasureCode.FALSE_POSITIVES, verdict=Verdict.GAP)
    assert ComparisonNumbers({}, calm).verdict == Verdict.PREDICTS
    assert ComparisonNumbers({}, calm, measures=(invented,)).verdict == Verdict.GAP
    assert "measures" not in ComparisonNumbers({}, calm).to_json()


def test_json_is_flat_and_holds_what_was_computed():
    assert set(FULL.to_json()) == {each.name for each in fields(EntryNumbers)}
    missing = set(FULL.to_json()) - set(EntryNumbers().to_json())
    assert missing == {
        "false_positives_a",
        "map50_a",
        "map50_95_a",
        "false_positives_b",
        "map50_b",
        "map50_95_b",
        "recall_a",
        "recall_b",
        "scope",
        "pointwise_pairs",
        "pointwise_mean_difference",
        "p_study",
        "verdict_study",
    }


def test_a_certainty_has_its_numbers_beside_the_others():
    sure = Certainty(noise=0.1, gap=0.2, p_value=0.01, draws=99, verdict=Verdict.LARGE_GAP)
    judged = FULL.judged(sure)
    assert {name: getattr(judged, name) for name in vars(sure)} == vars(sure)
    assert replace(judged, **{name: getattr(FULL, name) for name in vars(sure)}) == FULL


def test_numbers_by_name():
    assert (FULL.number("mean_w1"), FULL.number("n_a"), FULL.number("noise")) == (0.2, 3.0, None)


@pytest.mark.parametrize(
    ("changes", "lacks"),
    [
        ({}, False),
        ({"gap": None}, True),
        ({"gap": None, "verdict": Verdict.NOT_TESTED}, False),
        ({"gap": None, "verdict": Verdict.NO_OVERLAP}, False),
    ],
)
def test_a_verdict_without_a_gap_is_of_an_earlier_version(changes, lacks):
    assert replace(FULL, **changes).lacks_gap == lacks
