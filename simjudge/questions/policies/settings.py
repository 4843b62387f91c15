"""The settings of a comparison of policies, each declared once (see `simjudge.core.settings`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from simjudge.core.errors import UsageError
from simjudge.core.settings import Settings, TextForm, setting
from simjudge.method.method import MOST_DRAWS

MARGIN = 0.1
"""Ruling out a smaller one takes more trials than most people have."""
RADIUS = 0.1
"""Of the range of a number over both sides."""
CELLS, TRIALS = "cells", "trials"
REAL, SIM = "real", "sim"


def _pairs_form(value: str = "OTHER", of: type = str) -> TextForm:
    """How NAME=VALUE is written, several with commas."""

    def parse(given: Any) -> Any:
        pairs = given
        if not isinstance(given, dict):
            pairs = dict(part.split("=", 1) for part in str(given).split(",") if "=" in part)
        try:
            found = {name.strip(): of(other) for name, other in pairs.items()}
        except (TypeError, ValueError):
            found = {}
        if not found:
            raise UsageError(f"{given!r}: write NAME={value}, several with commas")
        return found

    return TextForm(parse, lambda held: ",".join(f"{name}={other}" for name, other in held.items()), f"NAME={value}")


@dataclass(frozen=True, kw_only=True)
class TrialTableSettings(Settings, panel="Reading tables"):
    """How tables of trials are read."""

    columns: dict[str, str] | None = setting(
        None, "Columns by what they are: policy=method, task=env, outcome=score.", form=_pairs_form(), common=True
    )
    outcome: str | None = setting(
        None,
        "A measured quantity as outcome, with its range: time:0:30:lower; of drives finished, clean or progress.",
        common=True,
    )
    status_topic: str = setting(
        "", "Topic of recordings that tells the outcome; by default /policies/trials, or the only one of its type."
    )
    rename: dict[str, str] | None = setting(
        None, "Policies and tasks of the simulation that are called differently: SIM=REAL.", form=_pairs_form()
    )


@dataclass(frozen=True, kw_only=True)
class InitialStateSettings(Settings, panel="Initial states"):
    """Which trials began alike, where conditions are numbers."""

    contexts: str | None = setting(
        None, "Columns of numbers that describe how a trial began, with commas; none for none. Not given: all numbers."
    )
    radius: float = setting(
        RADIUS, "Trials are alike where no number differs by more than this share of its range.", low=1e-6, high=1
    )
    scales: dict[str, float] | None = setting(
        None, "What counts in the place of a number's range: friction=0.5,x=0.1.", form=_pairs_form("RANGE", float)
    )


@dataclass(frozen=True, kw_only=True)
class PolicySettings(TrialTableSettings, InitialStateSettings, panel="Certainty"):
    """How policies are compared.

    Attributes:
        weights: whether each cell counts alike in a mean, or by its real trials.
    """

    margin: float = setting(MARGIN, "Difference of success from which a gap matters.", low=1e-6, high=1, common=True)
    next: int = setting(0, "Further real trials to deal out: where they tell most.", low=0, high=100_000, common=True)
    weights: str = setting(CELLS, "What counts alike in a mean over cells.", choices=(CELLS, TRIALS))
    draws: int = setting(
        1000, "Draws and permutations of trials for noise, p and intervals; 0 for none.", low=0, high=MOST_DRAWS
    )
    seed: int = setting(0, "Seed of the draws.", low=0)


@dataclass(frozen=True, kw_only=True)
class PolicyWatchSettings(TrialTableSettings, panel="Watching"):
    """How trials are followed.

    Attributes:
        policy, task: only the trials of this name; empty: all.
        follow: whether the file is read again while it grows.
    """

    margin: float = setting(MARGIN, "Difference of success from which a gap matters.", low=1e-6, high=1, common=True)
    policy: str = setting("", "Watch the trials of this policy alone.", common=True)
    task: str = setting("", "Watch the trials at this task alone.", common=True)
    follow: bool = setting(default=True, help="Read the file again while it grows, or only what is there.", common=True)
    period: float = setting(1.0, "Time between looks at the file.", unit="s", low=0.01, high=3600)
