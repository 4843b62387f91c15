"""The picture of a gate in characters: its columns are those of the numbers."""

import pytest

from simjudge.results.gate import GateCase, Outcome
from simjudge.results.gate_picture import column_of, gate_picture, scale_end

WIDTH = 48


def case(subject, low, gap, high, outcome=Outcome.GAP, comparison="lab", margin=0.05):
    return GateCase(comparison, subject, "gap", "", outcome, (low, gap, high), margin)


def test_ends_gap_and_margin_stand_in_the_columns_of_their_numbers():
    line, *_ = gate_picture([case("all classes", 0.1, 0.15, 0.2)]).splitlines()
    name, drawn = line[:11], line[13 : 13 + WIDTH]
    assert name == "all classes"
    for sign, value in (("├", 0.1), ("●", 0.15), ("┤", 0.2), ("┊", 0.05)):
        assert drawn.count(sign) == 1
        assert drawn.index(sign) / (WIDTH - 1) * 0.2 == pytest.approx(value, abs=0.5 * 0.2 / (WIDTH - 1))
    assert drawn[drawn.index("├") + 1 : drawn.index("●")].strip("─") == ""


def test_a_margin_within_the_interval_crosses_it():
    drawn = gate_picture([case("red", 0.0, 0.08, 0.2)]).splitlines()[0]
    assert "┼" in drawn
    assert "┊" not in drawn


def test_all_rows_are_on_one_scale_that_ends_at_a_round_number():
    rows = gate_picture([case("red", 0.0, 0.01, 0.02, Outcome.PASSED), case("a longer name", 0.1, 0.2, 0.42)])
    red, longer, scale, legend = rows.splitlines()
    assert red.startswith("red            ├●")
    assert longer[: len("a longer name")] == "a longer name"
    assert scale.split() == ["0", "0.5"]
    assert "95 % interval" in legend
    assert "🟩" in red
    assert "🟥" in longer


@pytest.mark.parametrize(
    ("largest", "end"), [(0.2, 0.2), (0.21, 0.5), (0.075, 0.1), (0.0, 1.0), (0.9, 1.0), (3.0, 5.0)]
)
def test_the_scale_ends_at_one_two_or_five(largest, end):
    assert scale_end(largest) == pytest.approx(end)


def test_values_outside_the_scale_stay_at_its_ends():
    assert (column_of(-0.1, 1.0), column_of(2.0, 1.0)) == (0, WIDTH - 1)


def test_comparisons_are_named_where_there_are_several_and_fences_stay_whole():
    rows = gate_picture([case("all", 0, 0.1, 0.2), case("all", 0, 0.1, 0.2, comparison="hall```\nx")])
    assert "lab, all" in rows
    assert "hall''' x, all" in rows
    assert "```" not in rows


def test_without_an_interval_there_is_no_picture():
    assert gate_picture([GateCase("lab", "red", "too few", "", Outcome.TOO_FEW)]) == ""
