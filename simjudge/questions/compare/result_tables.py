"""The tables that `simjudge compare` and `sweep` print, for the terminal, for `print` and for notebooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simjudge.core.display import SummaryTable
from simjudge.method.entry_numbers import ComparisonNumbers, EntryNumbers
from simjudge.method.verdicts import Verdict
from simjudge.results.saved_result import halves_of
from simjudge.results.verdict_words import verdict_words

_COMPARISON_COLUMNS = (
    "class", "n A / B", "gap", "95 %", "p", "p corr.", "verdict", "W1", "noise", "overlap A / B", "perf. A / B",
    "mAP50 A / B",
)  # fmt: skip
_SWEEP_COLUMNS = (
    "patch", "theta", "compared", "gap", "95 %", "p", "verdict", "W1", "noise", "overlap A / B", "batch A / B",
)  # fmt: skip


def comparison_table(content: Mapping[str, Any]) -> SummaryTable:
    """One line a class: the gap, W1 beside its noise, how much of each set the other one shows."""
    names = content.get("class_names", {})
    numbers = ComparisonNumbers.from_json(content)
    rows = [(str(names.get(key, key)), entry) for key, entry in numbers.by_class.items()]
    if len(rows) > 1:
        rows.append(("all", numbers.overall))
    rows.extend((halves_of(side), found.entry) for side, found in numbers.control.items())
    paired = numbers.overall.pointwise_pairs is not None
    columns = (*_COMPARISON_COLUMNS, "pointwise") if paired else _COMPARISON_COLUMNS
    cells = [
        (*_comparison_row(label, entry), *([_number(entry.pointwise_mean_difference)] if paired else []))
        for label, entry in rows
    ]
    return SummaryTable(columns, cells)


def sweep_table(content: Mapping[str, Any]) -> SummaryTable:
    """One line a point, over all classes."""
    return SummaryTable(_SWEEP_COLUMNS, [_sweep_row(point) for point in content["curves"]])


def _comparison_row(label: str, entry: EntryNumbers) -> Sequence[str]:
    return (
        label,
        f"{entry.n_a} / {entry.n_b}",
        *_gap(entry),
        _number(entry.p_adjusted),
        _verdict(entry),
        *_w1(entry),
        _both(entry, "overlap", 2),
        _both(entry, "mean_performance", 3),
        _both(entry, "map50", 3),
    )


def _sweep_row(point: Mapping[str, Any]) -> Sequence[str]:
    entry = EntryNumbers.from_json(point["overall"])
    return (
        "x".join(str(side) for side in point["patch"]),
        f"{point['theta']:g}",
        str(entry.compared),
        *_gap(entry),
        _verdict(entry),
        *_w1(entry),
        _both(entry, "overlap", 2),
        _both(entry, "mean_batch", 1),
    )


def _verdict(entry: EntryNumbers) -> str:
    return verdict_words(entry.verdict, entry.margin)


def _gap(entry: EntryNumbers) -> Sequence[str]:
    if entry.verdict == Verdict.TOO_FEW:  # too few units to say anything of a gap
        return "-", "-", _number(entry.p_value)
    low, high = entry.gap_low, entry.gap_high
    spread = "-" if low is None or high is None else f"{low:.3f} to {high:.3f}"
    return _number(entry.gap), spread, _number(entry.p_value)


def _w1(entry: EntryNumbers) -> Sequence[str]:
    adjusted = "" if entry.adjusted_w1 is None else f" (adjusted {entry.adjusted_w1:.3f})"
    return f"{_number(entry.mean_w1)}{adjusted}", _number(entry.noise)


def _number(value: float | None, digits: int = 3) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _both(entry: EntryNumbers, field: str, digits: int) -> str:
    return f"{_number(entry.number(f'{field}_a'), digits)} / {_number(entry.number(f'{field}_b'), digits)}"
