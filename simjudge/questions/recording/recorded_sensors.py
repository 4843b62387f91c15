"""What of a recording its page shows: clouds and boxes, pictures, the course, GPS tracks, IMUs with their truth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from simjudge.core.display import ShortRepr
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.progress import ProgressBar, no_progress
from simjudge.data.rosbag2.cloud_messages import TRUTH, choose_cloud_topic
from simjudge.data.rosbag2.interfaces import camera_topics
from simjudge.data.rosbag2.reading import read_recording
from simjudge.data.rosbag2.recorded_poses import TRANSFORMS, pose_topics, read_poses
from simjudge.data.rosbag2.recording import Recording
from simjudge.geometry.poses import Pose, Trajectory
from simjudge.geometry.transforms import TransformTree
from simjudge.sim.sensors.inertial.imu_calibration import ImuSeries
from simjudge.sim.sensors.recorded_readings import (
    FIX,
    IMU,
    CloudSeries,
    GpsTrack,
    RecordedBoxes,
    measured_cloud_topics,
    read_boxes,
    read_cloud_series,
    read_found_boxes,
    read_gps,
    read_imu,
    read_static_transforms,
)

_NOT_SHOWN = "parts that cannot be shown"


@dataclass(frozen=True, eq=False, repr=False)
class RecordedLidar(ShortRepr):
    """A lidar of a recording."""

    clouds: CloudSeries
    boxes: dict[int, RecordedBoxes]  # the labelled boxes by stamp, nanoseconds
    found: dict[int, RecordedBoxes]  # the boxes that a detector found, likewise
    body: str  # the frame that its points are drawn in: that of the car where the recording says how it is mounted
    mount: Pose  # pose of the points' frame in `body`


@dataclass(eq=False, repr=False)
class RecordedSensors(ShortRepr):
    """What was recorded of a drive."""

    path: Path
    start: int  # start, end: recording times of the first and the last message, nanoseconds
    end: int
    lidars: list[RecordedLidar] = field(default_factory=list)
    frames: FrameSet | None = None  # the camera's pictures and their labels, None where there are none
    courses: list[Trajectory] = field(default_factory=list)
    # gps, imus: readings by topic, each with the truth where it was recorded
    gps: list[tuple[GpsTrack, GpsTrack | None]] = field(default_factory=list)
    imus: list[tuple[str, ImuSeries, ImuSeries | None]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # what is worth saying although nothing is lost
    losses: Losses = field(default_factory=Losses)


def read_recorded_sensors(
    path: Path, topic: str | None = None, image_topic: str | None = None, progress: ProgressBar = no_progress
) -> RecordedSensors:
    """Read what a recording holds of a drive's sensors."""
    recording = Recording(path)
    reader = _RecordingReader(recording)
    out = reader.out
    with progress("clouds") as advance:
        topics = _chosen(recording, topic)
        tree = reader.read_mounts()
        for done, name in enumerate(topics):
            advance(done, len(topics))
            reader.read_lidar(name, tree)
    reader.read_camera(image_topic)
    reader.read_courses()
    reader.read_gps()
    reader.read_imus()
    if not (out.lidars or out.courses or out.gps or out.imus):
        held = ", ".join(sorted(recording.topics)) or "no topic at all"
        raise SimjudgeError(
            f"{path}: holds no point cloud, IMU, GPS fix or pose to show{out.losses.reason}; it holds {held}. simjudge"
            " compare judges pictures with labels"
        )
    return out


class _RecordingReader:
    """Reads one part of a recording after the other; a part that cannot be read is counted, and the others go on."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.out = RecordedSensors(recording.path, *(recording.span() or (0, 0)), notes=list(recording.notes))
        self._count(recording.losses)
        self._types = {info.topic: info.type for info in recording.topic_infos() if info.count}

    def read_mounts(self) -> TransformTree:
        with self._part() as losses:
            return read_static_transforms(self.recording, losses)
        return TransformTree(str(self.recording.path))

    def read_lidar(self, topic: str, tree: TransformTree) -> None:
        with self._part() as losses:
            clouds = read_cloud_series(self.recording, topic, losses)
            if not len(clouds):
                return
            boxes: dict[int, RecordedBoxes] = {}
            found: dict[int, RecordedBoxes] = {}
            self.out.lidars.append(RecordedLidar(clouds, boxes, found, *tree.static_mount(clouds.frame)))
            found.update(read_found_boxes(self.recording, topic, losses))
            boxes.update(read_boxes(self.recording, topic, losses))

    def read_camera(self, image_topic: str | None) -> None:
        """The pictures and their labels."""
        cameras = list(camera_topics(self._types, self.recording.counts).values())
        if image_topic is None and not cameras:
            return
        if image_topic is None and len(cameras) > 1:
            image_topic = cameras[0]
            self.out.notes.append(
                f"of several cameras {image_topic} is shown; --image-topic chooses: {', '.join(cameras)}"
            )
        with self._part() as losses:
            self.out.frames = read_recording(self.recording.path, image_topic=image_topic)
            losses.extend(self.out.frames.losses)

    def read_courses(self) -> None:
        """All topics of poses; transforms only where there is none."""
        topics = pose_topics(self.recording)
        for name in [name for name, kind in topics.items() if kind != TRANSFORMS] or topics:
            with self._part() as losses:
                poses = read_poses(self.recording.path, name)
                losses.extend(poses.losses)
                self.out.courses.append(poses.trajectory)

    def read_gps(self) -> None:
        for name, truth in self._with_truth(FIX):
            with self._part() as losses:
                track = read_gps(self.recording, name, losses)
                exact = read_gps(self.recording, truth, losses) if truth else None
                if len(track):
                    self.out.gps.append((track, exact))

    def read_imus(self) -> None:
        for name, truth in self._with_truth(IMU):
            with self._part() as losses:
                series, lost = read_imu(self.recording.path, name)
                losses.extend(lost)
                self.out.imus.append((name, series, read_imu(self.recording.path, truth)[0] if truth else None))

    def _with_truth(self, kind: str) -> list[tuple[str, str]]:
        """The topics of a type, each with that of its truth, "" where there is none."""
        held = sorted(topic for topic, its_kind in self._types.items() if its_kind == kind)
        beside = {topic for topic in held if topic.endswith(TRUTH) and topic.removesuffix(TRUTH) in held}
        return [(topic, topic + TRUTH if topic + TRUTH in beside else "") for topic in held if topic not in beside]

    @contextmanager
    def _part(self) -> Iterator[Losses]:
        losses = Losses()
        self.recording.losses = Losses()
        try:
            yield losses
        except SimjudgeError as error:
            losses.add(_NOT_SHOWN, str(error))
        for lost in (losses, self.recording.losses):
            self._count(lost)

    def _count(self, losses: Losses) -> None:
        """Take losses over; a damaged stretch of the file is met again by each part, and counts once."""
        known = self.out.losses
        for kind, count in losses.counts.items():
            places = losses.examples[kind]
            if known.examples.get(kind, [])[:1] == places[:1]:
                known.counts[kind] = max(known.counts[kind], count)
            else:
                known.extend(Losses(counts=Counter({kind: count}), examples={kind: places}))


def _chosen(recording: Recording, topic: str | None) -> list[str]:
    if topic is None:
        return measured_cloud_topics(recording)
    return [choose_cloud_topic(recording, topic if topic in recording.topics else "/" + topic.lstrip("/"))]
