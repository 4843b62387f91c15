"""Pictures of a point cloud from arrays alone: from above and in perspective, coloured by height, with 3-D boxes.

    pictures = cloud_pictures(points, box_corners(centre, rotation, size), colours)
    pictures.top, pictures.perspective        # RGB, uint8

Coordinates are those of vehicles (REP 103): x ahead, y left, z up, metres. From above x points up in the picture and y
to the left. What lies nearer to the eye covers what lies behind it; the edges of boxes are drawn over all points.

What of a recording its page shows: clouds and boxes, pictures, the course, GPS tracks, IMUs with their truth.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple, Protocol

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, ShortRepr
from simjudge.core.errors import Losses, ProgressBar, SimjudgeError, no_progress
from simjudge.core.frames import FrameSet
from simjudge.core.images import RgbImage
from simjudge.data.rosbag2.cloud_writing import TRUTH, choose_cloud_topic
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

_LOWEST, _HIGHEST = 2, 98
"""Percentiles of the places at the edges of what is shown, and of the heights at the ends of the colours."""
_ROUND = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0)
_STEPS = (1.0, 2.0, 5.0, 10.0)
_LINES = 4
"""The fewest lines of the grid on either side of the origin, but for rounding."""


@cache
def height_colours() -> FloatArray:
    """(256, 3), low to high, 0 to 1: without the darkest blue and red, which the ground would swallow."""
    import matplotlib as mpl  # noqa: PLC0415 - slow to import

    colours: FloatArray = mpl.colormaps["turbo"].resampled(256)(np.linspace(0.1, 0.93, 256))[:, :3]
    return colours


@dataclass(frozen=True)
class CloudScale:
    """What pictures of several clouds have in common."""

    radius: float  # half the side of the square that is shown, metres
    low: float  # low, high: heights at the ends of the colours, metres
    high: float
    centre: tuple[float, float] = (0.0, 0.0)  # x and y of the square's middle, metres

    @classmethod
    def of_clouds(cls, clouds: Sequence[npt.ArrayLike], radius: float | None = None) -> CloudScale:
        """Choose a scale.

        `clouds`: points, (N, 3) each, metres; `radius`: metres around the origin; None: a square that holds the origin
        and along x and along y 96 % of the points, a round number of metres wide.
        """
        points = np.concatenate([np.empty((0, 3)), *(finite_points(cloud) for cloud in clouds)])
        centre = np.zeros(2)
        if radius is None:
            ends = np.percentile(points[:, :2], (_LOWEST, _HIGHEST), axis=0) if len(points) else np.array([[-10], [10]])
            low, high = np.minimum(ends[0], 0), np.maximum(ends[1], 0)
            radius, centre = _rounded_up(float((high - low).max()) / 2), np.broadcast_to((low + high) / 2, 2)
        height = points[(np.abs(points[:, :2] - centre) <= radius).all(1), 2]
        bottom, top = np.percentile(height, (_LOWEST, _HIGHEST)).tolist() if len(height) else (0.0, 1.0)
        return cls(radius, bottom, max(top, bottom + 0.01 * radius), (float(centre[0]), float(centre[1])))

    @property
    def step(self) -> float:
        """Metres between the lines of the grid: 1, 2 or 5 of a power of ten."""
        most = self.radius / _LINES
        power = 10.0 ** math.floor(math.log10(most) + 1e-9)
        return max(step * power for step in _STEPS if step * power <= most * (1 + 1e-9))

    def colours(self, height: FloatArray) -> npt.NDArray[np.uint8]:
        """The colours of heights. `height`: (N,), metres; returns (N, 3), RGB."""
        share, scale = np.clip((height - self.low) / (self.high - self.low), 0, 1), height_colours()
        row = np.round(share * (len(scale) - 1)).astype(np.int64)
        colours: npt.NDArray[np.uint8] = np.round(255 * scale).astype(np.uint8)[row]
        return colours


def finite_points(points: npt.ArrayLike) -> FloatArray:
    """The points that are places: drivers write NaN, or 0 0 0, where a beam has no return.

    `points`: (N, 3), metres; returns (K, 3).
    """
    table = np.asarray(points, np.float64).reshape(-1, 3)
    return table[np.isfinite(table).all(1) & table.any(1)]


def grid_places(scale: CloudScale, axis: int) -> FloatArray:
    """Where the lines of the grid cross an axis."""
    first, last = ((scale.centre[axis] + side * scale.radius) / scale.step for side in (-1, 1))
    return np.asarray(np.arange(math.ceil(first - 1e-9), math.floor(last + 1e-9) + 1) * scale.step, np.float64)


def _rounded_up(distance: float) -> float:
    """The next round number of metres."""
    if distance <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(distance))
    return next((check * power for check in _ROUND if check * power >= distance * (1 - 1e-9)), 10 * power)


_NEAR = 1e-3
"""Share of the radius before the eye that is not shown."""


class CloudView(Protocol):
    """A way to look at points."""

    @property
    def width(self) -> int:
        """Of the picture, pixels."""
        ...

    @property
    def height(self) -> int:
        """Of the picture, pixels."""
        ...

    def project(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Where points are in the picture.

        Args:
            points: (N, 3), metres.

        Returns:
            Column and row (N, 2), pixels, the picture's upper left corner being 0, 0; and (N,), how far away each
            point is from the viewer, NaN where it cannot be seen.
        """
        ...

    def clip(self, segments: FloatArray) -> FloatArray:
        """Cut what lies behind the viewer off lines.

        Args:
            segments: (M, 2, 3), metres.

        Returns:
            (K, 2, 3); NaN for a line without a part before the viewer.
        """
        ...


@dataclass(frozen=True)
class TopView:
    """From straight above: a square."""

    radius: float  # half its side, metres
    size: int = 900  # its side, pixels
    centre: tuple[float, float] = (0.0, 0.0)  # x and y of its middle, metres

    @property
    def width(self) -> int:
        """Pixels."""
        return self.size

    @property
    def height(self) -> int:
        """Pixels."""
        return self.size

    def project(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """See `CloudView.project`; what is higher is nearer."""
        scale = self.size / (2 * self.radius)
        return (self.radius - points[:, 1::-1] + self.centre[::-1]) * scale, -points[:, 2]

    def clip(self, segments: FloatArray) -> FloatArray:
        """See `CloudView.clip`: nothing lies behind this viewer."""
        return segments


@dataclass(frozen=True)
class PerspectiveView:
    """From an eye towards a point, with z upright."""

    eye: tuple[float, float, float]  # eye, target: metres; the target may not lie straight above or below the eye
    target: tuple[float, float, float]
    field_of_view: float = 45.0  # across the height of the picture, degrees
    width: int = 1200  # width, height: of the picture, pixels
    height: int = 900
    near: float = 0.01  # metres before the eye that are not shown

    @classmethod
    def behind(cls, scale: CloudScale, width: int = 1200, height: int = 900) -> PerspectiveView:
        """A view over the cloud from behind and above, ahead. `width`, `height`: of the picture, pixels."""
        r, z, (x, y) = scale.radius, scale.low, scale.centre
        eye, target = (x - 1.3 * r, y - 0.3 * r, z + 0.85 * r), (x - 0.03 * r, y, z)
        return cls(eye, target, 46.0, width, height, _NEAR * r)

    @property
    def rotation(self) -> FloatArray:
        """(3, 3), to the axes right, down, ahead of an image."""
        ahead = np.subtract(self.target, self.eye)
        ahead /= np.linalg.norm(ahead)
        right = np.cross(ahead, (0.0, 0.0, 1.0))
        right /= np.linalg.norm(right)
        return np.stack([right, np.cross(ahead, right), ahead])

    @property
    def focal_length(self) -> float:
        """Pixels."""
        return self.height / 2 / math.tan(math.radians(self.field_of_view) / 2)

    def project(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """See `CloudView.project`."""
        right, down, depth = ((points - self.eye) @ self.rotation.T).T
        depth = np.where(depth >= self.near * (1 - 1e-9), depth, np.nan)
        column = self.width / 2 + self.focal_length * right / depth
        return np.stack([column, self.height / 2 + self.focal_length * down / depth], -1), depth

    def clip(self, segments: FloatArray) -> FloatArray:
        """See `CloudView.clip`."""
        depth = (segments - self.eye) @ self.rotation[2] - self.near
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.clip(depth[:, 0] / (depth[:, 0] - depth[:, 1]), 0, 1)
        cut = segments[:, 0] + share[:, None] * (segments[:, 1] - segments[:, 0])
        out = np.where((depth < 0)[..., None], cut[:, None], segments)
        out[(depth < 0).all(1)] = np.nan
        return out


GROUND: tuple[int, int, int] = (16, 21, 28)
"""Colour behind all points, RGB."""
_GRID, _AXES = (52, 62, 74), (104, 118, 134)
"""Colours of the grid's lines, and of those through the origin."""
_BOX = (255, 255, 255)
_FINE = 4
"""Binary digits of a pixel's fraction that OpenCV draws lines with."""
_CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
_EDGES = np.array([(a, b) for a in range(8) for b in range(a + 1, 8) if a ^ b in (1, 2, 4)])
"""Pairs of corners that differ in one coordinate."""


class CloudPictures(NamedTuple):
    """A cloud seen twice: RGB, uint8 (H, W, 3) each."""

    top: RgbImage
    perspective: RgbImage


def box_corners(centre: npt.ArrayLike, rotation: npt.ArrayLike, size: npt.ArrayLike) -> FloatArray:
    """The corners of boxes.

    `centre`: (K, 3), metres; `rotation`: (K, 3, 3), the box's axes to the cloud's; `size`: (K, 3), along the box's own
    axes, metres; returns (K, 8, 3); bits of the number of a corner say on which side it is along x (4), y (2) and z
    (1).
    """
    middle, turned = np.asarray(centre, np.float64).reshape(-1, 3), np.asarray(rotation, np.float64).reshape(-1, 3, 3)
    local = _CORNERS * np.asarray(size, np.float64).reshape(-1, 1, 3)
    return np.asarray(middle[:, None] + np.einsum("kij,kcj->kci", turned, local))


def cloud_pictures(
    points: npt.ArrayLike,
    boxes: npt.ArrayLike = (),
    box_colours: npt.ArrayLike = _BOX,
    *,
    scale: CloudScale | None = None,
    size: int = 900,
) -> CloudPictures:
    """Draw a cloud from above and in perspective, coloured by height, over a grid in metres.

    Args:
        points: (N, 3), x ahead, y left, z up, metres; what is not finite is left out.
        boxes: (K, 8, 3), corners of 3-D boxes as `box_corners` gives them.
        box_colours: (K, 3) or (3,), RGB, 0-255.
        scale: radius and heights; None: chosen for this cloud.
        size: height of both pictures, pixels; the one from above is square, the other 4:3.

    Returns:
        Both pictures. The distance of the grid's lines is `CloudScale.step`.
    """
    places = finite_points(points)
    chosen = scale or CloudScale.of_clouds([places])
    corners = np.asarray(boxes, np.float64).reshape(-1, 8, 3)
    views: tuple[CloudView, CloudView] = (
        TopView(chosen.radius, size, chosen.centre),
        PerspectiveView.behind(chosen, round(size * 4 / 3), size),
    )
    return CloudPictures(*(draw_cloud(view, places, corners, box_colours, chosen) for view in views))


def draw_cloud(
    view: CloudView, points: FloatArray, boxes: FloatArray, box_colours: npt.ArrayLike, scale: CloudScale
) -> RgbImage:
    """Draw a cloud as one view shows it.

    `points`: (N, 3), finite, metres; `boxes`: (K, 8, 3), corners, metres; `box_colours`: (K, 3) or (3,), RGB, 0-255;
    returns RGB, uint8 (H, W, 3).
    """
    image = np.full((view.height, view.width, 3), GROUND, np.uint8)
    lines, axes = _grid(scale)
    draw_segments(image, view, lines, np.broadcast_to(_GRID, (len(lines), 3)))
    draw_segments(image, view, axes, np.broadcast_to(_AXES, (len(axes), 3)))
    near = (np.abs(points[:, :2] - scale.centre) <= 2 * scale.radius).all(1)
    draw_points(image, view, points[near], scale.colours(points[near, 2]), max(round(view.height / 300), 1))
    colours = np.broadcast_to(np.asarray(box_colours).reshape(-1, 3), (len(boxes), 3))
    edges = boxes[:, _EDGES].reshape(-1, 2, 3)
    draw_segments(image, view, edges, np.repeat(colours, len(_EDGES), 0), max(round(view.height / 450), 1))
    return image


def draw_points(
    image: RgbImage, view: CloudView, points: FloatArray, colours: npt.NDArray[np.uint8], size: int = 2
) -> None:
    """Draw points as squares; the nearest one shows where several lie.

    `image`: RGB, uint8 (H, W, 3), of the view's size; it is written on; `points`: (N, 3), metres; `colours`: (N, 3),
    RGB; `size`: side of a square, pixels.
    """
    place, depth = view.project(points)
    seen = np.isfinite(depth) & (np.abs(place) < 2**30).all(1)
    order = np.nonzero(seen)[0][np.argsort(-depth[seen], kind="stable")]
    corner = np.floor(place[order] - (size - 1) / 2).astype(np.int64)
    rank = np.arange(len(order))
    front = np.full(view.width * view.height, -1, np.int64)
    for down in range(size):
        for right in range(size):
            column, row = corner[:, 0] + right, corner[:, 1] + down
            inside = (column >= 0) & (column < view.width) & (row >= 0) & (row < view.height)
            np.maximum.at(front, row[inside] * view.width + column[inside], rank[inside])
    covered = front >= 0
    image.reshape(-1, 3)[covered] = colours[order[front[covered]]]


def draw_segments(
    image: RgbImage, view: CloudView, segments: FloatArray, colours: npt.NDArray[np.generic], width: int = 1
) -> None:
    """Draw straight lines.

    `image`: RGB, uint8 (H, W, 3), of the view's size; it is written on; `segments`: (M, 2, 3), metres; `colours`: (M,
    3), RGB, 0-255; `width`: of a line, pixels.
    """
    cut = view.clip(segments)
    place, depth = view.project(cut.reshape(-1, 3))
    # OpenCV counts from the middle of the first pixel, in 32 bits.
    fixed = np.round((place.reshape(-1, 2, 2) - 0.5) * 2**_FINE)
    drawn = np.isfinite(depth.reshape(-1, 2)).all(1) & (np.abs(fixed) < 2**28).all((1, 2))
    for ends, colour in zip(fixed[drawn].astype(int).tolist(), colours[drawn].tolist(), strict=True):
        cv2.line(image, ends[0], ends[1], colour, width, cv2.LINE_AA, _FINE)


def _grid(scale: CloudScale) -> tuple[FloatArray, FloatArray]:
    """Lines of the ground's grid, and the two through the origin."""
    lines: list[FloatArray] = []
    middle: list[FloatArray] = []
    for axis in (0, 1):
        for place in grid_places(scale, axis).tolist():
            ends = np.full((2, 3), scale.low)
            ends[:, axis] = place
            ends[:, 1 - axis] = scale.centre[1 - axis] - scale.radius, scale.centre[1 - axis] + scale.radius
            (middle if place == 0 else lines).append(ends)
    return np.reshape(lines, (-1, 2, 3)), np.reshape(middle, (-1, 2, 3))


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
