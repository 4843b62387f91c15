"""Colour thresholds as a person writes them down: what the objects of each class look like, in one YAML file."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from simjudge.core.documents import Fields, read_document
from simjudge.core.field_types import Number, Text, Vector, Whole, conflict
from simjudge.detectors.colour_detector import ColourClass

NotNegative = Annotated[float, Number(ge=0)]
Gap = Annotated[int, Whole(0, 1000)]
"""Pixels."""
Row = Annotated[float, Number(ge=0)]
"""Pixels from the upper edge."""
Share = Annotated[tuple[float, float], Vector("low high", ge=0, le=1)]
Byte = Annotated[tuple[float, float], Vector("low high", ge=0, le=255)]
_LIMITS = ("hue", "saturation", "value", "red", "green", "blue")
_SHARED = ("closing", "closing_radius", "min_area", "max_area", "line")
"""What each class has as all classes have, if left out."""


class ColourFields(Fields):
    """What objects of one class look like."""

    name: Annotated[str, Text()]
    """Of the class."""
    hue: Annotated[tuple[float, float], Vector("low high", ge=0, le=360)] | None = None
    """Lowest and highest, degrees; low above high goes through 0, as red does."""
    saturation: Share | None = None
    """Lowest and highest, 0 to 1."""
    value: Share | None = None
    """Lowest and highest, 0 to 1."""
    red: Byte | None = None
    """Lowest and highest, 0 to 255."""
    green: Byte | None = None
    """Lowest and highest, 0 to 255."""
    blue: Byte | None = None
    """Lowest and highest, 0 to 255."""
    closing: Gap | None = None
    """Gaps up to so many pixels are closed; as for all classes, if left out."""
    closing_radius: Gap | None = None
    """Radius of the disk that gaps are closed with, pixels; as for all classes, if left out."""
    min_area: NotNegative | None = None
    """Pixels that a blob has at least; as for all classes, if left out."""
    max_area: NotNegative | None = None
    """Pixels that a blob has at most; as for all classes, if left out."""
    line: Row | None = None
    """Row of the picture: blobs whose centroid is above it are left out; as for all classes, if left out."""

    @model_validator(mode="after")
    def _check(self) -> ColourFields:
        given = {field: getattr(self, field) for field in _LIMITS if getattr(self, field) is not None}
        if not given:
            raise conflict(f"limits of a colour are needed: of {', '.join(_LIMITS[:-1])} or {_LIMITS[-1]}")
        for field, (low, high) in given.items():
            if low > high and field != "hue":
                raise conflict(f"the lower comes first; this is [{low:g}, {high:g}]", field)
        return self


class ColourFile(Fields):
    """Colour thresholds, by class."""

    classes: Annotated[dict[Annotated[int, Whole()], ColourFields], Field(min_length=1)]
    """What objects look like, by class id."""
    closing: Gap = 0
    """Gaps up to so many pixels are closed."""
    closing_radius: Gap = 0
    """Radius of the disk that gaps are closed with, pixels."""
    min_area: NotNegative = 1.0
    """Pixels that a blob has at least."""
    max_area: NotNegative | None = None
    """Pixels that a blob has at most; any number, if left out."""
    line: Row | None = None
    """Row of the picture: blobs whose centroid is above it are left out; no line, if left out."""


def read_colours(path: Path) -> dict[int, ColourClass]:
    """Read colour thresholds."""
    file = read_document(path, ColourFile, "file of colour thresholds").content
    return {class_id: _colour_class(file, each) for class_id, each in file.classes.items()}


def _colour_class(file: ColourFile, each: ColourFields) -> ColourClass:
    shared = {name: getattr(file if getattr(each, name) is None else each, name) for name in _SHARED}
    if shared["max_area"] is None:
        shared["max_area"] = math.inf
    return ColourClass(name=each.name, **{name: getattr(each, name) for name in _LIMITS}, **shared)
