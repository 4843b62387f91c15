"""The cameras, lidars and sensors that a program adds to its bridge, and what their readings are handed to."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from simjudge.bridge.live_camera import AdoptedCamera, CameraPlace, FrameSource, LiveCamera, LiveFrame
from simjudge.bridge.live_system import LiveSystem, chrono_frame
from simjudge.core.arrays import FloatArray
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.installed import install_command
from simjudge.data.rosbag2.interfaces import MAP_FRAME, standard_types
from simjudge.data.rosbag2.live_recording import MessageRecording, record_messages
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.ground_truth import Labelling
from simjudge.sim.capture.lock_step import MotionSample
from simjudge.sim.capture.sensor_feed import SensorBatch, SensorFeed
from simjudge.sim.capture.sensor_record import CameraRecorder, SensorMessages
from simjudge.sim.engines.chrono.cameras import ChronoCameras, ProbeResult, probe
from simjudge.sim.engines.chrono.views import ChronoViews
from simjudge.sim.engines.contract import STANDING, BodyMotion, Hits, Poses
from simjudge.sim.engines.still_engine import MeshRays
from simjudge.sim.scene.model import Mesh, Scene, Surface, Thing
from simjudge.sim.sensors.camera.camera import Camera
from simjudge.sim.sensors.camera.rig import MountedCamera
from simjudge.sim.sensors.lidar.lidar import LidarSpec
from simjudge.sim.sensors.sensor_file import sensor_from_fields
from simjudge.sim.sensors.sensor_messages import TF_TOPIC
from simjudge.sim.sensors.sensor_spec import CAR, SensorSpec
from simjudge.sim.vehicle.vehicle import Command, VehicleState
from simjudge.sim.vehicle.vehicle_messages import (
    BODY_LINK,
    DESCRIPTION_TOPIC,
    INPUT_TOPIC,
    JOINTS_TOPIC,
    ODOMETRY_TOPIC,
    FrameLink,
    Frames,
    JointAngles,
    VehicleMessages,
    WheelFigures,
    links_at,
    wheels_description,
)


class BridgeOutput(Protocol):
    """Where a bridge hands things over to: a recording, or topics."""

    def motion(self, sample: MotionSample, joints: JointAngles | None = None) -> None:
        """Hand over how the vehicle moves, and the joints of its wheels where they are known."""

    def clock(self, time: int) -> None:
        """Hand over the time, nanoseconds, where there is no vehicle."""

    def readings(self, batch: SensorBatch) -> None:
        """Hand over readings."""

    def frame(self, camera: str, frame: LiveFrame) -> None:
        """Hand over a frame."""

    def command(self, time: int, command: Command) -> None:
        """Hand over what the driver does."""


class BridgeSetup:
    """What a bridge has, once it has begun.

    Attributes:
        placed: names of those that sit on another body than the vehicle.
        mounts: poses in base_link of all that sits on the vehicle.
        wheels: of the vehicle, by name, as they were when it was named; None where they are not known.
        centres: where the wheels are in base_link at the time of the call; None: as `wheels` has them.
    """

    def __init__(
        self,
        scene: Scene,
        cameras: Sequence[MountedCamera],
        placed: Collection[str],
        specs: Sequence[SensorSpec],
        mounts: Mapping[str, Pose],
        wheels: Mapping[str, WheelFigures] | None = None,
        centres: Callable[[], Mapping[str, tuple[float, float, float]]] | None = None,
    ) -> None:
        self.wheels, self.centres = wheels, centres
        self.scene, self.cameras, self.placed, self.specs, self.mounts = scene, cameras, placed, specs, mounts

    @property
    def camera_names(self) -> list[str]:
        """Names of the cameras."""
        return [camera.name for camera in self.cameras]

    @property
    def description(self) -> str:
        """The vehicle as URDF; empty where its wheels are not known."""
        if self.wheels is None:
            return ""
        return wheels_description("chrono_vehicle", self.wheels, self.mounts, self.camera_names)

    @property
    def fixed_links(self) -> tuple[FrameLink, ...]:
        """Frames of the description that neither move nor are sensors'."""
        return () if self.wheels is None else (BODY_LINK,)

    def wheel_links(self, joints: JointAngles | None) -> list[FrameLink]:
        """Where the wheels are; none where they are not known."""
        if self.wheels is None or joints is None:
            return []
        if self.centres is not None:
            return links_at(self.centres(), joints)
        return links_at({name: wheel.centre for name, wheel in self.wheels.items()}, joints)


class BridgeRecorder:
    """Writes into a recording."""

    def __init__(self, recording: MessageRecording, setup: BridgeSetup, start: int) -> None:
        """Begin with the transforms that stay (start: nanoseconds)."""
        self._recording, types = recording, standard_types().types
        self._car = VehicleMessages(lambda name: types[name], Frames(map=MAP_FRAME))
        self._cameras = {
            camera.name: CameraRecorder(
                recording, camera, setup.scene, self._car, placed=camera.name in setup.placed, label_images=True
            )
            for camera in setup.cameras
        }
        self._sensors = SensorMessages(lambda name: types[name], setup.specs, setup.scene.class_names)
        message = self._car.fixed(start, setup.mounts, setup.camera_names, setup.fixed_links)
        recording.write("/tf_static", start, message, latched=True)
        self._setup = setup
        if setup.description:
            described = self._car.description(setup.description)
            recording.write(f"/{DESCRIPTION_TOPIC}", start, described, latched=True)

    def motion(self, sample: MotionSample, joints: JointAngles | None = None) -> None:
        """Write how the vehicle moves."""
        if joints is not None:
            self._recording.write(f"/{JOINTS_TOPIC}", sample.time, self._car.joints(sample.time, joints))
        self._recording.write(f"/{ODOMETRY_TOPIC}", sample.time, self._car.odometry(sample.time, sample.state))
        self._recording.write(
            TF_TOPIC, sample.time, self._car.moving(sample.time, sample.state, self._setup.wheel_links(joints))
        )

    def clock(self, time: int) -> None:
        """A recording has its own times (time: nanoseconds)."""

    def readings(self, batch: SensorBatch) -> None:
        """Write readings."""
        for topic, _, message in self._sensors.messages(batch.events):
            self._recording.write(f"/{topic}", batch.time, message)

    def frame(self, camera: str, frame: LiveFrame) -> None:
        """Write a frame."""
        self._cameras[camera].record(frame.time, frame.captured)

    def command(self, time: int, command: Command) -> None:
        """Write what the driver does (time: nanoseconds)."""
        self._recording.write(f"/{INPUT_TOPIC}", time, self._car.input(time, command))


class BridgeOutputs:
    """All outputs of a bridge; they end when its stack is closed."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._outputs: list[BridgeOutput] = []
        self._node: Any = None

    def record(self, out: Path, setup: BridgeSetup, start: int, about: Mapping[str, object]) -> None:
        """Open the recording (start: nanoseconds)."""
        written = {"simjudge": json.dumps(about, indent=2)}
        recording = self._stack.enter_context(record_messages(out, written))
        self._outputs.append(BridgeRecorder(recording, setup, start))

    def publish(self, setup: BridgeSetup, start: int) -> None:
        """Open the topics (start: nanoseconds)."""
        try:
            topics = import_module("simjudge.nodes.bridge_topics")
        except ImportError as error:
            raise SimjudgeError(
                f"ros=True: ROS 2 is missing ({error}): {install_command('rclpy')}, or source one"
            ) from error
        self._node = self._stack.enter_context(topics.bridge_topics(setup, start))
        self._outputs.append(self._node)

    def latest_command(self) -> Command | None:
        """The last message of vehicle/input; None where none came, or there are no topics."""
        found: Command | None = None if self._node is None else self._node.latest_command()
        return found

    def ok(self) -> bool:
        """False once ROS has ended."""
        return self._node is None or bool(self._node.ok())

    def clock(self, time: int) -> None:
        """Hand over the time where there is no vehicle (time: nanoseconds)."""
        for output in self._outputs:
            output.clock(time)

    def motion(self, time: int, sample: MotionSample, command: Command, joints: JointAngles | None = None) -> None:
        """Hand over how the vehicle moves, and what the driver does (time: nanoseconds)."""
        for output in self._outputs:
            output.motion(sample, joints)
            output.command(time, command)

    def readings_and_frames(self, batches: Sequence[SensorBatch], frames: Sequence[tuple[str, LiveFrame]]) -> None:
        """Hand over readings, then frames."""
        for output in self._outputs:
            for batch in batches:
                output.readings(batch)
            for camera, frame in frames:
                output.frame(camera, frame)


_NEAR = 0.01  # Metres within which a point and the surface of a labelled body are one
_NOWHERE = Mesh(np.zeros((0, 3)), np.zeros((0, 3), np.int64), np.zeros((0, 2)), np.zeros((0, 3)))


class LiveLidar:
    """A lidar's view of a program's system, for `SensorFeed`.

    All beams fire at once, at the step at which a turn is due: Chrono's lidar knows no turn. Its intensity is Chrono's.
    """

    def __init__(self, world: LiveSystem, spec: LidarSpec, views: ChronoViews) -> None:
        self._world, self._views, self._spec = world, views, spec
        # What is not labelled sends light back too: one more thing, nowhere, stands for all of it.
        rest = Thing("everything else", _NOWHERE, Surface(reflectance=1.0))
        self.name, self.things = world.name, (*world.things, rest)
        self._rays = MeshRays([thing.mesh for thing in world.things])

    @property
    def time(self) -> float:
        """Simulated seconds."""
        return self._world.time

    def poses(self) -> Poses:
        """Where everything is now."""
        return self._world.poses()

    def vehicle_state(self) -> VehicleState:
        """How the vehicle moves now."""
        return self._world.vehicle_state()

    def cast_timed_rays(
        self, origins: FloatArray, directions: FloatArray, times: FloatArray, motion: BodyMotion = STANDING
    ) -> Hits:
        """What Chrono's lidar meets now, beam by beam as `lidar_beams` has them."""
        del times, motion
        found = self._views.scan(self._spec).astype(np.float64)
        ranges, intensity = (found[..., k].T.ravel() for k in (0, 1))
        poses = self._world.object_poses()
        distance = np.where(ranges > 0, ranges, np.inf)
        thing = np.where(np.isfinite(distance), len(self.things) - 1, -1)
        if len(self.things) > 1:
            own = self._rays.cast(origins, directions, [poses[body.name] for body in self._world.things])
            both = np.isfinite(distance) & np.isfinite(own.distance)
            met = np.abs(np.where(both, own.distance, np.inf) - np.where(both, distance, 0.0)) <= _NEAR
            thing[met] = own.thing[met]
        return Hits(distance, thing, np.where((thing >= 0)[:, None], -directions * intensity[:, None], np.nan))


def lidar_views(world: LiveSystem, body: Any, frame: Any, manager: Any) -> ChronoViews:
    """The pictures that a lidar on a body takes (frame: ChFrame of the lidar in the body's reference frame)."""
    return ChronoViews(world.modules, world.release, world.system, body, manager, frame)


class BridgeViews:
    """Makes views; each is released when the bridge's stack is closed.

    Attributes:
        manager: the ChSensorManager whose lamps and background count; None once the bridge has been closed.
    """

    def __init__(self, world: LiveSystem, manager: Any, stack: ExitStack) -> None:
        self._world, self.manager, self._stack = world, manager, stack
        self._probed: ProbeResult | None = None
        self._views: list[ChronoViews] = []

    def probe(self) -> ProbeResult:
        """What PyChrono's sensors are found to do; they are asked once."""
        if self._probed is None:
            self._probed = probe(self._world.modules, self._world.release)
        return self._probed

    def camera_views(self, place: CameraPlace) -> ChronoViews:
        """The pictures that a camera takes."""
        world = self._world
        frame = chrono_frame(world.modules.core, place.pose)
        return self._kept(ChronoViews(world.modules, world.release, world.system, place.body, self._lamps, frame))

    def lidar_views(self, place: CameraPlace) -> ChronoViews:
        """The scans that a lidar takes."""
        frame = chrono_frame(self._world.modules.core, place.pose)
        return self._kept(lidar_views(self._world, place.body, frame, self._lamps))

    def _kept(self, views: ChronoViews) -> ChronoViews:
        self._views.append(views)
        self._stack.callback(views.close)
        return views

    def _lamps(self, light: float) -> Any:
        """A sensor manager of the system under the program's lamps."""
        if light != 1:
            raise UsageError("the lamps are the program's: they cannot be dimmed for a picture")
        made = self._world.modules.sensor.ChSensorManager(self._world.system)
        made.scene = self.manager.scene
        if hasattr(made, "vulkan_scene"):
            made.vulkan_scene = self.manager.vulkan_scene
        return made


_log = logging.getLogger(__name__)


class BridgeDevices:
    """Cameras and sensors by their names.

    Attributes:
        adopted: the cameras that the program made, by name.
    """

    def __init__(self, world: LiveSystem, views: BridgeViews, labelling: Labelling, seed: int) -> None:
        self._world, self._views, self._labelling, self._seed = world, views, labelling, seed
        self._cameras: dict[str, tuple[MountedCamera, CameraPlace, bool]] = {}
        self._specs: dict[str, tuple[SensorSpec, CameraPlace]] = {}
        self.adopted: dict[str, AdoptedCamera] = {}

    def check_new(self, name: str) -> None:
        """Refuse a name that is taken."""
        if name in self._cameras or name in self._specs:
            raise UsageError(f"{name}: there is a camera or sensor of that name; give another name")

    def add_camera(self, name: str, camera: Camera, body: Any, pose: Pose) -> None:
        """Add a camera (body: ChBody that carries it; pose of the camera (x ahead) in the body's reference frame)."""
        carrier, mount = self._world.mount_on(body, pose)
        place = CameraPlace(*self._world.carrier(body, pose))
        self._cameras[name] = (MountedCamera(name, camera, mount), place, carrier != CAR)

    def adopt_camera(self, name: str, sensor: Any) -> tuple[str, ...]:
        """Take over a camera that the program made: what was wrong in it, one line each, and what became of it."""
        adopted = AdoptedCamera(self._world, sensor, name, self._views.probe(), self._labelling)
        carrier, mount = self._world.mount_on(adopted.place.body, adopted.place.pose)
        adopted.mounted = replace(adopted.mounted, mount=mount)
        self.adopted[name] = adopted
        self._cameras[name] = (adopted.mounted, adopted.place, carrier != CAR)
        for note in adopted.notes:
            _log.warning("camera %s: %s", name, note)
        return adopted.notes

    def add_sensor(self, name: str, body: Any, pose: Pose, fields: Mapping[str, object]) -> SensorSpec:
        """Add a sensor beside the cameras (body: ChBody that carries it; None; pose: in the body's reference frame)."""
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
        mounts = {camera.name: camera.mount for camera in cameras if camera.name not in placed}
        mounts |= {spec.name: spec.mount for spec in specs if spec.body == CAR}
        wheels = self._world.wheels
        figures, centres = (None, None) if wheels is None else (wheels.figures, wheels.centres)
        return BridgeSetup(self._world.scene(), cameras, placed, specs, mounts, figures, centres)
