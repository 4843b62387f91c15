"""`simjudge compare A B` and `simjudge sweep A B`: performance of B predicting A, by context."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from simjudge.core.errors import UsageError
from simjudge.judging.compare_settings import CompareSettings, SweepSettings
from simjudge.questions.compare.gate import FAIL_ON, JUNIT, REQUIRE, SUMMARY, GateOptions
from simjudge.terminal.common import exit_if_lost, print_note, print_result_place, print_table, progress, takes_settings

if TYPE_CHECKING:
    from simjudge.questions.label_error.page import LabelErrorResult
    from simjudge.questions.rank.page import RankingResult


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
    print_result_place(out)
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
    require: str | None = REQUIRE,
    summary: Path | None = SUMMARY,
    junit: Path | None = JUNIT,
) -> None:
    """Compare a detector's performance on A and on B, context by context, with the gap, its interval and p.

    With several simulations, they are ranked: which one is nearer to A, by how much, and where it cannot be told.
    With --label-error, the gap is told as A is labelled, and as it is without the error.
    """
    if more or label_error is not None:
        what = "several simulations" if more else "--label-error"
        refused: dict[str, object] = {"--scheduler": scheduler, "--share": share, "--fail-on": fail_on}
        refused |= {"--require": require, "--summary": summary, "--junit": junit}
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
    from simjudge.results.gate import NamedComparison

    gate = GateOptions.read(fail_on, require, summary, junit, settings.draws)
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
    print_result_place(out)
    gate.finish("simjudge compare", [NamedComparison.of_result(result.saved)], result.losses)
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
    print_result_place(out)
    exit_if_lost(result.losses)
