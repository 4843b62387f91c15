"""How the answer depends on the two settings that a person chooses: the threshold theta and the patch size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from simjudge.context.algorithm import Comparison, compare_class
from simjudge.context.method import Method
from simjudge.context.reductions import reduce_comparisons
from simjudge.core.errors import Losses
from simjudge.core.frames import FrameSet
from simjudge.studies.classes import same_classes
from simjudge.studies.pair import check_labelled, judged, samples

Advance = Callable[[int, int], None]
PAPER_THETAS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9)
PAPER_PATCHES = ((80, 80), (100, 100), (120, 120), (140, 140), (160, 160), (180, 180))


def sweep(
    set_a: FrameSet,
    set_b: FrameSet,
    method: Method,
    thetas: Sequence[float],
    patches: Sequence[tuple[int, int]],
    *,
    metric: str = "iou",
    advance: Advance | None = None,
) -> tuple[list[dict[str, Any]], Losses]:
    """Compare two sets along theta (at the method's patch) and along the patch size (at the method's theta).

    All thresholds of one patch size come from a single join at the lowest of them.

    Returns:
        The points, each {"theta", "patch", "by_class", "overall"}, and the frames that could not take part.
    """
    losses = Losses()
    check_labelled(set_b)
    a = judged(set_a, method, metric, losses, precision=False)
    b = judged(same_classes(a.frames, set_b), method, metric, losses, precision=False)
    ids = sorted(set(a.frames.objects.class_id.tolist()) | set(b.frames.objects.class_id.tolist()))
    wanted = {patch: [method.theta] for patch in patches}
    wanted[method.patch] = sorted({*thetas, *wanted.get(method.patch, [])})
    points = []
    for number, (patch, limits) in enumerate(sorted(wanted.items())):
        setting = replace(method, patch=patch)
        by_class: dict[int, list[Comparison]] = {
            class_id: compare_class(
                samples(a, a.rows(class_id), setting), samples(b, b.rows(class_id), setting), setting, limits
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
