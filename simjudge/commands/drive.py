"""`simjudge drive SCENE`: a simulated car drives a scene's course by what its detector sees, and is recorded."""

from __future__ import annotations

import json
import math
import time
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.table import Table

from simjudge.commands.common import progress, say
from simjudge.core.exit_codes import EXIT_FAILED

if TYPE_CHECKING:
    from simjudge.driving.closed_loop import ClosedLoop, Outcome
    from simjudge.driving.recorder import DriveRecorder


def drive(
    scene: str = typer.Argument(
        ..., metavar="SCENE", help="A scene with a course: a file, or the name of one shipped."
    ),
    camera: str = typer.Option(..., "--camera", metavar="FILE|NAME", help="The car's camera."),
    detector: str = typer.Option(
        "ground_truth", "--detector", metavar="FILE|NAME", help="Who finds the cones: a detector, or ground_truth."
    ),
    vehicle: str = typer.Option("art1", metavar="FILE|NAME", help="The car."),
    out: Path | None = typer.Option(None, "--out", help="Record the drive: x.mcap, x.db3, or a folder."),
    seed: int = typer.Option(0, min=0, help="Of the scene, the camera's noise and where the car starts."),
    rate: float | None = typer.Option(None, metavar="HZ", help="Pictures a second.", show_default="the camera's"),
    min_score: float = typer.Option(0.05, min=0, max=1, help="Of the detector; the driver counts from 0.25 on."),
    limit: float = typer.Option(180.0, metavar="SECONDS", help="Give up after so many simulated seconds."),
    engine: str = typer.Option("default", help="default or chrono."),
) -> None:
    """Drive a scene's course in closed loop: camera, detector, driver, physics, and again.

    Simulated time waits for the detector: the same command gives the same drive on any machine. The recording holds
    pictures, ground truth, detections, camera_info, odometry, tf and what the driver did; simjudge takes it as a set.
    """
    from simjudge.core.files import atomic_file
    from simjudge.data.rosbag2.message_recording import record_messages
    from simjudge.driving.closed_loop import Rules
    from simjudge.driving.drive import Wanted, described, make_loop
    from simjudge.driving.recorder import DriveRecorder

    wanted = Wanted(scene, camera, detector, vehicle, engine, seed, rate, out is not None, min_score)
    loop = make_loop(wanted, Rules(limit=limit))
    about = described(wanted, loop)
    begin = time.monotonic()
    with ExitStack() as stack:
        stack.callback(loop.engine.close)
        say(f"{loop.camera.name} at {loop.camera.rate:g} Hz, {loop.finder.name}, {loop.engine.variant}")
        recorder = None
        if out is not None:
            recording = stack.enter_context(record_messages(out, {"simjudge": json.dumps(about, indent=2)}))
            recorder = DriveRecorder(recording, loop)
        try:
            _run(loop, recorder)
        finally:
            outcome = loop.outcome()
            if not outcome.finished:
                say(f"{outcome.why} after {outcome.way:.1f} of {outcome.length:.1f} m, {outcome.frames} frames")
    if out is not None:
        with atomic_file(out.with_name(f"{out.name}.drive.json")) as file:
            file.write_text(json.dumps({**about, "outcome": asdict(outcome)}, indent=2) + "\n", encoding="utf-8")
    _print_outcome(outcome, time.monotonic() - begin)
    if out is not None:
        say(f"wrote {out}: {outcome.frames} frames; what was done is in {out}.drive.json")
    if not outcome.finished:
        raise typer.Exit(EXIT_FAILED)


def _run(loop: ClosedLoop, recorder: DriveRecorder | None) -> None:
    """Drive to the end."""
    with progress("driving, metres") as advance:
        for event in loop.run():
            if recorder is not None:
                recorder.take(event)
            if loop.progress is not None:
                advance(max(math.floor(loop.progress.way), 0), math.ceil(loop.progress.length))


def _print_outcome(outcome: Outcome, seconds: float) -> None:
    table = Table(show_header=False)
    pace = f"{outcome.seconds / max(seconds, 1e-9):.2f} of real time"
    rows = {
        "course": f"{'finished' if outcome.finished else 'not finished'}, {outcome.way:.1f} of {outcome.length:.1f} m",
        "cones touched": ", ".join(outcome.touched) or "none",
        "beside the line": f"{outcome.mean_beside:.3f} m on average, {outcome.most_beside:.3f} m at most",
        "time": f"{outcome.seconds:.1f} s simulated, {outcome.frames} frames, {seconds:.1f} s here ({pace})",
    }
    for name, text in rows.items():
        table.add_row(name, text)
    Console(soft_wrap=True).print(table)
