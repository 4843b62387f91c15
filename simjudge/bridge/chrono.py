"""A program of one's own that runs PyChrono, judged: pictures, ground truth, odometry, tf and sensors of its system.

    bridge = ChronoBridge(system, out="drive.mcap")
    bridge.scene.AddPointLight(...)                       # lamps, as with any ChSensorManager
    bridge.vehicle(chassis)
    bridge.label(cone, "red")
    bridge.camera(chassis, Pose((0.3, 0.0, 0.2)), size=(1280, 720), field_of_view=80, rate=30)
    while bridge.ok(duration=20):
        system.DoStepDynamics(1e-3)                       # or the vehicle's Synchronize and Advance
        bridge.step(1e-3)

The program steps its system; `step` looks at it, and advances nothing. docs/guides/chrono.md is the guide.
"""

from __future__ import annotations

import atexit
import logging
import signal
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from simjudge.bridge.bridge_devices import BridgeDevices, BridgeOutputs, BridgeSetup, BridgeViews
from simjudge.bridge.live_camera import FrameSource
from simjudge.bridge.live_system import LiveSystem
from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.files import check_output, output_path
from simjudge.core.installed import version
from simjudge.core.processes import leave_closed_terminal, stop_signals
from simjudge.core.text import Json, JsonMapping
from simjudge.data.rosbag2.interfaces import CAMERA
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.ground_truth import Labelling
from simjudge.sim.capture.lock_step import MotionSample
from simjudge.sim.capture.sensor_feed import SensorFeed
from simjudge.sim.engines.chrono.lenses import check_own_lidar, check_single_rays
from simjudge.sim.engines.chrono.modules import frame_pose, identify_release, load_modules, missing_modules
from simjudge.sim.sensors.camera.camera import Camera
from simjudge.sim.sensors.camera.camera_file import camera_from_fields, read_camera
from simjudge.sim.sensors.lidar.lidar import LidarSpec
from simjudge.sim.sensors.sensor_spec import SensorSpec
from simjudge.sim.vehicle.vehicle import Command

if TYPE_CHECKING:
    from typing_extensions import Self


class InterruptFlag:
    """Notes the first Ctrl-C, SIGTERM or SIGHUP; a second Ctrl-C interrupts the program."""

    def __init__(self, stack: ExitStack) -> None:
        """Listen, if this is the main thread: others get no signals."""
        self.noted = False
        if threading.current_thread() is not threading.main_thread():
            return
        for number in stop_signals():
            before = signal.signal(number, self._note)
            stack.callback(_restore, number, before)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        leave_closed_terminal()
        if self.noted and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.noted = True


def _restore(number: int, before: Callable[..., Any] | int | None) -> None:
    if before is not None:
        signal.signal(number, before)


def choose_camera(
    given: str | Path | Camera | None, name: str, fields: JsonMapping, filters: str | Path | tuple[Any, ...]
) -> Camera:
    """The camera of a file or name with its fields replaced: those that are not None, and `filters`."""
    stated = {key: value for key, value in fields.items() if value is not None}
    if given is not None:
        rate = stated.pop("rate", None)
        if stated or filters:
            both = next(iter(stated), "filters")
            raise UsageError(f"camera {name}: {both} stands beside camera; leave one of the two out")
        camera = given if isinstance(given, Camera) else read_camera(given)
        return camera if rate is None else camera.at_rate(rate)
    if "size" not in stated:
        raise UsageError(f"camera {name}: give size and field_of_view, or camera: a file or name")
    stated.setdefault("rate", 30.0)
    if isinstance(filters, str | Path):
        whole = read_camera(filters)
        made = camera_from_fields(stated, name)
        return replace(made, steps=whole.steps, gain=whole.gain, auto_exposure=whole.auto_exposure)
    return camera_from_fields({**stated, "filters": list(filters)} if filters else stated, name)


__all__ = ["ChronoBridge", "Pose"]

_log = logging.getLogger(__name__)
_SECOND = 1_000_000_000
_PERIOD = 20_000_000
"""Nanoseconds between samples of the vehicle's motion."""
_ROUNDING = 1000
"""Nanoseconds by which a step may differ from what it was said to be: systems add up their steps as floats."""


class ChronoBridge:
    """Looks at a Chrono system that a program steps, and records or publishes what cameras and sensors see.

    A PyChrono without its sensor module has no cameras, lamps and lidars; all else is recorded.

    Attributes:
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
        min_size: float = Labelling.min_size,
        min_visible: float = Labelling.min_visible,
    ) -> None:
        """Take the system over.

        Args:
            out: x.mcap or x.db3; None: nothing is recorded.
            ros: whether all is published on topics too, and commands are taken from vehicle/input.
            manager: the program's own ChSensorManager, whose lamps and background count; None: the bridge has its own.
            min_size: smaller objects are not labelled, pixels.
            min_visible: objects of which a smaller share can be seen are not labelled, 0 to 1.
        """
        if out is None and not ros:
            raise UsageError("ChronoBridge: give out: a file to record to, or ros=True, or both")
        self._out = None if out is None else output_path(Path(out))
        if self._out is not None:
            check_output(self._out)
        modules = load_modules()
        release = identify_release(modules.core, modules.sensor, modules.vehicle, modules.version)
        self._world = LiveSystem(modules, release, system)
        if manager is None and modules.sensor is not None:
            manager = modules.sensor.ChSensorManager(system)
        self._manager = manager
        self.losses = Losses()
        self._ros, self._seed, self._labelling = ros, seed, Labelling(min_size, min_visible)
        self._stack, self._begun, self._closed = ExitStack(), False, False
        self._views = BridgeViews(self._world, self._manager, self._stack)
        self._devices = BridgeDevices(self._world, self._views, self._labelling, seed)
        self._sources: list[FrameSource] = []
        self._feeds: list[SensorFeed] = []
        self._outputs = BridgeOutputs(self._stack)
        self._time, self._sample = round(self._world.time * _SECOND), 0
        self._start, self._command = self._time, Command()
        self._stop = InterruptFlag(self._stack)
        atexit.register(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # What there is.

    @property
    def scene(self) -> Any:
        """Lamps, background and ambient light of all pictures: the `scene` of a ChSensorManager."""
        self._check_sensor("scene")
        return self._manager.scene

    def vehicle(self, vehicle: Any, base: Any = None) -> None:
        """Say whose motion odometry and tf tell.

        Args:
            vehicle: a Chrono::Vehicle, wheeled or tracked, a model of one (ARTcar, HMMWV_Full), or any ChBody.
            base: pose of base_link in the frame of chassis or body; None: that frame itself.
        """
        self._check_open("vehicle")
        self._world.set_vehicle(vehicle, None if base is None else _pose(base))

    def label(self, bodies: Any, class_name: str, *, counted: bool = True) -> int:
        """Label a body, or several that are one object.

        Args:
            bodies: a ChBody with visual shapes, or a list of them; an SCMTerrain where it is not counted.
            class_name: of the object; class ids are given in the order of first use.
            counted: False for stuff (soil, road): a class in the semantic image, and no box.
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
        lens: Json | None = None,
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
            fields: further fields of a camera's file: exposure_time, depth, lag, supersampling, ...
        """
        self._check_new(name)
        self._check_sensor(f"camera {name}")
        stated = {"size": size, "field_of_view": field_of_view, "rate": rate, "lens": lens, **fields}
        chosen = choose_camera(camera, name, stated, filters)
        self._devices.add_camera(name, chosen, body, _pose(pose))

    def adopt(self, sensor: Any, name: str = CAMERA) -> tuple[str, ...]:
        """Take over a ChCameraSensor that the program made; its manager's Update() comes before `step`.

        Args:
            sensor: in a manager, with a ChFilterRGBA8Access.

        Returns:
            What was wrong in it, one line each, and what became of it. The lines are logged too.
        """
        self._check_new(name)
        self._check_sensor(f"camera {name}")
        return self._devices.adopt_camera(name, sensor)

    def imu(self, body: Any = None, pose: Any = None, *, name: str = "imu", rate: float = 100.0, **fields: Any) -> None:
        """Add an accelerometer and gyroscope; readings are computed from the body's motion.

        Args:
            body: ChBody that carries it; None: the vehicle.
            pose: in the body's reference frame; in base_link where the body is None.
            rate: readings a second.
            fields: further fields of a sensor's file: window, lag, gyroscope, accelerometer, ...
        """
        self._sensor("imu", body, pose, name, {"rate": rate, **fields})

    def gps(self, body: Any = None, pose: Any = None, *, name: str = "gps", rate: float = 10.0, **fields: Any) -> None:
        """Add a GPS receiver.

        Args:
            body: ChBody that carries it; None: the vehicle.
            pose: in the body's reference frame; in base_link where the body is None.
            rate: readings a second.
        """
        self._sensor("gps", body, pose, name, {"rate": rate, **fields})

    def lidar(
        self, body: Any = None, pose: Any = None, *, name: str = "lidar", rate: float = 10.0, **fields: Any
    ) -> None:
        """Add a lidar: Chrono's own, which sees soils and meshes as Chrono has them.

        Args:
            body: ChBody that carries it; None: the vehicle.
            pose: in the body's reference frame; in base_link where the body is None.
            rate: turns a second.
            fields: further fields of a sensor's file: columns, rings, field_of_view, range, noise, ...
        """
        self._check_sensor(f"lidar {name}")
        spec = self._sensor("lidar", body, pose, name, {"rate": rate, "window": 0.0, **fields})
        if isinstance(spec, LidarSpec):
            check_own_lidar(f"lidar {name}", spec.model())
            check_single_rays(f"lidar {name}", spec.model())

    # What happens.

    @property
    def command(self) -> Command:
        """What the driver does: the last message of vehicle/input, or what `drive` was told."""
        found = self._outputs.latest_command()
        return self._command if found is None else found

    def driver_inputs(self) -> Any:
        """The same as Chrono::Vehicle's DriverInputs, for the vehicle's Synchronize."""
        vehicle = self._world.modules.vehicle
        if vehicle is None:
            raise SimjudgeError("DriverInputs: this PyChrono has no vehicle module; take bridge.command")
        made, command = vehicle.DriverInputs(), self.command
        made.m_steering, made.m_throttle, made.m_braking = command.steering, command.throttle, command.braking
        return made

    def drive(self, command: Any) -> None:
        """Tell the bridge what the program's own driver does, to be recorded."""
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
        going = not (self._stop.noted or over or self._closed) and self._outputs.ok()
        if not going:
            self.close()
        return going

    def step(self, seconds: float | None = None) -> None:
        """Look at the system after the program has stepped it; hand over what is due.

        Args:
            seconds: by how much the program has stepped it; None: by any time.
        """
        if self._closed:
            raise UsageError("bridge.step: the bridge has been closed")
        began = self._begun
        if not began:
            self._begin()
        now = round(self._world.time * _SECOND)
        if now <= self._time:
            raise UsageError(
                "bridge.step: the system's time stands still: step it before, by DoStepDynamics or the"
                " vehicle's Advance; the bridge steps nothing"
            )
        if seconds is not None and abs(now - self._time - round(seconds * _SECOND)) > _ROUNDING:
            raise UsageError(
                f"bridge.step({seconds:g}): the system went on by {(now - self._time) / _SECOND:g} s;"
                " give that, or nothing"
            )
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
            self._manager = self._views.manager = None

    def _hand_over(self, now: int, *, observe: bool) -> None:
        # Sensors that were made just now have seen this step already.
        for feed in self._feeds if observe else ():
            feed.observe(now)
        for source in self._sources:
            source.observe(now)
        frames = [(source.mounted.name, frame) for source in self._sources for frame in source.take(now)]
        batches = [batch for feed in self._feeds if (batch := feed.take(now)) is not None]
        if now >= self._sample or frames or any(batch.has_scan for batch in batches):
            self._tell_motion(now)
        self._outputs.readings_and_frames(batches, frames)

    def _tell_motion(self, now: int) -> None:
        self._sample = max(self._sample, now - _PERIOD) + _PERIOD
        if self._world.vehicle is None:
            self._outputs.clock(now)
            return
        # Its time is the very number that a message's stamp becomes again.
        sample = MotionSample(now, replace(self._world.vehicle_state(), time=now / _SECOND))
        joints = None if self._world.wheels is None else self._world.wheels.joints(now / _SECOND)
        self._outputs.motion(now, sample, self.command, joints)

    def _begin(self) -> None:
        """Make everything ready, before the first step."""
        self._begun = True
        self._world.check_labels()
        for name, kinds in self._world.unseen.items():
            _log.warning("%s: Chrono::Sensor shows no %s", name, ", ".join(kinds))
        self._sources = self._devices.frame_sources()
        self._feeds = self._devices.sensor_feeds()
        setup = self._devices.setup()
        if self._out is not None:
            self._outputs.record(self._out, setup, self._time, self._describe(setup))
        if self._ros:
            self._outputs.publish(setup, self._time)

    def _describe(self, setup: BridgeSetup) -> Json:
        """All that the recording depends on and the bridge knows of, as JSON has it."""
        limits = self._labelling
        return {
            "version": version(),
            "engine": {"name": "chrono", "variant": self._world.release.version, "system": "a program's own"},
            "cameras": {
                camera.name: {"name": camera.camera.name, "path": str(camera.camera.path)} for camera in setup.cameras
            },
            "adopted": {name: list(adoption.notes) for name, adoption in self._devices.adopted.items()},
            "labels": {"min_size": limits.min_size, "min_visible": limits.min_visible},
            "seed": self._seed,
        }

    def _sensor(self, kind: str, body: Any, pose: Any, name: str, fields: Json) -> SensorSpec:
        self._check_new(name)
        return self._devices.add_sensor(name, body, _pose(pose), {"kind": kind, **fields})

    def _check_new(self, name: str) -> None:
        self._check_open(name)
        self._devices.check_new(name)

    def _check_sensor(self, what: str) -> None:
        if self._world.modules.sensor is None:
            (why,) = missing_modules(("sensor",))
            raise SimjudgeError(f"{what}: this PyChrono has no sensor module ({why}): build CH_ENABLE_MODULE_SENSOR")

    def _check_open(self, what: str) -> None:
        if self._begun:
            raise UsageError(f"{what}: the bridge has begun; add everything before the first step")


def _pose(given: Any) -> Pose:
    """A pose of ours, or of Chrono's."""
    if given is None:
        return Pose()
    return given if isinstance(given, Pose) else frame_pose(given)
