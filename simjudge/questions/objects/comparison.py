"""A real and a virtual sensor compared by the same objects: what `simjudge objects` does, up to the result folder.

Every metric ends as a series over time (`simjudge.objects.series`). What measures them is listed in one place,
`simjudge.questions.objects.measuring`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from simjudge.core.display import ShortRepr
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.installed import version
from simjudge.core.progress import Log, ProgressBar, no_log, no_progress
from simjudge.core.settings import declared
from simjudge.objects.series_comparison import ComparedSeries, SeriesComparison, compare_series
from simjudge.questions.objects.inputs import ObjectSide, ObjectSource, read_sides
from simjudge.questions.objects.measuring import Measured, Work, measure_cameras, measure_lidars, range_content
from simjudge.questions.objects.saved import ResultPicture, SeriesPair, save_object_result
from simjudge.questions.objects.settings import CAMERA, ObjectSettings


@dataclass(frozen=True, eq=False, repr=False)
class ObjectComparison(ShortRepr):
    """A real and a virtual sensor compared by objects.

    Attributes:
        sides: real, virtual, and a second real recording if there is one.
        measured: what was measured beside the rows, by sensor.
    """

    sides: Sequence[ObjectSide]
    compared: dict[str, ComparedSeries]
    measured: dict[str, Measured]
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

    def content(self) -> dict[str, Any]:
        """The content of objects.json (docs/guides/objects.md), without the pictures."""
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
            "facts": [asdict(fact) for each in self.measured.values() for fact in each.facts],
            "ranges": [range_content(table) for each in self.measured.values() for table in each.ranges],
            "colours": [colour.as_dict() for each in self.measured.values() for colour in each.colours],
            "models": [model.as_dict() for each in self.measured.values() for model in each.models],
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
    """Read both sides, measure the same objects in them, and compare the series.

    Args:
        real_again: another one of the real sensor, for the floor; None: halves of the first one.
    """
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
