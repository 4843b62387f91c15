"""`simjudge train DATA --out M.onnx`: train a detector."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import typer

from simjudge.commands.common import exit_if_lost, print_note, progress
from simjudge.commands.options import takes_settings
from simjudge.data.read_settings import ReadSettings


@takes_settings
def train(
    settings: ReadSettings,
    data: Path = typer.Argument(..., help="A labelled data set or recording with images."),
    out: Path = typer.Option(..., "--out", help="The model to write (.onnx); its card goes beside it."),
    epochs: int = typer.Option(100, min=1),
    imgsz: int = typer.Option(640, min=32, help="Side of the net's square input in pixels, a multiple of 32."),
    batch: int = typer.Option(16, min=1),
    seed: int = typer.Option(0, min=0),
    size: str = typer.Option("nano", help="pico (for CPU-only machines), nano or small."),
    workers: int = typer.Option(2, min=0, help="Processes that load images."),
    start: Path | None = typer.Option(None, "--from", help="An ultralytics checkpoint (.pt) to go on from."),
    trust: bool = typer.Option(False, "--trust", help="Run the code inside the checkpoint, which is read without."),
    val_fraction: float | None = typer.Option(
        None, help="Split anew: this share of the photographs validates (0.2 where the data has no split)."
    ),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace a model or a card that is there."),
    half: bool = typer.Option(False, "--half", help="Store the weights as 16-bit floats: half the file."),
    keep: Path | None = typer.Option(None, help="Leave checkpoints and curves in this folder."),
    step: int | None = typer.Option(None, min=1, help="Images to an optimizer step.", show_default="the batch"),
    device: str = typer.Option("", help="cpu, 0, ...; the best there is by default."),
    windows: int = typer.Option(
        0,
        min=0,
        help="Learn from so many windows of imgsz x imgsz cut out of each image, not from whole ones scaled.",
    ),
    input_size: str | None = typer.Option(
        None,
        "--input",
        help="WIDTHxHEIGHT of the exported model's input, multiples of 32.",
        show_default="imgsz x imgsz",
    ),
) -> None:
    """Train a detector with ultralytics, offline, and export its best weights to ONNX.

    All variants of one source photograph stay on one side of the split. Ctrl-C ends the training early and exports the
    best weights so far. Ultralytics is AGPL-3.0.
    """
    from simjudge.perception.training import train as run

    trained = run(
        data,
        out,
        val_fraction=val_fraction,
        allow_outside=settings.allow_outside,
        command=shlex.join(["simjudge", *sys.argv[1:]]),
        progress=progress,
        log=print_note,
        epochs=epochs,
        imgsz=imgsz,
        batch=batch,
        seed=seed,
        size=size,
        workers=workers,
        start=start,
        trust=trust,
        half=half,
        overwrite=overwrite,
        keep=keep,
        device=device,
        step=step or 0,
        windows=windows,
        input_size=input_size,
    )
    best = trained.best
    sys.stdout.write(f"{out}: mAP50 {best.map50:.3f}, mAP50-95 {best.map50_95:.3f} on valid (epoch {best.number})\n")
    exit_if_lost(trained.losses)
