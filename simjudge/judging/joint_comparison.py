"""Several sets against one A, drawn together: by how much is one simulation nearer to it than another one?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from simjudge.core.arrays import BoolArray, IntArray, ShortRepr
from simjudge.core.errors import Advance, SimjudgeError
from simjudge.judging.compare_settings import SEMANTIC, CompareSettings
from simjudge.judging.joint_units import SharedObjects, join_units, same_poses
from simjudge.judging.judged_set import JudgedSet
from simjudge.judging.painted_masks import PaintedGeometry, painted_geometry
from simjudge.judging.pair import entry_numbers
from simjudge.judging.set_comparison import SetComparison, comparison_units
from simjudge.method.algorithm import ClassComparison
from simjudge.method.bootstrap import Bootstrap, DrawSchedule
from simjudge.method.entry_numbers import ComparisonNumbers
from simjudge.method.gap_difference import GapDifference, JointGap, compare_gaps
from simjudge.method.join_parts import PartRunner


@dataclass(frozen=True, repr=False)
class JointComparison(ShortRepr):
    """Comparisons of one A with several B's, on the contexts of A that all of them show.

    Attributes:
        numbers: of each comparison, on those contexts.
        differences: of every two over all classes; `by_class` by class id.
        covered: share of A's contexts that all show; `own_cover`, that each shows by itself.
        twins: which two show the same poses.
    """

    numbers: tuple[ComparisonNumbers, ...]
    differences: tuple[GapDifference, ...]
    by_class: Mapping[int, tuple[GapDifference, ...]]
    covered: float
    own_cover: tuple[float, ...]
    twins: tuple[tuple[int, int], ...]
    painted: PaintedGeometry  # what the patches were painted from
    comparisons: tuple[SetComparison, ...]  # of A with each, whose units are numbered over all


def compare_jointly(
    sides: Sequence[tuple[JudgedSet, JudgedSet]],
    settings: CompareSettings,
    *,
    advance: Advance | None = None,
    run: PartRunner | None = None,
) -> JointComparison:
    """Compare one A with several B's under the same draws. `sides`: A, the same in all, and each B."""
    first = sides[0][0].frames
    if any(len(a.frames.objects) != len(first.objects) or len(a.frames) != len(first) for a, _ in sides):
        raise SimjudgeError(f"{first.name}: not the same frames of it can be compared with every simulation")
    painted = _painted(sides, settings)
    method = replace(settings.method, paint_masks=painted.use_masks)
    units = [comparison_units(a, b, settings, paired=settings.paired) for a, b in sides]
    shared = _shared_objects([b for _, b in sides], settings)
    if len({one.doubted for one in units}) > 1:
        # What is in doubt for one of them is so for their difference.
        poorest = min(units, key=lambda one: one.doubted or len(first) + 1)
        units = [one if one.doubted else replace(one, sides=poorest.sides) for one in units]
    comparisons = [
        SetComparison(pair, one, method, adjusts=settings.preset != "cpd")
        for pair, one in zip(sides, join_units(units, shared), strict=True)
    ]
    compared = [_compared(comparison, run) for comparison in comparisons]
    counted = {
        k: np.logical_and.reduce([of_set[k] for of_set in compared]) for k in np.unique(first.objects.class_id).tolist()
    }
    return _drawn(comparisons, compared, counted, settings, shared, painted, advance, run)


def _painted(sides: Sequence[tuple[JudgedSet, JudgedSet]], settings: CompareSettings) -> PaintedGeometry:
    if settings.task == SEMANTIC:
        return PaintedGeometry(use_masks=False, pixels=True)
    return painted_geometry((sides[0][0].frames, *(b.frames for _, b in sides)), settings.masks)


def _shared_objects(simulations: Sequence[JudgedSet], settings: CompareSettings) -> list[SharedObjects]:
    """The objects that two simulations of the same poses share."""
    if settings.task == SEMANTIC or not settings.draws:
        return []
    out = []
    for i, j in combinations(range(len(simulations)), 2):
        rows = same_poses(simulations[i], simulations[j], round(settings.pair_tolerance * 1e9))
        if rows is not None:
            out.append(SharedObjects(i, j, *rows))
    return out


def _compared(comparison: SetComparison, run: PartRunner | None) -> dict[int, BoolArray]:
    """By class, which contexts of A have like ones in B."""
    [found], _ = comparison.compare(DrawSchedule(0, 0, 0, 0), run=run)
    return {k: one.compared for k, one in found.items()}


def _drawn(
    comparisons: Sequence[SetComparison],
    compared: Sequence[Mapping[int, BoolArray]],
    counted: Mapping[int, BoolArray],
    settings: CompareSettings,
    shared: Sequence[SharedObjects],
    painted: PaintedGeometry,
    advance: Advance | None,
    run: PartRunner | None,
) -> JointComparison:
    numbers: list[ComparisonNumbers] = []
    overall: list[JointGap | None] = []
    by_class: dict[int, list[JointGap | None]] = {k: [] for k in counted}
    for done, comparison in enumerate(comparisons):
        limited = replace(comparison, counted=counted)
        [found], drawn = limited.compare(limited.schedule(settings), run=run)
        found = {k: found[k] for k in counted}
        boots = {k: drawn[k][0] if drawn[k] else None for k in counted}
        classes, together = limited.certainty(found, drawn, 0, settings.margin)
        numbers.append(
            ComparisonNumbers(
                {str(k): entry_numbers([one], classes[k]) for k, one in found.items()},
                entry_numbers(list(found.values()), together),
            )
        )
        overall.append(_joint_gap(limited, {k: found[k] for k in counted if counted[k].any()}, list(boots.values())))
        for k, boot in boots.items():
            by_class[k].append(_joint_gap(limited, {k: found[k]}, [boot]))
        if advance is not None:
            advance(done + 1, len(comparisons))
    differences = compare_gaps([overall], settings.margin)[0]
    of_classes = compare_gaps(list(by_class.values()), settings.margin, differences)
    contexts = sum(len(mask) for mask in counted.values())
    return JointComparison(
        tuple(numbers),
        tuple(differences),
        {k: tuple(pairs) for k, pairs in zip(by_class, of_classes, strict=True)},
        sum(int(mask.sum()) for mask in counted.values()) / contexts,
        tuple(sum(int(of_set[k].sum()) for k in counted) / contexts for of_set in compared),
        tuple((one.first, one.second) for one in shared),
        painted,
        tuple(comparisons),
    )


def _joint_gap(
    comparison: SetComparison, classes: Mapping[int, ClassComparison], boots: Sequence[Bootstrap | None]
) -> JointGap | None:
    """What the draws say of some classes; None where there is too little to be judged."""
    together = Bootstrap.together([boot for boot in boots if boot is not None])
    size = comparison.size(list(classes))
    if together is None or size.few or not size.predicted:
        return None
    rows = np.concatenate([comparison.sets[0].rows(k)[one.compared] for k, one in classes.items()])
    w1 = np.concatenate([one.w1[one.compared] for one in classes.values()])
    unit, groups = comparison.units.unit[0][rows], list[IntArray]()
    if comparison.units.block is not None:
        block = comparison.units.block[0][rows]
        groups.append(np.where(block < 0, block.max() + 1 + unit, block))
    return JointGap(together, min(size.units_a, size.units_b), w1, (unit, *groups))
