"""Performance in words: means, W1 as a share of them, and the pointwise number of paired sets."""

from __future__ import annotations

import pytest

from simjudge.method.entry_numbers import ComparisonNumbers, EntryNumbers
from simjudge.questions.compare.facts import (
    performance_sentence,
    performance_sentences,
    pointwise_sentence,
    share_sentence,
)
from simjudge.questions.compare.tables import comparison_table
from simjudge.questions.compare.words import SetNames
from simjudge.results.saved_result import ResultEntry

NAMES = SetNames("A (hall)", "B (sim)")
FIELDS = {"mean_w1": 0.08, "relative_w1": 0.1, "mean_performance_a": 0.8, "mean_performance_b": 0.2}


def entry(**changes: object) -> ResultEntry:
    return ResultEntry("1", "red", EntryNumbers.from_json(FIELDS | changes))


def test_means_of_all_classes_are_of_the_classes_that_both_sets_hold() -> None:
    assert performance_sentence(entry(), NAMES).startswith("Over all contexts, the detector's mean performance is 0.80")
    together = ResultEntry("overall", "all classes", entry().numbers)
    assert "Over all contexts of the classes that both sets hold, " in performance_sentence(together, NAMES)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "Mean W1 of 0.080 is 10\u00a0% of the mean performance in A (hall), 0.800."),
        ({"mean_w1": 0.3, "relative_w1": 1.5, "mean_performance_a": 0.2}, "is 150\u00a0% of the mean performance"),
        ({"relative_w1": None}, ""),
        ({"mean_w1": None, "relative_w1": None}, ""),
    ],
)
def test_w1_stands_beside_the_performance_that_it_is_a_share_of(changes: dict, said: str) -> None:
    assert said in share_sentence(entry(**changes), NAMES)
    assert bool(said) == bool(share_sentence(entry(**changes), NAMES))


def test_the_pointwise_number_stands_beside_w1_of_like_contexts() -> None:
    paired = entry(pointwise_mean_difference=0.123, pointwise_pairs=1400)
    assert pointwise_sentence(paired) == (
        "Pointwise: over the 1,400 objects that both sets show, performance differs by 0.123 on average; mean W1, "
        "which compares like contexts instead, is 0.080."
    )
    assert performance_sentences(paired, NAMES)[-1] == pointwise_sentence(paired)
    assert "patches that both sets show" in pointwise_sentence(paired, "patches")
    assert pointwise_sentence(entry()) == pointwise_sentence(entry(pointwise_mean_difference=None)) == ""


def test_the_table_of_compare_has_the_pointwise_number_of_pairs_alone() -> None:
    numbers = {"n_a": 1, "n_b": 1, "compared": 1}
    plain = {"by_class": {"1": numbers}, "overall": numbers}
    assert "pointwise" not in comparison_table(ComparisonNumbers.from_json(plain), {}).columns
    paired = {
        "by_class": {"1": numbers | {"pointwise_pairs": 9, "pointwise_mean_difference": 0.25}},
        "overall": numbers | {"pointwise_pairs": 9, "pointwise_mean_difference": 0.25},
    }
    table = comparison_table(ComparisonNumbers.from_json(paired), {})
    assert (table.columns[-1], table.rows[0][-1]) == ("pointwise", "0.250")
