"""`simjudge join IN... OUT`: several sets as one."""

from __future__ import annotations

from pathlib import Path

import typer

from simjudge.core.setting_groups import ReadSettings
from simjudge.terminal.common import exit_if_lost, print_note
from simjudge.terminal.options import takes_settings


@takes_settings
def join(
    settings: ReadSettings,
    sources: list[Path] = typer.Argument(..., metavar="IN", help="Data sets or recordings, in any format."),
    out: Path = typer.Argument(..., metavar="OUT", help="x.mcap, x.db3, x.json, or a folder (see --to)."),
    to: str | None = typer.Option(None, "--to", help="Format of a folder, such as yolo or coco."),
) -> None:
    """Join several sets to one: the recordings of one site, or the splits of a data set.

    Classes are matched by name, or by id where no set names them. Predictions are kept; frames of one name in several
    sets are told apart by the name of their set.
    """
    from simjudge.data.set_join import join as run

    whole = run(*sources, out=out, to=to, allow_outside=settings.allow_outside)
    predictions = "" if whole.predictions is None else f", {len(whole.predictions)} predictions"
    print_note(f"{out}: {len(whole)} frames, {len(whole.objects)} objects{predictions}")
    exit_if_lost(whole.losses)
