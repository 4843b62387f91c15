"""A model card: what a trained detector was made from, how, and how well it does."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from simjudge.core.files import atomic_file, hash_files
from simjudge.core.version import version
from simjudge.perception.training_data import TrainingSplit
from simjudge.perception.training_settings import TrainingSettings
from simjudge.perception.ultralytics_training import Training


def make_card(
    model: Path, data: Path, command: str, split: TrainingSplit, settings: TrainingSettings, training: Training
) -> dict[str, Any]:
    """Everything worth knowing about a freshly trained model, ready for JSON.

    Args:
        model: the exported file.
        data: what was trained on; only its name and content hash go into the card.
        command: as typed.
        split: what was learnt from.
        settings: how.
        training: what came out.
    """
    best = training.best
    return {
        "model": model.name,
        "sha256": hash_files(model),
        "bytes": model.stat().st_size,
        "simjudge": version(),
        "made": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "command": command,
        "data": {
            "name": data.resolve().name,
            "sha256": hash_files(data),
            "split": "the data's own" if split.own else "by source photograph, at random",
            **split.counts(),
        },
        "classes": training.class_names,
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
        "stopped_early": training.stopped,
        "seconds": round(training.seconds, 1),
        "valid": None if best is None else {"epoch": best.number, "map50": best.map50, "map50_95": best.map50_95},
        "epochs": [asdict(e) for e in training.epochs],
        "versions": {"python": platform.python_version(), **training.versions},
        "machine": f"{platform.system()} {platform.machine()}",
    }


def card_paths(model: Path) -> tuple[Path, Path]:
    """The files of a model's card, JSON and Markdown: its name with other suffixes.

    Args:
        model: the path of the model.
    """
    return model.with_suffix(".json"), model.with_suffix(".md")


def write_card(facts: dict[str, Any], model: Path) -> tuple[Path, Path]:
    """Write a card beside its model, as JSON and as Markdown.

    Args:
        facts: the content of the card, from `make_card`.
        model: the path of the model; the card gets its name with other suffixes.

    Returns:
        The paths of the JSON and of the Markdown file.
    """
    as_json, as_text = card_paths(model)
    with atomic_file(as_json) as temporary:
        temporary.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    with atomic_file(as_text) as temporary:
        temporary.write_text(format_markdown(facts), encoding="utf-8")
    return as_json, as_text


def format_markdown(facts: dict[str, Any]) -> str:
    """Format a card as a page.

    Args:
        facts: the content of the card, from `make_card`.

    Returns:
        Markdown.
    """
    data, options, valid = facts["data"], facts["options"], facts["valid"]
    lines = [
        f"# {facts['model']}",
        "",
        f"A detector trained by simjudge {facts['simjudge']} on {facts['made'][:10]}, {facts['bytes'] / 1e6:.1f} MB.",
        "",
        "| | |",
        "| --- | --- |",
        f"| command | `{facts['command']}` |",
        f"| data | {data['name']}, SHA-256 `{data['sha256'][:16]}` |",
        f"| split | {data['split']}; {data['moved_from_valid_to_train']} pictures moved from valid to train |",
        f"| trained on | {data['train_pictures']} pictures, {data['train_objects']} objects |",
        f"| validated on | {data['valid_pictures']} pictures, {data['valid_objects']} objects |",
        f"| classes | {', '.join(facts['classes'])} |",
        f"| size | {options['size']}, input {' x '.join(map(str, options['input']))}, {options['weights']} weights |",
        f"| pictures | {_image_use(options)} |",
        f"| training | {_training(facts)} |",
        f"| versions | {', '.join(f'{k} {v}' for k, v in facts['versions'].items())} |",
    ]
    if valid is not None:
        lines.append(f"| mAP50 on valid | {valid['map50']:.3f} (epoch {valid['epoch']}) |")
        lines.append(f"| mAP50-95 on valid | {valid['map50_95']:.3f} |")
    lines += [
        "",
        "The weights were trained with ultralytics (AGPL-3.0): see its licence before distributing them.",
        "",
    ]
    return "\n".join(lines)


def _image_use(options: dict[str, Any]) -> str:
    side = options["imgsz"]
    if options["windows"]:
        return f"{options['windows']} windows of {side} x {side} pixels cut out of each, for training and validation"
    return f"whole, scaled to {side} pixels"


def _training(facts: dict[str, Any]) -> str:
    options = facts["options"]
    return (
        f"{len(facts['epochs'])} of {options['epochs']} epochs, batch {options['batch']}, "
        f"a step each {options['step']} pictures, seed {options['seed']}, "
        f"{'with' if options['mirrored'] else 'without'} left-right mirroring, {facts['seconds'] / 60:.0f} min on "
        f"{facts['machine']}{' (stopped early)' if facts['stopped_early'] else ''}"
    )
