"""The settings of the second judge, each declared once (see `simjudge.core.settings`)."""

from __future__ import annotations

from dataclasses import dataclass

from simjudge.core.settings import Settings, setting
from simjudge.objects.camera_settings import CameraObjectSettings
from simjudge.objects.image_quality.quality_settings import ImageQualitySettings
from simjudge.objects.lidar_settings import LidarObjectSettings

CAMERA, LIDAR = "camera", "lidar"
SENSORS = (CAMERA, LIDAR)


@dataclass(frozen=True, kw_only=True)
class SideSettings(Settings, panel="Reading files"):
    """What is read of both sides."""

    sensor: str | None = setting(
        None,
        "Sensor to compare: camera or lidar; by default both, as far as both sides have them.",
        choices=SENSORS,
        common=True,
    )
    time_offset: float = setting(
        0.0, "Time added to the virtual stamps before they are compared.", unit="s", common=True
    )
    shift_limit: float = setting(
        1.0,
        "Greatest shift in time between real and virtual that is looked for.",
        unit="s",
        low=0,
        high=60,
        common=True,
    )
    real_image_topic: str | None = setting(
        None, "Images of the real recordings where they have several cameras: a topic, or the camera's name."
    )
    virtual_image_topic: str | None = setting(None, "Images of the virtual recording, likewise.")
    real_cloud_topic: str | None = setting(None, "Clouds of the real recordings where they have several lidars.")
    virtual_cloud_topic: str | None = setting(None, "Clouds of the virtual recording, likewise.")


@dataclass(frozen=True, kw_only=True)
class ObjectSettings(SideSettings, CameraObjectSettings, ImageQualitySettings, LidarObjectSettings):
    """The settings of a comparison by objects."""
