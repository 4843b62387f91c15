"""A base for engines that only show (a subclass writes the pictures), and rays against the triangles of bodies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import UsageError
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.contract import STANDING, BodyMotion, Hits, Labels, NotOfferedError, Poses, SceneState
from simjudge.sim.engines.ray_search import CastResting, TimedRays, grow, grow_forest, search
from simjudge.sim.scene.model import Mesh, Scene, Thing
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
        """The pose in the world of each of `names` when some `bodies` are not where the scene has them."""
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


_NEAREST = True  # What `search` is asked for
_BOX_MARGIN = 1e-9  # Metres around a body's box: rounding of its corners must not hide the body


class MeshRays:
    """Casts rays at bodies whose poses change and whose meshes stay."""

    def __init__(self, meshes: Sequence[Mesh]) -> None:
        self._meshes = tuple(meshes)
        self._forest = grow_forest(self._meshes)
        normals = [_outward_normals(mesh) for mesh in self._meshes]
        self._normals = np.concatenate([np.zeros((0, 3)), *normals])

    def cast(self, origins: FloatArray, directions: FloatArray, poses: Sequence[Pose]) -> Hits:
        """What rays hit first, with the bodies at `poses`; see `simjudge.sim.engines.contract.Engine.cast_rays`."""
        count = len(origins)
        rotations = np.array([pose.rotation_matrix() for pose in poses]).reshape(-1, 3, 3)
        positions = np.array([pose.position for pose in poses], np.float64).reshape(-1, 3)
        bounds = np.array([_box(mesh, pose) for mesh, pose in zip(self._meshes, poses, strict=True)]).reshape(-1, 2, 3)
        top = grow(bounds[:, 0] - _BOX_MARGIN, bounds[:, 1] + _BOX_MARGIN)
        distance, thing, row = np.full(count, np.inf), np.zeros(count, np.int64), np.zeros(count, np.int64)
        out = (distance, thing, row, np.zeros(count), np.zeros(count))
        search(
            np.ascontiguousarray(origins.T),
            np.ascontiguousarray(directions.T),
            np.full(count, np.inf),
            np.ones(count, np.bool_),
            _NEAREST,
            tuple(top),
            self._forest.below,
            rotations,
            positions,
            out,
        )
        hit = np.isfinite(distance)
        normal = np.full((count, 3), np.nan)
        own = self._normals[self._forest.faces[row[hit]]]
        normal[hit] = np.einsum("nij,nj->ni", rotations[thing[hit]], own)
        return Hits(distance, np.where(hit, thing, -1), normal)


class ThingRays:
    """Casts rays at a scene's things, all at one instant or each at its own time. Trees grow when they are needed."""

    def __init__(self, things: Sequence[Thing]) -> None:
        self._things = tuple(things)
        self._mesh_rays: MeshRays | None = None
        self._timed_rays: TimedRays | None = None

    def cast(self, origins: npt.ArrayLike, directions: npt.ArrayLike, poses: Mapping[str, Pose]) -> Hits:
        """What rays hit first; see `simjudge.sim.engines.contract.Engine.cast_rays`."""
        start, ahead = (np.asarray(values, np.float64).reshape(-1, 3) for values in (origins, directions))
        if len(start) != len(ahead) or not (np.isfinite(start).all() and np.isfinite(ahead).all()):
            raise UsageError("rays: as many finite origins as directions are needed")
        if not np.allclose(np.linalg.norm(ahead, axis=1), 1, atol=1e-5):
            raise UsageError("rays: directions must be unit vectors")
        if self._mesh_rays is None:
            self._mesh_rays = MeshRays([thing.mesh for thing in self._things])
        return self._mesh_rays.cast(start, ahead, [poses[thing.name] for thing in self._things])

    def cast_timed(
        self, origins: FloatArray, directions: FloatArray, times: FloatArray, motion: BodyMotion = STANDING
    ) -> Hits:
        """What rays hit first, each at its own time: see `simjudge.sim.engines.contract.Engine.cast_timed_rays`."""
        if self._timed_rays is None:
            self._timed_rays = TimedRays(self._things, still_rays(self._things))
        return self._timed_rays.cast(origins, directions, times, motion)

    def close(self) -> None:
        """Release the search trees; they grow again when they are needed."""
        self._mesh_rays = self._timed_rays = None


def still_rays(things: Sequence[Thing]) -> CastResting:
    """A search among the things that never move."""
    still = np.array([index for index, thing in enumerate(things) if thing.motion == "static"], np.int64)
    rays, poses = MeshRays([things[index].mesh for index in still]), [things[index].pose for index in still]
    number = np.append(still, -1)

    def cast(origins: FloatArray, directions: FloatArray) -> Hits:
        hits = rays.cast(origins, directions, poses)
        return Hits(hits.distance, number[hits.thing], hits.normal)

    return cast


def _box(mesh: Mesh, pose: Pose) -> tuple[FloatArray, FloatArray]:
    vertices = pose.to_world(mesh.vertices)
    return vertices.min(0), vertices.max(0)


def _outward_normals(mesh: Mesh) -> FloatArray:
    """Unit normals of the faces, which run counter-clockwise seen from outside."""
    a, b, c = (mesh.vertices[mesh.faces[:, corner]] for corner in range(3))
    normals = np.cross(b - a, c - a)
    unit: FloatArray = normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    return unit


def labels_of_rays(
    cast: Callable[[FloatArray, FloatArray], Hits], lens: Lens, camera: Pose, things: Sequence[Thing], background: int
) -> Labels:
    """Classes, instances and depth through the pixels' centres: see `Engine.labels`. Labels, (H, W) each."""
    rays = lens.rays()
    ahead = rays.reshape(-1, 3) @ camera.rotation_matrix().T
    hits = cast(np.broadcast_to(np.asarray(camera.position, np.float64), ahead.shape), ahead)
    # The last row is for -1: nothing is hit.
    classes = np.array([*(thing.class_id for thing in things), background], np.uint8)
    instances = np.array([*(thing.instance for thing in things), 0], np.uint16)
    along = np.ones(len(ahead)) if lens.omnidirectional else rays[..., 2].ravel()
    depth = np.full(len(ahead), np.inf)
    np.multiply(hits.distance, along, out=depth, where=np.isfinite(hits.distance))
    shape = rays.shape[:2]
    return Labels(
        classes[hits.thing].reshape(shape),
        instances[hits.thing].reshape(shape),
        depth.reshape(shape).astype(np.float32),
    )
