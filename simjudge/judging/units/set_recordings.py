"""The recordings of a set: files or what a field says, else stretches between long pauses (method, section 6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import IntArray, ShortRepr
from simjudge.core.frames import FrameSet
from simjudge.data.frame_sequences import ALONE, find_sequence

_PAUSE = 50
"""Steps from one frame to the next, from which on another recording has begun."""
_PAUSE_S = 5.0
"""Likewise seconds, where times are known: a fast camera that stalls records on."""
_FEWEST_FRAMES = 3.0
"""Frames of a stretch, on average, below which stretches are photographs taken now and then."""


@dataclass(frozen=True, repr=False)
class SetRecordings(ShortRepr):
    """The recording of each of F frames, numbered from 0 on; one in all where none are told apart."""

    number: IntArray
    named: bool  # whether files or a field tell several

    @property
    def count(self) -> int:
        """How many there are."""
        return int(self.number.max(initial=0)) + 1


def find_recordings(frames: FrameSet) -> SetRecordings:
    """Tell the recordings of a set."""
    one = SetRecordings(np.zeros(len(frames), np.int64), named=False)
    if frames.recording:
        number = np.unique(np.array(frames.recording), return_inverse=True)[1].reshape(-1).astype(np.int64)
        count = int(number.max(initial=0)) + 1
        # What is one frame each is drawn by itself: units tell all of it.
        return SetRecordings(number if count < len(frames) else one.number, named=count > 1)
    sequence = None if frames.independent else find_sequence(frames)
    if sequence is None:
        return one
    rows = np.flatnonzero(sequence.run != ALONE)
    rows = rows[np.lexsort((sequence.position[rows], sequence.run[rows]))]
    steps = np.diff(sequence.position[rows])
    pause = steps > _PAUSE * sequence.step
    if sequence.timed:
        pause &= steps > _PAUSE_S * 1e9
    begins = pause | (np.diff(sequence.run[rows]) != 0)
    stretch = np.concatenate([[0], np.cumsum(begins)])
    if len(rows) < len(frames) or len(rows) < _FEWEST_FRAMES * (stretch[-1] + 1):
        return one
    number = np.empty(len(frames), np.int64)
    number[rows] = stretch
    return SetRecordings(number, named=False)
