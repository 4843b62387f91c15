"""Who drives in a closed loop: by cones in images, by a lidar between barriers, by hand, or straight along the line."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.frames import FrameSet
from simjudge.detectors.detection import load_detector
from simjudge.detectors.detector import Detections, Detector, map_classes
from simjudge.detectors.detector_settings import DEFAULT_MIN_SCORE
from simjudge.sim.capture.capture import CapturedFrame
from simjudge.sim.capture.sensor_feed import CapturedScan, SensorBatch, SensorEvent
from simjudge.sim.driving.cone_driver import Driver
from simjudge.sim.driving.course import lane_classes
from simjudge.sim.driving.drive_settings import DEFAULT_LIDAR
from simjudge.sim.driving.line_follower import BarrierDriver, ScanPoints
from simjudge.sim.driving.manual import Keyboard, ManualDriver
from simjudge.sim.engines.chrono.other_sensors import Reading
from simjudge.sim.scene.model import Scene
from simjudge.sim.sensors.camera.camera import SECOND
from simjudge.sim.sensors.lidar.lidar import LidarSpec
from simjudge.sim.sensors.sensor_spec import CAR, SensorSpec
from simjudge.sim.vehicle.line_driver import StraightDriver
from simjudge.sim.vehicle.vehicle import Command, Vehicle, VehicleState

GROUND_TRUTH = "ground_truth"  # Name of the detector that returns the ground truth


class FrameDetector(Protocol):
    """Finds cones in a captured frame."""

    @property
    def name(self) -> str:
        """The detector's name."""

    @property
    def needs_images(self) -> bool:
        """Whether the detector sees the image."""

    def __call__(self, frame: CapturedFrame) -> Detections:
        """The detections, with the scene's class ids (frame: a captured frame)."""


@dataclass(frozen=True)
class GroundTruthDetector:
    """The ground truth as detections of score 1."""

    name: str = GROUND_TRUTH
    needs_images: bool = False

    def __call__(self, frame: CapturedFrame) -> Detections:
        """The labelled objects."""
        objects = frame.truth.objects
        return Detections.build(objects.class_id, objects.box, np.ones(len(objects)))


@dataclass(frozen=True)
class ImageDetector:
    """A detector that sees the image."""

    detector: Detector
    class_ids: Mapping[int, int] | None = None  # the scene's class id by the detector's; None where they mean the same
    needs_images: bool = field(default=True, init=False)

    @property
    def name(self) -> str:
        """The detector's name."""
        return self.detector.name

    def __call__(self, frame: CapturedFrame) -> Detections:
        """The detections of the scene's classes."""
        if frame.image is None:
            raise ValueError(f"{self.name} looks at pictures, and none was made")
        found = self.detector([frame.image.pixels])[0]
        if self.class_ids is None:
            return found
        kept = np.isin(found.class_id, list(self.class_ids))
        class_id = [self.class_ids[int(number)] for number in found.class_id[kept]]
        return Detections.build(class_id, found.box[kept], found.score[kept])


def load_frame_detector(
    detector: str | Path | Detector, scene: Scene, min_score: float = DEFAULT_MIN_SCORE
) -> FrameDetector:
    """The frame detector of a name; a detector's classes are matched with the scene's by name."""
    sides = lane_classes(scene)
    if detector == GROUND_TRUTH:
        return GroundTruthDetector()
    loaded = load_detector(detector, min_score=min_score) if isinstance(detector, str | Path) else detector
    known = FrameSet.build(scene.name, [], class_names=dict(scene.class_names))
    ids = map_classes(loaded.name, loaded.class_names, known).ids
    lacking = [scene.class_names.get(side, str(side)) for side in sides if ids is not None and side not in ids.values()]
    if lacking:
        raise SimjudgeError(f"{loaded.name} does not know {', '.join(lacking)}, which {scene.name} is driven by")
    return ImageDetector(loaded, ids)


_GLANCE = 0.02  # Seconds between looks at the keys while the wall's clock is waited for
_LATE = 0.2  # Seconds that a drive by hand may lag behind the wall's clock, and then catch up
_TELL = 0.2  # Seconds between lines about the drive


class Pilot(Protocol):
    """Drives in a closed loop. What gives no command lets the last one hold."""

    @property
    def name(self) -> str:
        """What it drives by, for people."""

    @property
    def ended(self) -> bool:
        """Whether it has had enough."""

    @property
    def needs_frames(self) -> bool:
        """Whether it looks at the camera's frames."""

    @property
    def needs_images(self) -> bool:
        """Whether it looks at their images, too."""

    def update(self, state: VehicleState) -> Command | None:
        """Take note of how the car moves, often (state of the car now)."""

    def read(self, batch: SensorBatch, state: VehicleState) -> Command | None:
        """Take what the car's sensors hand over (batch: the readings; state of the car now)."""

    def see(self, frame: CapturedFrame, stamp: int, state: VehicleState) -> tuple[Detections | None, Command | None]:
        """Take a frame of the car's camera: what was detected in it, None where nobody looked (stamp: nanoseconds)."""


@dataclass(frozen=True)
class ConePilot:
    """Drives by the cones that a detector finds."""

    detector: FrameDetector
    driver: Driver

    needs_frames, ended = True, False

    @property
    def name(self) -> str:
        """The detector's name."""
        return self.detector.name

    @property
    def needs_images(self) -> bool:
        """Whether the detector sees the image."""
        return self.detector.needs_images

    def update(self, state: VehicleState) -> None:
        """Take note of how the car moves: see `Pilot.update`."""
        self.driver.update_odometry(state)

    def read(self, batch: SensorBatch, state: VehicleState) -> None:
        """Nothing: it drives by images."""

    def see(self, frame: CapturedFrame, stamp: int, state: VehicleState) -> tuple[Detections, Command]:
        """Find cones, and drive by them: see `Pilot.see`."""
        found = self.detector(frame)
        return found, self.driver.drive(found, stamp / SECOND, state)


class ScanPilot(ABC):
    """Drives by the scans of one lidar."""

    spec: LidarSpec
    driver: Driver | BarrierDriver

    needs_frames = needs_images = ended = False

    @abstractmethod
    def drive(self, scan: SensorEvent, state: VehicleState) -> Command | None:
        """Drive by a scan of the lidar; None where it tells nothing."""

    def update(self, state: VehicleState) -> None:
        """Take note of how the car moves: see `Pilot.update`."""
        self.driver.update_odometry(state)

    def read(self, batch: SensorBatch, state: VehicleState) -> Command | None:
        """Drive by what the lidar says: see `Pilot.read`."""
        command = None
        for event in batch.events:
            if event.spec.name == self.spec.name:
                command = self.drive(event, state) or command
        return command

    def see(self, frame: CapturedFrame, stamp: int, state: VehicleState) -> tuple[None, None]:  # noqa: ARG002
        """Nothing: it drives by scans."""
        return None, None


@dataclass(frozen=True)
class LidarPilot(ScanPilot):
    """Drives between barriers."""

    spec: LidarSpec
    driver: BarrierDriver

    @property
    def name(self) -> str:
        """The lidar's name."""
        return f"lidar {self.spec.name}"

    def drive(self, scan: SensorEvent, state: VehicleState) -> Command:
        """Drive by the points of a scan."""
        return self.driver.drive(_points_of(scan), scan.stamp / SECOND, state)


def _points_of(scan: SensorEvent) -> ScanPoints:
    """The points of a lidar's scan; a lidar of Chrono's own fires all beams at once."""
    if isinstance(scan.reading, CapturedScan):
        return ScanPoints(scan.reading.scan.points, scan.reading.scan.time)
    assert isinstance(scan.reading, Reading)  # noqa: S101 - a lidar's other readings are scans
    points = scan.reading.values[:, :3]
    return ScanPoints(points, np.zeros(len(points)))


@dataclass(frozen=True)
class StraightPilot:
    """Drives along the course's line by the car's true pose."""

    driver: StraightDriver

    needs_frames = needs_images = ended = False
    name = "straight along the course"

    def update(self, state: VehicleState) -> Command:
        """Steer for the line, hold the speed: see `Pilot.update`."""
        return self.driver.drive(state)

    def read(self, batch: SensorBatch, state: VehicleState) -> None:
        """Nothing: it looks at no sensors."""

    def see(self, frame: CapturedFrame, stamp: int, state: VehicleState) -> tuple[None, None]:  # noqa: ARG002
        """Nothing: it looks at no images."""
        return None, None


class ManualPilot:
    """Drives by a person's keys, at the pace of the wall's clock.

    Attributes:
        keyboard: that the keys are from; a context manager, to be entered before the drive.
    """

    needs_frames = needs_images = False
    name = "by hand"

    def __init__(self, vehicle: Vehicle, keyboard: Keyboard, tell: Callable[[str], None]) -> None:
        """Wait for the person (tell: told a few times a second what the car does)."""
        self.keyboard, self._driver, self._tell = keyboard, ManualDriver(vehicle), tell
        self._offset: float | None = None
        self._told = 0.0

    @property
    def ended(self) -> bool:
        """Whether the person has asked to end."""
        return self._driver.ended

    def update(self, state: VehicleState) -> Command:
        """Wait until the wall's clock is there, and do what the keys say: see `Pilot.update`."""
        ahead = self._ahead(state.time)
        while ahead > 0 and not self.ended:
            time.sleep(min(ahead, _GLANCE))
            self._driver.press(self.keyboard.keys(), state.time)
            ahead = self._ahead(state.time)
        self._driver.press(self.keyboard.keys(), state.time)
        command = self._driver.command(state)
        if time.monotonic() - self._told > _TELL:
            self._told = time.monotonic()
            self._tell(_describe_drive(state, command))
        return command

    def read(self, batch: SensorBatch, state: VehicleState) -> None:
        """Nothing: it drives by keys."""

    def see(self, frame: CapturedFrame, stamp: int, state: VehicleState) -> tuple[None, None]:  # noqa: ARG002
        """Nothing: it drives by keys."""
        return None, None

    def _ahead(self, simulated: float) -> float:
        """Seconds by which simulated time is ahead of the wall's clock; what is far behind is not caught up with."""
        now = time.monotonic()
        if self._offset is None or now - self._offset > simulated + _LATE:
            self._offset = now - simulated
        return simulated - (now - self._offset)


def _describe_drive(state: VehicleState, command: Command) -> str:
    x, y, _ = state.pose.position
    pedal = f"brake {command.braking:.0%}" if command.braking else f"throttle {command.throttle:.0%}"
    side = "left" if command.steering > 0 else "right"
    wheel = f"{side} {abs(command.steering):.0%}" if command.steering else "straight"
    return f"{state.time:6.1f} s  {state.velocity[0]:5.2f} m/s  {pedal}  {wheel}  at {x:.1f}, {y:.1f} m"


def driving_lidar(sensors: tuple[SensorSpec, ...], given: str) -> LidarSpec:
    """The lidar that a car drives by: the first one on the car itself."""
    for spec in sensors:
        if isinstance(spec, LidarSpec) and spec.body == CAR:
            return spec
    raise UsageError(f"driver lidar: sensors {given} has no lidar on the car; add one, or take {DEFAULT_LIDAR}")
