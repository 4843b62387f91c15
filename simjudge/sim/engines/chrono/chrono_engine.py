"""The Chrono engine: PyChrono moves the bodies and takes the pictures. docs/guides/chrono.md says what is whose."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import UsageError
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.chrono.bodies import ChronoBodies
from simjudge.sim.engines.chrono.cameras import ChronoCameras, probe
from simjudge.sim.engines.chrono.modules import STEP, Modules, identify_release, load_modules, whole_steps
from simjudge.sim.engines.chrono.scenes import ChronoScene, plan_body, plan_scene
from simjudge.sim.engines.contract import STANDING, BodyEngine, BodyMotion, Hits, Labels, Poses, SceneState
from simjudge.sim.engines.pinhole_pictures import rays_of_a_scene_state
from simjudge.sim.engines.still_engine import ThingRays, labels_of_rays
from simjudge.sim.scene.ground import Ground
from simjudge.sim.scene.model import NO_CLASS, Scene, Thing
from simjudge.sim.sensors.camera.camera import Camera
from simjudge.sim.sensors.camera.lens import Lens
from simjudge.sim.sensors.lidar.lidar import LidarSpec
from simjudge.sim.vehicle.vehicle import Vehicle, car_things

_log = logging.getLogger(__name__)


class ChronoEngine(BodyEngine[ChronoBodies]):
    """A scene, perhaps with a car in it; see `simjudge.sim.engines.contract.Engine`.

    Args:
        vehicle: the car's figures; None: a scene without a car.
        start: of the car's base_link; None: the start of the scene's course, or the origin.
    """

    name = "chrono"

    def __init__(self, scene: Scene, vehicle: Vehicle | None = None, start: Pose | None = None) -> None:
        """Make the bodies; cameras come when something is seen."""
        self._modules = load_modules()
        self.release = identify_release(
            self._modules.core, self._modules.sensor, self._modules.vehicle, self._modules.version
        )
        self.scene = scene
        if start is None:
            start = Ground.of(scene.things).stand(scene.course.start() if scene.course is not None else Pose())
        plan = plan_scene(scene, self.release.age)
        self._bodies = ChronoBodies(self._modules, self.release, scene, plan, vehicle, start)
        looks = car_things(vehicle, start) if vehicle is not None else ()
        self.things: tuple[Thing, ...] = (*scene.things, *looks)
        self._plan = replace(plan, bodies=(*plan.bodies, *(plan_body(thing) for thing in looks)))
        self.names = tuple(thing.name for thing in self.things)
        self._rays = ThingRays(self.things)
        self._home = {thing.name: thing.pose for thing in self.things}
        self._stage: ChronoScene | None = None
        self._cameras: ChronoCameras | None = None
        self._watcher: Callable[[], None] | None = None

    @property
    def variant(self) -> str:
        """What it runs on, for people."""
        return describe_modules(self._modules)

    @property
    def step_size(self) -> float:
        """Seconds of one step of physics."""
        return STEP

    @property
    def modules(self) -> Modules:
        """PyChrono, for sensors that ride on the car (`other_sensors.py`)."""
        return self._modules

    @property
    def bodies(self) -> ChronoBodies:
        """The bodies in Chrono, for the same."""
        return self._moved()

    def step(self, seconds: float) -> None:
        """Let physics run for a positive multiple of `step_size`: see `Engine.step`."""
        if self._watcher is None:
            self._moved().step(seconds)
            return
        for _ in range(whole_steps(seconds)):
            self._moved().step(STEP)
            self._watcher()

    def watch(self, watcher: Callable[[], None]) -> None:
        """Call something after every single step of physics from now on, however many `step` is asked for."""
        self._watcher = watcher

    def render(
        self, lens: Lens, scene_states: Sequence[SceneState], rays_per_pixel: int = 1
    ) -> npt.NDArray[np.float32]:
        """Linear RGB radiance (H, W, 3) that falls on the sensor, averaged over the exposure: see `Engine.render`."""
        if not scene_states:
            raise UsageError("an exposure needs one instant at least")
        total = np.zeros((lens.size[1], lens.size[0], 3))
        rays = rays_of_a_scene_state(rays_per_pixel, len(scene_states))
        for scene_state in scene_states:
            total += self._seen(scene_state).radiance(lens, rays)
        return (total / len(scene_states)).astype(np.float32)

    def render_own(self, camera: Camera, scene_state: SceneState) -> npt.NDArray[np.float32]:
        """Linear RGB, float32 (H, W, 3), as the camera's file asks it of Chrono's own cameras (`Camera.chrono`)."""
        return self._seen(scene_state).own(camera)

    def labels(self, lens: Lens, scene_state: SceneState) -> Labels:
        """What `Engine.labels` promises; a PyChrono without cameras has them by single rays."""
        if not self.release.cameras:
            bodies, background = scene_state.bodies, self.scene.background_class
            return labels_of_rays(
                lambda origins, directions: self.cast_rays(origins, directions, bodies),
                lens,
                scene_state.camera,
                self.things,
                background,
            )
        found = self._seen(scene_state).labels(lens)
        background = np.isinf(found.depth) & (found.class_id == NO_CLASS)
        return found._replace(class_id=np.where(background, np.uint8(self.scene.background_class), found.class_id))

    def cast_rays(self, origins: npt.ArrayLike, directions: npt.ArrayLike, bodies: Poses | None = None) -> Hits:
        """What rays hit first: see `Engine.cast_rays`."""
        poses = self._poses_by_name(self.poses() if bodies is None else bodies)
        return self._rays.cast(origins, directions, poses)

    def cast_timed_rays(
        self, origins: FloatArray, directions: FloatArray, times: FloatArray, motion: BodyMotion = STANDING
    ) -> Hits:
        """What rays hit first, each at its own time: see `Engine.cast_timed_rays`."""
        return self._rays.cast_timed(origins, directions, times, motion)

    def scan(self, spec: LidarSpec, pose: Pose) -> npt.NDArray[np.float32]:
        """One turn of Chrono's lidar at a pose: ranges (metres, 0: nothing met) and intensities (rings, beams, 2)."""
        self._seen(SceneState(pose.optical_frame(), self.poses()))
        return self._with_stage().scan(spec)

    def close(self) -> None:
        """Give back what it holds."""
        if self._stage is not None:
            self._stage.close()
        if self._bodies is not None:
            self._bodies.close()
        self._stage = self._cameras = self._bodies = self._watcher = None

    def _seen(self, scene_state: SceneState) -> ChronoCameras:
        """The cameras, with everything put where an instant has it."""
        self._moved()
        if self._stage is None or self._cameras is None:
            probed = probe(self._modules, self.release)
            for note in probed.notes:
                _log.warning("PyChrono %s: %s", self.release.version, note)
            self._stage = ChronoScene(self._modules, self.release, self._plan)
            self._cameras = ChronoCameras(self._stage, probed)
        for name, pose in self._poses_by_name(scene_state.bodies).items():
            self._stage.put(name, pose)
        self._stage.put_camera(scene_state.camera)
        return self._cameras

    def _with_stage(self) -> ChronoScene:
        if self._stage is None:
            raise UsageError(f"{self.scene.name}: nothing was made ready to be seen")
        return self._stage

    def _poses_by_name(self, bodies: Poses) -> dict[str, Pose]:
        """Where everything is when some bodies are not where the scene has them."""
        unknown = sorted(set(bodies) - set(self._home))
        if unknown:
            raise UsageError(f"{unknown[0]}: nothing of that name")
        return self._home | dict(bodies)


def describe_modules(modules: Modules) -> str:
    """PyChrono for people: version, age and what renders."""
    release = identify_release(modules.core, modules.sensor, modules.vehicle, modules.version)
    age = {"9": "9.0", "10": "10.0", "head": "development"}[release.age]
    if not release.cameras:
        return f"PyChrono {release.version} ({age} interfaces), no cameras"
    light = "OptiX" if hasattr(modules.sensor, "ChOptixSensor") else "Vulkan RT"
    return f"PyChrono {release.version} ({age} interfaces), {light}"
