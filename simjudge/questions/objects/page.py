"""The page of a result of the second judge: one self-contained HTML file, from the saved result alone."""

from __future__ import annotations

import base64
import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from markupsafe import Markup

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.files import atomic_file, check_output
from simjudge.core.images import decode_image, encode_jpeg, encode_png
from simjudge.core.progress import Log
from simjudge.core.version import version
from simjudge.page.figures import save_drawn
from simjudge.page.html import FigureEmbedder, is_report, load_template
from simjudge.page.report_settings import Report, ReportSettings
from simjudge.questions.objects.figures import (
    colour_figures,
    colour_subject,
    object_figures,
    range_figures,
    series_figures,
)
from simjudge.questions.objects.saved import ObjectResult, RowFields, load_object_result
from simjudge.questions.objects.words import (
    by_family,
    fact_lines,
    floor_times,
    headline,
    lead,
    row_number,
    row_p,
    signed,
)
from simjudge.results.saved_result import PICTURES
from simjudge.results.verdict_words import DIFFERS, NOT_SHOWN, TOO_FEW, WITHIN_FLOOR

_COLOURS = {DIFFERS: "gap", WITHIN_FLOOR: "small-gap", NOT_SHOWN: "predicts", TOO_FEW: "too-few"}
"""Verdict to the name of its colour in the palette."""
_OPEN = 8
"""Rows of a sensor whose series are drawn in view."""
_MOST_SINGLE = 150
"""Rows of single objects on the page."""
_HEADS = (
    "metric", "subject", "verdict", "real", "virtual", "difference", "95 %", "floor", "times the floor", "p corrected",
    "virtual later [ms]", "frames", "left out",
)  # fmt: skip
_FIELDS = tuple(RowFields.model_fields)
"""Columns of the table as CSV."""
_MAX_WIDTH = 1600
"""Of a picture on the page, pixels."""


@dataclass(frozen=True)
class Cell:
    """A cell of the table.

    Attributes:
        value: what it is ordered by; "" for nothing.
        colour: of the chip around it; "" for none.
    """

    text: str
    value: str = ""
    colour: str = ""


@dataclass(frozen=True)
class SensorSection:
    """What the page says of one sensor.

    Attributes:
        rows: how many there are in all.
        families: the cells of the rows of whole pictures or scans and of all objects, by family.
        single: those of single objects, the clearest first.
        rest: what else single objects say, in words; "" for nothing.
    """

    sensor: str
    rows: int
    families: Mapping[str, Sequence[Sequence[Cell]]]
    single: Sequence[Sequence[Cell]]
    rest: str
    charts: Sequence[Markup]


def report_objects(folder: Path, out: Path, settings: ReportSettings, log: Log) -> Report:
    """Make the page of a result of the second judge."""
    unused = [name for name in ("latex", "label") if getattr(settings, name) is not None]
    if unused:
        raise UsageError(f"--{unused[0]} is for results of compare and sweep; {folder} is one of objects")
    for path in (out, settings.csv):
        is_own = is_report if path == out else _is_table
        if path is not None and check_output(path, is_own, overwrite=settings.overwrite):
            log(f"note: {path} is there already and will be replaced")
    if settings.figures is not None and not settings.overwrite:
        check_output(settings.figures)
    result = load_object_result(folder)
    page = render_objects_page(result, settings.title)
    with atomic_file(out) as temporary:
        temporary.write_text(page, encoding="utf-8")
    if settings.csv is not None:
        _write_csv(result, settings.csv)
        log(f"wrote {settings.csv}")
    if settings.figures is not None:
        log(f"wrote {len(save_drawn(object_figures(result), settings.figures))} files into {settings.figures}")
    return Report(out, [f"{headline(result)}: {lead(result)}", *fact_lines(result)])


def render_objects_page(result: ObjectResult, title: str = "") -> str:
    """Render the page."""
    embedder = FigureEmbedder()
    content = result.content
    return load_template("objects.html").render(
        title=title or f"Does {result.side_name('virtual')} show the same objects as {result.side_name('real')}?",
        name=result.name,
        version=version(),
        headline=headline(result),
        colour=_COLOURS[result.rows[0]["verdict"]],
        lead=lead(result),
        facts=fact_lines(result),
        numbers=[_fact(each) for each in content["facts"]],
        heads=_HEADS,
        sensors=[
            _sensor_section(
                [row for row in result.rows if row["sensor"] == sensor],
                [embedder.embed(draw()) for _, draw in series_figures(result, sensor)],
            )
            for sensor in dict.fromkeys(row["sensor"] for row in result.rows)
        ],
        open=_OPEN,
        ranges=[embedder.embed(draw()) for _, draw in range_figures(result)],
        colours=[_colour(each) for each in content["colours"]],
        histograms=[embedder.embed(draw()) for _, draw in colour_figures(result)],
        pictures=[(each, _data_uri(result, each["file"])) for each in content["pictures"]],
        inputs=_inputs(content),
        parameters=content["parameters"],
        notes=content["notes"],
        losses=content["losses"],
        again=content["inputs"].get("real_again") is not None,
    )


def _sensor_section(rows: Sequence[Mapping[str, Any]], charts: Sequence[Markup]) -> SensorSection:
    single = [row for row in rows if row["is_single"]]
    shown = [row for row in single if row["verdict"] != TOO_FEW][:_MOST_SINGLE]
    counts = Counter(row["verdict"] for row in single)
    counts.subtract(Counter(row["verdict"] for row in shown))
    rest = ", ".join(f"{count} x {verdict}" for verdict, count in counts.items() if count)
    families = by_family([row for row in rows if not row["is_single"]])
    return SensorSection(
        rows[0]["sensor"],
        len(rows),
        {family: [_cells(row) for row in members] for family, members in families.items()},
        [_cells(row) for row in shown],
        rest and f"{len(single) - len(shown)} more rows ({rest}): simjudge report RESULT --csv FILE writes all.",
        charts,
    )


def _cells(row: Mapping[str, Any]) -> list[Cell]:
    interval = "–" if row["low"] is None else f"{signed(row['low'])} to {signed(row['high'])}"
    if row["limited"]:
        interval += " *"
    shift, spread = row["shift"], 1.96 * (row["shift_spread"] or 0)
    lost = row["unpaired_real"] + row["unpaired_virtual"]
    missing = row["missing_real"] + row["missing_virtual"] + row["missing_both"]
    return [
        Cell(f"{row['metric']} [{row['unit']}]" if row["unit"] else row["metric"]),
        Cell(row["subject"] or "whole"),
        Cell(row["verdict"], colour=_COLOURS[row["verdict"]]),
        _number_cell(row["real_mean"], row_number(row["real_mean"])),
        _number_cell(row["virtual_mean"], row_number(row["virtual_mean"])),
        _number_cell(row["difference"], signed(row["difference"])),
        _number_cell(row["low"], interval),
        _number_cell(row["floor"], row_number(row["floor"])),
        _number_cell(row["times_floor"], floor_times(row["times_floor"])),
        _number_cell(row["p_adjusted"], row_p(row["p_adjusted"])),
        _number_cell(shift, "" if shift is None else f"{round(1e3 * shift)} ± {round(1e3 * spread)}"),
        _number_cell(row["frames"], str(row["frames"])),
        _number_cell(lost + missing, f"{lost} / {missing}" if lost + missing else "0"),
    ]


def _number_cell(value: float | None, text: str) -> Cell:
    return Cell("–" if value is None else text, "" if value is None else str(value))


def _fact(fact: Mapping[str, Any]) -> tuple[str, str, str, str]:
    again = "–" if fact["real_again"] is None else row_number(fact["real_again"], fact["unit"])
    return fact["name"], row_number(fact["value"], fact["unit"]), again, fact["note"]


def _colour(row: Mapping[str, Any]) -> tuple[str, str, str, str]:
    digits = 1 if row["channel"] == "hue" else 3
    distance, floor = ("–" if v is None else f"{v:.{digits}f} {row['unit']}" for v in (row["distance"], row["floor"]))
    return colour_subject(row), row["channel"], distance, floor


def _inputs(content: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    rows = []
    for key, title in (("real", "real"), ("virtual", "virtual"), ("real_again", "real, again")):
        side = content["inputs"].get(key)
        if side is not None:
            counts = [f"{side[what]} {what}" for what in ("frames", "clouds") if side.get(what) is not None]
            rows.append((title, side.get("path") or side["name"], ", ".join(counts)))
    return rows


def _data_uri(result: ObjectResult, file: str) -> Markup:
    path = result.folder / PICTURES / file
    if Path(file).name != file or not path.is_file():
        raise SimjudgeError(f"{path}: is missing; run simjudge objects again")
    pixels = decode_image(path.read_bytes(), str(path))
    height, width = pixels.shape[:2]
    if width > _MAX_WIDTH:
        size = (_MAX_WIDTH, max(1, round(height * _MAX_WIDTH / width)))
        pixels = np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA), np.uint8)
    # Maps have few colours and sharp edges: PNG is smaller and exact there.
    png, jpeg = encode_png(pixels), encode_jpeg(pixels, 85)
    kind, data = ("png", png) if len(png) < 1.2 * len(jpeg) else ("jpeg", jpeg)
    return Markup(f"data:image/{kind};base64,{base64.b64encode(data).decode('ascii')}")  # noqa: S704 - base64


def _write_csv(result: ObjectResult, path: Path) -> None:
    """One line each row of the table, with the field names of docs/objects.md."""
    with atomic_file(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["result", *_FIELDS])
        for row in result.rows:
            values = [row.get(field) for field in _FIELDS]
            writer.writerow([result.name, *("" if value is None else value for value in values)])


def _is_table(path: Path) -> bool:
    start = ",".join(["result", *_FIELDS[:3]]).encode()
    with path.open("rb") as stream:
        return stream.read(len(start)) == start
