"""Pairs of frames that can be compared: the same moment in both sets, labelled and predicted in both."""

from __future__ import annotations

import numpy as np

from simjudge.core.arrays import IntArray
from simjudge.core.errors import Losses
from simjudge.core.frames import FrameSet
from simjudge.data.pairing import count_unpaired, pair_frames


def comparable_pairs(a: FrameSet, b: FrameSet, tolerance_ns: int, losses: Losses) -> tuple[IntArray, IntArray]:
    """Frames of A and their partners in B. Frames without partner, and pairs of which a half is no sample, are counted.

    Args:
        tolerance_ns: how far the stamps of a pair may lie apart, nanoseconds.

    Returns:
        int64 (K,) and (K,), numbers of the frames of A and of B.
    """
    pairs = pair_frames(a, b, tolerance_ns)
    losses.extend(count_unpaired(a, b, pairs))
    in_a, in_b = pairs
    usable = (a.labelled & a.predicted)[in_a] & (b.labelled & b.predicted)[in_b]
    for index in np.flatnonzero(~usable):
        losses.add("pairs without labels or predictions in one half", a.describe_frame(int(in_a[index])))
    return in_a[usable], in_b[usable]
