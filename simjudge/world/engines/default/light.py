"""The light half of the default engine: what a camera, its labels and single rays see of a scene."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from simjudge.errors import UsageError
from simjudge.frames import FloatArray
from simjudge.poses import Pose
from simjudge.sensing.lens import Lens
from simjudge.world.engine import Hits, Labels, Moment, Poses
from simjudge.world.engines.default.packed import Floats, pack, world_vertices
from simjudge.world.engines.default.variant import choose_variant, described, load_mitsuba
from simjudge.world.scene.model import Scene, Thing

_BLOCK = 4
"""Pixels of a square block whose rays stand side by side: neighbours in a packet of rays go the same way."""
_WAVEFRONT = 1 << 22
"""Rays that are followed at once, at most; bounds memory."""
_LENSES = 4
"""Lenses whose rays are kept."""


class Light:
    """A scene that can be seen.

    Attributes:
        names: everything that rays can hit: the scene's things, then the extra ones, in their order.
        variant: what it runs on, for people.
    """

    def __init__(self, scene: Scene, extra_things: Sequence[Thing] = ()) -> None:
        """Prepare a scene, with extra things in it (the car's parts).

        Raises:
            SimjudgeError: Mitsuba is not installed.
        """
        self._things = (*scene.things, *extra_things)
        self.names = tuple(thing.name for thing in self._things)
        self._index = {name: index for index, name in enumerate(self.names)}
        self._packed = pack(scene, self._things)
        self._at: list[Pose] = [thing.pose for thing in self._things]
        self._turns = np.stack([pose.rotation() for pose in self._at]) if self._at else np.zeros((0, 3, 3))
        self.variant = described(choose_variant())
        vertices = [world_vertices(thing, thing.pose) for thing in self._things]
        load_mitsuba()
        from simjudge.world.engines.default import integrator  # noqa: PLC0415 - needs the variant set

        self._integrator = integrator
        self._tracer = integrator.Tracer(self._packed, vertices, [thing.mesh.faces for thing in self._things])
        self._tracer.move({}, self._turns)
        self._rays: dict[tuple[Lens, int], Any] = {}

    def expose(self, lens: Lens, moments: Sequence[Moment], rays_per_pixel: int = 1) -> npt.NDArray[np.float32]:
        """Linear RGB radiance (H, W, 3), averaged over the moments; see `simjudge.world.engine.Engine`.

        Raises:
            UsageError: no moment, a number of rays that is no square, or a body that nobody knows.
        """
        n = math.isqrt(max(rays_per_pixel, 0))
        if n < 1 or n * n != rays_per_pixel:
            raise UsageError(f"{rays_per_pixel} rays per pixel: 1, 4, 9, 16 or another square is needed")
        if not moments:
            raise UsageError("an exposure needs one moment or more")
        width, height = lens.size
        total = np.zeros((height, width, 3), np.float32)
        for moment in moments:
            self._place(moment.bodies)
            total += self._picture(lens, moment.camera, n)
        return total if len(moments) == 1 else total / np.float32(len(moments))

    def labels(self, lens: Lens, moment: Moment) -> Labels:
        """Classes, instances and depth through the pixels' centres; see `simjudge.world.engine.Engine`."""
        self._place(moment.bodies)
        parts = [self._tracer.things_and_depth(rays, *_camera(moment.camera)) for rays in self._rays_of(lens, 1)]
        order = _order(lens.size)
        thing = np.empty(lens.size[0] * lens.size[1], np.int64)
        depth = np.empty(thing.shape, np.float32)
        thing[order] = np.concatenate([part[0] for part in parts])
        depth[order] = np.concatenate([part[1] for part in parts])
        shape = (lens.size[1], lens.size[0])
        # The row behind the last, index -1, is for rays that hit nothing.
        classes, instances = np.append(self._packed.class_id, 0), np.append(self._packed.instance, 0)
        return Labels(
            classes[thing].astype(np.uint8).reshape(shape),
            instances[thing].astype(np.uint16).reshape(shape),
            depth.reshape(shape),
        )

    def cast(self, origins: npt.ArrayLike, directions: npt.ArrayLike, bodies: Poses | None = None) -> Hits:
        """What rays hit first, bodies not named where the scene has them; see `simjudge.world.engine.Engine`.

        Raises:
            UsageError: origins and directions are not (N, 3) each.
        """
        start, way = np.asarray(origins, np.float64), np.asarray(directions, np.float64)
        if start.ndim != 2 or start.shape != way.shape or start.shape[1] != 3:
            raise UsageError(f"origins {start.shape} and directions {way.shape}: (N, 3) each is needed")
        self._place(bodies or {})
        if not len(start):
            return Hits(np.zeros(0), np.zeros(0, np.int64), np.zeros((0, 3)))
        first = self._tracer.first(start.T.astype(np.float32), way.T.astype(np.float32))
        hit = first.thing >= 0
        distance = np.where(hit, first.distance, np.inf).astype(np.float64)
        return Hits(distance, first.thing, np.where(hit[:, None], first.normal, np.nan).astype(np.float64))

    def close(self) -> None:
        """Give back what it holds."""
        self._rays.clear()
        del self._tracer

    def _place(self, bodies: Poses) -> None:
        """Put everything where `bodies` has it, and whatever it does not name where the scene has it."""
        unknown = [name for name in bodies if name not in self._index]
        if unknown:
            raise UsageError(f"body {unknown[0]!r}: nothing in the scene has that name")
        moved: dict[int, Floats] = {}
        for index, thing in enumerate(self._things):
            pose = bodies.get(thing.name, thing.pose)
            if pose != self._at[index]:
                self._at[index] = pose
                self._turns[index] = pose.rotation()
                moved[index] = world_vertices(thing, pose)
        if moved:
            self._tracer.move(moved, self._turns)

    def _picture(self, lens: Lens, camera: Pose, n: int) -> npt.NDArray[np.float32]:
        rotation, origin = _camera(camera)
        parts = [self._tracer.radiance(rays, rotation, origin, n * n) for rays in self._rays_of(lens, n)]
        out = np.empty((lens.size[0] * lens.size[1], 3), np.float32)
        out[_order(lens.size)] = np.concatenate(parts)
        return out.reshape(lens.size[1], lens.size[0], 3)

    def _rays_of(self, lens: Lens, n: int) -> Any:
        """The lens's rays, n x n a pixel, pixels in `_order`, in wavefronts."""
        if (lens, n) not in self._rays:
            while len(self._rays) >= _LENSES:
                self._rays.pop(next(iter(self._rays)))
            order = _order(lens.size)
            pixels = np.stack([order % lens.size[0], order // lens.size[0]], 1)
            within = (np.arange(n) + 0.5) / n - 0.5
            grid = np.stack(np.meshgrid(within, within), -1).reshape(-1, 2)
            count = max(_WAVEFRONT // (n * n), 1)
            self._rays[lens, n] = [
                self._integrator.rays_on_device(
                    lens.rays_at(pixels[k : k + count, None] + grid).reshape(-1, 3).astype(np.float32)
                )
                for k in range(0, len(pixels), count)
            ]
        return self._rays[lens, n]


def _camera(camera: Pose) -> tuple[FloatArray, FloatArray]:
    return camera.rotation(), np.array(camera.position)


def _order(size: tuple[int, int]) -> npt.NDArray[np.int64]:
    """Indices of all pixels, row by row of square blocks, so that rays that go the same way stand together."""
    width, height = size
    y, x = np.divmod(np.arange(width * height), width)
    key = ((y // _BLOCK) * (width // _BLOCK + 1) + x // _BLOCK) * _BLOCK * _BLOCK + (y % _BLOCK) * _BLOCK + x % _BLOCK
    return np.argsort(key, kind="stable")
