"""The command `simjudge`: a table of commands, of which one is loaded when it is called."""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeAlias

import typer
from typer.core import TyperGroup

from simjudge.core.installed import version
from simjudge.terminal.common import BriefCommand, TwoSides, print_note, takes_finite_numbers


@dataclass(frozen=True)
class Entry:
    """A command of the program.

    Attributes:
        place: its module below `simjudge` and the function or Typer application there.
        line: what the list of commands says of it.
        examples: calls for the end of its help; none is empty.
        modes: by an option that makes another command of it: that command's place.
        two_sides: whether its arguments are two lists with `--` between them.
    """

    place: str
    line: str
    examples: tuple[str, ...] = ()
    modes: Mapping[str, Entry] | None = None
    two_sides: bool = False

    def load(self) -> Callable[..., None] | typer.Typer:
        """The function behind it, or the Typer application."""
        module, _, name = self.place.partition(":")
        found: Callable[..., None] | typer.Typer = getattr(import_module(f"simjudge.{module}"), name)
        return found


Entries: TypeAlias = "Mapping[str, Entry | Entries]"

INFO = Entry(
    "commands.data:info", "what a path holds", ("simjudge doctor --brief real.mcap", "simjudge doctor --brief engines")
)
SWEEP = Entry(
    "questions.compare.command:sweep",
    "A against B along theta and the patch size",
    ("simjudge compare --sweep real.mcap sim.mcap --model detector.onnx --thetas 0.7,0.8,0.9 --out result",),
)
CERTIFY = Entry(
    "questions.certify.command:certify", "a dossier of results", ("simjudge report --dossier result --out dossier",)
)
FOLLOW = Entry(
    "questions.policies.command:watch_policies",
    "trials of policies as they come in",
    ("simjudge robot policies --follow trials.csv --out watched",),
)
TABLE: Entries = {
    "demo": Entry(
        "questions.demo.command:demo", "judge two simulations against photographs, in seconds", ("simjudge demo",)
    ),
    "doctor": Entry(
        "questions.doctor.command:doctor",
        "what a recording or data set can be used for, and how to fix it",
        ("simjudge doctor real.mcap", "simjudge doctor --live", "simjudge doctor --brief real.mcap"),
        {"--brief": INFO},
    ),
    "compare": Entry(
        "questions.compare.command:compare",
        "a detector's performance on A and on B: the gap, how sure, where",
        (
            "simjudge compare real.mcap sim.mcap --model detector.onnx --out result",
            "simjudge compare real/ sim/ --model detector.onnx --class cone --margin 0.1 --out result",
            "simjudge compare real/ pinhole/ glare/ --model detector.onnx --out ranking",
        ),
        {"--sweep": SWEEP},
    ),
    "explain": Entry(
        "questions.explain.command:explain",
        "which differences between two cameras cause a gap",
        ("simjudge explain real.mcap sim.mcap --model detector.onnx --out why",),
    ),
    "fit": Entry(
        "questions.fit.command:fit",
        "look for the camera or lidar by which B predicts A best",
        ("simjudge fit real.mcap sim.mcap --model detector.onnx --camera plain --out fitted",),
    ),
    "cover": Entry(
        "questions.cover.command:cover",
        "render what a simulation lacks of reality",
        ("simjudge cover real.mcap sim.mcap --scene lab --camera plain --out more",),
    ),
    "plan": Entry(
        "questions.plan.command:plan",
        "how many frames show a gap",
        ("simjudge plan real.mcap sim.mcap --model detector.onnx --gap 0.05",),
    ),
    "report": Entry(
        "questions.report.command:report",
        "one page of results or of a recording; a dossier for others",
        ("simjudge report result", "simjudge report day night --out both.html --figures figures"),
        {"--dossier": CERTIFY},
    ),
    "detect": Entry(
        "commands.data:detect",
        "run a detector over a set and keep what it finds",
        ("simjudge detect real.mcap --model detector.onnx --out seen.mcap",),
    ),
    "study": Entry("questions.study.command:app", "experiments of several steps, with a page"),
    "data": {
        "convert": Entry(
            "commands.data:convert",
            "convert a data set or a recording; nothing is lost on the way",
            (
                "simjudge data convert real.mcap real_yolo --to yolo",
                "simjudge data convert drive.mcap labelled.mcap --simulator gazebo --class 1=red",
            ),
        ),
        "split": Entry(
            "commands.data:split",
            "equal parts of a set, to compare it with itself",
            ("simjudge data split real.mcap --out halves --parts 2 --contiguous",),
        ),
        "join": Entry(
            "commands.data:join", "several sets as one", ("simjudge data join monday.mcap tuesday.mcap week --to yolo",)
        ),
        "filter": Entry(
            "commands.filtering:filter_images",
            "a copy with camera filters, or with weather before its lidar",
            (
                "simjudge data filter sim.mcap noisy.mcap --blur 0.8 --noise 4",
                "simjudge data filter real.mcap foggy.mcap --weather foggy_lidar.yaml",
            ),
        ),
        "recover": Entry(
            "commands.data:recover",
            "the readable messages of a damaged recording",
            ("simjudge data recover cut.mcap whole.mcap",),
        ),
    },
    "sim": {
        "render": Entry(
            "commands.simulate:render",
            "labelled images of a scene through a camera",
            ("simjudge sim render lab --camera plain -n 20 --out sim.mcap",),
        ),
        "replay": Entry(
            "commands.simulate:replay",
            "a synthetic image for each real one of a recording",
            ("simjudge sim replay real.mcap --scene lab --camera plain --out sim.mcap",),
        ),
        "drive": Entry(
            "commands.simulate:drive",
            "a course in closed loop: camera, detector, driver, physics",
            ("simjudge sim drive lab --camera plain --detector ground_truth --out drive.mcap",),
        ),
        "reconstruct": Entry(
            "questions.reconstruct.command:reconstruct",
            "a scene from a survey cloud",
            (
                "simjudge sim reconstruct survey.mcap course",
                "simjudge sim reconstruct campus.ply campus --cell 0.15",
            ),
        ),
        "calibrate": Entry("questions.calibrate.command:app", "noise and geometry of real sensors, for simulated ones"),
        "check": Entry("commands.data:app", "recordings against their sensor type"),
        "export": Entry("commands.simulate:app", "a camera or sensors for Gazebo, Isaac Sim, MuJoCo"),
        "engines": Entry("questions.engines.command:app", "compare and check simulator engines"),
        "train": Entry(
            "commands.data:train",
            "train a detector or segmentation network, to ONNX",
            ("simjudge sim train real_yolo --out detector.onnx --size pico --epochs 20",),
        ),
    },
    "ros": {
        "run": Entry(
            "commands.run:run",
            "the nodes of a launch file together",
            ("simjudge ros run live bag:=real.mcap model:=detector.onnx", "simjudge ros run sim --show-args"),
        ),
        "watch": Entry("commands.run:watch", "show a running graph", ("simjudge ros watch --save live.rrd",)),
    },
    "robot": {
        "drives": Entry(
            "questions.drives.command:compare_drives",
            "drives of the same course: lateral, heading, speed error",
            ("simjudge robot drives real_*.mcap -- sim_*.mcap --out result",),
            two_sides=True,
        ),
        "trajectories": Entry(
            "questions.trajectories.command:compare_trajectories",
            "errors of a localization (APE, RPE)",
            (
                "simjudge robot trajectories real_*/ -- sim_*/ --out result",
                "simjudge robot trajectories real.mcap -- sim.mcap --truth /gps --estimate /odometry --out result",
            ),
            two_sides=True,
        ),
        "tracks": Entry(
            "questions.tracks.command:compare_tracks",
            "a multi-object tracker (HOTA, MOTA, IDF1)",
            ("simjudge robot tracks real_*/ -- sim_*/ --out result",),
            two_sides=True,
        ),
        "policies": Entry(
            "questions.policies.command:compare_policies",
            "trials of robot policies: success, ranking, choice",
            ("simjudge robot policies real.csv sim.csv --out result",),
            {"--follow": FOLLOW},
        ),
        "objects": Entry(
            "questions.objects.command:objects",
            "a real and a virtual sensor over time, by the objects they see",
            ("simjudge robot objects real.mcap sim.mcap --out result",),
        ),
        "depth": Entry(
            "commands.data:depth_errors",
            "how far predicted depth images are from true ones",
            ("simjudge robot depth real sim --out depth",),
        ),
    },
}
"""The commands; a name with commands of its own is a group."""
HELP = {"help_option_names": ["-h", "--help"]}


def entries(table: Entries = TABLE, path: str = "") -> Iterator[tuple[str, Entry]]:
    """Every command and its modes, by the words that call it."""
    for name, entry in table.items():
        words = f"{path} {name}".strip()
        if isinstance(entry, Mapping):
            yield from entries(entry, words)
            continue
        yield words, entry
        for flag, mode in (entry.modes or {}).items():
            yield f"{words} {flag}", mode


BEFORE = {
    **{words.split()[1]: words for words, _ in entries() if words.split()[0] in ("data", "sim", "ros")},
    "objects": "robot objects",
    "compare-drives": "robot drives",
    "compare-trajectories": "robot trajectories",
    "compare-tracks": "robot tracks",
    "compare-policies": "robot policies",
    "watch-policies": "robot policies --follow",
    "depth-errors": "robot depth",
    "info": "doctor --brief",
    "sweep": "compare --sweep",
    "certify": "report --dossier",
}
"""Names of commands until now: they run, say the new name on a terminal, and go with the next release."""


def functions() -> dict[str, Callable[..., None]]:
    """The functions behind the commands that have none of their own, by the words that call them."""
    found = {words: entry.load() for words, entry in entries()}
    return {words: function for words, function in found.items() if not isinstance(function, typer.Typer)}


def help_text(command: Callable[..., None]) -> str:
    """The help of a command: its docstring without the sections (Args and so on), which repeat the options."""
    text = re.split(r"\n(?:Args|Returns|Raises):\n", inspect.cleandoc(command.__doc__ or ""))[0].strip()
    return re.sub(r"(?<!\n)\n(?!\n)", " ", text)  # the terminal wraps lines by itself


def loaded(name: str, entry: Entry | Entries) -> Any:
    """The command or group behind an entry, as Typer calls it."""
    if isinstance(entry, Mapping):
        return Commands(entry, name=name, no_args_is_help=True, context_settings=HELP)
    command = entry.load()
    if isinstance(command, typer.Typer):
        group = typer.main.get_group(command)
        group.name = name
        return group
    alone = typer.Typer(add_completion=False, context_settings=HELP)
    modes = [f"With {flag}: {mode.line}; {flag} --help says more." for flag, mode in (entry.modes or {}).items()]
    examples = ["Examples:", *entry.examples] if entry.examples else []
    kind = TwoSides if entry.two_sides else BriefCommand
    end = "\n\n".join([*modes, *examples])
    alone.command(name, help=help_text(command), cls=kind, epilog=end)(takes_finite_numbers(command))
    return typer.main.get_command(alone)


class LoadedCommands(Mapping[str, Any]):
    """The commands of a group, loaded when they are asked for; older names are found, and not listed."""

    def __init__(self, table: Entries) -> None:
        self.table = table
        self._loaded: dict[str, Any] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self.table)

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            entry = dict(entries())[BEFORE[name]] if self.table is TABLE and name in BEFORE else self.table[name]
            self._loaded[name] = loaded(name, entry)
        return self._loaded[name]


class Commands(TyperGroup):
    """A group whose help is a line a command, and which loads none for it."""

    def __init__(self, table: Entries = TABLE, **given: Any) -> None:
        super().__init__(**given)
        self.table = table
        self.commands = LoadedCommands(table)  # type: ignore[assignment]

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command that words call: by an older name too, or one that an option makes of it."""
        name, command, rest = super().resolve_command(ctx, args)
        if self.table is TABLE and name in BEFORE:
            if sys.stderr.isatty():
                print_note(f"simjudge {name} is now simjudge {BEFORE[name]}")
            name = BEFORE[name]
            entry: Entry | Entries | None = dict(entries())[name]
        else:
            entry = self.table.get(name or "")
        for flag, mode in (entry.modes or {}).items() if isinstance(entry, Entry) else ():
            if flag in rest:
                words = f"{name} {flag}"
                return words, loaded(words, mode), [word for word in rest if word != flag]
        return name, command, rest

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write a line a command."""
        formatter.write(f"Usage: {ctx.command_path} COMMAND [ARGS]...\n\n")
        if self.help:
            formatter.write(f"{self.help}\n\n")
        for number, (name, entry) in enumerate(self.table.items()):
            if isinstance(entry, Mapping):
                before = list(self.table.values())[number - 1]
                line = ("" if isinstance(before, Mapping) else "\n") + f"  {name:<13}"
                formatter.write(textwrap.fill(", ".join(entry), 80, initial_indent=line, subsequent_indent=" " * 15))
            else:
                formatter.write(f"  {name:<13}{entry.line}")
            formatter.write("\n")
        formatter.write(f"\n{ctx.command_path} COMMAND --help says more.\n")
        if self.params:
            formatter.write(f"Options: {', '.join(option.opts[0] for option in self.params)}\n")


app = typer.Typer(
    name="simjudge",
    cls=Commands,
    help="Does what I see in simulation predict what my robot will see in reality?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings=HELP,
)


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
