"""Engine `mujoco`: bodies by MuJoCo, pictures by MuJoCo's own renderer, labels by rays at the same triangles.

Its light is OpenGL's: matt surfaces in their colours and textures, lamps by distance and angle, ambient light, things
that shine. Lamps throw no shadows, the sun's are MuJoCo's shadow map. Gloss, glass, bumps, fog and light between
surfaces are left out.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import mujoco
import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import UsageError
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.contract import STANDING, BodyMotion, Hits, Labels, Poses, SceneState
from simjudge.sim.engines.default.bodies import MujocoBodiesEngine
from simjudge.sim.engines.mujoco.gl_pictures import GlPictures, Pinhole
from simjudge.sim.engines.mujoco.visual_model import build_visual_model
from simjudge.sim.engines.pinhole_pictures import (
    average_blocks,
    look_up,
    lookup_for,
    rays_of_a_scene_state,
    side_of,
)
from simjudge.sim.engines.still_engine import ThingRays, labels_of_rays
from simjudge.sim.scene.forms import as_lidars_meet_it
from simjudge.sim.scene.model import Scene
from simjudge.sim.sensors.camera.lens import Lens
from simjudge.sim.vehicle.vehicle import Vehicle


class MujocoEngine(MujocoBodiesEngine):
    """A scene, perhaps with a car in it; see `simjudge.sim.engines.contract.Engine`.

    Args:
        vehicle: the car's figures; None: a scene without a car.
        start: of the car's base_link; None: the start of the scene's course, or the origin.
    """

    name = "mujoco"

    def __init__(self, scene: Scene, vehicle: Vehicle | None = None, start: Pose | None = None) -> None:
        """Make the bodies; OpenGL comes when a picture is taken."""
        super().__init__(scene, vehicle, start)
        self._home = {thing.name: thing.pose for thing in self.things}
        self._rays = ThingRays(self.things)
        self._timed = ThingRays([as_lidars_meet_it(thing) for thing in self.things])
        self._pictures: GlPictures | None = None

    @staticmethod
    def limit_threads(count: int) -> None:
        """Let Mesa's renderer on the processor use few cores; it counts when OpenGL is opened."""
        os.environ["LP_NUM_THREADS"] = str(count)

    @property
    def variant(self) -> str:
        """What it runs on, for people."""
        return f"MuJoCo {mujoco.__version__}, its own renderer"

    def render(
        self, lens: Lens, scene_states: Sequence[SceneState], rays_per_pixel: int = 1
    ) -> npt.NDArray[np.float32]:
        """Linear RGB radiance (H, W, 3) that falls on the sensor, averaged over the exposure: see `Engine.render`."""
        if not scene_states:
            raise UsageError("a picture needs an instant")
        side = side_of(rays_of_a_scene_state(rays_per_pixel, len(scene_states)))
        total = np.zeros((lens.size[1], lens.size[0], 3))
        for state in scene_states:
            total += self._picture(lens, state, side)
        return (total / len(scene_states)).astype(np.float32)

    def labels(self, lens: Lens, scene_state: SceneState) -> Labels:
        """Classes, instances and depth through the pixels' centres: see `Engine.labels`."""
        poses = self._poses_by_name(scene_state.bodies)
        return labels_of_rays(
            lambda origins, ahead: self._rays.cast(origins, ahead, poses),
            lens,
            scene_state.camera,
            self.things,
            self.scene.background_class,
        )

    def cast_rays(self, origins: npt.ArrayLike, directions: npt.ArrayLike, bodies: Poses | None = None) -> Hits:
        """What rays hit first: see `Engine.cast_rays`."""
        self._moved()
        return self._rays.cast(origins, directions, self._poses_by_name(self.poses() if bodies is None else bodies))

    def cast_timed_rays(
        self, origins: FloatArray, directions: FloatArray, times: FloatArray, motion: BodyMotion = STANDING
    ) -> Hits:
        """What rays hit first, each at its own time: see `Engine.cast_timed_rays`."""
        self._moved()
        return self._timed.cast_timed(origins, directions, times, motion)

    def close(self) -> None:
        """Give back what it holds."""
        if self._pictures is not None:
            self._pictures.close()
        self._rays.close()
        self._timed.close()
        self._bodies = self._pictures = None

    def _poses_by_name(self, bodies: Poses) -> dict[str, Pose]:
        self._moved()
        unknown = sorted(set(bodies) - set(self._home))
        if unknown:
            raise UsageError(f"body {unknown[0]!r}: nothing in the scene has that name")
        return self._home | dict(bodies)

    def _picture(self, lens: Lens, state: SceneState, side: int) -> npt.NDArray[np.float32]:
        """One instant, side x side rays a pixel."""
        poses = self._poses_by_name(state.bodies)
        across, down = lens.focal
        if lens.model == "pinhole" and abs(across / down - 1) < 1e-9:
            width, height = lens.size
            (x, y) = lens.centre
            fine = Pinhole(
                (width * side, height * side), across * side, ((x + 0.5) * side - 0.5, (y + 0.5) * side - 0.5)
            )
            return average_blocks(self._filled(fine, state.camera, poses), side)
        found = lookup_for(self.name, lens, side)
        width, height = found.size
        straight = Pinhole(found.size, width / 2 / found.tangent, ((width - 1) / 2, (height - 1) / 2))
        return look_up(self._filled(straight, state.camera, poses), found, lens, side)

    def _filled(self, pinhole: Pinhole, camera: Pose, poses: Poses) -> npt.NDArray[np.float32]:
        """A picture with the sky, or the background, where nothing is."""
        if self._pictures is None:
            visual = build_visual_model(self.scene.name, self.things, lamps=bool(self.scene.lights))
            self._pictures = GlPictures(visual, self.scene)
        drawn = self._pictures.draw(pinhole, camera, poses)
        radiance, empty = drawn.radiance, ~drawn.covered
        sky = self.scene.sky
        if sky is None:
            radiance[empty] = self.scene.background
        elif empty.any():
            rows, columns = np.nonzero(empty)
            straight = np.stack([columns - pinhole.centre[0], rows - pinhole.centre[1]], 1) / pinhole.focal
            rays = np.column_stack([straight, np.ones(len(rows))])
            world = rays / np.linalg.norm(rays, axis=1, keepdims=True) @ camera.rotation_matrix().T
            radiance[empty] = sky_radiance(sky.image, world, sky.yaw)
        return radiance


def sky_radiance(image: npt.NDArray[np.float32], directions: FloatArray, yaw: float) -> npt.NDArray[np.float32]:
    """The sky's nearest pixel in each direction (N, 3), world; see `simjudge.sim.scene.model.Sky`."""
    height, width = image.shape[:2]
    left = np.arctan2(directions[:, 1], directions[:, 0]) - yaw
    down = np.arccos(np.clip(directions[:, 2], -1, 1)) / np.pi
    columns = np.floor((0.5 - left / (2 * np.pi)) * width).astype(int) % width
    rows = np.clip(np.floor(down * height).astype(int), 0, height - 1)
    found: npt.NDArray[np.float32] = image[rows, columns]
    return found
