"""The frames of a set in the order of time: what every metric over time starts from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FloatArray, FrameSet, IntArray

_SECOND = 1_000_000_000


def timed_frames(frames: FrameSet, losses: Losses, frame_rate: float | None = None) -> FrameSet:
    """Order the frames of a set by time, each stamp once.

    Args:
        frames: the set.
        losses: counts the frames without a stamp in a set that has stamps, and frames with the stamp of another one.
        frame_rate: frames a second of a set without any stamp, whose frames are then taken as evenly spaced from 0 s;
            None refuses such a set.

    Returns:
        The set; its stamps ascend strictly.

    Raises:
        SimjudgeError: no frame has a stamp, and `frame_rate` is not given.
    """
    if len(frames) == 0:
        raise SimjudgeError(f"{frames.name}: holds no frame; name a set with pictures or labels")
    if not frames.stamped.any():
        if frame_rate is None:
            raise SimjudgeError(
                f"{frames.name}: no frame has a stamp, so nothing can be followed over time; give --frame-rate, or a"
                " recording"
            )
        return replace(frames, stamp=np.rint(np.arange(len(frames)) * (_SECOND / frame_rate)).astype(np.int64))
    for index in np.flatnonzero(~frames.stamped):
        losses.add("frames without a stamp, left out", frames.describe_frame(int(index)))
    order = np.argsort(frames.stamp, kind="stable")
    order = order[frames.stamped[order]]
    again = np.append(False, np.diff(frames.stamp[order]) == 0)
    for index in order[again]:
        losses.add("frames with the stamp of another frame, left out", frames.describe_frame(int(index)))
    kept = order[~again]
    return frames if np.array_equal(kept, np.arange(len(frames))) else frames.take(kept)


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

    Args:
        sets: ordered by time.

    Returns:
        The latest of their first stamps, seconds.
    """
    return float(stamps_to_seconds(np.array([each.stamp[0] for each in sets])).max())
