"""What engines with physics share: whoever simulates the bodies is asked for everything that moves, until `close`."""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

from simjudge.core.errors import UsageError
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.contract import Poses
from simjudge.sim.scene.model import Scene
from simjudge.sim.vehicle.vehicle import Command, VehicleState


class SimulatedBodies(Protocol):
    """The bodies of a scene in a simulator; members as in `simjudge.sim.engines.contract.Engine`."""

    @property
    def time(self) -> float:
        """Simulated seconds since the start."""

    def step(self, seconds: float) -> None:
        """Let physics run."""

    def set_pose(self, name: str, pose: Pose) -> None:
        """Put a body somewhere, at rest."""

    def poses(self) -> Poses:
        """Where everything that moves is now."""

    def drive(self, command: Command) -> None:
        """Hold a command of the driver."""

    def vehicle_state(self) -> VehicleState:
        """How the car moves now."""

    def touched_things(self) -> frozenset[str]:
        """What the car has touched."""

    def reset(self) -> None:
        """Everything back to the start."""


_Bodies = TypeVar("_Bodies", bound=SimulatedBodies)


class BodyEngine(Generic[_Bodies]):
    """The part of an engine that moves bodies. A subclass sets `scene` and `_bodies`, the latter to None on `close`."""

    scene: Scene
    _bodies: _Bodies | None

    @property
    def time(self) -> float:
        """Simulated seconds since the start."""
        return self._moved().time

    def step(self, seconds: float) -> None:
        """Let physics run for a positive multiple of `step_size`: see `Engine.step`."""
        self._moved().step(seconds)

    def set_pose(self, name: str, pose: Pose) -> None:
        """Put a free thing, or the car ("vehicle", its base), somewhere, at rest: see `Engine.set_pose`."""
        self._moved().set_pose(name, pose)

    def poses(self) -> Poses:
        """Where all free and scripted things and the car's parts are now."""
        return self._moved().poses()

    def drive(self, command: Command) -> None:
        """What the driver does from now on: see `Engine.drive`."""
        self._moved().drive(command)

    def vehicle_state(self) -> VehicleState:
        """How the car moves now."""
        return self._moved().vehicle_state()

    def touched_things(self) -> frozenset[str]:
        """Names of the free and counted things that the car has touched since the start or the last `reset`."""
        return self._moved().touched_things()

    def reset(self) -> None:
        """Everything back to the start."""
        self._moved().reset()

    def _moved(self) -> _Bodies:
        if self._bodies is None:
            raise UsageError(f"{self.scene.name}: this engine has been closed")
        return self._bodies
