"""`simjudge compare A B` and `simjudge sweep A B`: performance of B predicting A, by context; and `--fail-on`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from simjudge.core.errors import UsageError
from simjudge.core.processes import EXIT_GAP
from simjudge.judging.compare_settings import CompareSettings, SweepSettings
from simjudge.terminal.common import exit_if_lost, print_note, print_table, progress, takes_settings

if TYPE_CHECKING:
    from simjudge.questions.label_error.page import LabelErrorResult
    from simjudge.questions.rank.page import RankingResult
    from simjudge.results.saved_result import GapLimit, NamedComparison

FAIL_ON: Any = typer.Option(
    None,
    "--fail-on",
    metavar="gap[:MARGIN]",
    help="Exit with code 4 if there is a gap beyond chance that may reach the margin.",
)


def gap_limit(given: str | None, draws: int | None = None) -> GapLimit | None:
    """Read the option.

    Args:
        given: its text; None where it is not given.
        draws: of the comparison; None where each has its own.
    """
    from simjudge.results.saved_result import GapLimit

    if given is None:
        return None
    if draws == 0:
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


@takes_settings
def sweep(
    settings: SweepSettings,
    a: Path = typer.Argument(..., help="The set to be predicted, usually real: any data set or recording."),
    b: Path = typer.Argument(..., help="The set that predicts, usually simulated."),
    out: Path = typer.Option(..., "--out", help="Folder for the result."),
) -> None:
    """Compare A and B along theta and along the patch size: W1, overlap and batch size, as in the paper."""
    from simjudge.questions.compare.result import sweep as run

    result = run(a, b, out, settings=settings, log=print_note, progress=progress)
    print_table(result.table)
    print_note(f"result in {out}; to look at it: simjudge report {out}")
    exit_if_lost(result.losses)


@takes_settings
def compare(
    settings: CompareSettings,
    a: Path = typer.Argument(..., help="The set to be predicted, usually real: any data set or recording."),
    b: Path = typer.Argument(..., help="The set that predicts, usually simulated."),
    more: list[Path] | None = typer.Argument(
        None, metavar="[B2]...", help="More simulations of A: which one is nearest is said then."
    ),
    out: Path = typer.Option(..., "--out", help="Folder for the result."),
    scheduler: str | None = typer.Option(
        None,
        metavar="ADDRESS",
        rich_help_panel="Cluster",
        help="Dask scheduler whose workers compute the similarity join; the numbers stay the same.",
    ),
    share: str | None = typer.Option(
        None,
        metavar="FOLDER",
        rich_help_panel="Cluster",
        help=(
            "Folder or fsspec address through which the workers get the contexts. Default: a temporary folder on "
            "this machine."
        ),
    ),
    fail_on: str | None = FAIL_ON,
    label_error: str | None = typer.Option(
        None,
        metavar="1.5px,2%missed",
        rich_help_panel="Certainty",
        help="Known error of A's labels, to be priced: edges of boxes, missing labels.",
    ),
) -> None:
    """Compare a detector's performance on A and on B, context by context, with the gap, its interval and p.

    With several simulations, they are ranked: which one is nearer to A, by how much, and where it cannot be told.
    With --label-error, the gap is told as A is labelled, and as it is without the error.
    """
    if more or label_error is not None:
        what = "several simulations" if more else "--label-error"
        refused = {"--fail-on": fail_on, "--scheduler": scheduler, "--share": share}
        for flag, given in {**refused, **({"--label-error": label_error} if more else {})}.items():
            if given is not None:
                raise UsageError(f"{flag}: does not go with {what}; leave it out")
        if more:
            rank_simulations(a, [b, *more], out, settings)
        else:
            price_labels(a, b, out, settings, str(label_error))
        return
    from simjudge.questions.compare.facts import where_sentence
    from simjudge.questions.compare.result import compare as run

    limit = gap_limit(fail_on, settings.draws)
    result = run(a, b, out, settings=settings, scheduler=scheduler, share=share, log=print_note, progress=progress)
    print_table(result.table)
    print_note(result.meaning)
    if result.control:
        print_note(f"control: {result.control}")
    if result.balance:
        print_note(result.balance)
    if where := where_sentence(result.where):
        print_note(where)
    print_note(f"next: {result.next_step}")
    print_note(f"result in {out}; to look at it: simjudge report {out}")
    if limit is not None:
        from simjudge.results.saved_result import NamedComparison

        exit_if_gap(limit, [NamedComparison.of_result(result.saved)], result.losses)
    exit_if_lost(result.losses)


def rank_simulations(a: Path, simulations: Sequence[Path], out: Path, settings: CompareSettings) -> None:
    """Rank several simulations, and print what came out."""
    from simjudge.questions.rank.run import rank as run

    result = run(a, simulations, out, settings=settings, log=print_note, progress=progress)
    _print_result(result, out)


def price_labels(a: Path, b: Path, out: Path, settings: CompareSettings, error: str) -> None:
    """Price an error of A's labels, and print what came out."""
    from simjudge.questions.label_error.run import price_label_error as run

    _print_result(run(a, b, error, out, settings=settings, log=print_note, progress=progress), out)


def _print_result(result: RankingResult | LabelErrorResult, out: Path) -> None:
    print_table(result.table)
    for line in result.lines:
        print_note(line)
    print_note(f"result in {out}; to look at it: simjudge report {out}")
    exit_if_lost(result.losses)
