"""What is said of unlike objects: which, by how much, and whether performance is adjusted; nothing where alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from simjudge.method.entry_numbers import EntryNumbers
from simjudge.questions.compare.facts import balance_sentence
from simjudge.results.result_header import ResultHeader
from simjudge.results.saved_result import Result, ResultEntry

Balance = dict[str, tuple[dict[str, float], bool]]
AREA = "log box area"


def made(balance: Balance | None) -> Result:
    header = {"class_names": {"1": "red", "2": "green"}}
    if balance is not None:
        header["balance"] = {key: {"differences": own, "adjusted": done} for key, (own, done) in balance.items()}
    return Result(
        "r", Path(), ResultHeader.from_json(header), ResultEntry("overall", "all classes", EntryNumbers()), (), None
    )


@pytest.mark.parametrize("balance", [None, {}, {"1": ({}, False)}, {"1": ({AREA: 0.1, "log aspect": -0.05}, False)}])
def test_nothing_is_said_where_objects_are_alike(balance: Balance | None) -> None:
    assert balance_sentence(made(balance)) == ""


def test_the_covariate_that_differs_most_is_said() -> None:
    assert balance_sentence(made({"1": ({AREA: -0.8, "truncated": 0.3}, True)})) == (
        "Within batches B's objects are larger than A's (0.8 standard deviations of log box area): performance is "
        "adjusted to like objects."
    )


@pytest.mark.parametrize(
    ("balance", "said"),
    [
        ({"1": ({AREA: 0.8}, True)}, "B's objects are smaller than A's"),
        ({"1": ({"log distance": 0.8}, False)}, "nearer than A's"),
        ({"1": ({"log distance": 0.8}, False)}, "could not be adjusted to that, so W1 holds it too."),
        ({"1": ({"neighbours": -0.8}, True)}, "B's objects are in larger crowds than A's (0.8 standard deviations of"),
        ({"1": ({AREA: 0.2}, True), "2": ({"visible share": -0.5}, True)}, "of class green are less hidden"),
        ({"1": ({AREA: 0.2}, True), "2": ({"visible share": -0.5}, True)}, "; another class is unlike too: "),
        ({"1": ({AREA: 0.2}, True), "2": ({AREA: 0.0}, False)}, "B's objects of class red are smaller"),
    ],
)
def test_the_most_unlike_class_is_said(balance: Balance, said: str) -> None:
    assert said in balance_sentence(made(balance))
