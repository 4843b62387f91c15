"""`simjudge split`: disjoint parts of a set."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from simjudge.core.setting_groups import ReadSettings
from simjudge.terminal.common import exit_if_lost, print_note
from simjudge.terminal.options import takes_settings


@takes_settings
def split(
    settings: ReadSettings,
    source: Path = typer.Argument(..., metavar="IN", help="A data set or recording."),
    out: Path = typer.Option(..., "--out", help="The folder to make; the parts in it are called 1, 2, ..."),
    parts: int = typer.Option(2, min=2, help="How many parts."),
    seed: int = typer.Option(0, min=0, help="Of the random numbers."),
    by_source: bool = typer.Option(
        True, "--by-source/--by-frame", help="Keep variants of one photograph together (Roboflow's names tell)."
    ),
    contiguous: bool = typer.Option(
        False, "--contiguous", help="Deal stretches of a recording or a numbered sequence, in order, not frames."
    ),
    to: str = typer.Option(
        "yolo", "--to", help="Format of the parts: a folder, such as yolo or coco, or a file (json, mcap, db3)."
    ),
) -> None:
    """Deal the frames of a set into parts of equal size, at random or in stretches, to compare a set with itself."""
    from simjudge.data.splits import split as run

    dealt = run(
        source, parts, out, to=to, seed=seed, by_source=by_source, contiguous=contiguous,
        allow_outside=settings.allow_outside,
    )  # fmt: skip
    for path, part in zip(dealt.paths, dealt, strict=True):
        sys.stdout.write(f"{path}: {len(part)} frames, {len(part.objects)} objects\n")
    frames = sum(len(part) for part in dealt)
    if dealt.groups < frames:
        print_note(f"{frames} frames are variants of {dealt.groups} photographs: kept together")
    exit_if_lost(dealt.losses)
