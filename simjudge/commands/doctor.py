"""`simjudge doctor ANY`: what of a recording or a data set is usable for which question."""

from __future__ import annotations

from pathlib import Path

import typer

from simjudge.commands.common import exit_if_lost, print_note
from simjudge.core.exit_codes import EXIT_FAILED


def doctor(
    source: Path = typer.Argument(..., metavar="ANY", help="A recording, or a data set of pictures or clouds."),
    image_topic: str | None = typer.Option(None, help="In a recording of several cameras: a topic, or a name."),
    purpose: str | None = typer.Option(
        None,
        "--for",
        metavar="QUESTION",
        help="End with exit code 1 where this cannot be answered: compare, replay, objects, lidar, live or drive.",
    ),
    out: Path | None = typer.Option(None, "--out", metavar="FILE.json", help="File for what was found."),
) -> None:
    """Say what something is usable for: frames, clocks, calibration, labels, rates; and what mends the rest.

    The exit code is 1 where a check fails, or with --for where that question cannot be answered. What is only missing
    fails no check.
    """
    from simjudge.commands.tables import print_table
    from simjudge.results.result_folder import write_json
    from simjudge.studies.doctor.doctor import diagnose
    from simjudge.studies.doctor.questions import NO

    found = diagnose(source, image_topic=image_topic)
    asked = None if purpose is None else found.question(purpose)
    typer.echo(f"{found.path}: {found.kind}")
    print_table(found.questions)
    for answer in found.answers:
        if answer.answer != NO and asked in (None, answer):
            typer.echo(f"{answer.question.name}: {found.command(answer)}")
    if found.remedies:
        typer.echo("\nWhat mends it:")
    for line, checks in found.remedies.items():
        typer.echo(f"{', '.join(checks)}:\n    {line}")
    print_table(found.checks)
    for line in found.not_checked:
        typer.echo(f"not checked, {line}")
    for note in found.notes:
        print_note(note)
    if out is not None:
        write_json(out, found.content())
    for name in found.failed:
        print_note(f"failed: {name}")
    if (asked is None and found.failed) or (asked is not None and asked.answer == NO):
        raise typer.Exit(EXIT_FAILED)
    exit_if_lost(found.losses)
