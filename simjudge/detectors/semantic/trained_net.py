"""From labelled pictures to a net that gives every pixel a class, with its model card."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from simjudge.core.errors import Losses
from simjudge.core.progress import Log, ProgressBar
from simjudge.detectors.model_card import card_page, common_facts, epoch_facts, training_text, write_card
from simjudge.detectors.semantic.lraspp import WIDTHS
from simjudge.detectors.semantic.training import (
    DEFAULT_INPUT,
    SemanticEpoch,
    SemanticTraining,
    train_semantic,
)
from simjudge.detectors.trained_model import TrainedModel
from simjudge.detectors.training_data import TrainingSplit
from simjudge.detectors.training_settings import TrainingSettings


@dataclass(frozen=True, repr=False)
class TrainedSemanticNet(TrainedModel):
    """A net that was just trained.

    Attributes:
        best: the epoch whose weights were exported.
        training: all epochs, and whether a person stopped the training.
    """

    best: SemanticEpoch
    training: SemanticTraining
    kind: ClassVar[str] = "semantic segmentation net"

    @property
    def scores(self) -> dict[str, float]:
        """What the pixels of the validation side are found with."""
        return {"mean class IoU": self.best.mean_iou, "pixel accuracy": self.best.accuracy}


def train_net(
    split: TrainingSplit, losses: Losses, data: Path, out: Path, settings: TrainingSettings, command: str, *,
    progress: ProgressBar, log: Log,
) -> TrainedSemanticNet:  # fmt: skip
    """Train a net on a split of a set, and write its card."""

    def epoch_done(epoch: SemanticEpoch, of: int) -> None:
        log(
            f"epoch {epoch.number}/{of}: loss {epoch.loss:.3f}; mean class IoU {epoch.mean_iou:.3f}, "
            f"pixel accuracy {epoch.accuracy:.3f}"
        )

    with progress("training") as advance:
        training, left_out = train_semantic(split, out, settings, epoch_done, advance)
    losses.extend(left_out)
    if training.stopped:
        log(f"stopped after {len(training.epochs)} of {settings.epochs} epochs; the best weights so far are exported")
    assert training.best is not None  # noqa: S101 - else there would have been nothing to export
    facts = _card(out, data, command, split, settings, training)
    write_card(facts, _page(facts), out)
    return TrainedSemanticNet(out, facts, losses, training.best, training)


def _card(
    model: Path, data: Path, command: str, split: TrainingSplit, settings: TrainingSettings, training: SemanticTraining
) -> dict[str, Any]:
    best = training.best
    assert best is not None  # noqa: S101 - there is an exported model
    common = common_facts(model, data, command, split, training)
    return {
        **common,
        "task": settings.task,
        "data": {key: value for key, value in common["data"].items() if not key.endswith("objects")},
        "options": {
            "architecture": "LR-ASPP, MobileNetV3 large (reduced tail, dilated)",
            "size": settings.size,
            "width": WIDTHS[settings.size],
            "input": list(settings.input_size or DEFAULT_INPUT),
            "epochs": settings.epochs,
            "batch": settings.batch,
            "seed": settings.seed,
        },
        "valid": {
            "epoch": best.number, "mean_iou": best.mean_iou, "pixel_accuracy": best.accuracy, "iou": training.iou,
        },
        **epoch_facts(training),
    }  # fmt: skip


def _page(facts: dict[str, Any]) -> str:
    options, valid = facts["options"], facts["valid"]
    rows = {
        "architecture": f"{options['architecture']}, channels x {options['width']:g}, random weights",
        "input": " x ".join(map(str, options["input"])),
        "training": training_text(facts, f"seed {options['seed']}, mirrored and scaled at random"),
    }
    scores = {
        "mean class IoU on valid": f"{valid['mean_iou']:.3f} (epoch {valid['epoch']})",
        "pixel accuracy on valid": f"{valid['pixel_accuracy']:.3f}",
        **{f"IoU of {name}": "-" if value is None else f"{value:.3f}" for name, value in valid["iou"].items()},
    }
    return card_page(facts, "A net that gives every pixel a class,", rows, scores)
