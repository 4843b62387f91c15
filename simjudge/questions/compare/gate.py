"""Options of commands that end with a verdict: `--fail-on`, `--require`, and what they write for CI."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from simjudge.core.errors import UsageError
from simjudge.core.files import atomic_file, begins_with, check_output, plain_os_errors
from simjudge.core.processes import (
    EXIT_CANNOT_TELL,
    EXIT_GAP,
    EXIT_NO_OVERLAP,
    EXIT_NOT_EVERYWHERE,
    EXIT_TOO_FEW,
)
from simjudge.terminal.common import print_note

if TYPE_CHECKING:
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
    help="Exit with code 4 to 8 unless a gap of the margin is ruled out (4: gap, 5: cannot tell, 6: too few, 7: no "
    "overlap, 8: not everywhere).",
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
    ) -> GateOptions:
        """Read the options before long work (draws: of the comparison; None where each has its own)."""
        from simjudge.results.gate import GAP, PREDICTS, Gate  # noqa: PLC0415 - help is printed without it

        if fail_on is not None and require is not None:
            raise UsageError("--fail-on and --require: give one of them; --require fails on gaps too")
        gate = Gate()
        for word, given, option in ((GAP, fail_on, "--fail-on"), (PREDICTS, require, "--require")):
            if given is None:
                continue
            if draws == 0:
                raise UsageError(f"{option} {given}: needs bootstrap draws; leave out --draws 0")
            gate = Gate.parse(word, given)
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
        from simjudge.results.gate import (  # noqa: PLC0415 - see above
            FAILURES,
            Outcome,
            gate_junit,
            gate_summary,
            worst_outcome,
        )
        from simjudge.results.gate_picture import gate_picture  # noqa: PLC0415 - likewise

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
        codes = {
            Outcome.GAP: EXIT_GAP,
            Outcome.CANNOT_TELL: EXIT_CANNOT_TELL,
            Outcome.TOO_FEW: EXIT_TOO_FEW,
            Outcome.NO_OVERLAP: EXIT_NO_OVERLAP,
            Outcome.NOT_EVERYWHERE: EXIT_NOT_EVERYWHERE,
        }
        worst = worst_outcome(cases)
        if worst == Outcome.PASSED and (cases or self.gate.word != "predicts"):
            print_note(f"{self.gate}: passed; {self.gate.sight(compared)}")
            return
        for line in losses:
            print_note(f"warning: left out {line}")
        for case in cases:
            if case.outcome in FAILURES:
                print_note(f"{self.gate}: {case.line}")
        if not cases:
            print_note(f"{self.gate}: nothing was compared")
        raise typer.Exit(codes.get(worst, EXIT_NO_OVERLAP))
