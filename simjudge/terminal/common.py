"""What every subcommand does the same way: options from settings, results to stdout, all else to stderr.

What was left out of an input (losses) ends in exit code 3.
"""

from __future__ import annotations

import inspect
import io
import os
import shutil
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from enum import Enum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

import rich.console
import typer
from rich import box
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.segment import Segment
from rich.table import Table
from typer.core import TyperCommand, TyperOption

from simjudge.core.errors import Advance, Losses, ProgressBar, ProgressLines, UsageError
from simjudge.core.printable import printable
from simjudge.core.processes import EXIT_LOST
from simjudge.core.settings import LARGEST_NUMBER, Setting, Settings, declared
from simjudge.terminal.stopping import Stopping

if TYPE_CHECKING:
    from simjudge.core.arrays import SummaryTable

_SETTINGS = "settings"


class Console(rich.console.Console):
    """Rich's console, whose texts cannot steer the terminal: its own styles and bars do."""

    def render(self, renderable: Any, options: rich.console.ConsoleOptions | None = None) -> Iterable[Segment]:
        """What is shown, in parts."""
        for part in super().render(renderable, options):
            yield part if part.control else Segment(printable(part.text), part.style)


# Parameters of a command that a reader takes in at once; of more, the help shows the groups as panels.
_IN_ONE_PANEL = 12


def takes_settings(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command with one option a setting in place of its parameter `settings`."""
    hints = get_type_hints(command)
    kind = hints.pop(_SETTINGS)
    rows = declared(kind)
    signature = inspect.signature(command)
    parameters = [
        parameter.replace(annotation=hints[parameter.name])
        for parameter in signature.parameters.values()
        if parameter.name != _SETTINGS
    ]
    panels = len(rows) + len(parameters) > _IN_ONE_PANEL
    made = [
        inspect.Parameter(
            row.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=option(row, row.panel if panels else ""),
            annotation=option_type(row),
        )
        for row in rows
    ]
    by_keyword = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]

    @wraps(command)
    def with_options(**given: Any) -> Any:
        settings = settings_from_options(kind, {row.name: given.pop(row.name) for row in rows})
        return command(**given, settings=settings)

    del with_options.__wrapped__
    # Panels are shown in the order of their first options; the command's own one comes first.
    own = [parameter for parameter in by_keyword if _panel(parameter) is None]
    in_order = [*own, *sorted(made, key=_panel_order), *(parameter for parameter in by_keyword if _panel(parameter))]
    with_options.__signature__ = inspect.Signature(in_order)  # type: ignore[attr-defined]
    with_options.__annotations__ = {parameter.name: parameter.annotation for parameter in in_order}
    return with_options


def _panel(parameter: inspect.Parameter) -> str | None:
    return getattr(parameter.default, "rich_help_panel", None)


def _panel_order(parameter: inspect.Parameter) -> bool:
    return _panel(parameter) is not None


def settings_from_options(kind: type[Settings], given: dict[str, object]) -> Any:
    """The settings object that options mean."""
    texts = {row.name for row in declared(kind) if row.form or row.many}
    rows = {row.name: row for row in declared(kind)}
    return kind(
        **{
            name: rows[name].parse(value)
            if name in texts and isinstance(value, str)
            else None
            if value == [] and rows[name].optional  # an option that may be given several times, and is not
            else value
            for name, value in given.items()
        }
    )


def option(row: Setting, panel: str = "") -> Any:
    """The typer option of a setting, with default, help text and range, in a panel of the help."""
    switch = f"{row.flag}/--no-{row.flag[2:]}" if row.kind is bool and row.default else row.flag
    default = ... if row.required else row.text(row.default) if (row.form or row.many) and row.default else row.default
    number = row.kind in (int, float) and not (row.form or row.many)
    shown = row.default_text if row.by_preset else row.default is not None and row.kind is not bool
    return typer.Option(
        default,
        *([row.short] if row.short else []),
        switch,
        help=escape(row.help_text),  # a unit in brackets would be read as a style
        min=row.low if number else None,
        max=row.high if number else None,
        show_default=shown,
        metavar=row.form.metavar if row.form else None,
        rich_help_panel=panel or None,
    )


def option_type(row: Setting) -> Any:
    """The annotation by which typer reads a setting."""
    read_as: Any = str if row.form or row.many else row.kind
    if row.form and row.form.several:
        read_as = list[str]
    # Choices that a function returns may be slow to know; `Setting.check` refuses wrong ones.
    if row.choices and not callable(row.choices):
        read_as = _choice(row.name, row.choices)
    return read_as | None if row.optional else read_as


def _choice(name: str, choices: tuple[str, ...]) -> type[Enum]:
    return Enum(name, {choice: choice for choice in choices}, type=str)  # type: ignore[return-value]


def takes_finite_numbers(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command that refuses NaN, infinity and numbers of thirty digits, whichever option they are for."""

    @wraps(command)
    def with_numbers(**given: Any) -> Any:
        for name, value in given.items():
            if isinstance(value, int | float) and not abs(value) <= LARGEST_NUMBER:
                option = f"--{name.replace('_', '-')}"
                raise UsageError(f"{option} {value:g}: must be a finite number of at most {LARGEST_NUMBER:g} in size")
        return command(**given)

    return with_numbers


# Characters of a line at most. A table is as wide as its cells: a number that is cut would be another number.
WIDEST = 10_000
_PIPE = 120  # Characters of a line where there is no terminal
_NARROWEST = 80  # Characters below which words would be cut to pieces
_WHOLE = ("topic", "verdict", "usable")  # Columns whose cells stay whole: a topic is there to be copied


def print_table(table: SummaryTable) -> None:
    """Print a table. No number is cut: a terminal that is narrower than the table wraps its lines."""
    Console(width=WIDEST, highlight=False).print(rich_table(table))


def print_wrapped_table(table: SummaryTable) -> None:
    """Print a table of sentences: cells take several lines where the terminal ends, or 120 characters in a pipe."""
    kept = [number for number in range(len(table.columns)) if any(row[number] for row in table.rows)]
    rows = [[row[number] for number in kept] for row in table.rows]
    text_columns = sum(number < table.text_columns for number in kept)
    columns = [table.columns[number] for number in kept]
    shown = replace(table, columns=columns, rows=rows, text_columns=text_columns)
    console = Console(width=max(_columns(), _NARROWEST), highlight=False)
    with console.capture() as drawn:
        console.print(rich_table(shown, wrapped=True, whole=_WHOLE))
    for line in drawn.get().splitlines():
        print_text(line.rstrip())


def rich_table(table: SummaryTable, *, wrapped: bool = False, whole: Collection[str] = ()) -> Table:
    """A table for a terminal."""
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, heading in enumerate(table.columns):
        text = number < table.text_columns
        one_line = not (wrapped and text) or heading in whole
        drawn.add_column(escape(heading), justify="left" if text else "right", no_wrap=one_line, overflow="fold")
    for row in table.rows:
        drawn.add_row(*map(escape, row))
    return drawn


def table_text(table: SummaryTable) -> str:
    """A table as lines of text, as a wide terminal shows it."""
    out = io.StringIO()
    Console(file=out, width=WIDEST, highlight=False).print(rich_table(table))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines() if line.strip())


def _columns() -> int:
    """Characters of a line: of the terminal, also where only the errors go there (a pager), or of $COLUMNS."""
    found = shutil.get_terminal_size((0, 0)).columns
    if found:
        return found
    try:
        return os.get_terminal_size(sys.__stderr__.fileno()).columns if sys.__stderr__ is not None else _PIPE
    except (OSError, ValueError):
        return _PIPE


ENGINE_HELP = "Engine of the simulator: default, baked, mujoco, chrono, a plug-in's name, or package.module:Class."
_LINE_PERIOD = 30.0  # Seconds between the lines that say how far a task is, where there is no terminal

err = Console(stderr=True, soft_wrap=True, highlight=False)


def print_text(line: str) -> None:
    """Print a line of a result; unlike `click.echo` it leaves no stream out that escapes what steers a terminal."""
    sys.stdout.write(f"{line}\n")


def print_note(line: str) -> None:
    """Print something that is not a result, to stderr."""
    err.print(line, markup=False)


def print_result_place(out: Path) -> None:
    """Say where a result lies, and how to look at it."""
    print_note(f"result in {out}; to look at it: simjudge report {out}")


@contextmanager
def progress(what: str) -> Iterator[Advance]:
    """Show how far a task is on stderr: a bar on a terminal, elsewhere a line now and then."""
    if not sys.stderr.isatty():
        lines = ProgressLines(what, _LINE_PERIOD)

        def print_line(done: int, total: int) -> None:
            Stopping.check()
            if line := lines.line(done, total):
                print_note(line)

        yield print_line
        if line := lines.last_line():
            print_note(line)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task(what, total=None)

        def advance(done: int, total: int) -> None:
            Stopping.check()
            bar.update(task, completed=done, total=total)

        yield advance


class Stopwatch:
    """A progress bar that knows for how long it was open.

    Attributes:
        seconds: the time that its tasks took.
    """

    def __init__(self, bar: ProgressBar) -> None:
        self.seconds = 0.0
        self._bar = bar

    @contextmanager
    def __call__(self, what: str) -> Iterator[Advance]:
        """Open a task of the progress bar, and take its time."""
        begin = time.monotonic()
        with self._bar(what) as advance:
            yield advance
        self.seconds += time.monotonic() - begin


def exit_if_lost(*losses: Losses | Sequence[str]) -> None:
    """Report what was lost, if anything, and end the command with exit code 3 in that case."""
    lines = [line for loss in losses for line in (loss.lines() if isinstance(loss, Losses) else loss)]
    for line in lines:
        print_note(f"warning: left out {line}")
    if lines:
        raise typer.Exit(EXIT_LOST)


_BETWEEN = "--"
_KEPT = "\0--"
"""What stands for it while options are read: they may come after it too."""


_SHOWN = 12


class BriefCommand(TyperCommand):
    """A command whose `--help` shows the options of somebody's first week, and whose `--help-all` shows the rest."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        options: list[Any] = [parameter for parameter in self.params if isinstance(parameter, TyperOption)]
        first = [option for option in options if option.rich_help_panel is None or option.required]
        self._later = [option for option in options if option not in first[:_SHOWN]]
        if self._later:
            self.epilog = f"{self.epilog or ''}\n\n--help-all shows all {len(options)} options."

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words; `--help-all` prints the help with all options."""
        if "--help-all" in args:
            super().format_help(ctx, ctx.make_formatter())
            ctx.exit()
        return list(super().parse_args(ctx, args))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help with the first options."""
        hidden = [option for option in self._later if not option.hidden]
        for option in hidden:
            option.hidden = True
        super().format_help(ctx, formatter)
        for option in hidden:
            option.hidden = False


class TwoSides(BriefCommand):
    """A command whose arguments are two lists with `--` between them."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read options wherever they stand, and keep the place of `--`."""
        return list(super().parse_args(ctx, [_KEPT if word == _BETWEEN else word for word in args]))


def split_sides(arguments: list[str], command: str, what: str, example: str) -> tuple[list[str], list[str]]:
    """The two lists; `what`: the things in them, `example`: how the command is written, for the refusal."""
    if arguments.count(_KEPT) != 1:
        raise UsageError(
            f"{command}: write the real {what}, then --, then the simulated ones: simjudge {command} {example}"
        )
    middle = arguments.index(_KEPT)
    return arguments[:middle], arguments[middle + 1 :]
