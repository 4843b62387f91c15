"""Clouds, boxes in space, and what belongs to them; fields, times and units of points.

A cloud is a table: a structured NumPy array with a row a point and the fields as its source has them. Coordinates are
metres in the sensor's frame (REP 103: x ahead, y left, z up). Stamps are nanoseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr, SummaryTable
from simjudge.core.errors import Losses, SimjudgeError, counted
from simjudge.core.frames import FrameSet
from simjudge.core.names import NO_STAMP

if TYPE_CHECKING:
    from simjudge.geometry.poses import Pose

INTENSITIES = ("intensity", "i", "reflectivity", "reflectance")
RINGS = ("ring", "channel", "line", "laser_number", "laser_id")
TIMES = ("time", "t", "timestamp", "time_stamp", "offset_time", "offset_ns")
LATE_POINTS = "points with a time before that of their ring's last point"
FARTHEST = 1e8  # Metres; coordinates of maps (UTM) reach 1e7, and bytes that are read in the wrong order mostly more
ONE_TIME = "all points have the same time"  # Why an ideal lidar's points have no times that tell anything
# Floats from so large on are times since 1970 in this unit; smaller ones are seconds.
_SECONDS = ((1e17, 1e-9), (1e14, 1e-6), (1e11, 1e-3))
# Seconds; times in coarser steps say nothing of when a beam fired: a column takes about 50 microseconds.
_COARSEST = 1e-5
_UNITS = ((1e-3, "milliseconds"), (1e-6, "microseconds"), (1e-9, "nanoseconds"))
_TURN = (5e-3, 2.0)  # Seconds that a turn may take
_FEWEST_STEPS = 100  # Times of firing from which on they tell their unit
# Nanoseconds from one time of firing to the next; 3.3 million a second are more than any device has.
_SHORTEST_STEP_NS = 300.0
_LONGEST = 10.0  # Seconds; times that span more are in a unit that is not known: a turn takes 0.05 to 1 s


@dataclass(frozen=True, eq=False, repr=False)
class LidarPoints(ShortRepr):
    """The points of a cloud that have a return, in the order of the cloud."""

    stored: npt.NDArray[np.generic]  # (N, 3), x, y, z, metres, in the type in which the cloud has them
    intensity: npt.NDArray[np.generic] | None  # (N,), as stored; None where the cloud does not say
    ring: IntArray | None  # int64 (N,), as the device counts them; None where the cloud does not say
    time: FloatArray | None  # float64 (N,), seconds from the earliest; None where there are none that can be used
    earliest: float  # the earliest time as the cloud has it, seconds: from the stamp, or since 1970; 0 without times
    time_trouble: str  # why there are no times; "" where there are
    time_note: str  # in which unit they are taken, where it is not the drivers'; else ""
    # (M,), which of the cloud's points these are: the others have NaN coordinates or lie at 0 0 0.
    seen: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.stored)

    @property
    def empty(self) -> int:
        """How many points of the cloud have no return."""
        return int(len(self.seen) - len(self.stored))


def lidar_points(table: Table, where: str) -> LidarPoints:
    """Find coordinates, intensities, rings and times of a cloud by the names that drivers give them."""
    names = table.dtype.names or ()
    missing = [name for name in "xyz" if name not in names]
    if missing:
        held = ", ".join(names) or "none"
        raise SimjudgeError(f"{where}: has no field {', '.join(missing)}; it has {held}; a cloud needs x, y and z")
    several = [name for name in "xyz" if table[name].ndim > 1]
    if several:
        raise SimjudgeError(f"{where}: field {several[0]!r} has several numbers a point; a cloud needs one")
    stored = np.stack([table[name] for name in "xyz"], -1)
    with np.errstate(invalid="ignore"):
        seen = np.isfinite(stored).all(1) & stored.any(1)
        largest = float(np.abs(stored[seen].astype(np.float64)).max(initial=0.0))
    if largest > FARTHEST:
        raise SimjudgeError(
            f"{where}: a coordinate is {largest:.2g} m; the byte order (is_bigendian) or the offset of a field is wrong"
        )
    intensity, ring, time = (_column(table, known) for known in (INTENSITIES, RINGS, TIMES))
    seconds, earliest, trouble, note = _seconds(None if time is None else time[seen])
    return LidarPoints(
        stored[seen],
        None if intensity is None else intensity[seen],
        None if ring is None else _whole(ring[seen], where),
        seconds,
        earliest,
        trouble,
        note,
        seen,
    )


def late_points(ring: IntArray, time: FloatArray) -> npt.NDArray[np.bool_]:
    """Find points with a time before that of an earlier point of their ring, bool (N,): a ring fires in order."""
    late = np.zeros(len(ring), np.bool_)
    order = np.argsort(ring, kind="stable")
    for rows in np.split(order, np.nonzero(np.diff(ring[order]))[0] + 1):
        late[rows] = time[rows] < np.maximum.accumulate(time[rows])
    return late


def _column(table: Table, known: tuple[str, ...]) -> npt.NDArray[np.generic] | None:
    """The first field of these names that has one number a point."""
    return next((table[name] for name in known if name in (table.dtype.names or ()) and table[name].ndim == 1), None)


def _whole(ring: npt.NDArray[np.generic], where: str) -> IntArray:
    if ring.dtype.kind == "f" and not (np.isfinite(ring).all() and (ring == np.rint(ring)).all()):
        raise SimjudgeError(f"{where}: its rings are not whole numbers; give the field another name")
    return ring.astype(np.int64)


def _seconds(time: npt.NDArray[np.generic] | None) -> tuple[FloatArray | None, float, str, str]:
    """Times from the earliest, the earliest itself, what is wrong with them, and a unit that is not the drivers'."""
    if time is None or not len(time):
        return None, 0.0, f"no time field ({', '.join(TIMES)})" if time is None else "no point with a return", ""
    with np.errstate(invalid="ignore"):
        numbers = time.astype(np.float64)
    finite = np.isfinite(numbers)
    if not finite.all():
        return None, 0.0, f"{int((~finite).sum())} points have a time that is not a number", ""
    largest = float(np.max(np.abs(numbers)))
    is_whole = time.dtype.kind in "iu"
    scale = 1e-9 if is_whole else next((unit for least, unit in _SECONDS if largest >= least), 1.0)
    # Whole numbers keep all their digits until the earliest is taken away.
    exact = _unwrapped(time) if is_whole else numbers
    scale, note = _unit(exact - exact.min(), scale)
    step = 1.0 if is_whole else float(np.spacing(time.dtype.type(largest)))
    if step * scale > _COARSEST:
        at = f"near {largest * scale:.4g} s, where one step is {step * scale:.3g} s"
        return None, 0.0, f"times are {time.dtype} {at}", ""
    seconds = (exact - exact.min()).astype(np.float64) * scale
    span = float(seconds.max())
    if span == 0:
        return None, 0.0, ONE_TIME, ""
    if span > _LONGEST:
        return None, 0.0, f"times span {span:.4g} if they are seconds, which no turn takes", ""
    return seconds, float(exact.min() * scale), "", note


def _unwrapped(time: npt.NDArray[np.generic]) -> IntArray:
    """Whole numbers, also where a counter of 32 bits began anew within the scan."""
    whole = time.astype(np.int64)
    if time.dtype.itemsize == 4 and np.ptp(whole) >= 2**31:
        whole = np.where(whole < whole.max() - 2**31, whole + 2**32, whole)
    return whole


def _unit(offset: npt.NDArray[Any], usual: float) -> tuple[float, str]:
    """The unit of times, seconds, and what to say of it where it is not the drivers'.

    A driver of one's own may write milliseconds or microseconds. As nanoseconds, beams would fire within less than any
    device's step; as seconds, a turn would last longer than any does.
    """
    span, steps = float(offset.max()), len(np.unique(offset)) - 1
    if steps < _FEWEST_STEPS:
        return usual, ""
    is_nano, is_seconds = usual == 1e-9, usual == 1.0
    quick = is_nano and span < _SHORTEST_STEP_NS * steps
    if quick or (is_seconds and span > _LONGEST):
        for unit, name in ((1e-6, "microseconds"),) if is_nano else _UNITS:
            if _TURN[0] <= span * unit <= _TURN[1]:
                return unit, f"times taken for {name}"
    return usual, ""


_COLUMNS = ["clouds of", "fields", "clouds", "rate", "points", "no return", "rings", "times"]
_LATE = "clouds whose stamp is not later than the one before"


class CloudSummary:
    """Takes the clouds of one lidar one by one."""

    def __init__(self, name: str, losses: Losses) -> None:
        self.name, self._losses = name, losses
        self._fields: list[str] = []
        self._stamps: list[int] = []
        self._points: list[int] = []
        self._empty: list[int] = []
        self._spans: list[float] = []
        self._rings: set[int] = set()
        self._troubles: dict[str, int] = {}
        self._unordered = 0

    def add(self, table: Table, stamp: int, where: str) -> None:
        """Take in a cloud; one that has no coordinates is counted (stamp: nanoseconds, NO_STAMP where it has none)."""
        try:
            points = lidar_points(table, where)
        except SimjudgeError as error:
            self._losses.add("clouds that cannot be used", str(error))
            return
        if stamp != NO_STAMP:
            if self._stamps and stamp <= self._stamps[-1] and (stamp or self._stamps[-1]):
                self._losses.add(_LATE, where)
            self._stamps.append(stamp)
        fields = ", ".join(_field(table.dtype, name) for name in table.dtype.names or ())
        if fields not in self._fields:
            self._fields.append(fields)
        self._points.append(len(table))
        self._empty.append(points.empty)
        if points.ring is not None:
            self._rings.update(np.unique(points.ring).tolist())
        if points.time is None:
            if len(points):
                self._troubles[points.time_trouble] = self._troubles.get(points.time_trouble, 0) + 1
            return
        self._spans.append(float(points.time.max()))
        if points.ring is not None:
            self._unordered += int(late_points(points.ring, points.time).sum())

    def row(self) -> list[str]:
        """The cells of a table with the columns of `cloud_table`."""
        number = len(self._points)
        if not number:
            return [self.name, "-", "0", *["-"] * 5]
        total = max(sum(self._points), 1)
        return [
            self.name,
            "; or ".join(self._fields),
            str(number),
            self._rate(),
            f"{np.median(self._points):.0f}",
            f"{100 * sum(self._empty) / total:.3g} %",
            str(len(self._rings) or "-"),
            f"{1e3 * float(np.median(self._spans)):.4g} ms" if self._spans else "-",
        ]

    def notes(self) -> list[str]:
        """What a person should know of the times, a line each."""
        number = len(self._points)
        lines = [
            f"{self.name}: times cannot be used in {count} of {number} clouds: {trouble}"
            for trouble, count in self._troubles.items()
        ]
        if len(self._stamps) > 1 and not any(self._stamps):
            lines.append(f"{self.name}: no stamps in its headers; the time of recording stands for them")
        if self._unordered:
            lines.append(f"{self.name}: {counted(self._unordered, LATE_POINTS)}")
        return lines

    def _rate(self) -> str:
        steps = np.diff(np.array(self._stamps, np.int64))
        steps = steps[steps > 0]
        return f"{1e9 / float(np.median(steps)):.3g} Hz" if len(steps) else "-"


def cloud_table(summaries: Iterable[CloudSummary]) -> tuple[SummaryTable, list[str]]:
    """Lay out what the lidars of one source hold."""
    each = list(summaries)
    rows: list[Sequence[str]] = [summary.row() for summary in each]
    return SummaryTable(_COLUMNS, rows, text_columns=2), [line for summary in each for line in summary.notes()]


def _field(layout: np.dtype[np.void], name: str) -> str:
    """A field's name; with its type where it is not float32, and how many numbers it has."""
    kind = layout.fields[name][0]  # type: ignore[index]
    count = f"[{kind.shape[0]}]" if kind.shape else ""
    return f"{name}{count}" if kind.base == np.float32 else f"{name}{count} {kind.base}"


Table = npt.NDArray[np.void]  # Points, a row each
# Of a sensor: x, y, z, metres, and a quaternion w, x, y, z, as PCD files have it.
Viewpoint = tuple[float, float, float, float, float, float, float]
NO_VIEWPOINT: Viewpoint = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False, repr=False)
class Cloud(ShortRepr):
    """The points of one turn or one shot."""

    table: Table  # a row a point, with the fields of its source
    height: int = 1  # rows of an organized cloud, which the table holds one after the other; 1 for others
    viewpoint: Viewpoint = NO_VIEWPOINT
    where: str = "a cloud"  # names the cloud in messages: its file, or recording, topic and stamp

    def __len__(self) -> int:
        return len(self.table)

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields."""
        return tuple(self.table.dtype.names or ())


@dataclass(frozen=True, eq=False, repr=False)
class CloudBoxes(ShortRepr):
    """N labelled things in space. Rows are ordered by cloud."""

    cloud: IntArray  # int64 (N,), the number of the cloud that each box belongs to
    class_id: IntArray  # int64 (N,)
    instance: IntArray  # int64 (N,), the same thing has the same number in all clouds; -1 where unknown
    centre: FloatArray  # float64 (N, 3), metres, in the clouds' frame
    orientation: FloatArray  # float64 (N, 4), quaternions x, y, z, w, box to the clouds' frame
    size: FloatArray  # float64 (N, 3), metres, along the box's own x (ahead), y (left) and z (up)

    def __len__(self) -> int:
        return len(self.cloud)


@dataclass(frozen=True, eq=False, repr=False)
class CloudPredictions(CloudBoxes, ShortRepr):
    """N boxes that a detector found in clouds. Rows are ordered by cloud."""

    score: FloatArray  # float64 (N,), in [0, 1]
    points: IntArray  # int64 (N,), the points that each was made of; -1 where nobody counted


@dataclass(frozen=True, eq=False, repr=False)
class CameraCalibration(ShortRepr):
    """A camera beside a lidar. Its images are rectified: it has no distortion."""

    matrix: FloatArray  # (3, 3), the camera matrix, pixels
    pose: Pose  # of its optical frame (x right, y down, z ahead) in the clouds' frame


_RADAR_SPEEDS = ("radial_velocity", "radial_speed", "doppler_velocity", "doppler")  # As drivers call range rates
_RADAR_SECTIONS = ("rcs", "RCS", "radar_cross_section")


def radar_fields(names: Sequence[str]) -> tuple[str, str] | None:
    """The fields with range rate and radar cross section; None where names are not those of radar detections."""
    speed, section = (
        next((name for name in known if name in names), None) for known in (_RADAR_SPEEDS, _RADAR_SECTIONS)
    )
    return None if speed is None or section is None else (speed, section)


@dataclass(frozen=True, repr=False)
class CloudSet(ShortRepr):
    """Clouds of one lidar, and what belongs to them. A cloud is read when it is asked for.

    Attributes:
        name: of the folder or the recording.
        cloud_name: of each cloud: its file's, without the ending.
        stamp: int64 (C,), nanoseconds; NO_STAMP where it has none.
        read: reads a cloud by its number; raises SimjudgeError where it is damaged.
        frame_id: the clouds' frame.
        boxes: what is labelled in space; None where nobody labelled.
        labelled: bool (C,), whether somebody labelled a cloud, even if nothing is in it; None: none is labelled.
        class_names: of the boxes and predictions, by class id.
        frames: images of a camera, and what is labelled in them; None where there are none.
        cameras: the camera's calibration at each cloud; empty where it is not known.
        body: the frame of what carries the lidar; that of the clouds where its mount is not known.
        mount: the clouds' frame in the body's; None: they are one.
        poses: of the body at each cloud, in one fixed frame; empty where they are not known.
        files: texts of the folder that no other attribute holds with all that is in them, by relative path.
        losses: what was left out.
        predictions: boxes that a detector found; None where none has run.
        predicted: bool (C,), whether a detector has run on a cloud, even if it found nothing; None: on none.
    """

    name: str
    cloud_name: Sequence[str]
    stamp: IntArray
    read: Callable[[int], Cloud]
    frame_id: str = "lidar_link"
    boxes: CloudBoxes | None = None
    labelled: BoolArray | None = None
    class_names: Mapping[int, str] = field(default_factory=dict)
    frames: FrameSet | None = None
    cameras: Sequence[CameraCalibration] = ()
    body: str = "lidar_link"
    mount: Pose | None = None
    poses: Sequence[Pose] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    losses: Losses = field(default_factory=Losses)
    predictions: CloudPredictions | None = None
    predicted: BoolArray | None = None

    def __len__(self) -> int:
        return len(self.cloud_name)

    def __getitem__(self, index: int) -> Cloud:
        return self.read(range(len(self))[index])

    def __iter__(self) -> Iterator[Cloud]:
        return (self.read(index) for index in range(len(self)))

    def has_stamp(self, index: int) -> bool:
        """Whether it is known when a cloud was taken."""
        return bool(self.stamp[index] != NO_STAMP)


def write_cloud_files(
    clouds: CloudSet, files: Sequence[Path], content: Callable[[Cloud], bytes], losses: Losses
) -> None:
    """Write each cloud into its file; clouds that cannot be read are counted."""
    written = 0
    for index, file in enumerate(files):
        try:
            data = content(clouds.read(index))
        except SimjudgeError as error:
            losses.add("clouds that cannot be read", str(error))
            continue
        file.write_bytes(data)
        written += 1
    if not written:
        raise SimjudgeError(f"{clouds.name}: holds no cloud that can be read{losses.reason}")
