"""The settings of rendering and replaying (see `simjudge.core.settings`)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from simjudge.core.settings import (
    EngineSettings,
    JobSettings,
    LabelSettings,
    MotionLimitSettings,
    Settings,
    file_or_name,
    setting,
)

_POSE = file_or_name("POSE")


@dataclass(frozen=True, kw_only=True)
class MountSettings(Settings, panel="Car"):
    """The car that carries the camera, or the camera on a body without one."""

    vehicle: str | Path | None = setting(
        None,
        "Vehicle whose base_link the poses describe. Default: art1, or the scene's own.",
        form=file_or_name(),
    )
    mount: str | None = setting(
        None,
        "Pose of the camera on the body, instead of a vehicle: x,y,z[,yaw,pitch,roll] in metres and degrees; body; "
        "optical.",
        form=_POSE,
    )


@dataclass(frozen=True, kw_only=True)
class RecordedPoseSettings(Settings, panel="Poses"):
    """Where the poses of a recording are, and how they stand in the scene."""

    poses: str | Path | None = setting(
        None, "Pose topic, if the recording has several.", form=file_or_name("TOPIC|FILE"), common=True
    )
    align: str = setting(
        "0,0,0",
        "Pose of the poses' fixed frame in the scene: x,y,z[,yaw[,pitch,roll]], metres and degrees.",
        form=_POSE,
        common=True,
    )
    parent: str | None = setting(None, "Fixed frame of poses from tf. Default: the root.")
    child: str | None = setting(None, "Body frame of poses from tf. Default: base_link.")
    time_offset: float = setting(0.0, "Time added to an image's stamp to find its pose.", unit="s")
    skip_gaps: bool = setting(default=False, help="Skip frames in gaps between poses instead of failing.")


@dataclass(frozen=True, kw_only=True)
class RecordedFrameSettings(Settings, panel="Frames"):
    """For which frames of a recording a synthetic one is made."""

    image_topic: str | None = setting(None, "Image topic or camera name, if the recording has several.")
    start: float = setting(0.0, "Start time, after the first frame.", unit="s", low=0, common=True)
    duration: float | None = setting(None, "Duration to replay. Default: all.", unit="s", common=True)
    rate: float | None = setting(None, "Largest frame rate. Default: all frames.", unit="Hz")


@dataclass(frozen=True, kw_only=True)
class PoseNoiseSettings(Settings, panel="Noise of poses"):
    """Errors that each frame's pose gets, for the pointwise study."""

    noise: bool = setting(default=False, help="Add random errors to each frame's pose.")
    noise_angle: float = setting(
        1.0, "With --noise: standard deviation of yaw, pitch and roll each.", unit="deg", low=0
    )
    noise_position: float = setting(0.01, "With --noise: standard deviation of x, y and z each.", unit="m", low=0)


@dataclass(frozen=True, kw_only=True)
class ConeSettings(Settings, panel="Measured cones"):
    """Cones that were measured, in place of the scene's own."""

    cones: Path | None = setting(None, "Table of measured cones, with the columns id, colour, x, y.")
    cone_kinds: str | None = setting(
        None,
        "Scene objects for the colours in the table. Default: 0=red_cone,1=green_cone.",
        form=file_or_name("COLOUR=KIND,..."),
    )


@dataclass(frozen=True, kw_only=True)
class OtherSensorSettings(Settings, panel="Sensors beside the camera"):
    """The car's other sensors, along recorded poses."""

    sensors: str | Path | None = setting(
        None,
        "Sensors to simulate beside the camera; a lidar scans at the stamps of the recording's clouds.",
        form=file_or_name(),
    )
    cloud_topic: str | None = setting(None, "Point cloud topic, if the recording has several.")
    smoothing: float = setting(
        0.0,
        "Averaging window of poses before differentiation for inertial sensors, which limits their noise.",
        unit="s",
        low=0,
        high=10,
    )


@dataclass(frozen=True, kw_only=True)
class SceneSeedSettings(Settings):
    """What is random in a scene."""

    seed: int = setting(0, "Seed of scene, poses and camera noise.", low=0, common=True)


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
        "Camera poses: random (anywhere on the floor), path (along the scene's course), or a text file. Default: "
        "random, or path if the scene has no area.",
        form=file_or_name("random|path|FILE"),
        common=True,
    )
    # Placements of the scene's random things; None for one, with random poses one per 10 frames.
    scenes: int | None = setting(
        None, "Random placements of the scene. Default: one, or one per 10 frames with random poses.", low=1
    )
    sensors: str | Path | None = setting(
        None, "Other sensors of the vehicle: lidars at each frame; others along a path with times.", form=file_or_name()
    )
    label_images: bool = setting(default=False, help="Also write class and instance of each pixel.")
    valid: float = setting(0.0, "Share of the data set for validation.", low=0, high=0.9)
    test: float = setting(0.0, "Share of the data set for testing, never seen in training.", low=0, high=0.9)
