"""One comparison: two sets with labels and predictions in, the contextualized performance of every class out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simjudge.context.algorithm import ClassComparison, Samples, compare_class
from simjudge.context.certainty import Certainty, correct_for_classes, draw_resamples, estimate_certainty
from simjudge.context.method import Method
from simjudge.context.reductions import reduce_comparisons
from simjudge.context.resampling import ResampledW1, Resamples
from simjudge.core.display import ShortRepr
from simjudge.core.errors import Losses
from simjudge.core.frames import FrameSet, IntArray
from simjudge.core.progress import Advance
from simjudge.perception.confusion import confusion
from simjudge.studies.class_numbering import match_classes
from simjudge.studies.compare_settings import CompareSettings
from simjudge.studies.judged_set import JudgedSet, class_samples, judge_set, require_labels
from simjudge.studies.pointwise import pair_objects
from simjudge.studies.sampling_units import SamplingUnits, frame_performance, sampling_units


@dataclass(frozen=True, repr=False)
class ClassResult(ShortRepr):
    """One class of a comparison: the rows of its objects in both sets, and what Algorithm 1 and chance say."""

    rows_a: IntArray
    rows_b: IntArray
    comparison: ClassComparison
    certainty: Certainty


@dataclass(frozen=True)
class PairResult:
    """The contextualized performance of B predicting A.

    Attributes:
        a, b: the sets, as they were compared (B with A's class ids).
        classes: by class id.
        overall: certainty over all classes together.
        numbers: "by_class", "overall" and "confusion" as docs/results.md has them.
        losses: frames that could not take part.
        units: how many things of each set were drawn independently: frames, photographs or blocks of time.
        drawn: what they are.
    """

    a: JudgedSet
    b: JudgedSet
    classes: dict[int, ClassResult]
    overall: Certainty
    numbers: dict[str, Any]
    losses: Losses
    units: tuple[int, int]
    drawn: tuple[SamplingUnits, SamplingUnits]


def compare_pair(
    set_a: FrameSet,
    set_b: FrameSet,
    settings: CompareSettings,
    *,
    precision: bool = True,
    advance: Advance | None = None,
) -> PairResult:
    """Compare two sets, class by class.

    Args:
        set_a: the predicted set (usually real), with predictions.
        set_b: the predicting set (usually simulated), with predictions.
        settings: of the comparison. With `paired`, frame i of A and frame i of B show the same. Where predictions come
            from is settled before.
        precision: also compute average precision and the confusion of classes.
        advance: told (contexts done, contexts in all).
    """
    losses, method = Losses(), settings.method
    require_labels(set_b)
    a = judge_set(set_a, method, settings.metric, losses, precision=precision)
    b = judge_set(match_classes(a.frames, set_b), method, settings.metric, losses, precision=precision)
    units = _units(a, b, settings)
    classes, overall = _compare_classes((a, b), units, settings, advance)
    numbers = _numbers(a, b, classes, overall)
    if precision:
        numbers["confusion"] = {
            which: confusion(judged.frames, method.min_score).content() for which, judged in (("a", a), ("b", b))
        }
    if settings.paired:
        _add_pointwise(a, b, numbers)
    return PairResult(a, b, classes, overall, numbers, losses, (units[0].count, units[1].count), units)


def _units(a: JudgedSet, b: JudgedSet, settings: CompareSettings) -> tuple[SamplingUnits, SamplingUnits]:
    """The sampling units of both sets; those of pairs are drawn together, in the longer blocks."""
    if not (settings.permutations or settings.bootstrap):
        return sampling_units(a.frames), sampling_units(b.frames)
    first, second = (sampling_units(each.frames, settings.block, frame_performance(each)) for each in (a, b))
    if not settings.paired:
        return first, second
    longer = second if _block_frames(second) > _block_frames(first) else first
    return longer, longer


def _block_frames(units: SamplingUnits) -> int:
    return 1 if units.block is None else units.block.frames


def _compare_classes(
    sets: tuple[JudgedSet, JudgedSet],
    units: tuple[SamplingUnits, SamplingUnits],
    settings: CompareSettings,
    advance: Advance | None,
) -> tuple[dict[int, ClassResult], Certainty]:
    """Each class by itself, then their certainty as several classes, and the certainty of all classes together."""
    resamples = None
    if settings.permutations or settings.bootstrap:
        resamples = draw_resamples(
            units[0].count, units[1].count, settings.permutations, settings.bootstrap, settings.seed,
            paired=settings.paired,
        )  # fmt: skip
    objects_a, objects_b = (judged_set.frames.objects for judged_set in sets)
    # A relabelled context of B is a row of the join too.
    work = len(objects_a) + (len(objects_b) if resamples is not None else 0)
    pooled = None if resamples is None else ResampledW1.zeros(resamples)
    results: dict[int, ClassResult] = {}
    done = 0
    for class_id in sorted(set(objects_a.class_id.tolist()) | set(objects_b.class_id.tolist())):
        report = _shifted(advance, done, work)
        result, resampled = _compare_one(sets, units, class_id, settings.method, resamples, report)
        done += len(result.rows_a) + (len(result.rows_b) if resamples is not None else 0)
        if pooled is not None and resampled is not None:
            pooled.add(resampled)
        results[class_id] = result
    mean_w1 = reduce_comparisons([one.comparison for one in results.values()])["mean_w1"]
    overall = estimate_certainty(mean_w1, pooled)
    corrected = correct_for_classes([one.certainty for one in results.values()], overall)
    return {
        class_id: replace(one, certainty=certainty)
        for (class_id, one), certainty in zip(results.items(), corrected, strict=True)
    }, overall


def _numbers(
    a: JudgedSet, b: JudgedSet, classes: dict[int, ClassResult], overall: Certainty
) -> dict[str, dict[str, Any]]:
    by_class = {
        str(k): entry_numbers([one.comparison], one.certainty, side_numbers("a", a, k), side_numbers("b", b, k))
        for k, one in classes.items()
    }
    comparisons = [one.comparison for one in classes.values()]
    together = entry_numbers(comparisons, overall, side_numbers("a", a, None), side_numbers("b", b, None))
    return {"by_class": by_class, "overall": together}


def _compare_one(
    sets: tuple[JudgedSet, JudgedSet],
    units: tuple[SamplingUnits, SamplingUnits],
    class_id: int,
    method: Method,
    resamples: Resamples | None,
    advance: Advance | None,
) -> tuple[ClassResult, ResampledW1 | None]:
    first, second = (
        _by_unit(class_samples(judged_set, class_id, method), unit)
        for judged_set, unit in zip(sets, units, strict=True)
    )
    (comparison,), resampled = compare_class(first, second, method, None, resamples, advance)
    certainty = estimate_certainty(reduce_comparisons([comparison])["mean_w1"], resampled)
    return ClassResult(sets[0].rows(class_id), sets[1].rows(class_id), comparison, certainty), resampled


def _by_unit(samples: Samples, units: SamplingUnits) -> Samples:
    """The same samples with their sampling unit in place of their frame."""
    return replace(samples, frame=units.of_frame[samples.frame], frame_count=units.count)


def side_numbers(side: str, judged_set: JudgedSet, class_id: int | None) -> dict[str, Any]:
    """False positives and average precision of one set.

    Args:
        side: "a" or "b", the end of the names.
        judged_set: the set.
        class_id: of one class; None for all classes together.

    Returns:
        Numbers by name as docs/results.md has them.
    """
    wrong, values = judged_set.assignment.false_positives, judged_set.average_precision
    chosen = list(values.values()) if class_id is None else [values.get(class_id, (None, None))]
    return {
        f"false_positives_{side}": sum(wrong.values()) if class_id is None else wrong.get(class_id, 0),
        f"map50_{side}": _mean_defined([pair[0] for pair in chosen]),
        f"map50_95_{side}": _mean_defined([pair[1] for pair in chosen]),
    }


def entry_numbers(
    comparisons: list[ClassComparison], certainty: Certainty | None, *sides: dict[str, Any]
) -> dict[str, Any]:
    """An entry of "by_class", or "overall" where comparisons of several classes are given.

    Args:
        comparisons: what Algorithm 1 gives, class by class.
        certainty: what stands beside mean W1; None where nothing was resampled.
        sides: see `side_numbers`.

    Returns:
        Numbers by name as docs/results.md has them.
    """
    reduced = reduce_comparisons(comparisons)
    sure = estimate_certainty(reduced["mean_w1"], None) if certainty is None else certainty
    out = reduced | vars(sure)
    for side in sides:
        out |= side
    return out


def _mean_defined(values: list[float | None]) -> float | None:
    defined = [v for v in values if v is not None]
    return float(np.mean(defined)) if defined else None


def _add_pointwise(a: JudgedSet, b: JudgedSet, numbers: dict[str, Any]) -> None:
    rows_a, rows_b = pair_objects(a.frames, b.frames)
    distance = np.abs(a.assignment.performance[rows_a] - b.assignment.performance[rows_b])
    of_class = a.frames.objects.class_id[rows_a]
    for key, entry in (*numbers["by_class"].items(), (None, numbers["overall"])):
        chosen = distance if key is None else distance[of_class == int(key)]
        entry["pointwise_pairs"] = len(chosen)
        entry["pointwise_mean_difference"] = float(chosen.mean()) if len(chosen) else None


def _shifted(advance: Advance | None, done: int, total: int) -> Advance | None:
    if advance is None:
        return None
    return lambda part, _total: advance(done + part, total)
