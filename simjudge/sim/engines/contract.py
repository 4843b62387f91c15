"""The contract of an engine, which moves and lights a scene. `simjudge.sim.testing` holds every engine to it.

Poses go in; light, labels and ray hits come out. Bodies move by physics (`step`) or are placed (`set_pose`). Metres,
seconds, radians; REP 103 axes; a camera's pose is that of its optical frame (x right, y down, z forward) in the world;
pixel (0, 0) is the centre of the upper left pixel, row 0 the top of the picture.

Required: things and their poses, `set_pose`, `reset`, `render`, `labels`, `cast_rays`. Physics (`step`), a car and
`cast_timed_rays` may be left out: the engine then raises `NotOfferedError`. `simjudge.sim.engines.still_engine` is a
base for such engines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray, ShortRepr
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.geometry.keyframes import Keyframes
from simjudge.geometry.poses import Pose
from simjudge.sim.scene.model import Scene, Thing
from simjudge.sim.sensors.camera.lens import Lens
from simjudge.sim.vehicle.vehicle import Command, VehicleState

# Poses in the world by name: of things and of the car's parts ("vehicle", "vehicle/wheel_front_left", ...).
Poses = Mapping[str, Pose]


class NotOfferedError(SimjudgeError):
    """The engine, or this build of it, leaves out an optional part of the contract: physics, a car, timed rays."""


@dataclass(frozen=True)
class SceneState:
    """Where the camera and the bodies are at one instant.

    Attributes:
        camera: pose of the optical frame in the world.
        bodies: poses of the bodies that are not where the scene has them; names that the scene does not know are an
            error.
    """

    camera: Pose
    bodies: Poses = field(default_factory=dict)


class Labels(NamedTuple):
    """What the rays through the pixels' centres hit first, (H, W) each.

    Attributes:
        class_id: uint8, 0 where it has no class; the scene's background class where nothing is hit.
        instance: uint16, 0 where it is nothing that is counted.
        depth: float32, metres from the camera's centre along the optical axis (z); along the ray where the lens sees
            all around; inf where nothing is hit.
    """

    class_id: npt.NDArray[np.uint8]
    instance: npt.NDArray[np.uint16]
    depth: npt.NDArray[np.float32]


class Hits(NamedTuple):
    """What N rays hit first.

    Attributes:
        distance: float64 (N,), metres along the ray; inf where nothing is hit.
        thing: int64 (N,), index into the engine's `names`; -1 where nothing is hit.
        normal: float64 (N, 3), unit, outward, world; NaN where nothing is hit.
    """

    distance: FloatArray
    thing: npt.NDArray[np.int64]
    normal: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class BodyMotion(ShortRepr):
    """How bodies move while rays are cast. Bodies that are not named stand where the scene has them.

    Attributes:
        names: of the bodies, in the keyframes' order.
    """

    names: tuple[str, ...]
    keyframes: Keyframes


# Everything stands where the scene has it.
STANDING = BodyMotion((), Keyframes(np.zeros(1), np.zeros((1, 0, 3)), np.zeros((1, 0, 4))))


class SensedWorld(Protocol):
    """What sensors beside the camera are computed from. Every engine is one."""

    @property
    def name(self) -> str:
        """The engine's."""

    @property
    def things(self) -> tuple[Thing, ...]:
        """Everything that rays can hit."""

    @property
    def time(self) -> float:
        """Simulated seconds since the start."""

    def poses(self) -> Poses:
        """The poses of all that moves now, and of the car ("vehicle")."""

    def vehicle_state(self) -> VehicleState:
        """How the car moves now.

        Raises:
            UsageError: there is no car.
        """

    def cast_timed_rays(
        self, origins: FloatArray, directions: FloatArray, times: FloatArray, motion: BodyMotion = STANDING
    ) -> Hits:
        """What rays hit first, each at its own time: see `Engine.cast_timed_rays`."""


class Engine(Protocol):
    """A scene, perhaps with a car in it, that can be moved, rendered and probed by rays.

    Attributes:
        name: "default", "chrono", or what a plug-in calls itself; it is written into recordings.
        scene: the scene as it was read.
        things: everything that rays can hit: the scene's things in their order, then the car's parts.
        names: of the things, in their order.
    """

    name: str
    scene: Scene
    things: tuple[Thing, ...]
    names: tuple[str, ...]

    @property
    def variant(self) -> str:
        """The libraries that the engine runs on, for people: "MuJoCo 4.0.0, Mitsuba 3.9.1 llvm_ad_rgb"."""

    # Bodies.

    @property
    def time(self) -> float:
        """Simulated seconds since the start."""

    def step(self, seconds: float) -> None:
        """Run physics.

        Args:
            seconds: a positive multiple of `step_size`, to 1 ns.

        Raises:
            UsageError: the time is no positive multiple of `step_size`.
        """

    @property
    def step_size(self) -> float:
        """Seconds of one step of physics."""

    def set_pose(self, name: str, pose: Pose) -> None:
        """Put a free thing, or the car, somewhere, at rest.

        Args:
            name: name of the thing; "vehicle" for the car.
            pose: pose in the world; of the car's base_link.

        Raises:
            UsageError: nothing free has that name.
        """

    def poses(self) -> Poses:
        """The poses of all free and scripted things and of the car's parts now."""

    def drive(self, command: Command) -> None:
        """Hold a command of the driver from now on.

        Args:
            command: steering, throttle and braking.

        Raises:
            UsageError: the engine has no car.
        """

    def vehicle_state(self) -> VehicleState:
        """How the car moves now.

        Raises:
            UsageError: the engine has no car.
        """

    def touched_things(self) -> frozenset[str]:
        """Names of the free and counted things that the car has touched since the start (or the last `reset`)."""

    def reset(self) -> None:
        """Put everything back to the start: time 0, all things and the car in place and at rest."""

    # Light.

    def render(
        self, lens: Lens, scene_states: Sequence[SceneState], rays_per_pixel: int = 1
    ) -> npt.NDArray[np.float32]:
        """Linear RGB radiance (H, W, 3) that falls on the sensor, averaged over the exposure.

        Args:
            lens: the lens; it sets the size of the image too.
            scene_states: instants spread evenly over the exposure, one without motion blur.
            rays_per_pixel: n^2 with whole n, rays on an n x n grid in each pixel at (i + 1/2) / n. They are dealt to
                the instants in turn, so that blur costs no more rays; where there are more instants than rays, each
                instant gets one. Every instant counts the same.

        Returns:
            float32 (H, W, 3), 1 is full scale. The same bytes for the same arguments, engine, variant and machine.

        Raises:
            UsageError: no instant, or a number of rays that is no square.
        """

    def labels(self, lens: Lens, scene_state: SceneState) -> Labels:
        """Classes, instances and depth through the pixels' centres.

        Args:
            lens: the lens; it sets the size of the image too.
            scene_state: where the camera and the bodies are.

        Returns:
            Classes uint8 (H, W), instances uint16 (H, W), depth float32 (H, W) in metres, as `Labels` has it.
        """

    def cast_rays(self, origins: npt.ArrayLike, directions: npt.ArrayLike, bodies: Poses | None = None) -> Hits:
        """What rays hit first.

        Args:
            origins: (N, 3), metres, world.
            directions: (N, 3), unit, world.
            bodies: as in `SceneState`; None for everything where it is now.

        Returns:
            Distance, thing and normal of each ray.

        Raises:
            UsageError: origins and directions differ in number, are not finite or not unit vectors.
        """

    def cast_timed_rays(
        self, origins: FloatArray, directions: FloatArray, times: FloatArray, motion: BodyMotion = STANDING
    ) -> Hits:
        """What rays hit first, each at its own time, while bodies move.

        Args:
            origins: float64 (N, 3), metres, world.
            directions: float64 (N, 3), unit, world.
            times: float64 (N,), or (N / S,) where S rays in a row share each; seconds on the clock of the motion's
                keyframes.
            motion: how bodies move.

        Returns:
            Distance, thing and face normal of each ray.

        Raises:
            UsageError: the motion names something that cannot move.
        """

    def close(self) -> None:
        """Release all resources. The engine cannot be used afterwards."""


@runtime_checkable
class EngineWithCars(Protocol):
    """An engine that moves the cars of a scene (`Scene.cars`), each by physics and by a driver of its own.

    Their parts are among the things of the engine's `scene`: NAME, and NAME/wheel_front_left and so on.
    """

    def car_states(self) -> Mapping[str, VehicleState]:
        """How the cars of the scene move now, by name; the car that carries the camera is none of them."""


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
