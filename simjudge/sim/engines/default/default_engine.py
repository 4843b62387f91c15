"""The default engine: MuJoCo moves the bodies, Mitsuba traces the rays. Light is made ready when something is seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import mujoco
import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.contract import STANDING, BodyEngine, BodyMotion, Hits, Labels, Poses, SceneState
from simjudge.sim.engines.default.bodies import Bodies
from simjudge.sim.engines.default.variant import choose_variant, describe_variant
from simjudge.sim.engines.default.variant import limit_threads as limit_mitsuba_threads
from simjudge.sim.engines.ray_times import TimedExposure
from simjudge.sim.scene.model import Scene
from simjudge.sim.scene.surfaces import as_lidars_meet_it
from simjudge.sim.sensors.camera.lens import Lens
from simjudge.sim.vehicle.car_appearance import car_things
from simjudge.sim.vehicle.vehicle import Vehicle

if TYPE_CHECKING:
    from simjudge.sim.engines.default.light import Light
    from simjudge.sim.engines.default.resting_rays import RestingRays
    from simjudge.sim.engines.ray_search import TimedRays


class DefaultEngine(BodyEngine[Bodies]):
    """A scene, perhaps with a car in it; see `simjudge.sim.engines.contract.Engine`.

    Args:
        vehicle: the car's figures; None: a scene without a car.
        start: of the car's base_link; None: the start of the scene's course, or the origin.
    """

    name = "default"
    limit_threads = staticmethod(limit_mitsuba_threads)

    def __init__(self, scene: Scene, vehicle: Vehicle | None = None, start: Pose | None = None) -> None:
        """Make the bodies; light comes when something is seen."""
        self.scene = scene
        self._bodies = Bodies(scene, vehicle, start)
        self._car = car_things(vehicle, self._bodies.start) if vehicle is not None else ()
        self.things = (*scene.things, *self._car)
        self.names = tuple(thing.name for thing in self.things)
        self._light: Light | None = None
        self._resting: RestingRays | None = None
        self._timed: TimedRays | None = None

    @property
    def variant(self) -> str:
        """What it runs on, for people."""
        return f"MuJoCo {mujoco.__version__}, {describe_variant(choose_variant())}"

    @property
    def step_size(self) -> float:
        """Seconds of one step of physics."""
        return self._moved().step_size

    def render(
        self, lens: Lens, scene_states: Sequence[SceneState], rays_per_pixel: int = 1
    ) -> npt.NDArray[np.float32]:
        """Linear RGB radiance (H, W, 3) that falls on the sensor, averaged over the exposure: see `Engine.render`."""
        return self._seen().render(lens, scene_states, rays_per_pixel)

    def labels(self, lens: Lens, scene_state: SceneState) -> Labels:
        """Classes, instances and depth through the pixels' centres: see `Engine.labels`."""
        return self._seen().labels(lens, scene_state)

    def render_timed(self, lens: Lens, exposure: TimedExposure, rays_per_pixel: int = 1) -> npt.NDArray[np.float32]:
        """Linear RGB radiance (H, W, 3), each ray at its own time: see `EngineWithRayTimes.render_timed`."""
        return self._seen().render_timed(lens, exposure, rays_per_pixel)

    def labels_timed(self, lens: Lens, exposure: TimedExposure) -> Labels:
        """Classes, instances and depth, each row at its own time: see `EngineWithRayTimes.labels_timed`."""
        return self._seen().labels_timed(lens, exposure)

    def cast_rays(self, origins: npt.ArrayLike, directions: npt.ArrayLike, bodies: Poses | None = None) -> Hits:
        """What rays hit first: see `Engine.cast_rays`."""
        return self._seen().cast_rays(origins, directions, self.poses() if bodies is None else bodies)

    def cast_timed_rays(
        self, origins: FloatArray, directions: FloatArray, times: FloatArray, motion: BodyMotion = STANDING
    ) -> Hits:
        """What rays hit first, each at its own time: see `Engine.cast_timed_rays`."""
        self._moved()
        if self._timed is None:
            from simjudge.sim.engines.default.resting_rays import RestingRays  # noqa: PLC0415 - as Light below
            from simjudge.sim.engines.ray_search import TimedRays  # noqa: PLC0415 - compiles its loops

            met = [as_lidars_meet_it(thing) for thing in self.things]
            self._resting = RestingRays(met)
            self._timed = TimedRays(met, self._resting.cast, self._resting.place)
        return self._timed.cast(origins, directions, times, motion)

    def close(self) -> None:
        """Give back what it holds."""
        for held in (self._light, self._resting):
            if held is not None:
                held.close()
        self._bodies = self._light = self._resting = self._timed = None

    def _seen(self) -> Light:
        self._moved()
        if self._light is None:
            self._light = self._make_light()
        return self._light

    def _make_light(self) -> Light:
        from simjudge.sim.engines.default.light import Light  # noqa: PLC0415 - Mitsuba, only where it is needed

        return Light(self.scene, self._car)
