"""Labels that are drawn tighter or wider in one set than in the other, told by where detections lie in them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.core.display import ShortRepr
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects
from simjudge.detectors.iou import box_iou
from simjudge.studies.judged_set import JudgedSet

WORDS = "label margins"
"""The cause as sentences write it."""
LEAST_MARGIN = 0.01
"""Share of a box's side below which margins are taken for equal."""
_FEWEST = 20
"""Detected objects that both sets must hold."""
_MATCHED_IOU = 0.5


@dataclass(frozen=True, repr=False, eq=False)
class LabelMargins(ShortRepr):
    """By how much B's boxes must grow so that detections lie in them as they do in A's.

    Attributes:
        growth: (4,), outward, of left, top, right and bottom, as shares of a box's width or height.
    """

    growth: FloatArray

    @property
    def matters(self) -> bool:
        """Whether an edge moves by more than can be neglected."""
        return bool(np.abs(self.growth).max() >= LEAST_MARGIN)

    def apply(self, frames: FrameSet) -> FrameSet:
        """The set with its boxes grown, inside its pictures; objects of masks are left alone."""
        objects = frames.objects
        if objects.masks is not None or not self.matters:
            return frames
        box = objects.box
        side = np.tile(box[:, 2:] - box[:, :2], 2)
        grown = box + np.array([-1, -1, 1, 1]) * self.growth * side
        limit = np.tile(frames.size[objects.frame], 2).astype(np.float64)
        changed: Objects = replace(objects, box=np.clip(grown, 0, limit))
        return replace(frames, objects=changed)


def estimate_margins(a: JudgedSet, b: JudgedSet) -> LabelMargins:
    """Estimate margins, by the median place of detections in their boxes.

    Cameras differ in how they move detections, too. So the sets are those with all camera effects undone.

    Returns:
        The growth of B's boxes; none where either set holds too few detected objects.
    """
    offsets = [_offsets(each) for each in (a, b)]
    if min(map(len, offsets)) < _FEWEST:
        return LabelMargins(np.zeros(4))
    of_a, of_b = (np.median(each, axis=0) for each in offsets)
    # Grown by g, a side is 1 + G long, G = g_left + g_right: (of_b - g) / (1 + G) = of_a on both ends.
    both_a, both_b = (np.tile(each[:2] + each[2:], 2) for each in (of_a, of_b))
    grown = (both_b - both_a) / np.maximum(1 + both_a, 0.1)
    return LabelMargins(of_b - of_a * (1 + grown))


def _offsets(judged: JudgedSet) -> FloatArray:
    """(N, 4), how far detections reach beyond their boxes, as shares of a box's sides."""
    objects, predictions = judged.frames.objects, judged.frames.predictions
    rows = np.flatnonzero(judged.assignment.prediction >= 0)
    if predictions is None or not len(rows):
        return np.zeros((0, 4))
    label, found = objects.box[rows], predictions.box[judged.assignment.prediction[rows]]
    side = np.maximum(np.tile(label[:, 2:] - label[:, :2], 2), 1e-9)
    return np.asarray(((found - label) * np.array([-1, -1, 1, 1]) / side)[box_iou(label, found) >= _MATCHED_IOU])
