"""Which class a prediction has that landed on an object of each class: the confusion matrix of a detector."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from simjudge.core.frames import FrameSet
from simjudge.detectors.assignment import participants
from simjudge.detectors.overlapping_pairs import overlapping_pairs

SAME_PLACE = 0.5
"""A prediction has landed on an object where their IoU is at least this: the threshold of mAP50."""
NOTHING = None
"""Stands for the object of a prediction that landed on none, and for the prediction of an object that was missed."""


@dataclass(frozen=True)
class Confusion:
    """The confusion matrix of a detector over a set, without its zeros.

    Attributes:
        counts: (class id of the object, class id of the prediction) to the number of such pairs. The object is NOTHING
            for predictions that landed on no object, the prediction is NOTHING for objects on which none landed.
    """

    counts: dict[tuple[int | None, int | None], int]

    def content(self) -> dict[str, dict[str, int]]:
        """The counts as result.json has them: object's class to prediction's class to count, "none" for NOTHING."""
        out: dict[str, dict[str, int]] = {}
        ordered = sorted(self.counts.items(), key=lambda item: [(k is NOTHING, k or 0) for k in item[0]])
        for (labelled, predicted), count in ordered:
            out.setdefault(_key(labelled), {})[_key(predicted)] = count
        return out


def confusion(frames: FrameSet, min_score: float, cuboid_iou: str = "3d") -> Confusion:
    """Match predictions to objects by place alone, whatever their classes, and count the pairs of classes.

    Pairs of one frame with an IoU of at least SAME_PLACE are matched one to one, the largest IoU first; of equal ones
    the pair of one class, then the earlier object, then the earlier prediction.

    Args:
        frames: a set with labels and predictions; frames that lack either do not count.
    """
    taking_part, chosen, predictions = participants(frames, min_score)
    objects = frames.objects
    taken = np.flatnonzero(taking_part)
    rows, columns, iou = overlapping_pairs(frames, taken, chosen, by_class=False, cuboid_iou=cuboid_iou)
    near = iou >= SAME_PLACE
    rows, columns, iou = rows[near], columns[near], iou[near]
    unlike = objects.class_id[rows] != predictions.class_id[columns]
    free_rows, free_columns = np.zeros(len(objects), np.bool_), np.zeros(len(predictions), np.bool_)
    free_rows[taken], free_columns[chosen] = True, True
    counts: Counter[tuple[int | None, int | None]] = Counter()
    for i in np.lexsort((columns, rows, unlike, -iou)):
        row, column = rows[i], columns[i]
        if free_rows[row] and free_columns[column]:
            free_rows[row] = free_columns[column] = False
            counts[int(objects.class_id[row]), int(predictions.class_id[column])] += 1
    counts.update((int(k), NOTHING) for k in objects.class_id[free_rows])
    counts.update((NOTHING, int(k)) for k in predictions.class_id[free_columns])
    return Confusion(dict(counts))


def _key(class_id: int | None) -> str:
    return "none" if class_id is NOTHING else str(class_id)
