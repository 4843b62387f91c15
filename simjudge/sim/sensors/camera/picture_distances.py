"""How far away what recorded pictures show is, so that a camera's filters before the exposure can act on them.

Distances come of depth pictures (16 bits, whole millimetres along the optical axis, 0 where nothing is known: taken as
infinitely far), or one is assumed for all that is seen. Pictures hold display values: they are decoded as sRGB first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import UsageError
from simjudge.core.images import ImageError
from simjudge.sim.sensors.camera.camera import Camera
from simjudge.sim.sensors.camera.chain import FrameStep, Seen, apply_steps, encodes, frame_seed
from simjudge.sim.sensors.camera.filters import AnyImage
from simjudge.sim.sensors.camera.isp import linear_light, srgb
from simjudge.sim.sensors.camera.lens import Lens

_BEFORE = 3  # Sets the seeds apart from those of the chain


def ray_lengths(lens: Lens, depth: npt.NDArray[np.floating[Any]]) -> FloatArray:
    """Metres along each pixel's ray (H, W) to what it sees, inf for nothing; `depth` as `Labels` has it."""
    if lens.omnidirectional:
        return depth.astype(np.float64)
    along = lens.rays()[:, :, 2]
    with np.errstate(invalid="ignore", divide="ignore"):
        lengths = depth / along
    return np.where(np.isfinite(lengths), lengths, np.inf)


@dataclass(frozen=True)
class PictureDistances:
    """Distances to what pictures show."""

    lens: Lens
    assumed: float | None = None  # metres to everything
    files: tuple[Path, ...] = ()  # depth picture of each frame; () where one distance is assumed

    def of(self, index: int) -> FloatArray:
        """Metres along each pixel's ray, (H, W), of a frame."""
        width, height = self.lens.size
        if self.assumed is not None:
            return np.full((height, width), self.assumed)
        path = self.files[index]
        depth = cv2.imdecode(np.fromfile(path, np.uint8), cv2.IMREAD_UNCHANGED)
        if depth is None or depth.dtype != np.uint16 or depth.shape != (height, width):
            raise ImageError(f"{path}: is no picture of depth: {width}x{height} pixels of 16 bits are needed")
        return ray_lengths(self.lens, np.where(depth > 0, depth / 1000, np.inf))


def depth_files(folder: Path, names: Sequence[str]) -> tuple[Path, ...]:
    """The depth picture of each frame: the PNG of its name in a folder or those below."""
    found = {path.stem: path for path in sorted(folder.rglob("*.png"))}
    missing = [name for name in names if Path(name).stem not in found]
    if missing:
        raise UsageError(
            f"--depth {folder}: has no PNG for frame {missing[0]} ({len(missing)} of {len(names)} lack one)"
        )
    return tuple(found[Path(name).stem] for name in names)


def before_exposure(camera: Camera, distances: PictureDistances, names: Sequence[str], seed: int) -> FrameStep:
    """The camera's filters before the exposure, for pictures that exist."""
    rays, decoded = camera.lens.rays(), encodes(camera.steps)
    height, width = rays.shape[:2]

    def filtered(index: int, image: AnyImage) -> AnyImage:
        if image.shape[:2] != (height, width):
            size = f"{image.shape[1]}x{image.shape[0]}"
            raise UsageError(
                f"frame {names[index]} is {size}, camera {camera.name} {width}x{height}; write one of that size"
            )
        seen = Seen(distances.of(index), rays, camera.exposure_time)
        light = image if decoded else linear_light(image)
        light = apply_steps(light, camera.before_exposure, (*frame_seed(seed, names[index]), _BEFORE), seen)
        return light if decoded else srgb(light)

    return FrameStep("before_exposure", filtered)
