"""`simjudge calibrate lidar` as a function: recorded turns become a sensor file, and its distance from them is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simjudge.core.display import ShortRepr
from simjudge.core.documents import check_content
from simjudge.core.errors import Losses, UsageError
from simjudge.core.files import atomic_file, begins_with, check_output, output_path
from simjudge.core.yaml_file import parse_yaml
from simjudge.data.sets import refuse_input_as_output
from simjudge.sim.sensors.lidar.beam_estimation import BeamEstimate, estimate_beams
from simjudge.sim.sensors.lidar.lidar import Lidar
from simjudge.sim.sensors.lidar.lidar_fields import LidarFields
from simjudge.sim.sensors.lidar.lidar_writing import lidar_table, sensor_text
from simjudge.sim.sensors.lidar.measured_turns import MeasuredLidar
from simjudge.sim.sensors.lidar.turn_distance import TurnDistance, turn_distance
from simjudge.sim.sensors.lidar.turn_readers import RAW_FIELDS, read_turns

_OWN = "# Beams of "
"""How a sensor file of this command begins."""


@dataclass(frozen=True, eq=False, repr=False)
class CalibratedLidar(ShortRepr):
    """What was found of one lidar.

    Attributes:
        lidar: as it is read from the sensor file.
        distance: of the recorded turns from simulated ones with that file.
    """

    name: str
    turns: int
    estimate: BeamEstimate
    lidar: Lidar
    distance: TurnDistance
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
    for each in measured:
        if rate is None and each.turns[0].time is None:
            raise UsageError(f"{source}: {'; '.join(each.notes)}; give --rate (turns a second)")
    estimates = [estimate_beams(each.turns, rings=rings, rate=rate) for each in measured]
    notes = [(*each.notes, *estimate.notes) for each, estimate in zip(measured, estimates, strict=True)]
    tables = {
        each.name: lidar_table(estimate, _ranges(each), each.mount)
        for each, estimate in zip(measured, estimates, strict=True)
    }
    text = sensor_text(tables, _comments(source, measured, notes))
    file = parse_yaml(text, out)
    found = []
    losses = Losses()
    for each, estimate, said in zip(measured, estimates, notes, strict=True):
        table = check_content(file.content[each.name], LidarFields, "lidar", out, (file,)).content
        lidar = table.lidar(each.name)
        distance = turn_distance(lidar, estimate, each.turns)
        found.append(CalibratedLidar(each.name, len(each.turns), estimate, lidar, distance, said))
        losses.extend(each.losses)
        losses.extend(estimate.losses)
    with atomic_file(out) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return LidarCalibration(found, out, losses)


def _ranges(measured: MeasuredLidar) -> tuple[float, float]:
    ranges = [turn.range for turn in measured.turns]
    return float(min(np.min(each) for each in ranges)), float(max(np.max(each) for each in ranges))


def _comments(source: Path, measured: Sequence[MeasuredLidar], notes: Sequence[Sequence[str]]) -> list[str]:
    turns = len(measured[0].turns)
    told = f"estimated from {turns} turn{'s' * (turns > 1)} by simjudge calibrate lidar"
    made = f"{_OWN.removeprefix('# ')}{source.name}, {told}."
    lines = [f"{made} `range` holds what was seen, not what the device can measure."]
    lines += [f"Not told by the data: {note}." for note in dict.fromkeys(note for each in notes for note in each)]
    return lines
