"""All classes of two sets: Algorithm 1 and W1 under the same resamples, at one or several thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from simjudge.context.algorithm import ClassComparison, compare_pairs, resample_pairs
from simjudge.context.certainty import Certainty, Evidence, estimate_certainty
from simjudge.context.join_parts import PartRunner
from simjudge.context.method import Method
from simjudge.context.patches import Contexts
from simjudge.context.pool import ClassPair, Samples
from simjudge.context.propensity import UnitOdds
from simjudge.context.reductions import reduce_comparisons
from simjudge.context.resample_draws import ResampleDraws, ResamplingSchedule
from simjudge.context.resampling import ResampledW1, Resamples
from simjudge.context.sample_size import SampleSize, permutation_count
from simjudge.core.display import ShortRepr
from simjudge.core.progress import Advance
from simjudge.studies.compare_settings import CertaintySettings
from simjudge.studies.judged_set import JudgedSet, class_samples
from simjudge.studies.sampling_units import SamplingUnits, frame_performance, match_units, sampling_units

Comparisons = dict[int, ClassComparison]
"""What Algorithm 1 gives, by class id."""
Resampled = dict[int, list[ResampledW1]]
"""W1 under the resamples, by class id, at each threshold."""


@dataclass(frozen=True, repr=False)
class SetComparison(ShortRepr):
    """Two sets, ready to be compared class by class.

    Attributes:
        sets: A and B, with the performance of their objects.
        units: their sampling units.
        method: what a context is.
        paired: unit i of A and unit i of B are a pair.
    """

    sets: tuple[JudgedSet, JudgedSet]
    units: tuple[SamplingUnits, SamplingUnits]
    method: Method
    paired: bool = False

    @property
    def class_ids(self) -> list[int]:
        """The classes of either set, ascending."""
        return sorted(set().union(*(judged.frames.objects.class_id.tolist() for judged in self.sets)))

    def schedule(self, settings: CertaintySettings, deadline: float | None = None) -> ResamplingSchedule:
        """Plan the permutations and bootstrap draws.

        Args:
            settings: how many are asked for.
            deadline: see `ResamplingSchedule`.
        """
        draws = ResampleDraws(self.units[0].count, self.units[1].count, settings.seed, paired=self.paired)
        a, b = (set(judged.frames.objects.class_id.tolist()) for judged in self.sets)
        permutations = permutation_count(settings.permutations, len(a & b))
        return ResamplingSchedule(draws, permutations, settings.bootstrap, deadline)

    def compare(
        self,
        schedule: ResamplingSchedule,
        thetas: Sequence[float] | None = None,
        *,
        advance: Advance | None = None,
        run: PartRunner | None = None,
    ) -> tuple[list[Comparisons], Resampled]:
        """Compare every class, and compare it again under all resamples.

        Args:
            schedule: the resamples.
            thetas: thresholds, ascending; the method's where not given.
            advance: told (contexts done, contexts in all) of the comparison without resamples.
            run: who does the parts of the join; all cores of this machine where not given.

        Returns:
            The comparisons at each threshold, and W1 under the resamples; by class nothing where there are none.
        """
        [compared] = compare_together([ScheduledComparison(self, schedule)], thetas, advance=advance, run=run)
        return compared

    def certainty(
        self, comparisons: Comparisons, resampled: Resampled, number: int, margin: float
    ) -> tuple[dict[int, Certainty], Certainty]:
        """Judge the classes, and all classes together, at one threshold.

        Args:
            comparisons: what Algorithm 1 gives there.
            resampled: W1 under the resamples, at all thresholds.
            number: of the threshold.
            margin: difference of performance from which a gap matters.

        Returns:
            The certainty of each class by its id, and of all classes together.
        """
        each = [
            Evidence(reduce_comparisons([one]).mean_w1, _chosen(resampled[k], number), self.size([k]))
            for k, one in comparisons.items()
        ]
        pooled = None
        for evidence in each:
            if evidence.resampled is not None:
                one = evidence.resampled.at_true_share()
                pooled = pooled.added(one) if pooled is not None else one
        mean_w1 = reduce_comparisons(list(comparisons.values())).mean_w1
        compared = [k for k, one in comparisons.items() if one.compared.any()]
        classes, overall = estimate_certainty(each, Evidence(mean_w1, pooled, self.size(compared)), margin)
        return dict(zip(comparisons, classes, strict=True)), overall

    def samples(self, class_id: int, contexts: tuple[Contexts, Contexts] | None = None) -> tuple[Samples, Samples]:
        """The samples of a class of both sets.

        Args:
            class_id: of the anchors.
            contexts: of A and of B, where they have been cut out.
        """
        a, b = (
            replace(
                class_samples(judged, class_id, self.method, None if contexts is None else contexts[side]),
                frame=units.of_frame[judged.frames.objects.frame[judged.rows(class_id)]],
                frame_count=units.count,
            )
            for side, (judged, units) in enumerate(zip(self.sets, self.units, strict=True))
        )
        return a, b

    def size(self, class_ids: Sequence[int]) -> SampleSize:
        """The sampling units that hold some classes; "predicted" where the detector may find them in these sets.

        Args:
            class_ids: the classes.
        """
        held = [
            units.of_frame[judged.frames.objects.frame[np.isin(judged.frames.objects.class_id, class_ids)]]
            for judged, units in zip(self.sets, self.units, strict=True)
        ]
        predicted = any(judged.frames.classless for judged in self.sets) or any(
            judged.frames.predictions is not None and bool(np.isin(class_ids, judged.frames.predictions.class_id).any())
            for judged in self.sets
        )
        short = any(units.short for units in self.units)
        return SampleSize.of_units((held[0], held[1]), paired=self.paired, predicted=predicted, short=short)


@dataclass(frozen=True)
class ScheduledComparison:
    """A comparison that is made together with others of the same objects.

    Attributes:
        comparison: the sets, judged by one detector.
        schedule: its resamples.
        swapped: A has the objects of the first comparison's B, and B those of its A.
    """

    comparison: SetComparison
    schedule: ResamplingSchedule
    swapped: bool = False

    @property
    def propensity_wanted(self) -> bool:
        """Whether units are relabelled one by one, so that it matters what they show."""
        return self.schedule.relabels and not self.comparison.paired

    def pair(
        self, class_id: int, first: tuple[Samples, Samples] | None, resamples: Sequence[Resamples] | None
    ) -> ClassPair:
        """The samples of a class.

        Args:
            class_id: of the anchors.
            first: the samples of the first comparison, whose contexts are taken; None: this is the first one.
            resamples: to try at each threshold; None for none.
        """
        contexts = None
        if first is not None:
            a, b = first if not self.swapped else first[::-1]
            contexts = (a.contexts, b.contexts)
        return ClassPair(*self.comparison.samples(class_id, contexts), resamples, self.swapped)


def compare_together(
    scheduled: Sequence[ScheduledComparison],
    thetas: Sequence[float] | None = None,
    *,
    advance: Advance | None = None,
    run: PartRunner | None = None,
) -> list[tuple[list[Comparisons], Resampled]]:
    """Compare every class for several detectors, and in both directions, with one join a class.

    Args:
        scheduled: of the same objects, with one method.
        thetas: thresholds, ascending; the method's where not given.
        advance: told (contexts done, contexts in all) of the comparison without resamples.
        run: who does the parts of the joins; all cores of this machine where not given.

    Returns:
        For each comparison what `SetComparison.compare` returns.
    """
    first = scheduled[0].comparison
    method, ids = first.method, first.class_ids
    limits = [method.theta] if thetas is None else thetas
    wanted = [each.propensity_wanted for each in scheduled]
    # Only a unit's propensity asks for the neighbours of contexts of B.
    both = any(each.swapped for each in scheduled) or any(wanted)
    counts = [len(judged.frames.objects) for judged in first.sets]
    work, done = counts[0] + (counts[1] if both else 0), 0
    compared: list[list[Comparisons]] = [[{} for _ in limits] for _ in scheduled]
    parts: list[dict[int, list[list[ResampledW1]]]] = [{k: [] for k in ids} for _ in scheduled]
    units = [sum(side.count for side in each.comparison.units) for each in scheduled]
    odds = [[UnitOdds(count) for _ in limits] for count in units]
    for class_id in ids:
        pairs = _class_pairs(scheduled, class_id, wanted=wanted)
        found = compare_pairs(pairs, method, limits, _shifted(advance, done, work), run)
        done += len(pairs[0].a.performance) + (len(pairs[0].b.performance) if both else 0)
        for number, result in enumerate(found):
            for comparisons, one in zip(compared[number], result.comparisons, strict=True):
                comparisons[class_id] = one
            for known, more in zip(odds[number], result.propensity, strict=False):
                known.add(more)
        # The contexts of one class are gone before those of the next one are cut out.
        del pairs
    for each, of_each in zip(scheduled, odds, strict=True):
        each.schedule.prefer(np.stack([at_theta.of_units() for at_theta in of_each]))
    batches = [each.schedule.next_batch() for each in scheduled]
    while any(batch is not None for batch in batches):
        for class_id in ids:
            pairs = _class_pairs(scheduled, class_id, batches)
            for number, resampled in enumerate(resample_pairs(pairs, method, limits, run)):
                if batches[number] is not None:
                    parts[number][class_id].append(resampled)
            del pairs
        batches = [None if batch is None else each.schedule.next_batch()
                   for each, batch in zip(scheduled, batches, strict=True)]  # fmt: skip
    return [(by_theta, _concatenated(part)) for by_theta, part in zip(compared, parts, strict=True)]


def _class_pairs(
    scheduled: Sequence[ScheduledComparison],
    class_id: int,
    batches: Sequence[Sequence[Resamples] | None] | None = None,
    wanted: Sequence[bool] | None = None,
) -> list[ClassPair]:
    """The samples of a class for each comparison; contexts are cut out for the first one alone."""
    pairs: list[ClassPair] = []
    for number, each in enumerate(scheduled):
        pair = each.pair(class_id, (pairs[0].a, pairs[0].b) if pairs else None, batches[number] if batches else None)
        pairs.append(replace(pair, propensity=wanted is not None and wanted[number]))
    return pairs


def _concatenated(parts: dict[int, list[list[ResampledW1]]]) -> Resampled:
    """The batches of each class as if they had been one, at each threshold."""
    return {
        class_id: [ResampledW1.concatenate(batch) for batch in zip(*of_class, strict=True)]
        for class_id, of_class in parts.items()
    }


def comparison_units(
    a: JudgedSet, b: JudgedSet, settings: CertaintySettings, *, paired: bool = False
) -> tuple[SamplingUnits, SamplingUnits]:
    """The sampling units of both sets; those of pairs are drawn together, in the longer blocks.

    Where block lengths are estimated, the units of sets that are no pairs are matched (`match_units`).

    Args:
        a, b: the sets.
        settings: the length of blocks, and whether anything is drawn.
        paired: frame i of A and frame i of B are a pair.
    """
    if settings.permutations == 0 and not settings.bootstrap:
        return sampling_units(a.frames), sampling_units(b.frames)
    first, second = (sampling_units(each.frames, settings.block, frame_performance(each)) for each in (a, b))
    if not paired:
        return match_units(first, second) if settings.block is None else (first, second)
    longer = second if _dependence(second) > _dependence(first) else first
    return longer, longer


def _dependence(units: SamplingUnits) -> tuple[int, bool]:
    """Frames of a block, and whether even longer ones would be needed."""
    return (1 if units.block is None else units.block.frames), units.short


def _chosen(resampled: Sequence[ResampledW1], number: int) -> ResampledW1 | None:
    return resampled[number] if resampled else None


def _shifted(advance: Advance | None, done: int, total: int) -> Advance | None:
    if advance is None:
        return None
    return lambda part, _total: advance(done + part, total)
