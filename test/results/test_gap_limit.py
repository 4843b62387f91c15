"""`--fail-on`: which comparisons fail, alone and as one of several."""

import pytest

from simjudge.core.errors import UsageError
from simjudge.method.detector_measures import DetectorMeasure, MeasureCode
from simjudge.method.entry_numbers import EntryNumbers
from simjudge.results.saved_result import GapLimit, NamedComparison, ResultEntry


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
    assert bool(GapLimit.parse(text).gaps([result(p, low=low, high=high)])) == fails


def test_several_comparisons_are_corrected_with_holm():
    alone, other = result(0.03), result(0.2)
    assert GapLimit().gaps([alone])
    assert not GapLimit().gaps([alone, other])  # 2 x 0.03
    assert [found.name for found, _ in GapLimit().gaps([result(0.01), other])] == ["p 0.01"]


def test_a_class_fails_only_with_its_comparison():
    bad = entry(0.001, key="1")
    assert [e.key for _, e in GapLimit().gaps([result(0.04, bad)])] == ["overall", "1"]
    assert GapLimit().gaps([result(0.2, bad)]) == []
    assert [e.key for _, e in GapLimit().gaps([result(0.01, bad, low=0.01, high=0.03)])] == ["1"]


def test_what_a_detector_invents_fails_too():
    invented = DetectorMeasure(
        MeasureCode.FALSE_POSITIVES, difference=-4.9, low=-5.4, high=-4.4, p_adjusted=0.02, margin=0.15
    )
    one, other = NamedComparison("hall", (entry(0.6),), (invented,)), result(0.5)
    assert GapLimit().lines([one]) == ["hall, false positives: B less A -4.900 (95 %: -5.400 to -4.400)"]
    assert GapLimit(0.9).lines([one])  # 18 times the margin of the comparison: 2.7 false positives a frame
    assert GapLimit().lines([one, other])
    assert GapLimit().lines([one, other, other]) == []  # 3 x 0.02


def test_what_could_not_be_told_is_said():
    blind = result(None)
    assert GapLimit().gaps([blind]) == []
    assert GapLimit().sight([blind]) == "1 of 1 comparisons could not tell any gap (no overlap, or too few units)"
    assert GapLimit().sight([]) == "nothing was compared"
    assert "a gap of 0.070 would have been shown" in GapLimit().sight([result(0.3)])


@pytest.mark.parametrize("text", ["", "gaps", "gap:", "gap:x", "gap:nan", "gap:-0.1", "gap:2", "small gap"])
def test_other_texts_are_refused(text):
    with pytest.raises(UsageError, match=r"gap:0\.05"):
        GapLimit.parse(text)
