"""Options that several commands share, and what they mean to the library."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from simjudge.errors import UsageError

if TYPE_CHECKING:
    from simjudge.context.method import Method
    from simjudge.studies.inputs import Side


class Preset(str, Enum):
    """Named settings."""

    PAPER = "paper"
    CPD = "cpd"


A_PREDICTIONS = typer.Option(None, "--a-predictions", help="Predictions for A, made before.")
B_PREDICTIONS = typer.Option(None, "--b-predictions", help="Predictions for B, made before.")
MODEL = typer.Option(None, "--model", help="Run this detector on both: .onnx, .pt, or .yaml with colour thresholds.")
PRESET = typer.Option(Preset.PAPER, help="paper: the method's defaults; cpd: as the authors' public tool has it.")
THETA = typer.Option(None, help="Similarity threshold. [default: 0.8; cpd 0.9]")
PATCH = typer.Option(None, help="Patch, height x width in pixels. [default: 120x120; cpd 64x64]")
MASK_FACTOR = typer.Option(None, help="Blank the patch outside the box grown by this. [default: no; cpd 1.5]")
CLASS_BLIND = typer.Option(False, "--class-blind", help="One mask for all classes: Eq. [2] read literally.")
MIN_SCORE = typer.Option(None, help="Predictions below this score do not take part. [default: 0.25]")
METRIC = typer.Option("iou", help="What performance is: iou, detected (IoU of 0.5 or more) or score.")


def parse_patch(text: str) -> tuple[int, int]:
    """Height and width from "120x120" or "120"."""
    parts = text.lower().split("x")
    if len(parts) <= 2 and all(part.strip().isdecimal() for part in parts):
        return int(parts[0]), int(parts[-1])
    raise UsageError(f"patch {text!r}: write height x width in pixels, as in 120x120")


def method_of(
    preset: Preset,
    theta: float | None,
    patch: str | None,
    mask_factor: float | None,
    class_blind: bool,
    min_score: float | None,
) -> Method:
    """The preset, with what was given changed."""
    from simjudge.context.method import PRESETS

    method = PRESETS[preset.value]
    return replace(
        method,
        theta=method.theta if theta is None else theta,
        patch=method.patch if patch is None else parse_patch(patch),
        mask_factor=method.mask_factor if mask_factor is None else mask_factor,
        class_aware=not class_blind,
        min_score=method.min_score if min_score is None else min_score,
    )


def read_sides(
    a: Path, b: Path, a_predictions: Path | None, b_predictions: Path | None, model: Path | None
) -> tuple[Side, Side]:
    """Read both sets; where a model is given, run it on every side whose predictions were not given."""
    from simjudge.studies.inputs import read_side

    sides = (read_side(a, a_predictions), read_side(b, b_predictions))
    if model is None:
        return sides
    from simjudge.commands.common import progress, say
    from simjudge.perception.detector import detect_set, load_detector

    detector = load_detector(model)
    done = []
    for side in sides:
        if side.predictions_path is not None:
            done.append(side)
            continue
        if side.frames.predictions is not None:
            say(f"{side.frames.name}: its own predictions are set aside, since --model was given")
        with progress(f"detecting on {side.frames.name}") as advance:
            done.append(replace(side, frames=detect_set(side.frames, detector, advance=advance)))
    return done[0], done[1]
