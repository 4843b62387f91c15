"""An engine for simjudge in NumPy: matte surfaces of one colour, lamps, a sun, ambient light, hard shadows.

It shows what an engine must do and no more: no textures, no gloss, no sky, no physics, no car. simjudge casts the rays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from simjudge.core.errors import UsageError
from simjudge.sim.engines.contract import Hits, Labels, Poses, SceneState
from simjudge.sim.engines.still_engine import StillEngine
from simjudge.sim.sensors.camera.lens import Lens

_LIFT = 1e-4
"""Metres by which shadow rays start above a surface, so that the surface does not shade itself."""


class MatteEngine(StillEngine):
    """A scene of matte surfaces; see `simjudge.sim.engines.contract.Engine`."""

    name = "matte"

    @property
    def variant(self) -> str:
        """The libraries that the engine runs on."""
        return f"NumPy {np.__version__}"

    def render(self, lens: Lens, scene_states: Sequence[SceneState], rays_per_pixel: int = 1) -> np.ndarray:
        """Linear RGB radiance (H, W, 3): the mean over all instants and over a grid of rays in each pixel."""
        side = math.isqrt(max(rays_per_pixel, 0))
        if not scene_states or side == 0 or side * side != rays_per_pixel:
            raise UsageError("a picture needs an instant, and 1, 4, 9 or another square number of rays per pixel")
        width, height = lens.size
        total = np.zeros((height * width, 3))
        for state in scene_states:
            for row in range(side):
                for column in range(side):
                    # (0, 0) is the centre of the upper left pixel, which begins half a pixel before it.
                    offset = (np.array([column, row]) + 0.5) / side - 0.5
                    total += self._radiance(lens, state, offset)
        mean = total / (len(scene_states) * rays_per_pixel)
        return mean.reshape(height, width, 3).astype(np.float32)

    def labels(self, lens: Lens, scene_state: SceneState) -> Labels:
        """What the rays through the pixels' centres hit first."""
        rays = lens.rays().reshape(-1, 3)
        hits = self._cast(lens, scene_state, np.zeros(2))
        classes = [*(thing.class_id for thing in self.things), self.scene.background_class]
        instances = [*(thing.instance for thing in self.things), 0]  # index -1, nothing hit, is the last one
        depth = hits.distance * (1.0 if lens.omnidirectional else rays[:, 2])
        width, height = lens.size
        return Labels(
            np.array(classes, np.uint8)[hits.thing].reshape(height, width),
            np.array(instances, np.uint16)[hits.thing].reshape(height, width),
            depth.astype(np.float32).reshape(height, width),
        )

    def _directions(self, lens: Lens, state: SceneState, offset: np.ndarray) -> np.ndarray:
        """Directions of one ray per pixel in the world (N, 3), `offset` pixels beside the centres."""
        width, height = lens.size
        pixels = np.stack(np.meshgrid(np.arange(width), np.arange(height)), -1) + offset
        return lens.rays_at(pixels).reshape(-1, 3) @ state.camera.rotation_matrix().T

    def _cast(self, lens: Lens, state: SceneState, offset: np.ndarray) -> Hits:
        rays = self._directions(lens, state, offset)
        return self.cast_rays(np.tile(state.camera.position, (len(rays), 1)), rays, state.bodies)

    def _radiance(self, lens: Lens, state: SceneState, offset: np.ndarray) -> np.ndarray:
        """Light that each ray brings back: colour / pi times the irradiance of all lamps, and colour times ambient."""
        rays = self._directions(lens, state, offset)
        hits = self._cast(lens, state, offset)
        seen = np.isfinite(hits.distance)
        light = np.tile(np.asarray(self.scene.background, float), (len(rays), 1))
        points = np.asarray(state.camera.position) + rays[seen] * hits.distance[seen, None]
        # The side of the surface that faces the camera, for sheets that are seen from behind.
        normals = hits.normal[seen] * -np.sign(np.einsum("ni,ni->n", hits.normal[seen], rays[seen]))[:, None]
        irradiance = np.zeros((len(points), 3))
        for lamp in self.scene.lights:
            towards = np.asarray(lamp.position) - points
            distance = np.linalg.norm(towards, axis=1, keepdims=True)
            within = distance <= lamp.range
            irradiance += self._falling(points, normals, towards / distance, distance[:, 0], state.bodies) * np.where(
                within, np.asarray(lamp.intensity) / distance**2, 0.0
            )
        if self.scene.sun is not None:
            towards = np.tile(self.scene.sun.direction, (len(points), 1))
            cosine = self._falling(points, normals, towards, np.full(len(points), np.inf), state.bodies)
            irradiance += cosine * np.asarray(self.scene.sun.irradiance)
        colours = np.array([thing.surface.colour for thing in self.things])[hits.thing[seen]]
        light[seen] = colours * (irradiance / math.pi + np.asarray(self.scene.ambient))
        return light

    def _falling(
        self, points: np.ndarray, normals: np.ndarray, towards: np.ndarray, distance: np.ndarray, bodies: Poses
    ) -> np.ndarray:
        """Cosine at which light falls on points (N, 1); 0 where something stands between."""
        cosine = np.einsum("ni,ni->n", normals, towards)
        blocked = self.cast_rays(points + normals * _LIFT, towards, bodies).distance < distance - 2 * _LIFT
        return np.where((cosine > 0) & ~blocked, cosine, 0.0)[:, None]
