"""A real and a virtual sensor compared by the same objects: what `simjudge objects` does, up to the result folder.

Every metric ends as a series over time (`simjudge.objects.series`). The providers of series are listed in one place,
`_camera_series`. What is one number of a whole recording is a `Fact`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from simjudge.core.display import ShortRepr
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.progress import Log, ProgressBar, no_log, no_progress
from simjudge.core.settings import declared
from simjudge.core.version import version
from simjudge.objects.camera_series import camera_series
from simjudge.objects.compared_series import ComparedSeries, SeriesComparison
from simjudge.objects.image_quality.colour_histograms import ColourDifference, colour_differences, colour_histograms
from simjudge.objects.image_quality.quality_series import image_quality_series
from simjudge.objects.image_quality.quality_settings import ModelRecord, read_quality_models
from simjudge.objects.series import Series
from simjudge.objects.series_comparison import compare_series
from simjudge.results.object_result import ResultPicture, SeriesPair, save_object_result
from simjudge.studies.object_inputs import ObjectSide, ObjectSource, read_sides
from simjudge.studies.object_settings import ObjectSettings


@dataclass(frozen=True)
class Fact:
    """One number of two whole recordings.

    Attributes:
        sensor: CAMERA or LIDAR.
        name: what it is, as "F1 of the occupancy maps".
        value: of real and virtual.
        unit: "" for none.
        real_again: the same of the real recording and a second real one; None without one.
        note: what else is to be known.
    """

    sensor: str
    name: str
    value: float
    unit: str = ""
    real_again: float | None = None
    note: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class ObjectComparison(ShortRepr):
    """A real and a virtual sensor compared by objects.

    Attributes:
        sides: real, virtual, and a second real recording if there is one.
        compared: the rows, by sensor.
        facts: numbers of whole recordings.
        settings: how it was compared.
        notes: what a person should know.
        losses: what was left out.
        models: which models pictures were scored by.
        colours: what hue, saturation and value of pictures and objects differ by.
    """

    sides: Sequence[ObjectSide]
    compared: dict[str, ComparedSeries]
    facts: Sequence[Fact]
    settings: ObjectSettings
    notes: Sequence[str] = ()
    losses: Losses = field(default_factory=Losses)
    models: Sequence[ModelRecord] = ()
    colours: Sequence[ColourDifference] = ()

    @property
    def name(self) -> str:
        """Both sides."""
        return f"{self.sides[0].name} against {self.sides[1].name}"

    @property
    def series(self) -> list[SeriesPair]:
        """The series behind each row of `content`."""
        return [SeriesPair(row.time, row.real, row.virtual) for found in self.compared.values() for row in found.rows]

    def content(self) -> dict[str, Any]:
        """The content of objects.json (docs/objects.md), without the pictures."""
        keys = ("real", "virtual", "real_again")
        texts = {row.name: row for row in declared(type(self.settings))}
        found = self.compared.items()
        return {
            "version": version(),
            "parameters": {name: texts[name].text(value) for name, value in self.settings.given().items()},
            "inputs": {key: side.describe() for key, side in zip(keys, self.sides, strict=False)},
            "rows": [_row_content(sensor, row) for sensor, each in found for row in each.rows],
            "only_real": [(sensor, *name) for sensor, each in found for name in each.only_real],
            "only_virtual": [(sensor, *name) for sensor, each in found for name in each.only_virtual],
            "shifts": {sensor: each.shift for sensor, each in found if each.shift is not None},
            "facts": [asdict(fact) for fact in self.facts],
            "models": [record.as_dict() for record in self.models],
            "colours": [each.as_dict() for each in self.colours],
            "notes": list(self.notes),
            "losses": self.losses.lines(),
        }

    def save(self, out: Path, pictures: Sequence[ResultPicture] = ()) -> None:
        """Write the result folder; it appears whole or not at all.

        Args:
            out: an earlier result there is replaced.
            pictures: that belong to it.

        Raises:
            SimjudgeError: the folder holds something else, or cannot be written.
        """
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
    """Read both sides, measure the same objects in them, and compare the series.

    Args:
        real: a recording or set of the real sensor.
        virtual: one of the virtual sensor.
        real_again: another one of the real sensor, for the floor; None: halves of the first one.
        settings: how it is compared.
        log: told what a person should know.
        progress: shows how far measuring is.

    Returns:
        The comparison, which can be saved.

    Raises:
        SimjudgeError: one cannot be read, or they have no sensor, no time or nothing to measure in common.
    """
    losses, notes = Losses(), []

    def note(line: str) -> None:
        notes.append(line.removeprefix("note: "))
        log(line)

    sources = [real, virtual, *([] if real_again is None else [real_again])]
    sides, sensors = read_sides(sources, settings, losses, note)
    for side in sides:
        losses.extend(side.losses())
    work = _Work(settings, losses, note, progress)
    compared: dict[str, ComparedSeries] = {}
    facts: list[Fact] = []
    for sensor in sensors:
        series = _camera_series([side for side in sides if side.has(sensor)], work)
        compared[sensor] = compare_series(*series, shift_limit=settings.shift_limit)
        if not compared[sensor].rows:
            note(f"note: the {sensor}s have no object and no metric in common")
    if not any(found.rows for found in compared.values()):
        raise SimjudgeError(
            f"{sides[0].name} and {sides[1].name}: no object and no metric in common; label the same objects in both, "
            "or name a detector with --model"
        )
    return ObjectComparison(sides, compared, facts, settings, notes, losses, work.models, work.colours)


@dataclass(frozen=True)
class _Work:
    """What measuring needs and tells."""

    settings: ObjectSettings
    losses: Losses
    log: Log
    progress: ProgressBar
    models: list[ModelRecord] = field(default_factory=list)
    colours: list[ColourDifference] = field(default_factory=list)


def _camera_series(sides: Sequence[ObjectSide], work: _Work) -> list[list[Series]]:
    """Everything that pictures tell over time: of real, virtual, and the second real recording if there is one."""
    for record in read_quality_models(work.settings).records():
        work.models.append(record)
        work.log(f"note: {record.metric}'s model: {record.origin} (SHA-256 {record.digest[:16]})")
    sets = [_detected(side.frames, work) for side in sides if side.frames is not None]
    out: list[list[Series]] = []
    for other in sets[1:]:
        pair = camera_series(sets[0], other, work.settings, losses=work.losses, log=work.log)
        out = [*(out or [pair[0]]), pair[1]]
    for series, frames in zip(out, sets, strict=True):
        series.extend(image_quality_series(frames, work.settings, losses=work.losses, progress=work.progress))
    work.colours.extend(_colour_differences(sets, work))
    return out


def _colour_differences(sets: Sequence[FrameSet], work: _Work) -> list[ColourDifference]:
    """What hue, saturation and value differ by; the pictures that cannot be read are counted with the quality."""
    found = [colour_histograms(frames, progress=work.progress) for frames in sets]
    return colour_differences(*found)


def _detected(frames: FrameSet, work: _Work) -> FrameSet:
    """The set with what the settings' model finds in it, where one is named."""
    if work.settings.model is None:
        return frames
    from simjudge.perception.detection import detect  # noqa: PLC0415 - slow to import
    from simjudge.perception.loading import load_detector  # noqa: PLC0415

    detector = load_detector(work.settings.model, trust=work.settings.trust)
    return detect(frames, detector, rename=dict(work.settings.rename or ()), progress=work.progress, log=work.log)


def _row_content(sensor: str, row: SeriesComparison) -> dict[str, Any]:
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
