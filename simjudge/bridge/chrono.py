"""A program of one's own that runs PyChrono, judged: pictures, ground truth, odometry, tf and sensors of its system.

    bridge = ChronoBridge(system, out="drive.mcap")
    bridge.scene.AddPointLight(...)                       # lamps, as with any ChSensorManager
    bridge.vehicle(chassis)
    bridge.label(cone, "red")
    bridge.camera(chassis, Pose((0.3, 0.0, 0.2)), size=(1280, 720), field_of_view=80, rate=30)
    while bridge.ok(duration=20):
        system.DoStepDynamics(1e-3)                       # or the vehicle's Synchronize and Advance
        bridge.step(1e-3)

The program steps its system; `step` looks at it, and advances nothing. docs/bridge.md is the guide.
"""

from __future__ import annotations

import atexit
import json
import logging
import signal
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

from typing_extensions import Self

from simjudge.bridge.adopted_camera import AdoptedCamera
from simjudge.bridge.camera_choice import choose_camera
from simjudge.bridge.live_camera import CameraPlace, FrameSource, LiveCamera
from simjudge.bridge.live_lidar import LiveLidar, lidar_views
from simjudge.bridge.live_record import BridgeOutput, BridgeRecorder, BridgeSetup
from simjudge.bridge.live_system import LiveSystem
from simjudge.bridge.visuals import chrono_frame, frame_pose
from simjudge.capture.label_rules import Labelling
from simjudge.capture.lock_step import MotionSample
from simjudge.capture.sensor_feed import SensorFeed
from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.files import check_output, output_path
from simjudge.core.version import version
from simjudge.data.rosbag2.message_recording import record_messages
from simjudge.data.rosbag2.messages import CAMERA
from simjudge.engines.chrono.cameras import ChronoCameras
from simjudge.engines.chrono.modules import load_modules
from simjudge.engines.chrono.other_sensors import check_own_lidar
from simjudge.engines.chrono.probe import ProbeResult, probe
from simjudge.engines.chrono.versions import identify_release
from simjudge.engines.chrono.views import ChronoViews
from simjudge.geometry.poses import Pose
from simjudge.sensors.camera.camera import Camera
from simjudge.sensors.camera.rig import MountedCamera
from simjudge.sensors.lidar.lidar_fields import LidarSpec
from simjudge.sensors.sensor_file import sensor_from_fields
from simjudge.sensors.sensor_spec import CAR, SensorSpec
from simjudge.vehicle.vehicle import Command

__all__ = ["ChronoBridge", "Pose"]

_log = logging.getLogger(__name__)
_SECOND = 1_000_000_000
_PERIOD = 20_000_000
"""Nanoseconds between samples of the vehicle's motion."""
_ROUNDING = 1000
"""Nanoseconds by which a step may differ from what it was said to be: systems add up their steps as floats."""


class ChronoBridge:
    """Looks at a Chrono system that a program steps, and records or publishes what cameras and sensors see.

    Attributes:
        scene: lamps, background and ambient light of all pictures: the `scene` of a ChSensorManager.
        losses: what could not be recorded; empty where all was.
    """

    def __init__(
        self,
        system: Any,
        out: str | Path | None = None,
        *,
        ros: bool = False,
        manager: Any = None,
        seed: int = 0,
        min_size: float = 5.0,
        min_visible: float = 0.25,
    ) -> None:
        """Take the system over.

        Args:
            system: a ChSystem of any kind.
            out: x.mcap or x.db3; None: nothing is recorded.
            ros: whether all is published on topics too, and commands are taken from vehicle/input.
            manager: the program's own ChSensorManager, whose lamps and background count; None: the bridge has its own.
            seed: seed of the noise.
            min_size: smaller objects are not labelled, pixels.
            min_visible: objects of which a smaller share can be seen are not labelled, 0 to 1.

        Raises:
            UsageError: nothing is asked for, or a limit is outside its range.
            SimjudgeError: PyChrono has no cameras, or `out` exists.
        """
        if out is None and not ros:
            raise UsageError("ChronoBridge: give out: a file to record to, or ros=True, or both")
        self._out = None if out is None else output_path(Path(out))
        if self._out is not None:
            check_output(self._out)
        modules = load_modules()
        if modules.sensor is None:
            raise SimjudgeError("this PyChrono has no sensor module: build CH_ENABLE_MODULE_SENSOR")
        release = identify_release(modules.core, modules.sensor, modules.vehicle, modules.version)
        self._world = LiveSystem(modules, release, system)
        self._manager = modules.sensor.ChSensorManager(system) if manager is None else manager
        self.scene = self._manager.scene
        self.losses = Losses()
        self._ros, self._seed, self._labelling = ros, seed, Labelling(min_size, min_visible)
        self._probed: ProbeResult | None = None
        self._cameras: dict[str, tuple[MountedCamera, CameraPlace, bool]] = {}
        self._adopted: dict[str, AdoptedCamera] = {}
        self._specs: dict[str, tuple[SensorSpec, CameraPlace]] = {}
        self._views: list[ChronoViews] = []
        self._sources: list[FrameSource] = []
        self._feeds: list[SensorFeed] = []
        self._outputs: list[BridgeOutput] = []
        self._stack, self._begun, self._closed = ExitStack(), False, False
        self._time, self._sample = round(self._world.time * _SECOND), 0
        self._start, self._command = self._time, Command()
        self._node: Any = None
        self._stop = False
        self._listen()
        atexit.register(self.close)

    def __enter__(self) -> Self:
        """The bridge itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Finish the recording."""
        self.close()

    # What there is.

    def vehicle(self, vehicle: Any, base: Any = None) -> None:
        """Say whose motion odometry and tf tell.

        Args:
            vehicle: a Chrono::Vehicle, wheeled or tracked, a model of one (ARTcar, HMMWV_Full), or any ChBody.
            base: pose of base_link in the frame of chassis or body; None: that frame itself.

        Raises:
            UsageError: it is none of these, or the bridge has begun.
        """
        self._check_open("vehicle")
        self._world.set_vehicle(vehicle, None if base is None else _pose(base))

    def label(self, bodies: Any, class_name: str, *, counted: bool = True) -> int:
        """Label a body, or several that are one object.

        Args:
            bodies: a ChBody with visual shapes, or a list of them.
            class_name: of the object; class ids are given in the order of first use.
            counted: False for stuff (soil, road): a class in the semantic image, and no box.

        Returns:
            The instance id; 0 for stuff.

        Raises:
            UsageError: nothing is seen of a body, or the bridge has begun.
        """
        self._check_open("label")
        given = list(bodies) if isinstance(bodies, Sequence) else [bodies]
        return self._world.label(given, class_name, counted=counted)

    def camera(  # noqa: PLR0913 - what a camera has
        self,
        body: Any = None,
        pose: Any = None,
        *,
        size: tuple[int, int] | None = None,
        field_of_view: float | None = None,
        rate: float | None = None,
        lens: dict[str, Any] | None = None,
        filters: str | Path | tuple[Any, ...] = (),
        camera: str | Path | Camera | None = None,
        name: str = CAMERA,
        **fields: Any,
    ) -> None:
        """Add a camera.

        Args:
            body: ChBody that carries it; None: the vehicle.
            pose: of the camera (x ahead, y left, z up) in the body's reference frame, in base_link where the body is
                None: a Pose or a ChFramed; None: the frame itself.
            size: width and height, pixels.
            field_of_view: degrees between the left and the right edge.
            rate: images a second; None: the file's, or 30.
            lens: as in a camera's file, e.g. {"model": "radial", "k1": -0.3}; None: a pinhole.
            filters: a list of filters, or a camera's file whose filters, gain and automatic exposure are taken.
            camera: a camera's file, the name of one that comes with simjudge, or a camera, in place of the above.
            name: its topics begin with it.
            fields: further fields of a camera's file: exposure_time, depth, lag, supersampling, ...

        Raises:
            UsageError: options do not go together, or the name is taken.
            SimjudgeError: a file or a field is wrong.
        """
        self._check_new(name)
        stated = {"size": size, "field_of_view": field_of_view, "rate": rate, "lens": lens, **fields}
        chosen = choose_camera(camera, name, stated, filters)
        at = _pose(pose)
        carrier, mount = self._world.mount_on(body, at)
        place = CameraPlace(*self._world.carrier(body, at))
        self._cameras[name] = (MountedCamera(name, chosen, mount), place, carrier != CAR)

    def adopt(self, sensor: Any, name: str = CAMERA) -> tuple[str, ...]:
        """Take over a ChCameraSensor that the program made; its manager's Update() comes before `step`.

        Args:
            sensor: in a manager, with a ChFilterRGBA8Access.
            name: its topics begin with it.

        Returns:
            What was wrong in it, one line each, and what became of it. The lines are logged too.

        Raises:
            UsageError: it is no camera, its lens cannot be said in a camera_info, or the name is taken.
        """
        self._check_new(name)
        adopted = AdoptedCamera(self._world, sensor, name, self._probe(), self._labelling)
        carrier, mount = self._world.mount_on(adopted.place.body, adopted.place.pose)
        adopted.mounted = replace(adopted.mounted, mount=mount)
        self._adopted[name] = adopted
        self._cameras[name] = (adopted.mounted, adopted.place, carrier != CAR)
        for note in adopted.notes:
            _log.warning("camera %s: %s", name, note)
        return adopted.notes

    def imu(self, body: Any = None, pose: Any = None, *, name: str = "imu", rate: float = 100.0, **fields: Any) -> None:
        """Add an accelerometer and gyroscope; readings are computed from the body's motion.

        Args:
            body: ChBody that carries it; None: the vehicle.
            pose: in the body's reference frame; in base_link where the body is None.
            name: of the sensor.
            rate: readings a second.
            fields: further fields of a sensor's file: window, lag, gyroscope, accelerometer, ...
        """
        self._sensor("imu", body, pose, name, {"rate": rate, **fields})

    def gps(self, body: Any = None, pose: Any = None, *, name: str = "gps", rate: float = 10.0, **fields: Any) -> None:
        """Add a GPS receiver.

        Args:
            body: ChBody that carries it; None: the vehicle.
            pose: in the body's reference frame; in base_link where the body is None.
            name: of the sensor.
            rate: readings a second.
            fields: further fields of a sensor's file: reference, noise, ...
        """
        self._sensor("gps", body, pose, name, {"rate": rate, **fields})

    def lidar(
        self, body: Any = None, pose: Any = None, *, name: str = "lidar", rate: float = 10.0, **fields: Any
    ) -> None:
        """Add a lidar: Chrono's own, which sees soils and meshes as Chrono has them.

        Args:
            body: ChBody that carries it; None: the vehicle.
            pose: in the body's reference frame; in base_link where the body is None.
            name: of the sensor.
            rate: turns a second.
            fields: further fields of a sensor's file: columns, rings, field_of_view, range, noise, ...

        Raises:
            UsageError: Chrono's lidar cannot be this one.
        """
        spec = self._sensor("lidar", body, pose, name, {"rate": rate, "window": 0.0, **fields})
        if isinstance(spec, LidarSpec):
            check_own_lidar(f"lidar {name}", spec.model())

    # What happens.

    @property
    def command(self) -> Command:
        """What the driver does: the last message of vehicle/input, or what `drive` was told."""
        found = None if self._node is None else self._node.latest_command()
        return self._command if found is None else found

    def driver_inputs(self) -> Any:
        """The same as Chrono::Vehicle's DriverInputs, for the vehicle's Synchronize.

        Raises:
            SimjudgeError: this PyChrono has no vehicle module.
        """
        vehicle = self._world.modules.vehicle
        if vehicle is None:
            raise SimjudgeError("DriverInputs: this PyChrono has no vehicle module; take bridge.command")
        made, command = vehicle.DriverInputs(), self.command
        made.m_steering, made.m_throttle, made.m_braking = command.steering, command.throttle, command.braking
        return made

    def drive(self, command: Any) -> None:
        """Tell the bridge what the program's own driver does, to be recorded.

        Args:
            command: DriverInputs of Chrono::Vehicle, or a Command.
        """
        if not isinstance(command, Command):
            command = Command(float(command.m_steering), float(command.m_throttle), float(command.m_braking))
        self._command = command

    def ok(self, duration: float | None = None) -> bool:
        """Whether to go on: neither Ctrl-C, nor SIGTERM, nor the end of ROS, nor of the time.

        Args:
            duration: simulated seconds from the bridge's making on; None: no end.
        """
        if not self._begun:
            self._begin()
        over = duration is not None and self._world.time - self._start / _SECOND >= duration - 1e-9
        going = not (self._stop or over or self._closed) and (self._node is None or self._node.ok())
        if not going:
            self.close()
        return going

    def step(self, seconds: float | None = None) -> None:
        """Look at the system after the program has stepped it; hand over what is due.

        Args:
            seconds: by how much the program has stepped it; None: by any time.

        Raises:
            UsageError: the system has not gone on, or by another time.
            SimjudgeError: a picture cannot be taken, or the disk is full.
        """
        if self._closed:
            raise UsageError("bridge.step: the bridge has been closed")
        began = self._begun
        if not began:
            self._begin()
        now = round(self._world.time * _SECOND)
        if now <= self._time:
            raise UsageError("bridge.step: the system's time stands still: step it before, by DoStepDynamics or the"
                             " vehicle's Advance; the bridge steps nothing")  # fmt: skip
        if seconds is not None and abs(now - self._time - round(seconds * _SECOND)) > _ROUNDING:
            raise UsageError(f"bridge.step({seconds:g}): the system went on by {(now - self._time) / _SECOND:g} s;"
                             " give that, or nothing")  # fmt: skip
        self._time = now
        self._hand_over(now, observe=began)

    def close(self) -> None:
        """Finish the recording and end the topics. Also called when the program ends."""
        if self._closed:
            return
        self._closed = True
        atexit.unregister(self.close)
        for source in self._sources:
            if source.missed:
                where = f"camera {source.mounted.name}, at {source.mounted.camera.rate:g} Hz"
                self.losses.add("frames that fell between two steps", where, source.missed)
        for line in self.losses.lines():
            _log.warning("left out %s", line)
        try:
            self._stack.close()
        finally:
            self._world.system = None
            self._manager = None

    def _hand_over(self, now: int, *, observe: bool) -> None:
        # Sensors that were made just now have seen this step already.
        for feed in self._feeds if observe else ():
            feed.observe(now)
        for source in self._sources:
            source.observe(now)
        frames = [(source, frame) for source in self._sources for frame in source.take(now)]
        batches = [batch for feed in self._feeds if (batch := feed.take(now)) is not None]
        if now >= self._sample or frames or any(batch.has_scan for batch in batches):
            self._tell_motion(now)
        for output in self._outputs:
            for batch in batches:
                output.readings(batch)
            for source, frame in frames:
                output.frame(source.mounted.name, frame)

    def _tell_motion(self, now: int) -> None:
        self._sample = max(self._sample, now - _PERIOD) + _PERIOD
        if self._world.vehicle is None:
            for output in self._outputs:
                output.clock(now)
            return
        # Its time is the very number that a message's stamp becomes again.
        sample, command = MotionSample(now, replace(self._world.vehicle_state(), time=now / _SECOND)), self.command
        for output in self._outputs:
            output.motion(sample)
            output.command(now, command)

    def _begin(self) -> None:
        """Make everything ready, before the first step."""
        self._begun = True
        self._world.check_labels()
        for name, kinds in self._world.unseen.items():
            _log.warning("%s: Chrono::Sensor shows no %s", name, ", ".join(kinds))
        world, probed = self._world, self._probe()
        for note in probed.notes:
            _log.warning("PyChrono %s: %s", world.release.version, note)
        for name, (mounted, place, _) in self._cameras.items():
            cameras = ChronoCameras(self._view(place), probed, brackets=(1.0,))
            if name in self._adopted:
                self._adopted[name].look_through(cameras)
                self._sources.append(self._adopted[name])
                continue
            self._sources.append(LiveCamera(world, mounted, place, cameras, self._labelling, self._seed))
        motion = [spec for spec, _ in self._specs.values() if not isinstance(spec, LidarSpec)]
        if motion:
            self._feeds.append(SensorFeed(world, motion, self._seed))
        for spec, place in self._specs.values():
            if isinstance(spec, LidarSpec):
                frame = chrono_frame(world.modules.core, place.pose)
                views = lidar_views(world, place.body, frame, self._lamps)
                self._views.append(views)
                self._stack.callback(views.close)
                self._feeds.append(SensorFeed(LiveLidar(world, spec, views), [spec], self._seed))
        self._open(self._setup())

    def _setup(self) -> BridgeSetup:
        specs = [spec for spec, _ in self._specs.values()]
        cameras = [mounted for mounted, _, _ in self._cameras.values()]
        placed = {name for name, (_, _, moves) in self._cameras.items() if moves}
        mounts = {each.name: each.mount for each in cameras if each.name not in placed}
        mounts |= {spec.name: spec.mount for spec in specs if spec.body == CAR}
        return BridgeSetup(self._world.scene(), cameras, placed, specs, mounts)

    def _open(self, setup: BridgeSetup) -> None:
        """Open the recording and the topics."""
        if self._out is not None:
            recording = self._stack.enter_context(
                record_messages(self._out, {"simjudge": json.dumps(self._describe(setup), indent=2)})
            )
            self._outputs.append(BridgeRecorder(recording, setup, self._time))
        if self._ros:
            try:
                topics = import_module("simjudge.nodes.bridge_topics")
            except ImportError as error:
                raise SimjudgeError(f"ros=True: ROS 2 is missing ({error}): install simjudge[ros], or source one"
                                    ) from error  # fmt: skip
            self._node = self._stack.enter_context(topics.bridge_topics(setup, self._time))
            self._outputs.append(self._node)

    def _describe(self, setup: BridgeSetup) -> dict[str, Any]:
        """All that the recording depends on and the bridge knows of, as JSON has it."""
        limits = self._labelling
        return {
            "version": version(),
            "engine": {"name": "chrono", "variant": self._world.release.version, "system": "a program's own"},
            "cameras": {each.name: {"name": each.camera.name, "path": str(each.camera.path)} for each in setup.cameras},
            "adopted": {name: list(each.notes) for name, each in self._adopted.items()},
            "labels": {"min_size": limits.min_size, "min_visible": limits.min_visible},
            "seed": self._seed,
        }

    def _view(self, place: CameraPlace) -> ChronoViews:
        world = self._world
        frame = chrono_frame(world.modules.core, place.pose)
        views = ChronoViews(world.modules, world.release, world.system, place.body, self._lamps, frame)
        self._views.append(views)
        self._stack.callback(views.close)
        return views

    def _lamps(self, light: float) -> Any:
        """A sensor manager of the system under the program's lamps."""
        if light != 1:
            raise UsageError("the lamps are the program's: they cannot be dimmed for a picture")
        made = self._world.modules.sensor.ChSensorManager(self._world.system)
        made.scene = self._manager.scene
        if hasattr(made, "vulkan_scene"):
            made.vulkan_scene = self._manager.vulkan_scene
        return made

    def _probe(self) -> ProbeResult:
        if self._probed is None:
            self._probed = probe(self._world.modules, self._world.release)
        return self._probed

    def _sensor(self, kind: str, body: Any, pose: Any, name: str, fields: dict[str, Any]) -> SensorSpec:
        self._check_new(name)
        at = _pose(pose)
        carrier, mount = self._world.mount_on(body, at)
        spec = replace(sensor_from_fields(name, {"kind": kind, **fields}), mount=mount, body=carrier)
        self._specs[name] = (spec, CameraPlace(*self._world.carrier(body, at)))
        return spec

    def _check_new(self, name: str) -> None:
        self._check_open(name)
        if name in self._cameras or name in self._specs:
            raise UsageError(f"{name}: there is a camera or sensor of that name; give another name")

    def _check_open(self, what: str) -> None:
        if self._begun:
            raise UsageError(f"{what}: the bridge has begun; add everything before the first step")

    def _listen(self) -> None:
        """Let the first Ctrl-C or SIGTERM end the program's loop by `ok`; a second Ctrl-C interrupts it."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number in (signal.SIGINT, signal.SIGTERM):
            before = signal.signal(number, self._note)
            self._stack.callback(_restore, number, before)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        if self._stop and number == signal.SIGINT:
            raise KeyboardInterrupt
        self._stop = True


def _restore(number: int, before: Callable[..., Any] | int | None) -> None:
    if before is not None:
        signal.signal(number, before)


def _pose(given: Any) -> Pose:
    """A pose of ours, or of Chrono's."""
    if given is None:
        return Pose()
    return given if isinstance(given, Pose) else frame_pose(given)
