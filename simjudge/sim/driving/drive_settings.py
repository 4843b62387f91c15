"""Who can drive, and the settings of a drive in closed loop (see `simjudge.core.settings`)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from simjudge.core.settings import EngineSettings, LabelSettings, file_or_name, setting
from simjudge.detectors.detector_settings import DEFAULT_MIN_SCORE

CONES = "cones"  # By cones that a detector finds in the camera's images
LIDAR = "lidar"  # By a lidar, between two barriers
MANUAL = "manual"  # By hand: keys, and on a graph a joystick or a wanted speed
STRAIGHT = "straight"  # Along the course's line by the car's true pose, at a set speed: it looks at nothing
OTHER = "other"  # By software of somebody else's, on a graph
DRIVERS = (CONES, LIDAR, MANUAL, STRAIGHT)  # Who can drive without a graph
CONE_RADIUS, CONE_HEIGHT = 0.04, 0.077  # Metres, of ART-1's cones
FASTEST, SLOWEST, LATERAL_ACCELERATION = 1.5, 0.5, 1.2  # m/s, m/s^2
LEAST_SCORE = 0.25  # Boxes with a lower score steer nobody
PEDALS_AXIS, STEERING_AXIS, ENABLE_BUTTON = 5, 2, 0  # Of a joystick, as teleop_twist_joy has them
DEFAULT_LIDAR = "vlp16"  # The sensors of a car that drives by lidar and whose user names none


@dataclass(frozen=True, kw_only=True)
class DrivingSettings(EngineSettings, LabelSettings, panel="Drive"):
    """The settings of a drive."""

    # Who drives, one of `simjudge.sim.driving.drive_settings.DRIVERS`; straight is by the true pose, and its motion is
    # recorded at 200 Hz.
    driver: str = setting(
        CONES,
        "Driver: cones (in images), lidar (between barriers), manual (keyboard), or straight (along the course).",
        form=file_or_name("cones|lidar|manual|straight"),
        common=True,
    )
    laps: int | None = setting(
        None, "Laps of a closed course. Default: 1, or endless with --driver manual.", low=1, common=True
    )
    vehicle: str | Path | None = setting(
        None, "Vehicle. Default: the scene's own, or art1.", form=file_or_name(), common=True
    )
    sensors: str | Path | None = setting(
        None,
        "Sensors to record beside the camera: lidar, IMU, GPS, ... Default: vlp16 with --driver lidar.",
        form=file_or_name(),
        common=True,
    )
    seed: int = setting(0, "Seed of scene, camera noise and start pose.", low=0, common=True)
    # That driver straight holds, m/s; None for 5, or half of what the car can do.
    speed: float | None = setting(None, "Speed of the straight driver. Default: 5.", unit="m/s")
    rate: float | None = setting(None, "Frame rate of the driver's camera. Default: its own.", unit="Hz")
    min_score: float = setting(
        DEFAULT_MIN_SCORE,
        "Score below which detections are not recorded; the driver uses those from 0.25 on.",
        low=0,
        high=1,
    )
    limit: float | None = setting(
        None, "Simulated time after which the drive ends without failure. Default: 180 per lap.", unit="s"
    )
    # Whether images are recorded, and frames of cameras that do not drive.
    images: bool = setting(default=True, help="Record images; without them only ground truth, detections and motion.")
