"""What finds the cones in a simulated frame: a detector that sees the image, or the ground truth itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.detectors.class_map import map_classes
from simjudge.detectors.detector import Detections, Detector
from simjudge.detectors.detector_settings import DEFAULT_MIN_SCORE
from simjudge.detectors.loading import load_detector
from simjudge.sim.capture.capture import CapturedFrame
from simjudge.sim.driving.lane import lane_classes
from simjudge.sim.scene.model import Scene

GROUND_TRUTH = "ground_truth"
"""Name of the detector that returns the ground truth."""


class FrameDetector(Protocol):
    """Finds cones in a captured frame."""

    @property
    def name(self) -> str:
        """The detector's name."""

    @property
    def needs_images(self) -> bool:
        """Whether the detector sees the image."""

    def __call__(self, frame: CapturedFrame) -> Detections:
        """The detections, with the scene's class ids.

        Args:
            frame: a captured frame.
        """


@dataclass(frozen=True)
class GroundTruthDetector:
    """The ground truth as detections of score 1."""

    name: str = GROUND_TRUTH
    needs_images: bool = False

    def __call__(self, frame: CapturedFrame) -> Detections:
        """The labelled objects."""
        objects = frame.truth.objects
        return Detections.build(objects.class_id, objects.box, np.ones(len(objects)))


@dataclass(frozen=True)
class ImageDetector:
    """A detector that sees the image.

    Attributes:
        class_ids: the scene's class id by the detector's; None where they mean the same.
    """

    detector: Detector
    class_ids: Mapping[int, int] | None = None
    needs_images: bool = field(default=True, init=False)

    @property
    def name(self) -> str:
        """The detector's name."""
        return self.detector.name

    def __call__(self, frame: CapturedFrame) -> Detections:
        """The detections of the scene's classes."""
        if frame.image is None:
            raise ValueError(f"{self.name} looks at pictures, and none was made")
        found = self.detector([frame.image.pixels])[0]
        if self.class_ids is None:
            return found
        kept = np.isin(found.class_id, list(self.class_ids))
        class_id = [self.class_ids[int(number)] for number in found.class_id[kept]]
        return Detections.build(class_id, found.box[kept], found.score[kept])


def load_frame_detector(
    detector: str | Path | Detector, scene: Scene, min_score: float = DEFAULT_MIN_SCORE
) -> FrameDetector:
    """The frame detector of a name; a detector's classes are matched with the scene's by name.

    Args:
        min_score: detections below this score do not count, 0 to 1; a detector that is loaded already keeps its own.
    """
    sides = lane_classes(scene)
    if detector == GROUND_TRUTH:
        return GroundTruthDetector()
    loaded = load_detector(detector, min_score=min_score) if isinstance(detector, str | Path) else detector
    known = FrameSet.build(scene.name, [], class_names=dict(scene.class_names))
    ids = map_classes(loaded.name, loaded.class_names, known).ids
    lacking = [scene.class_names.get(side, str(side)) for side in sides if ids is not None and side not in ids.values()]
    if lacking:
        raise SimjudgeError(f"{loaded.name} does not know {', '.join(lacking)}, which {scene.name} is driven by")
    return ImageDetector(loaded, ids)
