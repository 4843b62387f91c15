"""The intervals of a gate drawn in characters: what job summaries and logs show, which take no pictures but by address.

GitHub takes out images whose address is their own content (data:), and drawings (SVG) within Markdown.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from simjudge.results.gate import GateCase

_COLUMNS = 48
_LONGEST = 32  # Characters of a name


def gate_picture(cases: Sequence[GateCase]) -> str:
    """Draw the gap of each case with its interval on one scale, and the margin; empty where no case has an interval."""
    drawn = [case for case in cases if case.interval is not None]
    if not drawn:
        return ""
    several = len({case.comparison for case in drawn}) > 1
    names = [_short(f"{case.comparison}, {case.subject}" if several else case.subject) for case in drawn]
    width = max(map(len, names))
    end = scale_end(max(max(case.interval[2], 1.5 * case.margin) for case in drawn if case.interval))
    rows = [
        f"{name:<{width}}  {_row(case, end)}  {case.outcome.mark} {case.verdict}"
        for name, case in zip(names, drawn, strict=True)
    ]
    left, right = "0", f"{end:g}"
    scale = f"{'':<{width}}  {left}{right:>{_COLUMNS - len(left)}}"
    return "\n".join([*rows, scale, f"{'':<{width}}  ● gap  ├──┤ its 95 % interval  ┊ margin"])


def _row(case: GateCase, end: float) -> str:
    """One line of the scale."""
    if case.interval is None:
        return " " * _COLUMNS
    low, gap, high = (column_of(value, end) for value in case.interval)
    line = [" "] * _COLUMNS
    line[low : high + 1] = ["─"] * (high + 1 - low)
    line[column_of(case.margin, end)] = "┼" if low < column_of(case.margin, end) < high else "┊"
    line[low], line[high] = "├", "┤"
    line[gap] = "●"
    return "".join(line)


def column_of(value: float, end: float) -> int:
    """Which column of the scale a value falls into."""
    return min(max(round(value / end * (_COLUMNS - 1)), 0), _COLUMNS - 1)


def scale_end(largest: float) -> float:
    """The next of 1, 2 and 5 times a power of ten, so that the scale ends at a round number."""
    if largest <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(largest))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= largest * (1 - 1e-9))


def _short(name: str) -> str:
    """A name in one line, cut where it is long; what would end the drawing is taken out."""
    plain = " ".join(name.replace("`", "'").split())
    return plain if len(plain) <= _LONGEST else f"{plain[: _LONGEST - 3]}..."
