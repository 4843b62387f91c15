"""A set thinned out: every N-th of its frames in their order, or as many a second; stamps and names stay."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from simjudge.core.arrays import IntArray
from simjudge.core.errors import UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.thinning import Thinning
from simjudge.data.frame_sequences import ALONE, FrameSequence, find_sequence


def thin_frames(frames: FrameSet, thinning: Thinning) -> FrameSet:
    """The frames that are taken, with what was done in the name of the set, so that each result and page says it."""
    if not thinning:
        return frames
    sequence = None if frames.independent else find_sequence(frames)
    if thinning.rate is None:
        order = np.arange(len(frames)) if sequence is None else np.lexsort((sequence.position, sequence.run))
        chosen = np.sort(order[:: thinning.every])
    else:
        if sequence is None or not sequence.timed:
            raise UsageError(
                f"--rate {thinning.rate:g}: the frames of {frames.name} have no times; give --every N for every N-th"
            )
        chosen = _at_rate(sequence, thinning.rate)
    return replace(frames.take(chosen), name=f"{frames.name}, {thinning}")


def _at_rate(sequence: FrameSequence, rate: float) -> IntArray:
    """The first frame of each period of each sequence; a frame half a step early counts to the next period.

    Frames of no sequence stay out: nobody knows their time.
    """
    chosen = []
    for run in np.unique(sequence.run[sequence.run != ALONE]):
        rows = np.flatnonzero(sequence.run == run)
        rows = rows[np.argsort(sequence.position[rows], kind="stable")]
        since = sequence.position[rows] - sequence.position[rows[0]] + sequence.step / 2
        _, first = np.unique(np.floor(since * rate / 1e9), return_index=True)
        chosen.append(rows[first])
    return np.sort(np.concatenate(chosen)).astype(np.int64)
