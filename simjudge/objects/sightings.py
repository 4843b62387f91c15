"""What a set shows in each frame, a row for each object; and objects followed from frame to frame, in two sets.

Above a line nothing is an object: a table of rows by frame, or the horizon in a recording.

They are followed by the numbers of their labels, or by where they are expected next.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment
from scipy.spatial.transform import Rotation

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr
from simjudge.core.errors import Log, ProgressBar, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.names import normalized_name
from simjudge.core.object_tables import NO_INSTANCE, BoolImage, Masks, Objects, Predictions, row_offsets
from simjudge.core.text import list_some, one_line, parse_number, read_text
from simjudge.data.rosbag2.recorded_poses import read_poses
from simjudge.detectors.colour_detector import ColourDetector
from simjudge.detectors.detection import detect, load_detector
from simjudge.detectors.detector import Detector, record_detector
from simjudge.detectors.iou import box_iou, pixel_counts
from simjudge.geometry.trajectories import TrajectoryInterpolator
from simjudge.objects.series import common_times, stamps_to_seconds
from simjudge.objects.settings import (
    FOLLOW_AUTO,
    FOLLOW_LABELS,
    FOLLOW_PREDICTIONS,
    LEAST_SCORE,
    SAME_INSTANCE,
    SAME_TRACK,
    CameraObjectSettings,
)
from simjudge.sim.sensors.camera.calibration import recorded_calibration


@dataclass(frozen=True, eq=False, repr=False)
class Sightings(ShortRepr):
    """N sightings of objects, ordered by frame."""

    looked_at: BoolArray  # bool (F,), the frames in which objects were looked for, perhaps without finding any
    frame: IntArray  # int64 (N,), the number of the frame
    class_name: npt.NDArray[np.str_]  # text (N,), as `normalized_name` writes it
    box: FloatArray  # float64 (N, 4), x0, y0, x1, y1 in pixels, inside the picture
    # float64 (N, 2), x and y in pixels: the mean of the region's pixel centres; the box's middle where the sighting has
    # no mask
    centroid: FloatArray
    pixels: FloatArray  # float64 (N,), size of the region in pixels; NaN where the sighting has no mask
    instance: IntArray  # int64 (N,), the same thing has the same number in all frames; NO_INSTANCE where unknown
    masks: Masks | None = None  # the regions; None where there are boxes only

    def __len__(self) -> int:
        return len(self.frame)

    def take(self, rows: IntArray) -> Sightings:
        """Take some sightings. `rows`: int64 (M,), ascending row numbers."""
        return replace(
            self,
            frame=self.frame[rows],
            class_name=self.class_name[rows],
            box=self.box[rows],
            centroid=self.centroid[rows],
            pixels=self.pixels[rows],
            instance=self.instance[rows],
            masks=None if self.masks is None else self.masks.take(rows),
        )

    def region(self, row: int, width: int, height: int) -> BoolImage:
        """The pixels, bool (height, width), of a sighting: its mask, or else its box with edges rounded."""
        if self.masks is not None and self.masks.has(row):
            return self.masks.to_image(row, width, height)
        picture = np.zeros((height, width), np.bool_)
        x0, y0, x1, y1 = np.floor(self.box[row] + 0.5).astype(int)
        picture[y0:y1, x0:x1] = True
        return picture


def label_sightings(frames: FrameSet) -> Sightings:
    """Take the labels of a set as sightings."""
    return _sightings(frames, frames.objects, frames.objects.instance, frames.labelled)


def predicted_sightings(frames: FrameSet, min_score: float = 0.0) -> Sightings:
    """Take the predictions of a set as sightings."""
    given = Predictions.empty() if frames.predictions is None else frames.predictions
    kept = given.take(np.flatnonzero(given.score >= min_score))
    return _sightings(frames, kept, np.full(len(kept), NO_INSTANCE), frames.predicted)


def _sightings(frames: FrameSet, table: Objects | Predictions, instance: IntArray, looked_at: BoolArray) -> Sightings:
    size = np.tile(frames.size[table.frame], 2)
    box = np.clip(table.box, 0.0, size)
    names = {int(c): normalized_name(frames.class_name(int(c))) for c in np.unique(table.class_id)}
    class_name = np.array([names[int(c)] for c in table.class_id], np.str_)
    pixels, centroid = np.full(len(table), np.nan), (box[:, :2] + box[:, 2:]) / 2
    if table.masks is not None:
        for i in np.flatnonzero(pixel_counts(table.masks)):
            pixels[i], centroid[i] = _pixel_mean(table.masks.crop(int(i)), table.masks.origin[i])
    all_rows = Sightings(looked_at, table.frame, class_name, box, centroid, pixels, instance, table.masks)
    inside = np.all(box[:, 2:] > box[:, :2], axis=1) & looked_at[table.frame]
    return all_rows if inside.all() else all_rows.take(np.flatnonzero(inside))


def _pixel_mean(crop: BoolImage, origin: npt.NDArray[np.int32]) -> tuple[int, FloatArray]:
    """The number of set pixels, and the mean of their centres in the picture."""
    columns, rows = np.count_nonzero(crop, axis=0), np.count_nonzero(crop, axis=1)
    count = int(columns.sum())
    middle = [(np.arange(len(n)) + 0.5) @ n / count for n in (columns, rows)]
    return count, origin + np.array(middle)


_HEADINGS = {"frame", "row", "slope"}
_FARTHEST_ROW = 1e6


@dataclass(frozen=True, eq=False, repr=False)
class PictureLines(ShortRepr):
    """A line in each frame of a set."""

    row: FloatArray  # float64 (F,), where the line meets the picture's left edge, pixels from the upper edge
    slope: FloatArray  # float64 (F,), rows that it falls by a column; 0 for a level line

    def above(self, sightings: Sightings) -> BoolArray:
        """Tell which sightings have their centroid above the line of their frame. Returns bool (N,)."""
        line = self.row[sightings.frame] + self.slope[sightings.frame] * sightings.centroid[:, 0]
        return np.asarray(sightings.centroid[:, 1] < line)


def read_lines(path: Path, frames: FrameSet) -> PictureLines:
    """Read a table `frame row [slope]` with comma, semicolon, tab or blanks between, and # for comments.

    `path`: a text file. A frame is given by its name, or by its number from 0 in order of time; its row is where the
    line meets the left edge, pixels. Frames between two of the table have a line between theirs; those before the first
    and after the last have that one's.
    """
    number = {name: i for i, name in enumerate(frames.frame_name)}
    found: dict[int, tuple[float, float]] = {}
    for line_number, line in enumerate(read_text(path).splitlines(), 1):
        plain = line.split("#", 1)[0].strip()
        words = re.split(r"\s*[,;\t]\s*|\s+", plain) if plain else []
        if not words or (not found and {word.lower() for word in words} <= _HEADINGS):
            continue
        where = f"{path}:{line_number}"
        values = [parse_number(word) for word in words[1:]]
        if not 1 <= len(values) <= 2 or any(value is None or not abs(value) <= _FARTHEST_ROW for value in values):
            raise SimjudgeError(f"{where}: {one_line(plain)!r}: frame, row (pixels) and perhaps slope are needed")
        frame = number.get(words[0], int(words[0]) if words[0].isdecimal() and len(words[0]) <= 9 else -1)
        if not 0 <= frame < len(frames):
            raise SimjudgeError(
                f"{where}: {frames.name} has no frame {one_line(words[0])}; give a frame's name, or its number from 0"
                f" to {len(frames) - 1}"
            )
        if frame in found:
            raise SimjudgeError(f"{where}: frame {one_line(words[0])} stands there twice; leave one out")
        found[frame] = (float(values[0] or 0), float(values[1] or 0) if len(values) > 1 else 0.0)
    if not found:
        raise SimjudgeError(f"{path}: no rows; `frame row` in each line is needed")
    given = np.array(sorted(found))
    table = np.array([found[frame] for frame in given])
    every = np.arange(len(frames))
    return PictureLines(np.interp(every, given, table[:, 0]), np.interp(every, given, table[:, 1]))


def horizon_lines(orientation: FloatArray, matrix: FloatArray) -> PictureLines:
    """The horizon of flat ground in each picture: where rays are level.

    A ray through pixel u has the direction R K^-1 u in a world whose z axis is up. It is level where its z is 0, which
    is a line in the picture: (0 0 1) R K^-1 (x y 1)^T = 0.

    Source:
        R. Hartley and A. Zisserman, Multiple View Geometry, 2nd ed., section 8.6 (vanishing lines).
    """
    up = Rotation.from_quat(orientation).as_matrix()[:, 2] @ np.linalg.inv(matrix)
    with np.errstate(divide="ignore", invalid="ignore"):
        row, slope = -up[:, 2] / up[:, 1], -up[:, 0] / up[:, 1]
    level = np.abs(up[:, 1]) > 1e-12
    return PictureLines(np.where(level, row, np.nan), np.where(level, slope, np.nan))


_TRANSFORMS = "/tf"
_LONGEST_GAP = 500_000_000
"""Nanoseconds before the first and after the last transform for which the camera is taken to stand."""
_RECORDINGS = (".mcap", ".db3")


def is_recording(path: Path) -> bool:
    """Tell whether a path is one of a recording rather than of a table."""
    return path.suffix.lower() in _RECORDINGS or path.is_dir()


def recorded_horizon(path: Path, frames: FrameSet) -> PictureLines:
    """Find the horizon of flat ground in each picture."""
    calibration = recorded_calibration(path, None)
    trajectory = read_poses(path, _TRANSFORMS, child=calibration.name).trajectory
    first, last = int(trajectory.stamp[0]), int(trajectory.stamp[-1])
    inside = np.clip(frames.stamp, first, last)
    outside = np.flatnonzero(np.abs(inside - frames.stamp) > _LONGEST_GAP)
    if len(outside):
        raise SimjudgeError(
            f"{path}: {len(outside)} of {len(frames)} frames of {frames.name} lie outside of its transforms, from"
            f" {first / 1e9:.3f} s to {last / 1e9:.3f} s; give a table of lines"
        )
    _, orientation = TrajectoryInterpolator(trajectory).sample(inside)
    scale = frames.size[:, 0] / calibration.size[0]
    lines = horizon_lines(orientation, calibration.matrix)
    return PictureLines(lines.row * scale, lines.slope)


@dataclass(frozen=True)
class Finder:
    """How the objects of both sets are found."""

    settings: CameraObjectSettings
    detector: Detector | None = None  # the detector to run; None where labels or earlier predictions are followed

    @classmethod
    def of(cls, settings: CameraObjectSettings) -> Finder:
        """Load the detector that settings name."""
        if settings.model is None or settings.follow == FOLLOW_LABELS:
            return cls(settings)
        detector = load_detector(settings.model, trust=settings.trust)
        return cls(settings, replace(detector, regions=True) if isinstance(detector, ColourDetector) else detector)

    def detect(self, frames: FrameSet, log: Log, progress: ProgressBar) -> FrameSet:
        """Run the detector, where there is one."""
        if self.detector is None or self._has_run_on(frames):
            return frames
        rename = dict(self.settings.rename or ())
        return detect(frames, self.detector, rename=rename, log=log, progress=progress)

    def choose(self, sets: Sequence[FrameSet]) -> str:
        """Choose what is followed."""
        if self.settings.follow != FOLLOW_AUTO:
            return self.settings.follow
        if self.detector is None and all(frame_set.labelled.any() for frame_set in sets):
            return FOLLOW_LABELS
        return FOLLOW_PREDICTIONS if all(frame_set.predicted.any() for frame_set in sets) else ""

    def sightings(self, frames: FrameSet, followed: str, *, virtual: bool) -> Sightings:
        """Take what is followed through a set."""
        if followed == FOLLOW_LABELS:
            seen = label_sightings(frames)
            remedy = "no frame is labelled; follow predictions (--follow predictions), or name a detector with --model"
        else:
            seen = predicted_sightings(frames, self._min_score)
            remedy = "no detector has run on it; name one with --model"
        if not seen.looked_at.any():
            raise SimjudgeError(f"{frames.name}: {remedy}")
        table = self.settings.virtual_line if virtual else self.settings.real_line
        if table is None or followed == FOLLOW_LABELS:
            return seen
        lines = recorded_horizon(table, frames) if is_recording(table) else read_lines(table, frames)
        above = lines.above(seen)
        classes = self._classes_with_line()
        if classes is not None:
            above &= np.isin(seen.class_name, classes)
        return seen.take(np.flatnonzero(~above))

    def classes(self, seen: Sequence[Sightings]) -> set[str]:
        """The classes that can be found."""
        if self.detector is None or not self.detector.class_names:
            return {str(name) for view in seen for name in np.unique(view.class_name)}
        return {self._name(name) for name in self.detector.class_names.values()}

    def _name(self, name: str) -> str:
        return normalized_name(dict(self.settings.rename or ()).get(name, name))

    def _has_run_on(self, frames: FrameSet) -> bool:
        if self.detector is None or frames.predictions is None or frames.detector != record_detector(self.detector):
            return False
        return not isinstance(self.detector, ColourDetector) or frames.predictions.masks is not None

    @property
    def _min_score(self) -> float:
        if self.settings.min_score is not None:
            return self.settings.min_score
        return 0.0 if isinstance(self.detector, ColourDetector) else LEAST_SCORE

    def _classes_with_line(self) -> list[str] | None:
        """The classes to which lines apply; None for all."""
        if self.settings.line_classes is not None:
            return [normalized_name(name) for name in self.settings.line_classes]
        if isinstance(self.detector, ColourDetector):
            return [
                self._name(colour_class.name)
                for colour_class in self.detector.classes.values()
                if colour_class.line is not None
            ]
        return None


_NEVER = 1e6
"""Cost of a pair that cannot be one object."""
_NANOSECONDS = 1e9


@dataclass(frozen=True, eq=False, repr=False)
class Tracks(ShortRepr):
    """The sightings of a set, told apart by object."""

    sightings: Sightings
    track: IntArray  # int64 (N,), the track of each sighting, -1 for none; at most one sighting of a track in a frame
    name: tuple[int, ...]  # by track, the instance number, or the running number among the tracks of its class
    class_name: tuple[str, ...]  # by track, the class that most of its sightings have

    def __len__(self) -> int:
        return len(self.name)

    def by_frame(self) -> IntArray:
        """Find the sighting of each track in each frame: int64 (T, F), -1 where the track is not seen."""
        table = np.full((len(self), len(self.sightings.looked_at)), -1, np.int64)
        rows = np.flatnonzero(self.track >= 0)
        table[self.track[rows], self.sightings.frame[rows]] = rows
        return table


def instance_tracks(sightings: Sightings) -> Tracks:
    """A track for each instance number, ascending; sightings without one, or the second in a frame, have none."""
    numbers, track = np.unique(sightings.instance, return_inverse=True)
    known = numbers != NO_INSTANCE
    track = np.where(known, np.cumsum(known) - 1, -1)[track]
    _, first = np.unique(np.stack([sightings.frame, track]), axis=1, return_index=True)
    once = np.full(len(sightings), -1, np.int64)
    once[first] = track[first]
    return _tracks(sightings, once, tuple(int(n) for n in numbers[known]))


def follow(sightings: Sightings, stamp: IntArray, *, gap: float, reach: float, least_frames: int) -> Tracks:
    """Follow objects from frame to frame.

    Each track is expected where its last two sightings lead it at steady velocity, with the box of the last one. The
    sightings of a frame are assigned to tracks of their class by the Hungarian method; a pair costs the distance of
    the centroids in diagonals of the boxes, and 1 less the IoU of the boxes.

    Args:
        stamp: int64 (F,), stamps of the frames, nanoseconds, ascending.
        gap: seconds that a track outlives without a sighting.
        reach: distance of the centroids, in diagonals of the boxes, beyond which a pair is no pair.

    Returns:
        The tracks in the order of their first sight, from left to right where several begin in one frame; those of each
        class numbered from 1.

    Source:
        H. W. Kuhn, The Hungarian method for the assignment problem, 1955; steady velocity between frames as in
        A. Bewley et al., Simple online and realtime tracking, 2016.
    """
    tracker = _Tracker(sightings, gap * _NANOSECONDS, reach)
    start = row_offsets(sightings.frame, len(stamp))
    for frame in np.flatnonzero(sightings.looked_at):
        tracker.advance(int(stamp[frame]), np.arange(start[frame], start[frame + 1]))
    _, first, length = np.unique(tracker.track, return_index=True, return_counts=True)
    order = np.lexsort((sightings.centroid[first, 0], sightings.frame[first]))
    order = order[length[order] >= least_frames]
    number = np.full(tracker.count, -1, np.int64)
    number[order] = np.arange(len(order))
    classes = sightings.class_name[first[order]]
    name = [int(np.count_nonzero(classes[: i + 1] == class_id)) for i, class_id in enumerate(classes)]
    return _tracks(sightings, number[tracker.track], tuple(name))


class _Tracker:
    """The tracks so far: of each the last sighting, when it was, and its velocity in pixels per nanosecond."""

    def __init__(self, sightings: Sightings, gap: float, reach: float) -> None:
        self.sightings, self.gap, self.reach = sightings, gap, reach
        self.track = np.full(len(sightings), -1, np.int64)
        self.last = np.empty(0, np.int64)
        self.stamp = np.empty(0, np.int64)
        self.velocity = np.empty((0, 2))

    @property
    def count(self) -> int:
        return len(self.last)

    def advance(self, stamp: int, rows: IntArray) -> None:
        alive = np.flatnonzero(stamp - self.stamp <= self.gap)
        i, j = self._assign(alive, rows, stamp)
        found, seen = alive[i], rows[j]
        moved = self.sightings.centroid[seen] - self.sightings.centroid[self.last[found]]
        self.velocity[found] = moved / (stamp - self.stamp[found])[:, None]
        self.last[found], self.stamp[found], self.track[seen] = seen, stamp, found
        new = np.setdiff1d(rows, seen)
        self.track[new] = self.count + np.arange(len(new))
        self.last = np.append(self.last, new)
        self.stamp = np.append(self.stamp, np.full(len(new), stamp))
        self.velocity = np.concatenate([self.velocity, np.zeros((len(new), 2))])

    def _assign(self, alive: IntArray, rows: IntArray, stamp: int) -> tuple[IntArray, IntArray]:
        if not len(alive) or not len(rows):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        seen, last = self.sightings, self.last[alive]
        shift = self.velocity[alive] * (stamp - self.stamp[alive])[:, None]
        box = seen.box[last] + np.tile(shift, 2)
        a, b = np.repeat(np.arange(len(alive)), len(rows)), np.tile(rows, len(alive))
        distance = np.linalg.norm(seen.centroid[last[a]] + shift[a] - seen.centroid[b], axis=1)
        diagonals = distance / ((_diagonal(box[a]) + _diagonal(seen.box[b])) / 2)
        cost = diagonals + 1 - box_iou(box[a], seen.box[b])
        cost[(diagonals > self.reach) | (seen.class_name[last[a]] != seen.class_name[b])] = _NEVER
        table = cost.reshape(len(alive), len(rows))
        i, j = linear_sum_assignment(table)
        good = table[i, j] < _NEVER
        return i[good], j[good]


def _diagonal(box: FloatArray) -> FloatArray:
    return np.hypot(box[:, 2] - box[:, 0], box[:, 3] - box[:, 1])


def _tracks(sightings: Sightings, track: IntArray, name: tuple[int, ...]) -> Tracks:
    classes, number = np.unique(sightings.class_name, return_inverse=True)
    votes = np.zeros((len(name), len(classes)), np.int64)
    np.add.at(votes, (track[track >= 0], number[track >= 0]), 1)
    usual = classes[votes.argmax(1)].tolist() if len(name) else []
    return Tracks(sightings, track, name, tuple(map(str, usual)))


LEAST_SIMILARITY = 0.05
"""Two tracks that are less alike are no pair."""

Pairs = list[tuple[int, int]]
"""Tracks of the real and of the virtual set that are the same object."""


def pair_instances(real: Tracks, virtual: Tracks) -> Pairs:
    """Pair tracks of one instance number."""
    place = {name: i for i, name in enumerate(virtual.name)}
    return [(i, place[name]) for i, name in enumerate(real.name) if name in place]


def pair_tracks(
    real: Tracks, virtual: Tracks, real_frames: FrameSet, virtual_frames: FrameSet, distance: float
) -> Pairs:
    """Pair tracks over their whole length by the Hungarian method.

    Two tracks of one class are alike by the sum of 1 - d / D over the frames that show both, over the number of frames
    that show either: d is how far their centroids lie apart, D is `distance`, both in diagonals of the picture, so that
    cameras of different resolution can be paired. It is the spatio-temporal IoU of tracks with closeness in the place
    of overlap, so that thin objects and cameras aligned differently are paired, too.
    """
    if not len(real) or not len(virtual):
        return []
    alike = track_similarity(real, virtual, real_frames, virtual_frames, distance)
    i, j = linear_sum_assignment(alike, maximize=True)
    return [(int(a), int(b)) for a, b in zip(i, j, strict=True) if alike[a, b] >= LEAST_SIMILARITY]


def track_similarity(
    real: Tracks, virtual: Tracks, real_frames: FrameSet, virtual_frames: FrameSet, distance: float
) -> FloatArray:
    """How alike real and virtual tracks are, float64 (T, U), in [0, 1] (see `pair_tracks`); 0 for unlike classes."""
    common = common_times(stamps_to_seconds(real_frames.stamp), stamps_to_seconds(virtual_frames.stamp))
    looked_at = real.sightings.looked_at[common.real] & virtual.sightings.looked_at[common.virtual]
    a = _centroids(real, real_frames)[:, common.real[looked_at]]
    b = _centroids(virtual, virtual_frames)[:, common.virtual[looked_at]]
    same_class = np.array(real.class_name)[:, None] == np.array(virtual.class_name)[None, :]
    out = np.zeros((len(real), len(virtual)))
    for i, j in np.argwhere(same_class):
        apart = np.linalg.norm(a[i] - b[j], axis=1)
        both = np.isfinite(apart)
        closeness = np.maximum(0.0, 1 - apart[both] / distance) if distance > 0 else (apart[both] == 0)
        either = np.isfinite(a[i, :, 0]) | np.isfinite(b[j, :, 0])
        out[i, j] = closeness.sum() / max(1, int(either.sum()))
    return out


def _centroids(tracks: Tracks, frames: FrameSet) -> FloatArray:
    """Centroids by track and frame, (T, F, 2), diagonals of the picture from its upper left; NaN where not seen."""
    rows = tracks.by_frame()
    diagonal = np.linalg.norm(frames.size.astype(np.float64), axis=1)
    centroid = np.concatenate([tracks.sightings.centroid, np.full((1, 2), np.nan)])
    return np.asarray(centroid[rows] / diagonal[None, :, None])


@dataclass(frozen=True, eq=False, repr=False)
class FollowedObjects(ShortRepr):
    """Tracks of two sets, and which of them are the same object."""

    real: Tracks
    virtual: Tracks
    pairs: Pairs  # a track of each, in the order of the real ones
    subject: tuple[str, ...]  # the name of each pair, as "orange 3"; the number is that of the real track


def follow_objects(
    sets: tuple[FrameSet, FrameSet], sightings: tuple[Sightings, Sightings], settings: CameraObjectSettings, log: Log
) -> FollowedObjects:
    """Follow objects through both sets, and find which are the same."""
    by_instance = _same_by_instance(sets, sightings, settings.same_by, log)
    if by_instance:
        real, virtual = (instance_tracks(seen) for seen in sightings)
        pairs = pair_instances(real, virtual)
    else:
        real, virtual = (
            follow(
                seen,
                frames.stamp,
                gap=settings.track_gap,
                reach=settings.track_reach,
                least_frames=settings.track_frames,
            )
            for seen, frames in zip(sightings, sets, strict=True)
        )
        pairs = pair_tracks(real, virtual, *sets, settings.match_distance)
    subject = tuple(f"{real.class_name[i]} {real.name[i]}" for i, _ in pairs)
    _log_unpaired(sets, (real, virtual), pairs, log)
    return FollowedObjects(real, virtual, pairs, subject)


def _same_by_instance(
    sets: tuple[FrameSet, FrameSet], sightings: tuple[Sightings, Sightings], same_by: str, log: Log
) -> bool:
    if same_by == SAME_TRACK:
        return False
    unnumbered = [not len(seen) or bool((seen.instance == NO_INSTANCE).any()) for seen in sightings]
    if same_by == SAME_INSTANCE:
        for frames, seen in zip(sets, sightings, strict=True):
            if len(seen) and (seen.instance == NO_INSTANCE).all():
                raise SimjudgeError(f"{frames.name}: no object has an instance number; leave out --same-by instance")
        return True
    if any(unnumbered):
        return False
    differing = _classes_that_differ(*sightings)
    if differing:
        log(
            f"objects are paired by track: instances of one number have different classes in {sets[0].name} and"
            f" {sets[1].name} ({list_some(differing)})"
        )
        return False
    log("objects are the same by the instance numbers of their labels")
    return True


def _classes_that_differ(real: Sightings, virtual: Sightings) -> list[str]:
    a, b = (
        dict(zip(tracks.name, tracks.class_name, strict=True))
        for tracks in (instance_tracks(real), instance_tracks(virtual))
    )
    return [f"{number}: {a[number]}, {b[number]}" for number in a if number in b and a[number] != b[number]]


def _log_unpaired(sets: tuple[FrameSet, FrameSet], tracks: tuple[Tracks, Tracks], pairs: Pairs, log: Log) -> None:
    for side, (frames, track_set) in enumerate(zip(sets, tracks, strict=True)):
        paired = {pair[side] for pair in pairs}
        alone = [f"{track_set.class_name[i]} {track_set.name[i]}" for i in range(len(track_set)) if i not in paired]
        if alone:
            log(f"{len(alone)} of {len(track_set)} objects are seen in {frames.name} alone: {list_some(alone)}")
    if not pairs and all(len(track) for track in tracks):
        log(f"{sets[0].name} and {sets[1].name} have no object in common; whole pictures are compared alone")
