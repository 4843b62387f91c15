"""The command `simjudge`, composed of its subcommands."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable

import typer

from simjudge.commands.data import app as check
from simjudge.commands.data import convert, depth_errors, detect, info, join, recover, split, train
from simjudge.commands.filtering import filter_images
from simjudge.commands.run import run, watch
from simjudge.commands.simulate import app as export
from simjudge.commands.simulate import drive, render, replay
from simjudge.core.installed import version
from simjudge.questions.calibrate.command import app as calibrate
from simjudge.questions.certify.command import certify
from simjudge.questions.compare.command import compare, sweep
from simjudge.questions.cover.command import cover
from simjudge.questions.demo.command import demo
from simjudge.questions.doctor.command import doctor
from simjudge.questions.drives.command import compare_drives
from simjudge.questions.engines.command import app as engines
from simjudge.questions.explain.command import explain
from simjudge.questions.fit.command import fit
from simjudge.questions.objects.command import objects
from simjudge.questions.plan.command import plan
from simjudge.questions.policies.command import compare_policies, watch_policies
from simjudge.questions.reconstruct.command import reconstruct
from simjudge.questions.report.command import report
from simjudge.questions.study.command import app as study
from simjudge.questions.tracks.command import compare_tracks
from simjudge.questions.trajectories.command import compare_trajectories
from simjudge.terminal.common import TwoSides, takes_finite_numbers

EXAMPLES = {
    "demo": ("simjudge demo",),
    "compare": (
        "simjudge compare real.mcap sim.mcap --model detector.onnx --out result",
        "simjudge compare real/ sim/ --model detector.onnx --class cone --margin 0.1 --out result",
        "simjudge compare real/ pinhole/ glare/ --model detector.onnx --out ranking",
    ),
    "objects": ("simjudge objects real.mcap sim.mcap --out result",),
    "compare-drives": ("simjudge compare-drives real_*.mcap -- sim_*.mcap --out result",),
    "compare-trajectories": (
        "simjudge compare-trajectories real_*/ -- sim_*/ --out result",
        "simjudge compare-trajectories real.mcap -- sim.mcap --truth /gps --estimate /odometry/filtered --out result",
    ),
    "compare-tracks": ("simjudge compare-tracks real_*/ -- sim_*/ --out result",),
    "depth-errors": ("simjudge depth-errors real sim --out depth",),
    "compare-policies": ("simjudge compare-policies real.csv sim.csv --out result",),
    "watch-policies": ("simjudge watch-policies trials.csv --out watched",),
    "sweep": ("simjudge sweep real.mcap sim.mcap --model detector.onnx --thetas 0.7,0.8,0.9 --out result",),
    "explain": ("simjudge explain real.mcap sim.mcap --model detector.onnx --out why",),
    "fit": ("simjudge fit real.mcap sim.mcap --model detector.onnx --camera plain --out fitted",),
    "cover": ("simjudge cover real.mcap sim.mcap --scene lab --camera plain --out more",),
    "plan": ("simjudge plan real.mcap sim.mcap --model detector.onnx --gap 0.05",),
    "report": ("simjudge report result", "simjudge report day night --out both.html --figures figures"),
    "certify": ("simjudge certify result --out dossier",),
    "info": ("simjudge info real.mcap", "simjudge info engines"),
    "doctor": ("simjudge doctor real.mcap", "simjudge doctor --live"),
    "convert": (
        "simjudge convert real.mcap real_yolo --to yolo",
        "simjudge convert drive.mcap labelled.mcap --simulator gazebo --class 1=red",
    ),
    "split": ("simjudge split real.mcap --out halves --parts 2 --contiguous",),
    "join": ("simjudge join monday.mcap tuesday.mcap week --to yolo",),
    "filter": (
        "simjudge filter sim.mcap noisy.mcap --blur 0.8 --noise 4",
        "simjudge filter real.mcap foggy.mcap --weather foggy_lidar.yaml",
    ),
    "recover": ("simjudge recover cut.mcap whole.mcap",),
    "detect": ("simjudge detect real.mcap --model detector.onnx --out seen.mcap",),
    "train": ("simjudge train real_yolo --out detector.onnx --size pico --epochs 20",),
    "reconstruct": ("simjudge reconstruct survey.mcap course", "simjudge reconstruct campus.ply campus --cell 0.15"),
    "render": ("simjudge render lab --camera plain -n 20 --out sim.mcap",),
    "replay": ("simjudge replay real.mcap --scene lab --camera plain --out sim.mcap",),
    "drive": ("simjudge drive lab --camera plain --detector ground_truth --out drive.mcap",),
    "run": ("simjudge run live bag:=real.mcap model:=detector.onnx", "simjudge run sim --show-args"),
    "watch": ("simjudge watch --save live.rrd",),
}


def example_text(command: str) -> str:
    """The examples of a command, as the end of its help; none is empty."""
    return "\n\n".join(("Examples:", *EXAMPLES[command])) if command in EXAMPLES else ""


app = typer.Typer(
    name="simjudge",
    help="Does what I see in simulation predict what my robot will see in reality? A detector is the judge.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
PANELS: dict[str, dict[str, Callable[..., None] | typer.Typer]] = {
    "Start": {"demo": demo, "doctor": doctor, "info": info},
    "Judge a simulation": {
        "compare": compare,
        "objects": objects,
        "compare-drives": compare_drives,
        "compare-trajectories": compare_trajectories,
        "compare-tracks": compare_tracks,
        "compare-policies": compare_policies,
        "watch-policies": watch_policies,
        "sweep": sweep,
    },
    "Find out why, and what to do": {"explain": explain, "fit": fit, "cover": cover, "plan": plan},
    "Show and publish": {"report": report, "certify": certify, "study": study},
    "Check sensors": {"check": check, "calibrate": calibrate, "export": export},
    "Change data": {
        "convert": convert,
        "split": split,
        "join": join,
        "filter": filter_images,
        "recover": recover,
        "depth-errors": depth_errors,
    },
    "Detect": {"detect": detect, "train": train},
    "Simulate": {"render": render, "replay": replay, "drive": drive, "reconstruct": reconstruct, "engines": engines},
    "Run on ROS 2": {"run": run, "watch": watch},
}
"""The subcommands by panel of the help, in its order."""
COMMANDS: dict[str, Callable[..., None]] = {
    name: command
    for commands in PANELS.values()
    for name, command in commands.items()
    if not isinstance(command, typer.Typer)
}
"""The functions behind the subcommands that have none of their own."""


def help_text(command: Callable[..., None]) -> str:
    """Take the help of a command from its docstring.

    Args:
        command: the function behind it.

    Returns:
        The docstring without its sections (Args and so on), which repeat the options for readers of the code.
    """
    text = re.split(r"\n(?:Args|Returns|Raises):\n", inspect.cleandoc(command.__doc__ or ""))[0].strip()
    return re.sub(r"(?<!\n)\n(?!\n)", " ", text)  # the terminal wraps lines by itself


for _panel, _commands in PANELS.items():
    for _name, _command in _commands.items():
        if isinstance(_command, typer.Typer):
            app.add_typer(_command, name=_name, rich_help_panel=_panel)
            continue
        app.command(
            _name,
            help=help_text(_command),
            cls=TwoSides if _command in (compare_drives, compare_trajectories, compare_tracks) else None,
            rich_help_panel=_panel,
            epilog=example_text(_name),
        )(takes_finite_numbers(_command))


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
