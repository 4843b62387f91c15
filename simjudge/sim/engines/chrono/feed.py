"""Readings in lock-step: each one that is due at a simulated time is handed over exactly once, with that time.

Chrono keeps times as 32-bit floats (a GPS even stamps its readings 0) and counts launches; what it makes is polled
after every step here, stamped with the engine's own time, and held back for the sensor's lag.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simjudge.core.display import ShortRepr

_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Reading(ShortRepr):
    """What a sensor read.

    Attributes:
        sensor, kind: its name, and what it is.
        time: simulated seconds at the end of its window.
        values: accelerometer (3,) m/s^2 with gravity's reaction, gyroscope (3,) rad/s, magnetometer (3,) T, all in
            the sensor's axes; gps (3,) latitude, longitude (degrees), altitude (m); lidar (N, 4) x, y, z (m, sensor's
            axes), intensity.
    """

    sensor: str
    kind: str
    time: float
    values: npt.NDArray[np.float64]


class ReadingSchedule:
    """When readings are due: at 0, 1 / rate, 2 / rate, ... and each at the first step that reaches it.

    Args:
        rate: readings a second.
    """

    def __init__(self, rate: float) -> None:
        """The first reading is due at time 0."""
        self._rate, self._given = rate, 0

    def take(self, time: float) -> bool:
        """Whether a reading is due now; it counts as taken. What was missed by a step too long is not made up for.

        Args:
            time: simulated seconds.
        """
        if time < self._given / self._rate - _TOLERANCE:
            return False
        self._given = int((time + _TOLERANCE) * self._rate) + 1
        return True


class ReadingDelay:
    """Holds readings back."""

    def __init__(self, seconds: float) -> None:
        """Nothing is held yet."""
        self._seconds, self._held = seconds, deque[Reading]()

    def put(self, reading: Reading) -> None:
        """Take one in.

        Args:
            reading: with its time, simulated seconds.
        """
        self._held.append(reading)

    def ready(self, time: float) -> list[Reading]:
        """Those whose lag is over, in order; they are gone from here.

        Args:
            time: simulated seconds.
        """
        out = []
        while self._held and time >= self._held[0].time + self._seconds - _TOLERANCE:
            out.append(self._held.popleft())
        return out
