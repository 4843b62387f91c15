"""`simjudge fit A B --camera C --out DIR`: the camera under which B predicts A best."""

from __future__ import annotations

from pathlib import Path

import typer

from simjudge.commands.common import exit_if_lost, print_note, progress
from simjudge.commands.options import takes_settings
from simjudge.studies.fitting.fit_settings import FitSettings


@takes_settings
def fit(
    settings: FitSettings,
    a: Path = typer.Argument(..., help="The set to be predicted, usually real: any data set or recording with images."),
    b: Path = typer.Argument(..., help="The set that predicts, usually simulated."),
    out: Path = typer.Option(..., "--out", help="Folder for the fit; a stopped one goes on there."),
    camera: str | None = typer.Option(
        None, help="Camera of B's pictures: a file or a name. It is written to OUT with the fitted filters."
    ),
    sensors: str | None = typer.Option(
        None, help="Lidar: sensors of B's clouds: a file or a name. Written to OUT with fitted noise and drop-out."
    ),
) -> None:
    """Fit a camera or a lidar so that B predicts A best, and test it on frames that were not fitted.

    The search starts from what the pictures tell of both cameras. The detector (--model) judges every camera that is
    tried. Parameters that the frames cannot tell are named.
    """
    from simjudge.commands.tables import print_table
    from simjudge.reports.fit_page import fit as run
    from simjudge.studies.fitting.camera_fit import PAGE

    found = run(a, b, out, settings=settings, camera=camera, sensors=sensors, log=print_note, progress=progress)
    print_table(found.table())
    for line in found.sentences():
        print_note(line)
    print_note(f"fit in {out}; to look at it, open {out / PAGE}")
    exit_if_lost(found.losses)
