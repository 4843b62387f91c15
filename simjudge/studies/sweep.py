"""How the answer depends on the two settings that a person chooses: the threshold theta and the patch size."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from simjudge.context.algorithm import ClassComparison, compare_class
from simjudge.context.reductions import reduce_comparisons
from simjudge.core.errors import Losses
from simjudge.core.frames import FrameSet
from simjudge.core.progress import Advance
from simjudge.studies.class_numbering import match_classes
from simjudge.studies.compare_settings import SweepSettings
from simjudge.studies.pair import class_samples, judge_set, require_labels


def sweep_pair(
    set_a: FrameSet,
    set_b: FrameSet,
    settings: SweepSettings,
    *,
    advance: Advance | None = None,
) -> tuple[list[dict[str, Any]], Losses]:
    """Compare two sets along theta (at the method's patch) and along the patch size (at the method's theta).

    All thresholds of one patch size come from a single join at the lowest of them.

    Args:
        set_a: the predicted set (usually real), with predictions.
        set_b: the predicting set (usually simulated), with predictions.
        settings: of the sweep. Where predictions come from is settled before.
        advance: told (patch sizes done, patch sizes in all).

    Returns:
        The points, each {"theta", "patch", "by_class", "overall"}, and the frames that could not take part.
    """
    losses, method = Losses(), settings.method
    require_labels(set_b)
    a = judge_set(set_a, method, settings.metric, losses, precision=False)
    b = judge_set(match_classes(a.frames, set_b), method, settings.metric, losses, precision=False)
    ids = sorted(set(a.frames.objects.class_id.tolist()) | set(b.frames.objects.class_id.tolist()))
    wanted = {patch: [method.theta] for patch in settings.patches}
    wanted[method.patch] = sorted({*settings.thetas, *wanted.get(method.patch, [])})
    points = []
    for number, (patch, limits) in enumerate(sorted(wanted.items())):
        at_patch = replace(method, patch=patch)
        by_class: dict[int, list[ClassComparison]] = {
            class_id: compare_class(
                class_samples(a, class_id, at_patch), class_samples(b, class_id, at_patch), at_patch, limits
            )[0]
            for class_id in ids
        }
        for t, theta in enumerate(limits):
            points.append(
                {
                    "theta": theta,
                    "patch": list(patch),
                    "by_class": {str(k): reduce_comparisons([parts[t]]) for k, parts in by_class.items()},
                    "overall": reduce_comparisons([parts[t] for parts in by_class.values()]),
                }
            )
        if advance is not None:
            advance(number + 1, len(wanted))
    return points, losses
