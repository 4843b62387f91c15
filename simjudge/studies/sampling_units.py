"""Sampling units: what chance draws together. A frame, all variants of one photograph, or a block of time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simjudge.core.display import ShortRepr
from simjudge.core.frames import NO_STAMP, FrameSet, IntArray
from simjudge.data.photographs import source_photograph


@dataclass(frozen=True, repr=False)
class SamplingUnits(ShortRepr):
    """Which frames are drawn together.

    Attributes:
        of_frame: int64 (F,), the unit of each frame, from 0 on in order of appearance.
        count: how many units there are.
    """

    of_frame: IntArray
    count: int


def sampling_units(frames: FrameSet, block: float = 0.0) -> SamplingUnits:
    """The sampling units of a set: a frame each, but one for all augmented variants of a photograph.

    Variants are not independent. A set that holds every photograph three times looks three times as large as it is, and
    chance differences come out as gaps. The same holds for neighbours in a recording. Variants are known by
    the file names that Roboflow gives them.

    Args:
        frames: the set of F frames.
        block: length of the blocks of time, from the first stamp on, whose frames are one unit, seconds; 0 for none.
            Frames without stamps are not affected.
    """
    number: dict[str, int] = {}
    begin = int(frames.stamp[frames.stamp != NO_STAMP].min(initial=np.iinfo(np.int64).max))
    keys = []
    for name, stamp in zip(frames.frame_name, frames.stamp.tolist(), strict=True):
        in_time = block > 0 and stamp != NO_STAMP
        keys.append(f"block {int((stamp - begin) / 1e9 // block)}" if in_time else source_photograph(name))
    of_frame = [number.setdefault(key, len(number)) for key in keys]
    return SamplingUnits(np.array(of_frame, np.int64), len(number))


def median_frame_interval(frames: FrameSet) -> float | None:
    """Median time between neighbouring frames, seconds; None for fewer than two frames with stamps.

    Args:
        frames: the set.
    """
    stamps = np.sort(frames.stamp[frames.stamp != NO_STAMP])
    return float(np.median(np.diff(stamps))) / 1e9 if len(stamps) > 1 else None
