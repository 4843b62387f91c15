"""What finds the cones of a simulated frame: a detector that looks at the picture, or somebody who is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from simjudge.capture.eye import Seen
from simjudge.core.errors import SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.driving.lane import sides_of
from simjudge.perception.class_map import map_classes
from simjudge.perception.detector import DEFAULT_MIN_SCORE, Detections, Detector
from simjudge.perception.loading import load_detector
from simjudge.scene.model import Scene

GROUND_TRUTH = "ground_truth"
"""Name of the detector that is told what is there."""


class Finder(Protocol):
    """Finds cones in what a camera made of a frame."""

    @property
    def name(self) -> str:
        """What to call it."""

    @property
    def needs_pictures(self) -> bool:
        """Whether it looks at the picture."""

    def __call__(self, seen: Seen) -> Detections:
        """The detections, with the scene's class ids."""


@dataclass(frozen=True)
class Told:
    """The ground truth as detections, score 1."""

    name: str = GROUND_TRUTH
    needs_pictures: bool = False

    def __call__(self, seen: Seen) -> Detections:
        """The labelled things."""
        objects = seen.truth.objects
        return Detections.build(objects.class_id, objects.box, np.ones(len(objects)))


@dataclass(frozen=True)
class ByPicture:
    """A detector that looks at the picture.

    Attributes:
        detector: any.
        ids: the scene's class id by the detector's; None where they mean the same.
        needs_pictures: True.
    """

    detector: Detector
    ids: Mapping[int, int] | None = None
    needs_pictures: bool = field(default=True, init=False)

    @property
    def name(self) -> str:
        """The detector's."""
        return self.detector.name

    def __call__(self, seen: Seen) -> Detections:
        """What the detector finds of the scene's classes."""
        if seen.shot is None:
            raise ValueError(f"{self.name} looks at pictures, and none was made")
        found = self.detector([seen.shot.pixels])[0]
        if self.ids is None:
            return found
        kept = np.isin(found.class_id, list(self.ids))
        renamed = [self.ids[int(number)] for number in found.class_id[kept]]
        return Detections.build(renamed, found.box[kept], found.score[kept])


def load_finder(spec: str, scene: Scene, min_score: float = DEFAULT_MIN_SCORE) -> Finder:
    """The finder of a name: GROUND_TRUTH, or any detector; its classes are matched with the scene's by name.

    Raises:
        SimjudgeError: there is no such detector, or it does not know what the scene's lane is marked by.
    """
    sides = sides_of(scene)
    if spec == GROUND_TRUTH:
        return Told()
    detector = load_detector(spec, min_score=min_score)
    known = FrameSet.build(scene.name, [], class_names=dict(scene.class_names))
    ids = map_classes(detector.name, detector.class_names, known).ids
    lacking = [scene.class_names.get(side, str(side)) for side in sides if ids is not None and side not in ids.values()]
    if lacking:
        raise SimjudgeError(f"{detector.name} does not know {', '.join(lacking)}, which {scene.name} is driven by")
    return ByPicture(detector, ids)
