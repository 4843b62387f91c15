"""The result folder of the second judge (docs/guides/objects.md), and what it says in words and as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field, model_validator

from simjudge.core.arrays import FloatArray, ShortRepr, SummaryTable
from simjudge.core.errors import SimjudgeError
from simjudge.core.field_types import Choice, Number, Text, conflict
from simjudge.core.images import RgbImage, encode_png
from simjudge.core.text import JsonMapping
from simjudge.objects.image_quality import piqe_class
from simjudge.results.context_table import number_column, read_columns
from simjudge.results.metric_rows import AGAIN, DIFFERS, HALVES, NOT_SHOWN, SERIES_VERDICTS, TOO_FEW, WITHIN_FLOOR
from simjudge.results.result_fields import Count, OpenFields, Value, read_checked
from simjudge.results.saved_result import OBJECTS, PICTURES, SERIES, atomic_result, write_json

Sensor = Literal["camera", "lidar"]
_SERIES_COLUMNS = ("row", "time", "real", "virtual")


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

    def side(self, name: str) -> SideFields:
        """One of both."""
        return self.virtual if name == "virtual" else self.real


class ObjectsFile(OpenFields):
    """An objects.json."""

    parameters: dict[str, object]
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
    """One metric of one subject over time, in real and in virtual."""

    time: FloatArray  # float64 (N,), seconds, the common times
    real: FloatArray  # real, virtual: float64 (N,), NaN where there is no value
    virtual: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class ResultPicture(ShortRepr):
    """A picture that belongs to a result."""

    name: str  # of its file, without the suffix
    title: str
    note: str
    pixels: RgbImage  # uint8 (H, W, 3), red first


@dataclass(frozen=True)
class ObjectResult:
    """One result folder of the second judge."""

    name: str
    folder: Path
    content: JsonMapping

    @property
    def rows(self) -> Sequence[RowFields]:
        """The table: a row each metric and subject, those that differ first."""
        return self.file.rows

    @cached_property
    def file(self) -> ObjectsFile:
        """What objects.json says; what it need not say has its default."""
        return ObjectsFile.model_validate(self.content)

    def side_name(self, side: str) -> str:
        """What one side is called."""
        return str(self.file.inputs.side(side).name)

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
        raise SimjudgeError(f"{folder}: holds no {OBJECTS}; run simjudge robot objects first")
    content = read_checked(folder / OBJECTS, ObjectsFile, "result of simjudge robot objects")
    # With what a file need not say.
    return ObjectResult(folder.resolve().name, folder, ObjectsFile.model_validate(content).model_dump())


def save_object_result(
    folder: Path, content: Mapping[str, object], series: Sequence[SeriesPair], pictures: Sequence[ResultPicture]
) -> None:
    """Write a result folder; it appears whole or not at all."""
    with atomic_result(folder) as temporary:
        pq.write_table(_series_table(series), temporary / SERIES)
        shown = []
        for picture in pictures:
            (temporary / PICTURES).mkdir(exist_ok=True)
            (temporary / PICTURES / f"{picture.name}.png").write_bytes(encode_png(picture.pixels))
            shown.append({"file": f"{picture.name}.png", "title": picture.title, "note": picture.note})
        write_json(temporary / OBJECTS, {**content, "pictures": shown})


def read_series(path: Path, rows: int) -> list[SeriesPair]:
    """Read series.parquet."""
    row, time, real, virtual = read_columns(path, _SERIES_COLUMNS, "run simjudge robot objects again").values()
    if not np.isin(row, np.arange(rows)).all() or (np.diff(row) < 0).any() or not np.isfinite(time).all():
        raise SimjudgeError(f"{path}: does not belong to the rows of {OBJECTS}; run simjudge robot objects again")
    ends = np.searchsorted(row, np.arange(rows + 1))
    cuts = [slice(begin, end) for begin, end in pairwise(ends)]
    return [SeriesPair(time[cut], real[cut], virtual[cut]) for cut in cuts]


def _series_table(series: Sequence[SeriesPair]) -> pa.Table:
    row = np.repeat(np.arange(len(series)), [len(one_series.time) for one_series in series])
    columns = [
        np.concatenate([np.empty(0), *(getattr(one_series, name) for one_series in series)])
        for name in _SERIES_COLUMNS[1:]
    ]
    return pa.table(
        {
            "row": number_column(row.astype(np.int64)),
            "time": number_column(columns[0]),
            **{
                name: number_column(values, np.isnan(values))
                for name, values in zip(_SERIES_COLUMNS[2:], columns[1:], strict=True)
            },
        }
    )


_COLUMNS = (
    "sensor",
    "metric",
    "subject",
    "verdict",
    "unit",
    "real",
    "virtual",
    "difference",
    "95 %",
    "floor",
    "x floor",
    "p corr.",
    "later [s]",
    "frames",
)
_NAMED = 2
"""Rows of each sensor that the verdict names."""
_SINGLES = 10
"""Rows of single objects that are printed."""
_IN_STEP = 5e-4
"""Seconds: a smaller shift is none."""
_VERBS = {
    DIFFERS: ("differ", "differs"),
    WITHIN_FLOOR: ("differ by no more than real from real", "differs by no more than real from real"),
    NOT_SHOWN: ("show no difference", "shows no difference"),
    TOO_FEW: ("have too few frames", "has too few frames"),
}
"""Of several rows, and of one."""
Row = RowFields


def row_title(row: Row) -> str:
    """What a row is about: "box width of cone 3"."""
    return f"{row.metric} of {row.subject}" if row.subject else str(row.metric)


def row_number(value: float | None, unit: str = "", digits: int = 4) -> str:
    """A number of a row."""
    if value is None:
        return "-"
    return f"{_plain(value, digits)} {unit}".rstrip()


def _plain(value: float, digits: int, sign: str = "") -> str:
    """Significant digits, without an exponent where a number up to a million needs none."""
    text = f"{value:{sign}.{digits}g}"
    return f"{float(text):{sign}.0f}" if "e+" in text and abs(value) < 1e6 else text


def floor_times(value: float | None) -> str:
    """The size of a difference in floors."""
    if value is None:
        return "-"
    return f"{value:.2g}" if value < 100 else f"{value:.0f}"


def row_p(value: float | None) -> str:
    """A p value."""
    if value is None:
        return "-"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def signed(value: float | None, unit: str = "") -> str:
    """A difference of a row, with its sign."""
    if value is None:
        return "-"
    return f"{_plain(value, 3, '+')} {unit}".rstrip()


def headline(result: ObjectResult) -> str:
    """The verdict in a few words."""
    rows = _main_rows(result)
    different = sum(row.verdict == DIFFERS for row in rows)
    if different:
        return f"{different} of {len(rows)} metrics differ" if len(rows) > 1 else "It differs"
    return "Cannot tell" if all(row.verdict == TOO_FEW for row in rows) else "No difference shown"


def lead(result: ObjectResult) -> str:
    """The verdict in a sentence or two: what differs most clearly."""
    rows, names = _main_rows(result), (result.side_name("real"), result.side_name("virtual"))
    different = [row for row in rows if row.verdict == DIFFERS]
    if not different:
        if all(row.verdict == TOO_FEW for row in rows):
            return f"No metric has enough frames in both {names[0]} and {names[1]} for an interval."
        return (
            f"None of the {len(rows)} metrics shows a difference between {names[0]} and {names[1]} that is both "
            "significant and greater than what real differs by from real. A longer recording may show smaller ones."
        )
    sensors = list(dict.fromkeys(row.sensor for row in rows))
    named = [row for sensor in sensors for row in _clearest([r for r in different if r.sensor == sensor])]
    more = len(different) - len(named)
    also = f" {more} more {'differ' if more > 1 else 'differs'}." if more > 0 else ""
    phrases = [_row_sentence(row, with_sensor=len(sensors) > 1) for row in named]
    return f"{names[1]} differs from {names[0]} most clearly in {_listed(phrases)}.{also}"


def _clearest(rows: Sequence[Row]) -> list[Row]:
    """The clearest rows of different families, such as one of moments and one of quality."""
    firsts = [members[0] for members in by_family(rows).values()]
    return sorted(firsts, key=rows.index)[:_NAMED]


def fact_lines(result: ObjectResult) -> list[str]:
    """Further sentences: other verdicts, shifts in time, PIQE's words, what one side alone has."""
    lines = []
    main, single = _main_rows(result), [row for row in result.rows if row.is_single]
    others = _counted(main, (WITHIN_FLOOR, NOT_SHOWN, TOO_FEW))
    if others and any(row.verdict == DIFFERS for row in main):
        lines.append(f"Of the other metrics, {others}.")
    elif others:
        lines.append(f"Of the metrics, {others}.")
    if single:
        lines.append(f"Of {len(single)} metrics of single objects, {_counted(single, SERIES_VERDICTS)}.")
    lines += [_shift_line(sensor, shift) for sensor, shift in result.file.shifts.items()]
    lines += [_piqe_line(result, row) for row in main if row.metric == "piqe" and row.verdict != TOO_FEW]
    lines += [_fact_line(fact) for fact in result.file.facts[:1]]
    for side in ("real", "virtual"):
        only = getattr(result.file, f"only_{side}")
        if only:
            subjects = sorted({subject or metric for _, metric, subject in only})
            shown = ", ".join(subjects[:5]) + (", ..." if len(subjects) > 5 else "")
            lines.append(f"{len(only)} series are in {result.side_name(side)} alone: {shown}.")
    return lines


def _piqe_line(result: ObjectResult, row: Row) -> str:
    """PIQE's words for both means."""
    sides = [(result.side_name(side), getattr(row, f"{side}_mean")) for side in ("real", "virtual")]
    told = [f"{name} {piqe_class(mean)} ({row_number(mean, digits=3)})" for name, mean in sides]
    return f"PIQE calls the pictures of {told[0]} and those of {told[1]}, 0 best, 100 worst."


def _fact_line(fact: FactFields) -> str:
    """The first number of whole recordings; the page has a table of all."""
    again = fact.real_again
    beside = "" if again is None else f" (real and real again: {row_number(again, fact.unit)})"
    name = fact.name
    return f"{name[0].upper()}{name[1:]}: {row_number(fact.value, fact.unit)}{beside}."


def _main_rows(result: ObjectResult) -> list[Row]:
    return [row for row in result.rows if not row.is_single]


def _counted(rows: Sequence[Row], verdicts: Sequence[str]) -> str:
    """How many rows have each verdict: "2 differ and 5 show no difference"; "" where none has one of them."""
    counts = [(sum(row.verdict == verdict for row in rows), verdict) for verdict in verdicts]
    parts = [f"{count} {_VERBS[verdict][count == 1]}" for count, verdict in counts if count]
    return _listed(parts) if parts else ""


def _shift_line(sensor: str, shift: float) -> str:
    if abs(shift) < _IN_STEP:
        return f"The virtual {sensor} is in step with the real one (median of the rows that tell)."
    when = f"{abs(shift) * 1e3:.3g} ms {'later' if shift > 0 else 'earlier'}"
    return f"The virtual {sensor} is {when} than the real one (median of the rows that tell)."


def objects_table(result: ObjectResult) -> SummaryTable:
    """The table that the command prints: metrics of everything together, then the single objects that differ most."""
    sensors = dict.fromkeys(row.sensor for row in result.rows)
    main = {sensor: by_family([row for row in _main_rows(result) if row.sensor == sensor]) for sensor in sensors}
    shown = [row for families in main.values() for rows in families.values() for row in rows]
    shown += _clear_singles(result)[:_SINGLES]
    return SummaryTable(_COLUMNS, [_table_row(row) for row in shown], text_columns=5)


def rest_line(result: ObjectResult) -> str:
    """How many rows of single objects the printed table leaves out; "" for none."""
    singles = sum(bool(row.is_single) for row in result.rows)
    differ = len(_clear_singles(result))
    left = singles - min(differ, _SINGLES)
    if not left:
        return ""
    more = f", of which {differ - _SINGLES} differ" if differ > _SINGLES else ""
    return f"{left} more rows of single objects{more}: simjudge report RESULT --csv FILE writes all rows"


def _clear_singles(result: ObjectResult) -> list[Row]:
    """Rows of single objects that differ, the one with the most floors first."""
    rows = [row for row in result.rows if row.is_single and row.verdict == DIFFERS]
    return sorted(rows, key=lambda row: -(row.times_floor or 0))


def _row_sentence(row: Row, *, with_sensor: bool) -> str:
    """A difference as a phrase: "box width of cone 3 (+2.1 px, 95 % +1.8 to +2.4; 5 times the floor)"."""
    sensor = f"{row.sensor}, " if with_sensor else ""
    interval = f"95 % {signed(row.low)} to {signed(row.high)}"
    times = "" if row.times_floor is None else f"; {floor_times(row.times_floor)} times the floor"
    return f"{row_title(row)} ({sensor}{signed(row.difference, row.unit)}, {interval}{times})"


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _table_row(row: Row) -> Sequence[str]:
    interval = "-" if row.low is None else f"{signed(row.low)} to {signed(row.high)}"
    return (
        row.sensor,
        row.metric,
        row.subject,
        row.verdict,
        row.unit,
        row_number(row.real_mean),
        row_number(row.virtual_mean),
        signed(row.difference),
        interval,
        row_number(row.floor),
        floor_times(row.times_floor),
        row_p(row.p_adjusted),
        "-" if row.shift is None else f"{row.shift:+.3f}",
        str(row.frames),
    )


PLACES, SIZES, SIGHTS = "Places and motion", "Sizes", "Sights"
QUALITY, MOMENTS, RETURNS, OTHERS = "Picture quality", "Moments", "Returns", "Other metrics"
FAMILIES = (PLACES, SIZES, SIGHTS, QUALITY, MOMENTS, RETURNS, OTHERS)
"""All families, in order."""
_STARTS = {
    PLACES: ("centroid", "offset", "centre inside", "yaw", "tilt", "own speed", "speed residual"),
    SIZES: ("box", "region", "length", "width", "height"),
    SIGHTS: (
        "score",
        "seen",
        "sight",
        "first sight",
        "last sight",
        "objects",
        "found",
        "false positives",
        "precision",
        "recall",
        "identity switches",
        "mota",
        "motp",
        "idf1",
        "pole matches",
        "clusters",
    ),
    QUALITY: ("piqe", "niqe", "brisque"),
    MOMENTS: ("hu ", "J1", "J2", "J3"),
    RETURNS: ("points", "intensity", "detections", "rcs", "moving"),
}
"""What the names of a family's metrics begin with."""


def metric_family(metric: str) -> str:
    """The family of a metric."""
    return next((family for family, starts in _STARTS.items() if metric.startswith(starts)), OTHERS)


def by_family(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Put rows into families."""
    groups: dict[str, list[Row]] = {family: [] for family in FAMILIES}
    for row in rows:
        groups[metric_family(row.metric)].append(row)
    return {family: members for family, members in groups.items() if members}
