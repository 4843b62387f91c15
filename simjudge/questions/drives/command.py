"""`simjudge compare-drives REAL... -- SIM... --out DIR`: does the simulated car drive like the real one?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

from simjudge.core.errors import UsageError
from simjudge.questions.drives.settings import DriveComparisonSettings
from simjudge.terminal.common import exit_if_lost, print_note, print_table, takes_settings

_BETWEEN = "--"
_KEPT = "\0--"
"""What stands for it while options are read: they may come after it too."""


class TwoSides(TyperCommand):
    """A command whose arguments are two lists with `--` between them."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read options wherever they stand, and keep the place of `--`."""
        return list(super().parse_args(ctx, [_KEPT if word == _BETWEEN else word for word in args]))


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

    if drives.count(_KEPT) != 1:
        raise UsageError(
            "compare-drives: write the real drives, then --, then the simulated ones:"
            " simjudge compare-drives real_1.mcap real_2.mcap -- sim_1.mcap sim_2.mcap --out result"
        )
    middle = drives.index(_KEPT)
    real, sim = (list[str | Path](part) for part in (drives[:middle], drives[middle + 1 :]))
    result = compare(real, sim, out, settings=settings, log=print_note)
    print_table(result.table)
    print_note(result.meaning)
    print_note(f"result in {out}; to look at it: simjudge report {out}")
    exit_if_lost(result.losses)
