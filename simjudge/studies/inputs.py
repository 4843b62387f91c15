"""Reading the two sides of a comparison, and saying afterwards what exactly was read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from simjudge.core.errors import UsageError
from simjudge.core.files import hash_files
from simjudge.core.frames import FrameSet
from simjudge.data.clouds import CloudSet
from simjudge.data.sets import image_topics, read_predictions, read_with_format
from simjudge.detectors.detector_settings import Renames
from simjudge.studies.class_numbering import rename_classes
from simjudge.studies.compare_settings import MethodSettings

IN_MEMORY = "memory"
"""The format of a set that was never a file."""


@dataclass(frozen=True)
class InputSet:
    """One side of a comparison: where it is from, and the set that was read.

    Attributes:
        path: of the set; None where it was given in memory.
        predictions_path: of predictions from elsewhere; None where the set's own count.
        format: of the path, as `simjudge.data.sets.sniff_format` says it; IN_MEMORY for a set that was given in memory.
        range_image: rows, columns and elevations of range images, see `RangeGrid.content`; None for pictures.
        rename: new names that classes of the set were given, by the name that the set has.
    """

    path: Path | None
    predictions_path: Path | None
    frames: FrameSet
    format: str
    range_image: Mapping[str, Any] | None = None
    rename: Mapping[str, str] = field(default_factory=dict)

    def describe(self, compared: FrameSet, false_positives: int) -> dict[str, Any]:
        """The entry of `inputs` in result.json: paths, content hashes and counts of what was compared."""
        path = self.path
        predictions = 0 if compared.predictions is None else len(compared.predictions)
        more: dict[str, Any] = {} if self.range_image is None else {"range_image": dict(self.range_image)}
        more |= {"rename": dict(self.rename)} if self.rename else {}
        return more | {
            "path": "" if path is None else str(path),
            "name": self.frames.name,
            "sha256": "" if path is None else hash_files(path),
            "format": self.format,
            "frames": len(compared),
            "objects": len(compared.objects),
            "predictions": predictions,
            "false_positives": false_positives,
            "detector": None if self.frames.detector is None else self.frames.detector.to_json(),
            "predictions_path": None if self.predictions_path is None else str(self.predictions_path),
            "predictions_sha256": None if self.predictions_path is None else hash_files(self.predictions_path),
        }

    def with_classes_renamed(self, pairs: Renames | None, option: str) -> InputSet:
        """The side with new names for some classes of its set.

        Args:
            pairs: old and new names; None or none for the side as it is.
        """
        rename = dict(pairs or ())
        return replace(self, frames=rename_classes(self.frames, rename, option), rename=rename) if rename else self


def read_input(
    source: FrameSet | CloudSet | Path | str,
    predictions: Path | None,
    image_topic: str | None = None,
    *,
    allow_outside: bool,
    rename: Renames | None = None,
) -> InputSet:
    """Read a set, and predictions for it from elsewhere where given.

    Args:
        image_topic: in a recording of several cameras, a topic or the camera's name.
        allow_outside: take pictures that lie outside of the folder of their data set.
    """
    if isinstance(source, CloudSet):
        raise UsageError(f"{source.name}: is a set of clouds; give --sensor lidar")
    if isinstance(source, FrameSet):
        path, frames, form = None, source, IN_MEMORY
    else:
        path = Path(source)
        frames, form = read_with_format(path, topics=image_topics(image_topic), allow_outside=allow_outside)
    if predictions is not None:
        frames = read_predictions(predictions, frames, path, allow_outside=allow_outside, rename=dict(rename or ()))
    return InputSet(path, predictions, frames, form)


def describe_model(settings: MethodSettings) -> dict[str, Any] | None:
    """The entry `inputs.model` of result.json.

    Args:
        settings: of a comparison or a sweep; their model is a path or a name, or None.

    Returns:
        Path, content hash, and renamed classes; None without a model. The hash of a detector that is given by name is
        empty.
    """
    model = settings.model
    if model is None:
        return None
    digest = hash_files(model) if model.exists() else ""
    return {"path": str(model), "sha256": digest, "rename": dict(settings.rename or ())}
