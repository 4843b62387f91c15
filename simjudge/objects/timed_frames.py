"""The frames or scans of a set in the order of time: what every metric over time starts from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.stamps import NO_STAMP
from simjudge.data.clouds import CloudSet

_SECOND = 1_000_000_000


def timed_frames(frames: FrameSet, losses: Losses, frame_rate: float | None = None) -> FrameSet:
    """Order the frames of a set by time, each stamp once.

    Args:
        losses: counts the frames without a stamp in a set that has stamps, and frames with the stamp of another one.
        frame_rate: frames a second of a set without any stamp, whose frames are then taken as evenly spaced from 0 s;
            None refuses such a set.
    """
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
    """Give the clouds of a set stamps where it has none.

    Args:
        frame_rate: clouds a second of a set without any stamp, which are then taken as evenly spaced from 0 s; None
            refuses such a set.
    """
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
    """Give stamps in seconds.

    Args:
        stamp: int64 (N,), nanoseconds.

    Returns:
        float64 (N,), seconds; to about 0.2 us for clocks that count from 1970.
    """
    return np.asarray(stamp / _SECOND)


def common_start(sets: Iterable[FrameSet]) -> float:
    """Tell when all sets have begun.

    Returns:
        The latest of their first stamps, seconds.
    """
    return float(stamps_to_seconds(np.array([each.stamp[0] for each in sets])).max())
