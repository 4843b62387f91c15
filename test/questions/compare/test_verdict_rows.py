"""Rows of the verdict table: marks stand where the numbers say."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_results import made_contexts, made_entry, made_set

from simjudge.method.entry_numbers import EntryNumbers
from simjudge.method.verdicts import Verdict
from simjudge.page.chart_data import axis_ticks, round_up
from simjudge.page.kit import element
from simjudge.questions.compare.charts import verdict_axis, verdict_row, w1_axis_end
from simjudge.results.saved_result import ResultEntry


@pytest.fixture(scope="module")
def entry() -> ResultEntry:
    sets = (made_set(name, seed, 12, pictures=False) for name, seed in (("a", 1), ("b", 2)))
    known = {"mean_w1": 0.25, "gap": 0.2, "gap_low": 0.15, "gap_high": 0.3}
    known |= {"noise": 0.1, "noise_q95": 0.125}
    return ResultEntry("1", "red", EntryNumbers.from_json(made_entry(made_contexts(*sets), 1) | known))


def test_marks_stand_where_the_numbers_say(entry: ResultEntry) -> None:
    drawing = str(verdict_row(entry, 0.5))
    assert 'cx="50.00%" cy="25" r="4" class="w1-ring"' in drawing
    assert 'cx="40.00%" cy="11" r="5" class="observed' in drawing
    assert 'width="25.00%"' in drawing
    assert 'x1="30.00%" x2="60.00%"' in drawing
    assert 'x1="10.00%" x2="10.00%" y1="3" y2="19" class="margin-line"' in drawing
    said = "gap 0.200 (95 %: 0.150 to 0.300), p = 0.001; mean W1 0.250, noise 0.100 (95 % quantile 0.125)"
    assert said in drawing.replace("\u00a0", " ")
    assert w1_axis_end([entry]) == 0.5


def test_the_ring_is_the_adjusted_w1_where_noise_and_p_are_of_it(entry: ResultEntry) -> None:
    adjusted = ResultEntry("1", "red", replace(entry.numbers, adjusted_w1=0.15))
    drawing = str(verdict_row(adjusted, 0.5))
    assert 'cx="30.00%" cy="25" r="4" class="w1-ring"' in drawing
    assert "mean W1 0.250, adjusted 0.150, noise" in drawing


def test_an_undefined_w1_is_said() -> None:
    assert "undefined" in str(verdict_row(ResultEntry("2", "green", EntryNumbers(verdict=Verdict.NO_OVERLAP)), 0.5))


@pytest.mark.parametrize(("value", "up"), [(0.11, 0.2), (0.2, 0.2), (0.21, 0.25), (0.6, 1.0), (7, 10), (1, 1)])
def test_round_up(value: float, up: float) -> None:
    assert round_up(value) == pytest.approx(up)


@pytest.mark.parametrize(
    ("end", "ticks"),
    [(0.2, [0, 0.05, 0.1, 0.15, 0.2]), (0.25, [0, 0.05, 0.1, 0.15, 0.2, 0.25]), (5.0, [0, 1, 2, 3, 4, 5])],
)
def test_the_axis_has_round_numbers(end: float, ticks: list[float]) -> None:
    assert axis_ticks(end) == pytest.approx(ticks)
    assert str(verdict_axis(end)).count("<text") == len(ticks)


def test_markup_is_escaped_once() -> None:
    assert str(element("text", '<b> & "', class_="x<y")) == '<text class="x&lt;y">&lt;b&gt; &amp; &#34;</text>'
