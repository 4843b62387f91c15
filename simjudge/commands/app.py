"""The command `simjudge`, composed of its subcommands."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable

import typer

from simjudge.commands.data import app as check
from simjudge.commands.data import convert, filter_images, info, join, recover, split
from simjudge.commands.detect import detect, train
from simjudge.commands.run import run, watch
from simjudge.commands.simulate import drive, render, replay
from simjudge.core.installed import version
from simjudge.questions.calibrate.command import app as calibrate
from simjudge.questions.certify.command import certify
from simjudge.questions.compare.command import compare, sweep
from simjudge.questions.cover.command import cover
from simjudge.questions.doctor.command import doctor
from simjudge.questions.drives.command import TwoSides, compare_drives
from simjudge.questions.engines.command import app as engines
from simjudge.questions.explain.command import explain
from simjudge.questions.fit.command import fit
from simjudge.questions.objects.command import objects
from simjudge.questions.plan.command import plan
from simjudge.questions.policies.command import compare_policies, watch_policies
from simjudge.questions.report.command import report
from simjudge.questions.study.command import app as study
from simjudge.terminal.common import takes_finite_numbers

app = typer.Typer(
    name="simjudge",
    help="Does what I see in simulation predict what my robot will see in reality? A detector is the judge.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS: dict[str, Callable[..., None]] = {
    "compare": compare,
    "sweep": sweep,
    "plan": plan,
    "explain": explain,
    "fit": fit,
    "cover": cover,
    "objects": objects,
    "compare-drives": compare_drives,
    "compare-policies": compare_policies,
    "watch-policies": watch_policies,
    "render": render,
    "report": report,
    "certify": certify,
    "detect": detect,
    "train": train,
    "convert": convert,
    "join": join,
    "split": split,
    "filter": filter_images,
    "drive": drive,
    "replay": replay,
    "run": run,
    "watch": watch,
    "recover": recover,
    "info": info,
    "doctor": doctor,
}
"""The functions behind the subcommands, in the order in which the help lists them."""


def help_text(command: Callable[..., None]) -> str:
    """Take the help of a command from its docstring.

    Args:
        command: the function behind it.

    Returns:
        The docstring without its sections (Args and so on), which repeat the options for readers of the code.
    """
    text = re.split(r"\n(?:Args|Returns|Raises):\n", inspect.cleandoc(command.__doc__ or ""))[0].strip()
    return re.sub(r"(?<!\n)\n(?!\n)", " ", text)  # the terminal wraps lines by itself


for _name, _command in COMMANDS.items():
    _kind = TwoSides if _command is compare_drives else None
    app.command(_name, help=help_text(_command), cls=_kind)(takes_finite_numbers(_command))
app.add_typer(calibrate, name="calibrate")
app.add_typer(check, name="check")
app.add_typer(engines, name="engines")
app.add_typer(study, name="study")


def _print_version(value: bool) -> None:
    if value:
        sys.stdout.write(f"simjudge {version()}\n")
        raise typer.Exit


@app.callback()
def options(
    *,
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Print the version."),
    plugin: list[str] = typer.Option([], "--plugin", metavar="MODULE", help="Import a module with your own filters."),
) -> None:
    """Options of simjudge itself."""
    del version
    for module in plugin:
        from simjudge.sim.sensors.filter_registry import add_plugin

        add_plugin(module)
