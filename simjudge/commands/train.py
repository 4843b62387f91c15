"""`simjudge train DATA --out M.onnx`: train a detector."""

from __future__ import annotations

import shlex
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from simjudge.commands.common import err, finish, say
from simjudge.core.errors import SimjudgeError, UsageError

if TYPE_CHECKING:
    from simjudge.perception.train import Epoch


def train(
    data: Path = typer.Argument(..., help="A labelled data set or recording with pictures."),
    out: Path = typer.Option(..., "--out", help="The model to write (.onnx); its card goes beside it."),
    epochs: int = typer.Option(100, min=1),
    imgsz: int = typer.Option(640, min=32, help="Side of the net's square input in pixels, a multiple of 32."),
    batch: int = typer.Option(16, min=1),
    seed: int = typer.Option(0, min=0),
    size: str = typer.Option("nano", help="pico (for CPU-only machines), nano or small."),
    workers: int = typer.Option(2, min=0, help="Processes that load pictures."),
    start: Path | None = typer.Option(None, "--from", help="An ultralytics checkpoint (.pt) to go on from."),
    val_fraction: float | None = typer.Option(
        None, help="Split anew: this share of the photographs validates (0.2 where the data has no split)."
    ),
    half: bool = typer.Option(False, "--half", help="Store the weights as 16-bit floats: half the file."),
    keep: Path | None = typer.Option(None, help="Leave checkpoints and curves in this folder."),
    step: int | None = typer.Option(None, min=1, help="Pictures to an optimizer step.", show_default="the batch"),
    device: str = typer.Option("", help="cpu, 0, ...; the best there is by default."),
    windows: int = typer.Option(
        0,
        min=0,
        help="Learn from so many windows of imgsz x imgsz cut out of each picture, not from whole ones scaled.",
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
    _check(out, imgsz, val_fraction)
    size_of_input = _input_size(input_size)
    from simjudge.perception.model_card import card, write_card
    from simjudge.perception.train import TrainingOptions, Watcher
    from simjudge.perception.train import train as run
    from simjudge.perception.training_source import read_split

    split, read_losses = read_split(data, val_fraction, seed)
    counts = split.counts()
    said = "the data's own split" if split.own else "split by source photograph"
    say(
        f"{counts['train_pictures']} pictures ({counts['train_objects']} objects) to train, "
        f"{counts['valid_pictures']} ({counts['valid_objects']}) to validate: {said}"
    )
    if split.moved:
        say(f"warning: {split.moved} valid pictures moved to train: variants of their photograph are there")
    if split.kept_from_test:
        say(f"warning: {split.kept_from_test} pictures not used: variants of their photograph are on the test side")
    options = TrainingOptions(
        epochs, imgsz, batch, seed, size, workers, start, half, keep, device, step or 0, windows, size_of_input
    )

    class Shown(Watcher):
        def epoch_done(self, epoch: Epoch, of: int) -> None:
            loss = " ".join(f"{name} {value:.3f}" for name, value in epoch.loss.items())
            say(f"epoch {epoch.number}/{of}: loss {loss}; mAP50 {epoch.map50:.3f}, mAP50-95 {epoch.map50_95:.3f}")

        def batch_done(self, done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

    columns = (TextColumn("training"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("training", total=None)
        training, losses = run(split, out, options, Shown())
    if training.stopped:
        say(f"stopped after {len(training.epochs)} of {epochs} epochs; the best weights so far are exported")
    facts = card(out, data, shlex.join(["simjudge", *sys.argv[1:]]), split, options, training)
    write_card(facts, out)
    _print_result(out, training.best)
    finish(read_losses, losses)


def _check(out: Path, imgsz: int, val_fraction: float | None) -> None:
    if out.suffix.lower() != ".onnx":
        raise UsageError(f"--out {out}: give a name that ends in .onnx")
    try:  # now, not after hours of training
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out.parent):
            pass
    except OSError as error:
        raise SimjudgeError(f"{out}: cannot be written to: {error.strerror}") from error
    if imgsz % 32:
        raise UsageError(f"--imgsz {imgsz}: must be a multiple of 32")
    if val_fraction is not None and not 0 < val_fraction < 1:
        raise UsageError(f"--val-fraction {val_fraction}: must lie between 0 and 1")


def _input_size(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    width, sign, height = text.lower().partition("x")
    if not sign or not width.isdecimal() or not height.isdecimal() or int(width) % 32 or int(height) % 32:
        raise UsageError(f"--input {text}: WIDTHxHEIGHT is needed, multiples of 32, e.g. 640x384")
    if not int(width) or not int(height):
        raise UsageError(f"--input {text}: must be more than 0")
    return int(width), int(height)


def _print_result(out: Path, best: Epoch | None) -> None:
    if best is None:
        raise SimjudgeError(f"{out}: training gave no validated weights")
    if best.map50 == 0:
        say(f"warning: {out} finds nothing on the validation side: train for more epochs, or look at the labels")
    sys.stdout.write(f"{out}: mAP50 {best.map50:.3f}, mAP50-95 {best.map50_95:.3f} on valid (epoch {best.number})\n")
