"""A real and a virtual sensor compared by the same objects: `compare_objects`, its result, and its pictures.

Every metric ends as a series over time (`simjudge.objects.series`). What measures them is listed in one place,
`simjudge.questions.objects.measuring`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import cv2
import numpy as np

from simjudge.core.arrays import BoolArray, ShortRepr, SummaryTable
from simjudge.core.box_drawing import class_colour, draw_boxes
from simjudge.core.errors import Log, Losses, ProgressBar, SimjudgeError, no_log, no_progress
from simjudge.core.frames import FrameSet
from simjudge.core.images import ImageError, RgbImage, as_rgb
from simjudge.core.installed import version
from simjudge.core.settings import declared, takes_setting_keywords
from simjudge.core.text import JsonMapping
from simjudge.detectors.clouds.cuboid_settings import LidarCuboidFile, read_cuboid_settings
from simjudge.objects.image_quality.compiled_loops import ACTIVE_BLOCK, ARTIFACT_BLOCK, NOISY_BLOCK
from simjudge.objects.image_quality.quality import piqe
from simjudge.objects.occupancy import UNKNOWN, MapPair, agreement_picture
from simjudge.objects.series import CommonTimes, common_times
from simjudge.objects.series_comparison import ComparedSeries, SeriesComparison, compare_series
from simjudge.page.kept_result import ResultKind, TabledResult
from simjudge.questions.objects.measuring import (
    Measured,
    ObjectSide,
    ObjectSource,
    Work,
    measure_cameras,
    measure_lidars,
    range_content,
    read_sides,
)
from simjudge.questions.objects.page import OBJECTS_PAGE, cuboid_picture
from simjudge.questions.objects.result import (
    ObjectResult,
    ResultPicture,
    SeriesPair,
    headline,
    load_object_result,
    objects_table,
    rest_line,
    save_object_result,
)
from simjudge.questions.objects.settings import CAMERA, LIDAR, ObjectSettings
from simjudge.results.saved_result import check_result_place
from simjudge.terminal.common import table_text


@dataclass(frozen=True, eq=False, repr=False)
class ObjectComparison(ShortRepr):
    """A real and a virtual sensor compared by objects."""

    sides: Sequence[ObjectSide]  # real, virtual, and a second real recording if there is one
    compared: dict[str, ComparedSeries]
    measured: dict[str, Measured]  # what was measured beside the rows, by sensor
    settings: ObjectSettings
    notes: Sequence[str] = ()
    losses: Losses = field(default_factory=Losses)

    @property
    def name(self) -> str:
        """Both sides."""
        return f"{self.sides[0].name} against {self.sides[1].name}"

    @property
    def series(self) -> list[SeriesPair]:
        """The series behind each row of `content`."""
        return [SeriesPair(row.time, row.real, row.virtual) for found in self.compared.values() for row in found.rows]

    def content(self) -> dict[str, object]:
        """The content of objects.json (docs/guides/objects.md), without the pictures."""
        keys = ("real", "virtual", "real_again")
        texts = {row.name: row for row in declared(type(self.settings))}
        found = self.compared.items()
        return {
            "version": version(),
            "parameters": {name: texts[name].text(value) for name, value in self.settings.given().items()},
            "inputs": {key: side.describe() for key, side in zip(keys, self.sides, strict=False)},
            "rows": [_row_content(sensor, row) for sensor, series in found for row in series.rows],
            "only_real": [(sensor, *name) for sensor, series in found for name in series.only_real],
            "only_virtual": [(sensor, *name) for sensor, series in found for name in series.only_virtual],
            "shifts": {sensor: series.shift for sensor, series in found if series.shift is not None},
            "facts": [asdict(fact) for measured in self.measured.values() for fact in measured.facts],
            "ranges": [range_content(table) for measured in self.measured.values() for table in measured.ranges],
            "colours": [colour.as_dict() for measured in self.measured.values() for colour in measured.colours],
            "models": [model.as_dict() for measured in self.measured.values() for model in measured.models],
            "notes": list(self.notes),
            "losses": self.losses.lines(),
        }

    def save(self, out: Path, pictures: Sequence[ResultPicture] = ()) -> None:
        """Write the result folder; it appears whole or not at all."""
        save_object_result(out, self.content(), self.series, pictures)


def compare_by_objects(
    real: ObjectSource,
    virtual: ObjectSource,
    real_again: ObjectSource | None,
    settings: ObjectSettings,
    *,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> ObjectComparison:
    """Read both sides, measure the same objects in them, and compare the series."""
    losses, notes = Losses(), []

    def note(line: str) -> None:
        notes.append(line.removeprefix("note: "))
        log(line)

    sources = [real, virtual, *([] if real_again is None else [real_again])]
    sides, sensors = read_sides(sources, settings, losses, note)
    for side in sides:
        losses.extend(side.losses())
    work = Work(settings, losses, note, progress)
    compared: dict[str, ComparedSeries] = {}
    measured: dict[str, Measured] = {}
    for sensor in sensors:
        having = [side for side in sides if side.has(sensor)]
        try:
            found = measure_cameras(having, work) if sensor == CAMERA else measure_lidars(having, work)
        except SimjudgeError as error:
            if settings.sensor is not None or len(sensors) == 1:
                raise
            losses.add("sensors that could not be compared", f"{sensor}: {error}")
            continue
        # Pictures at random poses follow each other in no time.
        apart = sensor == CAMERA and any(side.frames is not None and side.frames.independent for side in having)
        rows = compare_series(*found.series, shift_limit=0.0 if apart else settings.shift_limit)
        if rows.rows:
            compared[sensor], measured[sensor] = rows, found
        else:
            note(f"note: the {sensor}s have no object and no metric in common")
    if not compared:
        raise SimjudgeError(
            f"{sides[0].name} and {sides[1].name}: no object and no metric in common{losses.reason}; label the same "
            "objects in both, or name a detector with --model"
        )
    return ObjectComparison(sides, compared, measured, settings, notes, losses)


def _row_content(sensor: str, row: SeriesComparison) -> dict[str, object]:
    real, virtual = row.means
    interval, floor, shift = row.difference, row.floor, row.shift
    return {
        "sensor": sensor,
        "metric": row.metric,
        "unit": row.unit,
        "subject": row.subject,
        "is_single": row.is_single,
        "frames": row.frames,
        "real_mean": _known(real),
        "virtual_mean": _known(virtual),
        "difference": _known(virtual - real),
        "low": None if interval is None else interval.low,
        "high": None if interval is None else interval.high,
        "p": None if interval is None else interval.p,
        "p_adjusted": _known(row.adjusted_p),
        "block": None if interval is None else interval.block,
        "limited": interval is not None and interval.limited,
        "floor": floor.value,
        "floor_source": None if floor.value is None else floor.source,
        "times_floor": row.times_floor,
        "shift": None if shift is None else shift.seconds,
        "shift_spread": None if shift is None else shift.spread,
        "shift_correlation": None if shift is None else shift.correlation,
        "unpaired_real": row.unpaired[0],
        "unpaired_virtual": row.unpaired[1],
        "missing_real": row.missing[0],
        "missing_virtual": row.missing[1],
        "missing_both": row.missing[2],
        "verdict": row.verdict,
    }


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


_INSTANTS = 3
"""Instants at which both cameras are shown."""
_HEIGHT = 400
"""Of a picture side by side with another, pixels at most."""
_GAP = 6
"""White pixels between the two."""
_MAP_SIZE = 1200
"""Pixels of the longer side of a map, about."""
_MARGIN = 10
"""Cells around what a map knows."""
_PIQE_COLOURS = ((ACTIVE_BLOCK, (60, 160, 240)), (ARTIFACT_BLOCK, (230, 40, 40)), (NOISY_BLOCK, (250, 210, 40)))
"""Later ones are drawn over earlier ones."""


def object_pictures(comparison: ObjectComparison) -> list[ResultPicture]:
    """Draw the pictures of a comparison."""
    out: list[ResultPicture] = []
    if CAMERA in comparison.measured:
        out += _camera_pictures(comparison, *comparison.measured[CAMERA].frames)
    if LIDAR in comparison.measured and comparison.measured[LIDAR].lidars:
        found = comparison.measured[LIDAR]
        file = comparison.settings.cuboid_file
        detector = LidarCuboidFile() if file is None else read_cuboid_settings(file)
        cuboids = cuboid_picture(found.lidars[0], found.lidars[1], detector)
        out += [*([] if cuboids is None else [cuboids]), *_map_pictures(found.maps)]
    return out


def _map_pictures(maps: MapPair | None) -> list[ResultPicture]:
    if maps is None:
        return []
    pixels = agreement_picture(maps.real, maps.virtual)
    known = np.argwhere((pixels != UNKNOWN).any(axis=2))
    if not len(known):
        return []
    (top, left), (bottom, right) = np.maximum(known.min(0) - _MARGIN, 0), known.max(0) + _MARGIN + 1
    cut = np.ascontiguousarray(pixels[top:bottom, left:right])
    factor = max(1, _MAP_SIZE // max(cut.shape[:2]))
    enlarged = cut.repeat(factor, axis=0).repeat(factor, axis=1)
    height, width = (side / maps.real.extent.cells_per_metre for side in cut.shape[:2])
    title = f"Occupancy maps of both lidars, {width:.0f} x {height:.0f} m"
    note = (
        "White: occupied in both maps. Black: free in both. Red: occupied in the real map alone. Cyan: occupied in the "
        "virtual map alone. Dark red and dark cyan: occupied in one and unknown in the other. Gray: unknown in both; "
        "dark gray: free in one and unknown in the other."
    )
    return [ResultPicture("occupancy_map", title, note, enlarged)]


def _camera_pictures(comparison: ObjectComparison, real: FrameSet, virtual: FrameSet) -> list[ResultPicture]:
    if real.images is None or virtual.images is None:
        return []
    common = common_times(comparison.sides[0].times(CAMERA), comparison.sides[1].times(CAMERA))
    start = comparison.sides[0].times(CAMERA)[common.real[0]]
    places = np.unique(np.linspace(0, len(common) - 1, 2 * _INSTANTS + 1)[1::2].round().astype(int))
    out = []
    for number, place in enumerate(places.tolist()):
        seconds = comparison.sides[0].times(CAMERA)[common.real[place]] - start
        pixels = _side_by_side(*(_boxed(picture, row) for picture, row in _frames_at(real, virtual, common, place)))
        if pixels is not None:
            title = f"Both cameras at {seconds:.2f} s: real left, virtual right"
            out.append(ResultPicture(f"cameras_{number}", title, "Boxes are those that were followed.", pixels))
    worst = _largest_piqe_difference(comparison, common)
    if worst is not None:
        out += _piqe_maps(real, virtual, common, worst, start)
    return out


def _piqe_maps(real: FrameSet, virtual: FrameSet, common: CommonTimes, place: int, start: float) -> list[ResultPicture]:
    shown, scores = [], []
    for picture, row in _frames_at(real, virtual, common, place):
        pixels = _read(picture, row)
        if pixels is None:
            return []
        found = piqe(pixels)
        scores.append(f"{found.score:.1f} ({found.word})")
        shown.append(_tinted(pixels, [(found.mask(kind), colour) for kind, colour in _PIQE_COLOURS]))
    both = _side_by_side(shown[0], shown[1])
    seconds = real.stamp[common.real[place]] / 1e9 - start
    title = f"PIQE's maps where the scores differ most, at {seconds:.2f} s: real {scores[0]}, virtual {scores[1]}"
    note = "Blue: active blocks. Red: blocks with artifacts. Yellow: blocks with noise. 0 is best, 100 is worst."
    return [] if both is None else [ResultPicture("piqe_maps", title, note, both)]


def _largest_piqe_difference(comparison: ObjectComparison, common: CommonTimes) -> int | None:
    """Where the PIQE of both pictures differs most, as a place in the common times; None where it is not known."""
    row = next((row for row in comparison.compared[CAMERA].rows if row.metric == "piqe" and not row.subject), None)
    if row is None or len(row.time) != len(common):
        return None
    apart = np.abs(row.virtual - row.real)
    return None if np.isnan(apart).all() else int(np.nanargmax(apart))


def _frames_at(
    real: FrameSet, virtual: FrameSet, common: CommonTimes, place: int
) -> tuple[tuple[FrameSet, int], tuple[FrameSet, int]]:
    return (real, int(common.real[place])), (virtual, int(common.virtual[place]))


def _read(frames: FrameSet, row: int) -> RgbImage | None:
    try:
        return None if frames.images is None else as_rgb(frames.images.read(row))
    except ImageError:
        return None  # reading the quality of all pictures has counted it


def _boxed(frames: FrameSet, row: int) -> RgbImage | None:
    pixels = _read(frames, row)
    table = frames.predictions if frames.predictions is not None else frames.objects
    if pixels is None:
        return None
    rows = np.flatnonzero(table.frame == row)
    colours = [class_colour(int(class_id), frames.class_name(int(class_id))) for class_id in table.class_id[rows]]
    return draw_boxes(pixels, table.box[rows], np.reshape(colours, (-1, 3))) if len(rows) else pixels


def _side_by_side(real: RgbImage | None, virtual: RgbImage | None) -> RgbImage | None:
    if real is None or virtual is None:
        return None
    height = min(_HEIGHT, max(real.shape[0], virtual.shape[0]))
    left, right = (_resized(side, height) for side in (real, virtual))
    return np.hstack([left, np.full((height, _GAP, 3), 255, np.uint8), right])


def _resized(pixels: RgbImage, height: int) -> RgbImage:
    width = max(1, round(pixels.shape[1] * height / pixels.shape[0]))
    method = cv2.INTER_AREA if height < pixels.shape[0] else cv2.INTER_NEAREST
    return np.asarray(cv2.resize(pixels, (width, height), interpolation=method), np.uint8)


def _tinted(pixels: RgbImage, masks: list[tuple[BoolArray, tuple[int, int, int]]]) -> RgbImage:
    out = pixels.astype(np.float64)
    colour = np.zeros_like(out)
    tinted = np.zeros(pixels.shape[:2], np.bool_)
    for mask, mask_colour in masks:
        colour[mask] = mask_colour
        tinted |= mask
    out[tinted] = 0.6 * out[tinted] + 0.4 * colour[tinted]
    return out.round().astype(np.uint8)


class ObjectComparisonResult(TabledResult[ObjectResult]):
    """How a virtual sensor differs from a real one, by the same objects. Printing it gives the command's table.

    Attributes:
        saved: the result as figures and pages read it.
        comparison: what was computed, with the series; None for a result that was read again.
    """

    page = OBJECTS_PAGE

    def __init__(self, saved: ObjectResult, folder: Path | None, comparison: ObjectComparison | None = None) -> None:
        """Wrap a result; `compare_objects` and `load_result` make one."""
        super().__init__(folder, None if comparison is None else self._save_comparison)
        self.saved, self.comparison = saved, comparison

    @property
    def rows(self) -> Sequence[JsonMapping]:
        """The table as numbers: a row each metric and subject, those that differ first."""
        return list(self.content["rows"])

    @property
    def table(self) -> SummaryTable:
        """The table that the command prints."""
        return objects_table(self.saved)

    @property
    def rest(self) -> str:
        """How many rows the table leaves out; "" for none."""
        return rest_line(self.saved)

    def __str__(self) -> str:
        """The table that the command prints, and how many rows it leaves out."""
        return "\n".join(filter(None, [table_text(self.table), self.rest]))

    def __repr__(self) -> str:
        """What it is, in a line."""
        return f"ObjectComparisonResult({self.name!r}, {headline(self.saved)})"

    def _save_comparison(self, folder: Path) -> None:
        if self.comparison is not None:
            self.comparison.save(folder, object_pictures(self.comparison))


@takes_setting_keywords
def compare_objects(
    real: ObjectSource,
    virtual: ObjectSource,
    out: str | Path | None = None,
    *,
    real_again: ObjectSource | None = None,
    settings: ObjectSettings,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> ObjectComparisonResult:
    """Compare a real and a virtual sensor over time, by the objects they see and by the whole signal.

    Args:
        real: the real sensor's recording or set: a FrameSet, a CloudSet, or a path.
        virtual: the virtual sensor's, over the same course at the same stamps.
        out: folder to save the result in; None saves nothing.
        real_again: another real recording of the course: what real differs by from real is the floor. None: the floor
            is what every other frame of the real recording differs by from its neighbours.
        settings: all settings at once; keywords change single ones.
        log: receives lines that a person should read; `print` does.
        progress: opens a progress bar.

    Returns:
        The result. Printing it gives a table; it saves and reports itself.

    Raises:
        UsageError: a setting makes no sense.
        SimjudgeError: a side cannot be read, they have no sensor, no time or no object in common, or `out` cannot be
            written.
    """
    check_result_place(out, log)
    found = compare_by_objects(real, virtual, real_again, settings, log=log, progress=progress)
    if out is None:
        return ObjectComparisonResult(ObjectResult(found.name, Path(), found.content()), None, found)
    found.save(Path(out), object_pictures(found))
    return ObjectComparisonResult(load_object_result(Path(out)), Path(out), found)


KIND = ResultKind(
    OBJECTS_PAGE.noun, lambda folder: ObjectComparisonResult(load_object_result(folder), folder), OBJECTS_PAGE.report
)
