"""Who drives in a closed loop: by cones in images, by a lidar between barriers, by hand, or straight along the line."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from simjudge.core.errors import UsageError
from simjudge.detectors.detector import Detections
from simjudge.sim.capture.capture import CapturedFrame
from simjudge.sim.capture.scanning import CapturedScan
from simjudge.sim.capture.sensor_feed import SensorBatch, SensorEvent
from simjudge.sim.driving.barrier_driver import BarrierDriver, ScanPoints
from simjudge.sim.driving.driver import Driver
from simjudge.sim.driving.driver_kinds import DEFAULT_LIDAR
from simjudge.sim.driving.frame_detectors import FrameDetector
from simjudge.sim.driving.keyboard import Keyboard
from simjudge.sim.driving.manual import ManualDriver
from simjudge.sim.driving.straight_driver import StraightDriver
from simjudge.sim.sensors.camera.camera import SECOND
from simjudge.sim.sensors.lidar.lidar_fields import LidarSpec
from simjudge.sim.sensors.sensor_spec import CAR, SensorSpec
from simjudge.sim.vehicle.vehicle import Command, Vehicle, VehicleState

_GLANCE = 0.02
"""Seconds between looks at the keys while the wall's clock is waited for."""
_LATE = 0.2
"""Seconds that a drive by hand may lag behind the wall's clock, and then catch up."""
_TELL = 0.2
"""Seconds between lines about the drive."""


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
        """Take note of how the car moves, often.

        Args:
            state: of the car now.
        """

    def read(self, batch: SensorBatch, state: VehicleState) -> Command | None:
        """Take what the car's sensors hand over.

        Args:
            batch: the readings.
            state: of the car now.
        """

    def see(self, frame: CapturedFrame, stamp: int, state: VehicleState) -> tuple[Detections | None, Command | None]:
        """Take a frame of the car's camera.

        Args:
            frame: the frame.
            stamp: nanoseconds.
            state: of the car now.

        Returns:
            What was detected in it, None where nobody looked, and the command.
        """


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


@dataclass(frozen=True)
class LidarPilot:
    """Drives by the scans of one lidar."""

    spec: LidarSpec
    driver: BarrierDriver

    needs_frames = needs_images = ended = False

    @property
    def name(self) -> str:
        """The lidar's name."""
        return f"lidar {self.spec.name}"

    def update(self, state: VehicleState) -> None:
        """Take note of how the car moves: see `Pilot.update`."""
        self.driver.update_odometry(state)

    def read(self, batch: SensorBatch, state: VehicleState) -> Command | None:
        """Drive by a scan: see `Pilot.read`."""
        command = None
        for event in batch.events:
            if event.spec.name == self.spec.name:
                command = self.driver.drive(_points_of(event), event.stamp / SECOND, state)
        return command

    def see(self, frame: CapturedFrame, stamp: int, state: VehicleState) -> tuple[None, None]:  # noqa: ARG002
        """Nothing: it drives by scans."""
        return None, None


def _points_of(scan: SensorEvent) -> ScanPoints:
    """The points of a lidar's scan; a lidar of Chrono's own fires all beams at once."""
    if isinstance(scan.reading, CapturedScan):
        return ScanPoints(scan.reading.scan.points, scan.reading.scan.time)
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
        """Wait for the person.

        Args:
            tell: told a few times a second what the car does.
        """
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
