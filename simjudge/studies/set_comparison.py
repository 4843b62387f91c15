"""All classes of two sets: Algorithm 1 and W1 under the same resamples, at one or several thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from simjudge.context.algorithm import ClassComparison, Samples, compare_class, resample_class
from simjudge.context.certainty import Certainty, Evidence, estimate_certainty
from simjudge.context.method import Method
from simjudge.context.reductions import reduce_comparisons
from simjudge.context.resample_draws import ResampleDraws, ResamplingSchedule
from simjudge.context.resampling import ResampledW1
from simjudge.context.sample_size import SampleSize, permutation_count
from simjudge.core.display import ShortRepr
from simjudge.core.progress import Advance
from simjudge.studies.compare_settings import CertaintySettings
from simjudge.studies.judged_set import JudgedSet, class_samples
from simjudge.studies.sampling_units import SamplingUnits, frame_performance, sampling_units

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
    ) -> tuple[list[Comparisons], Resampled]:
        """Compare every class, and compare it again under all resamples.

        Args:
            schedule: the resamples.
            thetas: thresholds, ascending; the method's where not given.
            advance: told (contexts done, contexts in all) of the first batch of resamples.

        Returns:
            The comparisons at each threshold, and W1 under the resamples; by class nothing where there are none.
        """
        ids, batch = self.class_ids, schedule.next_batch()
        limits = [self.method.theta] if thetas is None else thetas
        # A relabelled context of B is a row of the join too.
        counts = [len(judged.frames.objects) for judged in self.sets]
        work = counts[0] + (counts[1] if batch is not None else 0)
        by_theta: list[Comparisons] = [{} for _ in limits]
        batches: dict[int, list[list[ResampledW1]]] = {class_id: [] for class_id in ids}
        done = 0
        for class_id in ids:
            a, b = self._samples(class_id)
            results, resampled = compare_class(a, b, self.method, limits, batch, _shifted(advance, done, work))
            done += len(a.performance) + (len(b.performance) if batch is not None else 0)
            for comparisons, result in zip(by_theta, results, strict=True):
                comparisons[class_id] = result
            if batch is not None:
                batches[class_id].append(resampled)
        while batch is not None and (batch := schedule.next_batch()) is not None:
            for class_id in ids:
                batches[class_id].append(resample_class(*self._samples(class_id), self.method, batch, limits))
        joined = {
            class_id: [ResampledW1.concatenate(parts) for parts in zip(*of_class, strict=True)]
            for class_id, of_class in batches.items()
        }
        return by_theta, joined

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
            Evidence(reduce_comparisons([one])["mean_w1"], _chosen(resampled[k], number), self._size([k]))
            for k, one in comparisons.items()
        ]
        pooled = None
        for evidence in each:
            if evidence.resampled is not None:
                one = evidence.resampled.at_true_share()
                pooled = pooled.added(one) if pooled is not None else one
        mean_w1 = reduce_comparisons(list(comparisons.values()))["mean_w1"]
        compared = [k for k, one in comparisons.items() if one.compared.any()]
        classes, overall = estimate_certainty(each, Evidence(mean_w1, pooled, self._size(compared)), margin)
        return dict(zip(comparisons, classes, strict=True)), overall

    def _samples(self, class_id: int) -> tuple[Samples, Samples]:
        a, b = (
            replace(samples, frame=units.of_frame[samples.frame], frame_count=units.count)
            for samples, units in zip(
                (class_samples(judged, class_id, self.method) for judged in self.sets), self.units, strict=True
            )
        )
        return a, b

    def _size(self, class_ids: Sequence[int]) -> SampleSize:
        """The sampling units that hold some classes; "predicted" where the detector may find them in these sets."""
        held = [
            units.of_frame[judged.frames.objects.frame[np.isin(judged.frames.objects.class_id, class_ids)]]
            for judged, units in zip(self.sets, self.units, strict=True)
        ]
        predicted = any(judged.frames.classless for judged in self.sets) or any(
            judged.frames.predictions is not None and bool(np.isin(class_ids, judged.frames.predictions.class_id).any())
            for judged in self.sets
        )
        return SampleSize.of_units((held[0], held[1]), paired=self.paired, predicted=predicted)


def comparison_units(
    a: JudgedSet, b: JudgedSet, settings: CertaintySettings, *, paired: bool = False
) -> tuple[SamplingUnits, SamplingUnits]:
    """The sampling units of both sets; those of pairs are drawn together, in the longer blocks.

    Args:
        a, b: the sets.
        settings: the length of blocks, and whether anything is drawn.
        paired: frame i of A and frame i of B are a pair.
    """
    if settings.permutations == 0 and not settings.bootstrap:
        return sampling_units(a.frames), sampling_units(b.frames)
    first, second = (sampling_units(each.frames, settings.block, frame_performance(each)) for each in (a, b))
    if not paired:
        return first, second
    longer = second if _block_frames(second) > _block_frames(first) else first
    return longer, longer


def _block_frames(units: SamplingUnits) -> int:
    return 1 if units.block is None else units.block.frames


def _chosen(resampled: Sequence[ResampledW1], number: int) -> ResampledW1 | None:
    return resampled[number] if resampled else None


def _shifted(advance: Advance | None, done: int, total: int) -> Advance | None:
    if advance is None:
        return None
    return lambda part, _total: advance(done + part, total)
