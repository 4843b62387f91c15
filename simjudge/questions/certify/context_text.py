"""The contexts of a comparison as text: what the script of a dossier computes from."""

from __future__ import annotations

import csv
from pathlib import Path

from simjudge.results.context_table import ContextTable

COLUMNS = (
    "set",
    "unit",
    "block",
    "frame",
    "width",
    "height",
    "class_id",
    "x0",
    "y0",
    "x1",
    "y1",
    "predicted_x0",
    "predicted_y0",
    "predicted_x1",
    "predicted_y1",
    "score",
    "performance",
    "expected_performance",
    "expected_found",
)


def write_context_csv(contexts: ContextTable, path: Path) -> None:
    """Write what a comparison rests on as text: boxes, performance, sampling units; numbers with all their digits."""
    table = contexts.table
    columns = {name: table[name].to_pylist() for name in COLUMNS if name != "frame"}
    columns["frame"] = contexts.frame_number().tolist()
    with path.open("w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream, lineterminator="\n")
        rows.writerow(COLUMNS)
        rows.writerows(zip(*(columns[name] for name in COLUMNS), strict=True))
