"""How objects are followed through pictures, scans and maps, each setting declared once."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from simjudge.core.errors import UsageError
from simjudge.core.settings import ReadSettings, Settings, setting
from simjudge.detectors.detector_settings import ModelSettings, RenameSettings

FOLLOW_AUTO = "auto"
"""The model's finds where one is named, else labels where both sets have them, else predictions."""
FOLLOW_LABELS = "labels"
"""Labelled objects are followed."""
FOLLOW_PREDICTIONS = "predictions"
"""Predictions are followed: made earlier, or by the model."""
LEAST_SCORE = 0.25
"""Score below which predictions are ignored, if nothing is said: the default of ultralytics."""
SAME_AUTO = "auto"
"""By instance number where all labels have one and classes agree, else by track (pictures) or place (clouds)."""
SAME_INSTANCE = "instance"
"""Objects of one instance number are the same."""
SAME_TRACK = "track"
"""Objects are followed from frame to frame, and tracks of both sets assigned to each other."""


@dataclass(frozen=True, kw_only=True)
class FollowSettings(Settings, panel="Following objects in pictures"):
    """How objects are followed through pictures, and matched between a real and a virtual camera."""

    follow: str = setting(
        FOLLOW_AUTO,
        "What to track through the images: labels, predictions (made earlier, or by --model), or auto: the model's "
        "detections if --model is given, else labels if both sets have them, else predictions.",
        choices=(FOLLOW_AUTO, FOLLOW_LABELS, FOLLOW_PREDICTIONS),
        common=True,
    )
    same_by: str = setting(
        SAME_AUTO,
        "How objects of both sets are matched: instance (number in the labels), track (tracked from frame to frame,"
        " then assigned by the whole track), or auto: instance if all labels have one.",
        choices=(SAME_AUTO, SAME_INSTANCE, SAME_TRACK),
    )
    # predictions with a lower score are left out; None for LEAST_SCORE, or 0 for colour thresholds
    min_score: float | None = setting(
        None,
        f"Score below which predictions are ignored. Not given: {LEAST_SCORE:g}, or 0 for colour thresholds.",
        low=0,
        high=1,
    )
    track_gap: float = setting(0.5, "Longest time without a detection within a track.", unit="s", low=0)
    track_reach: float = setting(
        1.0, "Largest distance from the predicted position at which a track continues, in diagonals of its box.", low=0
    )
    track_frames: int = setting(3, "Smallest number of frames of a track; shorter tracks are dropped.", low=1)
    match_distance: float = setting(
        0.1, "Largest distance between matched tracks of the two sets, in diagonals of the image.", low=0
    )
    frame_rate: float | None = setting(
        None, "Rate of the images and clouds of sets without stamps.", unit="1/s", low=1e-3, high=1e6
    )


@dataclass(frozen=True, kw_only=True)
class LineSettings(Settings, panel="Line above which finds are left out"):
    """A line in each picture, such as the horizon."""

    real_line: Path | None = setting(
        None,
        "Horizon of the real set: a table `frame row [slope]`, or a recording with transforms and camera_info. "
        "Detections centred above it are dropped.",
    )
    virtual_line: Path | None = setting(None, "Horizon of the virtual set, in the same forms.")
    line_classes: tuple[str, ...] | None = setting(
        None,
        "Classes to which the horizons apply, separated by commas. Default: those with a horizon in the colour "
        "thresholds' file, else all.",
    )


@dataclass(frozen=True, kw_only=True)
class PoleSettings(Settings, panel="Reference pole"):
    """A pole whose SIFT descriptors are matched in each frame."""

    pole: Path | None = setting(None, "Image of a reference pole, whose SIFT descriptors are matched in each image.")
    pole_class: str | None = setting(
        None,
        "Class of labelled poles; only matches on them count. Without --pole the largest real one is the reference.",
    )
    pole_ratio: float = setting(
        0.8, "Largest distance ratio of a SIFT match (nearest over second nearest descriptor).", low=0, high=1
    )
    pole_distance: float = setting(
        250.0, "Largest distance of a SIFT match; descriptors have a length of about 512.", low=0, high=1024
    )


@dataclass(frozen=True, kw_only=True)
class CameraObjectSettings(ModelSettings, ReadSettings, RenameSettings, FollowSettings, LineSettings, PoleSettings):
    """The groups of objects in pictures."""


@dataclass(frozen=True, kw_only=True)
class OccupancySettings(Settings, panel="Occupancy map"):
    """How scans become a map, and when a cell of it is occupied."""

    cells_per_metre: float = setting(10.0, "Cells per metre of the occupancy map.", low=0.1, high=1000)
    # a beam tells of the first metres only; a return beyond is none
    map_range: float = setting(30.0, "Range of a beam in the occupancy map.", unit="m", low=0.1, high=1000)
    # map_low, map_high: heights above ground between which things are obstacles. A beam tells of a cell where it is at
    # such a height.
    map_low: float = setting(0.3, "Lowest height above ground of an obstacle.", unit="m")
    map_high: float = setting(2.0, "Greatest height above ground of an obstacle.", unit="m")
    # map_hit, map_miss: probability that a cell is occupied in which a beam ends, or through which it goes
    map_hit: float = setting(0.7, "Occupancy probability of a cell in which a beam ends.", low=0.5, high=0.999)
    map_miss: float = setting(0.4, "Occupancy probability of a cell that a beam crosses.", low=0.001, high=0.5)
    map_least: float = setting(0.12, "Smallest probability of a cell.", low=0.0001, high=0.5)
    map_most: float = setting(0.97, "Largest probability of a cell.", low=0.5, high=0.9999)
    # probability above which a cell is occupied; one that is known and not occupied is free
    map_occupied: float = setting(0.5, "Probability above which a cell is occupied.", low=0.01, high=0.99)
    # how far a beam without a return is free; None: it tells nothing. Needs an organized cloud.
    no_return_range: float | None = setting(
        None,
        "Free length of a beam without a return, in organized clouds. Default: none.",
        unit="m",
        low=0.1,
        high=1000,
    )
    # move the points of a turn to where they were at their own instants
    deskew: bool = setting(default=False, help="Correct the points of a turn for the lidar's motion, by their times.")
    # a scan that cannot be reached from the one before at this speed is left out
    max_speed: float = setting(
        60.0, "Speed above which the pose of a scan is a jump; such scans are left out.", unit="m/s", low=0.1, high=1e4
    )


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
    survey_building: float | None = setting(
        None,
        "Length from which a connected structure is a building, of which walls and roofs are cut off. Default: twice"
        " survey_window.",
        unit="m",
        low=0.5,
        high=1e4,
    )
    survey_net: float | None = setting(
        None,
        "Distance between the lines of a net that cuts roofs wider than survey_window out of the ground (SMRF).",
        unit="m",
        low=0.5,
        high=1e4,
    )


@dataclass(frozen=True, kw_only=True)
class LidarObjectSettings(OccupancySettings, CuboidSettings, SurveySettings):
    """The groups of objects in scans."""

    def __post_init__(self) -> None:
        super().__post_init__()
        bins = self.range_bins
        if len(bins) < 2 or any(low >= high for low, high in pairwise(bins)):
            raise UsageError(f"range_bins {bins}: give two or more ranges, ascending")
        if self.map_low >= self.map_high:
            raise UsageError(f"map_low {self.map_low:g} and map_high {self.map_high:g}: the first must be smaller")


NIQE_OPEN_PHOTOGRAPHS = Path("niqe_open_photographs")
BRISQUE_OPEN_PHOTOGRAPHS = Path("brisque_open_photographs")
"""The models that come with simjudge."""


@dataclass(frozen=True, kw_only=True)
class ImageQualitySettings(Settings, panel="Quality of pictures"):
    """What pictures are held to."""

    niqe_model: Path = setting(
        NIQE_OPEN_PHOTOGRAPHS,
        "NIQE's model: a name that comes with simjudge, or a .json, .mat or .npz file of pristine parameters.",
    )
    brisque_model: Path = setting(
        BRISQUE_OPEN_PHOTOGRAPHS,
        "BRISQUE's model: a name that comes with simjudge, a .json file of simjudge's, or one of libsvm's svm-train.",
    )
    brisque_range: Path | None = setting(
        None, "With a model of libsvm: ranges of the features, the file that svm-scale -s wrote."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.brisque_range is not None and self.brisque_model == BRISQUE_OPEN_PHOTOGRAPHS:
            raise UsageError(
                f"--brisque-range {self.brisque_range}: belongs to a model of libsvm: give --brisque-model and"
                " --brisque-range"
            )
