"""Readings of one sensor, many at once, and when they may be read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import BoolArray, FloatArray, IntArray
from simjudge.core.display import ShortRepr


@dataclass(frozen=True, eq=False, repr=False)
class Readings(ShortRepr):
    """Readings of one sensor in order of time.

    Attributes:
        sensor, kind: its name, and what it is.
        stamp: int64 (N,), nanoseconds, the end of each reading's window.
        available: int64 (N,), nanoseconds from which on each can be read.
        values: (N, D): gyroscope rad/s, accelerometer m/s^2, imu both, magnetometer T, all in the sensor's axes; gps
            latitude, longitude (degrees), altitude (m); encoders ticks of each wheel since the start.
        truth: (N, D), the same without noise and filters.
    """

    sensor: str
    kind: str
    stamp: IntArray
    available: IntArray
    values: npt.NDArray[np.float64]
    truth: FloatArray

    def __len__(self) -> int:
        """The number of readings."""
        return len(self.stamp)

    def where(self, chosen: BoolArray) -> Readings:
        """Some of the readings.

        Args:
            chosen: bool (N,).
        """
        return Readings(
            self.sensor, self.kind, self.stamp[chosen], self.available[chosen], self.values[chosen], self.truth[chosen]
        )

    def join(self, later: Readings) -> Readings:
        """These readings and later ones of the same sensor."""
        return Readings(
            self.sensor,
            self.kind,
            np.concatenate([self.stamp, later.stamp]),
            np.concatenate([self.available, later.available]),
            np.concatenate([self.values, later.values]),
            np.concatenate([self.truth, later.truth]),
        )


class HeldReadings:
    """Readings that wait until their lag is over."""

    def __init__(self) -> None:
        """Nothing waits yet."""
        self._held: Readings | None = None

    def put(self, readings: Readings) -> None:
        """Take readings in."""
        self._held = readings if self._held is None else self._held.join(readings)

    def take(self, now: int) -> Readings | None:
        """Hand over what can be read now, each reading once.

        Args:
            now: nanoseconds of simulated time.

        Returns:
            The readings, or None where there is none.
        """
        if self._held is None:
            return None
        ready = self._held.available <= now
        if not ready.any():
            return None
        out, self._held = self._held.where(ready), self._held.where(~ready)
        return out
