"""What was left out reads well, be it one or many; progress is told."""

import pytest

from simjudge.core.errors import Losses, ProgressLines, counted, format_seconds_left


@pytest.mark.parametrize(
    ("kind", "one"),
    [
        ("holes in drives", "1 hole in drives"),
        ("boxes with zero area", "1 box with zero area"),
        ("classes that too few pairs hold", "1 class that too few pairs hold"),
        ("GPS messages without a fix", "1 GPS message without a fix"),
        ("class ids without a name", "1 class id without a name"),
        ("policies with real trials alone", "1 policy with real trials alone"),
        ("boxes that are tilted, written upright", "1 box that is tilted, written upright"),
        ("listed images that do not exist", "1 listed image that does not exist"),
        ("rows that stand twice", "1 row that stands twice"),
        ("drives that pass no stretch of the course", "1 drive that passes no stretch of the course"),
        ("inputs that have changed since the comparison", "1 input that has changed since the comparison"),
        ("crowd regions, which are no objects", "1 crowd region, which is no object"),
        ("annotations of images that are not there", "1 annotation of images that are not there"),
        ("images that cannot be read", "1 image that cannot be read"),
        ("clouds without a point of their stamp", "1 cloud without a point of its stamp"),
        ("clouds whose points are all the car's own", "1 cloud whose points are all the car's own"),
        ("odometry", "1 odometry"),
    ],
)
def test_one_piece_is_no_plural_and_several_are_as_they_were(kind, one):
    assert counted(1, kind) == one
    assert counted(2, kind) == f"2 {kind}"


def test_lines_say_how_many():
    losses = Losses()
    losses.add("holes in drives", "run: 6 s")
    assert losses.lines() == ["1 hole in drives: run: 6 s"]
    assert losses.reason == " (left out: 1 hole in drives: run: 6 s)"
    losses.add("holes in drives", "run: 7 s")
    assert losses.lines() == ["2 holes in drives: run: 6 s; run: 7 s"]


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
    assert lines.last_line() == "detecting: done", "no time left stands for what comes next"


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
    assert [lines.line(0, 5), lines.line(5, 5), lines.line(0, 0), lines.last_line()] == ["", "", "", ""]


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0 s"), (89, "89 s"), (95, "2 min"), (9000, "2.5 h")])
def test_rough_times(seconds, text):
    assert format_seconds_left(seconds) == text
