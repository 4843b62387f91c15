"""Words and numbers: a W1 never alone, a share never rounded to all or nothing, every dash with its reason."""

from __future__ import annotations

import pytest

from simjudge.method.entry_numbers import EntryNumbers
from simjudge.method.verdicts import Verdict
from simjudge.page.chart_data import DARK, LIGHT, format_number, format_p, format_percent
from simjudge.questions.compare.tables import GROUPS, Footnotes, format_cell
from simjudge.questions.compare.words import (
    SetNames,
    correction_sentence,
    headline,
    meaning,
    undefined_reason,
    verdict_numbers,
    verdict_sentence,
)
from simjudge.results.result_header import ResultParameters
from simjudge.results.saved_result import ResultEntry

NAMES = SetNames("A (hall)", "B (sim)")
GAP = {
    "n_a": 117,
    "n_b": 108,
    "compared": 96,
    "mean_w1": 0.66,
    "gap_low": 0.5,
    "gap_high": 0.58,
    "noise": 0.12,
    "noise_q95": 0.15,
    "gap": 0.54,
    "gap_share": 1.0,
    "gap_size": 0.54,
    "drawn_share": 1.0,
    "p_value": 0.001,
    "p_adjusted": 0.001,
    "verdict": "large_gap",
    "overlap_a": 96 / 117,
    "margin": 0.05,
    "detectable_gap": 0.15,
    "draws": 999,
    "units_a": 30,
    "units_b": 4,
    "verdict_reason": "",
    "overlap_b": 1.0,
    "n_overlap_a": 96,
    "n_overlap_b": 108,
    "mean_performance_a": 0.9,
    "mean_performance_b": 0.2,
}
SMALL = {"verdict": "cannot_tell", "p_value": 0.6, "p_adjusted": 0.6}
UNTESTED = {"verdict": "not_tested", "draws": 0} | dict.fromkeys(("noise", "p_value", "gap", "gap_low", "gap_high"))
ABSENT = dict.fromkeys(("mean_w1", "gap_low", "gap_high", "noise", "noise_q95", "gap", "p_value", "p_adjusted"))


FEW = {"verdict_reason": "few_units"}
FOUND = {"recall_a": 0.02, "recall_b": 0.04}
COUNTED = dict.fromkeys(("draws", "units_a", "units_b"), 0)


def entry(**changes: object) -> ResultEntry:
    return ResultEntry("1", "red", EntryNumbers.from_json(GAP | changes))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "B (sim) does not predict A (hall): in like contexts the detector's performance differs by 0.05 or more."),
        ({}, "The gap is 0.540 (95 %: 0.500 to 0.580); p = 0.001, the smallest that 999 draws can show."),
        ({}, "Mean W1 is 0.660; sets of these sizes that do not differ have 0.120 (noise)."),
        (
            {"gap": 0.7},
            "The gap is above it: contexts that found one unit on a side count in mean W1, and not in the gap.",
        ),
        ({"gap": 0.03, "gap_share": 0.1, "gap_size": 0.3}, "0.580), about 0.30 in 10 % of the contexts; p"),
        ({"adjusted_w1": 0.2}, "Mean W1 is 0.660, and 0.200 adjusted to like objects; sets of these sizes that do not"),
        ({"adjusted_w1": 0.2}, "Gap, p and verdict are of the adjusted one."),
        ({"drawn_share": 0.12}, "A drawn 12 % of the contexts carries the draws; the interval holds what that adds."),
        ({"p_value": 0.04, "p_adjusted": 0.04}, "p = 0.040."),
        ({"verdict": "gap"}, "differ beyond chance; whether by more or by less than 0.05, more frames would tell"),
        ({"verdict": "small_gap", "margin": 0.2}, "differ beyond chance, but by less than 0.2."),
        (SMALL | {"verdict": "predicts", "margin": 0.1}, "B (sim) predicts A (hall) to within 0.1."),
        (SMALL, "one of 0.05 or more is not ruled out: more frames would tell."),
        ({"verdict": "too_few", "verdict_reason": "never_predicted"}, "this detector has no such class"),
        (
            {"verdict": "too_few", "verdict_reason": "few_units"},
            (
                "only 30 independent units of A (hall) and 4 of B (sim) were compared, and 6 of each are needed "
                "at least: "
                "longer recordings of new places and things would help, more passes of the same would not."
            ),
        ),
        ({"verdict": "too_few", "verdict_reason": "lone_units"}, "most contexts find only one on a side"),
        ({"verdict": "too_few", "verdict_reason": "uneven_units"}, "even the largest difference could be chance"),
        ({"verdict": "too_few", "verdict_reason": "few_draws"}, "999 draws are too few"),
        (SMALL | {"gap": 0.0, "gap_low": 0.0, "gap_high": 0.03}, "The gap is 0.000 (95 %: 0.000 to 0.030)"),
        (SMALL, "would have shown a gap of 0.150 in about 80 of 100 cases"),
        (UNTESTED, "nothing was drawn: W1 alone does not tell whether there is a gap"),
        (
            FOUND | {"verdict": "detector_fails", "verdict_reason": "never_predicted"},
            "it predicts no such class; it finds next to nothing in either set",
        ),
        (
            FOUND | {"recall_b": 0.8},
            "recall 0.800 in B; check classes and labels of A first. Large gap: B (sim) does not predict A (hall)",
        ),
        (ABSENT | {"verdict": "no_overlap", "compared": 0}, "none of the 117 contexts of A (hall) has a similar one"),
        (ABSENT | {"verdict": "no_overlap", "compared": 0, "n_b": 0}, "B (sim) has no contexts here"),
    ],
)
def test_verdict_sentence(changes: dict, said: str) -> None:
    assert said in verdict_sentence(entry(**changes), NAMES).replace("\u00a0", " ")


@pytest.mark.parametrize("changes", [SMALL | {"verdict": "predicts"}, {"gap_share": 0.9}, {"gap_share": 0.1} | SMALL])
def test_a_gap_that_is_everywhere_or_not_shown_sits_in_no_part_of_the_contexts(changes: dict) -> None:
    assert "of the contexts" not in verdict_sentence(entry(**changes), NAMES)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "Large gap"),
        ({"overlap_a": 0.04}, "Large gap, over 4 % of A"),
        ({"overlap_a": 0.04, "verdict": "predicts"}, "Predicts within 0.05, over 4 % of A"),
        ({"overlap_a": 0.04, "verdict": "too_few"}, "Too few"),
        ({"overlap_a": 0.5}, "Large gap"),
        ({"scope": "these_recordings"}, "Large gap, in these recordings"),
        ({"scope": "recordings_like_these"}, "Large gap"),
        ({"verdict": "detector_fails"} | FOUND, "Detector fails"),
        ({"map50_a": 0.04, "map50_b": 0.5}, "Large gap: the detector finds next to nothing in A"),
        (FOUND | {"recall_a": 0.7}, "Large gap: the detector finds next to nothing in B"),
    ],
)
def test_the_first_words_say_over_how_much_and_whether_the_detector_can_judge(changes: dict, said: str) -> None:
    assert headline(entry(**changes)).replace("\u00a0", " ") == said


def test_where_the_detector_fails_in_both_sets_no_gap_is_said() -> None:
    said = verdict_sentence(entry(verdict="detector_fails", **FOUND), NAMES)
    assert said.startswith("it finds next to nothing in either set (recall 0.020 in A, recall 0.040 in B)")
    assert "0.540" not in said


def test_a_w1_never_stands_alone() -> None:
    for words in (verdict_sentence(entry(), NAMES), verdict_numbers(entry(), NAMES)):
        assert "noise" in words
        assert "0.500 to 0.580" in words
    assert "alone does not tell" in verdict_sentence(entry(**UNTESTED), NAMES)
    assert "no noise" in verdict_numbers(entry(**UNTESTED), NAMES)


def test_every_verdict_has_a_colour_and_a_meaning() -> None:
    found = {verdict: (verdict.colour, meaning(entry(verdict=verdict, **FEW), NAMES)) for verdict in Verdict}
    assert len(set(found.values())) == len({colour for colour, _ in found.values()}) == len(Verdict)
    for colour, _ in found.values():
        for palette in (LIGHT, DARK):
            for ground in (palette["panel"], palette[f"{colour}-tint"]):
                assert contrast(palette[colour], ground) >= 4.5


def contrast(first: str, second: str) -> float:
    """Contrast of two colours as WCAG 2.1 defines it."""
    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (0.0, "0 %"),
        (1.0, "100 %"),
        (0.5, "50 %"),
        (0.999, "99.9 %"),
        (0.9999, "over 99.9 %"),
        (0.001, "0.1 %"),
        (0.0001, "under 0.1 %"),
        (None, "–"),
    ],
)
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


def test_chance_counts_only_tested_classes() -> None:
    absent = ResultEntry("3", "x", EntryNumbers.from_json(ABSENT | {"verdict": "no_overlap"}))
    tested = [entry(), entry(verdict="cannot_tell", p_value=0.5), absent]
    assert correction_sentence(tested).startswith("1 of 2 tested classes show a gap")
    assert correction_sentence(tested[:1]) == ""


@pytest.mark.parametrize(
    ("field", "changes", "parameters", "said"),
    [
        ("mean_w1", {"compared": 0}, {}, "no context of A has a similar one in B"),
        ("mean_w1", {"compared": 0, "n_b": 0}, {}, "B has no contexts of this class"),
        ("mean_w1", {"compared": 0, "n_a": 0, "n_b": 0}, {}, "A and B have no contexts"),
        ("gap_low", {"gap_low": None}, {"draws": 0}, "no draws were asked for"),
        ("adjusted_w1", {}, {"draws": 999}, "nothing had to be adjusted"),
        ("mean_performance_b", {"mean_performance_b": None, "n_b": 0}, {}, "B has no contexts"),
        ("mean_performance_outside_a", {"mean_performance_outside_a": None}, {}, "outside the overlap"),
        ("map50_a", {"map50_a": None}, {}, "no average precision"),
        ("median_w1", {}, {}, "not in this result file"),
        ("relative_w1", {"relative_w1": None, "mean_performance_a": 0.0}, {}, "the mean performance in A is 0"),
        ("pointwise_mean_difference", {}, {}, "not compared as pairs"),
        ("pointwise_mean_difference", {"pointwise_mean_difference": None}, {"paired": True}, "no object is in both"),
    ],
)
def test_undefined_reason(field: str, changes: dict, parameters: dict, said: str) -> None:
    assert said in undefined_reason(entry(**changes), field, ResultParameters.from_json(parameters))


def test_every_undefined_cell_has_a_footnote() -> None:
    notes = Footnotes()
    known = {"n_a": 3, "n_b": 4, "compared": 0, "verdict": "no_overlap", "detectable_gap": None}
    empty = ResultEntry("1", "red", EntryNumbers.from_json(ABSENT | known | COUNTED))
    for _, rows in GROUPS:
        for row in rows:
            made = format_cell(row, empty, ResultParameters.from_json({}), notes)
            assert ("–" in made.text) == bool(made.notes), row.label
            assert all(1 <= n <= len(notes.reasons) for n in made.notes)
