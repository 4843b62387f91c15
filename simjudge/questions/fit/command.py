"""`simjudge fit A B --camera C --out DIR`: the camera under which B predicts A best."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from simjudge.core.errors import UsageError
from simjudge.questions.fit.settings import FitSettings
from simjudge.terminal.common import exit_if_lost, print_note, print_table, progress, takes_settings

if TYPE_CHECKING:
    from simjudge.judging.comparison import Source


@takes_settings
def fit(
    settings: FitSettings,
    a: Path = typer.Argument(..., help="The set to be predicted, usually real: any data set or recording with images."),
    b: Path = typer.Argument(..., help="The set that predicts, usually simulated."),
    out: Path = typer.Option(..., "--out", help="Folder for the fit; an interrupted run continues there."),
    camera: str | None = typer.Option(
        None, help="Camera of B's images: a file or a name. simjudge writes it to OUT with the fitted filters."
    ),
    scene: str | None = typer.Option(
        None,
        help="Scene that B was rendered from: filters then act on its light, and glare is fitted too.",
    ),
    sensors: str | None = typer.Option(
        None,
        rich_help_panel="Lidar",
        help="Sensors of B's clouds: a file or a name. simjudge writes them to OUT with the fitted numbers.",
    ),
    rendered: list[str] | None = typer.Option(
        None,
        "--rendered",
        metavar="SENSORS=CLOUDS",
        rich_help_panel="Lidar",
        help="B's scans rendered with another beam divergence; give several to fit the divergence.",
    ),
) -> None:
    """Fit a camera or lidar so that B predicts A best, and test it on held-out frames.

    The search starts from what the pictures tell of both cameras. The detector (--model) judges every camera that is
    tried. Parameters that the frames cannot tell are named.
    """
    from simjudge.questions.fit.page import fit as run
    from simjudge.questions.fit.result import PAGE

    found = run(
        a,
        b,
        out,
        settings=settings,
        camera=camera,
        scene=scene,
        sensors=sensors,
        rendered=_rendered(rendered or []),
        log=print_note,
        progress=progress,
    )
    print_table(found.table())
    for line in found.sentences():
        print_note(line)
    print_note(f"fit in {out}; to look at it, open {out / PAGE}")
    exit_if_lost(found.losses)


def _rendered(given: list[str]) -> dict[str | Path, Source]:
    """Clouds by sensor file."""
    found: dict[str | Path, Source] = {}
    for words in given:
        sensors, sign, clouds = words.partition("=")
        if not (sensors and sign and clouds):
            raise UsageError(f"--rendered {words}: a sensor file and its clouds are needed, as in wide.yaml=wide.mcap")
        if sensors in found:
            raise UsageError(f"--rendered {words}: {sensors} is given twice")
        found[sensors] = Path(clouds)
    return found
