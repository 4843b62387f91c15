"""Where a drive is broken: holes in its recording, jumps of its positions, and clocks that jump back.

Nothing is made up across a break: no chord from one side to the other, and no speed.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.ndimage import median_filter

from simjudge.core.arrays import BoolArray, FloatArray
from simjudge.core.errors import Losses
from simjudge.geometry.trajectories import DEFAULT_MOTION_LIMITS

_STEPS = 3.0
"""A hole is longer than this many usual steps of time."""
_CHORD = 0.25
"""Metres that a car may move unseen in a hole that is shorter than the longest that is believed."""
_JITTER = 0.1
"""Metres that an estimate may move at once."""
_FASTER = 3.0
"""A jump is faster than this many times the speed around it."""
_NEIGHBOURS = 11
"""Steps whose median speed is the speed around one."""
HOLES, JUMPS, BACK = "holes in drives", "jumps in drives", "clocks of drives that jump back"
"""Kinds of losses."""


def drive_pieces(time: FloatArray, position: FloatArray) -> list[slice]:
    """The unbroken pieces of a drive, in the order of its rows.

    Args:
        time: (N,), seconds; ascending within a piece.
        position: (N, 2), metres.
    """
    broken = np.logical_or.reduce(_breaks(time, position))
    ends = [0, *(np.flatnonzero(broken) + 1).tolist(), len(time)]
    return [slice(first, last) for first, last in pairwise(ends) if last > first]


def count_breaks(name: str, time: FloatArray, position: FloatArray, losses: Losses) -> None:
    """Count where a drive is broken."""
    step = np.linalg.norm(np.diff(position, axis=0), axis=1)
    for kind, broken in zip((BACK, JUMPS, HOLES), _breaks(time, position), strict=True):
        for row in np.flatnonzero(broken).tolist():
            losses.add(kind, f"{name}: {time[row + 1] - time[row]:.3g} s and {step[row]:.3g} m after {time[row]:.3f} s")


def _breaks(time: FloatArray, position: FloatArray) -> tuple[BoolArray, BoolArray, BoolArray]:
    """Between each row and the next: whether the clock jumps back, the car jumps, or the recording has a hole."""
    span, step = np.diff(time), np.linalg.norm(np.diff(position, axis=0), axis=1)
    back: BoolArray = span <= 0
    if back.all():
        return back, ~back, ~back
    usual = float(np.median(span[~back]))
    longest = max(DEFAULT_MOTION_LIMITS.max_gap, _STEPS * usual)
    hole = ~back & ((span > longest) | ((span > _STEPS * usual) & (step > _CHORD)))
    seconds = np.where(back, usual, span)
    around = median_filter(step / seconds, _NEIGHBOURS, mode="nearest")
    jump = ~back & ~hole & (step > _JITTER + _FASTER * around * seconds)
    return back, jump, hole
