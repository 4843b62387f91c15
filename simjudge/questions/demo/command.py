"""`simjudge demo`: the first verdict, without data, simulator or ROS."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from simjudge.terminal.common import print_note, progress

if TYPE_CHECKING:
    from simjudge.questions.compare.result import ComparisonResult


def demo(
    out: Path = typer.Option(Path("simjudge_demo"), "--out", "-o", help="Folder for the results and the page."),
    samples: Path | None = typer.Option(
        None, "--samples", help="Only copy two sample recordings, real.mcap and sim.mcap, into this folder."
    ),
    show: bool = typer.Option(True, "--open/--no-open", help="Open the page, where there is a screen."),
) -> None:
    """Judge two simulations against real photographs, from what comes with simjudge: a verdict in seconds.

    The photographs show small signs and lights on a scale car's course. One simulation sees the same kind of course
    through a pinhole, the other through a lens that scatters light as other photographs of the course show.
    """
    from simjudge.questions.demo.run import SIMULATIONS, copy_samples, run_demo
    from simjudge.questions.engines.photographs import THETA

    if samples is not None:
        for file in copy_samples(samples):
            sys.stdout.write(f"wrote {file}\n")
        return
    found = run_demo(out, log=print_note, progress=progress)
    lines = ["Does a detector see in each simulation what it sees in the photographs?", ""]
    for name, result in found.results.items():
        by_class = f"  mean performance by class (independent things): {_by_class(result)}"
        lines += [f"{SIMULATIONS[name]}: {result.meaning}", by_class, ""]
    control = next(iter(found.results.values())).control
    if control:
        lines += [f"control: {control}", ""]
    lines += [
        f"page: {found.page.resolve().as_uri()}",
        *(f"the same by command: {command}" for command in found.commands),
    ]
    own = "simjudge compare REAL SIM --model DETECTOR --out result && simjudge report result"
    lines.append(f"your own: {own} (--theta {THETA:g} suits these photographs; leave it out first)")
    sys.stdout.write("\n".join(lines) + "\n")
    if show and (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or sys.platform in {"darwin", "win32"}):
        webbrowser.open(found.page.resolve().as_uri())


def _by_class(result: ComparisonResult) -> str:
    """What the detector does with each class in the photographs, and in the simulation."""
    from simjudge.page.chart_data import format_number

    return ", ".join(
        f"{result.class_names[int(key)]} {format_number(entry.mean_performance_a)} /"
        f" {format_number(entry.mean_performance_b)} ({entry.units_a} / {entry.units_b})"
        for key, entry in result.numbers.by_class.items()
    )
