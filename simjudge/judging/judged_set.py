"""A set with the performance of its objects, and the samples of a class that it gives."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from simjudge.core.arrays import BoolArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.frames import FrameSet
from simjudge.detectors.assignment import Assignment, assign, assign_cpd
from simjudge.method.bootstrap import UnitNumbers
from simjudge.method.method import Method
from simjudge.method.patches import Contexts, object_contexts
from simjudge.method.pool import Samples
from simjudge.method.precision_curve import RankedPredictions


@dataclass(frozen=True, repr=False)
class JudgedSet(ShortRepr):
    """A set whose frames are all labelled and predicted, with the performance of its objects."""

    frames: FrameSet
    assignment: Assignment  # performance of each object, and the prediction assigned to it
    # by class id, mAP50 and mAP50-95; empty where not asked for
    average_precision: dict[int, tuple[float | None, float | None]] = field(default_factory=dict)
    # those of all objects, where they are cut already, as of label pictures; None: from boxes or masks
    contexts: Contexts | None = None
    # bool (N,), the objects that count, as of a half of a set; the others are only seen in their patches. None: all.
    chosen: BoolArray | None = None
    # by class id, the predictions by score and the objects that they hit, of average precision
    ranked: dict[int, RankedPredictions] = field(default_factory=dict)
    whole_frames: bool = False  # whether each object stands for its whole frame, and is no thing of the world

    def rows(self, *class_ids: int) -> IntArray:
        """int64 (K,), the rows of `frames.objects` that are of some classes and count."""
        held = np.isin(self.frames.objects.class_id, class_ids)
        return np.flatnonzero(held if self.chosen is None else held & self.chosen)


def judge_set(
    frames: FrameSet,
    method: Method,
    metric: str,
    losses: Losses,
    *,
    precision: bool = True,
    needs_predictions: bool = True,
) -> JudgedSet:
    """Keep the frames that are labelled and predicted, and give every object its performance."""
    require_labels(frames)
    if frames.predictions is None and not needs_predictions:
        frames = replace(frames, predicted=frames.labelled, classless=True)
    elif frames.predictions is None:
        raise SimjudgeError(f"{frames.name}: holds no predictions; give a detector (--model) or earlier predictions")
    both = frames.labelled & frames.predicted
    for kind, lacking in (
        ("frames without predictions", frames.labelled & ~frames.predicted),
        ("predicted frames without labels", ~frames.labelled & frames.predicted),
    ):
        for index in np.flatnonzero(lacking):
            losses.add(kind, frames.describe_frame(int(index)))
    taken = frames if both.all() else frames.take(both)
    if len(taken.objects) == 0:
        raise SimjudgeError(f"{frames.name}: no labelled object is in a frame that has predictions")
    assignment = object_performance(taken, method, metric)
    if not precision or taken.objects.cuboid is not None:
        return JudgedSet(taken, assignment)
    from simjudge.detectors.assignment import ranked_precision  # noqa: PLC0415 - slow to import

    values, ranked = ranked_precision(taken)
    return JudgedSet(taken, assignment, values, ranked=ranked)


def object_performance(frames: FrameSet, method: Method, metric: str) -> Assignment:
    """The performance of every object of a set (Eq. [1], arXiv 2208.01022)."""
    if method.integer_boxes and frames.objects.cuboid is not None:
        raise UsageError("preset cpd: is the authors' tool, which knows boxes in pictures alone")
    if method.integer_boxes and metric != "iou":
        raise UsageError(f"metric {metric!r}: preset cpd is the authors' tool, whose performance is the IoU alone")
    if method.integer_boxes:
        return assign_cpd(frames, method.min_score)
    return assign(frames, method.min_score, metric, method.cuboid_iou)


def require_labels(frames: FrameSet) -> None:
    """Refuse a set in which nothing is labelled."""
    if len(frames.objects) == 0:
        raise SimjudgeError(
            f"{frames.name}: holds no labelled object, so its contexts are unknown; label it, or take a stronger"
            " detector's predictions for labels (simjudge convert --labels PREDICTED --from-predictions 0.5), or"
            " regions of label images (--from-regions CLASS), or compare whole pictures (simjudge objects)"
        )


def class_contexts(judged_set: JudgedSet, rows: IntArray, method: Method) -> Contexts:
    """The contexts of some objects of a set."""
    own = judged_set.contexts
    return object_contexts(judged_set.frames, method, rows) if own is None else own.take(rows)


def class_samples(judged_set: JudgedSet, class_id: int, method: Method) -> Samples:
    """One sample for each object of a class, each frame a unit."""
    rows = judged_set.rows(class_id)
    frame = UnitNumbers(judged_set.frames.objects.frame[rows])
    return Samples(class_contexts(judged_set, rows, method), judged_set.assignment.performance[rows], frame)
