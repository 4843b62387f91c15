"""`simjudge ros run` and `watch`: the nodes of a launch file without ROS's launch, and a screen without RViz."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import typer

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.installed import need_ros
from simjudge.core.processes import DONE
from simjudge.terminal.common import print_note, print_result_place, print_table

if TYPE_CHECKING:
    from simjudge.ros.description import Graph

_COLOURS = (36, 33, 35, 32, 34, 96, 93, 95)


def run(
    graph: str = typer.Argument(..., help="detect, validate, live, replay, sim, objects or label."),
    arguments: list[str] = typer.Argument(None, help="NAME:=VALUE, as ros2 launch takes them.", metavar="NAME:=VALUE"),
    show_args: bool = typer.Option(False, "--show-args", "-s", help="Print the arguments and what they do."),
) -> None:
    """Run the nodes of a launch file together, without `ros2 launch`; Ctrl-C ends all of them.

    Args:
        graph: name of the graph.
        arguments: of the graph, `NAME:=VALUE` each.
        show_args: print the arguments instead.

    Raises:
        UsageError: there is no such graph, or an argument does not fit it.
        SimjudgeError: ROS 2 or a program is not installed here.
        Exit: with the exit code of the run where it is not 0.
    """
    from simjudge.ros.description import normalize_namespace, parse_arguments
    from simjudge.ros.graphs import GRAPHS

    if graph not in GRAPHS:
        raise UsageError(f"{graph}: there is no such graph; there are {', '.join(GRAPHS)}")
    chosen = GRAPHS[graph]
    if show_args:
        sys.stdout.write(_table(chosen))
        return
    values = chosen.complete(parse_arguments(arguments or []))
    processes = chosen.processes(values)
    from simjudge.ros.description import missing_viewers
    from simjudge.ros.runner import Runner

    need_ros()
    for line in missing_viewers(values):
        print_note(line)
    names = [process.name for process in processes]
    code = Runner(line_printer(names), print_note).run(processes, normalize_namespace(values["robot_ns"]))
    out = values.get("result") or values.get("out")
    if code in DONE and out:
        _show_result(Path(out))
    if code:
        raise typer.Exit(code)


def _show_result(out: Path) -> None:
    """The table that `simjudge compare` prints, from what the nodes wrote."""
    if not (out / "result.json").is_file():
        return
    from simjudge.questions.compare.result import ComparisonResult
    from simjudge.questions.report.kinds import load_result

    print_table(load_result(out, ComparisonResult).table)
    print_result_place(out)


def line_printer(names: list[str]) -> Callable[[str, str], None]:
    """A function that writes lines of nodes to stderr, each node in a colour of its own on a terminal.

    Args:
        names: of all nodes.

    Returns:
        A function to call with a node's name and a line; any thread may call it.
    """
    width = max(len(name) for name in names) + 2
    heads = {name: f"[{name}]".ljust(width) for name in names}
    if sys.stderr.isatty():
        colours = dict(zip(names, cycle(_COLOURS), strict=False))
        heads = {name: f"\x1b[{colours[name]}m{head}\x1b[0m" for name, head in heads.items()}
    lock = Lock()

    def show(name: str, line: str) -> None:
        with lock:
            sys.stderr.write(f"{heads[name]} {line}\n")

    return show


def _table(graph: Graph) -> str:
    lines = [f"{graph.name}: {graph.summary}", ""]
    for argument in graph.arguments:
        default = "must be given" if argument.default is None else f"default {argument.default!r}"
        choice = f"; one of {', '.join(argument.choices)}" if argument.choices else ""
        lines.append(f"  {argument.name}:=  ({default}{choice})\n      {argument.description}")
    return "\n".join(lines) + "\n"


def watch(
    save: Path | None = typer.Option(None, "--save", help="Save to this .rrd file instead of opening a window."),
    max_mb: int = typer.Option(
        1000,
        "--max-mb",
        min=1,
        max=1_000_000,
        help="Largest size of the file [MB]; a full file takes no more images or clouds.",
    ),
    browser: bool = typer.Option(False, "--browser", help="Show it in a browser; other machines can connect too."),
    robot: str = typer.Option(
        "", "--robot", help="Topic names of a robot: a YAML file, or the name of a shipped one (art1)."
    ),
    robot_ns: str = typer.Option("", "--robot-ns", help="Namespace of the robot's topics."),
) -> None:
    """Show a running graph: images with boxes, W1 and overlap over time; Ctrl-C ends it (and writes the file).

    Args:
        save: the .rrd file to write; None to show a window.
        max_mb: size of the file from which on images and point clouds are left out of it, MB.
        browser: show it in a browser.
        robot: file or name of the robot whose topic names are used; "" for simjudge's own.
        robot_ns: namespace of the topics, "" for none.

    Raises:
        UsageError: --save and --browser are given together.
        SimjudgeError: ROS 2 or rerun is not installed here.
        Exit: with the exit code of the node where it is not 0.
    """
    from simjudge.questions.watch import MISSING, is_installed
    from simjudge.ros.description import Process, Value, normalize_namespace
    from simjudge.ros.image_sources import read_robot
    from simjudge.ros.runner import Runner

    if save is not None and browser:
        raise UsageError("give --save or --browser, not both")
    parameters: dict[str, Value] = {"save": str(save), "max_mb": max_mb} if save is not None else {}
    if browser:
        parameters["where"] = "browser"
    process = read_robot(robot).apply(Process("watch_node", "watch_node", parameters=parameters))
    namespace = normalize_namespace(robot_ns)
    need_ros()
    if not is_installed():
        raise SimjudgeError(MISSING)
    code = Runner(line_printer([process.name]), print_note).run([process], namespace)
    if code:
        raise typer.Exit(code)
