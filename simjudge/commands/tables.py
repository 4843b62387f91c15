"""Result tables on stdout."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

PIPED_WIDTH = 160


def print_comparison(numbers: Mapping[str, Any], class_names: Mapping[int, str]) -> None:
    """One line a class: what W1 is, what it would be by chance, how much of each set the other shows."""
    table = _table(
        "class", "n A / B", "W1", "95 %", "floor", "p", "p corr.", "verdict", "overlap A / B", "perf. A / B",
        "mAP50 A / B",
    )  # fmt: skip
    rows = [(class_names.get(int(key), key), entry) for key, entry in numbers["by_class"].items()]
    if len(rows) > 1:
        rows.append(("all", numbers["overall"]))
    for label, entry in rows:
        interval = "-" if entry["w1_low"] is None else f"{entry['w1_low']:.3f}-{entry['w1_high']:.3f}"
        table.add_row(
            label,
            f"{entry['n_a']} / {entry['n_b']}",
            _number(entry["mean_w1"]),
            interval,
            _number(entry["floor_mean"]),
            _number(entry["p_value"]),
            _number(entry["p_adjusted"]),
            entry["verdict"],
            _both(entry, "overlap", 2),
            _both(entry, "mean_performance", 3),
            _both(entry, "map50", 3),
        )
    _print(table)


def print_sweep(points: Sequence[Mapping[str, Any]]) -> None:
    """One line a point, over all classes."""
    table = _table("patch", "theta", "compared", "W1", "mean diff.", "overlap A / B", "batch A / B")
    for point in points:
        entry = point["overall"]
        table.add_row(
            "x".join(str(side) for side in point["patch"]),
            f"{point['theta']:g}",
            str(entry["compared"]),
            _number(entry["mean_w1"]),
            _number(entry["mean_abs_mean_diff"]),
            _both(entry, "overlap", 2),
            _both(entry, "mean_batch", 1),
        )
    _print(table)


def _table(*headers: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, header in enumerate(headers):
        table.add_column(header, justify="left" if number == 0 else "right", no_wrap=True)
    return table


def _print(table: Table) -> None:
    Console(width=None if sys.stdout.isatty() else PIPED_WIDTH, highlight=False).print(table)


def _number(value: float | None, digits: int = 3) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _both(entry: Mapping[str, Any], field: str, digits: int) -> str:
    return f"{_number(entry[f'{field}_a'], digits)} / {_number(entry[f'{field}_b'], digits)}"
