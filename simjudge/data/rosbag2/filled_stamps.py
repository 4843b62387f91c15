"""Header stamps that a publisher left at 0, filled in from the times of recording."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

# Nanoseconds since 1970 up to which stamps are those of a simulation, where 0 is a time like others.
SIMULATED_BELOW = 100_000_000 * 1_000_000_000


def fill_in_stamps(stamps: Sequence[int], times: Sequence[int], where: str) -> list[int]:
    """Give messages whose stamp is 0 the time they were recorded at.

    Where other messages of the topic have stamps, that time is moved by as much as theirs are ahead of recording.
    """
    ahead = [stamp - time for stamp, time in zip(stamps, times, strict=True) if stamp]
    empty = len(stamps) - len(ahead)
    simulated = any(0 < stamp < SIMULATED_BELOW for stamp in stamps)
    if not empty or len(stamps) < 2 or simulated:
        return list(stamps)
    log.warning("%s: %d messages without a stamp; the time they were recorded at is used", where, empty)
    offset = int(np.median(np.array(ahead, np.int64))) if ahead else 0
    return [stamp or time + offset for stamp, time in zip(stamps, times, strict=True)]
