"""Training a detector with ultralytics: offline, repeatable, the best weights exported to ONNX.

Ultralytics is AGPL-3.0, an extra, imported only where it is used.
"""

from __future__ import annotations

import contextlib
import re
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.installed import CHECKPOINT, find_file
from simjudge.core.progress import Advance
from simjudge.detectors.checkpoint import open_checkpoint
from simjudge.detectors.export import export_onnx
from simjudge.detectors.training_data import TrainingSplit, write_working_folder
from simjudge.detectors.training_settings import SIZES, TrainingSettings
from simjudge.detectors.training_windows import cut_windows
from simjudge.detectors.ultralytics_setup import import_ultralytics

_SIDED = re.compile(r"(^|[^a-z])(left|right)([^a-z]|$)", re.IGNORECASE)


@dataclass(frozen=True)
class Epoch:
    """How one epoch went: losses by name, and what the weights reach on the validation side, in [0, 1]."""

    number: int
    seconds: float
    loss: dict[str, float]
    map50: float
    map50_95: float


@dataclass
class Training:
    """What came out of a training.

    Attributes:
        best: the one whose weights were exported.
        stopped: whether a person stopped it (Ctrl-C).
        class_names: the model's classes, in its order.
        flipped: whether images were mirrored left to right at random.
    """

    epochs: list[Epoch] = field(default_factory=list)
    best: Epoch | None = None
    seconds: float = 0.0
    stopped: bool = False
    class_names: list[str] = field(default_factory=list)
    flipped: bool = True
    versions: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TrainingCallbacks:
    """What is called while a training runs.

    Attributes:
        epoch_done: receives every finished epoch and how many there are to be.
        batch_done: receives how many batches are done, counted over all epochs, and how many there are to be.
    """

    epoch_done: Callable[[Epoch, int], None]
    batch_done: Advance


def train_with_ultralytics(
    split: TrainingSplit, out: Path, settings: TrainingSettings, callbacks: TrainingCallbacks
) -> tuple[Training, Losses]:
    """Train, and export the weights that did best on the validation side.

    Ctrl-C ends the training early; the best weights so far are exported.
    """
    ultralytics = import_ultralytics()
    losses = Losses()
    with tempfile.TemporaryDirectory(prefix="simjudge-train-") as temporary:
        folder = Path(temporary)
        (folder / "data").mkdir()
        shown = _windowed(split, settings) if settings.windows else split
        names = list(write_working_folder(shown, folder / "data", losses).values())
        training = Training(class_names=names, flipped=not any(_SIDED.search(n) for n in names))
        training.versions = {"ultralytics": str(ultralytics.__version__), **_torch_version()}
        # Ultralytics prints to stdout, which is for results.
        with contextlib.redirect_stdout(sys.stderr):
            run = (settings.keep or folder / "run").resolve()
            _run(ultralytics, folder, run, settings, training, callbacks)
            best = run / "weights" / "best.pt"
            if not best.exists():
                raise SimjudgeError("training was stopped before the first epoch was done; there is nothing to export")
            out.parent.mkdir(parents=True, exist_ok=True)
            export_onnx(best, out, settings.input_size or (settings.imgsz, settings.imgsz), half=settings.half)
    return training, losses


def _windowed(split: TrainingSplit, settings: TrainingSettings) -> TrainingSplit:
    train, valid = (
        [cut_windows(frames, settings.imgsz, settings.windows, settings.seed) for frames in side]
        for side in (split.train, split.valid)
    )
    return replace(split, train=train, valid=valid)


def _run(
    ultralytics: Any,
    folder: Path,
    run: Path,
    settings: TrainingSettings,
    training: Training,
    callbacks: TrainingCallbacks,
) -> None:
    """Train on what lies in `folder`; the best weights end up in `run`."""
    model = _model(ultralytics, folder, settings)
    _watch(model, training, callbacks)
    begin = time.monotonic()
    try:
        model.train(
            data=str(folder / "data" / "data.yaml"),
            epochs=settings.epochs,
            imgsz=settings.imgsz,
            batch=settings.batch,
            nbs=settings.step or settings.batch,
            seed=settings.seed,
            workers=settings.workers,
            device=settings.device or None,
            deterministic=True,
            amp=False,  # the check that comes with it downloads a model
            fliplr=0.5 if training.flipped else 0.0,
            pretrained=settings.start is not None,  # False would start from random weights, checkpoint or not
            plots=False,
            verbose=False,
            project=str(run.parent),
            name=run.name,
            exist_ok=True,
        )
    except KeyboardInterrupt:
        training.stopped = True
    training.seconds = time.monotonic() - begin
    if training.epochs:
        # Of equally good ones ultralytics keeps the last.
        training.best = max(training.epochs, key=lambda e: (e.map50_95, e.number))


def _model(ultralytics: Any, folder: Path, settings: TrainingSettings) -> Any:
    if settings.start is not None:
        return open_checkpoint(find_file(settings.start, CHECKPOINT), trust=settings.trust)
    own = Path(ultralytics.__file__).parent / "cfg" / "models" / "11" / "yolo11.yaml"
    content = yaml.safe_load(own.read_text(encoding="utf-8"))
    depth, width = SIZES[settings.size]
    content["scales"] = {"n": [depth, width, 1024]}
    file = folder / "yolo11n.yaml"  # ultralytics reads the scale's letter from the name
    file.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return ultralytics.YOLO(str(file), task="detect", verbose=False)


def _watch(model: Any, training: Training, callbacks: TrainingCallbacks) -> None:
    batches, trained = 0, 0

    def batch_done(trainer: Any) -> None:
        nonlocal batches, trained
        batches, trained = batches + 1, trainer.epoch + 1
        callbacks.batch_done(batches, len(trainer.train_loader) * trainer.epochs)

    def epoch_done(trainer: Any) -> None:
        if len(training.epochs) == trained:  # called once more after the last, for the best weights
            return
        metrics = trainer.metrics
        epoch = Epoch(
            len(training.epochs) + 1,
            float(trainer.epoch_time),
            {str(k): round(float(v), 5) for k, v in (trainer.tloss or {}).items()},
            float(metrics.get("metrics/mAP50(B)", 0.0)),
            float(metrics.get("metrics/mAP50-95(B)", 0.0)),
        )
        training.epochs.append(epoch)
        callbacks.epoch_done(epoch, trainer.epochs)

    model.add_callback("on_train_batch_end", batch_done)
    model.add_callback("on_fit_epoch_end", epoch_done)


def _torch_version() -> dict[str, str]:
    import torch  # noqa: PLC0415 - an extra

    return {"torch": str(torch.__version__)}
