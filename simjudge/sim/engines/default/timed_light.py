"""What a camera sees when each of its rays has a time of its own: see `simjudge.sim.engines.ray_times`."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import IntArray
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.contract import Poses
from simjudge.sim.engines.default.camera_rays import Rays, View
from simjudge.sim.engines.default.grain import grain, grain_shift
from simjudge.sim.engines.default.integrator import Integrator
from simjudge.sim.engines.default.packed import Floats
from simjudge.sim.engines.default.pixel_order import image_from_parts, pixel_order
from simjudge.sim.engines.default.tracer import Tracer
from simjudge.sim.engines.ray_times import TimedExposure, place_rays
from simjudge.sim.sensors.camera.lens import Lens

_PART = 1 << 14
"""Pixels whose rays a lens computes at once."""
_LENSES = 2
"""Lenses whose rays are kept."""


class _LensRays(NamedTuple):
    """A lens's rays on the host, n x n a pixel, pixels in `pixel_order`.

    Attributes:
        direction: float32 (N, 3), unit, optical frame.
        grain: float32 (N, 2).
        row: int64 (P,), the row of each pixel.
    """

    direction: Floats
    grain: Floats
    row: IntArray


class TimedLight:
    """A scene that is seen by rays with times of their own."""

    def __init__(self, tracer: Tracer, integrator: Integrator, place: Callable[[Poses], None]) -> None:
        """Take the parts of a scene that can be seen."""
        self._tracer, self._integrator, self._place = tracer, integrator, place
        self._kept: OrderedDict[tuple[Lens, int], _LensRays] = OrderedDict()

    def render(self, lens: Lens, exposure: TimedExposure, n: int) -> npt.NDArray[np.float32]:
        """Linear RGB radiance (H, W, 3).

        Args:
            n: rays along each side of a pixel.

        Returns:
            Float32 (H, W, 3).
        """
        rays, view = self._rays_of(lens, n), _view(lens, exposure, n)
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
        """Thing (-1: nothing is hit) and depth (inf) through the pixels' centres, in the middle of each row's exposure.

        Returns:
            Things (H, W); depth along the optical axis, metres, float32 (H, W); along the ray where the lens sees all
            around.
        """
        rays, view = self._rays_of(lens, 1), _view(lens, exposure, 1)
        times = exposure.label_times(rays.row, lens.size[1])

        def trace(chosen: Any) -> tuple[Any, Any]:
            placed = self._placed(exposure, times[chosen], rays.direction[chosen])
            return self._integrator.things_and_distance(placed, view)

        thing, distance = np.empty(len(times), np.int32), np.empty(len(times), np.float32)
        for chosen, wavefronts in self._by_part(exposure, times, 1):
            found = self._tracer.follow(trace, wavefronts)
            thing[chosen] = np.concatenate([each[0] for each in found])
            distance[chosen] = np.concatenate([each[1] for each in found])
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
        """Put the bodies where they are in each part of the exposure, and yield the part's rays.

        Yields:
            The indices of the part's blocks of rays, and wavefronts of indices of rays.
        """
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


def _view(lens: Lens, exposure: TimedExposure, n: int) -> View:
    spread = 2 / (lens.focal[0] + lens.focal[1]) / n
    at = exposure.camera
    first = Pose(tuple(at.position[0, 0].tolist()), tuple(at.orientation[0, 0].tolist()))
    return View(first.rotation_matrix(), np.array(first.position), spread, grain_shift(first))
