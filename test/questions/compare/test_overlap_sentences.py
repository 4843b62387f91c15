"""The overlaps in words, each alone and both together."""

from __future__ import annotations

import pytest

from simjudge.method.entry_numbers import EntryNumbers
from simjudge.questions.compare.facts import joint_overlap_sentence, overlap_sentences
from simjudge.questions.compare.words import SetNames
from simjudge.results.saved_result import ResultEntry

NAMES = SetNames("A (hall)", "B (sim)")
COUNTS = {"n_a": 117, "n_b": 108, "n_overlap_a": 96, "n_overlap_b": 108, "overlap_a": 96 / 117, "overlap_b": 1.0}


def entry(**changes: object) -> ResultEntry:
    return ResultEntry("1", "red", EntryNumbers.from_json(COUNTS | changes))


def test_each_overlap_says_what_is_missing() -> None:
    in_a, in_b, together = overlap_sentences(entry(), NAMES)
    assert "B (sim) shows 82\u00a0% of the contexts of A (hall) (96 of 117); 21 have nothing similar there" in in_a
    assert in_b.endswith("(108 of 108) occur in A (hall).")
    assert together == "Both overlaps are high: B (sim) covers what A (hall) shows."


@pytest.mark.parametrize(
    ("overlap_a", "overlap_b", "said"),
    [
        (0.9, 0.5, "Both overlaps are high: B (sim) covers what A (hall) shows."),
        (0.5, 0.4, "O_A is high and O_B low: much of B (sim) has no counterpart in A (hall)."),
        (0.49, 0.9, "O_A is low and O_B high: B (sim) is repetitive and misses the variety of A (hall)."),
        (0.3, 0.3, "Both overlaps are low: the sets show unlike contexts, and a detector trained on B (sim) may fail"),
    ],
)
def test_both_overlaps_are_read_together(overlap_a: float, overlap_b: float, said: str) -> None:
    assert joint_overlap_sentence(entry(overlap_a=overlap_a, overlap_b=overlap_b), NAMES).startswith(said)


def test_a_small_share_of_a_says_little_about_the_rest() -> None:
    few = joint_overlap_sentence(entry(overlap_a=0.19, overlap_b=0.9), NAMES)
    assert few.endswith("W1 speaks for few contexts of A (hall) alone: little can be said about the rest.")
    assert "little can be said" not in joint_overlap_sentence(entry(overlap_a=0.2, overlap_b=0.9), NAMES)


@pytest.mark.parametrize("absent", [{"overlap_a": None, "n_a": 0, "n_overlap_a": 0}, {"overlap_b": None, "n_b": 0}])
def test_an_undefined_overlap_is_not_read(absent: dict) -> None:
    said = overlap_sentences(entry(**absent), NAMES)
    assert len(said) == 2
    assert any("undefined" in line for line in said)
