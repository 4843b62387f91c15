"""W1 on the newly covered part: how well the new pictures predict a detector on the contexts that were missing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from simjudge.core.arrays import IntArray
from simjudge.core.errors import Losses
from simjudge.core.frames import FrameSet
from simjudge.core.progress import ProgressBar
from simjudge.detectors.detection import detect
from simjudge.method.certainty import Certainty
from simjudge.method.compiled import forgo_blas
from simjudge.method.patches import object_contexts
from simjudge.method.reductions import reduce_comparisons
from simjudge.questions.cover.context_coverage import similar_pairs
from simjudge.questions.cover.settings import CoverSettings
from simjudge.studies.compare_settings import IGNORE_MASKS, CompareSettings
from simjudge.studies.judged_set import JudgedSet, judge_set
from simjudge.studies.set_comparison import SetComparison, comparison_units


@dataclass(frozen=True)
class NewlyCovered:
    """W1 of the contexts that the new pictures cover and B did not.

    Attributes:
        mean_w1: None where none takes part.
    """

    contexts: int
    mean_w1: float | None
    certainty: Certainty

    def content(self) -> dict[str, Any]:
        """The entry of cover.json."""
        names = ("noise", "noise_q95", "gap", "gap_low", "gap_high", "p_value", "verdict")
        return {"contexts": self.contexts, "mean_w1": self.mean_w1} | {
            name: getattr(self.certainty, name) for name in names
        }


def judge_newly_covered(
    a: FrameSet, new: FrameSet, rows: IntArray, model: Path, settings: CoverSettings, progress: ProgressBar
) -> NewlyCovered:
    """Compare a detector on some contexts of A with the new pictures.

    Only these contexts of A count, as in a comparison of a set that holds nothing else; their patches are those of the
    whole frames.

    Args:
        a: the labelled frames of A, with pictures, or with predictions, which are then taken as they are.
        rows: (N,) rows of A's objects, ascending.
    """
    found = a if a.predictions is not None else detect(a, model, progress=progress)
    chosen = CompareSettings(theta=settings.theta, patch=settings.method.patch, masks=IGNORE_MASKS, seed=settings.seed)
    method = replace(chosen.method, paint_masks=False)
    both = found.labelled & found.predicted
    rows = rows[both[a.objects.frame[rows]]]
    if not len(rows):
        return NewlyCovered(0, None, Certainty())
    place = np.cumsum(both[a.objects.frame]) - 1
    losses = Losses()
    first = judge_set(found, method, chosen.metric, losses, precision=False)
    second = judge_set(detect(new, model, progress=progress), method, chosen.metric, losses, precision=False)
    return compare_resembled(first, second, place[rows], chosen)


def compare_resembled(first: JudgedSet, second: JudgedSet, rows: IntArray, settings: CompareSettings) -> NewlyCovered:
    """Compare some contexts of a set with those of another one that resemble them.

    The other objects of both sets are left out: contexts of A that B had covered before are not asked about.

    Args:
        second: the set that is to predict it, with the class ids of the first.
        rows: (N,) rows of the first set's objects, ascending.
    """
    method = replace(settings.method, paint_masks=False)
    resembling = np.unique(similar_pairs(first.frames, second.frames, method, rows).column)
    a, b = (
        _only(judged, kept, object_contexts(judged.frames, method, kept))
        for judged, kept in ((first, rows), (second, resembling))
    )
    forgo_blas()
    comparison = SetComparison((a, b), comparison_units(a, b, settings), method)
    (classes,), drawn = comparison.compare(comparison.schedule(settings))
    _, overall = comparison.certainty(classes, drawn, 0, settings.margin)
    return NewlyCovered(len(rows), reduce_comparisons(list(classes.values())).mean_w1, overall)


def _only(judged: JudgedSet, rows: IntArray, contexts: Any) -> JudgedSet:
    """A set in which only some objects are anchors."""
    old = judged.assignment
    kept = replace(
        old, performance=old.performance[rows], prediction=old.prediction[rows], taking_part=old.taking_part[rows]
    )
    return JudgedSet(replace(judged.frames, objects=judged.frames.objects.take(rows)), kept, contexts=contexts)
