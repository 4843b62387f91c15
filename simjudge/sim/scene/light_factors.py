"""A scene with some of its light brighter or darker: lamps, sun, sky and ambient light, each by a factor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

import numpy as np

from simjudge.sim.scene.model import Fog, PointLight, Scene, Sky, Sun


@dataclass(frozen=True)
class LightFactors:
    """By what a scene's light is multiplied; everything in a picture is linear in these.

    Attributes:
        sky: of the sky, of what is seen where nothing is, and of the fog's own light.
        ambient: of the light that comes equally from everywhere.
    """

    lamps: float = 1.0
    sun: float = 1.0
    sky: float = 1.0
    ambient: float = 1.0

    @property
    def neutral(self) -> bool:
        """Whether nothing changes."""
        return self == LightFactors()

    def changed(self) -> Mapping[str, float]:
        """The factors that are not 1, by name."""
        return {name: value for name, value in asdict(self).items() if value != 1.0}

    def apply(self, scene: Scene) -> Scene:
        """The scene in this light."""
        if self.neutral:
            return scene
        lamps = tuple(
            PointLight(lamp.position, _times(lamp.intensity, self.lamps), lamp.range) for lamp in scene.lights
        )
        sun, sky, fog = scene.sun, scene.sky, scene.fog
        return replace(
            scene,
            lights=lamps if self.lamps else (),
            sun=None if sun is None or not self.sun else Sun(sun.direction, _times(sun.irradiance, self.sun)),
            sky=None if sky is None else _sky(sky, self.sky),
            fog=None if fog is None else Fog(fog.density, _times(fog.radiance, self.sky), fog.ceiling),
            background=_times(scene.background, self.sky),
            ambient=_times(scene.ambient, self.ambient),
        )


def light_groups(scene: Scene) -> list[str]:
    """Names of the factors that change anything in a scene."""
    has = {
        "lamps": bool(scene.lights),
        "sun": scene.sun is not None,
        "sky": scene.sky is not None or any(scene.background) or scene.fog is not None,
        "ambient": any(scene.ambient),
    }
    return [name for name, there in has.items() if there]


def _times(colour: tuple[float, float, float], factor: float) -> tuple[float, float, float]:
    red, green, blue = (value * factor for value in colour)
    return red, green, blue


def _sky(sky: Sky, factor: float) -> Sky:
    gradient = None if sky.gradient is None else (_times(sky.gradient[0], factor), _times(sky.gradient[1], factor))
    return Sky(np.asarray(sky.image * np.float32(factor), np.float32), sky.yaw, gradient)
