"""What a plan says: the table and the sentences that `simjudge plan` prints."""

from __future__ import annotations

from simjudge.core.display import SummaryTable
from simjudge.page.number_format import format_number, format_percent
from simjudge.questions.plan.plan import Plan, PlanEntry

_UNKNOWN = "-"


def plan_table(plan: Plan) -> SummaryTable:
    """One line a class: what the frames at hand show, and how many show the gap."""
    columns = ("class", "units A / B", f"power for {plan.gap:g}", "smallest gap", f"frames A / B for {plan.gap:g}")
    return SummaryTable(columns, [_row(entry) for entry in plan.entries])


def plan_sentences(plan: Plan) -> list[str]:
    """Write what the columns are, and what the plan means over all classes."""
    gap = f"{plan.gap:g}"
    columns = (
        f"Power is the share of cases in which these frames show a gap of {gap}. The smallest gap is what they show in "
        "80 of 100 cases."
    )
    said = [columns, _needed(plan, plan.entries[-1], gap)]
    if plan.unit_kind == "things":
        said.append(
            "The independent units are the things that the frames show. More frames must show new things and places: "
            "more passes of the same add nothing."
        )
    if plan.alone:
        said.append(
            f"This is from {plan.names[0]} alone. It assumes that B shows like surroundings as often, and that the "
            "detector varies in them as in A. Plan again with a first B."
        )
    return said


def _needed(plan: Plan, entry: PlanEntry, gap: str) -> str:
    if entry.needed is None:
        reason = "the mean performance is below it" if entry.power is None else "more than 1,000 times these are needed"
        return f"No number of frames can be named for a gap of {gap}: {reason}."
    a, b = entry.needed
    wanted = f"{a:,} pairs of frames" if plan.paired else f"{a:,} frames of A and {b:,} of B"
    now = plan.frames
    held = f"The {now[0]:,} pairs" if plan.paired else f"The {now[0]:,} of A and {now[1]:,} of B"
    if plan.alone:
        held = f"The {now[0]:,} of A at hand and as many of B"
    enough = "are enough" if a <= now[0] and b <= now[1] else "are too few"
    at_hand = "" if plan.alone else " at hand"
    return (
        f"{held}{at_hand} {enough}. {wanted} show a gap of {gap} over all classes in 80 of 100 cases, if they vary and "
        "follow each other as these do."
    )


def _row(entry: PlanEntry) -> tuple[str, ...]:
    power = _UNKNOWN if entry.power is None else format_percent(entry.power)
    smallest = _UNKNOWN if entry.smallest_gap is None else format_number(entry.smallest_gap)
    needed = _UNKNOWN if entry.needed is None else f"{entry.needed[0]:,} / {entry.needed[1]:,}"
    return (entry.label, f"{entry.units[0]:,} / {entry.units[1]:,}", power, smallest, needed)
