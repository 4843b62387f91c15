"""The sentence that says where two sets differ most."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_results import INVENTED, KINDS

from simjudge.method.entry_numbers import EntryNumbers
from simjudge.method.kinds import KindDifferences
from simjudge.questions.compare.charts import difference_by_kind
from simjudge.questions.compare.facts import invented_sentence, next_step, sequential_sentence, where_sentence
from simjudge.questions.compare.overall_words import overall_headline, overall_meaning
from simjudge.results.result_header import ResultHeader
from simjudge.results.saved_result import Result, ResultEntry


def kinds(**changes: object) -> KindDifferences:
    return KindDifferences.from_json(KINDS | changes)


def test_the_largest_difference_beyond_chance_is_named() -> None:
    assert where_sentence(kinds()).replace("\u00a0", " ") == (
        "Largest difference, B minus A: under 24 px high, on the left: −0.211 (95 %: −0.290 to −0.132), p = 0.002 over "
        "84 kinds of contexts. Over all contexts: −0.052 (95 %: −0.080 to −0.024)."
    )


def test_no_kind_is_named_by_chance() -> None:
    by_chance = [kind | {"p": 0.3} for kind in KINDS["kinds"]]
    assert where_sentence(kinds(kinds=by_chance)) == "No kind of context stands out, of 84 that were tested together."
    assert where_sentence(kinds(tested=0, kinds=[])) == ""
    assert where_sentence(None) == ""


def test_where_inventions_differ_most_is_named() -> None:
    found = KindDifferences.from_json(INVENTED)
    assert invented_sentence(found).replace("\u00a0", " ") == (
        "Largest difference: nothing labelled near: an invention in 1 % of A and 6 % of B, p = 0.003 over 12 kinds of "
        "places; an invention in 3 % of A and 7 % of B over all places."
    )
    by_chance = KindDifferences.from_json(INVENTED | {"kinds": []})
    assert invented_sentence(by_chance).startswith("No kind of place stands out, of 12 that were tested together: ")
    assert invented_sentence(None) == ""


def judged(verdict: str, margin: float = 0.05) -> Result:
    """All contexts together have this verdict; small objects on the left differ by 0.211."""
    numbers = {"verdict": verdict, "margin": margin, "mean_w1": 0.02, "gap": 0.01, "gap_high": 0.03, "overlap_a": 1.0}
    header = ResultHeader.from_json({"where": KINDS, "inputs": {"a": {"name": "hall"}, "b": {"name": "sim"}}})
    overall = ResultEntry("overall", "all classes", EntryNumbers.from_json(numbers))
    return Result("r", Path(), header, overall, (), None)


@pytest.mark.parametrize(("verdict", "first"), [("predicts", "Predicts within 0.05"), ("small_gap", "Small gap")])
def test_a_verdict_that_hides_a_gap_says_where_it_is_and_not_to_use_b(verdict, first):
    result = judged(verdict)
    assert result.verdict == verdict
    assert overall_headline(result) == f"{first}, but not everywhere"
    said = overall_meaning(result)
    assert said.startswith("On average over all contexts, ")
    assert (
        "But in under 24 px high, on the left the gap is 0.21: mean performance 0.61 in A and 0.40 in B, in 41" in said
    )
    assert next_step(result).startswith("Do not use B (sim) for under 24 px high, on the left: ")
    assert "Use B" not in next_step(result)


@pytest.mark.parametrize("result", [judged("predicts", 0.3), judged("gap"), judged("cannot_tell"), judged("too_few")])
def test_a_difference_below_the_margin_hides_nothing_nor_do_other_verdicts(result):
    assert result.hidden_gap is None
    assert "everywhere" not in overall_headline(result)


def test_bars_show_the_kinds_that_differ_first_and_all_contexts_last():
    axes = difference_by_kind(judged("predicts")).axes[0]
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels[0] == "under 24 px high, on the left"
    assert labels[-1] == "all contexts"
    assert axes.patches[0].get_width() == pytest.approx(-0.211)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"blocks": 0, "difference": None, "low": -1, "high": 1, "verdict": "open"}, "No block of time was whole."),
        (
            {"blocks": 1300, "difference": -0.1, "low": -0.2, "high": -0.05, "verdict": "gap"},
            (
                "After 1,300 blocks of time the live frames differ from the reference: mean performance live less "
                "reference −0.100, within −0.200 to −0.050 at all looks together with an error of at most 5 %."
            ),
        ),
    ],
)
def test_what_live_frames_have_shown_at_every_look_is_said(said: dict[str, object], words: str) -> None:
    for inputs, shown in (({"a": {}, "b": {"sequential": said}, "model": None}, words), ({"a": {}, "b": {}}, "")):
        header = ResultHeader.from_json({"inputs": inputs, "parameters": {}})
        assert sequential_sentence(Result("live", Path(), header, None, (), None)) == shown
