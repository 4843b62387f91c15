"""Our lenses and exposures, taken with Chrono's cameras: which picture to ask for, and what becomes of it."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import UsageError
from simjudge.sim.engines.chrono import buffers
from simjudge.sim.engines.chrono.lenses import (
    DIRECT_LIMIT,
    Lookup,
    SensorRequest,
    direct_error,
    direct_request,
    field_for,
    lookup_for,
)
from simjudge.sim.engines.chrono.phys_camera import FULL, PhysCamera
from simjudge.sim.engines.chrono.probe import ProbeResult
from simjudge.sim.engines.chrono.versions import Sensor
from simjudge.sim.engines.chrono.views import FARTHEST, ChronoViews, Noisy, Physical
from simjudge.sim.engines.contract import Labels
from simjudge.sim.sensors.camera.camera import Camera, ChronoPhysical
from simjudge.sim.sensors.camera.lens import Lens

BRACKETS = (1.0, 1 / 16, 1 / 256)
"""Parts of the scene's light that a picture is taken in, the next one where the one before is full: bytes end at 1."""
DEEP_BRACKETS = (1 / 4, 1 / 64, 1 / 1024)
"""The same in 16 bits, where one picture does for a radiance up to 4: half a step is 3e-5."""
_FINE = {"camera": 1, "segmentation": 4, "depth": 4}
"""How much finer than our pixels a looked-up pinhole picture is, per ray of a pixel's side."""


class ChronoCameras:
    """Pictures of a stage through any of our lenses.

    Args:
        brackets: parts of the light that pictures are taken in; None: as many as bright parts need.
    """

    def __init__(self, stage: ChronoViews, probed: ProbeResult, brackets: tuple[float, ...] | None = None) -> None:
        """Nothing is planned before it is asked for."""
        self._stage, self._probed = stage, probed
        self._brackets = brackets or (DEEP_BRACKETS if probed.deep else BRACKETS)
        self._requests: dict[tuple[Lens, Sensor, int], SensorRequest | Lookup] = {}

    def radiance(self, lens: Lens, rays_per_pixel: int) -> npt.NDArray[np.float32]:
        """Linear RGB (H, W, 3) of the stage as it stands, n x n rays a pixel on a grid.

        Returns:
            Float32 (H, W, 3), linear, 1 is full scale; brighter values are kept.
        """
        side = side_of(rays_per_pixel)
        request = self._request(lens, "camera", side)
        if isinstance(request, SensorRequest):
            return buffers.average_blocks(self._bracketed(request), side)
        asked = SensorRequest(request.size, field_for(request.tangent, self._probed.factors["camera"]))
        return _looked_up(self._bracketed(asked), request, lens, side)

    def own(self, camera: Camera) -> npt.NDArray[np.float32]:
        """Linear RGB (H, W, 3) of the stage as it stands, with what the camera asks of Chrono's own ones.

        Chrono's noise belongs to the finished picture: it is asked for at its own size, n x n jittered rays a pixel,
        with the lamps at the camera's gain, and is clipped at full scale.

        Returns:
            Float32 (H, W, 3), linear, 1 is full scale.
        """
        if isinstance(camera.chrono, ChronoPhysical):
            if camera.lens.model != "pinhole" and "camera" not in self._probed.radial:
                raise UsageError(f"{camera.path}: lens: this PyChrono ignores radial lenses; take a pinhole one")
            settings = PhysCamera(**vars(camera.chrono))
            values = self._stage.values(Physical(settings, camera.lens, camera.supersampling))
            return np.asarray(values[..., :3] / np.float32(FULL), np.float32)
        if camera.chrono is None:
            raise UsageError(f"{camera.name}: it asks nothing of Chrono's own cameras")
        request = self._request(camera.lens, "camera", 1)
        if not isinstance(request, SensorRequest):
            raise UsageError(f"{camera.path}: chrono.noise: Chrono's camera has no such lens here; take a pinhole one")
        bytes_ = self._stage.noisy(Noisy(request, camera.supersampling, camera.chrono), camera.gain)
        return buffers.linear(bytes_) / np.float32(camera.gain)

    def labels(self, lens: Lens) -> Labels:
        """Classes, instances and depth of the stage as it stands, through the pixels' centres.

        Returns:
            Classes uint8 (H, W), instances uint16 (H, W), depth float32 (H, W) in metres along the optical axis.
        """
        request = self._request(lens, "segmentation", 1)
        if isinstance(request, SensorRequest):
            classes, instances = self._stage.labels(request)
        else:
            asked = SensorRequest(request.size, field_for(request.tangent, self._probed.factors["segmentation"]))
            found = self._stage.labels(asked)
            rows, columns = _nearest_pixels(request, lens)
            classes, instances = (image[rows, columns] for image in found)
        return Labels(_small(classes), instances, self._depth(lens))

    def _depth(self, lens: Lens) -> npt.NDArray[np.float32]:
        request, rays = self._request(lens, "depth", 1), lens.rays()
        if isinstance(request, SensorRequest):
            return buffers.axial_depth(self._stage.distances(request), rays, FARTHEST)
        asked = SensorRequest(request.size, field_for(request.tangent, self._probed.factors["depth"]))
        rows, columns = _nearest_pixels(request, lens)
        straight = _pinhole_rays(request)[rows, columns]
        return buffers.axial_depth(self._stage.distances(asked)[rows, columns], straight, FARTHEST)

    def _bracketed(self, asked: SensorRequest) -> npt.NDArray[np.float32]:
        """Linear light of a picture, taken again in less light where a channel is full."""
        first, *less = self._brackets
        light, full = self._lit(asked, first)
        image = light / np.float32(first)
        for part in less:
            if not full.any():
                break
            light, still = self._lit(asked, part)
            image[full] = light[full] / np.float32(part)
            full = full & still
        return image

    def _lit(self, asked: SensorRequest, part: float) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
        """A picture in a part of the scene's light, full scale 1, and where it is full."""
        if self._probed.deep:
            values = self._stage.deep(asked, part)
            return np.asarray(values / np.float32(FULL), np.float32), values >= FULL
        bytes_ = self._stage.colours(asked, part)
        return buffers.linear(bytes_), bytes_ >= buffers.SATURATED

    def _request(self, lens: Lens, sensor: Sensor, side: int) -> SensorRequest | Lookup:
        key = (lens, sensor, side)
        if key not in self._requests:
            self._requests[key] = self._plan(lens, sensor, side)
        return self._requests[key]

    def _plan(self, lens: Lens, sensor: Sensor, side: int) -> SensorRequest | Lookup:
        factor = self._probed.factors[sensor]
        usable = lens.model == "pinhole" or sensor in self._probed.radial
        asked = direct_request(lens, factor, oversample=side) if usable else None
        if asked is not None and direct_error(lens, factor) <= DIRECT_LIMIT:
            return asked
        return lookup_for(lens, _FINE[sensor] * side)


def side_of(rays_per_pixel: int) -> int:
    """The n of n x n rays a pixel."""
    side = math.isqrt(rays_per_pixel) if rays_per_pixel > 0 else 0
    if side < 1 or side * side != rays_per_pixel:
        raise UsageError(f"{rays_per_pixel} rays a pixel: a square number (1, 4, 9, ...) is needed")
    return side


def rays_of_a_scene_state(rays_per_pixel: int, scene_states: int) -> int:
    """Rays per pixel, a square, that each instant of an exposure gets so that blur costs about no more rays.

    Chrono can only be asked for whole centred grids, not for an instant's own part of one (`Engine.render`): k x k with
    k = n // ceil(sqrt(instants)), but 2 x 2 at least where n is 2 or more, since one ray through the pixels' centres,
    the same in all instants, would leave every edge jagged that does not move.

    Returns:
        Rays per pixel for one instant, a square number.
    """
    side = side_of(rays_per_pixel)
    part = side // math.ceil(math.sqrt(scene_states))
    return max(part, min(side, 2)) ** 2


def _small(classes: npt.NDArray[np.uint16]) -> npt.NDArray[np.uint8]:
    if classes.size and int(classes.max()) > 255:
        raise UsageError(f"class {int(classes.max())}: labels of an engine end at 255")
    return classes.astype(np.uint8)


def _nearest_pixels(lookup: Lookup, lens: Lens) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Rows and columns of the looked-up picture that our pixels' centres fall on."""
    found = np.rint(lookup.pixels(lens.rays())).astype(np.int64)
    width, height = lookup.size
    return np.clip(found[..., 1], 0, height - 1), np.clip(found[..., 0], 0, width - 1)


def _pinhole_rays(lookup: Lookup) -> FloatArray:
    width, height = lookup.size
    focal = width / 2 / lookup.tangent
    x, y = ((np.arange(side) - (side - 1) / 2) / focal for side in lookup.size)
    rays = np.stack([*np.meshgrid(x, y), np.ones((height, width))], -1)
    unit: FloatArray = rays / np.linalg.norm(rays, axis=-1, keepdims=True)
    return unit


def _looked_up(image: npt.NDArray[np.float32], lookup: Lookup, lens: Lens, side: int) -> npt.NDArray[np.float32]:
    """A pinhole picture seen through our lens: bilinear at n x n rays of each pixel, averaged."""
    from scipy.ndimage import map_coordinates

    width, height = lens.size
    offsets = (np.arange(side) + 0.5) / side - 0.5
    total = np.zeros((height, width, 3))
    grid = np.stack(np.meshgrid(np.arange(width, dtype=float), np.arange(height, dtype=float)), -1)
    for down in offsets:
        for across in offsets:
            found = lookup.pixels(lens.rays_at(grid + np.array([across, down])))
            where = [found[..., 1], found[..., 0]]
            for channel in range(3):
                total[..., channel] += map_coordinates(image[..., channel], where, order=1, mode="nearest")
    return (total / side**2).astype(np.float32)
