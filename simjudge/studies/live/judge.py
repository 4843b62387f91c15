"""A standing reference and frames that come in one by one: the numbers of a comparison at any time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simjudge.context.algorithm import ClassComparison, Samples
from simjudge.context.live_comparison import LiveClassComparison
from simjudge.context.method import Method
from simjudge.context.patches import object_contexts
from simjudge.core.display import ShortRepr
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FloatArray, FrameSet, IntArray, Objects, Predictions
from simjudge.core.masks import Masks
from simjudge.perception.assignment import Assignment
from simjudge.studies.class_numbering import ClassNumbering
from simjudge.studies.compare_settings import AUTO_MASKS, IGNORE_MASKS, USE_MASKS
from simjudge.studies.judged_set import class_samples, judge_set, object_performance
from simjudge.studies.painted_masks import PaintedGeometry, masked_count, painted_geometry
from simjudge.studies.pair import entry_numbers, side_numbers


@dataclass(frozen=True, repr=False)
class JudgedFrame(ShortRepr):
    """What is known of one live frame when it comes in.

    Attributes:
        frames: the frame, a set of one, under the reference's class numbers.
        assignment: performance of its objects, and the predictions assigned.
        w1: (N,) a W1 for each object to colour it by (see `LiveClassComparison.add`), NaN where nothing similar was
            compared.
        in_overlap: (N,) whether the reference shows anything similar.
        difference, batch: (N,) and (N, 2), where the live set is A (see `News`).
    """

    frames: FrameSet
    assignment: Assignment
    w1: FloatArray
    in_overlap: np.ndarray[Any, np.dtype[np.bool_]]
    difference: FloatArray
    batch: IntArray


class LiveJudge:
    """Compares live frames with a reference, class by class; equal to `compare_pair` over the same frames.

    Args:
        reference: a labelled and predicted set.
        method: the settings.
        metric: what performance is.
        live_is_a: whether the live frames are A, the predicted set; else they are B.
        masks: what patches are painted from, as in a comparison of two sets. With AUTO_MASKS the first labelled live
            frame decides: masks, where all its objects and all of the reference have one. An object without a mask that
            comes later is painted as a box and counted.
    """

    def __init__(
        self,
        reference: FrameSet,
        method: Method,
        *,
        metric: str = "iou",
        live_is_a: bool = False,
        masks: str = AUTO_MASKS,
    ) -> None:
        """Make the contexts of the reference.

        Raises:
            SimjudgeError: the reference has no labels or no predictions.
        """
        self.metric, self.live_is_a = metric, live_is_a
        self.losses = Losses()
        self.losses.extend(reference.losses)
        self.reference = judge_set(reference, method, metric, self.losses, precision=False)
        self._of_reference = painted_geometry([self.reference.frames], masks)
        self.method = replace(method, paint_masks=self._of_reference.use_masks)
        self._masks, self._live_masked, self._live_objects = masks, 0, 0
        self._numbers = ClassNumbering(reference.class_names)
        self._classes: dict[int, LiveClassComparison] = {}
        for class_id in np.unique(self.reference.frames.objects.class_id).tolist():
            self._class(class_id)
        self._frames: list[FrameSet] = []
        self._false_positives: dict[int, int] = {}

    @property
    def frame_count(self) -> int:
        """How many live frames have been taken in."""
        return len(self._frames)

    @property
    def false_positives(self) -> int:
        """Predictions of the live frames left over after the assignment, of all classes."""
        return sum(self._false_positives.values())

    @property
    def painted(self) -> PaintedGeometry:
        """What the patches so far are painted from."""
        known, live = self._of_reference.masked[0], (self._live_masked, self._live_objects)
        return PaintedGeometry(self.method.paint_masks, (live, known) if self.live_is_a else (known, live))

    @property
    def masks(self) -> str:
        """The setting `masks` by which two sets are painted as the frames so far are."""
        return USE_MASKS if self.method.paint_masks else IGNORE_MASKS

    @property
    def class_names(self) -> dict[int, str]:
        """Names of all classes seen so far."""
        return self._numbers.names

    def add_frame(self, frame: FrameSet) -> JudgedFrame:
        """Take a live frame in.

        Args:
            frame: a set of exactly one frame, labelled and predicted; its image is not kept.

        Raises:
            SimjudgeError: it is not one frame, or has no labels or predictions.
        """
        if len(frame) != 1 or not frame.labelled[0] or not frame.predicted[0] or frame.predictions is None:
            raise SimjudgeError(f"{frame.name}: a live frame must be one frame with labels and predictions")
        numbered = replace(self._numbers.apply(frame), images=None)
        self._settle_masks(numbered)
        assignment = object_performance(numbered, self.method, self.metric)
        self._frames.append(numbered)
        for class_id, count in assignment.false_positives.items():
            self._false_positives[class_id] = self._false_positives.get(class_id, 0) + count
        w1 = np.full(len(numbered.objects), np.nan)
        difference, shown = w1.copy(), np.zeros(len(w1), np.bool_)
        batch = np.zeros((len(w1), 2), np.int64)
        for class_id in np.unique(numbered.objects.class_id).tolist():
            rows = np.flatnonzero(numbered.objects.class_id == class_id)
            contexts = object_contexts(numbered, self.method, rows)
            news = self._class(class_id).add(contexts, assignment.performance[rows])
            w1[rows], shown[rows] = news.w1, news.shown
            difference[rows], batch[rows] = news.difference, news.batch
        return JudgedFrame(numbered, assignment, w1, shown, difference, batch)

    def numbers(self) -> dict[str, Any]:
        """The entries "by_class" and "overall" of docs/results.md, without average precision, nothing resampled."""
        comparisons = {class_id: self._classes[class_id].comparison() for class_id in sorted(self._classes)}
        by_class = {str(k): self._entry([comparison], k) for k, comparison in comparisons.items()}
        return {"by_class": by_class, "overall": self._entry(list(comparisons.values()), None)}

    def collected(self) -> FrameSet:
        """All live frames as one set, in order of stamp where they have stamps, else of arrival.

        Raises:
            SimjudgeError: no frame has come in.
        """
        if not self._frames:
            raise SimjudgeError("no live frame has come in; nothing can be compared")
        return _together(self._frames, dict(self._numbers.names))

    def _settle_masks(self, frame: FrameSet) -> None:
        """Decide by the first labelled frame whether masks are painted; count what has none later."""
        count, masked = len(frame.objects), masked_count(frame.objects)
        if self._masks == AUTO_MASKS and self.method.paint_masks and masked < count:
            if self._live_objects == 0:
                self.method = replace(self.method, paint_masks=False)
                known = list(self._classes)
                self._classes.clear()
                for class_id in known:
                    self._class(class_id)
            else:
                self.losses.add("frames with objects that have no mask, painted as boxes", frame.describe_frame(0))
        self._live_masked, self._live_objects = self._live_masked + masked, self._live_objects + count

    def _class(self, class_id: int) -> LiveClassComparison:
        if class_id not in self._classes:
            known: Samples = class_samples(self.reference, class_id, self.method)
            self._classes[class_id] = LiveClassComparison(known, self.method, live_is_a=self.live_is_a)
        return self._classes[class_id]

    def _entry(self, comparisons: list[ClassComparison], class_id: int | None) -> dict[str, Any]:
        of_reference, of_live = ("b", "a") if self.live_is_a else ("a", "b")
        wrong = self._false_positives
        live = {
            f"false_positives_{of_live}": sum(wrong.values()) if class_id is None else wrong.get(class_id, 0),
            f"map50_{of_live}": None,
            f"map50_95_{of_live}": None,
        }
        return entry_numbers(comparisons, None, side_numbers(of_reference, self.reference, class_id), live)


def _together(parts: list[FrameSet], names: dict[int, str]) -> FrameSet:
    stamps = np.concatenate([part.stamp for part in parts])
    order = np.argsort(stamps, kind="stable")
    parts = [parts[i] for i in order]
    objects = [part.objects for part in parts]
    predictions = [part.predictions for part in parts if part.predictions is not None]
    of_objects = np.repeat(np.arange(len(parts)), [len(table) for table in objects])
    of_predictions = np.repeat(np.arange(len(parts)), [len(table) for table in predictions])
    taken: dict[str, int] = {}
    frame_names = []
    for part in parts:
        name = part.frame_name[0]
        taken[name] = taken.get(name, 0) + 1
        frame_names.append(name if taken[name] == 1 else f"{name} ({taken[name]})")
    return FrameSet.build(
        "live",
        np.concatenate([part.size for part in parts]),
        Objects.build(
            of_objects,
            np.concatenate([table.class_id for table in objects]),
            np.concatenate([table.box for table in objects]),
            np.concatenate([table.instance for table in objects]),
            _masks([table.masks for table in objects], [len(table) for table in objects]),
        ),
        Predictions.build(
            of_predictions,
            np.concatenate([table.class_id for table in predictions]),
            np.concatenate([table.box for table in predictions]),
            np.concatenate([table.score for table in predictions]),
            _masks([table.masks for table in predictions], [len(table) for table in predictions]),
        ),
        frame_name=frame_names,
        stamp=stamps[order],
        class_names=names,
    )


def _masks(parts: list[Masks | None], counts: list[int]) -> Masks | None:
    if all(part is None for part in parts):
        return None
    return Masks.concatenate([Masks.none(n) if part is None else part for part, n in zip(parts, counts, strict=True)])
