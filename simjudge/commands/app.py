"""The command `simjudge`, composed of its subcommands."""

from __future__ import annotations

import sys

import typer

from simjudge.commands import (
    compare,
    convert,
    detect,
    drive,
    engines,
    info,
    join,
    render,
    replay,
    report,
    run,
    split,
    sweep,
    train,
    watch,
)
from simjudge.commands import (
    filter as filter_command,
)
from simjudge.core.version import version

app = typer.Typer(
    name="simjudge",
    help="Does what I see in simulation predict what my robot will see in reality? A detector is the judge.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("compare")(compare.compare)
app.command("sweep")(sweep.sweep)
app.command("render")(render.render)
app.command("report")(report.report)
app.command("detect")(detect.detect)
app.command("train")(train.train)
app.command("convert")(convert.convert)
app.command("join")(join.join)
app.command("split")(split.split)
app.command("filter")(filter_command.filter_images)
app.command("drive")(drive.drive)
app.command("replay")(replay.replay)
app.command("run")(run.run)
app.command("watch")(watch.watch)
app.command("info")(info.info)
app.add_typer(engines.app, name="engines")


def _print_version(value: bool) -> None:
    if value:
        sys.stdout.write(f"simjudge {version()}\n")
        raise typer.Exit


@app.callback()
def options(
    *,
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Print the version."),
) -> None:
    """Options of simjudge itself."""
    del version
