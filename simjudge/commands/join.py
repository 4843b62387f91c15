"""`simjudge join IN... OUT`: several sets as one."""

from __future__ import annotations

from pathlib import Path

import typer

from simjudge.commands.common import finish, say
from simjudge.core.errors import UsageError


def join(
    sources: list[Path] = typer.Argument(..., metavar="IN", help="Data sets or recordings, in any format."),
    out: Path = typer.Argument(..., metavar="OUT", help="x.mcap, x.db3, x.json, or a folder (see --to)."),
    to: str | None = typer.Option(None, "--to", help="Format of a folder: yolo, coco, cvat or cpd."),
) -> None:
    """Join several sets to one: the recordings of one site, or the splits of a data set.

    Classes are matched by name, or by id where no set names them. Predictions are kept; frames of one name in several
    sets are told apart by the name of their set.
    """
    from simjudge.data.joined import joined
    from simjudge.data.sets import read_set, write_set

    places = [path.resolve() for path in sources]
    twice = next((path for i, path in enumerate(sources) if path.resolve() in places[:i]), None)
    if twice is not None:
        raise UsageError(f"{twice}: given twice; a set is joined with others, not with itself")
    if len(sources) < 2:
        raise UsageError(f"{sources[0]}: nothing to join it with; give two sets or more, and OUT")
    if out.resolve() in places:
        raise UsageError(f"{out}: is an input; choose another name")
    whole = joined([read_set(path) for path in sources])
    lost = write_set(whole, out, to)
    predictions = "" if whole.predictions is None else f", {len(whole.predictions)} predictions"
    say(f"{out}: {len(whole)} frames, {len(whole.objects)} objects{predictions}")
    finish(whole.losses, lost)
