"""The result folder of a watched sequence of trials, and what it says in a line a look and in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from simjudge.core.field_types import Choice, Number
from simjudge.page.number_format import format_percent
from simjudge.questions.policies.sequence import SequenceVerdict
from simjudge.results.result_fields import Count, OpenFields, read_checked
from simjudge.results.saved_result import POLICY_WATCH

Look = Mapping[str, Any]
_SCALE = 41
"""Characters from -100 to +100 points."""


class LookFields(OpenFields):
    """A look."""

    trials: list[int]
    entered: Count
    rate: list[float]
    low: Annotated[float, Number()]
    high: Annotated[float, Number()]
    waiting: list[int]
    verdict: Annotated[str, Choice(*SequenceVerdict)]


class PolicyWatchFile(OpenFields):
    """A policy_watch.json."""

    parameters: dict[str, Any]
    file: str
    margin: float
    looks: list[LookFields]
    notes: list[str]
    losses: list[str]


@dataclass(frozen=True, eq=False)
class WatchedTrials:
    """One result folder of watch-policies."""

    name: str
    content: Mapping[str, Any]

    @property
    def last(self) -> Look:
        """The last look."""
        found: Look = self.content["looks"][-1]
        return found


def load_watch(folder: Path) -> WatchedTrials:
    """Read a result folder of watch-policies."""
    content = read_checked(folder / POLICY_WATCH, PolicyWatchFile, "result of simjudge watch-policies")
    return WatchedTrials(folder.resolve().name, PolicyWatchFile.model_validate(content).model_dump())


def look_line(look: Look, margin: float) -> str:
    """A look in a line: how many trials, the interval as figures and as a bar between -100 and +100 points."""
    real, sim = look["trials"]
    return (
        f"{real:>4} real {sim:>5} sim  {_bar(look['low'], look['high'], margin)}  "
        f"{100 * look['low']:+6.1f} to {100 * look['high']:+6.1f} points  {_word(look, margin)}"
    )


def _bar(low: float, high: float, margin: float) -> str:
    def place(value: float) -> int:
        return min(_SCALE - 1, max(0, round((value + 1) / 2 * (_SCALE - 1))))

    cells = [" "] * _SCALE
    for k in range(place(low), place(high) + 1):
        cells[k] = "="
    for value, mark in ((-margin, "("), (margin, ")"), (0.0, "|")):
        cells[place(value)] = mark
    return f"[{''.join(cells)}]"


def _word(look: Look, margin: float) -> str:
    if look["verdict"] == SequenceVerdict.PREDICTS:
        return f"predicts within {100 * margin:g} points"
    return "gap" if look["verdict"] == SequenceVerdict.GAP else "open"


def headline(result: WatchedTrials) -> str:
    """The verdict in a few words."""
    word = _word(result.last, result.content["margin"])
    return {"gap": "Gap", "open": "Not certain yet"}.get(word, word.capitalize())


def lead(result: WatchedTrials) -> str:
    """The sentence that a person would quote."""
    look, margin = result.last, result.content["margin"]
    between = f"between {100 * look['low']:+.1f} and {100 * look['high']:+.1f} points"
    if look["verdict"] == SequenceVerdict.PREDICTS:
        return f"The robot does as the simulation says, within {100 * margin:g} points: the difference is {between}."
    if look["verdict"] == SequenceVerdict.GAP:
        better = "better" if look["low"] > 0 else "worse"
        return f"The robot does {better} than the simulation says: the difference is {between}."
    if not look["entered"]:
        return "No real trial has met a simulated one of the same policy and task yet."
    return f"The difference real - simulated is {between}; more trials are needed."


def sentences(result: WatchedTrials) -> list[str]:
    """What stands below the lead."""
    look = result.last
    real, sim = look["trials"]
    out = [f"{real} real and {sim} simulated trials came; {look['entered']} differences were compared."]
    if look["entered"]:
        rates = [format_percent(rate) for rate in look["rate"]]
        out.append(f"Of what was compared, the robot does {rates[0]} and the simulation {rates[1]}.")
    out.append("This holds at every look: the chance of any wrong verdict, over all times together, is at most 5 %.")
    for count, side, other in zip(look["waiting"], ("real", "simulated"), ("simulated", "real"), strict=True):
        if count:
            out.append(f"{count} {side} trials wait for {other} ones of the same policy, task and initial state.")
    return [*out, *result.content["notes"]]
