"""How scans of a real and a virtual lidar are compared, each setting declared once (see `simjudge.core.settings`)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from simjudge.core.errors import UsageError
from simjudge.core.settings import Settings, setting
from simjudge.objects.camera_settings import SAME_AUTO, SAME_INSTANCE
from simjudge.objects.occupancy_settings import OccupancySettings

TRUTH_AUTO = "auto"
"""Labels where both sets have them, else the labels of the virtual one, else the survey."""
TRUTH_LABELS = "labels"
"""Each set's own labels."""
TRUTH_SCENE = "scene"
"""The virtual set's labels, which its scene gave, for both sets."""
TRUTH_SURVEY = "survey"
"""Cuboids around what stands in the merged scans of the real set, for both sets."""
TRUTHS = (TRUTH_AUTO, TRUTH_LABELS, TRUTH_SCENE, TRUTH_SURVEY)
SAME_PLACE = "place"
"""Labels of one class at one place of the fixed frame are the same object."""


@dataclass(frozen=True, kw_only=True)
class CuboidSettings(Settings, panel="Cuboids in clouds"):
    """What is measured of each object in scans, and what the truth is."""

    truth: str = setting(
        TRUTH_AUTO,
        "True cuboids: labels (each set's own), scene (those of the virtual set, for both), survey (of the real scans"
        " merged), or auto: the first of these that there are.",
        choices=TRUTHS,
    )
    same_cuboids_by: str = setting(
        SAME_AUTO,
        "How a cuboid of both sets is known to be the same: instance (the number in the labels), place (in the fixed"
        " frame), or auto: instance where all labels have one.",
        choices=(SAME_AUTO, SAME_INSTANCE, SAME_PLACE),
    )
    place_distance: float = setting(
        1.0, "Greatest distance between places of one object in two scans or sets.", unit="m", low=0.01, high=100
    )
    # how ground, clusters and cuboids are found; None for the defaults
    cuboid_file: Path | None = setting(
        None, "File that says how ground, clusters and cuboids are found in clouds (detector: lidar_cuboids)."
    )
    cuboid_distance: float = setting(
        0.5,
        "Greatest distance of a found cuboid's centre from the truth's; at least half the truth's diagonal.",
        unit="m",
        low=0,
        high=100,
    )
    # by how much true cuboids grow to the sides and upwards before points are counted in them, metres: a lidar's noise
    # puts points of a surface on either side of it
    truth_margin: float = setting(
        0.1,
        "Margin around true cuboids, to the sides and upwards, within which points are theirs.",
        unit="m",
        low=0,
        high=10,
    )
    range_bins: tuple[float, ...] = setting((0.0, 10.0, 20.0, 30.0, 50.0, 80.0), "Edges of the tables' ranges, metres.")


@dataclass(frozen=True, kw_only=True)
class SurveySettings(Settings, panel="Survey of the real clouds"):
    """Cuboids around what stands in the merged scans of the real set (SMRF, see `simjudge.objects.survey`)."""

    survey_cell: float = setting(0.5, "Cell of the survey's ground.", unit="m", low=0.05, high=10)
    survey_slope: float = setting(0.15, "Steepest slope of the survey's ground, rise over run.", low=0, high=5)
    survey_window: float = setting(10.0, "Radius of the largest object in the survey.", unit="m", low=0.1, high=200)
    survey_height: float = setting(
        0.3, "Height above the survey's ground from which points are objects.", unit="m", low=0.01, high=10
    )
    survey_gap: float = setting(
        0.5, "Distance between points of one object in the survey.", unit="m", low=0.01, high=10
    )
    survey_points: int = setting(20, "Fewest points of an object in the survey.", low=4)


@dataclass(frozen=True, kw_only=True)
class LidarObjectSettings(OccupancySettings, CuboidSettings, SurveySettings):
    """The groups of objects in scans."""

    def __post_init__(self) -> None:
        """Check the values, one by one and together."""
        super().__post_init__()
        bins = self.range_bins
        if len(bins) < 2 or any(low >= high for low, high in pairwise(bins)):
            raise UsageError(f"range_bins {bins}: give two or more ranges, ascending")
        if self.map_low >= self.map_high:
            raise UsageError(f"map_low {self.map_low:g} and map_high {self.map_high:g}: the first must be smaller")
