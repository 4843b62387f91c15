"""The result folder of the second judge: objects.json, series.parquet and pictures (docs/objects.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field, model_validator

from simjudge.core.arrays import FloatArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import SimjudgeError
from simjudge.core.field_types import Choice, Number, Text, conflict
from simjudge.core.images import RgbImage, encode_png
from simjudge.results.context_table import column_numbers, number_column, unreadable_table
from simjudge.results.result_fields import Count, OpenFields, Value, read_checked
from simjudge.results.saved_result import OBJECTS, PICTURES, SERIES, atomic_result, write_json
from simjudge.results.verdict_words import AGAIN, HALVES, SERIES_VERDICTS

Sensor = Literal["camera", "lidar"]
_COLUMNS = ("row", "time", "real", "virtual")


class RowFields(OpenFields):
    """One metric of one subject."""

    sensor: Sensor
    metric: Annotated[str, Text()]
    unit: str
    subject: str
    is_single: bool = False
    frames: Count
    real_mean: Value = None
    virtual_mean: Value = None
    difference: Value = None
    low: Value = None
    high: Value = None
    p: Value = None
    p_adjusted: Value = None
    block: Count | None = None
    limited: bool = False
    floor: Value = None
    floor_source: Annotated[str, Choice(AGAIN, HALVES)] | None = None
    times_floor: Value = None
    shift: Value = None
    shift_spread: Value = None
    shift_correlation: Value = None
    unpaired_real: Count
    unpaired_virtual: Count
    missing_real: Count
    missing_virtual: Count
    missing_both: Count
    verdict: Annotated[str, Choice(*SERIES_VERDICTS)]


class FactFields(OpenFields):
    """One number of a whole recording, such as the F1 of two maps."""

    sensor: Sensor
    name: Annotated[str, Text()]
    value: Annotated[float, Number()]
    unit: str = ""
    real_again: Value = None
    note: str = ""


class MeansFields(OpenFields):
    """Means of one metric in bins of range."""

    mean: list[Value]
    deviation: list[Value]
    count: list[Count]


class RangeFields(OpenFields):
    """One metric of objects over range."""

    metric: Annotated[str, Text()]
    unit: str
    edges: list[Annotated[float, Number()]]
    real: MeansFields
    virtual: MeansFields


class QualityModelFields(OpenFields):
    """A model that pictures were scored by."""

    metric: Annotated[str, Text()]
    origin: str
    digest: Annotated[str, Text()]


class ColourDifferenceFields(OpenFields):
    """Hue, saturation or value of a class or of whole pictures, real and virtual."""

    subject: str
    channel: Annotated[str, Choice("hue", "saturation", "value")]
    unit: str
    edges: list[Annotated[float, Number()]]
    real: list[Annotated[float, Number()]]
    virtual: list[Annotated[float, Number()]]
    distance: Annotated[float, Number()]
    floor: Value = None

    @model_validator(mode="after")
    def _check(self) -> ColourDifferenceFields:
        if not len(self.edges) - 1 == len(self.real) == len(self.virtual):
            raise conflict("a histogram needs one value for each bin", "real")
        return self


class PictureFileFields(OpenFields):
    """A picture of the folder."""

    file: Annotated[str, Text("the name of a file")]
    title: str
    note: str = ""


class SideFields(OpenFields):
    """One of the recordings or sets."""

    name: str
    path: str = ""
    frames: Count | None = None
    clouds: Count | None = None


class SidesFields(OpenFields):
    """What was compared."""

    real: SideFields
    virtual: SideFields
    real_again: SideFields | None = None


class ObjectsFile(OpenFields):
    """An objects.json."""

    parameters: dict[str, Any]
    inputs: SidesFields
    rows: list[RowFields]
    only_real: list[tuple[Sensor, str, str]] = Field(default_factory=list)
    only_virtual: list[tuple[Sensor, str, str]] = Field(default_factory=list)
    shifts: dict[Sensor, Annotated[float, Number()]] = Field(default_factory=dict)
    facts: list[FactFields] = Field(default_factory=list)
    ranges: list[RangeFields] = Field(default_factory=list)
    colours: list[ColourDifferenceFields] = Field(default_factory=list)
    models: list[QualityModelFields] = Field(default_factory=list)
    pictures: list[PictureFileFields] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)
    losses: list[str] = Field(default_factory=list)


@dataclass(frozen=True, eq=False, repr=False)
class SeriesPair(ShortRepr):
    """One metric of one subject over time, in real and in virtual.

    Attributes:
        time: float64 (N,), seconds, the common times.
        real, virtual: float64 (N,), NaN where there is no value.
    """

    time: FloatArray
    real: FloatArray
    virtual: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class ResultPicture(ShortRepr):
    """A picture that belongs to a result.

    Attributes:
        name: of its file, without the suffix.
        pixels: uint8 (H, W, 3), red first.
    """

    name: str
    title: str
    note: str
    pixels: RgbImage


@dataclass(frozen=True)
class ObjectResult:
    """One result folder of the second judge."""

    name: str
    folder: Path
    content: Mapping[str, Any]

    @property
    def rows(self) -> Sequence[Mapping[str, Any]]:
        """The table: a row each metric and subject, those that differ first."""
        return list(self.content["rows"])

    def side_name(self, side: str) -> str:
        """What one side is called."""
        return str(self.content["inputs"][side]["name"])

    @cached_property
    def series(self) -> Sequence[SeriesPair]:
        """The series behind each row."""
        return read_series(self.folder / SERIES, len(self.rows))


def is_object_result(folder: Path) -> bool:
    """Whether a folder holds a result of the second judge."""
    return (folder / OBJECTS).is_file()


def load_object_result(folder: Path) -> ObjectResult:
    """Read a result folder of the second judge."""
    if not is_object_result(folder):
        raise SimjudgeError(f"{folder}: holds no {OBJECTS}; run simjudge objects first")
    content = read_checked(folder / OBJECTS, ObjectsFile, "result of simjudge objects")
    # With what a file need not say.
    return ObjectResult(folder.resolve().name, folder, ObjectsFile.model_validate(content).model_dump())


def save_object_result(
    folder: Path, content: Mapping[str, Any], series: Sequence[SeriesPair], pictures: Sequence[ResultPicture]
) -> None:
    """Write a result folder; it appears whole or not at all."""
    with atomic_result(folder) as temporary:
        pq.write_table(_series_table(series), temporary / SERIES)
        shown = []
        for each in pictures:
            (temporary / PICTURES).mkdir(exist_ok=True)
            (temporary / PICTURES / f"{each.name}.png").write_bytes(encode_png(each.pixels))
            shown.append({"file": f"{each.name}.png", "title": each.title, "note": each.note})
        write_json(temporary / OBJECTS, {**content, "pictures": shown})


def read_series(path: Path, rows: int) -> list[SeriesPair]:
    """Read series.parquet."""
    try:
        table = pq.read_table(path)
        missing = [name for name in _COLUMNS if name not in table.column_names]
        if missing:
            raise SimjudgeError(f"{path}: lacks the column {missing[0]}; run simjudge objects again")
        row, time, real, virtual = (column_numbers(table.column(name)) for name in _COLUMNS)
    except FileNotFoundError as error:
        raise SimjudgeError(f"{path}: is missing; run simjudge objects again") from error
    except (OSError, pa.ArrowException, ValueError) as error:
        raise unreadable_table(path, error) from error
    if not np.isin(row, np.arange(rows)).all() or (np.diff(row) < 0).any() or not np.isfinite(time).all():
        raise SimjudgeError(f"{path}: does not belong to the rows of {OBJECTS}; run simjudge objects again")
    ends = np.searchsorted(row, np.arange(rows + 1))
    cuts = [slice(begin, end) for begin, end in pairwise(ends)]
    return [SeriesPair(time[cut], real[cut], virtual[cut]) for cut in cuts]


def _series_table(series: Sequence[SeriesPair]) -> pa.Table:
    row = np.repeat(np.arange(len(series)), [len(each.time) for each in series])
    columns = [np.concatenate([np.empty(0), *(getattr(each, name) for each in series)]) for name in _COLUMNS[1:]]
    return pa.table(
        {
            "row": number_column(row.astype(np.int64)),
            "time": number_column(columns[0]),
            **{
                name: number_column(values, np.isnan(values))
                for name, values in zip(_COLUMNS[2:], columns[1:], strict=True)
            },
        }
    )
