"""`simjudge explain A B --out DIR`: which differences of two cameras cause a gap, and what share each has."""

from __future__ import annotations

from pathlib import Path

import typer

from simjudge.questions.explain.settings import ExplainSettings
from simjudge.terminal.common import exit_if_lost, print_note, print_table, progress, takes_settings


@takes_settings
def explain(
    settings: ExplainSettings,
    a: Path = typer.Argument(..., help="The set to be predicted, usually real: any data set or recording with images."),
    b: Path = typer.Argument(..., help="The set that predicts, usually simulated."),
    out: Path = typer.Option(..., "--out", help="Folder for the explanation; an interrupted run continues there."),
    camera: str | None = typer.Option(
        None, metavar="FILE|NAME", help="Camera that B was rendered with. With --scene, B is rendered again."
    ),
    scene: str | None = typer.Option(None, metavar="FILE|NAME", help="Scene that B was rendered from."),
    a_camera: str | None = typer.Option(
        None, metavar="FILE|NAME", help="Camera or calibration of A.", show_default="the camera_info of A"
    ),
) -> None:
    """Find which differences between two cameras cause a gap: white balance, exposure, blur, noise and so on.

    The differences are estimated from the pictures and undone by filters, alone and together. The detector (--model)
    runs on every changed set. Each cause gets its share of the gap, with an interval. With --scene and --camera,
    a set that simjudge rendered is rendered again, so that lens, resolution, motion and lighting are tried too. With
    --paired, what is left over is shared between the objects and the background.
    """
    from simjudge.questions.explain.page import PAGE, detail_sentences, explanation_table, headline, lead
    from simjudge.questions.explain.run import explain as run

    found = run(
        a, b, out, settings=settings, camera=camera, scene=scene, a_camera=a_camera, log=print_note, progress=progress
    )
    if found.is_gap:
        print_table(explanation_table(found))
    for line in (lead(found), headline(found), *detail_sentences(found)):
        print_note(line)
    print_note(f"explanation in {out}; to look at it, open {out / PAGE}")
    exit_if_lost(found.losses)
