"""How objects are followed through pictures, each setting declared once (see `simjudge.core.settings`)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from simjudge.core.settings import setting
from simjudge.detectors.detector_settings import DetectorSettings

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
class CameraObjectSettings(DetectorSettings):
    """How objects are found in pictures, followed, and matched between a real and a virtual camera.

    Attributes:
        model: a detector to run on both sets.
        min_score: predictions with a lower score are left out; None for LEAST_SCORE, or 0 for colour thresholds.
        track_gap: seconds that a track outlives without a sighting.
        track_reach: how far from its expected place an object may be found again, diagonals of its box.
        track_frames: tracks seen in fewer frames are left out.
        match_distance: distance at which two tracks are no longer alike, share of the picture's diagonal.
        frame_rate: images or clouds a second of sets without stamps.
        real_line, virtual_line: tables of a line in each picture, or recordings that tell the horizon; what a detector
            finds above it is left out.
        line_classes: classes to which the lines apply; None for those with a line in the file of colour thresholds, or
            all classes of another detector.
        pole: picture of a reference pole, whose SIFT descriptors are matched in each frame.
        pole_class: class of the labelled poles: matches on them are counted, and without `pole` the reference is cut
            from the real picture that shows the largest one.
        pole_ratio: largest distance of a match, as a share of the distance to the second nearest descriptor.
    """

    model: Path | None = setting(
        None, "Detector to run on both sets: .onnx, .pt, .yaml with colour thresholds, or one of simjudge's by name."
    )
    follow: str = setting(
        FOLLOW_AUTO,
        "What is followed through the pictures: labels, predictions (made earlier, or by --model), or auto: what"
        " --model finds where it is given, else labels where both sets have them, else predictions.",
        choices=(FOLLOW_AUTO, FOLLOW_LABELS, FOLLOW_PREDICTIONS),
    )
    same_by: str = setting(
        SAME_AUTO,
        "How an object of both sets is known to be the same: instance (the number in the labels), track (followed from"
        " frame to frame, then assigned over the whole track), or auto: instance where all labels have one.",
        choices=(SAME_AUTO, SAME_INSTANCE, SAME_TRACK),
    )
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
