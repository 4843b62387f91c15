"""What a real and a virtual lidar say of the same objects, and of whole scans, over time and over range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.core.errors import Log, Losses, ProgressBar, SimjudgeError, no_log, no_progress
from simjudge.data.clouds import CloudSet
from simjudge.detectors.clouds.cuboid_settings import LidarCuboidFile, read_cuboid_settings
from simjudge.objects.lidar_measurements import (
    OBJECT_METRICS,
    WHOLE_METRICS,
    LidarMeasurements,
    LidarSide,
    measure_scans,
)
from simjudge.objects.lidar_truth import TrueCuboids, cuboids_in_scans, match_labels, standing_labels, unknown_cuboids
from simjudge.objects.occupancy import MapPair, occupancy_maps
from simjudge.objects.series import WHOLE, ScanPoses, Series, scan_poses, scan_times
from simjudge.objects.settings import TRUTH_AUTO, TRUTH_LABELS, TRUTH_SCENE, TRUTH_SURVEY, LidarObjectSettings
from simjudge.objects.survey import survey_cuboids


@dataclass(frozen=True, eq=False, repr=False)
class RangeMeans(ShortRepr):
    """One metric of one lidar in B bins of range, over all objects and scans."""

    mean: FloatArray  # float64 (B,), NaN where there is no value
    deviation: FloatArray  # float64 (B,), standard deviation, likewise
    count: IntArray  # int64 (B,), values


@dataclass(frozen=True, eq=False, repr=False)
class RangeTable(ShortRepr):
    """One metric of objects over range, real and virtual."""

    metric: str  # its name, as in the series
    unit: str
    edges: FloatArray  # float64 (B + 1,), metres; a bin holds its lower edge
    real: RangeMeans
    virtual: RangeMeans


def range_tables(real: LidarMeasurements, virtual: LidarMeasurements, edges: tuple[float, ...]) -> list[RangeTable]:
    """Take the mean of each metric of objects in bins of range. `edges`: metres, ascending."""
    out = []
    bounds = np.array(edges, np.float64)
    for metric, unit in OBJECT_METRICS.items():
        means = [_means(side.range, side.objects[metric], bounds) for side in (real, virtual)]
        if any(mean.count.any() for mean in means):
            out.append(RangeTable(metric, unit, bounds, *means))
    return out


def _means(distance: FloatArray, values: FloatArray, edges: FloatArray) -> RangeMeans:
    known = np.isfinite(distance) & np.isfinite(values)
    bins = np.searchsorted(edges, distance[known], side="right") - 1
    inside = (bins >= 0) & (bins < len(edges) - 1)
    bins, chosen = bins[inside], values[known][inside]
    size = len(edges) - 1
    count = np.bincount(bins, minlength=size)
    with np.errstate(invalid="ignore"):
        mean = np.bincount(bins, chosen, size) / count
        deviation = np.sqrt(np.bincount(bins, (chosen - mean[bins]) ** 2, size) / count)
    return RangeMeans(mean, deviation, count.astype(np.int64))


NO_TRUTH = "none"


@dataclass(frozen=True, eq=False, repr=False)
class LidarObjects(ShortRepr):
    """What a real and a virtual lidar say."""

    real: Sequence[Series]  # real, virtual: series of the same metrics and subjects, in the same order
    virtual: Sequence[Series]
    tables: Sequence[RangeTable]
    truth: str  # where the true cuboids come from: TRUTH_LABELS, TRUTH_SCENE, TRUTH_SURVEY or NO_TRUTH
    subjects: Sequence[str]  # names of the objects that both have
    maps: MapPair | None  # occupancy maps; None where it is not known where the lidars were
    real_again: Sequence[Series] = ()  # series of a second real recording, by the same truth; empty without one
    sides: Sequence[LidarSide] = ()  # the real and the virtual lidar as they were measured


def lidar_series(
    real: CloudSet,
    virtual: CloudSet,
    settings: LidarObjectSettings | None = None,
    *,
    losses: Losses | None = None,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> tuple[list[Series], list[Series]]:
    """Measure the same objects, and whole scans, of a real and a virtual lidar over time."""
    found = lidar_objects(real, virtual, settings, losses=losses, log=log, progress=progress, maps=False)
    return list(found.real), list(found.virtual)


def lidar_objects(
    real: CloudSet,
    virtual: CloudSet,
    settings: LidarObjectSettings | None = None,
    *,
    losses: Losses | None = None,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
    maps: bool = True,
    real_again: CloudSet | None = None,
) -> LidarObjects:
    """Measure what `lidar_series` does, with tables over range and occupancy maps."""
    chosen = LidarObjectSettings() if settings is None else settings
    lost = Losses() if losses is None else losses
    detector = LidarCuboidFile() if chosen.cuboid_file is None else read_cuboid_settings(chosen.cuboid_file)
    sets = [real, virtual, *([] if real_again is None else [real_again])]
    for clouds in sets:
        if not len(clouds):
            raise SimjudgeError(f"{clouds.name}: holds no cloud")
    poses = [_poses(clouds, chosen, lost, log) for clouds in sets]
    kind, truth = _truth(sets, poses, chosen, detector, log)
    if kind != NO_TRUTH and not truth[0].names:
        log(f"note: {real.name} and {virtual.name} have no cuboid in common ({kind}): whole scans are compared alone")
    predicted = _predicted(sets, chosen, log)
    sides = [
        LidarSide(clouds, scan_times(clouds), scans, cuboids, clouds.predictions if predicted else None)
        for clouds, scans, cuboids in zip(sets, poses, truth, strict=True)
    ]
    measured = [measure_scans(side, detector, chosen, lost, progress) for side in sides]
    series = _series(measured[:2])
    pair = None
    if maps and poses[0] is not None and poses[1] is not None:
        pair = occupancy_maps(real, virtual, chosen, log)
        lost.extend(pair.losses)
    tables = range_tables(measured[0], measured[1], chosen.range_bins)
    again = [] if real_again is None else _series(measured[2:])[0]
    return LidarObjects(series[0], series[1], tables, kind, truth[0].names, pair, again, sides[:2])


def _predicted(sets: Sequence[CloudSet], settings: LidarObjectSettings, log: Log) -> bool:
    """Whether found cuboids are those that the sets hold: a detector ran on all clouds of all sets."""
    held = [clouds.predicted is not None and bool(clouds.predicted.all()) for clouds in sets]
    if settings.cuboid_file is not None or not any(held):
        return False
    if not all(held):
        lacking = sets[held.index(False)].name
        log(f"note: {lacking} holds no found cuboids for all its clouds: cuboids of all are found by lidar_cuboids")
        return False
    log("note: found cuboids are those that the sets hold; --cuboid-file finds them anew")
    return True


def _poses(clouds: CloudSet, settings: LidarObjectSettings, losses: Losses, log: Log) -> ScanPoses | None:
    if not clouds.poses:
        log(
            f"note: {clouds.name}: it is not known where its lidar was: no occupancy maps, and objects do not stand in"
            " a fixed frame"
        )
        return None
    return scan_poses(clouds, settings.max_speed, losses)


def _truth(
    sets: Sequence[CloudSet],
    poses: Sequence[ScanPoses | None],
    settings: LidarObjectSettings,
    detector: LidarCuboidFile,
    log: Log,
) -> tuple[str, list[TrueCuboids]]:
    """Where the truth comes from, as real and virtual set choose, and each set's; a second real one may have none."""
    labelled = [clouds.boxes is not None and len(clouds.boxes) > 0 for clouds in sets]
    placed = poses[0] is not None and poses[1] is not None
    kind = settings.truth
    if kind == TRUTH_AUTO:
        kind = NO_TRUTH
        if all(labelled[:2]):
            kind = TRUTH_LABELS
        elif placed:
            kind = TRUTH_SCENE if labelled[1] else TRUTH_SURVEY
    if kind == NO_TRUTH:
        log("note: no true cuboids: label both sets, or give recordings with poses; whole scans are compared alone")
        return kind, [unknown_cuboids() for _ in sets]
    if kind == TRUTH_LABELS:
        pair = match_labels((sets[0], sets[1]), (poses[0], poses[1]), settings)
        return kind, [*pair, *(_labels_again(sets, poses, settings, log) for _ in sets[2:])]
    if poses[0] is None or poses[1] is None:
        lacking = sets[0 if poses[0] is None else 1].name
        raise SimjudgeError(
            f"--truth {kind}: {lacking}: it is not known where its lidar was; give a recording with odometry or tf"
        )
    standing = (
        standing_labels(sets[1], poses[1], settings)
        if kind == TRUTH_SCENE
        else survey_cuboids(sets[0], poses[0], settings)
    )
    log(f"note: the truth is {len(standing)} standing cuboids of the {kind} in the fixed frame")
    return kind, [
        unknown_cuboids() if scans is None else cuboids_in_scans(standing, scans, detector.farthest) for scans in poses
    ]


def _labels_again(
    sets: Sequence[CloudSet], poses: Sequence[ScanPoses | None], settings: LidarObjectSettings, log: Log
) -> TrueCuboids:
    """The labels of a second real set, by the names of the first one."""
    try:
        return match_labels((sets[0], sets[2]), (poses[0], poses[2]), settings)[1]
    except SimjudgeError as error:
        log(f"note: the floor of objects is from halves of {sets[0].name}: {error}")
        return unknown_cuboids()


def _series(measured: Sequence[LidarMeasurements]) -> list[list[Series]]:
    """Series of each lidar: of all metrics that one of them has a value of."""
    out: list[list[Series]] = [[] for _ in measured]
    for metric, unit in WHOLE_METRICS.items():
        if any(np.isfinite(measurement.whole[metric]).any() for measurement in measured):
            for side, measurement in zip(out, measured, strict=True):
                side.append(Series(metric, unit, WHOLE, measurement.time, measurement.whole[metric]))
    for number, subject in enumerate(measured[0].subjects):
        for metric, unit in OBJECT_METRICS.items():
            if any(np.isfinite(measurement.objects[metric][number]).any() for measurement in measured):
                for side, measurement in zip(out, measured, strict=True):
                    side.append(Series(metric, unit, subject, measurement.time, measurement.objects[metric][number]))
    return out
