"""`make bench`: all benchmarks in one run, on the machine as it is. Ratios hold; single times depend on the machine."""

from __future__ import annotations

import os
import platform
import sys
from itertools import chain

import closed_loop
import image_quality
import join
import judge
import lidar
import occupancy
import physics
import render
import replay
from rich.console import Console
from rich.table import Table

if __name__ == "__main__":  # The workers of `join` import this file anew.
    table = Table(
        "what",
        "measured",
        "wanted",
        "beside",
        title=f"{platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}",
    )
    for row in chain(
        judge.rows(),
        join.rows(),
        physics.rows(),
        render.rows(),
        lidar.rows(),
        closed_loop.rows(),
        replay.rows(),
        image_quality.rows(),
        occupancy.rows(),
    ):
        print(*row, sep="; ", file=sys.stderr, flush=True)
        table.add_row(*row)
    Console(width=140).print(table)
