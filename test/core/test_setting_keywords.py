"""Functions that take declared settings as keywords: signature, docstring, what reaches the function."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

import pytest

from simjudge.core.errors import UsageError
from simjudge.core.settings import Settings, setting, takes_setting_keywords


@dataclass(frozen=True, kw_only=True)
class Wanted(Settings):
    rate: float = setting(2.0, "Frames a second.", unit="Hz", low=0, high=100)
    name: str | None = setting(None, "Name of the set.")


@takes_setting_keywords
def work(a, b="b", *, settings: Wanted, log=None):
    """Do it.

    Args:
        a: the first.
        settings: all at once.

    Returns:
        What it got.
    """
    return a, b, settings, log


def test_keywords_and_an_object_reach_it():
    assert work(1) == (1, "b", Wanted(), None)
    assert work(1, 2, rate=3, log=print) == (1, 2, Wanted(rate=3), print)
    given = Wanted(rate=5, name="x")
    assert work(1, settings=given) == (1, "b", given, None)
    assert work(1, settings=given, rate=7)[2] == Wanted(rate=7, name="x")


def test_wrong_ones_are_refused():
    with pytest.raises(TypeError, match=r"work\(\) has no argument 'rat' \(did you mean 'rate'\?\)"):
        work(1, rat=3)
    with pytest.raises(UsageError, match="rate -1: must be 0 to 100"):
        work(1, rate=-1)


def test_it_shows_the_keywords():
    assert str(inspect.signature(work)) == "(a, b='b', *, settings: 'Wanted' = None, log=None, rate=2.0, name=None)"
    lines = work.__doc__.splitlines()
    assert lines[lines.index("    settings: all at once.") + 1 :][:3] == [
        "    rate: Frames a second [Hz]. (0 to 100)",
        "    name: Name of the set.",
        "",
    ]
    assert lines[-2:] == ["Returns:", "    What it got."]


def test_settings_of_another_question_are_refused():
    @dataclass(frozen=True, kw_only=True)
    class Other(Settings):
        rate: float = setting(2.0, "Frames a second.")

    with pytest.raises(TypeError, match=r"work\(\) takes Wanted as its settings, not Other"):
        work(1, settings=Other())
