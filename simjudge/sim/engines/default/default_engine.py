"""The default engine: MuJoCo moves the bodies, Mitsuba traces the rays. Light is made ready when something is seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import mujoco
import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.numba_cache import njit
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.contract import STANDING, BodyMotion, Hits, Labels, Poses, SceneState
from simjudge.sim.engines.default.bodies import MujocoBodiesEngine
from simjudge.sim.engines.default.light import Light, make_tracer
from simjudge.sim.engines.default.other_variants import pictures_by_other_variants
from simjudge.sim.engines.default.packed import Floats, world_vertices
from simjudge.sim.engines.default.variant import choose_variant, describe_variant
from simjudge.sim.engines.default.variant import limit_threads as limit_mitsuba_threads
from simjudge.sim.engines.ray_search import TimedRays
from simjudge.sim.engines.ray_times import TimedExposure
from simjudge.sim.scene.forms import as_lidars_meet_it
from simjudge.sim.scene.model import Scene, Thing
from simjudge.sim.sensors.camera.lens import Lens
from simjudge.sim.vehicle.vehicle import Vehicle


class DefaultEngine(MujocoBodiesEngine):
    """A scene, perhaps with a car in it; see `simjudge.sim.engines.contract.Engine`.

    Args:
        vehicle: the car's figures; None: a scene without a car.
        start: of the car's base_link; None: the start of the scene's course, or the origin.
    """

    name = "default"
    limit_threads = staticmethod(limit_mitsuba_threads)

    def __init__(self, scene: Scene, vehicle: Vehicle | None = None, start: Pose | None = None) -> None:
        """Make the bodies; light comes when something is seen."""
        super().__init__(scene, vehicle, start)
        self._light: Light | None = None
        self._resting: RestingRays | None = None
        self._timed: TimedRays | None = None

    @property
    def variant(self) -> str:
        """What it runs on, for people."""
        return f"MuJoCo {mujoco.__version__}, {describe_variant(choose_variant())}"

    def render(
        self, lens: Lens, scene_states: Sequence[SceneState], rays_per_pixel: int = 1
    ) -> npt.NDArray[np.float32]:
        """Linear RGB radiance (H, W, 3) that falls on the sensor, averaged over the exposure: see `Engine.render`."""
        return self._seen().render(lens, scene_states, rays_per_pixel)

    def labels(self, lens: Lens, scene_state: SceneState) -> Labels:
        """Classes, instances and depth through the pixels' centres: see `Engine.labels`."""
        return self._seen().labels(lens, scene_state)

    def render_timed(self, lens: Lens, exposure: TimedExposure, rays_per_pixel: int = 1) -> npt.NDArray[np.float32]:
        """Linear RGB radiance (H, W, 3), each ray at its own time: see `EngineWithRayTimes.render_timed`."""
        return self._seen().render_timed(lens, exposure, rays_per_pixel)

    def labels_timed(self, lens: Lens, exposure: TimedExposure) -> Labels:
        """Classes, instances and depth, each row at its own time: see `EngineWithRayTimes.labels_timed`."""
        return self._seen().labels_timed(lens, exposure)

    def twin_pictures(
        self, lens: Lens, scene_state: SceneState, rays_per_pixel: int
    ) -> Iterator[tuple[str, npt.NDArray[np.float32]]]:
        """What else shows the same picture, by name: this engine by other variants, without a car."""
        return pictures_by_other_variants(self.name, self.scene, lens, scene_state, rays_per_pixel)

    def cast_rays(self, origins: npt.ArrayLike, directions: npt.ArrayLike, bodies: Poses | None = None) -> Hits:
        """What rays hit first: see `Engine.cast_rays`."""
        return self._seen().cast_rays(origins, directions, self.poses() if bodies is None else bodies)

    def cast_timed_rays(
        self, origins: FloatArray, directions: FloatArray, times: FloatArray, motion: BodyMotion = STANDING
    ) -> Hits:
        """What rays hit first, each at its own time: see `Engine.cast_timed_rays`."""
        self._moved()
        if self._timed is None:
            met = [as_lidars_meet_it(thing) for thing in self.things]
            self._resting = RestingRays(met)
            self._timed = TimedRays(met, self._resting.cast, self._resting.place)
        return self._timed.cast(origins, directions, times, motion)

    def close(self) -> None:
        """Give back what it holds."""
        for held in (self._light, self._resting):
            if held is not None:
                held.close()
        self._bodies = self._light = self._resting = self._timed = None

    def _seen(self) -> Light:
        self._moved()
        if self._light is None:
            self._light = self._make_light()
        return self._light

    def _make_light(self) -> Light:
        return Light(self.scene, self._car)


_GRAZING = 1e-6  # A ray's cosine with a face's normal below which the face's plane says little of where it is hit


class RestingRays:
    """The first hits of rays among the things that rest."""

    def __init__(self, things: Sequence[Thing]) -> None:
        numbers = [index for index, thing in enumerate(things) if len(thing.mesh.faces)]
        self._things = [things[index] for index in numbers]
        self._row = {number: row for row, number in enumerate(numbers)}
        self._rotations = np.array([thing.pose.rotation_matrix() for thing in self._things]).reshape(-1, 3, 3)
        self._positions = np.array([thing.pose.position for thing in self._things]).reshape(-1, 3)
        counts = [len(thing.mesh.faces) for thing in self._things]
        planes = [_planes(thing) for thing in self._things]
        self._faces = (
            np.repeat(np.arange(len(counts)), counts),
            np.repeat(np.array(numbers, np.int64), counts),
            np.concatenate([np.zeros((0, 4)), *planes]),
        )
        first_face = np.cumsum([0, *counts])[:-1].astype(np.int32)
        movable = [thing.motion != "static" for thing in self._things]
        self._tracer = make_tracer(self._things, first_face, movable) if self._things else None
        if self._tracer is not None:
            self._tracer.move({}, self._rotations, self._positions)

    def place(self, numbers: Sequence[int], poses: Sequence[Pose | None]) -> None:
        """Put things where they rest, or take them away (poses of each; None: rays do not meet it from now on)."""
        moved: dict[int, Floats] = {}
        for number, pose in zip(numbers, poses, strict=True):
            row = self._row.get(number)
            if row is None:
                continue
            thing = self._things[row]
            if pose is None:  # it shrinks to a point, which no ray meets
                self._rotations[row], self._positions[row] = 0.0, 0.0
                moved[row] = np.zeros(thing.mesh.vertices.shape, np.float32)
            else:
                self._rotations[row], self._positions[row] = pose.rotation_matrix(), pose.position
                moved[row] = world_vertices(thing, pose)
        if moved and self._tracer is not None:
            self._tracer.move(moved, self._rotations, self._positions)

    def cast(self, origins: FloatArray, directions: FloatArray) -> Hits:
        """What rays hit first (origins, directions (N, 3), world, metres and unit)."""
        hits = Hits(np.empty(len(origins)), np.empty(len(origins), np.int64), np.empty((len(origins), 3)))
        if self._tracer is None or not len(origins):
            for values, nothing in zip(hits, (np.inf, -1, np.nan), strict=True):
                values.fill(nothing)
            return hits
        t = self._tracer
        start, direction = t.given(origins.astype(np.float32)), t.given(directions.astype(np.float32))
        found = t.hit(start, direction, t.everywhere, together=False)
        distance, face = t.host(found.distance, t.select(found.valid, found.face, -1))
        _refine(origins, directions, distance, face, self._faces, self._rotations, self._positions, *hits)
        return hits

    def close(self) -> None:
        """Give back what it holds."""
        if self._tracer is not None:
            self._tracer.close()


def _planes(thing: Thing) -> FloatArray:
    """Of each of a thing's faces (F, 4) the unit normal, outward, and the plane's offset from the thing's origin."""
    a, b, c = (thing.mesh.vertices[thing.mesh.faces[:, corner]] for corner in range(3))
    normals = np.cross(b - a, c - a)
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    return np.column_stack([normals, np.einsum("ni,ni->n", normals, a)])


@njit(cache=True, nogil=True)
def _refine(origins, directions, traced, face, faces, rotations, positions, distance, thing, normal):  # type: ignore[no-untyped-def]
    """Write distances to the planes of the faces that were hit, in float64, the things and the faces' normals.

    The tracer has directions in float32: on a slanting surface their last bit is worth more than 1e-5 m.
    """
    row_of_face, thing_of_face, planes = faces
    for n in range(len(origins)):
        f = face[n]
        if f < 0:
            distance[n], thing[n] = np.inf, -1
            normal[n, 0] = normal[n, 1] = normal[n, 2] = np.nan
            continue
        row = row_of_face[f]
        thing[n] = thing_of_face[f]
        offset, along = planes[f, 3], 0.0
        for k in range(3):
            part = 0.0
            for j in range(3):
                part += rotations[row, k, j] * planes[f, j]
            normal[n, k] = part
            offset += part * (positions[row, k] - origins[n, k])
            along += part * directions[n, k]
        distance[n] = offset / along if abs(along) > _GRAZING else traced[n]
