"""Rows of metrics as a check of gaps sees them (`--fail-on`): each in shares of the largest value that counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from simjudge.core.text import JsonMapping
from simjudge.method.entry_numbers import EntryNumbers
from simjudge.results.context_table import OVERALL
from simjudge.results.gate import NamedComparison
from simjudge.results.saved_result import ResultEntry


def compared_metrics(name: str, rows: Sequence[JsonMapping]) -> NamedComparison:
    """The metrics of a comparison; the one with the smallest p stands for all."""
    entries = []
    for row in rows:
        numbers, reach = EntryNumbers.from_json(row), float(row["reach"])
        share = _divided(numbers, reach)
        label = f"{row['metric']} in shares of {reach:g} {row['unit']}".rstrip()
        entries.append(ResultEntry(str(row["metric"]), label, share))
    first = min(entries, key=lambda entry: 2.0 if (p := entry.numbers.p_adjusted) is None else p)
    overall = ResultEntry(OVERALL, f"most different: {first.label}", first.numbers)
    return NamedComparison(name, (overall, *entries))


def _divided(numbers: EntryNumbers, reach: float) -> EntryNumbers:
    def divided(value: float | None) -> float | None:
        return None if value is None else value / reach

    return replace(
        numbers,
        gap=divided(numbers.gap),
        gap_low=divided(numbers.gap_low),
        gap_high=divided(numbers.gap_high),
        detectable_gap=divided(numbers.detectable_gap),
        margin=numbers.margin / reach,
    )
