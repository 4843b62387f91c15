"""A metric over time: its frames or scans, where a lidar was then, and which of two sensors show the same instant."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.names import NO_STAMP
from simjudge.data.clouds import CloudSet, LidarPoints
from simjudge.geometry.keyframes import Keyframes
from simjudge.geometry.poses import Pose

WHOLE = ""
"""The subject of a metric of the whole picture or scan."""


@dataclass(frozen=True, eq=False, repr=False)
class Series(ShortRepr):
    """One metric of one subject in one recording or set."""

    metric: str  # what is measured: "box width", "piqe", "points"
    unit: str  # of the values: "px", "m", "px/s"; "" for none
    subject: str  # the object it is measured of: "barrier 3"; WHOLE for the whole picture or scan
    time: FloatArray  # float64 (N,), seconds, ascending; the stamps of the frames or scans
    value: FloatArray  # float64 (N,), NaN where the metric has no value, as where the object is not seen

    def __len__(self) -> int:
        return len(self.time)


_SECOND = 1_000_000_000


def timed_frames(frames: FrameSet, losses: Losses, frame_rate: float | None = None) -> FrameSet:
    """Frames by time, each stamp once; without any stamp evenly from 0 s at `frame_rate` (1/s); None refuses."""
    if len(frames) == 0:
        raise SimjudgeError(f"{frames.name}: holds no frame; name a set with pictures or labels")
    if not frames.stamped.any():
        if frame_rate is None:
            raise SimjudgeError(
                f"{frames.name}: no frame has a stamp, so nothing can be followed over time; give --frame-rate, or a"
                " recording"
            )
        return replace(frames, stamp=_even_stamps(len(frames), frame_rate))
    for index in np.flatnonzero(~frames.stamped):
        losses.add("frames without a stamp, left out", frames.describe_frame(int(index)))
    order = np.argsort(frames.stamp, kind="stable")
    order = order[frames.stamped[order]]
    again = np.append(False, np.diff(frames.stamp[order]) == 0)
    for index in order[again]:
        losses.add("frames with the stamp of another frame, left out", frames.describe_frame(int(index)))
    kept = order[~again]
    return frames if np.array_equal(kept, np.arange(len(frames))) else frames.take(kept)


def timed_clouds(clouds: CloudSet, frame_rate: float | None = None) -> CloudSet:
    """Give clouds without any stamp even ones from 0 s at `frame_rate` (1/s); None refuses such a set."""
    lacking = np.flatnonzero(clouds.stamp == NO_STAMP)
    if not len(lacking):
        return clouds
    if len(lacking) < len(clouds):
        raise SimjudgeError(
            f"{clouds.name}: {len(lacking)} of {len(clouds)} clouds have no stamp, the first is "
            f"{clouds.cloud_name[lacking[0]]}; give each one a stamp, or remove them"
        )
    if frame_rate is None:
        raise SimjudgeError(
            f"{clouds.name}: none of its clouds has a stamp, so that nothing can be compared over time; give "
            "--frame-rate, or a recording"
        )
    return replace(clouds, stamp=_even_stamps(len(clouds), frame_rate))


def _even_stamps(count: int, rate: float) -> IntArray:
    return np.asarray(np.rint(np.arange(count) * (_SECOND / rate)), np.int64)


def stamps_to_seconds(stamp: IntArray) -> FloatArray:
    """Stamps int64 (N,), nanoseconds, as float64 seconds; to about 0.2 us for clocks that count from 1970."""
    return np.asarray(stamp / _SECOND)


def common_start(sets: Iterable[FrameSet]) -> float:
    """Tell when all sets have begun. Returns the latest of their first stamps, seconds."""
    return float(stamps_to_seconds(np.array([frame_set.stamp[0] for frame_set in sets])).max())


@dataclass(frozen=True, eq=False, repr=False)
class CommonTimes(ShortRepr):
    """The frames of two sensors that show the same instants."""

    real: IntArray  # real, virtual: int64 (N,), numbers of frames; pairs, in order of time
    virtual: IntArray
    tolerance: float  # how far the two stamps of a pair may lie apart, seconds
    farthest: float  # how far they do at most, seconds

    def __len__(self) -> int:
        return len(self.real)


def common_times(real: FloatArray, virtual: FloatArray) -> CommonTimes:
    """Pair the frames of two sensors by time.

    Each frame is paired with the nearest one of the other sensor if each is the other's nearest. Equal stamps are
    always a pair. The tolerance is half the median period of the slower sensor. `real`: float64 (R,), seconds,
    ascending; `virtual`: float64 (V,), seconds, ascending.
    """
    tolerance = max(median_period(real), median_period(virtual)) / 2
    if not (len(real) and len(virtual)):
        return CommonTimes(np.empty(0, np.int64), np.empty(0, np.int64), tolerance, 0.0)
    partner, back = _nearest(real, virtual), _nearest(virtual, real)
    number = np.arange(len(real))
    apart = np.abs(virtual[partner] - real)
    # Stamps are float64 seconds of a clock that may count from 1970: half a microsecond of them is rounding.
    paired = (back[partner] == number) & (apart <= tolerance + 5e-7)
    farthest = float(apart[paired].max()) if paired.any() else 0.0
    return CommonTimes(number[paired], partner[paired], tolerance, farthest)


def median_period(time: FloatArray) -> float:
    """The median time between two frames. `time`: float64 (N,), seconds, ascending."""
    return float(np.median(np.diff(time))) if len(time) > 1 else 0.0


def require_common_times(real: FloatArray, virtual: FloatArray, names: tuple[str, str]) -> None:
    """Refuse two sensors whose frames, at ascending seconds (R,) and (V,), show no instant in common."""
    if len(common_times(real, virtual)):
        return
    spans = [
        f"{name} has {f'{time[0]:.3f} to {time[-1]:.3f} s' if len(time) else 'no frame'}"
        for name, time in zip(names, (real, virtual), strict=True)
    ]
    offset = f"{real[0] - virtual[0]:.3f}" if len(real) and len(virtual) else "SECONDS"
    raise SimjudgeError(
        f"no common time: {spans[0]}, {spans[1]}; replay the real recording's poses (simjudge sim replay keeps its "
        f"stamps), or move the virtual stamps with --time-offset {offset} if both began together"
    )


def _nearest(time: FloatArray, other: FloatArray) -> IntArray:
    """The number of the frame of `other` that is nearest to each instant; the earlier of two that are equally near."""
    after = np.clip(np.searchsorted(other, time), 1, max(len(other) - 1, 1))
    if len(other) == 1:
        return np.zeros(len(time), np.int64)
    later = np.abs(other[after] - time) < np.abs(other[after - 1] - time)
    return np.asarray(after - 1 + later, np.int64)


TURN = 0.1
"""Seconds between scans of a set that does not say when they were taken."""
JUMPS = "scans whose pose jumps"
_JITTER = 0.1
"""Metres that an estimate may move at once, however short the time."""
_SINCE_1970 = 1e8
"""Seconds from which a time of a point counts from 1970, and not from the stamp."""
_FARTHEST = 2.0
"""Seconds between a scan's stamp and its points; what lies further away is on another clock."""


@dataclass(frozen=True, eq=False, repr=False)
class ScanPoses(ShortRepr):
    """The scans of a set whose poses can be used."""

    index: IntArray  # int64 (K,), the number of each scan's cloud
    time: FloatArray  # float64 (K,), seconds; stamps, or TURN apart where the set has none
    poses: Sequence[Pose]  # K poses of the lidar in the fixed frame

    def __len__(self) -> int:
        return len(self.index)

    @property
    def position(self) -> FloatArray:
        """float64 (K, 3), metres, fixed frame."""
        return np.array([pose.position for pose in self.poses]).reshape(-1, 3)

    def keyframes(self, row: int) -> Keyframes:
        """The lidar from the scan before to the one after, poses and seconds from the stamp; at the ends it goes on."""
        if len(self) == 1:
            return Keyframes.build([0.0], [[self.poses[0]]])
        poses, last = self.poses, len(self) - 1
        seconds = np.abs(self.time - self.time[row]).tolist()
        neighbours = (row - 1 if row else 1), (row + 1 if row < last else last - 1)
        before = poses[row - 1] if row else _gone_on(poses[1], poses[0])
        after = poses[row + 1] if row < last else _gone_on(poses[last - 1], poses[last])
        times = [-seconds[neighbours[0]], 0.0, seconds[neighbours[1]]]
        return Keyframes.build(times, [[before], [poses[row]], [after]])


def _gone_on(before: Pose, here: Pose) -> Pose:
    """The pose after another one, as far from it as it is from the one before."""
    position = 2 * np.array(here.position) - before.position
    turned = here @ before.inverse() @ here
    return Pose(tuple(position.tolist()), turned.orientation)


def scan_times(clouds: CloudSet) -> FloatArray:
    """When the scans of a set were taken. Returns float64 (C,), seconds: stamps, or TURN apart where one is missing."""
    if all(clouds.has_stamp(index) for index in range(len(clouds))):
        return np.asarray(clouds.stamp * 1e-9)
    return np.arange(len(clouds), dtype=np.float64) * TURN


def scan_poses(clouds: CloudSet, max_speed: float, losses: Losses, kind: str = JUMPS) -> ScanPoses:
    """The lidar's poses; scans beyond `max_speed` (m/s, and 0.1 m of jitter) from the one kept before are counted."""
    if not clouds.poses:
        raise SimjudgeError(
            f"{clouds.name}: it is not known where its lidar was: give a recording with nav_msgs/Odometry or transforms"
            " (tf) that reach the lidar's frame and cover its scans, or a folder with poses"
        )
    time = scan_times(clouds)
    order = np.argsort(time, kind="stable")
    kept: list[int] = []
    for index in order.tolist():
        here = clouds.poses[index].position
        if kept:
            metres = math.dist(clouds.poses[kept[-1]].position, here)
            seconds = float(time[index] - time[kept[-1]])
            if metres > _JITTER + max_speed * seconds or (seconds == 0 and metres > 0):
                speed = f"{metres:.3g} m in {seconds:.3g} s"
                losses.add(kind, f"{clouds.name}: {clouds.cloud_name[index]} ({speed})")
                continue
        kept.append(index)
    mount = Pose() if clouds.mount is None else clouds.mount
    return ScanPoses(np.array(kept, np.int64), time[kept], [clouds.poses[index] @ mount for index in kept])


def times_from_stamp(points: LidarPoints, stamp: float) -> FloatArray | None:
    """When each point was measured, seconds (N,) from `stamp` (since 1970); None without times of that clock."""
    if points.time is None:
        return None
    first = points.earliest - stamp if points.earliest > _SINCE_1970 else points.earliest
    return points.time + first if abs(first) < _FARTHEST else None
