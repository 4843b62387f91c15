"""`simjudge doctor [ANY]`: what of a recording, a data set or a running graph is usable for which question."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from simjudge.core.errors import UsageError
from simjudge.core.processes import EXIT_FAILED
from simjudge.terminal.common import exit_if_lost, print_note, print_text, print_wrapped_table

if TYPE_CHECKING:
    from simjudge.questions.doctor.diagnosis import Answer, Diagnosis


def doctor(
    source: Path | None = typer.Argument(
        None,
        metavar="[ANY]",
        help="Recording, data set of images or clouds, or trials of policies. Default: the running ROS graph.",
    ),
    live: bool = typer.Option(False, "--live", help="Check the running ROS graph."),
    seconds: float = typer.Option(5.0, help="Time to listen to a running graph [s]."),
    image_topic: str | None = typer.Option(None, help="Image topic or camera name, if the recording has several."),
    purpose: str | None = typer.Option(
        None,
        "--for",
        metavar="QUESTION",
        help="Exit with code 1 if this cannot be answered: compare, replay, objects, lidar, live, drive or policies.",
    ),
    out: Path | None = typer.Option(None, "--out", metavar="FILE.json", help="JSON file for the findings."),
) -> None:
    """Check what a recording or data set can be used for, and how to fix the rest.

    The exit code is 1 where a check fails, or with --for where that question cannot be answered. What is only missing
    fails no check.
    """
    from simjudge.questions.doctor.diagnosis import NO
    from simjudge.questions.doctor.live_diagnosis import diagnose_graph
    from simjudge.questions.doctor.run import diagnose
    from simjudge.results.saved_result import check_json_output, write_json

    if source is not None and live:
        raise UsageError(f"{source} or --live: give one of them")
    check_json_output(out, "path")
    found = (
        diagnose_graph(seconds, image_topic=image_topic)
        if source is None
        else diagnose(source, image_topic=image_topic)
    )
    asked = None if purpose is None else found.question(purpose)
    _print(found, asked)
    if out is not None:
        write_json(out, found.content())
    for name in found.failed:
        print_note(f"failed: {name}")
    if (asked is None and found.failed) or (asked is not None and asked.answer == NO):
        raise typer.Exit(EXIT_FAILED)
    exit_if_lost(found.losses)


def _print(found: Diagnosis, asked: Answer | None) -> None:
    """The questions, the commands that answer them, what mends the rest, and the checks."""
    from simjudge.questions.doctor.diagnosis import NO

    print_text(f"{found.path}: {found.kind}")
    if found.topics:
        print_wrapped_table(found.topic_table)
    print_wrapped_table(found.questions)
    for answer in found.answers:
        if answer.answer != NO and asked in (None, answer):
            print_text(f"{answer.question.name}: {found.command(answer)}")
    if found.remedies:
        print_text("\nWhat mends it:")
    for line, checks in found.remedies.items():
        print_text(f"{', '.join(checks)}:\n    {line}")
    print_wrapped_table(found.checks)
    for line in found.not_checked:
        print_text(f"not checked, {line}")
    for note in found.notes:
        print_note(note)
