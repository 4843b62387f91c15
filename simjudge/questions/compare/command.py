"""`simjudge compare A B`, with `--sweep` too, and the gates (`--fail-on`, `--require`) of every verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from simjudge.core.errors import UsageError
from simjudge.core.files import atomic_file, begins_with, check_output, plain_os_errors
from simjudge.core.processes import EXIT_NO_OVERLAP
from simjudge.judging.compare_settings import CompareSettings, SweepSettings
from simjudge.terminal.common import (
    exit_if_lost,
    print_note,
    print_result_place,
    print_table,
    print_text,
    progress,
    takes_settings,
)

if TYPE_CHECKING:
    from simjudge.judging.metric_comparison import MetricComparisonResult
    from simjudge.questions.label_error.page import LabelErrorResult
    from simjudge.questions.rank.page import RankingResult
    from simjudge.results.gate import Gate, NamedComparison

_PANEL = "Checks"
FAIL_ON: Any = typer.Option(
    None,
    "--fail-on",
    metavar="gap[:MARGIN]",
    help="Exit with code 4 if there is a gap beyond chance that may reach the margin.",
)
REQUIRE: Any = typer.Option(
    None,
    "--require",
    metavar="predicts[:MARGIN]",
    help="Exit with code 4 to 9 unless a gap of the margin is ruled out (4: gap, 5: cannot tell, 6: too few, 7: no "
    "overlap, 8: not everywhere, 9: detector fails).",
)
SCOPE: Any = typer.Option(
    None,
    "--scope",
    metavar="these",
    rich_help_panel=_PANEL,
    help="Let a verdict that speaks of these recordings alone pass --require.",
)
SUMMARY: Any = typer.Option(
    None, "--summary", metavar="FILE", rich_help_panel=_PANEL, help="Markdown file to which the outcome is appended."
)
JUNIT: Any = typer.Option(
    None, "--junit", metavar="FILE", rich_help_panel=_PANEL, help="File for the outcome as JUnit XML."
)
_JUNIT_HEAD = '<?xml version="1.0" encoding="utf-8"?>\n<testsuites'


@dataclass(frozen=True)
class GateOptions:
    """What a command was asked to check, and where to write it."""

    gate: Gate
    summary: Path | None = None
    junit: Path | None = None

    @classmethod
    def read(
        cls,
        fail_on: str | None,
        require: str | None,
        summary: Path | None,
        junit: Path | None,
        draws: int | None = None,
        *,
        scope: str | None = None,
    ) -> GateOptions:
        """Read the options before long work (draws: of the comparison; None where each has its own)."""
        from simjudge.results.gate import GAP, PREDICTS, Gate

        if fail_on is not None and require is not None:
            raise UsageError("--fail-on and --require: give one of them; --require fails on gaps too")
        if scope not in (None, "these"):
            raise UsageError(f"--scope {scope!r}: must be these")
        if scope is not None and require is None:
            raise UsageError("--scope these: goes with --require")
        gate = Gate()
        for word, given, option in ((GAP, fail_on, "--fail-on"), (PREDICTS, require, "--require")):
            if given is None:
                continue
            if draws == 0:
                raise UsageError(f"{option} {given}: needs bootstrap draws; leave out --draws 0")
            gate = Gate.parse(word, given, these=scope is not None)
        if junit is not None:
            check_output(junit, lambda path: begins_with(path, _JUNIT_HEAD))
        for path in (summary, junit):
            if path is not None and path.is_dir():
                raise UsageError(f"{path}: is a folder; name a file")
        return cls(gate, summary, junit)

    @property
    def asked(self) -> bool:
        """Whether any of the options was given."""
        return bool(self.gate.word) or self.summary is not None or self.junit is not None

    def finish(self, title: str, compared: Sequence[NamedComparison], losses: Sequence[str] = ()) -> None:
        """Write what was seen, and end the command with the outcome's exit code where the gate fails.

        `title`: of the check, such as the command's name.
        """
        from simjudge.results.gate import (
            FAILURES,
            gate_junit,
            gate_summary,
            worst_outcome,
        )
        from simjudge.results.gate_picture import gate_picture

        cases = self.gate.cases(compared)
        if self.summary is not None:
            with plain_os_errors(self.summary):
                self.summary.parent.mkdir(parents=True, exist_ok=True)
                with self.summary.open("a", encoding="utf-8") as file:
                    file.write(gate_summary(title, cases, gate_picture(cases)))
        if self.junit is not None:
            with atomic_file(self.junit) as temporary:
                temporary.write_text(gate_junit(title, cases), encoding="utf-8")
        if not self.gate.word:
            return
        worst = worst_outcome(cases)
        if worst not in FAILURES and (cases or self.gate.word != "predicts"):
            print_note(f"{self.gate}: passed; {self.gate.sight(compared)}")
            return
        for line in losses:
            print_note(f"warning: left out {line}")
        for case in cases:
            if case.outcome in FAILURES:
                print_note(f"{self.gate}: {case.line}")
        if not cases:
            print_note(f"{self.gate}: nothing was compared")
        raise typer.Exit(worst.exit_code or EXIT_NO_OVERLAP)


def finish_metrics(
    result: MetricComparisonResult[Any], command: str, out: Path, gate: GateOptions | None = None
) -> None:
    """Print a comparison of metrics, and check it where that was asked for."""
    from simjudge.results.gate import compared_metrics

    print_table(result.table)
    print_note(result.meaning)
    print_result_place(out)
    if gate is not None:
        compared = [compared_metrics(result.name, result.metrics)] if gate.asked else []
        gate.finish(f"simjudge {command}", compared, result.losses)
    exit_if_lost(result.losses)


@takes_settings
def sweep(
    settings: SweepSettings,
    a: Path = typer.Argument(
        ..., metavar="A", help="The set to be predicted, usually real: any data set or recording."
    ),
    b: Path = typer.Argument(..., metavar="B", help="The set that predicts, usually simulated."),
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
    a: Path = typer.Argument(
        ..., metavar="A", help="The set to be predicted, usually real: any data set or recording."
    ),
    b: Path = typer.Argument(..., metavar="B", help="The set that predicts, usually simulated."),
    more: list[Path] | None = typer.Argument(
        None, metavar="B2", help="More simulations of A: which one is nearest is said then."
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
    scope: str | None = SCOPE,
    summary: Path | None = SUMMARY,
    junit: Path | None = JUNIT,
    details: bool = typer.Option(
        False, "--details", rich_help_panel=_PANEL, help="Print W1, noise, p, overlaps, units and power too."
    ),
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
    from simjudge.questions.compare.brief import brief_lines
    from simjudge.questions.compare.facts import where_sentence
    from simjudge.questions.compare.result import compare as run
    from simjudge.results.gate import NamedComparison

    gate = GateOptions.read(fail_on, require, summary, junit, settings.draws, scope=scope)
    result = run(a, b, out, settings=settings, scheduler=scheduler, share=share, log=print_note, progress=progress)
    for line in brief_lines(result.saved, len(result.losses)):
        print_text(line)
    if details:
        print_table(result.table)
        control = f"control: {result.control}" if result.control else ""
        for line in filter(None, (result.meaning, control, result.balance, where_sentence(result.where))):
            print_note(line)
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
