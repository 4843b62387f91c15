"""A base for engines that only show: things are placed, nothing moves by itself. A subclass writes the pictures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import UsageError
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.contract import STANDING, BodyMotion, Hits, Labels, NotOfferedError, Poses, SceneState
from simjudge.sim.engines.mesh_rays import ThingRays
from simjudge.sim.scene.model import Scene, Thing
from simjudge.sim.sensors.camera.lens import Lens
from simjudge.sim.vehicle.vehicle import Command, Vehicle, VehicleState


class StillEngine(ABC):
    """A scene without physics and without a car; see `simjudge.sim.engines.contract.Engine`.

    A subclass sets `name` and writes `variant`, `render` and `labels`. Rays are cast here, at the scene's triangles.

    Args:
        scene: what stands where.
        vehicle: None; an engine of this kind has no car.
        start: pose of a car, which has no effect.

    Raises:
        NotOfferedError: a vehicle was given.
    """

    name = "still"

    def __init__(self, scene: Scene, vehicle: Vehicle | None = None, start: Pose | None = None) -> None:  # noqa: ARG002
        """Take the scene."""
        if vehicle is not None:
            raise NotOfferedError(f"engine {self.name} has no car: take engine default, or a scene without a car")
        self.scene = scene
        self.things: tuple[Thing, ...] = scene.things
        self.names = tuple(thing.name for thing in scene.things)
        self._home = {thing.name: thing.pose for thing in scene.things}
        self._placed: dict[str, Pose] = {}
        self._rays = ThingRays(scene.things)

    @property
    @abstractmethod
    def variant(self) -> str:
        """The libraries that the engine runs on, for people."""

    @abstractmethod
    def render(
        self, lens: Lens, scene_states: Sequence[SceneState], rays_per_pixel: int = 1
    ) -> npt.NDArray[np.float32]:
        """Linear RGB radiance (H, W, 3): see `Engine.render`."""

    @abstractmethod
    def labels(self, lens: Lens, scene_state: SceneState) -> Labels:
        """Classes, instances and depth through the pixels' centres: see `Engine.labels`."""

    def poses_by_name(self, bodies: Poses) -> dict[str, Pose]:
        """The poses of all things when some are not where the scene has them.

        Args:
            bodies: as in `SceneState`.

        Returns:
            A pose in the world for each of `names`.

        Raises:
            UsageError: the scene has nothing of a name.
        """
        unknown = sorted(set(bodies) - set(self._home))
        if unknown:
            raise UsageError(f"body {unknown[0]!r}: nothing in the scene has that name")
        return self._home | dict(bodies)

    @property
    def time(self) -> float:
        """Simulated seconds since the start: 0, because time stands still."""
        return 0.0

    @property
    def step_size(self) -> float:
        """Seconds of one step of physics, if there were physics."""
        return 1e-3

    def step(self, seconds: float) -> None:  # noqa: ARG002
        """Refused: there is no physics."""
        raise NotOfferedError(f"engine {self.name} has no physics: it renders and replays, but nothing moves by itself")

    def set_pose(self, name: str, pose: Pose) -> None:
        """Put a free thing somewhere: see `Engine.set_pose`."""
        if not any(thing.name == name and thing.motion == "free" for thing in self.things):
            raise UsageError(f"{name}: nothing free has that name")
        self._placed[name] = pose

    def poses(self) -> Poses:
        """The poses of all free and scripted things now."""
        return {thing.name: thing.pose for thing in self.things if thing.motion != "static"} | self._placed

    def drive(self, command: Command) -> None:  # noqa: ARG002
        """Refused: there is no car."""
        self._refuse_car()

    def vehicle_state(self) -> VehicleState:
        """Refused: there is no car."""
        self._refuse_car()

    def touched_things(self) -> frozenset[str]:
        """None: there is no car that could touch something."""
        return frozenset()

    def reset(self) -> None:
        """Put all things back to where the scene has them."""
        self._placed = {}

    def cast_rays(self, origins: npt.ArrayLike, directions: npt.ArrayLike, bodies: Poses | None = None) -> Hits:
        """What rays hit first: see `Engine.cast_rays`."""
        poses = self.poses_by_name(self.poses() if bodies is None else bodies)
        return self._rays.cast(origins, directions, poses)

    def cast_timed_rays(
        self, origins: FloatArray, directions: FloatArray, times: FloatArray, motion: BodyMotion = STANDING
    ) -> Hits:
        """What rays hit first, each at its own time: see `Engine.cast_timed_rays`."""
        return self._rays.cast_timed(origins, directions, times, motion)

    def close(self) -> None:
        """Release the search trees."""
        self._rays.close()

    def _refuse_car(self) -> NoReturn:
        raise UsageError(f"engine {self.name} has no car")
