"""The option `--fail-on gap[:0.05]`: exit code 4 where a comparison shows a gap, for checks that run by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

from simjudge.core.errors import UsageError
from simjudge.core.exit_codes import EXIT_GAP
from simjudge.studies.compare_settings import CertaintySettings
from simjudge.terminal.common import print_note

if TYPE_CHECKING:
    from simjudge.results.saved_result import GapLimit, NamedComparison

FAIL_ON: Any = typer.Option(
    None,
    "--fail-on",
    metavar="gap[:MARGIN]",
    help="End with exit code 4 where the sets differ beyond chance by what may be the margin or more.",
)


def gap_limit(given: str | None, settings: CertaintySettings | None = None) -> GapLimit | None:
    """Read the option.

    Args:
        given: its text; None where it is not given.
        settings: of the comparison; None where each has its own.
    """
    from simjudge.results.saved_result import GapLimit

    if given is None:
        return None
    if settings is not None and not settings.draws:
        raise UsageError(f"--fail-on {given}: needs bootstrap draws; leave out --draws 0")
    return GapLimit.parse(given)


def exit_if_gap(limit: GapLimit | None, compared: Sequence[NamedComparison], losses: Sequence[str] = ()) -> None:
    """Say which comparisons show a gap, and end the command with exit code 4 if one does.

    Args:
        limit: the gap from which a comparison fails; None for none.
    """
    if limit is None:
        return
    if lines := limit.lines(compared):
        for line in losses:
            print_note(f"warning: left out {line}")
        for line in lines:
            print_note(f"--fail-on {limit}: {line}")
        raise typer.Exit(EXIT_GAP)
    print_note(f"--fail-on {limit}: passed; {limit.sight(compared)}")
