"""What the page shows of where two sets differ: kinds of contexts, and the confusion of classes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_results import made_contexts, made_set, write_result

from simjudge.questions.compare.facts import where_view
from simjudge.questions.compare.words import SetNames
from simjudge.results.result_header import ResultHeader
from simjudge.results.saved_result import Result, load_result


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    sets = (made_set(name, seed, 25, pictures=False) for seed, name in enumerate("ab"))
    return load_result(write_result(tmp_path_factory.mktemp("r") / "cones", made_contexts(*sets)))


def test_kinds_have_a_row_each_and_all_contexts_the_last(result: Result) -> None:
    table = where_view(result, SetNames("A", "B")).kinds
    assert table is not None
    shown = [[cell.text for cell in row] for row in table.rows]
    assert shown[0] == ["under 24 px high, on the left", "−0.211", "−0.290 to −0.132", "0.002", "0.612", "0.401", "41"]
    assert shown[-1][0] == "all contexts"
    assert table.rows[0][1].value == pytest.approx(-0.211)
    invented = where_view(result, SetNames("A", "B")).invented
    assert invented is not None
    assert [row[0].text for row in invented.rows] == ["nothing labelled near", "near red", "all places"]


def test_a_result_of_an_earlier_version_shows_none(result: Result) -> None:
    header = {name: value for name, value in result.content.items() if not name.startswith("where")}
    earlier = Result(
        result.name, result.folder, ResultHeader.from_json(header), result.overall, result.classes, result.contexts
    )
    assert where_view(earlier, SetNames("A", "B")).kinds is None


def test_shares_of_the_confusion_are_of_the_labelled_objects(result: Result) -> None:
    counts = {"1": {"1": 6, "2": 1, "none": 3}, "2": {"2": 4}, "none": {"2": 7}}
    given = replace(result, header=ResultHeader.from_json({**result.content, "confusion": {"a": counts, "b": counts}}))
    first, second = where_view(given, SetNames("A (hall)", "B")).confusion
    assert (first.name, second.name, first.heads) == ("A (hall)", "B", ["red", "green", "missed"])
    shown = [(label, total, [cell.text.replace("\u00a0", " ") for cell in cells]) for label, total, cells in first.rows]
    assert shown == [
        ("red", "10", ["60 %", "10 %", "30 %"]),
        ("green", "4", ["0 %", "100 %", "0 %"]),
        ("no object", "–", ["0", "7"]),
    ]


def test_of_many_classes_the_frequent_confusions_are_listed(result: Result) -> None:
    counts = {str(k): {str(k): 10, str((k + 1) % 40): k} for k in range(40)}
    given = replace(result, header=ResultHeader.from_json({**result.content, "confusion": {"a": counts}}))
    (table,) = where_view(given, SetNames("A", "B")).confusion
    assert not table.rows
    assert [cell.text for cell in table.pairs[0]] == ["39", "0", "39", "80\u00a0%"]
    assert [row[2].value for row in table.pairs] == sorted((row[2].value for row in table.pairs), reverse=True)


def test_a_result_without_confusion_shows_none(result: Result) -> None:
    assert where_view(result, SetNames("A", "B")).confusion == []
