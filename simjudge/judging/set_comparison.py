"""All classes of two sets: Algorithm 1, what chance makes of it, and what unlike objects in a batch do (method, 9)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr
from simjudge.core.errors import Advance
from simjudge.core.frames import FrameSet, kept_with_set
from simjudge.judging.box_neighbours import covered_shares, near_counts
from simjudge.judging.compare_settings import CompareSettings, PlanSettings, SweepSettings
from simjudge.judging.judged_set import JudgedSet, class_contexts
from simjudge.judging.units.sampling_units import SampleUnits, sample_units
from simjudge.method.algorithm import ClassComparison, compare_pairs, draw_pairs
from simjudge.method.balance import UNBALANCED, unlike
from simjudge.method.bootstrap import MOST_WORK, Bootstrap, DrawnRows, DrawSchedule, Normals, UnitNumbers
from simjudge.method.certainty import Certainty, Evidence, SampleSize, estimate_certainty
from simjudge.method.entry_numbers import reduce_comparisons
from simjudge.method.join_parts import PartRunner
from simjudge.method.method import Method
from simjudge.method.patches import Contexts
from simjudge.method.performance_model import PerformanceModel, fit_performance
from simjudge.method.pool import ClassPair, Samples
from simjudge.method.recording_pass import add_recordings
from simjudge.method.recordings import RecordingShift, RecordingSides, RecordingSums
from simjudge.method.verdicts import Scope, Verdict, finds_nothing


@dataclass(frozen=True, repr=False)
class ClassBalance(ShortRepr):
    """How unlike the objects of A_c and of B_c are, in standard deviations of the class, by covariate.

    `model` is what is expected of A's objects, then of B's, where they are too unlike to be compared as they are.
    """

    differences: dict[str, float]
    model: PerformanceModel | None = None

    @property
    def largest(self) -> tuple[str, float] | None:
        """The covariate that differs most, and by how much."""
        return max(self.differences.items(), key=lambda item: abs(item[1]), default=None)


def class_covariates(sets: tuple[JudgedSet, JudgedSet], class_id: int) -> tuple[FloatArray, tuple[str, ...]]:
    """(N, K) of the objects of a class, A's first, and the K names."""
    a, b = sets
    if a.contexts is not None or b.contexts is not None:  # patches of label pictures are no objects
        return np.empty((len(a.rows(class_id)) + len(b.rows(class_id)), 0)), ()
    return sample_covariates(a.frames, a.rows(class_id), b.frames, b.rows(class_id))


def class_balance(
    sets: tuple[JudgedSet, JudgedSet], class_id: int, pair: ClassPair, balance: FloatArray
) -> ClassBalance:
    """Name the (K,) mean differences of a class, and fit what is expected of its objects where they are unbalanced.

    Where batches are balanced but the sets are not, each batch leans the same way a little: that too is taken out.
    """
    covariates, names = class_covariates(sets, class_id)
    differences = {name: value for name, value in zip(names, balance.tolist(), strict=True) if not math.isnan(value)}
    count = len(pair.a.performance)
    units = pair.numbers.unit[:count], pair.numbers.unit[count:]
    # Pairs show the same objects: where their sizes differ, labels or lenses do, which is what is judged.
    leans = not np.isin(*units).any() and any(unlike(column[:count], column[count:], units) for column in covariates.T)
    if not leans and all(abs(value) <= UNBALANCED for value in differences.values()):
        return ClassBalance(differences)
    performance = np.concatenate([pair.a.performance, pair.b.performance])
    in_b = np.arange(len(performance)) >= count
    return ClassBalance(differences, fit_performance(performance, covariates, in_b, pair.numbers.unit))


EDGE_PX = 0.5
"""A box that ends this near the image's edge, or beyond it, is truncated."""


def sample_covariates(
    a: FrameSet, rows_a: IntArray, b: FrameSet, rows_b: IntArray
) -> tuple[FloatArray, tuple[str, ...]]:
    """The covariates of the objects of one class, as both sets know them.

    `rows_a`: (n,), rows of its objects; returns float64 (n + m, K), A's objects, then B's, without NaN: and the K
    names. Distance and visible share are left out where an object of either set lacks them.
    """
    both = zip(_columns(a), _columns(b), strict=True)
    columns = [np.concatenate([of_a[rows_a], of_b[rows_b]]) for of_a, of_b in both]
    known = [(name, column) for name, column in zip(_NAMES, columns, strict=True) if np.isfinite(column).all()]
    return np.stack([column for _, column in known], axis=1), tuple(name for name, _ in known)


def truncated_objects(frames: FrameSet, rows: IntArray) -> BoolArray:
    """Which boxes reach the edge of their image; the sides of a whole turn are no edges.

    `rows`: (N,), rows of its objects.
    """
    box, size = frames.objects.box[rows], frames.size[frames.objects.frame[rows]]
    at_edge = np.concatenate([box[:, :2] <= EDGE_PX, box[:, 2:] >= size - EDGE_PX], axis=1)
    if frames.cyclic:
        at_edge[:, [0, 2]] = False
    return np.asarray(at_edge.any(axis=1))


_NAMES = ("log box area", "log aspect", "truncated", "neighbours", "covered share", "visible share", "log distance")


@kept_with_set
def _columns(frames: FrameSet) -> tuple[FloatArray, ...]:
    """The columns of _NAMES of all objects; NaN where unknown."""
    objects = frames.objects
    # Less than a pixel is no size that a detector could tell, and a box may be empty.
    log_width, log_height = np.log(np.maximum(objects.box[:, 2:] - objects.box[:, :2], 1.0)).T
    return (
        log_width + log_height,
        log_width - log_height,
        truncated_objects(frames, np.arange(len(objects))).astype(np.float64),
        near_counts(objects.frame, objects.box).astype(np.float64),
        np.nan_to_num(covered_shares(objects.frame, objects.box)),
        objects.visible,
        np.log(np.maximum(objects.distance, 0.1)),
    )


@kept_with_set
def _predicted_classes(frames: FrameSet) -> frozenset[int]:
    return frozenset(() if frames.predictions is None else np.unique(frames.predictions.class_id).tolist())


Comparisons = dict[int, ClassComparison]
"""What Algorithm 1 gives, by class id."""
Drawn = dict[int, list[Bootstrap | None]]
"""What the draws give, by class id, at each threshold."""


@dataclass(frozen=True, repr=False)
class SetComparison(ShortRepr):
    """Two sets, ready to be compared class by class."""

    sets: tuple[JudgedSet, JudgedSet]  # A and B, with the performance of their objects
    units: SampleUnits  # the sampling units of their objects
    method: Method
    adjusts: bool = True  # whether performance is adjusted where batches hold unlike objects
    # of each class that was compared: how unlike they are, and what was expected of them
    balance: dict[int, ClassBalance] = field(default_factory=dict)
    draws_made: list[int] = field(default_factory=list)  # how many draws were made of each batch
    # by class id, bool (n_a,), the contexts of A that are compared; of a class that is not named, all are
    counted: Mapping[int, BoolArray] = field(default_factory=dict)

    @property
    def class_ids(self) -> list[int]:
        """The classes of either set, ascending."""
        return sorted(set().union(*(judged.frames.objects.class_id.tolist() for judged in self.sets)))

    def schedule(
        self, settings: CompareSettings | SweepSettings | PlanSettings, deadline: float | None = None
    ) -> DrawSchedule:
        """Plan as many draws as the settings ask for; see `DrawSchedule` for the deadline."""
        return DrawSchedule(self.units.count, self.units.block_count, settings.draws, settings.seed, deadline)

    def compare(
        self,
        schedule: DrawSchedule,
        thetas: Sequence[float] | None = None,
        *,
        advance: Advance | None = None,
        run: PartRunner | None = None,
    ) -> tuple[list[Comparisons], Drawn]:
        """Compare every class, and draw. `thetas`: thresholds, ascending; the method's where not given."""
        [compared] = compare_together([ScheduledComparison(self, schedule)], thetas, advance=advance, run=run)
        return compared

    def certainty(
        self, comparisons: Comparisons, drawn: Drawn, number: int, margin: float
    ) -> tuple[dict[int, Certainty], Certainty]:
        """Judge the classes, and all classes together, at one threshold."""
        tried = sum(self.draws_made)
        scope = self.units.scope if tried else Scope.UNKNOWN
        classes = [
            Evidence(
                one.mean_w1,
                drawn[k][number] if drawn[k] else None,
                self.size([k]),
                adjusted=self.model(k) is not None,
                tried=tried,
                scope=scope,
            )
            for k, one in comparisons.items()
        ]
        together = Bootstrap.together([one.bootstrap for one in classes if one.bootstrap is not None])
        mean_w1 = reduce_comparisons(list(comparisons.values())).mean_w1
        compared = [k for k, one in comparisons.items() if one.compared.any()]
        adjusted = any(self.model(k) is not None for k in compared)
        overall = Evidence(mean_w1, together, self.size(compared), adjusted, tried, scope)
        each, all_classes = estimate_certainty(classes, overall, margin)
        by_class = {k: self._of_working_detector(one, k) for k, one in zip(comparisons, each, strict=True)}
        return by_class, self._of_working_detector(all_classes, None)

    def _of_working_detector(self, certainty: Certainty, class_id: int | None) -> Certainty:
        """The certainty of a class, or of all: where the detector fails in both sets, they agree whatever they show."""
        if certainty.verdict == Verdict.NOT_TESTED:
            return certainty
        sides = [judged.numbers(class_id) for judged in self.sets]
        if not all(finds_nothing(s.map50, s.recall) for s in sides):
            return certainty
        return replace(certainty, verdict=Verdict.DETECTOR_FAILS)

    def model(self, class_id: int) -> PerformanceModel | None:
        """What is expected of the objects of a class where their performance is adjusted."""
        balance = self.balance.get(class_id)
        return None if balance is None else balance.model

    def samples(self, class_id: int, contexts: tuple[Contexts, Contexts] | None = None) -> tuple[Samples, Samples]:
        """The samples of a class of both sets; `contexts` are theirs, where they have been cut out."""
        both = []
        for side, judged in enumerate(self.sets):
            rows = judged.rows(class_id)
            block, recording = (
                None if known is None else known[side][rows] for known in (self.units.block, self.units.recording)
            )
            cut = class_contexts(judged, rows, self.method) if contexts is None else contexts[side]
            both.append(
                Samples(
                    cut, judged.assignment.performance[rows], UnitNumbers(self.units.unit[side][rows], block, recording)
                )
            )
        return both[0], both[1]

    def shift(self, method: Method) -> RecordingShift | None:
        """How recordings move performance between the sets; None where neither has several."""
        if self.units.recording is None:
            return None
        sums = RecordingSums(RecordingSides.of_rows(*self.units.recording))
        for class_id in self.class_ids:
            pair = ClassPair(*self.samples(class_id), expected=self.model(class_id))
            if min(len(pair.a.performance), len(pair.b.performance)):
                add_recordings(sums, pair, method)
        return sums.shift()

    def size(self, class_ids: Sequence[int]) -> SampleSize:
        """The sampling units that hold some classes; "predicted" where the detector may find them in these sets."""
        held = []
        for side, judged in enumerate(self.sets):
            inside = judged.rows(*class_ids)
            units = self.units.unit[side][inside]
            # With two effects, the fewer count: three blocks of time tell little, however many things they show.
            if self.units.block is not None:
                blocks = self.units.block[side][inside]
                if len(blocks) and blocks.min() >= 0 and len(np.unique(blocks)) < len(np.unique(units)):
                    units = blocks
            held.append(units)
        predicted = any(judged.frames.classless for judged in self.sets) or any(
            not _predicted_classes(judged.frames).isdisjoint(class_ids) for judged in self.sets
        )
        return SampleSize.of_units((held[0], held[1]), predicted=predicted)


@dataclass(frozen=True)
class ScheduledComparison:
    """A comparison that is made together with others of the same objects."""

    comparison: SetComparison  # the sets, judged by one detector
    schedule: DrawSchedule
    swapped: bool = False  # A has the objects of the first comparison's B, and B those of its A

    @property
    def measures_balance(self) -> bool:
        """Whether it is told how unlike the objects of each class are."""
        return self.comparison.adjusts and self.schedule.draws > 0

    def pair(
        self, class_id: int, first: tuple[Samples, Samples] | None, normals: Normals | None, *, balance: bool = False
    ) -> ClassPair:
        """The samples of a class; `first` are those of the first comparison, whose contexts are taken."""
        contexts = None
        if first is not None:
            a, b = first if not self.swapped else first[::-1]
            contexts = (a.contexts, b.contexts)
        samples, counted = self.comparison.samples(class_id, contexts), self.comparison.counted.get(class_id)
        pair = ClassPair(*samples, normals, swapped=self.swapped, counted=counted)
        if normals is not None:
            return replace(pair, expected=self.comparison.model(class_id))
        if not balance or not self.measures_balance:
            return pair
        return replace(pair, covariates=class_covariates(self.comparison.sets, class_id)[0])


def compare_together(
    scheduled: Sequence[ScheduledComparison],
    thetas: Sequence[float] | None = None,
    *,
    advance: Advance | None = None,
    run: PartRunner | None = None,
) -> list[tuple[list[Comparisons], Drawn]]:
    """Compare every class for several detectors, and in both directions, with one join a class.

    `thetas`: thresholds, ascending; the method's where not given.
    """
    method = scheduled[0].comparison.method
    limits = [method.theta] if thetas is None else list(thetas)
    compared = _join_classes(scheduled, limits, advance, run)
    _plan_shifts(scheduled, method)
    parts = _draw_classes(scheduled, limits, compared, run)
    return [
        (by_theta, _collected(part, by_theta, each))
        for by_theta, part, each in zip(compared, parts, scheduled, strict=True)
    ]


def _join_classes(
    scheduled: Sequence[ScheduledComparison], limits: list[float], advance: Advance | None, run: PartRunner | None
) -> list[list[Comparisons]]:
    """What Algorithm 1 gives for each comparison, at each threshold."""
    first = scheduled[0].comparison
    method = first.method
    # Whether batches are balanced is a matter of the method's own threshold, if others are looked at too.
    balance_at = limits.index(method.theta) if method.theta in limits else 0
    both = any(plan.swapped for plan in scheduled)
    counts = [len(judged.frames.objects) for judged in first.sets]
    work, done = counts[0] + (counts[1] if both else 0), 0
    compared: list[list[Comparisons]] = [[{} for _ in limits] for _ in scheduled]
    for class_id in first.class_ids:
        if not both and not len(first.sets[0].rows(class_id)):
            _enter_nothing(scheduled, compared, class_id, limits)
            continue
        pairs = _class_pairs(scheduled, class_id)
        found = compare_pairs(pairs, method, limits, _shifted(advance, done, work), run, balance_at)
        for number, result in enumerate(found):
            if result.balance is not None:
                each = scheduled[number].comparison
                each.balance[class_id] = class_balance(each.sets, class_id, pairs[number], result.balance)
            for comparisons, one in zip(compared[number], result.comparisons, strict=True):
                comparisons[class_id] = one
        done += len(pairs[0].a.performance) + (len(pairs[0].b.performance) if both else 0)
        # The contexts of one class are gone before those of the next one are cut out.
        del pairs
    return compared


def _enter_nothing(
    scheduled: Sequence[ScheduledComparison], compared: list[list[Comparisons]], class_id: int, limits: list[float]
) -> None:
    """Enter a class of which A holds no object."""
    for plan, by_theta in zip(scheduled, compared, strict=True):
        if plan.measures_balance:
            plan.comparison.balance[class_id] = ClassBalance({})
        a, b = (judged.assignment.performance[judged.rows(class_id)] for judged in plan.comparison.sets)
        for theta, comparisons in zip(limits, by_theta, strict=True):
            comparisons[class_id] = ClassComparison.nothing(theta, a, b)


def _draw_classes(
    scheduled: Sequence[ScheduledComparison],
    limits: list[float],
    compared: list[list[Comparisons]],
    run: PartRunner | None,
) -> list[dict[int, list[list[DrawnRows]]]]:
    """What the draws give for each comparison: by class id, of each batch at each threshold."""
    lowest = [by_theta[0] for by_theta in compared]
    ids = [class_id for class_id in lowest[0] if any(one[class_id].compared.any() for one in lowest)]
    batches = [plan.schedule.next_batch() for plan in scheduled]
    parts: list[dict[int, list[list[DrawnRows]]]] = [{k: [] for k in lowest[0]} for _ in scheduled]
    while any(batch is not None for batch in batches):
        for class_id in ids:
            share = _drawn_share([one[class_id] for one in lowest], scheduled)
            pairs = _class_pairs(scheduled, class_id, batches)
            for number, drawn in enumerate(draw_pairs(pairs, scheduled[0].comparison.method, limits, run, share)):
                if batches[number] is not None:
                    parts[number][class_id].append(drawn)
            del pairs
        for planned, batch in zip(scheduled, batches, strict=True):
            planned.comparison.draws_made.append(0 if batch is None else batch.count)
        batches = [
            None if batch is None else plan.schedule.next_batch()
            for plan, batch in zip(scheduled, batches, strict=True)
        ]
    return parts


def _plan_shifts(scheduled: Sequence[ScheduledComparison], method: Method) -> None:
    """Let the draws know how recordings move performance, which the fitted models are needed for."""
    for plan in scheduled:
        if plan.schedule.draws:
            plan.schedule.shift = plan.comparison.shift(method)


def _drawn_share(compared: Sequence[ClassComparison], scheduled: Sequence[ScheduledComparison]) -> float:
    """The share of the contexts of a class that carries the draws, so that they cost at most MOST_WORK."""
    cost = sum(float(one.batch.sum()) * plan.schedule.draws for one, plan in zip(compared, scheduled, strict=True))
    return min(1.0, MOST_WORK / cost) if cost else 1.0


def _class_pairs(
    scheduled: Sequence[ScheduledComparison], class_id: int, batches: Sequence[Normals | None] | None = None
) -> list[ClassPair]:
    """The samples of a class for each comparison; contexts are cut out for the first one alone."""
    pairs: list[ClassPair] = []
    for number, plan in enumerate(scheduled):
        first = (pairs[0].a, pairs[0].b) if pairs else None
        pairs.append(plan.pair(class_id, first, batches[number] if batches else None, balance=batches is None))
    return pairs


def _collected(
    parts: dict[int, list[list[DrawnRows]]], compared: Sequence[Comparisons], scheduled: ScheduledComparison
) -> Drawn:
    """The batches of each class as if they had been one, at each threshold."""
    doubted = scheduled.comparison.units.doubted
    # All classes share the doubt, as they share the units.
    degrees = None if doubted is None else max(1, doubted - 1)
    factor = None if degrees is None else scheduled.schedule.doubt(degrees)
    return {
        class_id: [
            None
            if (boot := Bootstrap.of_batches(batch, int(comparisons[class_id].compared.sum()))) is None
            else boot
            if factor is None or degrees is None
            else boot.doubted(factor, degrees)
            for batch, comparisons in zip(zip(*of_class, strict=True), compared, strict=True)
        ]
        if of_class
        else []
        for class_id, of_class in parts.items()
    }


def comparison_units(
    a: JudgedSet, b: JudgedSet, settings: CompareSettings | SweepSettings | PlanSettings, *, paired: bool = False
) -> SampleUnits:
    """The sampling units of both sets; nothing is estimated where nothing is drawn."""
    block = settings.block if settings.draws else 0.0
    return sample_units(a, b, block=block, unit=settings.unit, paired=paired)


def _shifted(advance: Advance | None, done: int, total: int) -> Advance | None:
    if advance is None:
        return None
    return lambda part, _total: advance(done + part, total)
