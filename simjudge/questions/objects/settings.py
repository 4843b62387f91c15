"""The settings of the second judge, each declared once (see `simjudge.core.settings`)."""

from __future__ import annotations

from dataclasses import dataclass

from simjudge.core.settings import Settings, setting
from simjudge.objects.settings import CameraObjectSettings, ImageQualitySettings, LidarObjectSettings

CAMERA, LIDAR = "camera", "lidar"
SENSORS = (CAMERA, LIDAR)


@dataclass(frozen=True, kw_only=True)
class SideSettings(Settings, panel="Reading files"):
    """What is read of both sides."""

    sensor: str | None = setting(
        None,
        "Sensor to compare: camera or lidar. Default: what both sides have.",
        choices=SENSORS,
        common=True,
    )
    time_offset: float = setting(
        0.0, "Time added to the virtual stamps before they are compared.", unit="s", common=True
    )
    shift_limit: float = setting(
        1.0,
        "Largest time shift between real and virtual to search for.",
        unit="s",
        low=0,
        high=60,
        common=True,
    )
    real_image_topic: str | None = setting(
        None, "Image topic or camera name of the real recordings, if they have several."
    )
    virtual_image_topic: str | None = setting(
        None, "Image topic or camera name of the virtual recording, if it has several."
    )
    real_cloud_topic: str | None = setting(None, "Point cloud topic of the real recordings, if they have several.")
    virtual_cloud_topic: str | None = setting(None, "Point cloud topic of the virtual recording, if it has several.")


@dataclass(frozen=True, kw_only=True)
class ObjectSettings(SideSettings, CameraObjectSettings, ImageQualitySettings, LidarObjectSettings):
    """The settings of a comparison by objects."""
