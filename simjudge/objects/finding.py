"""What is followed through a set: labels, predictions, or what a detector finds now, below the recorded horizon."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.names import normalized_name
from simjudge.core.progress import Log, ProgressBar
from simjudge.data.rosbag2.recorded_poses import read_poses
from simjudge.detectors.colour_detector import ColourDetector
from simjudge.detectors.detection import detect, load_detector
from simjudge.detectors.detector import Detector, record_detector
from simjudge.geometry.trajectories import TrajectoryInterpolator
from simjudge.objects.camera_settings import (
    FOLLOW_AUTO,
    FOLLOW_LABELS,
    FOLLOW_PREDICTIONS,
    LEAST_SCORE,
    CameraObjectSettings,
)
from simjudge.objects.sightings import (
    PictureLines,
    Sightings,
    horizon_lines,
    label_sightings,
    predicted_sightings,
    read_lines,
)
from simjudge.sim.sensors.camera.calibration_formats import recorded_calibration

_TRANSFORMS = "/tf"
_LONGEST_GAP = 500_000_000
"""Nanoseconds before the first and after the last transform for which the camera is taken to stand."""
_RECORDINGS = (".mcap", ".db3")


def is_recording(path: Path) -> bool:
    """Tell whether a path is one of a recording rather than of a table."""
    return path.suffix.lower() in _RECORDINGS or path.is_dir()


def recorded_horizon(path: Path, frames: FrameSet) -> PictureLines:
    """Find the horizon of flat ground in each picture.

    Args:
        path: of a recording with /tf and one camera's camera_info. The root of the tree of transforms has its z axis
            up; camera_info names the camera's optical frame.
    """
    calibration = recorded_calibration(path, None)
    trajectory = read_poses(path, _TRANSFORMS, child=calibration.name).trajectory
    first, last = int(trajectory.stamp[0]), int(trajectory.stamp[-1])
    inside = np.clip(frames.stamp, first, last)
    outside = np.flatnonzero(np.abs(inside - frames.stamp) > _LONGEST_GAP)
    if len(outside):
        raise SimjudgeError(
            f"{path}: {len(outside)} of {len(frames)} frames of {frames.name} lie outside of its transforms, from"
            f" {first / 1e9:.3f} s to {last / 1e9:.3f} s; give a table of lines"
        )
    _, orientation = TrajectoryInterpolator(trajectory).sample(inside)
    scale = frames.size[:, 0] / calibration.size[0]
    lines = horizon_lines(orientation, calibration.matrix)
    return PictureLines(lines.row * scale, lines.slope)


@dataclass(frozen=True)
class Finder:
    """How the objects of both sets are found.

    Attributes:
        detector: the detector to run; None where labels or earlier predictions are followed.
    """

    settings: CameraObjectSettings
    detector: Detector | None = None

    @classmethod
    def of(cls, settings: CameraObjectSettings) -> Finder:
        """Load the detector that settings name."""
        if settings.model is None or settings.follow == FOLLOW_LABELS:
            return cls(settings)
        detector = load_detector(settings.model, trust=settings.trust)
        return cls(settings, replace(detector, regions=True) if isinstance(detector, ColourDetector) else detector)

    def detect(self, frames: FrameSet, log: Log, progress: ProgressBar) -> FrameSet:
        """Run the detector, where there is one.

        Args:
            log: receives what a person should know about the match of classes.

        Returns:
            The set with what the detector finds; the set as it is without one, or where this detector has run on it.
        """
        if self.detector is None or self._has_run_on(frames):
            return frames
        rename = dict(self.settings.rename or ())
        return detect(frames, self.detector, rename=rename, log=log, progress=progress)

    def choose(self, sets: Sequence[FrameSet]) -> str:
        """Choose what is followed.

        Returns:
            FOLLOW_LABELS or FOLLOW_PREDICTIONS, whatever the sets hold where a person chose; "" where nothing was
            chosen and one set has neither.
        """
        if self.settings.follow != FOLLOW_AUTO:
            return self.settings.follow
        if self.detector is None and all(each.labelled.any() for each in sets):
            return FOLLOW_LABELS
        return FOLLOW_PREDICTIONS if all(each.predicted.any() for each in sets) else ""

    def sightings(self, frames: FrameSet, followed: str, *, virtual: bool) -> Sightings:
        """Take what is followed through a set.

        Args:
            virtual: it is the virtual set, with its own table of lines.
        """
        if followed == FOLLOW_LABELS:
            seen = label_sightings(frames)
            remedy = "no frame is labelled; follow predictions (--follow predictions), or name a detector with --model"
        else:
            seen = predicted_sightings(frames, self._min_score)
            remedy = "no detector has run on it; name one with --model"
        if not seen.looked_at.any():
            raise SimjudgeError(f"{frames.name}: {remedy}")
        table = self.settings.virtual_line if virtual else self.settings.real_line
        if table is None or followed == FOLLOW_LABELS:
            return seen
        lines = recorded_horizon(table, frames) if is_recording(table) else read_lines(table, frames)
        above = lines.above(seen)
        classes = self._classes_with_line()
        if classes is not None:
            above &= np.isin(seen.class_name, classes)
        return seen.take(np.flatnonzero(~above))

    def classes(self, seen: Sequence[Sightings]) -> set[str]:
        """The classes that can be found.

        Returns:
            Names as in `Sightings`: of the detector, or of all sightings where it is not known.
        """
        if self.detector is None or not self.detector.class_names:
            return {str(name) for each in seen for name in np.unique(each.class_name)}
        return {self._name(name) for name in self.detector.class_names.values()}

    def _name(self, name: str) -> str:
        """What the sets call a class of the detector."""
        return normalized_name(dict(self.settings.rename or ()).get(name, name))

    def _has_run_on(self, frames: FrameSet) -> bool:
        if self.detector is None or frames.predictions is None or frames.detector != record_detector(self.detector):
            return False
        return not isinstance(self.detector, ColourDetector) or frames.predictions.masks is not None

    @property
    def _min_score(self) -> float:
        if self.settings.min_score is not None:
            return self.settings.min_score
        return 0.0 if isinstance(self.detector, ColourDetector) else LEAST_SCORE

    def _classes_with_line(self) -> list[str] | None:
        """The classes to which lines apply; None for all."""
        if self.settings.line_classes is not None:
            return [normalized_name(name) for name in self.settings.line_classes]
        if isinstance(self.detector, ColourDetector):
            return [self._name(each.name) for each in self.detector.classes.values() if each.line is not None]
        return None
