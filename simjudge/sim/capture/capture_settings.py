"""The settings of rendering and replaying (see `simjudge.core.settings`)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from simjudge.core.setting_groups import EngineSettings, JobSettings, LabelSettings, MotionLimitSettings, file_or_name
from simjudge.core.settings import Settings, setting

_POSE = file_or_name("POSE")


@dataclass(frozen=True, kw_only=True)
class MountSettings(Settings, panel="Car"):
    """The car that carries the camera, or the camera on a body without one."""

    vehicle: str | Path | None = setting(
        None,
        "Car whose base_link the poses are of; by default art1, to render a scene that scene's own.",
        form=file_or_name(),
    )
    mount: str | None = setting(
        None,
        "Camera on the body, in place of a car: x,y,z[,yaw,pitch,roll], metres and degrees; body; optical.",
        form=_POSE,
    )


@dataclass(frozen=True, kw_only=True)
class RecordedPoseSettings(Settings, panel="Poses"):
    """Where the poses of a recording are, and how they stand in the scene."""

    poses: str | Path | None = setting(
        None, "Poses, where the recording has several topics of them.", form=file_or_name("TOPIC|FILE"), common=True
    )
    align: str = setting(
        "0,0,0",
        "Pose of the poses' fixed frame in the scene: x,y,z[,yaw[,pitch,roll]], metres and degrees.",
        form=_POSE,
        common=True,
    )
    parent: str | None = setting(None, "Fixed frame, for poses from tf; by default the root.")
    child: str | None = setting(None, "Frame of the body, for poses from tf; by default base_link.")
    time_offset: float = setting(0.0, "Time added to an image's stamp to find its pose.", unit="s")
    skip_gaps: bool = setting(default=False, help="Leave out frames in gaps, in place of an error.")


@dataclass(frozen=True, kw_only=True)
class RecordedFrameSettings(Settings, panel="Frames"):
    """For which frames of a recording a synthetic one is made."""

    image_topic: str | None = setting(None, "The real camera, where the recording has several.")
    start: float = setting(0.0, "Time after the first frame at which to begin.", unit="s", low=0, common=True)
    duration: float | None = setting(None, "Time to replay; by default all.", unit="s", common=True)
    rate: float | None = setting(None, "Frames a second, at most; by default all.", unit="Hz")


@dataclass(frozen=True, kw_only=True)
class PoseNoiseSettings(Settings, panel="Noise of poses"):
    """Errors that each frame's pose gets, for the pointwise study."""

    noise: bool = setting(default=False, help="Put each frame's pose off.")
    noise_angle: float = setting(
        1.0, "With --noise: standard deviation of yaw, pitch and roll each.", unit="deg", low=0
    )
    noise_position: float = setting(0.01, "With --noise: standard deviation of x, y and z each.", unit="m", low=0)


@dataclass(frozen=True, kw_only=True)
class ConeSettings(Settings, panel="Measured cones"):
    """Cones that were measured, in place of the scene's own."""

    cones: Path | None = setting(None, "Table of measured cones: id colour x y.")
    cone_kinds: str | None = setting(
        None,
        "The scene's kinds for the table's colours; by default 0=red_cone,1=green_cone.",
        form=file_or_name("COLOUR=KIND,..."),
    )


@dataclass(frozen=True, kw_only=True)
class OtherSensorSettings(Settings, panel="Sensors beside the camera"):
    """The car's other sensors, along recorded poses."""

    sensors: str | Path | None = setting(
        None,
        "Sensors of the car beside the camera; a lidar scans at the stamps of the recording's clouds.",
        form=file_or_name(),
    )
    cloud_topic: str | None = setting(None, "The clouds, where the recording has several topics.")
    smoothing: float = setting(
        0.0, "Time over which poses are averaged for inertial sensors: their noise grows.", unit="s", low=0, high=10
    )


@dataclass(frozen=True, kw_only=True)
class SceneSeedSettings(Settings):
    """What is random in a scene."""

    seed: int = setting(0, "Seed of the scene, of the camera's noise and of the poses.", low=0, common=True)


@dataclass(frozen=True, kw_only=True)
class ReplayingSettings(
    RecordedPoseSettings,
    RecordedFrameSettings,
    SceneSeedSettings,
    EngineSettings,
    MountSettings,
    MotionLimitSettings,
    OtherSensorSettings,
    ConeSettings,
    LabelSettings,
    PoseNoiseSettings,
):
    """The settings of a replay."""


@dataclass(frozen=True, kw_only=True)
class RenderingSettings(
    SceneSeedSettings, EngineSettings, JobSettings, MountSettings, LabelSettings, panel="What is rendered"
):
    """The settings of a rendering."""

    # "random" for poses anywhere on the floor, "path" for the scene's course, or a file of poses; None for random ones,
    # and for the course of a scene that has no area for random cameras.
    poses: str | Path | None = setting(
        None,
        "Anywhere on the floor; along the scene's course; a text file of poses. By default random, and path where the"
        " scene has no area for random cameras.",
        form=file_or_name("random|path|FILE"),
        common=True,
    )
    # Placements of the scene's random things; None for one, with random poses one per 10 frames.
    scenes: int | None = setting(
        None, "Placements of a scene's random things; by default one, with random poses one for 10 frames.", low=1
    )
    sensors: str | Path | None = setting(
        None, "The car's other sensors: lidars at each frame; others along a path with times.", form=file_or_name()
    )
    label_images: bool = setting(default=False, help="Write the class and the instance of each pixel too.")
    valid: float = setting(0.0, "Share of a data set for validation.", low=0, high=0.9)
    test: float = setting(0.0, "Share of a data set that training never sees.", low=0, high=0.9)
