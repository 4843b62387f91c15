"""The rays of a camera, where they start and where they hit."""

from __future__ import annotations

from typing import Any, NamedTuple

from simjudge.core.arrays import FloatArray
from simjudge.sim.engines.default.tracer import Hit


class View(NamedTuple):
    """From where a camera looks.

    Attributes:
        rotation: (3, 3), camera to world.
        origin: (3,), world, metres.
        spread: angle between neighbouring rays, radians.
        grain_shift: two numbers in 0..1 that shift the grain.
    """

    rotation: FloatArray
    origin: FloatArray
    spread: float
    grain_shift: tuple[float, float]


class Rays(NamedTuple):
    """A wavefront of a lens's rays, on the device.

    Attributes:
        direction: unit vectors in the camera's frame; in the world where the rays have origins of their own.
        grain: two numbers in 0..1 for each ray: where in its lobe a surface mirrors it.
        origin: world, metres; None: all begin where the view has the camera.
        places: each pixel's place in the image, row by row; None: what is seen stays in the rays' order.
    """

    direction: Any
    grain: Any
    origin: Any = None
    places: Any = None


class Spot(NamedTuple):
    """Where rays hit, and all that shading needs to know there, in the world.

    `off` is the point, off the surface; `emitted` is None where nothing of the scene shines. `hit` is what was hit, and
    `front` the mask of those that were hit from outside.
    """

    valid: Any
    point: Any
    off: Any
    normal: Any
    facet: Any
    view: Any
    base: Any
    metal: Any
    f0: Any
    alpha: Any
    roughness: Any
    row: Any
    mean_left: Any
    mean_lost: Any
    emitted: Any
    hit: Hit
    front: Any
