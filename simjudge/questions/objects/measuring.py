"""What the second judge reads and measures: of two cameras, and of two lidars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np

from simjudge.core.arrays import FloatArray, ShortRepr
from simjudge.core.errors import Log, Losses, ProgressBar, SimjudgeError
from simjudge.core.files import hash_files
from simjudge.core.frames import FrameSet
from simjudge.data.clouds import CloudSet
from simjudge.data.rosbag2.recorded_poses import pose_topics, read_poses
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.rosbag2.storage import is_recording
from simjudge.data.sets import Topics, as_frames, read_clouds
from simjudge.geometry.poses import Trajectory
from simjudge.objects.camera_series import camera_series
from simjudge.objects.image_quality.colour_histograms import ColourDifference, colour_differences, colour_histograms
from simjudge.objects.image_quality.quality import ModelRecord, image_quality_series, read_quality_models
from simjudge.objects.lidar_measurements import LidarSide
from simjudge.objects.lidar_series import RangeMeans, RangeTable, lidar_objects
from simjudge.objects.occupancy import MapPair, occupancy_maps
from simjudge.objects.radar_series import is_radar, radar_series
from simjudge.objects.series import Series, require_common_times, stamps_to_seconds, timed_clouds, timed_frames
from simjudge.objects.sightings import Finder
from simjudge.questions.objects.settings import CAMERA, LIDAR, SENSORS, ObjectSettings
from simjudge.sim.sensors.camera.calibration import recorded_calibration

ObjectSource: TypeAlias = FrameSet | CloudSet | Path | str
"""Pictures or clouds in memory, or the path of a recording or a set with either or both."""
_TF = "/tf"
_NAMES = {CAMERA: "pictures", LIDAR: "clouds"}


@dataclass(frozen=True, eq=False, repr=False)
class ObjectSide(ShortRepr):
    """A real or a virtual recording or set."""

    name: str
    path: Path | None  # where it was read from; None for one in memory
    frames: FrameSet | None  # its pictures; None where it has none, or they are not compared
    clouds: CloudSet | None
    missing: dict[str, str]  # by sensor, why it has none of it
    trajectory: Trajectory | None = None  # poses of what carries its camera; None where they are not known

    def has(self, sensor: str) -> bool:
        """Whether it has pictures, or clouds."""
        return (self.frames if sensor == CAMERA else self.clouds) is not None

    def times(self, sensor: str) -> FloatArray:
        """The stamps of its pictures or clouds. Returns float64 (N,), seconds, ascending."""
        if sensor == CAMERA:
            return np.empty(0) if self.frames is None else stamps_to_seconds(self.frames.stamp)
        return np.empty(0) if self.clouds is None else stamps_to_seconds(np.sort(self.clouds.stamp))

    def describe(self) -> dict[str, object]:
        """The entry of `inputs` in objects.json."""
        return {
            "name": self.name,
            "path": "" if self.path is None else str(self.path),
            "sha256": "" if self.path is None else hash_files(self.path),
            "frames": None if self.frames is None else len(self.frames),
            "objects": None if self.frames is None else len(self.frames.objects),
            "clouds": None if self.clouds is None else len(self.clouds),
        }

    def losses(self) -> Losses:
        """What reading left out."""
        losses = Losses()
        for part in (self.frames, self.clouds):
            if part is not None:
                losses.extend(part.losses)
        return losses


def read_sides(
    sources: Sequence[ObjectSource], settings: ObjectSettings, losses: Losses, log: Log
) -> tuple[list[ObjectSide], list[str]]:
    """Read a real and a virtual recording or set, and perhaps a second real one.

    `sources`: real, virtual, and the second real one if there is one.
    """
    of_real = _Choice(settings.real_image_topic, settings.real_cloud_topic)
    of_virtual = _Choice(settings.virtual_image_topic, settings.virtual_cloud_topic, round(settings.time_offset * 1e9))
    choices = (of_real, of_virtual, of_real)
    sides = [_read_side(*given_pair, settings, losses, log) for given_pair in zip(sources, choices, strict=False)]
    real, virtual = sides[:2]
    sensors = []
    for sensor in SENSORS if settings.sensor is None else (settings.sensor,):
        lacking = [side for side in (real, virtual) if not side.has(sensor)]
        if lacking and settings.sensor is not None:
            raise SimjudgeError(f"--sensor {sensor}: {lacking[0].missing[sensor]}")
        if len(lacking) == 1:
            log(f"note: no {_NAMES[sensor]} are compared: {lacking[0].missing[sensor]}")
        if not lacking:
            sensors.append(sensor)
    if not sensors:
        found = "; ".join(f"{side.name} has {_held(side)}" for side in (real, virtual))
        reasons = "; ".join({**virtual.missing, **real.missing}.values())
        raise SimjudgeError(f"no sensor in common: {found} ({reasons}); give two recordings or sets of one kind")
    for sensor in sensors:
        require_common_times(real.times(sensor), virtual.times(sensor), (real.name, virtual.name))
    return sides, sensors


def _held(side: ObjectSide) -> str:
    return " and ".join(_NAMES[sensor] for sensor in SENSORS if side.has(sensor)) or "neither pictures nor clouds"


@dataclass(frozen=True)
class _Choice:
    """What is read of one side: topics, and nanoseconds that are added to its stamps."""

    image_topic: str | None
    cloud_topic: str | None
    offset: int = 0


def _read_side(source: ObjectSource, choice: _Choice, settings: ObjectSettings, losses: Losses, log: Log) -> ObjectSide:
    wanted = SENSORS if settings.sensor is None else (settings.sensor,)
    path = None if isinstance(source, FrameSet | CloudSet) else Path(source)
    name = source.name if isinstance(source, FrameSet | CloudSet) else Path(source).resolve().name
    name = f"{name}, {settings.thinning}" if settings.thinning else name
    missing: dict[str, str] = {}
    frames: FrameSet | None = None
    clouds: CloudSet | None = None
    if CAMERA in wanted:
        try:
            frames = timed_frames(_frames(source, choice, settings), losses, settings.frame_rate)
            frames = replace(frames, stamp=frames.stamp + choice.offset)
        except SimjudgeError as error:
            missing[CAMERA] = str(error)
    if LIDAR in wanted and settings.thinning:
        missing[LIDAR] = f"{name}: --every and --rate are of pictures, not of clouds"
    elif LIDAR in wanted:
        try:
            clouds = timed_clouds(_clouds(source, choice), settings.frame_rate)
            clouds = replace(clouds, stamp=clouds.stamp + choice.offset)
        except SimjudgeError as error:
            missing[LIDAR] = str(error)
    if path is not None and not path.exists():
        raise SimjudgeError(next(iter(missing.values())))
    trajectory = None if path is None or frames is None else _trajectory(path, choice.offset, log)
    return ObjectSide(name, path, frames, clouds, missing, trajectory)


def _trajectory(path: Path, offset: int, log: Log) -> Trajectory | None:
    """The poses of a recording; None for a set of files, and for a recording that has none or has several."""
    if not is_recording(path) or not pose_topics(Recording(path)):
        return None
    try:
        poses = _camera_poses(path)
    except SimjudgeError as error:
        log(f"note: it is not known when the camera of {path.name} stands: {error}")
        return None
    return poses.shifted(offset)


def _camera_poses(path: Path) -> Trajectory:
    """The poses of what carries the camera; where tf has no base_link, as in recordings of replay, the camera's own."""
    try:
        return read_poses(path).trajectory
    except SimjudgeError as error:
        try:
            return read_poses(path, _TF, child=recorded_calibration(path, None).name).trajectory
        except SimjudgeError:
            raise error from None


def _frames(source: ObjectSource, choice: _Choice, settings: ObjectSettings) -> FrameSet:
    if isinstance(source, CloudSet):
        if source.frames is None:
            raise SimjudgeError(f"{source.name}: has no pictures beside its clouds")
        source = source.frames
    outside = settings.allow_outside
    return as_frames(source, image_topic=choice.image_topic, allow_outside=outside, thinning=settings.thinning)


def _clouds(source: ObjectSource, choice: _Choice) -> CloudSet:
    if isinstance(source, CloudSet):
        return source
    if isinstance(source, FrameSet):
        raise SimjudgeError(f"{source.name}: is a set of pictures and has no clouds")
    return read_clouds(source, None if choice.cloud_topic is None else Topics(cloud_topic=choice.cloud_topic))


@dataclass(frozen=True)
class Fact:
    """One number of two whole recordings."""

    sensor: str
    name: str  # what it is, as "F1 of the occupancy maps"
    value: float
    unit: str = ""
    real_again: float | None = None  # the same of the real recording and a second real one; None without one
    note: str = ""  # what else is to be known


@dataclass(frozen=True, eq=False, repr=False)
class Measured(ShortRepr):
    """What was measured of one sensor."""

    series: Sequence[Sequence[Series]]  # of real, of virtual, and of the second real recording if there is one
    facts: Sequence[Fact] = ()
    ranges: Sequence[RangeTable] = ()
    colours: Sequence[ColourDifference] = ()  # hue, saturation and value of objects and of whole pictures
    models: Sequence[ModelRecord] = ()
    maps: MapPair | None = None  # of real and virtual; None where there are none
    # pictures of real and virtual, with what was found in them; empty for a lidar
    frames: Sequence[FrameSet] = field(default_factory=list)
    lidars: Sequence[LidarSide] = ()  # real and virtual with the truth; empty for a camera


@dataclass(frozen=True)
class Work:
    """What measuring needs and tells."""

    settings: ObjectSettings
    losses: Losses
    log: Log
    progress: ProgressBar


def measure_cameras(sides: Sequence[ObjectSide], work: Work) -> Measured:
    """Measure everything that pictures tell.

    `sides`: real, virtual, and perhaps the second real recording; all have pictures.
    """
    settings, losses, progress = work.settings, work.losses, work.progress
    models = read_quality_models(settings).records()
    for model in models:
        work.log(f"note: {model.metric}'s model: {model.origin} (SHA-256 {model.digest[:16]})")
    finder = Finder.of(settings)
    sets = [finder.detect(side.frames, work.log, progress) for side in sides if side.frames is not None]
    # The pictures that cannot be read are counted once: with the quality.
    pairs = [
        camera_series(
            sets[0],
            other,
            settings,
            trajectories=(sides[0].trajectory, side.trajectory),
            log=work.log,
            progress=progress,
        )
        for side, other in zip(sides[1:], sets[1:], strict=True)
    ]
    series = [*pairs[0], *(_same_objects(pairs[0][0], *pair, work.log) for pair in pairs[1:])]
    for one_series, frames in zip(series, sets, strict=True):
        one_series.extend(image_quality_series(frames, settings, losses=losses, progress=progress))
    colours = colour_differences(*(colour_histograms(frames, progress=progress) for frames in sets))
    return Measured(series, colours=colours, models=models, frames=sets[:2])


def _same_objects(
    real: Sequence[Series], real_beside_again: Sequence[Series], again: Sequence[Series], log: Log
) -> list[Series]:
    """The series of a second real set that may be held against those of the first.

    Each pair of sets decides anew what is followed and which objects are the same. A series of the first set that is
    another one beside the second real set than beside the virtual one is of another object, or found in another way.
    """
    first = {(value.metric, value.subject): value for value in real}
    kept = []
    for beside, one_again in zip(real_beside_again, again, strict=True):
        same = first.get((one_again.metric, one_again.subject))
        if (
            same is not None
            and np.array_equal(same.time, beside.time)
            and np.array_equal(same.value, beside.value, equal_nan=True)
        ):
            kept.append(one_again)
    if len(kept) < len(again):
        log(
            f"note: {len(again) - len(kept)} series of the second real recording are not of the objects that the "
            "virtual one shows, or not found in the same way: they are no floor"
        )
    return kept


def measure_lidars(sides: Sequence[ObjectSide], work: Work) -> Measured:
    """Measure everything that clouds tell.

    `sides`: real, virtual, and perhaps the second real recording; all have clouds.
    """
    sets = [side.clouds for side in sides if side.clouds is not None]
    again = sets[2] if len(sets) > 2 else None
    radars = [is_radar(clouds) for clouds in sets]
    if all(radars):
        work.log("note: the clouds are detections of radars: they are compared frame by frame, without objects")
        return Measured([radar_series(clouds, work.losses, work.log) for clouds in sets])
    if any(radars):
        one, other = sets[radars.index(True)].name, sets[radars.index(False)].name
        raise SimjudgeError(f"{one} has detections of a radar, {other} has not: name topics of one kind for both")
    found = lidar_objects(
        sets[0],
        sets[1],
        work.settings,
        losses=work.losses,
        log=work.log,
        progress=work.progress,
        maps=False,
        real_again=again,
    )
    series = [found.real, found.virtual, *([] if again is None else [found.real_again])]
    maps = [_maps(sets[0], other, work) for other in sets[1:]]
    for number, pair in enumerate(maps):
        if pair is not None:
            # What the real set loses is counted with the first pair of maps that there is.
            work.losses.extend(pair.virtual_losses)
            if not any(maps[:number]):
                work.losses.extend(pair.real_losses)
    facts = [] if maps[0] is None else _map_facts(maps[0], maps[1] if again is not None else None)
    return Measured(series, facts, found.tables, maps=maps[0], lidars=found.sides)


def _maps(real: CloudSet, other: CloudSet, work: Work) -> MapPair | None:
    """Occupancy maps of two sets; None where it is not known where one was, or they cannot be made, which counts."""
    if not (real.poses and other.poses):
        return None
    try:
        return occupancy_maps(real, other, work.settings)
    except SimjudgeError as error:
        work.losses.add("occupancy maps that could not be made", str(error))
        return None


def _map_facts(maps: MapPair, again: MapPair | None) -> list[Fact]:
    agreement = maps.agreement
    cells = f"{agreement.known_in_both} cells that both maps know"
    rows = {
        "F1": "occupied cells, over the " + cells,
        "precision": "occupied in the virtual map, of which occupied in the real one",
        "recall": "occupied in the real map, of which occupied in the virtual one",
        "IoU": "occupied cells",
    }
    facts = []
    for name, note in rows.items():
        value = getattr(agreement.occupied, name.lower())
        other = math.nan if again is None else getattr(again.agreement.occupied, name.lower())
        if math.isfinite(value):
            known = other if math.isfinite(other) else None
            facts.append(Fact(LIDAR, f"{name} of the occupancy maps", value, "", known, note))
    anywhere = agreement.occupied_anywhere.f1
    if math.isfinite(anywhere):
        other = math.nan if again is None else again.agreement.occupied_anywhere.f1
        known = other if math.isfinite(other) else None
        facts.append(
            Fact(
                LIDAR,
                "F1 of all cells of the maps",
                anywhere,
                "",
                known,
                "a cell that a map does not know counts as not occupied in it",
            )
        )
    return facts


def range_content(table: RangeTable) -> dict[str, object]:
    """The entry of a table over range in objects.json."""
    return {
        "metric": table.metric,
        "unit": table.unit,
        "edges": table.edges.tolist(),
        "real": _means_content(table.real),
        "virtual": _means_content(table.virtual),
    }


def _means_content(means: RangeMeans) -> dict[str, object]:
    return {"mean": _listed(means.mean), "deviation": _listed(means.deviation), "count": means.count.tolist()}


def _listed(values: FloatArray) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]
