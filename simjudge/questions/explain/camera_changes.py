"""By what B's camera and light must change before B is rendered again, so that they are A's."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simjudge.sim.scene.scene_changes import LightFactors
from simjudge.sim.sensors.camera.camera import Camera
from simjudge.sim.sensors.camera.lens import Lens

LEAST_SHIFT_PX = 0.25
"""Pixels by which two lenses must differ somewhere to count as two."""
_GRID = 9


@dataclass(frozen=True)
class Shutter:
    """When light falls on a sensor: fields of `Camera` of the same names."""

    exposure_time: float
    exposure_samples: int = 8
    motion_blur: str = "moments"
    line_time: float = 0.0

    @classmethod
    def of(cls, camera: Camera) -> Shutter:
        """The shutter of a camera."""
        return cls(camera.exposure_time, camera.exposure_samples, camera.motion_blur, camera.line_time)


@dataclass(frozen=True)
class CameraChanges:
    """What of A's camera and light B is rendered with; None where it stays as it is.

    Attributes:
        lens: A's lens, for pictures of A's size.
        size: width and height of A's pictures, where they differ from B's.
    """

    lens: Lens | None = None
    size: tuple[int, int] | None = None
    shutter: Shutter | None = None
    light: LightFactors | None = None

    def causes(self) -> list[str]:
        """Names of the causes that these changes undo."""
        held = {"lens": self.lens, "resolution": self.size, "motion": self.shutter, "lighting": self.light}
        return [name for name, value in held.items() if value is not None]

    def camera(self, camera: Camera, causes: Collection[str] | None = None) -> Camera:
        """B's camera with some causes undone.

        Args:
            causes: their names; None for all.
        """
        wanted = self.causes() if causes is None else causes
        lens = self.lens if self.lens is not None and "lens" in wanted else camera.lens
        # Pictures of another shape have no lens of B's shape.
        size = camera.lens.size if same_shape(lens.size, camera.lens.size) else lens.size
        if self.size is not None and "resolution" in wanted:
            size = self.size
        changed = replace(camera, lens=scaled_lens(lens, size))
        if self.shutter is not None and "motion" in wanted:
            changed = replace(changed, **vars(self.shutter))
        return changed

    def light_factors(self, causes: Collection[str] | None = None) -> LightFactors:
        """The scene's light with some causes undone.

        Args:
            causes: their names; None for all.
        """
        used = self.light is not None and (causes is None or "lighting" in causes)
        return self.light if used and self.light is not None else LightFactors()

    def parameters(self, name: str) -> dict[str, Any]:
        """What undoes a cause, for tables and files."""
        if name == "lens" and self.lens is not None:
            terms = {f"k{number}": round(term, 6) for number, term in enumerate(self.lens.coefficients, 1) if term}
            return {"model": self.lens.model, "focal_length": round(self.lens.focal[0], 3), **terms}
        if name == "resolution" and self.size is not None:
            return {"width": self.size[0], "height": self.size[1]}
        if name == "motion" and self.shutter is not None:
            rolling = {"line_time": self.shutter.line_time} if self.shutter.line_time else {}
            return {"exposure_time": self.shutter.exposure_time, **rolling}
        return {} if self.light is None else dict(self.light.changed())


def scaled_lens(lens: Lens, size: tuple[int, int]) -> Lens:
    """The same lens for pictures of another size.

    Args:
        size: width and height of the scaled pictures, pixels. The outer edges coincide.
    """
    if size == lens.size:
        return lens
    across, down = (new / old for new, old in zip(size, lens.size, strict=True))
    focal = (lens.focal[0] * across, lens.focal[1] * down)
    centre = ((lens.centre[0] + 0.5) * across - 0.5, (lens.centre[1] + 0.5) * down - 0.5)
    return replace(lens, size=size, focal=focal, centre=centre)


def same_shape(a: tuple[int, int], b: tuple[int, int]) -> bool:
    """Whether pictures of two sizes can show the same part of a scene.

    Args:
        a, b: width and height, pixels.
    """
    return abs(a[0] * b[1] / (a[1] * b[0]) - 1) <= 1 / min(*a, *b)


def lens_shift(a: Lens, b: Lens) -> float:
    """The most by which two lenses show the same ray elsewhere.

    Returns:
        Pixels of A's pictures; infinite where only one of them sees a ray.
    """
    width, height = a.size
    grid = np.stack(np.meshgrid(np.linspace(0, width - 1, _GRID), np.linspace(0, height - 1, _GRID)), -1).reshape(-1, 2)
    if not same_shape(a.size, b.size):
        return math.inf
    there = a.project(scaled_lens(b, a.size).rays_at(grid))
    distance = np.linalg.norm(there - grid, axis=1)
    return float(np.where(np.isfinite(distance), distance, np.inf).max())
