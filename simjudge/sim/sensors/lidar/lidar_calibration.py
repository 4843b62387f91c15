"""`simjudge sim calibrate lidar` as a function: recorded turns become a sensor file, and its distance to them."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, ShortRepr
from simjudge.core.documents import check_content
from simjudge.core.errors import Losses, UsageError
from simjudge.core.files import atomic_file, begins_with, check_output, output_path
from simjudge.core.text import Json, parse_yaml
from simjudge.data.sets import refuse_input_as_output
from simjudge.geometry.poses import Pose
from simjudge.sim.sensors.lidar.beam_estimation import BeamEstimate, estimate_beams
from simjudge.sim.sensors.lidar.columns_and_rings import wrapped
from simjudge.sim.sensors.lidar.lidar import Lidar, LidarFields, lidar_beams, unit_directions
from simjudge.sim.sensors.lidar.measured_turns import RAW_FIELDS, MeasuredLidar, MeasuredTurn, read_turns

_WIDTH = 120
_DIGITS = 4  # Of degrees: 0.0001 degrees is 0.2 mm at 100 m


def lidar_table(estimate: BeamEstimate, ranges: tuple[float, float], mount: Pose | None) -> dict[str, object]:
    """The fields of a sensor file that an estimate tells, in the file's units and as many digits as it gets."""
    rate = estimate.rate
    window = estimate.columns * estimate.period
    full = estimate.field_of_view > 2 * math.pi - 1e-9
    table: Json = {"kind": "lidar", "rate": float(f"{rate:.9g}")}
    if mount is not None:
        table["mount"] = {
            "position": [round(coordinate, _DIGITS) for coordinate in mount.position],
            "orientation": [round(part, 8) for part in mount.orientation],
        }
    table["columns"] = estimate.columns
    if not full:
        table["field_of_view"] = round(math.degrees(estimate.field_of_view), 6)
        table["window"] = float(f"{window:.9g}")
    table["start"] = _degrees(estimate.start)
    table["clockwise"] = estimate.clockwise
    table["elevation"] = [_degrees(ring.elevation) for ring in estimate.rings]
    azimuths = [_degrees(ring.azimuth) for ring in estimate.rings]
    if any(azimuths):
        table["ring_azimuth"] = azimuths
    if estimate.timed and any(round(ring.delay * 1e6, 3) for ring in estimate.rings):
        table["ring_delay"] = [round(ring.delay * 1e6, 3) for ring in estimate.rings]
    if estimate.head_deviation:
        table["head_deviation"] = [_degrees(deviation) for deviation in estimate.head_deviation]
    table["range"] = [math.floor(ranges[0] * 100) / 100, math.ceil(ranges[1])]
    return table


def sensor_text(tables: dict[str, dict[str, object]], comments: list[str]) -> str:
    """A sensor file."""
    lines = [
        part for line in comments for part in textwrap.wrap(line, _WIDTH, initial_indent="# ", subsequent_indent="# ")
    ]
    for name, table in tables.items():
        lines.append(f"{name}:")
        for field, value in table.items():
            text = f"  {field}: {_yaml(value)}"
            lines += textwrap.wrap(text, _WIDTH, subsequent_indent="    ", break_long_words=False)
    return "\n".join(lines) + "\n"


def _degrees(radians: float) -> float:
    # 0.0, never -0.0
    return round(math.degrees(radians), _DIGITS) + 0.0


def _yaml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {_yaml(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_yaml(item) for item in value) + "]"
    return str(value)


@dataclass(frozen=True, eq=False, repr=False)
class TurnDistance(ShortRepr):
    """Distances of recorded points from the simulated beams of their rings and columns."""

    angle: FloatArray  # (P,), radians, between the two directions
    time: FloatArray  # (P,), seconds, between the two firings, 0 or more; NaN where points have no times
    rounding: FloatArray  # (P,), radians, the largest angle by which the file's rounding turns the point
    ring: npt.NDArray[np.int64]  # int64 (P,), 0 is the lowest
    beyond: int  # points in columns that the simulated turn does not have; they are in none of the above


def turn_distance(lidar: Lidar, estimate: BeamEstimate, turns: Sequence[MeasuredTurn]) -> TurnDistance:
    """Compare recorded turns with a lidar's beams, each turn set to its own begin in time and azimuth."""
    beams = lidar_beams(lidar)
    # In the order of columns and rings, whatever fires first.
    order = np.lexsort((beams.ring, beams.column))
    inside = (estimate.column >= 0) & (estimate.column < lidar.columns)
    beam = order[(estimate.column * len(estimate.rings) + estimate.ring)[inside]]
    turn = estimate.turn[inside]

    def all_turns(quantity: str) -> FloatArray:
        parts = (getattr(turn, quantity)[used] for turn, used in zip(turns, estimate.used, strict=True))
        joined: FloatArray = np.concatenate(list(parts))[inside]
        return joined

    azimuth = all_turns("azimuth") - wrapped(estimate.turn_start - estimate.start)[turn]
    real = unit_directions(azimuth, all_turns("elevation"))
    simulated = unit_directions(beams.azimuth[beam], beams.elevation[beam])
    angle = 2 * np.arcsin(np.minimum(np.linalg.norm(real - simulated, axis=1) / 2, 1.0))
    time = np.full(len(beam), np.nan)
    if estimate.timed:
        time = np.abs(all_turns("time") - estimate.turn_begin[turn] - beams.time[beam])
    return TurnDistance(angle, time, all_turns("rounding"), estimate.ring[inside], int((~inside).sum()))


_OWN = "# Beams of "  # How a sensor file of this command begins


@dataclass(frozen=True, eq=False, repr=False)
class CalibratedLidar(ShortRepr):
    """What was found of one lidar."""

    name: str
    turns: int
    estimate: BeamEstimate
    lidar: Lidar  # as it is read from the sensor file
    distance: TurnDistance  # of the recorded turns from simulated ones with that file
    notes: Sequence[str]


@dataclass(frozen=True, eq=False, repr=False)
class LidarCalibration(ShortRepr):
    """What `calibrate_lidar` found and wrote."""

    lidars: Sequence[CalibratedLidar]
    path: Path
    losses: Losses


def calibrate_lidar(
    source: str | Path,
    out: str | Path,
    *,
    topic: str | None = None,
    fields: Sequence[str] = RAW_FIELDS,
    rings: int | None = None,
    rate: float | None = None,
    most: int = 100,
    overwrite: bool = False,
) -> LidarCalibration:
    """Estimate beams and firing times of lidars from recorded turns, and write them as a sensor file.

    Args:
        source: a .bin file or a folder of them, an Argoverse 2 sweep, or a recording with sensor_msgs/PointCloud2.
        out: the sensor file, x.yaml.
        topic: of the point clouds; None: there must be only one.
        fields: columns of .bin files, float32 each.
        rings: how many there are, where the data does not number them; None: as many as the elevations form.
        rate: turns a second, where the points have no usable times.
        most: how many turns are read at most.
        overwrite: replace a file that something else wrote.

    Returns:
        What was found.

    Raises:
        UsageError: the arguments make no sense together, or the points have no times and `rate` is missing.
        SimjudgeError: the data holds no turns, or no beams can be told from them.
    """
    source, out = Path(source), output_path(Path(out))
    if out.suffix not in (".yaml", ".yml"):
        raise UsageError(f"{out}: a sensor file ends with .yaml")
    refuse_input_as_output(out, source)
    check_output(out, lambda there: begins_with(there, _OWN), overwrite=overwrite)
    measured = read_turns(source, topic=topic, fields=fields, most=most)
    for recording in measured:
        if rate is None and recording.turns[0].time is None:
            raise UsageError(f"{source}: {'; '.join(recording.notes)}; give --rate (turns a second)")
    estimates = [estimate_beams(recording.turns, rings=rings, rate=rate) for recording in measured]
    notes = [(*recording.notes, *estimate.notes) for recording, estimate in zip(measured, estimates, strict=True)]
    tables = {
        recording.name: lidar_table(estimate, _ranges(recording), recording.mount)
        for recording, estimate in zip(measured, estimates, strict=True)
    }
    text = sensor_text(tables, _comments(source, measured, notes))
    file = parse_yaml(text, out)
    found = []
    losses = Losses()
    for device, estimate, said in zip(measured, estimates, notes, strict=True):
        table = check_content(file.content[device.name], LidarFields, "lidar", out, (file,)).content
        lidar = table.lidar(device.name)
        distance = turn_distance(lidar, estimate, device.turns)
        found.append(CalibratedLidar(device.name, len(device.turns), estimate, lidar, distance, said))
        losses.extend(device.losses)
        losses.extend(estimate.losses)
    with atomic_file(out) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return LidarCalibration(found, out, losses)


def _ranges(measured: MeasuredLidar) -> tuple[float, float]:
    ranges = [turn.range for turn in measured.turns]
    return float(min(np.min(turn_ranges) for turn_ranges in ranges)), float(
        max(np.max(turn_ranges) for turn_ranges in ranges)
    )


def _comments(source: Path, measured: Sequence[MeasuredLidar], notes: Sequence[Sequence[str]]) -> list[str]:
    turns = len(measured[0].turns)
    told = f"estimated from {turns} turn{'s' * (turns > 1)} by simjudge sim calibrate lidar"
    made = f"{_OWN.removeprefix('# ')}{source.name}, {told}."
    lines = [f"{made} `range` holds what was seen, not what the device can measure."]
    lines += [f"Not told by the data: {note}." for note in dict.fromkeys(note for said in notes for note in said)]
    return lines
