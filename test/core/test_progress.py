"""How far a task is, in lines: not too many, and with the time that is left."""

import pytest

from simjudge.core.errors import ProgressLines, format_seconds_left


def test_a_line_every_so_often_with_the_time_left():
    now = [100.0]
    lines = ProgressLines("detecting", 30, lambda: now[0])
    said = []
    for done in range(1, 101):  # a second each
        now[0] += 1
        said.append(lines.line(done, 100))
    assert [line for line in said if line] == [
        "detecting: 30 of 100, about 70 s left",
        "detecting: 60 of 100, about 40 s left",
        "detecting: 90 of 100, about 10 s left",
    ]


def test_what_comes_before_the_first_piece_does_not_count_as_its_pace():
    """A minute of compiling, then a piece each second: not 500 minutes, but 499 seconds."""
    now = [0.0]
    lines = ProgressLines("comparing", 30, lambda: now[0])
    now[0] = 60
    assert lines.line(1, 500) == "comparing: 1 of 500"
    now[0] = 90
    assert lines.line(31, 500) == "comparing: 31 of 500, about 8 min left"


def test_nothing_is_said_before_and_after():
    now = [0.0]
    lines = ProgressLines("x", 30, lambda: now[0])
    now[0] = 60
    assert [lines.line(0, 5), lines.line(5, 5), lines.line(0, 0)] == ["", "", ""]


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0 s"), (89, "89 s"), (95, "2 min"), (9000, "2.5 h")])
def test_rough_times(seconds, text):
    assert format_seconds_left(seconds) == text
