"""The closed loop: camera and sensors see, somebody drives by what they see, and so they move; and its recording.

Simulated time stands still while anybody computes: the same scene, seed and detector give the same drive on any
machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from queue import Queue
from threading import Thread
from types import TracebackType

import numpy as np

from simjudge.core.errors import UsageError, is_interrupt
from simjudge.data.rosbag2.interfaces import MAP_FRAME, standard_types
from simjudge.data.rosbag2.live_recording import MessageRecording
from simjudge.detectors.detector import Detections
from simjudge.sim.capture.capture import Capture, CapturedFrame
from simjudge.sim.capture.lock_step import FrameEvent, LockStep, MotionSample
from simjudge.sim.capture.sensor_feed import SensorBatch, SensorFeed
from simjudge.sim.capture.sensor_record import CameraRecorder, SensorMessages, fixed_mounts
from simjudge.sim.driving.course import Clearance, scene_course
from simjudge.sim.driving.pilots import Pilot
from simjudge.sim.engines.contract import Engine
from simjudge.sim.scene.course_progress import CourseProgress
from simjudge.sim.sensors.camera.camera import SECOND, Camera
from simjudge.sim.sensors.camera.rig import MountedCamera
from simjudge.sim.sensors.sensor_messages import TF_TOPIC
from simjudge.sim.sensors.sensor_spec import CAR, SensorSpec
from simjudge.sim.vehicle.vehicle import Command, Vehicle, VehicleState
from simjudge.sim.vehicle.vehicle_messages import (
    BASE,
    BODY_LINK,
    DESCRIPTION_TOPIC,
    INPUT_TOPIC,
    JOINTS_TOPIC,
    ODOMETRY_TOPIC,
    Frames,
    JointTracker,
    VehicleMessages,
    other_odometry,
    robot_description,
    wheel_links,
)

DEFAULT_LIMIT = 180.0  # Simulated seconds that a drive may take, for each lap, unless somebody says otherwise
LONGEST_DRIVE = 86_400.0  # Simulated seconds: a day
BY_HAND = "ended by hand"  # Why a drive has ended that a person has ended
_STANDING_SPEED = 0.02  # A slower car stands, m/s: physics at rest still trembles


@dataclass(frozen=True)
class DriveLimits:
    """When a drive ends."""

    offset: float = 1.2  # distance from the course's line that the car may have, metres
    standstill: float = 6.0  # time that the car may stand, simulated seconds
    duration: float = DEFAULT_LIMIT  # time that the drive may take, simulated seconds; at most `LONGEST_DRIVE`
    # Of a closed course, after which the drive is finished; 1 on an open course. None: the course ends nothing, and the
    # scene needs none.
    laps: int | None = 1

    def __post_init__(self) -> None:
        if self.laps is not None and self.laps < 1:
            raise UsageError(f"--laps {self.laps}: must be 1 or more")
        if not 0 < self.duration <= LONGEST_DRIVE:
            raise UsageError(f"--limit {self.duration:g}: must be above 0 s, and at most {LONGEST_DRIVE:g} s (a day)")


@dataclass(frozen=True)
class DrivenFrame:
    """A frame that was handed over."""

    event: FrameEvent  # when the frame was taken and handed over
    captured: CapturedFrame
    detections: Detections | None  # what the detector found, with the scene's class ids; None where nobody looked
    state: VehicleState  # how the car moved when the frame was handed over


@dataclass(frozen=True)
class DrivenCommand:
    """What the driver does from now on."""

    time: int  # simulated time, nanoseconds
    command: Command


@dataclass(frozen=True)
class RecordedFrame:
    """A frame of a camera that the car is not driven by."""

    event: FrameEvent  # when the frame was taken and handed over, and by which camera
    captured: CapturedFrame


@dataclass(frozen=True)
class DriveOutcome:
    """How a drive went."""

    finished: bool  # whether the front axle passed the end of the course, or all laps were driven
    reason: str  # why the drive ended, in a few words
    touched: tuple[str, ...]  # names of the labelled things (cones, barriers) that the car touched
    seconds: float  # simulated time from start to end
    distance: float  # distance driven along the course's line, metres
    length: float  # length of the course's line, or of all laps, metres; 0 where there is no course
    mean_offset: float  # mean distance between base_link and the course's line, metres
    max_offset: float  # largest such distance, metres
    frames: int  # number of frames that were handed over
    timed_out: bool = False  # whether the time limit ended it
    lap_times: tuple[float, ...] = ()  # simulated seconds of each lap of a closed course that was driven
    # Least distance from the car to a labelled thing that stands fast, metres; None where there is none.
    clearance: float | None = None

    @property
    def clean(self) -> bool:
        """Whether the car finished without touching anything labelled."""
        return self.finished and not self.touched

    def as_record(self) -> dict[str, object]:
        """The outcome under the names that OUT.drive.json has."""
        return {
            "finished": self.finished,
            "why": self.reason,
            "touched": self.touched,
            "seconds": self.seconds,
            "way": self.distance,
            "length": self.length,
            "mean_beside": self.mean_offset,
            "most_beside": self.max_offset,
            "frames": self.frames,
            "lap_seconds": self.lap_times,
            "clearance": self.clearance,
        }


DriveEvent = MotionSample | SensorBatch | DrivenFrame | RecordedFrame | DrivenCommand  # What happens in a drive


@dataclass
class ClosedLoop:
    """A drive along a scene's course."""

    vehicle: Vehicle
    cameras: tuple[MountedCamera, ...]  # the car's, the one that it is driven by first
    captures: Mapping[str, Capture]  # the same cameras before the engine that has the car at the start, by name
    pilot: Pilot
    limits: DriveLimits = field(default_factory=DriveLimits)
    frames: bool = True  # whether frames of the cameras are made; a pilot may need none
    images: bool = True  # whether these have images; the ground truth as a detector needs none
    sensors: tuple[SensorSpec, ...] = ()  # those of the car beside the camera
    feed: SensorFeed | None = None  # reads them; None for none
    period: float = 0.02  # simulated seconds between samples of the car's motion
    _referee: Referee | None = field(default=None, init=False)

    @property
    def capture(self) -> Capture:
        """The camera that the car is driven by, before the engine."""
        return self.captures[self.cameras[0].name]

    @property
    def engine(self) -> Engine:
        """The engine that moves and lights the scene."""
        return self.capture.engine

    @property
    def camera(self) -> Camera:
        """The camera that the car is driven by."""
        return self.capture.camera

    def run(self) -> Iterator[DriveEvent]:
        """Drive: what happens, in order of simulated time, until the drive ends."""
        lock_step = LockStep(self.engine, self.cameras, self.period, self.feed)
        referee = self._referee = Referee(self.engine, self.vehicle, self.limits)
        now = self.engine.vehicle_state()
        for event in lock_step.events():
            if isinstance(event, MotionSample):
                now = event.state
                command = self.pilot.update(now)
                referee.update(event)
                yield event
                if self.pilot.ended:
                    referee.end_reason = referee.end_reason or BY_HAND
                if referee.end_reason:
                    return
            elif isinstance(event, SensorBatch):
                command = self.pilot.read(event, now)
                yield event
            elif not self.frames:
                continue
            elif event.camera != self.cameras[0].name:
                yield RecordedFrame(event, self.captures[event.camera].capture(event.exposure, image=self.images))
                continue
            else:
                captured = self.capture.capture(event.exposure, image=self.images)
                detections, command = self.pilot.see(captured, event.stamp, now)
                referee.frames += 1
                yield DrivenFrame(event, captured, detections, now)
            if command is not None:
                self.engine.drive(command)
                yield DrivenCommand(event.time, command)

    @property
    def progress(self) -> tuple[float, float]:
        """Metres driven along the course, and metres to drive; 0 of 0 before the start."""
        return (0.0, 0.0) if self._referee is None else (self._referee.distance, self._referee.length)

    def outcome(self) -> DriveOutcome:
        """How the drive went so far; a drive that was stopped before its end has the reason "stopped"."""
        referee = self._referee or Referee(self.engine, self.vehicle, self.limits)
        return referee.outcome()


class Referee:
    """Watches a drive and decides when it ends.

    Attributes:
        progress: where the car is along the course; None where there is none.
        end_reason: why the drive has ended; empty while it has not.
        frames: number of frames that were handed over.
    """

    def __init__(self, engine: Engine, vehicle: Vehicle, limits: DriveLimits) -> None:
        self._engine, self._limits = engine, limits
        self._start = self._last_motion = self._lap_start = engine.time
        course = engine.scene.course if limits.laps is None else scene_course(engine.scene)
        self.progress = None if course is None else CourseProgress(course)
        self._lap = self._length = self._from = self._driven = 0.0
        self._last = engine.vehicle_state().pose.position[:2]
        if course is not None and self.progress is not None:
            self._length = self.progress.length * (limits.laps or 1)
            if course.closed:
                self._lap = self.progress.length
                self.progress.locate(*self._last)
                self._from = self.progress.distance
        # On an open course the front axle passes the end.
        self._end = np.inf if limits.laps is None else self._length - (0.0 if self._lap else vehicle.wheelbase)
        self._clearance = Clearance(engine)
        self._lap_times: list[float] = []
        self._offsets: list[float] = []
        self.end_reason, self.frames = "", 0
        self._timed_out = False

    def update(self, sample: MotionSample) -> None:
        """Take note of how the car has moved."""
        time, state, limits = sample.time / SECOND, sample.state, self._limits
        offset = self._follow(*state.pose.position[:2])
        self._clearance.update()
        if self._lap and self.distance >= self._lap * (len(self._lap_times) + 1):
            self._lap_times.append(time - self._lap_start)
            self._lap_start = time
        if np.hypot(*state.velocity[:2]) > _STANDING_SPEED:
            self._last_motion = time
        if self.distance >= self._end:
            self.end_reason = "finished"
        elif offset > limits.offset:
            self.end_reason = f"{offset:.1f} m beside the course"
        elif time - self._last_motion > limits.standstill:
            self.end_reason = f"stood still for {limits.standstill:g} s"
        elif time - self._start > limits.duration:
            self.end_reason, self._timed_out = f"took longer than {limits.duration:g} s", True

    def _follow(self, x: float, y: float) -> float:
        """Take note of where the car is; metres beside the course."""
        self._driven += math.dist((x, y), self._last)
        self._last = (x, y)
        if self.progress is None:
            return 0.0
        self.progress.advance_to(x, y)
        self._offsets.append(abs(self.progress.offset))
        return self._offsets[-1]

    @property
    def distance(self) -> float:
        """Metres driven along the course since the start; where there is none, metres driven."""
        return self._driven if self.progress is None else self.progress.distance - self._from

    @property
    def length(self) -> float:
        """Metres to drive: the course, or all laps; 0 where there is no course."""
        return self._length

    def outcome(self) -> DriveOutcome:
        """How the drive went so far."""
        least = self._clearance.least
        offsets = np.array(self._offsets or [0.0])
        return DriveOutcome(
            self.end_reason == "finished",
            self.end_reason or "stopped",
            tuple(sorted(self._engine.touched_things())),
            self._engine.time - self._start,
            self.distance,
            self.length,
            float(offsets.mean()),
            float(offsets.max()),
            self.frames,
            self._timed_out,
            tuple(self._lap_times),
            least if np.isfinite(least) else None,
        )


class DriveRecorder:
    """Writes what happens in a closed loop; everything at the simulated time at which it was there to be recorded."""

    def __init__(self, recording: MessageRecording, loop: ClosedLoop, *, images: bool = True) -> None:
        """Begin with the transforms that stay: the poses of the sensors on the car."""
        self._recording, self._loop, self._images = recording, loop, images
        types = standard_types().types
        self._car = VehicleMessages(lambda name: types[name], Frames(map=MAP_FRAME))
        self._others = {
            car.name: VehicleMessages(lambda name: types[name], Frames(base=f"{car.name}/{BASE}"))
            for car in loop.engine.scene.cars
        }
        self._tracker = JointTracker(loop.vehicle)
        self._cameras = {
            camera.name: CameraRecorder(recording, camera, loop.engine.scene, self._car) for camera in loop.cameras
        }
        start = round(loop.engine.time * 1e9)
        self._sensors = SensorMessages(lambda name: types[name], loop.sensors, loop.engine.scene.class_names)
        mounts = {
            **fixed_mounts(loop.vehicle.mounts, loop.cameras),
            **{spec.name: spec.mount for spec in loop.sensors if spec.body == CAR},
        }
        fixed = self._car.fixed(start, mounts, self._cameras, [BODY_LINK])
        recording.write("/tf_static", start, fixed, latched=True)
        described = self._car.description(robot_description(loop.vehicle, mounts, self._cameras))
        recording.write(f"/{DESCRIPTION_TOPIC}", start, described, latched=True)

    def record(self, event: DriveEvent) -> None:
        """Write an event of the loop."""
        if isinstance(event, MotionSample):
            self._recording.write(f"/{ODOMETRY_TOPIC}", event.time, self._car.odometry(event.time, event.state))
            joints = self._tracker.update(event.time / 1e9, event.state)
            links = wheel_links(self._loop.vehicle, joints)
            self._recording.write(f"/{JOINTS_TOPIC}", event.time, self._car.joints(event.time, joints))
            self._recording.write(TF_TOPIC, event.time, self._car.moving(event.time, event.state, links))
            for name, state in event.others.items():
                odometry = self._others[name].odometry(event.time, state)
                self._recording.write(f"/{other_odometry(name)}", event.time, odometry)
                self._recording.write(TF_TOPIC, event.time, self._others[name].moving(event.time, state))
        elif isinstance(event, SensorBatch):
            for topic, _, message in self._sensors.messages(event.events):
                self._recording.write(f"/{topic}", event.time, message)
        elif isinstance(event, RecordedFrame):
            self._cameras[event.event.camera].record(event.event.time, event.captured)
        elif isinstance(event, DrivenCommand):
            self._recording.write(f"/{INPUT_TOPIC}", event.time, self._car.input(event.time, event.command))
        else:
            time = event.event.time
            captured = event.captured if self._images else replace(event.captured, image=None)
            self._cameras[event.event.camera].record(time, captured, event.detections)


_MOST_WAITING = 16  # Events that wait to be recorded at most: sixteen images of 1280x720 with their labels are 150 MB


class RecordingThread:
    """Records the events of a loop beside it, in their order: images are encoded while the next one is rendered.

    A context manager; where it ends, all events are recorded. What fails in recording is raised by the next `record`,
    or at the end.
    """

    def __init__(self, record: Callable[[DriveEvent], None]) -> None:
        """Know who records (such as `DriveRecorder.record`); it is called in a thread of its own."""
        self._record = record
        self._waiting: Queue[DriveEvent | None] = Queue(_MOST_WAITING)
        self._error: BaseException | None = None
        self._thread = Thread(target=self._work, name="recording", daemon=True)

    def __enter__(self) -> RecordingThread:  # noqa: PYI034 - Python 3.10 has no Self
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self._waiting.put(None)
            self._thread.join()
        except BaseException as interrupt:  # a second Ctrl-C: what waits is given up, nothing is written afterwards
            self._error = self._error or interrupt
            self._waiting.put(None)
            self._thread.join()
            raise
        if self._error is not None and (error is None or is_interrupt(error)):
            raise self._error

    def record(self, event: DriveEvent) -> None:
        """Have an event recorded; waits where many others do."""
        if self._error is not None:
            raise self._error
        self._waiting.put(event)

    def _work(self) -> None:
        while (event := self._waiting.get()) is not None:
            if self._error is None:
                try:
                    self._record(event)
                except BaseException as error:  # noqa: BLE001 - handed to the thread of the loop, which raises it
                    self._error = error
