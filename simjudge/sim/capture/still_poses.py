"""Given poses of a camera that stands still for each frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from simjudge.core.errors import UsageError
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.contract import Engine
from simjudge.sim.sensors.camera.camera import SECOND, frame_stamp_offset


@dataclass(frozen=True)
class StillPoses:
    """A camera that stands still for each frame; the frames have nothing to do with each other.

    Attributes:
        cameras: poses of the optical frame in the world, one for each frame.
        rate: frames a second, for their stamps.
    """

    name: str
    cameras: tuple[Pose, ...]
    rate: float

    def __post_init__(self) -> None:
        """Check that there are frames."""
        if not self.cameras:
            raise UsageError(f"{self.name}: no pose; at least one is needed")

    @cached_property
    def frame_name(self) -> Sequence[str]:
        """Name and number."""
        return [f"{self.name}_{index:06d}" for index in range(len(self.cameras))]

    @cached_property
    def stamp(self) -> Sequence[int]:
        """At the camera's rate, from 1 s on."""
        return [SECOND + frame_stamp_offset(self.rate, index) for index in range(len(self.cameras))]

    @property
    def mount(self) -> Pose:
        """The poses are those of the optical frame itself."""
        return Pose()

    def at(self, index: int, stamps: Sequence[int], engine: Engine) -> list[Pose]:
        """The same pose at all times.

        Args:
            stamps: times from the frame's stamp on, nanoseconds.
        """
        del engine
        return [self.cameras[index]] * len(stamps)

    def path(self) -> None:
        """None: each frame stands by itself."""
        return
