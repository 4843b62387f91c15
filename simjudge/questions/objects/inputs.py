"""What the second judge reads: the pictures and the clouds of a real and of a virtual recording or set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.files import hash_files
from simjudge.core.frames import FrameSet
from simjudge.core.progress import Log
from simjudge.data.clouds import CloudSet
from simjudge.data.rosbag2.recorded_poses import pose_topics, read_poses
from simjudge.data.rosbag2.recording import Recording
from simjudge.data.rosbag2.storage import is_recording
from simjudge.data.sets import Topics, image_topics, read_clouds, read_set
from simjudge.geometry.poses import Trajectory
from simjudge.objects.series import require_common_times, stamps_to_seconds, timed_clouds, timed_frames
from simjudge.questions.objects.settings import CAMERA, LIDAR, SENSORS, ObjectSettings
from simjudge.sim.sensors.camera.calibration import recorded_calibration

ObjectSource: TypeAlias = FrameSet | CloudSet | Path | str
"""Pictures or clouds in memory, or the path of a recording or a set with either or both."""
_TF = "/tf"
_NAMES = {CAMERA: "pictures", LIDAR: "clouds"}


@dataclass(frozen=True, eq=False, repr=False)
class ObjectSide(ShortRepr):
    """A real or a virtual recording or set.

    Attributes:
        path: where it was read from; None for one in memory.
        frames: its pictures; None where it has none, or they are not compared.
        missing: by sensor, why it has none of it.
        trajectory: poses of what carries its camera; None where they are not known.
    """

    name: str
    path: Path | None
    frames: FrameSet | None
    clouds: CloudSet | None
    missing: dict[str, str]
    trajectory: Trajectory | None = None

    def has(self, sensor: str) -> bool:
        """Whether it has pictures, or clouds."""
        return (self.frames if sensor == CAMERA else self.clouds) is not None

    def times(self, sensor: str) -> FloatArray:
        """The stamps of its pictures or clouds.

        Returns:
            float64 (N,), seconds, ascending.
        """
        if sensor == CAMERA:
            return np.empty(0) if self.frames is None else stamps_to_seconds(self.frames.stamp)
        return np.empty(0) if self.clouds is None else stamps_to_seconds(np.sort(self.clouds.stamp))

    def describe(self) -> dict[str, Any]:
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

    Args:
        sources: real, virtual, and the second real one if there is one.

    Returns:
        The sides in the same order, and the sensors that real and virtual both have.
    """
    of_real = _Choice(settings.real_image_topic, settings.real_cloud_topic)
    of_virtual = _Choice(settings.virtual_image_topic, settings.virtual_cloud_topic, round(settings.time_offset * 1e9))
    choices = (of_real, of_virtual, of_real)
    sides = [_read_side(*each, settings, losses, log) for each in zip(sources, choices, strict=False)]
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
    missing: dict[str, str] = {}
    frames: FrameSet | None = None
    clouds: CloudSet | None = None
    if CAMERA in wanted:
        try:
            frames = timed_frames(_frames(source, choice, settings), losses, settings.frame_rate)
            frames = replace(frames, stamp=frames.stamp + choice.offset)
        except SimjudgeError as error:
            missing[CAMERA] = str(error)
    if LIDAR in wanted:
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
    if isinstance(source, FrameSet):
        return source
    if isinstance(source, CloudSet):
        if source.frames is None:
            raise SimjudgeError(f"{source.name}: has no pictures beside its clouds")
        return source.frames
    return read_set(source, topics=image_topics(choice.image_topic), allow_outside=settings.allow_outside)


def _clouds(source: ObjectSource, choice: _Choice) -> CloudSet:
    if isinstance(source, CloudSet):
        return source
    if isinstance(source, FrameSet):
        raise SimjudgeError(f"{source.name}: is a set of pictures and has no clouds")
    return read_clouds(source, None if choice.cloud_topic is None else Topics(cloud_topic=choice.cloud_topic))
