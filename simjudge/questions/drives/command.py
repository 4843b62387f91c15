"""`simjudge robot drives REAL... -- SIM... --out DIR`: does the simulated car drive like the real one?"""

from __future__ import annotations

from pathlib import Path

import typer

from simjudge.questions.compare.command import finish_metrics
from simjudge.questions.drives.settings import DriveComparisonSettings
from simjudge.terminal.common import print_note, split_sides, takes_settings


@takes_settings
def compare_drives(
    settings: DriveComparisonSettings,
    drives: list[str] = typer.Argument(
        ...,
        metavar="REAL... -- SIM...",
        help="Real drives, then --, then simulated ones: recordings with odometry, or .csv with the columns time, x, y,"
        " yaw, speed, steering, throttle.",
    ),
    out: Path = typer.Option(..., "--out", help="Folder for the result."),
) -> None:
    """Compare simulated drives with real ones of the same course: lateral, heading and speed error, steering effort."""
    from simjudge.questions.drives.run import compare_drives as compare

    example = "real_1.mcap real_2.mcap -- sim_1.mcap sim_2.mcap --out result"
    real, sim = split_sides(drives, "robot drives", "drives", example)
    result = compare([*real], [*sim], out, settings=settings, log=print_note)
    finish_metrics(result, "compare-drives", out)
