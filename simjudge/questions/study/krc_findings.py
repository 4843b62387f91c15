"""The findings of the KRC experiment, computed anew from a study's recordings, beside what the source found.

Source: Morales et al., "Validating sensor models for off-road autonomous mobility", NATO AVT-341 / GVSETS, 2024.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from simjudge.core.arrays import FloatArray, ShortRepr
from simjudge.core.errors import Log, Losses, ProgressBar, no_log, no_progress
from simjudge.core.files import atomic_folder
from simjudge.core.frames import FrameSet
from simjudge.core.images import encode_png
from simjudge.data.sets import read_clouds, read_set
from simjudge.detectors.detection import detect
from simjudge.objects.camera_series import camera_series
from simjudge.objects.occupancy import MapPair, OccupancyMap, agreement_picture, occupancy_maps
from simjudge.objects.series import Series
from simjudge.objects.settings import FOLLOW_PREDICTIONS, CameraObjectSettings
from simjudge.results.saved_result import FINDINGS_FOLDER, NO, UNDECIDED, YES, StudyFinding, write_findings
from simjudge.sim.scene.model import Scene
from simjudge.sim.scene.read import read_scene

SOURCE_F1 = 0.9723
"""Of the source's two occupancy maps."""
_BESIDE_POLE = 0.6
"""Metres from a pole's place within which an occupied cell is the pole: motion puts it up to half a metre off."""
_BESIDE_BARRIER = 1.2
"""Metres beyond a barrier's ends, and 0.6 m beside its middle, within which occupied cells are the barrier."""
_SHOWN = 6.5
"""Metres to both sides of the way that the pictures of the maps show."""
_CLEARLY = 0.05
"""Share by which two sizes must differ to be called different."""
_F1_APART = 0.03
"""F1 that is lower by no more than this agrees with the source's."""
Numbers = dict[str, float]


@dataclass(frozen=True, eq=False, repr=False)
class KrcFindings(ShortRepr):
    """All findings of a run."""

    findings: Sequence[StudyFinding]  # in the order of the page
    losses: Losses


def find_krc(  # noqa: PLR0913 - one recording each
    real: str | Path,
    ideal: str | Path,
    physical: str | Path,
    wide: str | Path,
    misaligned: str | Path,
    out: str | Path,
    *,
    detector: str | Path,
    scene: str | Path = "krc",
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> KrcFindings:
    """Compute the findings from the recordings of the experiment, and write them with the pictures of the maps."""
    world, losses = read_scene(scene), Losses()
    clouds = {name: read_clouds(path) for name, path in (("real", real), ("ideal", ideal), ("physical", physical))}
    maps = {name: occupancy_maps(clouds["real"], clouds[name], progress=log) for name in ("ideal", "physical")}
    for pair in maps.values():
        losses.extend(pair.losses)
    sets = {name: read_set(path) for name, path in (("real", real), ("ideal", ideal), ("physical", physical))}
    found = [
        *map_findings(maps),
        pole_finding(maps, places(world, "pole")),
        barrier_finding(maps, barriers_along(world)),
        flicker_finding({name: detect(frames, detector, progress=progress, log=log) for name, frames in sets.items()}),
        field_finding(sets["ideal"], read_set(wide)),
        alignment_finding(sets["ideal"], read_set(misaligned)),
    ]
    with atomic_folder(out, FINDINGS_FOLDER) as folder:
        for name, pair in maps.items():
            (folder / f"map_{name}.png").write_bytes(encode_png(_along_the_way(pair)))
        write_findings(found, folder)
    return KrcFindings(found, losses)


def map_findings(maps: Mapping[str, MapPair]) -> list[StudyFinding]:
    """F1 of the occupancy maps."""
    out = []
    for name, pair in maps.items():
        free, occupied = pair.agreement.free, pair.agreement.occupied
        numbers = {"free F1": free.f1, "occupied F1": occupied.f1, "occupied IoU": occupied.iou}
        out.append(
            StudyFinding(
                f"Occupancy maps, {name} lidar",
                f"F1 is {SOURCE_F1:.2%}; the source does not say of which cells.",
                f"F1 is {free.f1:.2%} of free cells, {occupied.f1:.2%} of occupied cells.",
                _f1_agrees(free.f1, occupied.f1),
                numbers,
            )
        )
    return out


def pole_finding(maps: Mapping[str, MapPair], poles: FloatArray) -> StudyFinding:
    """How many of the poles each map shows. `poles`: (N, 2), places, metres."""
    counts = {name: poles_shown(one, poles) for name, one in _three(maps).items()}
    return StudyFinding(
        "Thin poles",
        "The map of the noiseless lidar shows thin poles that the real one loses.",
        f"Of {len(poles)} poles the real map shows {counts['real']}, the ideal one {counts['ideal']}, the physical one"
        f" {counts['physical']}.",
        _agreed(counts["ideal"] > counts["real"]),
        {name: float(count) for name, count in counts.items()},
    )


def poles_shown(one: OccupancyMap, poles: FloatArray) -> int:
    """Count the poles beside which a map has an occupied cell. `poles`: (N, 2), places, metres."""
    cells = occupied_cells(one)
    apart = np.linalg.norm(cells[:, None] - poles, axis=2) if len(cells) else np.full((1, len(poles)), np.inf)
    return int(np.count_nonzero(apart.min(axis=0) <= _BESIDE_POLE))


def barrier_finding(maps: Mapping[str, MapPair], barriers: FloatArray) -> StudyFinding:
    """How long the barriers along the way are in each map. `barriers`: (N, 3), places x and y, and length, metres."""
    lengths = {name: mean_length(one, barriers) for name, one in _three(maps).items()}
    said = {name: f"{length:.2f} m" if math.isfinite(length) else "not in the map" for name, length in lengths.items()}
    longer = lengths["real"] / lengths["ideal"] - 1
    return StudyFinding(
        "Motion lengthens barriers",
        "Barriers along the direction of travel are longer in the real map than in that of a lidar that does not move.",
        f"Of {barriers[:, 2].mean():.1f} m: in the real map {said['real']}, ideal {said['ideal']}, physical"
        f" {said['physical']}, on average over {len(barriers)} barriers.",
        _agreed(longer > _CLEARLY) if math.isfinite(longer) else UNDECIDED,
        lengths,
    )


def mean_length(one: OccupancyMap, barriers: FloatArray) -> float:
    """The mean length of barriers along x in a map, metres; NaN where none is in it.

    `barriers`: (N, 3), places x and y, and length, metres.
    """
    cells, lengths = occupied_cells(one), []
    for x, y, length in barriers.tolist():
        beside = (np.abs(cells[:, 0] - x) < length / 2 + _BESIDE_BARRIER) & (np.abs(cells[:, 1] - y) < 0.6)
        if beside.any():
            lengths.append(np.ptp(cells[beside, 0]) + 1 / one.extent.cells_per_metre)
    return float(np.mean(lengths)) if lengths else math.nan


def flicker_finding(detected: Mapping[str, FrameSet]) -> StudyFinding:
    """How much the boxes of orange things jitter from frame to frame, about their motion."""
    settings = CameraObjectSettings(follow=FOLLOW_PREDICTIONS)
    flicker: Numbers = {}
    for name in ("ideal", "physical"):
        both = camera_series(detected["real"], detected[name], settings)
        flicker |= dict(zip(("real", name), (_median(values, "box flicker") for values in both), strict=True))
    known = all(math.isfinite(value) for value in flicker.values())
    return StudyFinding(
        "Boxes flicker",
        "Virtual boxes flicker where edges alias.",
        f"Boxes of orange jitter by {flicker['real']:.2f} px (median) in the real pictures,"
        f" {flicker['ideal']:.2f} px in the"
        f" ideal ones (one ray a pixel), {flicker['physical']:.2f} px in the physical ones (four rays).",
        _agreed(flicker["ideal"] > (1 + _CLEARLY) * flicker["real"]) if known else UNDECIDED,
        flicker,
    )


def field_finding(narrow: FrameSet, wide: FrameSet) -> StudyFinding:
    """Sizes and first sights through a wider field, by labels."""
    settings = CameraObjectSettings(follow="labels")
    one, other = camera_series(narrow, wide, settings)
    share = _ratio(one, other, "box height")
    later = _mean_change(one, other, "first sight")
    return StudyFinding(
        "A wider field",
        "Virtual objects are smaller and are seen later.",
        f"With 96 instead of 80 degrees boxes are {share:.2f} times as high, and first seen {later:+.2f} s later on"
        " average.",
        _agreed(share < 1 - _CLEARLY and later > 0),
        {"height": share, "first sight": later},
    )


def alignment_finding(aligned: FrameSet, misaligned: FrameSet) -> StudyFinding:
    """What a camera that sits askew changes: places, or velocities."""
    one, other = camera_series(aligned, misaligned, CameraObjectSettings(follow="labels"))
    place = _relative_change(one, other, "centroid ")
    velocity = _relative_change(one, other, "centroid velocity ")
    return StudyFinding(
        "A wrong alignment",
        "A wrong alignment of the camera shows in the place of objects, not in their velocity.",
        f"1 degree of yaw and of pitch moves centroids by {place:.0%} of how much their places spread, and changes"
        f" their velocities by {velocity:.0%} of how much these spread.",
        _agreed(place > 3 * velocity),
        {"place": place, "velocity": velocity},
    )


def places(scene: Scene, class_name: str) -> FloatArray:
    """Where the labelled things of a class stand: (N, 2), metres."""
    found = {
        thing.instance: thing.pose.position[:2]
        for thing in scene.labelled()
        if scene.class_names[thing.class_id] == class_name
    }
    return np.array(list(found.values()), np.float64).reshape(-1, 2)


def barriers_along(scene: Scene) -> FloatArray:
    """Barriers whose longer side is along x: (N, 3), places x and y, and length, metres."""
    rows = []
    for thing in scene.labelled():
        size = np.ptp(thing.pose.to_world(thing.mesh.vertices), axis=0)
        if scene.class_names[thing.class_id].endswith("barrier") and size[0] > size[1]:
            rows.append((*thing.pose.position[:2], size[0]))
    return np.array(rows, np.float64).reshape(-1, 3)


def occupied_cells(one: OccupancyMap) -> FloatArray:
    """The middles of a map's occupied cells: (N, 2), metres."""
    rows, columns = np.nonzero(one.occupied)
    return np.asarray(np.array(one.extent.corner) + (np.stack([columns, rows], 1) + 0.5) / one.extent.cells_per_metre)


def _three(maps: Mapping[str, MapPair]) -> dict[str, OccupancyMap]:
    return {"real": maps["ideal"].real, "ideal": maps["ideal"].virtual, "physical": maps["physical"].virtual}


def _along_the_way(pair: MapPair) -> Any:
    """The picture of both maps within `_SHOWN` of the way, where both know something."""
    picture, extent = agreement_picture(pair.real, pair.virtual), pair.real.extent
    middle, reach = len(picture) + extent.row, round(_SHOWN * extent.cells_per_metre)
    columns = np.flatnonzero((pair.real.known & pair.virtual.known).any(axis=0))
    return np.ascontiguousarray(picture[max(middle - reach, 0) : middle + reach, columns[0] : columns[-1] + 1])


def _median(series: Sequence[Series], metric: str) -> float:
    values = [one_series.value for one_series in series if one_series.metric == metric]
    joined = np.concatenate(values) if values else np.array([])
    known = joined[np.isfinite(joined)]
    return float(np.median(known)) if len(known) else math.nan


def _pairs(one: Sequence[Series], other: Sequence[Series], metric: str) -> list[tuple[FloatArray, FloatArray]]:
    """Values of a metric (or of all that begin so) where both have one, at the times that both have."""
    second = {(line.metric, line.subject): line for line in other}
    out = []
    for item in one:
        partner = second.get((item.metric, item.subject))
        if partner is None or item.metric.rstrip("xy") != metric:
            continue
        _, rows, columns = np.intersect1d(item.time, partner.time, return_indices=True)
        a, b = item.value[rows], partner.value[columns]
        both = np.isfinite(a) & np.isfinite(b)
        out.append((a[both], b[both]))
    return [pair for pair in out if len(pair[0])]


def _ratio(one: Sequence[Series], other: Sequence[Series], metric: str) -> float:
    found = _pairs(one, other, metric)
    return float(np.median(np.concatenate([b / a for a, b in found]))) if found else math.nan


def _mean_change(one: Sequence[Series], other: Sequence[Series], metric: str) -> float:
    found = _pairs(one, other, metric)
    return float(np.mean(np.concatenate([b - a for a, b in found]))) if found else math.nan


def _relative_change(one: Sequence[Series], other: Sequence[Series], metric: str) -> float:
    """The mean change over how much the values spread, the largest of both axes."""
    shares = []
    for axis in "xy":
        found = _pairs([item for item in one if item.metric.endswith(axis)], other, metric)
        if found:
            values = np.concatenate([a for a, _ in found])
            shares.append(abs(float(np.mean(np.concatenate([b - a for a, b in found])))) / float(np.std(values)))
    return max(shares, default=math.nan)


def _f1_agrees(free: float, occupied: float) -> str:
    """Free cells are many and easy: where they alone agree, it is not known whether the maps do."""
    if occupied >= SOURCE_F1 - _F1_APART:
        return YES
    return UNDECIDED if free >= SOURCE_F1 - _F1_APART else NO


def _agreed(value: bool) -> str:  # noqa: FBT001 - what was found
    return YES if value else NO
