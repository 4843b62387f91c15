"""What an explanation and a fit ask of their inputs: pictures of both sets, a detector, and a folder of their own."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.files import output_path
from simjudge.core.object_tables import Predictions
from simjudge.core.progress import Log, ProgressBar
from simjudge.detectors.class_map import map_classes
from simjudge.detectors.detector import Detector
from simjudge.studies.chosen_patch import Chosen, choose_patch, log_patch
from simjudge.studies.class_numbering import chosen_classes, match_classes
from simjudge.studies.compare_settings import CompareSettings
from simjudge.studies.comparison import Source, paired_frames, read_inputs
from simjudge.studies.inputs import InputSet


def required_detector(settings: CompareSettings) -> Detector:
    """Load the detector of the settings."""
    if settings.model is None:
        raise UsageError("--model: is needed, because the detector must see the changed pictures too")
    from simjudge.detectors.loading import load_detector  # noqa: PLC0415 - slow to import

    return load_detector(settings.model, trust=settings.trust)


def claimed_folder(folder: Path, ours: Collection[str]) -> Path:
    """Make a folder for what is written, unless it holds something else."""
    folder = output_path(folder)
    if folder.is_file():
        raise SimjudgeError(f"{folder}: is a file; --out must be a folder")
    strangers = sorted(path.name for path in folder.iterdir() if path.name not in ours) if folder.is_dir() else []
    if strangers:
        raise SimjudgeError(f"{folder}: holds {strangers[0]!r}, which was not written here; choose another --out")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SimjudgeError(f"{folder}: cannot be made: {error.strerror}") from error
    return folder


def read_pictures(
    a: Source, b: Source, detector: Detector, settings: CompareSettings, log: Log, progress: ProgressBar
) -> tuple[InputSet, InputSet]:
    """Both sets without predictions; frames of pairs in one order."""
    bare = replace(settings, model=None, rename=None, classes=None)
    sides = [replace(side, frames=side.frames.with_predictions(None))
             for side in read_inputs(a, b, bare, own_predictions=False, log=log, progress=progress)]  # fmt: skip
    for side in sides:
        if side.frames.images is None:
            raise SimjudgeError(f"{side.frames.name}: has no pictures; what a camera does cannot be undone in labels")
        # Refused before cameras are compared, which takes minutes.
        map_classes(detector.name, detector.class_names, side.frames, dict(settings.rename or ()))
    if all(side.frames.class_names for side in sides):
        match_classes(sides[0].frames, sides[1].frames)
    if settings.paired:
        # Whether a frame is predicted is not known yet: all are taken for it.
        ready = [side.frames.with_predictions(Predictions.empty()) for side in sides]
        first, second = paired_frames(ready[0], ready[1], settings.pair_tolerance, Losses())
        sides = [replace(side, frames=frames.with_predictions(None))
                 for side, frames in zip(sides, (first, second), strict=True)]  # fmt: skip
    return sides[0], sides[1]


def with_patch(settings: Chosen, sides: tuple[InputSet, InputSet], log: Log) -> Chosen:
    """Settings with the patch that `compare` would take: one for both sets as they are, and for what is changed."""
    sets = chosen_classes(sides[0].frames, sides[1].frames, settings.classes)
    settings = choose_patch(settings, sets)
    log_patch(settings, log)
    return settings
