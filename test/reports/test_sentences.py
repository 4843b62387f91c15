"""Words and numbers: a W1 never alone, a share never rounded to all or nothing, every dash with its reason."""

from __future__ import annotations

import pytest

from simjudge.reports.number_format import format_number, format_p, format_percent
from simjudge.reports.number_table import GROUPS, Footnotes, format_cell
from simjudge.reports.sentences import (
    SetNames,
    correction_sentence,
    overlap_sentences,
    undefined_reason,
    verdict_numbers,
    verdict_sentence,
)
from simjudge.results.saved_result import ResultEntry

NAMES = SetNames("A (hall)", "B (sim)")
GAP = {
    "n_a": 117, "n_b": 108, "compared": 96, "mean_w1": 0.66, "w1_low": 0.62, "w1_high": 0.7, "floor_mean": 0.12,
    "floor_q95": 0.15, "excess_w1": 0.54, "p_value": 0.001, "verdict": "gap", "overlap_a": 96 / 117,
    "overlap_b": 1.0, "n_overlap_a": 96, "n_overlap_b": 108, "mean_performance_a": 0.9, "mean_performance_b": 0.2,
}  # fmt: skip
SMALL = {"verdict": "no gap shown", "p_value": 0.6}
UNTESTED = {"verdict": "not tested", "floor_mean": None, "p_value": None}
ABSENT = dict.fromkeys(("mean_w1", "w1_low", "w1_high", "floor_mean", "floor_q95", "excess_w1", "p_value"))


def entry(**changes: object) -> ResultEntry:
    return ResultEntry("1", "red", GAP | changes)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "mean W1 0.660 (95 % interval 0.620 to 0.700), of which 0.540 stands above the floor of 0.120 to expect"),
        ({}, "p = 0.001, the smallest that 999 permutations can show."),
        ({"p_value": 0.04}, "p = 0.040."),
        (SMALL | {"mean_w1": 0.13, "excess_w1": 0.01}, "0.010 above the floor of 0.120"),
        (SMALL | {"mean_w1": 0.11, "excess_w1": -0.01}, "0.010 below the floor of 0.120"),
        (SMALL | {"mean_w1": 0.12, "excess_w1": 0.0}, "is at the floor of 0.120"),
        (SMALL, "could hide a W1 up to about 0.150"),
        (UNTESTED, "does not tell whether there is a gap"),
        (UNTESTED | {"w1_low": None}, "no interval: bootstrap was 0"),
        (ABSENT | {"verdict": "no overlap", "compared": 0}, "none of the 117 contexts of A (hall) has a similar one"),
        (ABSENT | {"verdict": "no overlap", "compared": 0, "n_b": 0}, "B (sim) has no contexts here"),
    ],
)  # fmt: skip
def test_verdict_sentence(changes: dict, said: str) -> None:
    assert said in verdict_sentence(entry(**changes), NAMES, 999)


@pytest.mark.parametrize("changes", [{}, UNTESTED])
def test_a_w1_never_stands_alone(changes: dict) -> None:
    for words in (verdict_sentence(entry(**changes), NAMES), verdict_numbers(entry(**changes), NAMES)):
        assert "floor" in words
        assert "0.620 to 0.700" in words


@pytest.mark.parametrize(
    ("share", "said"),
    [(0.0, "0 %"), (1.0, "100 %"), (0.5, "50 %"), (0.999, "99.9 %"), (0.9999, "over 99.9 %"), (0.001, "0.1 %"),
     (0.0001, "under 0.1 %"), (None, "–")],
)  # fmt: skip
def test_a_share_is_never_rounded_to_all_or_nothing(share: float | None, said: str) -> None:
    assert format_percent(share).replace("\u00a0", " ") == said


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.001, "0.001"), (0.0496, "0.050"), (0.1, "0.10"), (0.5, "0.50"), (0.0001, "0.0001"), (None, "–")],
)
def test_p(value: float | None, said: str) -> None:
    assert format_p(value) == said


def test_minus_is_a_minus_and_zero_has_no_sign() -> None:
    assert format_number(-0.25) == "−0.250"
    assert format_number(-0.0001) == "0.000"


def test_overlap_says_what_is_missing() -> None:
    in_a, in_b = overlap_sentences(entry(), NAMES)
    assert "B (sim) shows 82\u00a0% of the contexts of A (hall) (96 of 117); 21 have nothing similar there" in in_a
    assert in_b.endswith("(108 of 108) occur in A (hall).")
    assert "undefined" in overlap_sentences(entry(n_a=0, overlap_a=None, n_overlap_a=0), NAMES)[0]


def test_chance_counts_only_tested_classes() -> None:
    absent = ResultEntry("3", "x", ABSENT | {"verdict": "no overlap"})
    tested = [entry(), entry(verdict="no gap shown", p_value=0.5), absent]
    assert correction_sentence(tested).startswith("1 of 2 tested classes show a gap")
    assert correction_sentence(tested[:1]) == ""


@pytest.mark.parametrize(
    ("field", "changes", "parameters", "said"),
    [
        ("mean_w1", {"compared": 0}, {}, "no context of A has a similar one in B"),
        ("mean_w1", {"compared": 0, "n_b": 0}, {}, "B has no contexts of this class"),
        ("mean_w1", {"compared": 0, "n_a": 0, "n_b": 0}, {}, "A and B have no contexts"),
        ("w1_low", {"w1_low": None}, {"bootstrap": 0}, "no bootstrap was asked for"),
        ("p_value", {"p_value": None}, {"permutations": 0}, "no permutations were asked for"),
        ("mean_performance_b", {"mean_performance_b": None, "n_b": 0}, {}, "B has no contexts"),
        ("mean_performance_outside_a", {"mean_performance_outside_a": None}, {}, "outside the overlap"),
        ("map50_a", {"map50_a": None}, {}, "no average precision"),
        ("median_w1", {}, {}, "not in this result file"),
    ],
)
def test_undefined_reason(field: str, changes: dict, parameters: dict, said: str) -> None:
    assert said in undefined_reason(entry(**changes), field, parameters)


def test_every_undefined_cell_has_a_footnote() -> None:
    notes = Footnotes()
    empty = ResultEntry("1", "red", ABSENT | {"n_a": 3, "n_b": 4, "compared": 0, "verdict": "no overlap"})
    for _, rows in GROUPS:
        for row in rows:
            made = format_cell(row, empty, {}, notes)
            assert ("–" in made.text) == bool(made.notes), row.label
            assert all(1 <= n <= len(notes.reasons) for n in made.notes)
