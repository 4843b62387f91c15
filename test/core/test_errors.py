"""What was left out reads well, be it one or many."""

import pytest

from simjudge.core.errors import Losses, counted


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
