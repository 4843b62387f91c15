"""Numbers as text: fixed digits, shares that are never rounded to all or nothing, a dash where a value is undefined."""

from __future__ import annotations

from dataclasses import dataclass

from simjudge.results.saved_result import ResultEntry

DASH = "–"
"""What stands for an undefined value."""
NO_BREAK_SPACE = "\u00a0"
"""A space that no line breaks at."""


@dataclass(frozen=True)
class Cell:
    """A cell of a table that says more than its text."""

    text: str
    value: float | str | None = ""  # what its row is ordered by: "" for the text; None stands last
    colour: str = ""  # of the chip around it; "" for none
    hover: str = ""


def format_number(value: float | None, digits: int = 3) -> str:
    """Write a number."""
    if value is None:
        return DASH
    rounded = f"{value:.{digits}f}"
    return rounded.replace("-", "−" if float(rounded) else "")


def format_short(value: float) -> str:
    """Write the number of an axis as short as it can be written."""
    return (f"{value:,.0f}" if abs(value) >= 1000 else f"{value + 0.0:.4g}").replace("-", "−")


def format_percent(value: float | None) -> str:
    """Write a share in percent."""
    if value is None:
        return DASH
    rounded = f"{100 * value:.0f}"
    if rounded in ("0", "100") and value not in (0, 1):
        rounded = f"{100 * value:.1f}" if 0.0005 <= value <= 0.9995 else ("under 0.1" if value < 0.5 else "over 99.9")
    return f"{rounded}{NO_BREAK_SPACE}%"


def format_count(value: float | None) -> str:
    """Write a count."""
    return DASH if value is None else f"{value:,.0f}"


def format_p(value: float | None) -> str:
    """Write a p value."""
    if value is None:
        return DASH
    return f"{value:.1g}" if value < 0.001 else f"{value:.{3 if value < 0.1 else 2}f}"


def format_interval(entry: ResultEntry) -> str:
    """Write the 95 % interval of the gap."""
    low, high = entry.numbers.gap_low, entry.numbers.gap_high
    return "" if low is None or high is None else f"{format_number(low)} to {format_number(high)}"


def format_gap(entry: ResultEntry) -> str:
    """Write the gap with its interval."""
    interval = format_interval(entry)
    spread = f" (95{NO_BREAK_SPACE}%: {interval})" if interval else ""
    return f"{format_number(entry.numbers.gap)}{spread}"
