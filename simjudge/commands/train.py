"""`simjudge train DATA --out M.onnx`: train a detector, or a net that gives every pixel a class."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import typer

from simjudge.detectors.training_settings import TrainingSettings
from simjudge.terminal.common import exit_if_lost, print_note, progress
from simjudge.terminal.options import takes_settings


@takes_settings
def train(
    settings: TrainingSettings,
    data: Path = typer.Argument(..., help="A labelled data set or recording with images."),
    out: Path = typer.Option(..., "--out", help="The model to write (.onnx); its card goes beside it."),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace a model or a card that is there."),
) -> None:
    """Train a detector, or a net that gives every pixel a class, offline, and export its best weights to ONNX.

    All variants of one source photograph stay on one side of the split. Ctrl-C ends the training early and exports the
    best weights so far. Detectors are trained with ultralytics, which is AGPL-3.0; segment-semantic is LR-ASPP of
    torchvision, from random weights.
    """
    from simjudge.detectors.training import train as run

    trained = run(
        data,
        out,
        settings=settings,
        overwrite=overwrite,
        command=shlex.join(["simjudge", *sys.argv[1:]]),
        progress=progress,
        log=print_note,
    )
    sys.stdout.write(f"{out}: {trained.score}\n")
    exit_if_lost(trained.losses)
