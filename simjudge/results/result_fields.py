"""What the files of a result folder hold (docs/reference/results.md), as models that refuse anything else in one line.

Beside the numbers, a field that no reader uses may hold anything: later versions add fields. Results of earlier
versions are read as if this one had written them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field
from pydantic.json_schema import JsonSchemaValue

from simjudge.core.documents import Fields, check_content
from simjudge.core.field_types import Choice, FieldType, Number, Text, Vector, Whole, refusal
from simjudge.core.names import LARGEST_CLASS_ID
from simjudge.core.text import Json, load_json
from simjudge.method.betting import SequenceVerdict
from simjudge.method.detector_measures import MeasureCode
from simjudge.method.method import LARGEST_PATCH, MOST_DRAWS
from simjudge.method.verdicts import Reason, Scope, Verdict

_VERDICTS = {verdict.word.replace("{", "").replace("}", ""): verdict for verdict in Verdict}
_REASONS = {
    "few units": Reason.FEW_UNITS,
    "short recording": Reason.FEW_UNITS,
    "few relabellings": Reason.FEW_UNITS,
    "few permutations": Reason.FEW_DRAWS,
    "never predicted": Reason.NEVER_PREDICTED,
}
_CODES: Mapping[str, Mapping[str, str]] = {"verdict": _VERDICTS, "verdict_study": _VERDICTS, "verdict_reason": _REASONS}
"""Field to the words that stood in it, and the codes that stand there now."""


def current_content(content: Any) -> Any:
    """The content of a result file, with codes where an earlier version wrote words."""
    if isinstance(content, list):
        return [current_content(value) for value in content]
    if not isinstance(content, dict):
        return content
    return {name: _current_value(name, value) for name, value in content.items()}


def _current_value(name: str, value: Any) -> Any:
    if isinstance(value, str):
        return str(_CODES.get(name, {}).get(value, value))
    return current_content(value)


_MOST_ROWS = 2**53
"""Rows of a table, objects or frames at most: whole numbers up to here are exact in JSON."""
_FARTHEST_PX = 1e9
"""Coordinates of boxes at most, pixels, as readers of data sets have it."""
_DIGITS = 10
"""Digits of the largest class number, 2^31 - 1."""
_MOST_UNITS = 10_000_000
"""Sampling units of a set at most: what is computed again of a result takes memory for each."""

Count = Annotated[int, Whole(0, _MOST_ROWS)]
Draws = Annotated[int, Whole(0, MOST_DRAWS)]
Units = Annotated[int, Whole(0, _MOST_UNITS)]
Value = Annotated[float, Number()] | None
PatchSize = Annotated[tuple[float, float], Vector("height width", ge=1, le=LARGEST_PATCH)]


@dataclass(frozen=True)
class ClassKey(FieldType):
    """The number of a class, as JSON writes it for the name of a field."""

    @property
    def needed(self) -> str:
        """The phrase."""
        return "the number of a class"

    def _read(self, value: Any) -> Any:
        digits = isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= _DIGITS
        if not digits or int(value) > LARGEST_CLASS_ID:
            raise refusal(self.needed)
        return value

    def schema(self) -> JsonSchemaValue:
        """Digits."""
        return {"type": "string", "pattern": "^[0-9]+$"}


class OpenFields(Fields):
    """A table that may have further fields."""

    model_config = ConfigDict(extra="allow")


class EntryFields(OpenFields):
    """The numbers of one class, or of all classes together. Every field that is not named here is a number."""

    __pydantic_extra__: dict[str, Annotated[float, Number()]]
    n_a: Count
    n_b: Count
    compared: Count
    n_overlap_a: Count | None = None
    n_overlap_b: Count | None = None
    false_positives_a: Count | None = None
    false_positives_b: Count | None = None
    draws: Draws | None = None
    units_a: Units | None = None
    units_b: Units | None = None
    w1_quantiles: dict[str, Value] | None = None
    verdict: Annotated[str, Choice(*Verdict)]
    verdict_reason: Annotated[str, Choice(*Reason)]
    verdict_below: Annotated[str, Choice(*Verdict)] | None = None
    verdict_above: Annotated[str, Choice(*Verdict)] | None = None
    scope: Annotated[str, Choice(*Scope)] | None = None


class MeasureFields(OpenFields):
    """One measure of what else the detector does."""

    value_a: Value = None
    value_b: Value = None
    difference: Value = None
    low: Value = None
    high: Value = None
    p_value: Value = None
    p_adjusted: Value = None
    margin: Value = None
    units_a: Units | None = None
    units_b: Units | None = None
    draws: Draws | None = None
    adjusted: bool | None = None
    verdict: Annotated[str, Choice(*Verdict)]
    verdict_reason: Annotated[str, Choice(*Reason)]


class ParameterFields(OpenFields):
    """How it was compared."""

    theta: Value = None
    patch: PatchSize | None = None
    draws: Draws | None = None
    classes: list[str] | None = None


class SequentialFields(OpenFields):
    """What is certain of live frames at every look."""

    blocks: Count
    difference: Value
    low: Annotated[float, Number()]
    high: Annotated[float, Number()]
    verdict: Annotated[str, Choice(*SequenceVerdict)]


class InputFields(OpenFields):
    """One of the two sets."""

    name: str | None = None
    path: str | None = None
    frames: Count | None = None
    units: Units | None = None
    objects: Count | None = None
    predictions: Count | None = None
    unit_kind: str | None = None
    things: Count | None = None
    passes: Count | None = None
    block_frames: Count | None = None
    block_seconds: Value = None
    time_blocks: Count | None = None
    recordings: Count | None = None
    doubted: bool | None = None
    sequential: SequentialFields | None = None


class ModelFields(OpenFields):
    """The detector."""

    path: str | None = None
    sha256: str | None = None


class InputsFields(OpenFields):
    """What was compared."""

    a: InputFields | None = None
    b: InputFields | None = None
    model: ModelFields | None = None


class BalanceFields(OpenFields):
    """How unlike the objects of like contexts are, in standard deviations by covariate, A less B."""

    differences: dict[str, Annotated[float, Number()]]
    adjusted: bool


class ContextKindFields(OpenFields):
    """One kind of contexts."""

    kind: str
    parts: Annotated[int, Whole(0, 3)]
    contexts: Count
    performance_a: Annotated[float, Number()]
    performance_b: Annotated[float, Number()]
    low: Annotated[float, Number()]
    high: Annotated[float, Number()]
    p: Annotated[float, Number()]


class ContextKindsFields(OpenFields):
    """Kinds of contexts that were tested together."""

    tested: Count
    everywhere: ContextKindFields
    kinds: list[ContextKindFields]


class _HeaderFields(OpenFields):
    parameters: ParameterFields
    inputs: InputsFields
    class_names: dict[Annotated[str, ClassKey()], str] = Field(default_factory=dict)


class ControlFields(OpenFields):
    """Between random halves of one set."""

    entry: EntryFields
    splits: Count
    gaps: Count


class ResultFile(_HeaderFields):
    """A result.json."""

    by_class: dict[Annotated[str, ClassKey()], EntryFields]
    overall: EntryFields
    control: dict[Literal["a", "b"], ControlFields] = Field(default_factory=dict)
    confusion: dict[Literal["a", "b"], dict[str, dict[str, Count]]] | None = None
    measures: dict[Annotated[str, Choice(*MeasureCode)], MeasureFields] = Field(default_factory=dict)
    losses: list[str] = Field(default_factory=list)
    balance: dict[Annotated[str, ClassKey()], BalanceFields] = Field(default_factory=dict)
    where: ContextKindsFields | None = None
    where_invented: ContextKindsFields | None = None


class CurveFields(OpenFields):
    """One point of a sweep."""

    theta: Annotated[float, Number()]
    patch: PatchSize
    by_class: dict[Annotated[str, ClassKey()], EntryFields]
    overall: EntryFields


class SweepFile(_HeaderFields):
    """A sweep.json."""

    curves: Annotated[list[CurveFields], Field(min_length=1)]


class ItemFields(Fields):
    """A context that the gallery shows."""

    kind: Annotated[str, Text()]
    class_id: Count
    row: Count
    match_row: Count | None = None
    neighbours_a: list[Count] = Field(default_factory=list)
    neighbours_b: list[Count] = Field(default_factory=list)


class CropFields(Fields):
    """What is shown of one context."""

    row: Count
    place: Annotated[tuple[int, int, int, int], Vector("x0 y0 x1 y1", whole=True, largest=_FARTHEST_PX)]
    patch: Annotated[tuple[int, int, int, int], Vector("x0 y0 x1 y1", whole=True, largest=_FARTHEST_PX)]
    file: Annotated[str, Text("the name of a file")] | None = None
    labels: list[
        Annotated[tuple[float, float, float, float, float], Vector("class x0 y0 x1 y1", largest=LARGEST_CLASS_ID)]
    ]
    predictions: list[
        Annotated[
            tuple[float, float, float, float, float, float], Vector("class x0 y0 x1 y1 score", largest=LARGEST_CLASS_ID)
        ]
    ]


class GalleryFile(OpenFields):
    """A gallery.json."""

    items: list[ItemFields]
    crops: list[CropFields]


def read_result(path: Path) -> Json:
    """Read a result.json."""
    content = read_checked(path, ResultFile, "result of simjudge compare")
    return _without_empty_classes(content)


def read_sweep(path: Path) -> Json:
    """Read a sweep.json."""
    content = read_checked(path, SweepFile, "result of simjudge compare --sweep")
    return content | {"curves": [_without_empty_classes(point) for point in content["curves"]]}


def read_gallery(path: Path) -> GalleryFile:
    """Read a gallery.json."""
    return check_content(load_json(path), GalleryFile, "gallery of simjudge compare", path, ()).content


def read_checked(path: Path, model: type[Fields], noun: str) -> Json:
    """Read a JSON file of a result folder."""
    content = current_content(_without_nan(load_json(path)))
    check_content(content, model, noun, path, ())
    return dict(content)


def _without_empty_classes(numbers: Json) -> Json:
    """A copy in which a class without a value is left out, as the check does."""
    return numbers | {"by_class": {key: fields for key, fields in numbers["by_class"].items() if fields is not None}}


def _without_nan(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _without_nan(value) for key, value in content.items()}
    if isinstance(content, list):
        return [_without_nan(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content
