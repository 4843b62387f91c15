"""The settings of a drive in closed loop (see `simjudge.core.settings`)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from simjudge.core.setting_groups import EngineSettings, LabelSettings, file_or_name
from simjudge.core.settings import setting
from simjudge.detectors.detector_settings import DEFAULT_MIN_SCORE
from simjudge.sim.driving.driver_kinds import CONES


@dataclass(frozen=True, kw_only=True)
class DrivingSettings(EngineSettings, LabelSettings, panel="Drive"):
    """The settings of a drive."""

    # Who drives, one of `simjudge.sim.driving.driver_kinds.DRIVERS`; straight is by the true pose, and its motion is
    # recorded at 200 Hz.
    driver: str = setting(
        CONES,
        "By what the car drives: by cones in images, by lidar between barriers, by hand with the keys, or straight"
        " along the course's line.",
        form=file_or_name("cones|lidar|manual|straight"),
        common=True,
    )
    laps: int | None = setting(None, "Laps of a closed course; by default 1, by hand no end.", low=1, common=True)
    vehicle: str | Path | None = setting(
        None, "The car; by default the scene's own, or art1.", form=file_or_name(), common=True
    )
    sensors: str | Path | None = setting(
        None,
        "The car's sensors beside the camera: lidar, IMU, GPS, ...; recorded. By default vlp16 with --driver lidar.",
        form=file_or_name(),
        common=True,
    )
    seed: int = setting(0, "Seed of the scene, the camera's noise and the car's start.", low=0, common=True)
    # That driver straight holds, m/s; None for 5, or half of what the car can do.
    speed: float | None = setting(None, "Speed that driver straight holds; by default 5.", unit="m/s")
    rate: float | None = setting(None, "Frames a second of the camera that drives; by default its own.", unit="Hz")
    min_score: float = setting(
        DEFAULT_MIN_SCORE, "Score below which detections do not count; the driver counts from 0.25 on.", low=0, high=1
    )
    limit: float | None = setting(
        None, "Simulated time after which the drive ends, which is then no failure; by default 180 s a lap.", unit="s"
    )
    # Whether images are recorded, and frames of cameras that do not drive.
    images: bool = setting(default=True, help="Record images, or only truth, detections and motion.")
