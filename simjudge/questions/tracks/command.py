"""`simjudge robot tracks REAL... -- SIM... --out DIR`: does the tracker do as in reality?"""

from __future__ import annotations

from pathlib import Path

import typer

from simjudge.questions.compare.command import FAIL_ON, JUNIT, REQUIRE, SCOPE, SUMMARY, GateOptions, finish_metrics
from simjudge.questions.tracks.settings import TrackSettings
from simjudge.terminal.common import print_note, split_sides, takes_settings


@takes_settings
def compare_tracks(
    settings: TrackSettings,
    sequences: list[str] = typer.Argument(
        ...,
        metavar="REAL... -- SIM...",
        help="Real sequences, then --, then simulated ones: each TRUTH,TRACKS (MOT Challenge texts, or sets with track"
        " numbers), or a folder with gt.txt and tracks.txt.",
    ),
    out: Path = typer.Option(..., "--out", help="Folder for the result."),
    fail_on: str | None = FAIL_ON,
    require: str | None = REQUIRE,
    scope: str | None = SCOPE,
    summary: Path | None = SUMMARY,
    junit: Path | None = JUNIT,
) -> None:
    """Compare a multi-object tracker (HOTA, MOTA, IDF1) in simulation and in reality, like object with like object."""
    from simjudge.questions.tracks.run import compare_tracks as compare

    gate = GateOptions.read(fail_on, require, summary, junit, settings.draws, scope=scope)
    example = "real/gt.txt,real/tracks.txt -- sim/gt.txt,sim/tracks.txt --out result"
    real, sim = split_sides(sequences, "robot tracks", "sequences", example)
    result = compare([*real], [*sim], out, settings=settings, log=print_note)
    finish_metrics(result, "compare-tracks", out, gate)
