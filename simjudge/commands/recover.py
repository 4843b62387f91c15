"""`simjudge recover IN [OUT]`: what can still be read of a cut or killed recording, as a whole one."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from simjudge.terminal.common import exit_if_lost, print_note


def recover(
    source: Path = typer.Argument(
        ..., metavar="IN", help="A recording that was cut or damaged, or a folder .recording.*.tmp of a killed command."
    ),
    out: Path | None = typer.Argument(
        None, metavar="OUT", help="What to write: x.mcap, x.db3 or a folder.", show_default="IN.recovered"
    ),
) -> None:
    """Write all messages that can still be read as a whole recording with an index; IN stays as it is."""
    from simjudge.data.rosbag2.recovery import recover as run

    found = run(source, out)
    for topic, count in sorted(found.messages.items()):
        sys.stdout.write(f"{topic}: {count}\n")
    print_note(f"wrote {found}; {source} is no longer needed where this is all of it")
    exit_if_lost(found.losses)
