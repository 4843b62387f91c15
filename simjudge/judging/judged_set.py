"""A set with the performance of its objects or label pictures, and the samples of a class that it gives."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import cv2
import numpy as np

from simjudge.core.arrays import BoolArray, IntArray, ShortRepr
from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.frames import UNLABELLED, FrameSet, LabelPicture, kept_with_set
from simjudge.core.images import EncodedImage, ImageError, Images, RgbImage
from simjudge.core.object_tables import Objects
from simjudge.data.semantic_classes import SemanticClasses, label_pairs, scaled_height
from simjudge.detectors.assignment import Assignment, assign, assign_cpd
from simjudge.detectors.iou import pair_iou
from simjudge.method.bootstrap import UnitNumbers
from simjudge.method.method import Method
from simjudge.method.patches import Contexts, object_contexts
from simjudge.method.pool import Samples
from simjudge.method.precision_curve import RankedPredictions
from simjudge.method.segmentation import grid_samples


@kept_with_set
def rows_by_class(frames: FrameSet) -> dict[int, IntArray]:
    """The rows of the objects of each class, ascending."""
    class_id = frames.objects.class_id
    order, (known, first) = np.argsort(class_id, kind="stable"), np.unique(np.sort(class_id), return_index=True)
    return dict(zip(known.tolist(), np.split(order, first[1:]), strict=bool(len(known))))


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
    # bool (N,), which objects the detector finds; None where performance is not of what it finds
    found: BoolArray | None = None

    def rows(self, *class_ids: int) -> IntArray:
        """int64 (K,), the rows of `frames.objects` that are of some classes and count."""
        known = rows_by_class(self.frames)
        rows = [known[class_id] for class_id in dict.fromkeys(class_ids) if class_id in known]
        held = rows[0] if len(rows) == 1 else np.sort(np.concatenate([np.empty(0, np.int64), *rows]))
        return held.copy() if self.chosen is None else held[self.chosen[held]]

    def numbers(self, class_id: int | None) -> SideNumbers:
        """False positives, average precision and recall of a class, or of all."""
        wrong, values = self.assignment.false_positives, self.average_precision
        chosen = list(values.values()) if class_id is None else [values.get(class_id, (None, None))]
        count = sum(wrong.values()) if class_id is None else wrong.get(class_id, 0)
        rows = self.rows(*(np.unique(self.frames.objects.class_id) if class_id is None else [class_id]))
        recall = None if self.found is None or not len(rows) else float(self.found[rows].mean())
        map50, map50_95 = (_mean_defined([pair[number] for pair in chosen]) for number in (0, 1))
        return SideNumbers(count, map50, map50_95, recall)


class SideNumbers(NamedTuple):
    """False positives, average precision and recall of one set; None where unknown."""

    false_positives: int
    map50: float | None = None
    map50_95: float | None = None
    recall: float | None = None


def _mean_defined(values: list[float | None]) -> float | None:
    defined = [v for v in values if v is not None]
    return float(np.mean(defined)) if defined else None


FOUND_IOU = 0.5
"""IoU from which an object counts as found."""


def found_objects(frames: FrameSet, assignment: Assignment, kind: str) -> BoolArray:
    """Which objects have a prediction of their class with an IoU of FOUND_IOU or more."""
    objects, partner, predictions = frames.objects, assignment.prediction, frames.predictions
    out = np.zeros(len(objects), np.bool_)
    if predictions is None:
        return out
    rows = np.flatnonzero(partner >= 0)
    if objects.cuboid is not None and predictions.cuboid is not None:
        from simjudge.detectors.cuboid_iou import cuboid_iou  # noqa: PLC0415 - numba is slow to import

        iou = cuboid_iou(objects.cuboid[rows], predictions.cuboid[partner[rows]], kind)
    else:
        iou = pair_iou(objects, predictions, rows, partner[rows])
    out[rows] = (iou >= FOUND_IOU) & (objects.class_id[rows] == predictions.class_id[partner[rows]])
    return out


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
    found = None if taken.predictions is None else found_objects(taken, assignment, method.cuboid_iou)
    if not precision or taken.objects.cuboid is not None:
        return JudgedSet(taken, assignment, found=found)
    from simjudge.detectors.assignment import ranked_precision  # noqa: PLC0415 - slow to import

    values, ranked = ranked_precision(taken)
    return JudgedSet(taken, assignment, values, ranked=ranked, found=found)


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
            " detector's predictions for labels (simjudge data convert --labels PREDICTED --from-predictions 0.5), or"
            " regions of label images (--from-regions CLASS), or compare whole pictures (simjudge robot objects)"
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


PATCH = "patch"
"""The one class of patches on a grid."""
_WRONG = np.array([230, 0, 130], np.float32)
"""Red, green and blue of wrongly predicted pixels in a gallery."""


def judge_patches(
    frames: FrameSet, classes: SemanticClasses, method: Method, metric: str, losses: Losses, width: int | None = None
) -> JudgedSet:
    """Cut the label pictures of a set into patches, and give every patch its performance.

    `width`: to which pictures are scaled first, pixels; None leaves them as they are.
    """
    stride = method.patch if method.stride is None else (method.stride, method.stride)
    used: list[int] = []

    def pictures(index: int, truth: LabelPicture, guess: LabelPicture) -> tuple[LabelPicture, LabelPicture]:
        used.append(index)
        return truth, guess

    pairs = (pictures(*label_pair) for label_pair in label_pairs(frames, classes, width, losses))
    try:
        grid = grid_samples(pairs, method.patch, stride, metric=metric, ignore=UNLABELLED)
    except SimjudgeError as error:
        reason = str(error) if used else f"no frame has a label picture and a predicted one{losses.reason}"
        raise SimjudgeError(f"{frames.name}: {reason}") from None
    taken = frames.take(np.array(used, np.int64))
    corner = grid.origin.astype(np.float64)
    height, wide = method.patch
    objects = Objects.build(
        grid.samples.numbers.unit,
        np.zeros(len(corner), np.int64),
        np.hstack([corner, corner + np.array([wide, height])]),
    )
    size = taken.size if width is None else np.array([(width, scaled_height((w, h), width)) for w, h in taken.size])
    everything = np.ones(len(taken), np.bool_)
    shown = replace(
        taken,
        size=size,
        objects=objects,
        predictions=None,
        labelled=everything,
        predicted=everything,
        class_names={0: PATCH},
        images=MarkedImages(taken, classes, width),
        classless=True,
    )
    nothing = np.full(len(objects), -1, np.int64)
    assignment = Assignment(grid.samples.performance, nothing, np.ones(len(objects), np.bool_), {})
    return JudgedSet(shown, assignment, contexts=grid.samples.contexts)


def take_frames(judged: JudgedSet, chosen: IntArray) -> JudgedSet:
    """Some frames of a set of patches. `chosen`: (K,), numbers of frames, each at most once."""
    assert judged.contexts is not None  # noqa: S101 - patches have theirs
    number = np.full(len(judged.frames), -1, np.int64)
    number[chosen] = np.arange(len(chosen))
    frame = number[judged.frames.objects.frame]
    kept = np.flatnonzero(frame >= 0)
    rows = kept[np.argsort(frame[kept], kind="stable")]
    old = judged.assignment
    assignment = replace(
        old, performance=old.performance[rows], prediction=old.prediction[rows], taking_part=old.taking_part[rows]
    )
    return JudgedSet(judged.frames.take(chosen), assignment, contexts=judged.contexts.take(rows))


@dataclass(frozen=True)
class MarkedImages:
    """The images of a set, wrongly predicted pixels tinted."""

    frames: FrameSet  # the set, with images and label pictures of both kinds
    classes: SemanticClasses
    width: int | None  # to which images are scaled, pixels; None leaves them as they are

    @property
    def _images(self) -> Images | None:
        return self.frames.images

    def __len__(self) -> int:
        """The number of frames."""
        return len(self.frames)

    def has(self, index: int) -> bool:
        """Tell whether a frame has an image: see `Images.has`."""
        return self._images is not None and self._images.has(index)

    def read(self, index: int) -> RgbImage:
        """Read an image and mark it: see `Images.read`."""
        if self._images is None:
            raise ImageError(f"{self.frames.describe_frame(index)}: has no image")
        pixels = self._images.read(index)
        ((_, truth, guess),) = label_pairs(self.frames.take([index]), self.classes, self.width, Losses())
        if pixels.shape[:2] != truth.shape:
            pixels = np.asarray(cv2.resize(pixels, truth.shape[::-1], interpolation=cv2.INTER_AREA), np.uint8)
        wrong = (truth != guess) & (truth != UNLABELLED)
        out = pixels.copy()
        out[wrong] = np.rint(0.5 * out[wrong] + 0.5 * _WRONG).astype(np.uint8)
        return out

    def read_encoded(self, index: int) -> EncodedImage | None:
        """Give nothing: the pixels are changed. See `Images.read_encoded`."""
        del index
        return None
