"""Trials of a driver on a course: many drives in one engine, each from a start of its own, judged by the referee.

A start is drawn by its number alone. So two worlds with the same course give pairs of trials from the same start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from simjudge.geometry.poses import Pose
from simjudge.sim.capture.capture import Capture
from simjudge.sim.capture.ground_truth import Labelling
from simjudge.sim.capture.sensor_feed import SensorFeed
from simjudge.sim.driving.closed_loop import ClosedLoop, DriveLimits, DriveOutcome
from simjudge.sim.driving.cone_driver import Driver, DriverParameters, scale_to_lane
from simjudge.sim.driving.course import lane_classes, lane_cones, scene_course
from simjudge.sim.driving.drive import DriveOptions, read_drive_setup
from simjudge.sim.driving.learnt_driver import LearntDriver
from simjudge.sim.driving.line_follower import LookAhead, SpeedController
from simjudge.sim.driving.pilots import ConePilot, GroundTruthDetector, Pilot, driving_lidar, load_frame_detector
from simjudge.sim.driving.trial_pilots import (
    DelayedPilot,
    DetectorErrors,
    LearntPilot,
    LidarConePilot,
    MeasuredConePilot,
    TrueCones,
)
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.scene.ground import Ground
from simjudge.sim.scene.model import Course

LOOK_AHEAD = "look_ahead"
CONES, LIDAR, LEARNT, IMAGES = "cones", "lidar", "learnt", "images"
TRIAL_DRIVERS = (CONES, LIDAR, LEARNT, IMAGES)
"""By what a trial is driven: true cones with a detector's errors, a lidar, learnt weights, a detector on images."""
LARGEST_OFFSET, LARGEST_HEADING = 0.1, 0.25
"""Metres and radians: starts are drawn evenly within."""
_START_STREAM = 0x57A27
_LIMITS = DriveLimits(offset=0.6, standstill=3.0, duration=45.0)


@dataclass(frozen=True)
class TrialWorld:
    """What trials are driven in.

    Attributes:
        scene: file or name of a scene with a course.
        vehicle: file or name of the car; None for the scene's own, else art1.
        lag: seconds from a driver's command to the car.
        errors: of the detector in this world's light.
        learnt: the driver that was trained; None where none drives.
        detector: that looks at images where a driver drives by them.
    """

    scene: str | Path
    vehicle: str | Path | None = None
    lag: float = 0.0
    errors: DetectorErrors = field(default_factory=DetectorErrors)
    learnt: LearntDriver | None = None
    detector: str | Path = "lab_pico"
    camera: str | Path = "plain_half"
    sensors: str | Path | None = None
    engine: str = "default"


@dataclass(frozen=True)
class TrialStart:
    """Where a trial begins: metres to the left of the line, and radians to the left of its direction."""

    offset: float
    heading: float

    @classmethod
    def of_number(cls, number: int) -> TrialStart:
        """The start of a number."""
        across, turned = np.random.default_rng((number, _START_STREAM)).uniform(-1, 1, 2).tolist()
        return cls(LARGEST_OFFSET * across, LARGEST_HEADING * turned)

    def pose(self, course: Course) -> Pose:
        """On a course."""
        return course.start() @ Pose.from_euler(0.0, self.offset, yaw=self.heading)


class TrialCourse:
    """A course in one world, driven again and again."""

    def __init__(self, world: TrialWorld) -> None:
        """Make the engine; its light comes only where something is rendered or scanned."""
        self._world = world
        options = DriveOptions(
            world.scene, world.camera, vehicle=world.vehicle, engine=world.engine, rate=10.0, sensors=world.sensors
        )
        self._setup = read_drive_setup(options)
        self._course = scene_course(self._setup.scene)
        self._engine = make_engine(world.engine, self._setup.scene, self._setup.vehicle, self._setup.start)
        self._ground = Ground.of(self._setup.scene.things)

    def close(self) -> None:
        """Give the engine back."""
        self._engine.close()

    def drive(self, by: str, manner: Mapping[str, float], start: TrialStart, seed: int) -> DriveOutcome:
        """One trial.

        Args:
            by: one of TRIAL_DRIVERS.
            manner: figures of `SpeedController` and `look_ahead` (metres), where they are not the defaults.
            seed: of what the sensors do in this trial.
        """
        loop = self.loop(by, manner, start, seed)
        for _ in loop.run():
            pass
        return loop.outcome()

    def loop(self, by: str, manner: Mapping[str, float], start: TrialStart, seed: int) -> ClosedLoop:
        """The trial, not driven yet; the engine is this course's."""
        self._engine.reset()
        self._engine.set_pose("vehicle", self._ground.stand(start.pose(self._course)))
        pilot = self._pilot(by, manner, seed)
        if self._world.lag:
            pilot = DelayedPilot(pilot, self._world.lag)
        camera = self._setup.cameras[0]
        scanned = self._setup.sensors if by == LIDAR else ()
        capture = Capture(self._engine, camera.camera, Labelling(), camera.noise_seed(seed))
        return ClosedLoop(
            self._setup.vehicle,
            (camera,),
            {camera.name: capture},
            pilot,
            _LIMITS,
            frames=pilot.needs_frames,
            images=pilot.needs_images,
            sensors=scanned,
            feed=SensorFeed(self._engine, scanned, seed) if scanned else None,
        )

    def _pilot(self, by: str, manner: Mapping[str, float], seed: int) -> Pilot:
        scene, camera = self._setup.scene, self._setup.cameras[0]
        classes, lens = lane_classes(scene), camera.camera.lens
        if by == LEARNT:
            sides = {classes.left: 1.0, classes.right: -1.0}
            return LearntPilot(GroundTruthDetector(), self._world.learnt or LearntDriver(), sides, lens.size)
        speeds = dict(manner)
        look_ahead = LookAhead(speeds.pop(LOOK_AHEAD, LookAhead.metres), LookAhead.seconds)
        parameters = DriverParameters(
            look_ahead=look_ahead,
            lane_width=self._course.width,
            right_class=classes.right,
            left_class=classes.left,
            cone=lane_cones(scene, classes),
            speed_controller=replace(SpeedController(), **speeds),
        )
        driver = Driver(self._setup.vehicle, lens, scale_to_lane(parameters), camera.mount)
        if by == LIDAR:
            return LidarConePilot(driving_lidar(self._setup.sensors, str(self._world.sensors)), driver)
        if by == IMAGES:
            return ConePilot(load_frame_detector(self._world.detector, scene), driver)
        return MeasuredConePilot(driver, TrueCones(self._engine, classes), lens, self._world.errors, seed)
