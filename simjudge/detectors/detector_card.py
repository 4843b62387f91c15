"""The model card of a trained detector."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from simjudge.detectors.model_card import card_page, common_facts, epoch_facts, training_text
from simjudge.detectors.training_data import TrainingSplit
from simjudge.detectors.training_settings import TrainingSettings
from simjudge.detectors.ultralytics_training import Training


def make_card(
    model: Path, data: Path, command: str, split: TrainingSplit, settings: TrainingSettings, training: Training
) -> dict[str, Any]:
    """Everything worth knowing about a freshly trained detector, ready for JSON.

    Args:
        data: what was trained on; only its name and content hash go into the card.
    """
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


def format_markdown(facts: dict[str, Any]) -> str:
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


def _image_use(options: dict[str, Any]) -> str:
    side = options["imgsz"]
    if options["windows"]:
        return f"{options['windows']} windows of {side} x {side} pixels cut out of each, for training and validation"
    return f"whole, scaled to {side} pixels"
