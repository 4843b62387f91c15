"""Who drives in a closed loop: by cones that a detector finds in images, or by a lidar between barriers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from simjudge.capture.capture import CapturedFrame
from simjudge.capture.scanning import CapturedScan
from simjudge.capture.sensor_feed import SensorBatch
from simjudge.core.errors import UsageError
from simjudge.driving.barrier_driver import BarrierDriver, ScanPoints
from simjudge.driving.driver import Driver
from simjudge.driving.driver_kinds import DEFAULT_LIDAR
from simjudge.driving.frame_detectors import FrameDetector
from simjudge.perception.detector import Detections
from simjudge.sensors.camera.shutter import SECOND
from simjudge.sensors.lidar.lidar_fields import LidarSpec
from simjudge.sensors.sensor_spec import CAR, SensorSpec
from simjudge.vehicle.vehicle import Command, VehicleState


class Pilot(Protocol):
    """Drives in a closed loop. What gives no command lets the last one hold."""

    @property
    def name(self) -> str:
        """What it drives by, for people."""

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
    """Drives by the cones that a detector finds.

    Attributes:
        detector: finds the cones.
        driver: drives by them.
    """

    detector: FrameDetector
    driver: Driver

    needs_frames = True

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
    """Drives by the scans of one lidar.

    Attributes:
        spec: the lidar's.
        driver: drives by its scans.
    """

    spec: LidarSpec
    driver: BarrierDriver

    needs_frames = needs_images = False

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
            if event.spec.name == self.spec.name and isinstance(event.reading, CapturedScan):
                scan = event.reading.scan
                command = self.driver.drive(ScanPoints(scan.points, scan.time), event.stamp / SECOND, state)
        return command

    def see(self, frame: CapturedFrame, stamp: int, state: VehicleState) -> tuple[None, None]:  # noqa: ARG002
        """Nothing: it drives by scans."""
        return None, None


def driving_lidar(sensors: tuple[SensorSpec, ...], given: str) -> LidarSpec:
    """The lidar that a car drives by: the first one on the car itself.

    Args:
        sensors: of the car.
        given: the file or name they are from, for the message.

    Raises:
        UsageError: there is none.
    """
    for spec in sensors:
        if isinstance(spec, LidarSpec) and spec.body == CAR:
            return spec
    raise UsageError(f"driver lidar: sensors {given} has no lidar on the car; add one, or take {DEFAULT_LIDAR}")
