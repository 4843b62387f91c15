"""Labels that are too small to count, left out by the rule that rendered images are labelled by."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from simjudge.core.errors import UsageError
from simjudge.core.frames import FrameSet


def leave_out_small(frames: FrameSet, min_size: float) -> FrameSet:
    """Leave out the labels of small objects. People label what a simulator does not, or the other way round.

    Args:
        min_size: labels whose box is narrower or lower are left out, pixels.
    """
    if not 0 <= min_size < np.inf:
        raise UsageError(f"--min-size {min_size}: 0 px or more is needed")
    box = frames.objects.box
    large = (box[:, 2:] - box[:, :2]).min(axis=1, initial=np.inf) >= min_size
    return replace(frames, objects=frames.objects.take(np.flatnonzero(large)))
