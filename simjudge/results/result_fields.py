"""What the files of a result folder hold (docs/results.md), as models that refuse anything else in one line.

A field that no reader uses may hold anything: later versions add fields.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field
from pydantic.json_schema import JsonSchemaValue

from simjudge.core.documents import Document, Fields, check_content
from simjudge.core.field_types import FieldType, Number, Text, Vector, Whole, refusal

_MOST_ROWS = 2**53
"""Rows of a table, objects or frames at most: whole numbers up to here are exact in JSON."""
_FARTHEST_PX = 1e9
"""Coordinates of boxes at most, pixels, as readers of data sets have it."""
_DIGITS = 10
"""Digits of the largest class number, 2^31 - 1."""
_LARGEST_PATCH = 1e6
"""Side of a patch at most, pixels."""

Count = Annotated[int, Whole(0, _MOST_ROWS)]
Value = Annotated[float, Number()] | None
PatchSize = Annotated[tuple[float, float], Vector("height width", gt=0, largest=_LARGEST_PATCH)]


@dataclass(frozen=True)
class ClassKey(FieldType):
    """The number of a class, as JSON writes it for the name of a field."""

    @property
    def needed(self) -> str:
        """The phrase."""
        return "the number of a class"

    def _read(self, value: Any) -> Any:
        digits = isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= _DIGITS
        if not digits or int(value) >= 2**31:
            raise refusal(self.needed)
        return value

    def schema(self) -> JsonSchemaValue:
        """Digits."""
        return {"type": "string", "pattern": "^[0-9]+$"}


class _Open(Fields):
    """A table that may have further fields."""

    model_config = ConfigDict(extra="allow")


class EntryFields(_Open):
    """The numbers of one class, or of all classes together."""

    n_a: Count
    n_b: Count
    compared: Count
    verdict: Annotated[str, Text()] | None = None
    mean_w1: Value = None
    median_w1: Value = None
    max_w1: Value = None
    weighted_w1: Value = None
    w1_quantiles: dict[str, Value] | None = None
    mean_abs_mean_diff: Value = None
    overlap_a: Value = None
    overlap_b: Value = None
    n_overlap_a: Count | None = None
    n_overlap_b: Count | None = None
    mean_batch_a: Value = None
    mean_batch_b: Value = None
    mean_performance_a: Value = None
    mean_performance_b: Value = None
    mean_performance_outside_a: Value = None
    mean_performance_outside_b: Value = None
    std_performance_outside_a: Value = None
    std_performance_outside_b: Value = None
    false_positives_a: Count | None = None
    false_positives_b: Count | None = None
    map50_a: Value = None
    map50_b: Value = None
    map50_95_a: Value = None
    map50_95_b: Value = None
    floor_mean: Value = None
    floor_q95: Value = None
    excess_w1: Value = None
    excess_low: Value = None
    excess_high: Value = None
    detectable_w1: Value = None
    permutations: Count | None = None
    bootstrap: Count | None = None
    units_a: Count | None = None
    units_b: Count | None = None
    margin: Value = None
    verdict_reason: str | None = None
    p_value: Value = None
    p_adjusted: Value = None


class ParameterFields(_Open):
    """How it was compared."""

    theta: Value = None
    patch: PatchSize | None = None
    permutations: Count | None = None


class InputFields(_Open):
    """One of the two sets."""

    name: str | None = None
    path: str | None = None
    frames: Count | None = None
    objects: Count | None = None
    predictions: Count | None = None


class ModelFields(_Open):
    """The detector."""

    path: str | None = None
    sha256: str | None = None


class InputsFields(_Open):
    """What was compared."""

    a: InputFields | None = None
    b: InputFields | None = None
    model: ModelFields | None = None


class _HeaderFields(_Open):
    parameters: ParameterFields
    inputs: InputsFields
    class_names: dict[Annotated[str, ClassKey()], str] = Field(default_factory=dict)


class ResultFile(_HeaderFields):
    """A result.json."""

    by_class: dict[Annotated[str, ClassKey()], EntryFields]
    overall: EntryFields
    confusion: dict[Literal["a", "b"], dict[str, dict[str, Count]]] | None = None
    losses: list[str] = Field(default_factory=list)


class CurveFields(_Open):
    """One point of a sweep."""

    theta: Annotated[float, Number()]
    patch: PatchSize
    by_class: dict[Annotated[str, ClassKey()], EntryFields]
    overall: EntryFields | None = None


class SweepFile(_HeaderFields):
    """A sweep.json."""

    curves: Annotated[list[CurveFields], Field(min_length=1)]


class ItemFields(Fields):
    """A context that the gallery shows."""

    kind: Annotated[str, Text()]
    class_id: Count
    row: Count
    match_row: Count | None = None


class CropFields(Fields):
    """What is shown of one context."""

    row: Count
    place: Annotated[tuple[int, int, int, int], Vector("x0 y0 x1 y1", whole=True, largest=_FARTHEST_PX)]
    patch: Annotated[tuple[int, int, int, int], Vector("x0 y0 x1 y1", whole=True, largest=_FARTHEST_PX)]
    file: Annotated[str, Text("the name of a file")] | None = None
    labels: list[
        Annotated[tuple[float, float, float, float, float], Vector("class x0 y0 x1 y1", largest=_FARTHEST_PX)]
    ]
    predictions: list[
        Annotated[
            tuple[float, float, float, float, float, float], Vector("class x0 y0 x1 y1 score", largest=_FARTHEST_PX)
        ]
    ]


class GalleryFile(_Open):
    """A gallery.json."""

    items: list[ItemFields]
    crops: list[CropFields]


def check_result(content: Any, path: Path) -> None:
    """Make sure that a file says what a result.json says.

    Args:
        content: of the file.
        path: of the file.

    Raises:
        SimjudgeError: it says something else.
    """
    check_content(without_nan(content), ResultFile, "result of simjudge compare", path, ())


def check_sweep(content: Any, path: Path) -> None:
    """Make sure that a file says what a sweep.json says.

    Args:
        content: of the file.
        path: of the file.

    Raises:
        SimjudgeError: it says something else.
    """
    check_content(without_nan(content), SweepFile, "result of simjudge sweep", path, ())


def read_gallery(content: Any, path: Path) -> Document[GalleryFile]:
    """What a gallery.json says.

    Args:
        content: of the file.
        path: of the file.

    Raises:
        SimjudgeError: it says something else.
    """
    return check_content(content, GalleryFile, "gallery of simjudge compare", path, ())


def without_nan(content: Any) -> Any:
    """A copy in which numbers that JSON does not have, but Python reads, are undefined.

    Args:
        content: of a JSON file.
    """
    if isinstance(content, Mapping):
        return {key: without_nan(value) for key, value in content.items()}
    if isinstance(content, list):
        return [without_nan(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content
