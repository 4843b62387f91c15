"""`simjudge info ANY`: what a path holds."""

from __future__ import annotations

from pathlib import Path

import typer
from rich.console import Console
from rich.markup import escape

from simjudge.core.setting_groups import ReadSettings
from simjudge.terminal.common import exit_if_lost, print_note
from simjudge.terminal.options import takes_settings


@takes_settings
def info(
    settings: ReadSettings,
    path: Path = typer.Argument(
        ..., metavar="ANY", help="A data set, recording, model or result folder; or the word engines."
    ),
    image_topic: str | None = typer.Option(None, help="In a recording of several cameras: a topic, or a name."),
) -> None:
    """Say what something is and what it holds; `info engines`: which engines of the simulator can run here."""
    if str(path) == "engines" and not path.exists():
        _print_engines()
        return
    from simjudge.core.display import SummaryTable, summary_line
    from simjudge.questions.info.contents import info as run
    from simjudge.terminal.tables import print_table

    found = run(path, image_topic=image_topic, allow_outside=settings.allow_outside)
    out = Console(soft_wrap=True, highlight=False)
    out.print(f"[bold]{escape(found.summary.name)}[/bold]: {escape(found.summary.kind)}")
    for note in found.notes:
        print_note(note)
    for block in found.summary.blocks:
        if isinstance(block, SummaryTable):
            print_table(block)
        else:
            out.print(escape(summary_line(block)))
    exit_if_lost(found.losses)


def _print_engines() -> None:
    from simjudge.sim.engines.availability import engine_availability

    out = Console(soft_wrap=True, highlight=False)
    for engine in engine_availability():
        out.print(f"[bold]{escape(engine.name)}[/bold]: {'can run here' if engine.runs else 'cannot run here'}")
        for line in engine.lines:
            out.print(f"  {escape(line)}")
