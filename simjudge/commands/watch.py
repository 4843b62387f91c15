"""`simjudge watch`: the live images, W1 and overlap, where RViz cannot be had."""

from __future__ import annotations

from pathlib import Path

import typer


def watch(
    save: Path | None = typer.Option(None, "--save", help="Save what is shown to this .rrd file; there is no window."),
    max_mb: int = typer.Option(
        1000,
        "--max-mb",
        min=1,
        max=1_000_000,
        help="Size of the file [MB]; a full one takes no more images or clouds.",
    ),
    browser: bool = typer.Option(False, "--browser", help="Show it in a browser, also to other machines."),
    robot: str = typer.Option("", "--robot", help="YAML file of a robot's own topic names, or one by name: art1."),
    robot_ns: str = typer.Option("", "--robot-ns", help="Namespace of the robot's topics."),
) -> None:
    """Show what runs now: images with boxes, W1 and overlap over time; Ctrl-C ends it (and writes the file).

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
    from simjudge.commands.run import line_printer
    from simjudge.core.errors import SimjudgeError, UsageError
    from simjudge.core.installed import need_ros
    from simjudge.questions.watch.watch_screen import MISSING, is_installed
    from simjudge.ros.description import Process, Value, normalize_namespace
    from simjudge.ros.robot_file import read_robot
    from simjudge.ros.runner import Runner
    from simjudge.terminal.common import print_note

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
