"""A drive of a scene's course in closed loop, from the names of its scene, camera, detector, vehicle and engine."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from simjudge.core.arrays import hash_value
from simjudge.core.errors import Log, ProgressBar, UsageError, no_log, no_progress
from simjudge.core.files import atomic_file, check_output_and_record, output_path
from simjudge.core.installed import DEFAULT_CAMERA, version
from simjudge.core.settings import takes_setting_keywords
from simjudge.data.rosbag2.interfaces import CAMERA
from simjudge.data.rosbag2.live_recording import describe_unfinished, record_messages
from simjudge.detectors.detector import Detector
from simjudge.detectors.detector_settings import DEFAULT_MIN_SCORE
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.capture import Capture
from simjudge.sim.capture.ground_truth import Labelling
from simjudge.sim.capture.sensor_feed import SensorFeed
from simjudge.sim.driving.closed_loop import (
    DEFAULT_LIMIT,
    LONGEST_DRIVE,
    ClosedLoop,
    DriveLimits,
    DriveOutcome,
    DriveRecorder,
    RecordingThread,
)
from simjudge.sim.driving.cone_driver import Driver, DriverParameters, lane_speeds, scale_to_lane
from simjudge.sim.driving.course import lane_classes, lane_cones, scene_course, start_pose
from simjudge.sim.driving.drive_settings import CONES, DEFAULT_LIDAR, DRIVERS, LIDAR, MANUAL, STRAIGHT, DrivingSettings
from simjudge.sim.driving.line_follower import BarrierDriver
from simjudge.sim.driving.manual import KEYS, Keyboard, has_keys
from simjudge.sim.driving.pilots import (
    GROUND_TRUTH,
    ConePilot,
    LidarPilot,
    ManualPilot,
    Pilot,
    StraightPilot,
    driving_lidar,
    load_frame_detector,
)
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.scene.ground import Ground
from simjudge.sim.scene.model import Scene
from simjudge.sim.scene.read import read_scene
from simjudge.sim.sensors.camera.camera import Camera
from simjudge.sim.sensors.camera.rig import MountedCamera, read_rig
from simjudge.sim.sensors.sensor_file import read_sensors
from simjudge.sim.sensors.sensor_spec import SensorSpec
from simjudge.sim.vehicle.line_driver import StraightDriver
from simjudge.sim.vehicle.other_cars import read_other_cars
from simjudge.sim.vehicle.vehicle import DEFAULT_CAR, Vehicle, read_vehicle

# Seconds between samples of the motion of a car that is driven straight: its poses are to move a virtual sensor.
_STRAIGHT_PERIOD = 0.005


@dataclass(frozen=True)
class DriveOptions:
    """What is to be driven."""

    scene: str | Path  # file, or name of a scene that comes with simjudge
    camera: str | Path | Camera  # file or name of the car's camera or of a rig, or a camera
    detector: str | Path | Detector = GROUND_TRUTH  # file or name of a detector, GROUND_TRUTH, or a detector
    vehicle: str | Path | None = None  # file or name of the car; None for the scene's own, else art1
    engine: str = "default"  # name of the engine, or `package:Class` (`simjudge.sim.engines.registry`)
    seed: int = 0  # seed of the scene's placements, the camera's noise and the car's start
    rate: float | None = None  # frames a second of the camera that drives; None for its own
    # Whether images are made also where the detector needs none, and frames of cameras that do not drive.
    images: bool = True
    min_score: float = DEFAULT_MIN_SCORE  # detections below this score do not count, 0 to 1
    # File, or name of a set of sensors that comes with simjudge; None for none beside the camera, or DEFAULT_LIDAR
    # where the car drives by lidar.
    sensors: str | Path | None = None
    driver: str = CONES  # who drives, one of `simjudge.sim.driving.drive_settings.DRIVERS`
    speed: float | None = None  # that driver straight holds, m/s; None for 5, or half of what the car can do
    labelling: Labelling = field(default_factory=Labelling)  # which things are labelled in the frames

    def __post_init__(self) -> None:
        if self.driver not in DRIVERS:
            raise UsageError(f"driver {self.driver}: one of {', '.join(DRIVERS)} is needed")
        if self.driver != CONES and self.detector != GROUND_TRUTH:
            raise UsageError(f"driver {self.driver} looks for no cones: leave the detector out, or take driver {CONES}")
        if self.speed is not None and self.driver != STRAIGHT:
            raise UsageError(f"--speed: driver {self.driver} sets its own; leave it out, or take driver {STRAIGHT}")
        if self.driver == LIDAR and self.sensors is None:
            object.__setattr__(self, "sensors", DEFAULT_LIDAR)


@dataclass(frozen=True)
class DriveSetup:
    """What a simulated drive needs, whoever drives."""

    scene: Scene
    vehicle: Vehicle
    cameras: tuple[MountedCamera, ...]  # the car's; the one that drives is the first, at the rate of the drive
    start: Pose | None  # pose of the car's base_link in the world; None where the scene has no course
    sensors: tuple[SensorSpec, ...] = ()


@dataclass(frozen=True)
class DriveResult:
    """How a drive went, and where it was recorded."""

    outcome: DriveOutcome
    path: Path | None  # the recording; None where none was made
    record_path: Path | None  # the JSON file that says what was done; None without a recording
    wall_seconds: float  # time that the drive took, seconds of the wall clock

    def __str__(self) -> str:
        outcome = self.outcome
        touched = f", touched {', '.join(outcome.touched)}" if outcome.touched else ""
        return f"{outcome.reason} after {outcome.distance:.1f} of {outcome.length:.1f} m{touched}"


@takes_setting_keywords
def drive(
    scene: str | Path,
    out: str | Path | None = None,
    *,
    camera: str | Path | Camera = DEFAULT_CAMERA,
    detector: str | Path | Detector = GROUND_TRUTH,
    settings: DrivingSettings,
    log: Log = no_log,
    progress: ProgressBar = no_progress,
) -> DriveResult:
    """Drive a course in closed loop: camera, detector, driver, physics.

    Simulated time waits for the driver: the same call gives the same drive on any machine.

    Args:
        scene: file of a scene with a course, or the name of one that comes with simjudge.
        out: the recording to write: x.mcap, x.db3, or a folder; None for none.
        camera: file or name of the car's camera, or of a rig of several; or a camera.
        detector: finds the cones: file or name of a detector, a detector, or "ground_truth".
        settings: all settings at once; keywords change single ones.
        log: receives lines that a person should read.
        progress: opens a progress bar.

    Returns:
        How the drive went; a drive that does not finish is a result too.

    Raises:
        UsageError: options do not go together, or a name is unknown.
        SimjudgeError: something cannot be read or written, or `out` exists.
    """
    target = None if out is None else output_path(Path(out))
    if target is not None:
        check_output_and_record(target, _record_path)
        for line in describe_unfinished(target.parent):
            log(line)
    options = DriveOptions(
        scene,
        camera,
        detector,
        settings.vehicle,
        settings.engine,
        settings.seed,
        settings.rate,
        settings.images and target is not None,
        settings.min_score,
        settings.sensors,
        settings.driver,
        settings.speed,
        Labelling(settings.min_size, settings.min_visible),
    )
    loop = make_closed_loop(options, drive_limits(settings.driver, settings.laps, settings.limit))
    about = describe_drive(options, loop)
    begin = time.monotonic()
    with ExitStack() as stack:
        stack.callback(loop.engine.close)
        if isinstance(loop.pilot, ManualPilot):
            log(KEYS)
            stack.enter_context(loop.pilot.keyboard)
            progress = no_progress
        cameras = f"{describe_cameras(loop.cameras)}, " if loop.frames else ""
        log(f"{cameras}{loop.pilot.name}, {loop.engine.variant}")
        recorder = None
        if target is not None:
            recording = stack.enter_context(record_messages(target, {"simjudge": json.dumps(about, indent=2)}))
            made = DriveRecorder(recording, loop, images=settings.images)
            recorder = stack.enter_context(RecordingThread(made.record))
        try:
            _run(loop, recorder, progress)
        finally:
            outcome = loop.outcome()
            if not outcome.finished:
                of = f" of {outcome.length:.1f}" if outcome.length else ""
                way = f"{outcome.distance:.1f}{of} m"
                log(f"{outcome.reason} after {way}, {outcome.frames} frames")
    if target is None:
        return DriveResult(outcome, None, None, time.monotonic() - begin)
    record_path = _record_path(target)
    with atomic_file(record_path) as file:
        file.write_text(json.dumps({**about, "outcome": outcome.as_record()}, indent=2) + "\n", encoding="utf-8")
    return DriveResult(outcome, target, record_path, time.monotonic() - begin)


def _record_path(out: Path) -> Path:
    return out.with_name(f"{out.name}.drive.json")


def _run(loop: ClosedLoop, recorder: RecordingThread | None, progress: ProgressBar) -> None:
    with progress("driving, metres") as advance:
        for event in loop.run():
            if recorder is not None:
                recorder.record(event)
            driven, length = loop.progress
            advance(max(math.floor(driven), 0), math.ceil(length))


def read_drive_setup(options: DriveOptions) -> DriveSetup:
    """Read scene, vehicle and camera."""
    scene = read_scene(options.scene, options.seed)
    vehicle = read_vehicle(options.vehicle or scene.vehicle or DEFAULT_CAR)
    rig = read_rig(options.camera)
    if rig.names == (CAMERA,) and CAMERA not in vehicle.mounts and rig.cameras[0][1] is None:
        raise UsageError(f"{vehicle.name}: has no mount called camera; give one under mounts")
    first, *others = rig.mounted(vehicle.mounts)
    if options.rate is not None:
        first = replace(first, camera=first.camera.at_rate(options.rate))
    sensors = () if options.sensors is None else read_sensors(options.sensors, places=vehicle.places)
    for spec in sensors:
        if spec.name in {*vehicle.mounts, *rig.names}:
            raise UsageError(f"sensors {options.sensors}: {spec.name}: the car has such a mount; call it otherwise")
    # By hand, any scene can be driven.
    course = scene.course if options.driver == MANUAL else scene_course(scene)
    start = None if course is None else Ground.of(scene.things).stand(start_pose(course, options.seed))
    return DriveSetup(scene, vehicle, (first, *others), start, sensors)


def make_closed_loop(options: DriveOptions, limits: DriveLimits | None = None) -> ClosedLoop:
    """Put a drive together. The caller closes the loop's engine."""
    setup, limits = read_drive_setup(options), limits or DriveLimits()
    check_laps(setup.scene, limits.laps)
    pilot = make_pilot(options, setup)
    engine = make_engine(options.engine, setup.scene, setup.vehicle, setup.start)
    cameras = setup.cameras if options.images else setup.cameras[:1]
    return ClosedLoop(
        setup.vehicle,
        cameras,
        {
            camera.name: Capture(engine, camera.camera, options.labelling, camera.noise_seed(options.seed))
            for camera in cameras
        },
        pilot,
        limits,
        frames=options.images or pilot.needs_frames,
        images=options.images or pilot.needs_images,
        sensors=setup.sensors,
        feed=SensorFeed(engine, setup.sensors, options.seed) if setup.sensors else None,
        period=_STRAIGHT_PERIOD if options.driver == STRAIGHT else ClosedLoop.period,
    )


def drive_limits(driver: str, laps: int | None, limit: float | None, standstill: float | None = None) -> DriveLimits:
    """When a drive ends (limit: simulated seconds; standstill: simulated seconds that the car may stand)."""
    if driver == MANUAL:
        return DriveLimits(math.inf, math.inf, LONGEST_DRIVE if limit is None else limit, laps)
    laps = 1 if laps is None else laps
    duration = min(DEFAULT_LIMIT * laps, LONGEST_DRIVE) if limit is None else limit
    return DriveLimits(duration=duration, laps=laps, standstill=standstill or DriveLimits.standstill)


def check_laps(scene: Scene, laps: int | None) -> None:
    """Make sure that a scene can be driven for some laps (laps: 1 or more; None for no end)."""
    if laps is not None and laps > 1 and not scene_course(scene).closed:
        where = scene.path or scene.name
        raise UsageError(f"{laps} laps: the course of {where} is not closed; leave laps out, or close it")


def make_pilot(options: DriveOptions, setup: DriveSetup) -> Pilot:
    """Who drives."""
    if options.driver == MANUAL:
        if not has_keys(sys.stdin.fileno()):
            raise UsageError(
                "driver manual: keys come from a terminal or a pipe, and stdin is neither; run it in a"
                " terminal, or by topics: simjudge ros run sim driver:=manual"
            )
        return ManualPilot(setup.vehicle, Keyboard(sys.stdin.fileno()), _tell_on_terminal)
    if options.driver == STRAIGHT:
        return StraightPilot(StraightDriver(setup.vehicle, scene_course(setup.scene), options.speed))
    if options.driver == LIDAR:
        spec = driving_lidar(setup.sensors, str(options.sensors))
        return LidarPilot(spec, BarrierDriver(setup.vehicle, spec.mount, deskewed=spec.model().deskew))
    detector = load_frame_detector(options.detector, setup.scene, options.min_score)
    course, classes = scene_course(setup.scene), lane_classes(setup.scene)
    parameters = DriverParameters(
        lane_width=course.width,
        right_class=classes.right,
        left_class=classes.left,
        cone=lane_cones(setup.scene, classes),
        speed_controller=lane_speeds(course.width),
    )
    first = setup.cameras[0]
    return ConePilot(detector, Driver(setup.vehicle, first.camera.lens, scale_to_lane(parameters), first.mount))


def _tell_on_terminal(line: str) -> None:
    if sys.stderr.isatty():
        terminal = getattr(sys.stderr, "rich_proxied_file", sys.stderr)
        terminal.write(f"\r\x1b[K{line}")
        terminal.flush()


def describe_drive(options: DriveOptions, loop: ClosedLoop) -> dict[str, object]:
    """All that a drive depends on, as JSON has it."""
    scene, camera = loop.engine.scene, loop.camera
    about = {
        "version": version(),
        "scene": {"name": scene.name, "path": str(scene.path), "seed": scene.seed, "sha256": hash_value(scene)},
        "camera": {"name": camera.name, "path": str(camera.path), "sha256": hash_value(camera)},
        "detector": str(options.detector) if isinstance(options.detector, str | Path) else options.detector.name,
        "vehicle": {"name": loop.vehicle.name, "sha256": hash_value(loop.vehicle)},
        "engine": {"name": loop.engine.name, "variant": loop.engine.variant},
        "seed": options.seed,
        "rate": options.rate,
        "pictures": options.images,
        "min_score": options.min_score,
        "sensors": {"file": str(options.sensors or ""), "sha256": hash_value(loop.sensors)},
        "driver": options.driver,
        "speed": options.speed,
        "labels": {"min_size": options.labelling.min_size, "min_visible": options.labelling.min_visible},
        "laps": loop.limits.laps,
    }
    if scene.cars:
        about["cars"] = {car.name: hash_value(car.vehicle) for car in read_other_cars(scene)[1]}
    if [mounted.name for mounted in loop.cameras] != [CAMERA]:
        about["cameras"] = {
            mounted.name: {"name": mounted.camera.name, "path": str(mounted.camera.path), "sha256": hash_value(mounted)}
            for mounted in loop.cameras
        }
    return about


def describe_cameras(cameras: Sequence[MountedCamera]) -> str:
    """For people: one camera by its own name, several by those of the rig, each with its rate."""
    if len(cameras) == 1:
        return f"{cameras[0].camera.name} at {cameras[0].camera.rate:g} Hz"
    return ", ".join(f"{camera.name} ({camera.camera.name} at {camera.camera.rate:g} Hz)" for camera in cameras)
