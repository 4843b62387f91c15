"""`simjudge split`: random disjoint parts of a set."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from simjudge.commands.common import finish, say
from simjudge.core.errors import Losses, UsageError


def split(
    source: Path = typer.Argument(..., metavar="IN", help="A data set or recording."),
    out: Path = typer.Option(..., "--out", help="The folder to make; the parts in it are called 1, 2, ..."),
    parts: int = typer.Option(2, min=2, help="How many parts."),
    seed: int = typer.Option(0, min=0, help="Of the random numbers."),
    by_source: bool = typer.Option(
        True, "--by-source/--by-frame", help="Keep variants of one photograph together (Roboflow's names tell)."
    ),
    to: str = typer.Option("yolo", "--to", help="yolo, coco, cvat or cpd (folders); json, mcap or db3 (files)."),
) -> None:
    """Deal the frames of a set at random into parts of equal size, to compare a set with itself."""
    from simjudge.core.files import atomic_folder
    from simjudge.data.parts import random_parts
    from simjudge.data.sets import FOLDER_FORMATS, read_set, write_set
    from simjudge.perception.training_data import source_photograph

    files = ("json", "mcap", "db3")
    if to not in (*FOLDER_FORMATS, *files):
        raise UsageError(f"--to {to}: no such format; one of {', '.join((*FOLDER_FORMATS, *files))}")
    frames = read_set(source)
    groups = [source_photograph(name) if by_source else name for name in frames.frame_name]
    dealt = random_parts(groups, parts, seed)
    lost = Losses()
    with atomic_folder(out) as folder:
        for number, chosen in enumerate(dealt, 1):
            part = frames.take(chosen)
            name = f"{number}.{to}" if to in files else str(number)
            lost.extend(write_set(part, folder / name, None if to in files else to))
            sys.stdout.write(f"{out / name}: {len(part)} frames, {len(part.objects)} objects\n")
    if len(set(groups)) < len(groups):
        say(f"{len(groups)} frames are variants of {len(set(groups))} photographs: kept together")
    finish(frames.losses, lost)
