"""Trials of a driver: many drives in one engine, each from its own start, with a referee; errors of what it sees.

A start is drawn by its number alone. So two worlds with the same course give pairs of trials from the same start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import Log, no_log
from simjudge.geometry.poses import Pose
from simjudge.sim.capture.capture import Capture
from simjudge.sim.capture.ground_truth import Labelling
from simjudge.sim.capture.sensor_feed import SensorFeed
from simjudge.sim.driving.closed_loop import ClosedLoop, DriveLimits, DrivenFrame, DriveOutcome
from simjudge.sim.driving.cone_driver import Driver, DriverParameters, scale_to_lane
from simjudge.sim.driving.cones import locate_cones
from simjudge.sim.driving.course import lane_classes, lane_cones, scene_course
from simjudge.sim.driving.drive import DriveOptions, read_drive_setup
from simjudge.sim.driving.line_follower import LookAhead, SpeedController
from simjudge.sim.driving.pilots import ConePilot, GroundTruthDetector, Pilot, driving_lidar, load_frame_detector
from simjudge.sim.driving.trial_pilots import (
    DelayedPilot,
    DetectorErrors,
    LearntDriver,
    LearntPilot,
    LidarConePilot,
    MeasuredConePilot,
    TrueCones,
)
from simjudge.sim.engines.registry import make_engine
from simjudge.sim.scene.ground import Ground
from simjudge.sim.scene.model import Course
from simjudge.sim.scene.read import read_scene

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


_GATE = 0.6
"""Metres between a detected and a true cone beyond which they are not the same."""
_FEWEST = 5
"""Cones of a distance from which its figures are taken; with fewer those of `DetectorErrors` stay."""


def measure_errors(
    scenes: Sequence[str | Path],
    out: str | Path,
    *,
    detector: str | Path = "lab_pico",
    camera: str | Path = "plain_half",
    vehicle: str | Path | None = None,
    frames: int = 40,
    log: Log = no_log,
) -> DetectorErrors:
    """Drive each scene once by true cones, let a detector look at some of the pictures, and compare with the truth."""
    rows = [_looks(scene, detector, camera, vehicle, frames) for scene in scenes]
    distance, found, errors, swapped = (np.concatenate(column) for column in zip(*rows, strict=True))
    given = DetectorErrors()
    band = np.digitize(distance, given.edges) - 1
    columns: dict[str, list[float]] = {"found": [], "along": [], "across": [], "shift": []}
    counts = []
    for k in range(len(given.found)):
        own, hit = band == k, (band == k) & found
        counts.append(int(own.sum()))
        measured = counts[-1] >= _FEWEST and hit.sum() >= _FEWEST
        columns["found"].append(float(found[own].mean()) if counts[-1] >= _FEWEST else given.found[k])
        columns["along"].append(max(float(errors[hit, 0].std()), 0.01) if measured else given.along[k])
        columns["across"].append(max(float(errors[hit, 1].std()), 0.01) if measured else given.across[k])
        columns["shift"].append(float(errors[hit, 0].mean()) if measured else 0.0)
    share = float(swapped[found].mean()) if found.any() else 0.0
    measured_errors = DetectorErrors(
        edges=given.edges,
        swapped=share,
        cones=tuple(counts),
        **{key: tuple(column) for key, column in columns.items()},
    )
    measured_errors.save(Path(out))
    said = ", ".join(f"{share:.0%} of {n}" for share, n in zip(columns["found"], counts, strict=True))
    log(f"{detector}: found {said} cones within {', '.join(f'{edge:g}' for edge in given.edges[1:])} m")
    return measured_errors


def _looks(
    scene: str | Path, detector: str | Path, camera: str | Path, vehicle: str | Path | None, frames: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Of each cone in view: its distance, whether it was found, its error along and across the ray, other class."""
    course = TrialCourse(TrialWorld(scene, vehicle, camera=camera))
    loop = course.loop(CONES, {"fastest": 1.0}, TrialStart(0.0, 0.0), 0)
    loop.frames = loop.images = True
    world = read_scene(scene, 0)
    classes, finder = lane_classes(world), load_frame_detector(detector, world)
    shape, cones, lens = lane_cones(world, classes), TrueCones(loop.engine, classes), loop.camera.lens
    out, seen_frames = [], 0
    for event in loop.run():
        if not isinstance(event, DrivenFrame):
            continue
        seen_frames += 1
        pose = event.event.exposure.scene_states[0].camera
        seen = locate_cones(finder(event.captured), lens, pose, shape)
        places = cones.positions()
        rows = cones.in_view(places, pose, lens)
        origin = np.array(pose.position[:2])
        away = places[rows] - origin
        distance = np.linalg.norm(away, axis=1)
        rows, away, distance = rows[distance < 5.5], away[distance < 5.5], distance[distance < 5.5]
        apart = np.linalg.norm(places[rows][:, None] - seen.position, axis=2)
        one, other = linear_sum_assignment(np.minimum(apart, 1e3))
        good = apart[one, other] < _GATE
        found, errors, swapped = np.zeros(len(rows), bool), np.zeros((len(rows), 2)), np.zeros(len(rows), bool)
        for i, j in zip(one[good], other[good], strict=True):
            ray = away[i] / distance[i]
            error = seen.position[j] - places[rows][i]
            found[i] = True
            errors[i] = ray @ error, -ray[1] * error[0] + ray[0] * error[1]
            swapped[i] = seen.class_id[j] != cones.class_id[rows][i]
        out.append((distance, found, errors, swapped))
        if seen_frames >= frames:
            break
    course.close()
    distance, found, errors, swapped = (np.concatenate(column) for column in zip(*out, strict=True))
    return distance, found, errors, swapped
