"""The light half of the default engine: what a camera, its labels and rays see, also when each ray has its own time."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import IntArray
from simjudge.core.errors import UsageError
from simjudge.core.numba_cache import njit
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.contract import Hits, Labels, Poses, SceneState
from simjudge.sim.engines.default.integrator import Integrator
from simjudge.sim.engines.default.open_cells import NO_CELLS, find_open_cells
from simjudge.sim.engines.default.packed import Floats, Integers, pack, world_vertices
from simjudge.sim.engines.default.tracer import (
    NumpyTracer,
    Rays,
    Tracer,
    View,
    grain,
    grain_shift,
    image_from_parts,
    pixel_order,
)
from simjudge.sim.engines.default.variant import choose_variant, describe_variant, load_mitsuba
from simjudge.sim.engines.ray_times import TimedExposure, place_rays
from simjudge.sim.scene.model import Scene, Thing
from simjudge.sim.sensors.camera.lens import Lens

_PART = 1 << 14  # Pixels whose rays a lens computes at once
_LENSES = 2  # Lenses whose rays are kept


class _LensRays(NamedTuple):
    """A lens's rays on the host, n x n a pixel, pixels in `pixel_order`."""

    direction: Floats  # float32 (N, 3), unit, optical frame
    grain: Floats  # float32 (N, 2)
    row: IntArray  # int64 (P,), the row of each pixel


class TimedLight:
    """A scene that is seen by rays with times of their own."""

    def __init__(self, tracer: Tracer, integrator: Integrator, place: Callable[[Poses], None]) -> None:
        self._tracer, self._integrator, self._place = tracer, integrator, place
        self._kept: OrderedDict[tuple[Lens, int], _LensRays] = OrderedDict()

    def render(self, lens: Lens, exposure: TimedExposure, n: int) -> npt.NDArray[np.float32]:
        """Linear RGB radiance (H, W, 3): float32 (H, W, 3); n: rays along each side of a pixel."""
        rays, view = self._rays_of(lens, n), _timed_view(lens, exposure, n)
        times = exposure.ray_times(lens.size, n * n).reshape(-1, n * n)[pixel_order(lens.size)].ravel()

        def light(chosen: Any) -> Floats:
            placed = self._placed(exposure, times[chosen], rays.direction[chosen])
            return self._integrator.radiance(
                Rays(placed.direction, self._tracer.given(rays.grain[chosen]), placed.origin), view, block
            )

        # The rays of a pixel stay together where all see the same scene.
        block = n * n if len(exposure.bodies) == 1 else 1
        total = np.empty((len(times) // block, 3), np.float32)
        for chosen, wavefronts in self._by_part(exposure, times, block):
            total[chosen] = np.concatenate(self._tracer.follow(light, wavefronts))
        mean = total.reshape(-1, n * n // block, 3).mean(1, dtype=np.float32)
        return image_from_parts(lens.size, [mean])

    def things_and_depth(self, lens: Lens, exposure: TimedExposure) -> tuple[IntArray, npt.NDArray[np.float32]]:
        """Thing (-1: nothing) and depth (inf), (H, W), through the pixels' centres, in the middle of each row's."""
        rays, view = self._rays_of(lens, 1), _timed_view(lens, exposure, 1)
        times = exposure.label_times(rays.row, lens.size[1])

        def trace(chosen: Any) -> tuple[Any, Any]:
            placed = self._placed(exposure, times[chosen], rays.direction[chosen])
            return self._integrator.things_and_distance(placed, view)

        thing, distance = np.empty(len(times), np.int32), np.empty(len(times), np.float32)
        for chosen, wavefronts in self._by_part(exposure, times, 1):
            found = self._tracer.follow(trace, wavefronts)
            thing[chosen] = np.concatenate([part[0] for part in found])
            distance[chosen] = np.concatenate([part[1] for part in found])
        depth = distance
        if not lens.omnidirectional:
            with np.errstate(invalid="ignore"):
                depth = np.where(thing < 0, np.float32(np.inf), distance * rays.direction[:, 2])
        return image_from_parts(lens.size, [thing]), image_from_parts(lens.size, [depth])

    def _placed(self, exposure: TimedExposure, times: Any, directions: Floats) -> Rays:
        """Rays in the world at their times, without grain."""
        origins, turned = place_rays(exposure.camera, times, directions)
        return Rays(self._tracer.given(turned), None, self._tracer.given(origins))

    def _by_part(self, exposure: TimedExposure, times: Any, block: int) -> Iterator[tuple[Any, list[Any]]]:
        """Put the bodies where they are in each part of the exposure, and yield the part's rays."""
        size = max(self._tracer.wavefront // block, 1) * block
        if len(exposure.bodies) == 1:
            self._place(exposure.bodies[0])
            yield slice(None), [slice(k, k + size) for k in range(0, len(times), size)]
            return
        part = exposure.parts(times)
        order, ends = np.argsort(part, kind="stable"), np.cumsum(np.bincount(part, minlength=len(exposure.bodies)))
        for number, bodies in enumerate(exposure.bodies):
            chosen = order[0 if number == 0 else ends[number - 1] : ends[number]]
            if len(chosen):
                self._place(bodies)
                yield chosen, [chosen[k : k + size] for k in range(0, len(chosen), size)]

    def _rays_of(self, lens: Lens, n: int) -> _LensRays:
        key = (lens, n)
        if key not in self._kept:
            while len(self._kept) >= _LENSES:
                self._kept.popitem(last=False)
            self._kept[key] = _lens_rays(lens, n)
        return self._kept[key]


def _lens_rays(lens: Lens, n: int) -> _LensRays:
    order = pixel_order(lens.size)
    pixels = np.stack([order % lens.size[0], order // lens.size[0]], 1)
    within = (np.arange(n) + 0.5) / n - 0.5
    grid = np.stack(np.meshgrid(within, within), -1).reshape(-1, 2)
    parts = [pixels[begin : begin + _PART] for begin in range(0, len(pixels), _PART)]
    directions = [lens.rays_at(part[:, None] + grid).reshape(-1, 3).astype(np.float32) for part in parts]
    return _LensRays(np.concatenate(directions), np.concatenate([grain(part, n) for part in parts]), pixels[:, 1])


def _timed_view(lens: Lens, exposure: TimedExposure, n: int) -> View:
    spread = 2 / (lens.focal[0] + lens.focal[1]) / n
    at = exposure.camera
    first = Pose(tuple(at.position[0, 0].tolist()), tuple(at.orientation[0, 0].tolist()))
    return View(first.rotation_matrix(), np.array(first.position), spread, grain_shift(first))


_UNIT = 1e-3  # A unit vector's length may be off by this much
_WORTH_JUDGING = 1 << 23
"""Rays, since something has moved that seldom does, after which it is found where lamps are surely in sight.

By then about as much time would have been saved as finding it takes: whatever comes, little is lost.
"""
_BUNDLES = 12  # Sets of rays that are kept


class Light:
    """A scene that can be seen.

    Attributes:
        names: everything that rays can hit: the scene's things, then the extra ones, in their order.
        variant: what it runs on, for people.
    """

    _integrator_kind = Integrator

    def __init__(self, scene: Scene, extra_things: Sequence[Thing] = ()) -> None:
        """Prepare a scene, with extra things in it (the car's parts)."""
        things = (*scene.things, *extra_things)
        self.names = tuple(thing.name for thing in things)
        self._known = frozenset(self.names)
        # To the tracer every part of one surface is a thing.
        parts = [(index, part) for index, thing in enumerate(things) for part in thing.parts()]
        self._things = tuple(part for _, part in parts)
        self._thing_of_part = np.array([*(index for index, _ in parts), -1], np.int64)
        packed = pack(scene, self._things)
        # The row behind the last, index -1, is for rays that hit nothing.
        self._class_id, self._instance = (
            np.append(packed.class_id, np.uint8(scene.background_class)),
            np.append(packed.instance, np.uint16(0)),
        )
        self._at = [thing.pose for thing in self._things]
        self._rotations = np.array([pose.rotation_matrix() for pose in self._at]).reshape(-1, 3, 3)
        self._positions = np.array([pose.position for pose in self._at]).reshape(-1, 3)
        moving = [index >= len(scene.things) or part.motion in {"scripted", "driven"} for index, part in parts]
        self._tracer = make_tracer(self._things, packed.first_face, moving)
        self._stands = [
            not moves and part.surface.refractive_index is None for moves, (_, part) in zip(moving, parts, strict=True)
        ]
        self._packed_lamps = packed.lamps[: packed.lamp_count]
        self._lamps, self._rays_since_move, self._judged = self._packed_lamps[:, :4], 0, False
        self._integrator = self._integrator_kind(self._tracer, packed)
        self._tracer.move({}, self._rotations, self._positions)
        self._integrator.set_rotations(self._rotations)
        self._timed = TimedLight(self._tracer, self._integrator, self._place)
        self._known_labels: tuple[tuple[Lens, SceneState], Labels] | None = None
        self._rays: dict[tuple[Lens, int, tuple[int, ...]], list[Rays]] = {}
        self.variant = describe_variant(choose_variant())

    def render(
        self, lens: Lens, scene_states: Sequence[SceneState], rays_per_pixel: int = 1
    ) -> npt.NDArray[np.float32]:
        """Linear RGB radiance (H, W, 3), averaged over the instants; see `simjudge.sim.engines.contract.Engine`."""
        n = _side(rays_per_pixel)
        if not scene_states:
            raise UsageError("an exposure needs one instant or more")
        if n == 1 and len(scene_states) == 1 and not (self._integrator.has_glass or lens.omnidirectional):
            return self._render_with_labels(lens, scene_states[0])
        light = self._integrator.radiance
        total = np.zeros((lens.size[1], lens.size[0], 3), np.float32)
        for number, scene_state in enumerate(scene_states):
            self._place(scene_state.bodies)
            self._count_rays(lens.size[0] * lens.size[1] * n * n // len(scene_states))
            view = _view(lens, scene_state.camera, n)
            dealt = _dealt(n * n, len(scene_states), number)
            rays = self._rays_of(lens, n, dealt)
            total += _image(lens, rays, self._tracer.follow(partial(light, view=view, block=len(dealt)), rays))
        return total if len(scene_states) == 1 else total / np.float32(len(scene_states))

    def labels(self, lens: Lens, scene_state: SceneState) -> Labels:
        """Classes, instances and depth through the pixels' centres; see `simjudge.sim.engines.contract.Engine`."""
        if self._known_labels is not None and self._known_labels[0] == (lens, scene_state):
            return self._known_labels[1]
        self._place(scene_state.bodies)
        view = _view(lens, scene_state.camera, 1)
        trace = self._integrator.things_and_distance if lens.omnidirectional else self._integrator.things_and_depth
        rays = self._rays_of(lens, 1, (0,))
        parts = self._tracer.follow(partial(trace, view=view), rays)
        return self._labels(*(_image(lens, rays, [part[k] for part in parts]) for k in (0, 1)))

    def _render_with_labels(self, lens: Lens, scene_state: SceneState) -> npt.NDArray[np.float32]:
        """What `render` gives of one instant with one ray a pixel. The same rays see the labels, which are kept."""
        self._place(scene_state.bodies)
        self._count_rays(lens.size[0] * lens.size[1])
        work = partial(self._integrator.radiance_and_things, view=_view(lens, scene_state.camera, 1))
        rays = self._rays_of(lens, 1, (0,))
        parts = self._tracer.follow(work, rays)
        radiance, thing, depth = (_image(lens, rays, [part[k] for part in parts]) for k in range(3))
        self._known_labels = (lens, scene_state), self._labels(thing, depth)
        return radiance

    def _labels(self, thing: IntArray, depth: Floats) -> Labels:
        """Labels of images of things (-1: none) and depths."""
        class_id, instance = np.empty(thing.shape, np.uint8), np.empty(thing.shape, np.uint16)
        _look_up(thing, self._class_id, self._instance, class_id, instance)
        return Labels(class_id, instance, depth)

    def render_timed(self, lens: Lens, exposure: TimedExposure, rays_per_pixel: int) -> npt.NDArray[np.float32]:
        """Linear RGB radiance (H, W, 3), each ray at its own time; see `ray_times.EngineWithRayTimes`."""
        return self._timed.render(lens, exposure, _side(rays_per_pixel))

    def labels_timed(self, lens: Lens, exposure: TimedExposure) -> Labels:
        """Classes, instances and depth, each row at its own time; see `ray_times.EngineWithRayTimes`."""
        return self._labels(*self._timed.things_and_depth(lens, exposure))

    def cast_rays(self, origins: npt.ArrayLike, directions: npt.ArrayLike, bodies: Poses | None = None) -> Hits:
        """What rays hit first, bodies not named being at rest; see `simjudge.sim.engines.contract.Engine`."""
        origins, directions = np.asarray(origins, np.float64), np.asarray(directions, np.float64)
        if origins.ndim != 2 or origins.shape != directions.shape or origins.shape[1] != 3:
            raise UsageError(f"origins {origins.shape} and directions {directions.shape}: (N, 3) each is needed")
        if not (np.isfinite(origins).all() and np.isfinite(directions).all()):
            raise UsageError("rays need finite numbers")
        if np.any(np.abs(np.linalg.norm(directions, axis=1) - 1) > _UNIT):
            raise UsageError("directions of rays must be unit vectors")
        self._place(bodies or {})
        if not len(origins):
            return Hits(np.zeros(0), np.zeros(0, np.int64), np.zeros((0, 3)))
        distance, thing, normal = self._integrator.first(origins.astype(np.float32), directions.astype(np.float32))
        hit = thing >= 0
        return Hits(
            np.where(hit, distance, np.inf).astype(np.float64),
            self._thing_of_part[thing],
            np.where(hit[:, None], normal, np.nan).astype(np.float64),
        )

    def close(self) -> None:
        """Give back what it holds."""
        self._rays.clear()
        tracer = self._tracer
        del self._tracer, self._integrator, self._timed
        tracer.close()

    def _place(self, bodies: Poses) -> None:
        """Put everything where `bodies` has it, and whatever it does not name where the scene has it."""
        unknown = [name for name in bodies if name not in self._known]
        if unknown:
            raise UsageError(f"body {unknown[0]!r}: nothing in the scene has that name")
        moved: dict[int, Floats] = {}
        for index, thing in enumerate(self._things):
            pose = bodies.get(thing.name, thing.pose)
            if pose is not self._at[index] and pose != self._at[index]:
                self._at[index] = pose
                self._rotations[index], self._positions[index] = pose.rotation_matrix(), pose.position
                moved[index] = world_vertices(thing, pose)
        if moved:
            self._tracer.move(moved, self._rotations, self._positions)
            self._integrator.set_rotations(self._rotations)
        if any(self._stands[index] for index in moved):
            self._rays_since_move, self._judged = 0, False
            self._forget_sight()

    def _count_rays(self, rays: int) -> None:
        """Take note of rays to come. Find where lamps are surely in sight, once things have stood for long."""
        if self._rays_since_move > _WORTH_JUDGING and not self._judged:
            self._judged = True
            self._judge_sight()
        self._rays_since_move += rays

    def _forget_sight(self) -> None:
        """Something that stood has moved: what is known of lamps in sight is no longer true."""
        self._integrator.set_open_cells(NO_CELLS)

    def _judge_sight(self) -> None:
        """Find where lamps are surely in sight."""
        if len(self._lamps) and self._tracer.knows_open_ways:
            standing = [
                world_vertices(thing, at)[thing.mesh.faces]
                for thing, at, stands in zip(self._things, self._at, self._stands, strict=True)
                if stands
            ]
            corners = np.concatenate([np.zeros((0, 3, 3)), *standing])
            self._integrator.set_open_cells(find_open_cells(corners, self._lamps.astype(np.float64)))

    def _rays_of(self, lens: Lens, n: int, chosen: tuple[int, ...]) -> list[Rays]:
        """The lens's rays, the chosen of n x n a pixel, pixels in `pixel_order`, in wavefronts."""
        key = (lens, n, chosen)
        if key not in self._rays:
            while len(self._rays) >= _BUNDLES:
                self._rays.pop(next(iter(self._rays)))
            order = pixel_order(lens.size)
            pixels = np.stack([order % lens.size[0], order // lens.size[0]], 1)
            count = max(self._tracer.wavefront // len(chosen), 1)
            parts = (pixels[k : k + count] for k in range(0, len(pixels), count))
            rays = [self._wavefront(lens, part, n, chosen) for part in parts]
            self._rays[key] = [rays[0]._replace(places=self._tracer.places(order))] if len(rays) == 1 else rays
        return self._rays[key]

    def _wavefront(self, lens: Lens, pixels: npt.NDArray[np.int64], n: int, chosen: tuple[int, ...]) -> Rays:
        within = (np.arange(n) + 0.5) / n - 0.5
        grid = np.stack(np.meshgrid(within, within), -1).reshape(-1, 2)[list(chosen)]
        # In parts: lens and grain are computed in float64, with many intermediate results.
        directions, grains = [], []
        for begin in range(0, len(pixels), _PART):
            part = pixels[begin : begin + _PART]
            directions.append(lens.rays_at(part[:, None] + grid).reshape(-1, 3).astype(np.float32))
            grains.append(grain(part, n).reshape(len(part), n * n, 2)[:, list(chosen)].reshape(-1, 2))
        return Rays(self._tracer.given(np.concatenate(directions)), self._tracer.given(np.concatenate(grains)))


def _image(lens: Lens, rays: Sequence[Rays], parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """An image (H, W, ...) from what wavefronts have seen: one alone puts it in its places at once."""
    if rays[0].places is None:
        return image_from_parts(lens.size, parts)
    return parts[0].reshape(lens.size[1], lens.size[0], *parts[0].shape[1:])


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _look_up(
    thing: IntArray,
    class_ids: npt.NDArray[np.uint8],
    instances: npt.NDArray[np.uint16],
    class_id: npt.NDArray[np.uint8],
    instance: npt.NDArray[np.uint16],
) -> None:
    """Write class and instance (H, W) of things (H, W), by tables whose last row is for -1."""
    for y in range(thing.shape[0]):
        for x in range(thing.shape[1]):
            class_id[y, x], instance[y, x] = class_ids[thing[y, x]], instances[thing[y, x]]


def _dealt(rays: int, scene_states: int, number: int) -> tuple[int, ...]:
    """Which of a pixel's rays fall to an instant: spread over time (Cook, Porter and Carpenter, 1984)."""
    if scene_states <= rays:
        return tuple(range(number, rays, scene_states))
    return (number % rays,)


def _side(rays_per_pixel: int) -> int:
    """Rays along each side of a pixel."""
    n = math.isqrt(max(rays_per_pixel, 0))
    if n < 1 or n * n != rays_per_pixel:
        raise UsageError(f"{rays_per_pixel} rays per pixel: 1, 4, 9, 16 or another square is needed")
    return n


def _view(lens: Lens, camera: Pose, n: int) -> View:
    spread = 2 / (lens.focal[0] + lens.focal[1]) / n
    return View(camera.rotation_matrix(), np.array(camera.position), spread, grain_shift(camera))


def make_tracer(things: Sequence[Thing], first_face: Integers, moving: Sequence[bool]) -> Tracer:
    """The tracer that can run here, with things where the scene has them: Mitsuba's tracer (first_face: int32 (T,))."""
    vertices = [world_vertices(thing, thing.pose) for thing in things]
    meshes = [thing.mesh for thing in things]
    clear = [thing.surface.refractive_index is not None for thing in things]
    if choose_variant() == "numpy":
        return NumpyTracer(meshes, vertices, moving, clear)
    load_mitsuba()
    from simjudge.sim.engines.default.mitsuba_tracer import MitsubaTracer, Part  # noqa: PLC0415 - needs its variant set

    parts = [Part(k, mesh.vertices, at, mesh.faces) for k, (mesh, at) in enumerate(zip(meshes, vertices, strict=True))]
    return MitsubaTracer(parts, first_face, moving, clear)
