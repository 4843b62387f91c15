"""Colour thresholds as a person writes them down: what the objects of each class look like, in one YAML file."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from simjudge.core.documents import Fields, read_document
from simjudge.core.field_types import Number, Text, Vector, Whole, conflict
from simjudge.perception.colour_detector import ColourClass

NotNegative = Annotated[float, Number(ge=0)]
Gap = Annotated[int, Whole(0, 1000)]
"""Pixels."""
Share = Annotated[tuple[float, float], Vector("low high", ge=0, le=1)]


class ColourFields(Fields):
    """What objects of one class look like."""

    name: Annotated[str, Text()]
    """Of the class."""
    hue: Annotated[tuple[float, float], Vector("low high", ge=0, le=360)]
    """Lowest and highest, degrees; low above high goes through 0, as red does."""
    saturation: Share
    """Lowest and highest, 0 to 1."""
    value: Share
    """Lowest and highest, 0 to 1."""
    closing: Gap | None = None
    """Gaps up to so many pixels are closed; as for all classes, if left out."""
    min_area: NotNegative | None = None
    """Pixels that a blob has at least; as for all classes, if left out."""
    max_area: NotNegative | None = None
    """Pixels that a blob has at most; as for all classes, if left out."""

    @model_validator(mode="after")
    def _check(self) -> ColourFields:
        for field in ("saturation", "value"):
            low, high = getattr(self, field)
            if low > high:
                raise conflict(f"the lower comes first; this is [{low:g}, {high:g}]", field)
        return self


class ColourFile(Fields):
    """Colour thresholds, by class."""

    classes: Annotated[dict[Annotated[int, Whole()], ColourFields], Field(min_length=1)]
    """What objects look like, by class id."""
    closing: Gap = 0
    """Gaps up to so many pixels are closed."""
    min_area: NotNegative = 1.0
    """Pixels that a blob has at least."""
    max_area: NotNegative | None = None
    """Pixels that a blob has at most; any number, if left out."""


def read_colours(path: Path) -> dict[int, ColourClass]:
    """Read colour thresholds.

    Args:
        path: a YAML file as in config/detectors/.

    Returns:
        What objects look like, by class id.

    Raises:
        SimjudgeError: the file cannot be read, or something in it makes no sense.
    """
    file = read_document(path, ColourFile, "file of colour thresholds").content
    largest = math.inf if file.max_area is None else file.max_area
    return {
        class_id: ColourClass(
            name=each.name,
            hue=each.hue,
            saturation=each.saturation,
            value=each.value,
            closing=file.closing if each.closing is None else each.closing,
            min_area=file.min_area if each.min_area is None else each.min_area,
            max_area=largest if each.max_area is None else each.max_area,
        )
        for class_id, each in file.classes.items()
    }
