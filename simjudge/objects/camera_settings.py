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
"""By instance number where all labels of both sets have one and classes agree, else by track (pictures) or place (clouds)."""
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
