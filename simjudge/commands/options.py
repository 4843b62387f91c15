"""Options that several commands share, and what they mean to the library."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

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
THETA = typer.Option(None, help="Similarity threshold.", show_default="0.8; cpd 0.9")
PATCH = typer.Option(None, help="Patch, height x width in pixels.", show_default="120x120; cpd 64x64")
MASK_FACTOR = typer.Option(None, help="Blank the patch outside the box grown by this.", show_default="no; cpd 1.5")
CLASS_BLIND = typer.Option(False, "--class-blind", help="One mask for all classes: Eq. [2] read literally.")
MIN_SCORE = typer.Option(None, help="Predictions below this score do not take part.", show_default="0.25")
METRIC = typer.Option("iou", help="What performance is: iou, detected (IoU of 0.5 or more) or score.")


def parse_patch(text: str) -> tuple[int, int]:
    """Height and width from "120x120" or "120"."""
    from simjudge.context.method import patch_size

    return patch_size(text)


def method_of(
    preset: Preset,
    theta: float | None,
    patch: str | None,
    mask_factor: float | None,
    class_blind: bool,
    min_score: float | None,
) -> Method:
    """The preset, with what was given changed."""
    from simjudge.context.method import preset_with

    return preset_with(preset.value, theta, patch, mask_factor, min_score, class_aware=not class_blind)


def read_sides(
    a: Path, b: Path, a_predictions: Path | None, b_predictions: Path | None, model: Path | None
) -> tuple[Side, Side]:
    """Read both sets; where a model is given, run it on every side whose predictions were not given."""
    from simjudge.commands.common import progress, say
    from simjudge.studies.comparison import read_sides as read

    return read((a, a_predictions), (b, b_predictions), model, say, progress)
