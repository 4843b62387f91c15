"""`simjudge robot trajectories REAL... -- SIM... --out DIR`: does the localization err as in reality?"""

from __future__ import annotations

from pathlib import Path

import typer

from simjudge.questions.compare.command import FAIL_ON, JUNIT, REQUIRE, SCOPE, SUMMARY, GateOptions, finish_metrics
from simjudge.questions.trajectories.settings import TrajectorySettings
from simjudge.terminal.common import print_note, split_sides, takes_settings


@takes_settings
def compare_trajectories(
    settings: TrajectorySettings,
    runs: list[str] = typer.Argument(
        ...,
        metavar="REAL... -- SIM...",
        help="Real runs, then --, then simulated ones: each TRUTH,ESTIMATE (TUM, KITTI or EuRoC files), a recording"
        " with both topics, or a folder with truth.* and estimate.*.",
    ),
    out: Path = typer.Option(..., "--out", help="Folder for the result."),
    fail_on: str | None = FAIL_ON,
    require: str | None = REQUIRE,
    scope: str | None = SCOPE,
    summary: Path | None = SUMMARY,
    junit: Path | None = JUNIT,
) -> None:
    """Compare errors of a localization (APE, RPE) in simulation and in reality, like stretch with like stretch."""
    from simjudge.questions.trajectories.run import compare_trajectories as compare

    gate = GateOptions.read(fail_on, require, summary, junit, settings.draws, scope=scope)
    example = "truth.tum,estimate.tum -- sim_truth.tum,sim_estimate.tum --out result"
    real, sim = split_sides(runs, "robot trajectories", "runs", example)
    result = compare([*real], [*sim], out, settings=settings, log=print_note)
    finish_metrics(result, "compare-trajectories", out, gate)
