"""What is known of a sensor of any kind, once its file is read."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import Literal

from simjudge.geometry.poses import Pose
from simjudge.sim.sensors.reading_filters import FilterStep

Source = Literal["simjudge", "chrono"]
CAR = "vehicle"
"""The body of the car that carries sensors unless a file says otherwise; its frame is base_link."""


@dataclass(frozen=True)
class SensorSpec:
    """One sensor; each kind adds its own.

    Attributes:
        name, kind: its own, and what it is.
        rate: readings a second.
        mount: its frame in that of the body (x ahead, y left, z up).
        body: the body that carries it: "vehicle", "vehicle/wheel_front_left", or a thing of the scene.
        window: seconds that the truth is averaged over; a reading's stamp is their end.
        lag: seconds from a reading's stamp until it can be read.
        filters: what its readings go through, in order.
    """

    name: str
    kind: str
    rate: float
    mount: Pose = field(default_factory=Pose)
    body: str = CAR
    window: float = 0.0
    lag: float = 0.0
    filters: tuple[FilterStep, ...] = ()
    source: Source = "simjudge"

    @property
    def deviation(self) -> tuple[float, float, float]:
        """White noise of x, y and z, for the covariance of messages."""
        return (0.0, 0.0, 0.0)

    def entropy(self, seed: int) -> tuple[int, int]:
        """The seed of this sensor's random numbers: it follows from the run's seed and the sensor's name alone."""
        return seed, zlib.crc32(self.name.encode())
