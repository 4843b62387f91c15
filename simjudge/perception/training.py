"""Training a detector: from labelled data to an ONNX file with its model card."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simjudge.core.display import Summary
from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.files import check_output, output_path
from simjudge.core.progress import Log, ProgressBar, no_log, no_progress
from simjudge.core.setting_keywords import takes_setting_keywords
from simjudge.perception.model_card import card_paths, make_card, write_card
from simjudge.perception.training_data import TrainingSplit
from simjudge.perception.training_settings import TrainingSettings
from simjudge.perception.training_source import read_split
from simjudge.perception.ultralytics_training import (
    Epoch,
    Training,
    TrainingCallbacks,
    train_with_ultralytics,
)


@dataclass(frozen=True, repr=False)
class TrainedDetector:
    """A detector that was just trained.

    Attributes:
        path: the ONNX file; its card lies beside it as .json and .md.
        best: the epoch whose weights were exported.
        training: all epochs, and whether a person stopped the training.
        card: the content of the model card.
        losses: images that were left out.
    """

    path: Path
    best: Epoch
    training: Training
    card: dict[str, Any]
    losses: Losses

    def summary(self) -> Summary:
        """What the detector was made from and how well it does, for a person to read."""
        data = self.card["data"]
        return Summary(
            str(self.path),
            "detector",
            [
                ("trained on", f"{data['train_pictures']} pictures, {data['train_objects']} objects"),
                ("validated on", f"{data['valid_pictures']} pictures, {data['valid_objects']} objects"),
                ("classes", ", ".join(self.training.class_names)),
                ("epochs", f"{len(self.training.epochs)}, best {self.best.number}"),
                ("mAP50", f"{self.best.map50:.3f}"),
                ("mAP50-95", f"{self.best.map50_95:.3f}"),
            ],
        )

    def __repr__(self) -> str:
        """The summary as text."""
        return self.summary().text()

    def _repr_html_(self) -> str:
        """The summary for notebooks."""
        return self.summary().html()


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
) -> TrainedDetector:
    """Train a detector with ultralytics, offline, and export its best weights to ONNX.

    All variants of one photograph stay on one side of the split. Ctrl-C ends the training early and exports the best
    weights so far. Ultralytics is AGPL-3.0.

    Args:
        data: a labelled data set or recording with images.
        out: the model to write (.onnx); its card is written beside it.
        settings: all settings at once; keywords change single ones.
        overwrite: whether a model or a card that is there may be replaced.
        command: what the card says was called; this call by default.
        progress: opens a progress bar that counts batches.
        log: receives a line about the split and one about every epoch.

    Returns:
        The trained detector. `load_detector(result.path)` loads it.

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
    split, losses = read_split(
        data, settings.val_fraction, settings.seed, allow_outside=settings.allow_outside
    )
    _log_split(split, log)

    def epoch_done(epoch: Epoch, of: int) -> None:
        loss = " ".join(f"{name} {value:.3f}" for name, value in epoch.loss.items())
        log(f"epoch {epoch.number}/{of}: loss {loss}; mAP50 {epoch.map50:.3f}, mAP50-95 {epoch.map50_95:.3f}")

    with progress("training") as advance:
        training, left_out = train_with_ultralytics(split, out, settings, TrainingCallbacks(epoch_done, advance))
    losses.extend(left_out)
    if training.stopped:
        log(f"stopped after {len(training.epochs)} of {settings.epochs} epochs; the best weights so far are exported")
    facts = make_card(out, data, command or _as_call(data, out, settings.given()), split, settings, training)
    write_card(facts, out)
    if training.best is None:
        raise SimjudgeError(f"{out}: training gave no validated weights")
    if training.best.map50 == 0:
        log(f"warning: {out} finds nothing on the validation side: train for more epochs, or look at the labels")
    return TrainedDetector(out, training.best, training, facts, losses)


def _check_writable(out: Path) -> None:
    if out.suffix.lower() != ".onnx":
        raise UsageError(f"--out {out}: give a name that ends in .onnx")
    try:  # now, not after hours of training
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out.parent):
            pass
    except OSError as error:
        raise SimjudgeError(f"{out}: cannot be written to: {error.strerror}") from error


def _log_split(split: TrainingSplit, log: Log) -> None:
    counts = split.counts()
    origin = "the data's own split" if split.own else "split by source photograph"
    log(
        f"{counts['train_pictures']} pictures ({counts['train_objects']} objects) to train, "
        f"{counts['valid_pictures']} ({counts['valid_objects']}) to validate: {origin}"
    )
    if split.moved:
        log(f"warning: {split.moved} valid pictures moved to train: variants of their photograph are there")
    if split.kept_from_test:
        log(f"warning: {split.kept_from_test} pictures not used: variants of their photograph are on the test side")


def _as_call(data: Path, out: Path, settings: Mapping[str, Any]) -> str:
    given = "".join(f", {name}={value!r}" for name, value in settings.items())
    return f"simjudge.train({str(data)!r}, {str(out)!r}{given})"
