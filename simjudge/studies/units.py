"""What is drawn at random as one thing, to know how sure one can be: a frame, or all variants of one photograph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simjudge.frames import FrameSet, IntArray
from simjudge.perception.training_data import source_photograph


@dataclass(frozen=True)
class Units:
    """Which frames are drawn together.

    Attributes:
        of_frame: int64 (F,), the unit of each frame, from 0 on in order of appearance.
        count: how many units there are.
    """

    of_frame: IntArray
    count: int


def drawn_together(frames: FrameSet) -> Units:
    """One unit a frame, but one for all variants that augmentation made of one photograph (Roboflow's names tell).

    Variants are not independent: where each is drawn by itself, a set that holds every photograph three times looks
    three times as large as it is, and chance differences come out as gaps.
    """
    number: dict[str, int] = {}
    of_frame = [number.setdefault(source_photograph(name), len(number)) for name in frames.frame_name]
    return Units(np.array(of_frame, np.int64), len(number))
