"""How objects are followed through pictures, each setting declared once (see `simjudge.core.settings`)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from simjudge.core.setting_groups import ReadSettings
from simjudge.core.settings import Settings, setting
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
"""By instance number where all labels of both sets have one and classes agree, else by track."""
SAME_INSTANCE = "instance"
"""Objects of one instance number are the same."""
SAME_TRACK = "track"
"""Objects are followed from frame to frame, and tracks of both sets assigned to each other."""


@dataclass(frozen=True, kw_only=True)
class FollowSettings(Settings, panel="Following objects in pictures"):
    """How objects are followed through pictures, and matched between a real and a virtual camera."""

    follow: str = setting(
        FOLLOW_AUTO,
        "What is followed through the pictures: labels, predictions (made earlier, or by --model), or auto: what"
        " --model finds where it is given, else labels where both sets have them, else predictions.",
        choices=(FOLLOW_AUTO, FOLLOW_LABELS, FOLLOW_PREDICTIONS),
        common=True,
    )
    same_by: str = setting(
        SAME_AUTO,
        "How an object of both sets is known to be the same: instance (the number in the labels), track (followed from"
        " frame to frame, then assigned over the whole track), or auto: instance where all labels have one.",
        choices=(SAME_AUTO, SAME_INSTANCE, SAME_TRACK),
    )
    # predictions with a lower score are left out; None for LEAST_SCORE, or 0 for colour thresholds
    min_score: float | None = setting(
        None,
        f"Score below which predictions are ignored. Not given: {LEAST_SCORE:g}, or 0 for colour thresholds.",
        low=0,
        high=1,
    )
    track_gap: float = setting(0.5, "Time that a track outlives without a sighting.", unit="s", low=0)
    track_reach: float = setting(
        1.0, "Distance from its expected place at which an object is found again, in diagonals of its box.", low=0
    )
    track_frames: int = setting(3, "Frames in which a track must be seen; shorter ones are left out.", low=1)
    match_distance: float = setting(
        0.1, "Distance at which tracks of the two sets are no longer alike, in diagonals of the picture.", low=0
    )
    frame_rate: float | None = setting(
        None, "Rate of the images and clouds of sets without stamps.", unit="1/s", low=1e-3, high=1e6
    )


@dataclass(frozen=True, kw_only=True)
class LineSettings(Settings, panel="Line above which finds are left out"):
    """A line in each picture, such as the horizon."""

    real_line: Path | None = setting(
        None,
        "Table `frame row [slope]` for the real set, or a recording whose transforms and camera_info tell the horizon:"
        " what a detector finds with its centroid above this line is left out.",
    )
    virtual_line: Path | None = setting(None, "The same for the virtual set.")
    line_classes: tuple[str, ...] | None = setting(
        None,
        "Classes to which the lines apply, with commas. Not given: those with a line in the file of colour thresholds,"
        " or all.",
    )


@dataclass(frozen=True, kw_only=True)
class PoleSettings(Settings, panel="Reference pole"):
    """A pole whose SIFT descriptors are matched in each frame."""

    pole: Path | None = setting(
        None, "Picture of a reference pole, whose SIFT descriptors are matched in each picture of both sets."
    )
    pole_class: str | None = setting(
        None,
        "Class of labelled poles: matches on them are counted, and without --pole the largest one of the real pictures"
        " is the reference.",
    )
    pole_ratio: float = setting(
        0.8, "Largest distance of a SIFT match, as a share of that to the second nearest descriptor.", low=0, high=1
    )
    pole_distance: float = setting(
        250.0, "Largest distance of a SIFT match; descriptors have a length of about 512.", low=0, high=1024
    )


@dataclass(frozen=True, kw_only=True)
class CameraObjectSettings(ModelSettings, ReadSettings, RenameSettings, FollowSettings, LineSettings, PoleSettings):
    """The groups of objects in pictures."""
