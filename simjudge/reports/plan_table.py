"""What a plan says: the table and the sentence that `simjudge plan` prints."""

from __future__ import annotations

from simjudge.context.power_curve import GAP_KINDS
from simjudge.core.display import SummaryTable
from simjudge.reports.number_format import format_number, format_percent
from simjudge.studies.plan import Plan, PlanEntry

_UNKNOWN = "-"


def plan_table(plan: Plan) -> SummaryTable:
    """One line a class: what the frames at hand show, and how many show the gap.

    Args:
        plan: the plan.
    """
    columns = (
        "class", "units A / B", "power, lowered", "power, missed", "smallest gap, lowered", "smallest gap, missed",
        f"frames A / B for {plan.gap:g}",
    )  # fmt: skip
    return SummaryTable(columns, [_row(entry) for entry in plan.entries])


def plan_sentences(plan: Plan) -> list[str]:
    """Write what the columns are, and what the plan means over all classes.

    Args:
        plan: the plan.
    """
    gap = f"{plan.gap:g}"
    words = (
        f"power: the share of cases in which these frames show a gap of {gap}. smallest gap: what they show in 80 of "
        "100 cases. lowered: B lowers the performance of what it finds; missed: B misses more. The last column serves "
        "both."
    )
    said = [words, _needed(plan, plan.entries[-1], gap)]
    if plan.alone:
        said.append(
            f"From {plan.names[0]} alone: halves of it were compared, with a gap of {gap} put into one, and "
            "carried on to a B of as many frames. This assumes that B shows like surroundings as often, and that the "
            "detector varies in them as in A. Plan again with a first B."
        )
    return said


def _needed(plan: Plan, entry: PlanEntry, gap: str) -> str:
    if entry.needed is None:
        low = None in entry.power.values()
        reason = "the mean performance is below it" if low else "none of the simulated gaps is shown so often"
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
    powers = [_UNKNOWN if (p := entry.power[kind]) is None else format_percent(p) for kind in GAP_KINDS]
    sizes = [_UNKNOWN if (g := entry.smallest_gap[kind]) is None else format_number(g) for kind in GAP_KINDS]
    needed = _UNKNOWN if entry.needed is None else f"{entry.needed[0]:,} / {entry.needed[1]:,}"
    return (entry.label, f"{entry.units[0]:,} / {entry.units[1]:,}", *powers, *sizes, needed)
