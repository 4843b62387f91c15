"""The settings of a reconstruction, each declared once (see `simjudge.core.settings`)."""

from __future__ import annotations

from dataclasses import dataclass

from simjudge.core.errors import UsageError
from simjudge.core.settings import Settings, setting
from simjudge.objects.settings import SurveySettings


@dataclass(frozen=True, kw_only=True)
class SurveyReadSettings(Settings, panel="Reading the survey"):
    """How a survey cloud is read."""

    cloud_topic: str | None = setting(None, "Point cloud topic, if the recording has several.")
    near: float = setting(
        1.5, "Points nearer to the lidar are left out: they are of the car.", unit="m", low=0, high=100
    )
    far: float = setting(30.0, "Points farther from the lidar are left out.", unit="m", low=1, high=1000)
    deskew: bool = setting(default=True, help="Correct the points of a turn for the lidar's motion, by their times.")
    max_speed: float = setting(
        60.0, "Speed above which the pose of a scan is a jump; such scans are left out.", unit="m/s", low=0.1, high=1e4
    )
    white: float | None = setting(
        None,
        "Intensity of a surface that reflects all light. Default: 1, 100, 255 or 65535, by the largest one.",
        low=1e-6,
        high=1e9,
    )


@dataclass(frozen=True, kw_only=True)
class MeshSettings(Settings, panel="Meshes"):
    """How points become ground and things."""

    ground_cell: float = setting(0.25, "Cell of the ground's heights.", unit="m", low=0.02, high=10)
    cell: float = setting(
        0.08, "Cell of the distance field from which things get their shape.", unit="m", low=0.01, high=10
    )
    foot: float = setting(
        0.1,
        "Height above ground from which points belong to the thing above them.",
        unit="m",
        low=0,
        high=10,
    )
    labels: bool = setting(
        default=True, help="Take labelled cuboids of the recording as things of their own, with their classes."
    )


@dataclass(frozen=True, kw_only=True)
class ReconstructSettings(SurveyReadSettings, MeshSettings, SurveySettings):
    """The settings of a reconstruction."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.near >= self.far:
            raise UsageError(f"near {self.near:g} and far {self.far:g}: the first must be smaller")
        if self.foot > self.survey_height:
            raise UsageError(f"foot {self.foot:g} and survey_height {self.survey_height:g}: the first must not be more")
