"""The sensors of a car beside its camera: what they read while an engine steps, handed over when their lag is over.

    feed = SensorFeed(engine, read_sensors("art1"), vehicle, seed)
    feed.observe(time)                    # after every step of physics
    batch = feed.take(time)               # what can be read now, each reading once

Readings are due in simulated time alone. Everything that a sensor knows comes from the engine's poses, motion and rays,
so that a sensor means the same in every engine. Those with `source: chrono` alone are read by Chrono.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simjudge.sim.capture.sensor_readers import SensorEvent, make_readers
from simjudge.sim.engines.contract import SensedWorld
from simjudge.sim.sensors.inertial.motion import SECOND
from simjudge.sim.sensors.lidar.lidar_fields import LidarSpec
from simjudge.sim.sensors.sensor_spec import SensorSpec


@dataclass(frozen=True, eq=False)
class SensorBatch:
    """Readings that are handed over together.

    Attributes:
        time: nanoseconds of simulated time.
        events: in order of the time from which on they can be read, those of one time in the sensors' order.
    """

    time: int
    events: tuple[SensorEvent, ...]

    @property
    def has_scan(self) -> bool:
        """Whether a lidar's scan is among them."""
        return any(isinstance(event.spec, LidarSpec) for event in self.events)


class SensorFeed:
    """All sensors of a car but its camera."""

    def __init__(self, engine: SensedWorld, specs: Sequence[SensorSpec], seed: int = 0) -> None:
        """Begin where the engine is."""
        start = round(engine.time * SECOND)
        self._readers = make_readers(engine, specs, seed, start)
        self.observe(start)

    def observe(self, time: int) -> None:
        """Take note of the engine now; to be called after every step of physics.

        Args:
            time: nanoseconds of simulated time.
        """
        for reader in self._readers:
            reader.observe(time)

    def next_time(self) -> int | None:
        """Nanoseconds at which something may be handed over next; None without sensors."""
        return min((reader.next_time() for reader in self._readers), default=None)

    def take(self, now: int) -> SensorBatch | None:
        """Hand over what can be read now, each reading once.

        Args:
            now: nanoseconds of simulated time.

        Returns:
            The readings, or None where there is none.
        """
        ready = [event for reader in self._readers for event in reader.take(now)]
        return SensorBatch(now, tuple(sorted(ready, key=lambda event: event.time))) if ready else None
