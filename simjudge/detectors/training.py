"""Training a detector: from labelled data to an ONNX file with its model card."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.files import check_output, output_path
from simjudge.core.progress import Log, ProgressBar, no_log, no_progress
from simjudge.core.settings import takes_setting_keywords
from simjudge.core.text import Json, JsonMapping
from simjudge.detectors.detector_settings import SEMANTIC, TrainingSettings
from simjudge.detectors.model_card import (
    TrainedModel,
    card_page,
    card_paths,
    common_facts,
    epoch_facts,
    training_text,
    write_card,
)
from simjudge.detectors.semantic_training import TrainedSemanticNet, train_net
from simjudge.detectors.training_data import TrainingSplit, read_split
from simjudge.detectors.ultralytics_training import Epoch, Training, TrainingCallbacks, train_with_ultralytics


def make_card(
    model: Path, data: Path, command: str, split: TrainingSplit, settings: TrainingSettings, training: Training
) -> Json:
    """Everything worth knowing about a freshly trained detector, ready for JSON."""
    best = training.best
    return {
        **common_facts(model, data, command, split, training),
        "options": {
            "size": settings.size if settings.start is None else f"as in {settings.start.name}",
            "imgsz": settings.imgsz,
            "windows": settings.windows,
            "input": list(settings.input_size or (settings.imgsz, settings.imgsz)),
            "epochs": settings.epochs,
            "batch": settings.batch,
            "step": settings.step or settings.batch,
            "seed": settings.seed,
            "mirrored": training.flipped,
            "weights": "16-bit" if settings.half else "32-bit",
        },
        "valid": None if best is None else {"epoch": best.number, "map50": best.map50, "map50_95": best.map50_95},
        **epoch_facts(training),
    }


def format_markdown(facts: Json) -> str:
    """Format a card as a page."""
    options, valid = facts["options"], facts["valid"]
    rows = {
        "classes": ", ".join(facts["classes"]),
        "size": f"{options['size']}, input {' x '.join(map(str, options['input']))}, {options['weights']} weights",
        "pictures": _image_use(options),
        "training": training_text(
            facts,
            f"a step each {options['step']} pictures, seed {options['seed']}, "
            f"{'with' if options['mirrored'] else 'without'} left-right mirroring",
        ),
    }
    scores = {}
    if valid is not None:
        scores["mAP50 on valid"] = f"{valid['map50']:.3f} (epoch {valid['epoch']})"
        scores["mAP50-95 on valid"] = f"{valid['map50_95']:.3f}"
    licence = "The weights were trained with ultralytics (AGPL-3.0): see its licence before distributing them."
    return card_page(facts, "A detector", rows, scores) + f"\n{licence}\n"


def _image_use(options: Json) -> str:
    side = options["imgsz"]
    if options["windows"]:
        return f"{options['windows']} windows of {side} x {side} pixels cut out of each, for training and validation"
    return f"whole, scaled to {side} pixels"


@dataclass(frozen=True, repr=False)
class TrainedDetector(TrainedModel):
    """A detector that was just trained.

    Attributes:
        best: the epoch whose weights were exported.
        training: all epochs, and whether a person stopped the training.
    """

    best: Epoch
    training: Training
    kind: ClassVar[str] = "detector"

    @property
    def scores(self) -> dict[str, float]:
        """Mean average precision on the validation side."""
        return {"mAP50": self.best.map50, "mAP50-95": self.best.map50_95}


@takes_setting_keywords
def train(
    data: str | Path,
    out: str | Path,
    *,
    settings: TrainingSettings,
    overwrite: bool = False,
    command: str | None = None,
    progress: ProgressBar = no_progress,
    log: Log = no_log,
) -> TrainedDetector | TrainedSemanticNet:
    """Train a detector with ultralytics, or a net that gives every pixel a class, offline; export the best weights.

    All variants of one photograph stay on one side of the split. Ctrl-C ends the training early and exports the best
    weights so far. Ultralytics is AGPL-3.0; the task segment-semantic does not need it.

    Args:
        data: a labelled data set or recording with images, for segment-semantic with label pictures.
        out: the model to write (.onnx); its card is written beside it.
        settings: all settings at once; keywords change single ones.
        overwrite: whether a model or a card that is there may be replaced.
        command: what the card says was called; this call by default.
        progress: opens a progress bar that counts batches.
        log: receives a line about the split and one about every epoch.

    Returns:
        What was trained. `load_detector(result.path)` loads a detector.

    Raises:
        UsageError: a setting makes no sense.
        SimjudgeError: the data cannot be read, `out` cannot be written, or ultralytics is not installed.
    """
    data, out = Path(data), output_path(Path(out))
    _check_writable(out)
    for path in (out, *card_paths(out)):
        check_output(path, lambda _: False, overwrite=overwrite)
    if settings.keep is not None and not overwrite:
        check_output(settings.keep)
    semantic = settings.task == SEMANTIC
    split, losses = read_split(
        data,
        settings.val_fraction,
        settings.seed,
        semantic=semantic,
        allow_outside=settings.allow_outside,
        thinning=settings.thinning,
    )
    _log_split(split, log, semantic=semantic)
    command = command or _as_call(data, out, settings.given())
    if semantic:
        return train_net(split, losses, data, out, settings, command, progress=progress, log=log)

    def epoch_done(epoch: Epoch, of: int) -> None:
        loss = " ".join(f"{name} {value:.3f}" for name, value in epoch.loss.items())
        log(f"epoch {epoch.number}/{of}: loss {loss}; mAP50 {epoch.map50:.3f}, mAP50-95 {epoch.map50_95:.3f}")

    with progress("training") as advance:
        training, left_out = train_with_ultralytics(split, out, settings, TrainingCallbacks(epoch_done, advance))
    losses.extend(left_out)
    if training.stopped:
        log(f"stopped after {len(training.epochs)} of {settings.epochs} epochs; the best weights so far are exported")
    facts = make_card(out, data, command, split, settings, training)
    write_card(facts, format_markdown(facts), out)
    if training.best is None:
        raise SimjudgeError(f"{out}: training gave no validated weights")
    if training.best.map50 == 0:
        log(f"warning: {out} finds nothing on the validation side: train for more epochs, or look at the labels")
    return TrainedDetector(out, facts, losses, training.best, training)


def _check_writable(out: Path) -> None:
    if out.suffix.lower() != ".onnx":
        raise UsageError(f"--out {out}: give a name that ends in .onnx")
    try:  # now, not after hours of training
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out.parent):
            pass
    except OSError as error:
        raise SimjudgeError(f"{out}: cannot be written to: {error.strerror}") from error


def _log_split(split: TrainingSplit, log: Log, *, semantic: bool) -> None:
    counts = split.counts()
    origin = "the data's own split" if split.own else "split by source photograph"
    objects = ["", ""]
    if not semantic:
        objects = [f" ({counts['train_objects']} objects)", f" ({counts['valid_objects']})"]
    log(
        f"{counts['train_pictures']} pictures{objects[0]} to train, "
        f"{counts['valid_pictures']}{objects[1]} to validate: {origin}"
    )
    if split.moved:
        log(f"warning: {split.moved} valid pictures moved to train: variants of their photograph are there")
    if split.kept_from_test:
        log(f"warning: {split.kept_from_test} pictures not used: variants of their photograph are on the test side")


def _as_call(data: Path, out: Path, settings: JsonMapping) -> str:
    given = "".join(f", {name}={value!r}" for name, value in settings.items())
    return f"simjudge.train({str(data)!r}, {str(out)!r}{given})"
