"""The cameras and sensors that a program adds to its bridge, until the bridge begins and makes them ready."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from simjudge.bridge.adopted_camera import AdoptedCamera
from simjudge.bridge.bridge_views import BridgeViews
from simjudge.bridge.live_camera import CameraPlace, FrameSource, LiveCamera
from simjudge.bridge.live_lidar import LiveLidar
from simjudge.bridge.live_record import BridgeSetup
from simjudge.bridge.live_system import LiveSystem
from simjudge.core.errors import UsageError
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.label_rules import Labelling
from simjudge.sim.capture.sensor_feed import SensorFeed
from simjudge.sim.engines.chrono.cameras import ChronoCameras
from simjudge.sim.sensors.camera.camera import Camera
from simjudge.sim.sensors.camera.rig import MountedCamera
from simjudge.sim.sensors.lidar.lidar_fields import LidarSpec
from simjudge.sim.sensors.sensor_file import sensor_from_fields
from simjudge.sim.sensors.sensor_spec import CAR, SensorSpec

_log = logging.getLogger(__name__)


class BridgeDevices:
    """Cameras and sensors by their names.

    Attributes:
        adopted: the cameras that the program made, by name.
    """

    def __init__(self, world: LiveSystem, views: BridgeViews, labelling: Labelling, seed: int) -> None:
        """Begin without any."""
        self._world, self._views, self._labelling, self._seed = world, views, labelling, seed
        self._cameras: dict[str, tuple[MountedCamera, CameraPlace, bool]] = {}
        self._specs: dict[str, tuple[SensorSpec, CameraPlace]] = {}
        self.adopted: dict[str, AdoptedCamera] = {}

    def check_new(self, name: str) -> None:
        """Refuse a name that is taken."""
        if name in self._cameras or name in self._specs:
            raise UsageError(f"{name}: there is a camera or sensor of that name; give another name")

    def add_camera(self, name: str, camera: Camera, body: Any, pose: Pose) -> None:
        """Add a camera.

        Args:
            body: ChBody that carries it; None: the vehicle.
            pose: of the camera (x ahead) in the body's reference frame, or in base_link.
        """
        carrier, mount = self._world.mount_on(body, pose)
        place = CameraPlace(*self._world.carrier(body, pose))
        self._cameras[name] = (MountedCamera(name, camera, mount), place, carrier != CAR)

    def adopt_camera(self, name: str, sensor: Any) -> tuple[str, ...]:
        """Take over a camera that the program made.

        Returns:
            What was wrong in it, one line each, and what became of it.
        """
        adopted = AdoptedCamera(self._world, sensor, name, self._views.probe(), self._labelling)
        carrier, mount = self._world.mount_on(adopted.place.body, adopted.place.pose)
        adopted.mounted = replace(adopted.mounted, mount=mount)
        self.adopted[name] = adopted
        self._cameras[name] = (adopted.mounted, adopted.place, carrier != CAR)
        for note in adopted.notes:
            _log.warning("camera %s: %s", name, note)
        return adopted.notes

    def add_sensor(self, name: str, body: Any, pose: Pose, fields: Mapping[str, Any]) -> SensorSpec:
        """Add a sensor beside the cameras.

        Args:
            body: ChBody that carries it; None: the vehicle.
            pose: in the body's reference frame, or in base_link.
        """
        carrier, mount = self._world.mount_on(body, pose)
        spec = replace(sensor_from_fields(name, dict(fields)), mount=mount, body=carrier)
        self._specs[name] = (spec, CameraPlace(*self._world.carrier(body, pose)))
        return spec

    def frame_sources(self) -> list[FrameSource]:
        """The cameras, made ready."""
        if not self._cameras:
            return []
        world, probed = self._world, self._views.probe()
        for note in probed.notes:
            _log.warning("PyChrono %s: %s", world.release.version, note)
        sources: list[FrameSource] = []
        for name, (mounted, place, _) in self._cameras.items():
            cameras = ChronoCameras(self._views.camera_views(place), probed, brackets=(1.0,))
            if name in self.adopted:
                self.adopted[name].look_through(cameras)
                sources.append(self.adopted[name])
                continue
            sources.append(LiveCamera(world, mounted, place, cameras, self._labelling, self._seed))
        return sources

    def sensor_feeds(self) -> list[SensorFeed]:
        """The sensors, made ready: those of motion together, and each lidar."""
        feeds = []
        motion = [spec for spec, _ in self._specs.values() if not isinstance(spec, LidarSpec)]
        if motion:
            feeds.append(SensorFeed(self._world, motion, self._seed))
        for spec, place in self._specs.values():
            if isinstance(spec, LidarSpec):
                lidar = LiveLidar(self._world, spec, self._views.lidar_views(place))
                feeds.append(SensorFeed(lidar, [spec], self._seed))
        return feeds

    def setup(self) -> BridgeSetup:
        """All that there is, for those who record or publish it."""
        specs = [spec for spec, _ in self._specs.values()]
        cameras = [mounted for mounted, _, _ in self._cameras.values()]
        placed = {name for name, (_, _, moves) in self._cameras.items() if moves}
        mounts = {each.name: each.mount for each in cameras if each.name not in placed}
        mounts |= {spec.name: spec.mount for spec in specs if spec.body == CAR}
        wheels = self._world.wheels
        figures, centres = (None, None) if wheels is None else (wheels.figures, wheels.centres)
        return BridgeSetup(self._world.scene(), cameras, placed, specs, mounts, figures, centres)
