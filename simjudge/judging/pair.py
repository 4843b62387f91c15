"""One comparison: two sets in, the contextualized performance of every class and of invented places out.

An invention is a prediction that overlaps no labelled object. The image is cut into patches; places are not chosen by
what was invented there, for in the few patches around A's inventions A would invent more than B by that choice alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray, ShortRepr
from simjudge.core.errors import Advance, Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.detectors.assignment import confusion, participants, without_ignored
from simjudge.detectors.iou import overlapping_pairs
from simjudge.judging.class_numbering import match_classes
from simjudge.judging.compare_settings import (
    PATCH_METRICS,
    SEMANTIC,
    WHOLE_FRAMES,
    CompareSettings,
    MethodSettings,
)
from simjudge.judging.context_kinds import (
    MOST_CLASSES,
    MOST_ROWS,
    ContextKinds,
    Grouping,
    groups_by_place,
    most_kinds,
    recorded_units,
    tested_kinds,
    where_sets_differ,
)
from simjudge.judging.inputs import pair_objects, shared_classes
from simjudge.judging.judged_set import JudgedSet, SideNumbers, judge_patches, judge_set, require_labels
from simjudge.judging.measured_detector import lasting_frame_units, measure_detector
from simjudge.judging.own_numbers import GivenTables, judge_whole_frames, with_own_numbers
from simjudge.judging.painted_masks import PaintedGeometry, choose_patch, painted_geometry
from simjudge.judging.set_comparison import ClassBalance, SetComparison, comparison_units
from simjudge.judging.units.sampling_units import SampleUnits
from simjudge.method.algorithm import ClassComparison
from simjudge.method.bootstrap import DrawSchedule, UnitNumbers
from simjudge.method.certainty import Certainty
from simjudge.method.entry_numbers import ComparisonNumbers, EntryNumbers, reduce_comparisons
from simjudge.method.join_parts import PartRunner
from simjudge.method.kinds import HiddenGap, KindDifferences, KindSums
from simjudge.method.method import Method
from simjudge.method.patches import Contexts, place_contexts
from simjudge.method.pool import ClassPair, Samples
from simjudge.results.result_header import StatedPerformance

MOST_PLACES = 20_000
"""Of a set; of more, so many are drawn."""
NOTHING_NEAR = "nothing labelled near"
ALL_PLACES = "all places"


@dataclass(frozen=True, repr=False)
class JudgedPlaces(ShortRepr):
    """Patches of the images of a set."""

    frame: IntArray  # (N,) the frame of each
    centre: FloatArray  # (N, 2) of the place, pixels
    invented: FloatArray  # (N,) 1 where an invention has its centre there, else 0
    contexts: Contexts


def inventions(judged: JudgedSet, method: Method) -> IntArray:
    """The rows of the predictions that count and overlap no object of any class."""
    _, chosen, _ = participants(judged.frames, method.min_score)
    everything = np.arange(len(judged.frames.objects))
    touched = overlapping_pairs(judged.frames, everything, chosen, by_class=False, cuboid_iou=method.cuboid_iou)[1]
    return without_ignored(judged.frames, np.setdiff1d(chosen, touched))


def judge_places(judged: JudgedSet, method: Method, most: int = MOST_PLACES) -> JudgedPlaces:
    """Cut the images into places as large as the patch or a little smaller, of which `most` are drawn at random."""
    frames, patch = judged.frames, np.array(method.patch[::-1])
    count = np.maximum(1, -(-frames.size // patch))
    first = np.concatenate([[0], np.cumsum(count.prod(axis=1))])
    chosen = np.arange(first[-1])
    if first[-1] > most:
        chosen = np.sort(np.random.default_rng(0).choice(first[-1], most, replace=False, shuffle=False))
    frame = np.searchsorted(first, chosen, side="right") - 1
    row, column = np.divmod(chosen - first[frame], count[frame, 0])
    centre = (np.stack([column, row], axis=1) + 0.5) * (frames.size / count)[frame]
    places = np.unique(_places_of(frames, inventions(judged, method), count, first))
    origin = np.floor(centre - patch / 2).astype(np.int64)
    contexts = place_contexts(frames, method, frame, origin)
    return JudgedPlaces(frame, centre, np.isin(chosen, places).astype(np.float64), contexts)


def _places_of(frames: FrameSet, rows: IntArray, count: IntArray, first: IntArray) -> IntArray:
    """The number of the place, over all frames, that holds the centre of each of some predictions."""
    predictions = frames.predictions
    if predictions is None:
        return np.empty(0, np.int64)
    frame, box = predictions.frame[rows], predictions.box[rows]
    inside = (box[:, :2] + box[:, 2:]) / 2 / frames.size[frame]
    column, row = np.clip(np.floor(inside * count[frame]), 0, count[frame] - 1).astype(np.int64).T
    return np.asarray(first[frame] + row * count[frame, 0] + column)


def where_detector_invents(
    sets: tuple[JudgedSet, JudgedSet],
    frame_unit: tuple[IntArray, IntArray],
    method: Method,
    draws: int,
    seed: int,
    recording: tuple[IntArray, IntArray] | None = None,
) -> KindDifferences | None:
    """Test kinds of places: the share of like places that hold an invention, B less A; None where there are none.

    `frame_unit`, `recording`: (F,) of the frames of A and of B, see `SampleUnits`.
    """
    if not draws or any(judged.frames.predictions is None for judged in sets):
        return None
    a, b = (judge_places(judged, method) for judged in sets)
    if not a.invented.any() and not b.invented.any():
        return None
    frames = sets[0].frames, sets[1].frames
    groupings = [
        _surroundings((a, b), frames[1].class_names | frames[0].class_names, method),
        *groups_by_place(
            [frames[0].size[a.frame].astype(np.float64), frames[1].size[b.frame].astype(np.float64)],
            [a.centre, b.centre],
        ),
    ]
    units = max(int(unit.max(initial=-1)) for unit in frame_unit) + 1
    frame_unit, count, recorded = recorded_units(frame_unit, units, recording)
    kinds = ContextKinds.of_groupings(groupings, (len(a.frame), len(b.frame)), most_kinds(count), ALL_PLACES)
    samples = [
        Samples(side.contexts.marked_empty(), side.invented, UnitNumbers(own[side.frame]))
        for side, own in zip((a, b), frame_unit, strict=True)
    ]
    sums = replace(KindSums.zeros(len(kinds.names.names), count, 0), recorded=recorded)
    sums.add_class(ClassPair(samples[0], samples[1]), method, kinds.bits, MOST_ROWS)
    return tested_kinds(sums, kinds.names, DrawSchedule(units, 0, draws, seed))


def _surroundings(places: tuple[JudgedPlaces, JudgedPlaces], names: dict[int, str], method: Method) -> Grouping:
    """Places that have nothing labelled in their patch, and those that have something of a class."""
    empty = np.concatenate([place.contexts.area == 0 for place in places])
    if not method.class_aware:
        return [(NOTHING_NEAR, empty), ("near a labelled object", ~empty)]
    near: dict[int, list[IntArray]] = {}
    before = 0
    for place in places:
        row = np.repeat(np.arange(len(place.frame)), np.diff(place.contexts.start))
        for k in np.unique(place.contexts.plane_class).tolist():
            held = (place.contexts.plane_class == k) & (place.contexts.plane_area > 0)
            near.setdefault(k, []).append(before + row[held])
        before += len(place.frame)
    largest = sorted(sorted(near, key=lambda k: -sum(map(len, near[k])))[:MOST_CLASSES])
    out = [(NOTHING_NEAR, empty)]
    for k in largest:
        mask = np.zeros(before, np.bool_)
        mask[np.concatenate(near[k])] = True
        out.append((f"near {names.get(k) or f'class {k}'}", mask))
    return out


THETA_STEP = 0.1
"""How far below and above the threshold a verdict is looked at too."""


@dataclass(frozen=True, repr=False)
class ClassResult(ShortRepr):
    """One class of a comparison: the rows of its objects in both sets, and what Algorithm 1 and chance say."""

    rows_a: IntArray
    rows_b: IntArray
    comparison: ClassComparison
    certainty: Certainty


@dataclass(frozen=True)
class PairResult:
    """The contextualized performance of B predicting A."""

    a: JudgedSet  # a, b: the sets, as they were compared (B with A's class ids)
    b: JudgedSet
    classes: dict[int, ClassResult]
    overall: Certainty
    numbers: ComparisonNumbers  # of each class and of all together
    losses: Losses  # frames that could not take part
    units: SampleUnits
    # by class id, how unlike the objects of batches are; empty where nothing was drawn
    balance: dict[int, ClassBalance]
    painted: PaintedGeometry  # what the patches were painted from
    method: Method
    comparison: SetComparison  # comparison, settings: what was compared, and how, with the patch that was chosen
    settings: CompareSettings
    performance: StatedPerformance | None = None  # one of one's own; None for a metric of simjudge's

    @cached_property
    def where(self) -> KindDifferences | None:
        """How A and B differ in each kind of contexts; None where nothing was drawn."""
        classes = {class_id: one.comparison for class_id, one in self.classes.items()}
        return where_sets_differ(self.comparison, classes, self.comparison.schedule(self.settings))

    @property
    def hidden_gap(self) -> HiddenGap | None:
        """The kind of contexts whose gap the verdict alone would hide."""
        return HiddenGap.find(self.numbers.verdict, self.settings.margin, self.where)

    @cached_property
    def where_invented(self) -> KindDifferences | None:
        """The same of inventions in each kind of places; None where there are none."""
        if self.a.frames.predictions is None or self.b.frames.predictions is None:
            return None
        sets, settings = (self.a, self.b), self.settings
        units = lasting_frame_units(sets, self.units, self.method, settings)
        recording = self.units.frame_recording
        return where_detector_invents(sets, units, self.method, settings.draws, settings.seed, recording)


def compare_pair(
    set_a: FrameSet,
    set_b: FrameSet,
    settings: CompareSettings,
    *,
    precision: bool = True,
    advance: Advance | None = None,
    deadline: float | None = None,
    run: PartRunner | None = None,
    tables: GivenTables | None = None,
) -> PairResult:
    """Compare two sets, class by class. `tables`: of numbers of one's own, where the settings name some."""
    losses, given = Losses(), tables or GivenTables()
    precision = precision and settings.task != SEMANTIC
    if settings.contexts == WHOLE_FRAMES:
        (a, b), stated = judge_whole_frames((set_a, set_b), settings, given, losses)
        painted = PaintedGeometry(use_masks=False, features=bool(given.features))
        result = compare_judged((a, b), painted, settings, losses, advance=advance, deadline=deadline, run=run)
        return replace(result, performance=stated)
    a, b, painted = judge_sets(set_a, set_b, settings, losses, precision=precision)
    (a, b), own = with_own_numbers((a, b), settings, given, losses)
    precision = precision and all(judged.frames.predictions is not None for judged in (a, b))
    painted = replace(painted, features=bool(given.features))
    if settings.paired and len(a.frames) != len(b.frames):
        raise SimjudgeError(f"{set_a.name} and {set_b.name}: {'; '.join(losses.lines())}: one half of a pair; mend it")
    result = compare_judged(
        (a, b), painted, settings, losses, precision=precision, advance=advance, deadline=deadline, run=run
    )
    return replace(result, performance=own)


def compare_judged(
    sets: tuple[JudgedSet, JudgedSet],
    painted: PaintedGeometry,
    settings: CompareSettings,
    losses: Losses,
    *,
    precision: bool = False,
    advance: Advance | None = None,
    deadline: float | None = None,
    run: PartRunner | None = None,
) -> PairResult:
    """Compare two sets whose objects have their performance, class by class."""
    a, b = sets
    settings = choose_patch(settings, (a.frames, b.frames))
    units = comparison_units(a, b, settings, paired=settings.paired)
    method = replace(settings.method, paint_masks=painted.use_masks)
    comparison = SetComparison((a, b), units, method, adjusts=settings.preset != "cpd")
    schedule = comparison.schedule(settings, deadline)
    thetas = thetas_around(method.theta) if settings.draws and settings.preset != "cpd" else [method.theta]
    by_theta, drawn = comparison.compare(schedule, thetas, advance=advance, run=run)
    own = thetas.index(method.theta)
    classes = by_theta[own]
    each, overall = comparison.certainty(classes, drawn, own, settings.margin)
    around = [
        comparison.certainty(by_theta[number], drawn, number, settings.margin) if 0 <= number < len(thetas) else None
        for number in (own - 1, own + 1)
    ]
    overall = overall.beside(*(None if found is None else found[1].verdict for found in around))
    each = {
        k: one.beside(*(None if found is None else found[0][k].verdict for found in around)) for k, one in each.items()
    }
    results = {k: ClassResult(a.rows(k), b.rows(k), classes[k], each[k]) for k in classes}
    numbers = _numbers(a, b, results, overall)
    if precision and settings.task != SEMANTIC:
        numbers = replace(numbers, measures=measure_detector((a, b), units, method, settings))
        table = {
            which: confusion(judged.frames, method.min_score, method.cuboid_iou).content()
            for which, judged in (("a", a), ("b", b))
        }
        numbers = replace(numbers, confusion=table)
    if settings.paired:
        numbers = add_pointwise(a, b, numbers)
    return PairResult(
        a,
        b,
        results,
        overall,
        numbers,
        losses,
        units,
        comparison.balance,
        painted,
        comparison.method,
        comparison,
        settings,
    )


def thetas_around(theta: float) -> list[float]:
    """The threshold, and those a tenth below and above it that make sense: a verdict should not turn there."""
    around = (round(theta + step, 12) for step in (-THETA_STEP, 0, THETA_STEP))
    return [value for value in around if value == theta or 0 < value < 1]


def judge_sets(
    set_a: FrameSet, set_b: FrameSet, settings: MethodSettings, losses: Losses, *, precision: bool = True
) -> tuple[JudgedSet, JudgedSet, PaintedGeometry]:
    """Give every object, or every patch of label pictures, of both sets its performance."""
    method = settings.method
    if settings.task == SEMANTIC:
        classes = shared_classes(set_a, set_b)
        metric = PATCH_METRICS[settings.metric]
        first, second = (
            judge_patches(frame_set, classes, method, metric, losses, settings.width) for frame_set in (set_a, set_b)
        )
        return first, second, painted_sets(first, second, settings)
    require_labels(set_b)
    own = isinstance(settings, CompareSettings) and settings.performance is not None
    judge = partial(judge_set, precision=precision, needs_predictions=not own)
    a = judge(set_a, method, settings.metric, losses)
    b = judge(match_classes(a.frames, set_b), method, settings.metric, losses)
    return a, b, painted_sets(a, b, settings)


def painted_sets(a: JudgedSet, b: JudgedSet, settings: MethodSettings) -> PaintedGeometry:
    """What the patches of two sets are painted from."""
    if settings.task == SEMANTIC:
        return PaintedGeometry(use_masks=False, pixels=True)
    return painted_geometry((a.frames, b.frames), settings.masks)


def _numbers(a: JudgedSet, b: JudgedSet, classes: dict[int, ClassResult], overall: Certainty) -> ComparisonNumbers:
    by_class = {
        str(k): entry_numbers([one.comparison], one.certainty, a.numbers(k), b.numbers(k)) for k, one in classes.items()
    }
    comparisons = [one.comparison for one in classes.values()]
    together = entry_numbers(comparisons, overall, a.numbers(None), b.numbers(None))
    return ComparisonNumbers(by_class, together)


def entry_numbers(
    comparisons: list[ClassComparison],
    certainty: Certainty | None,
    of_a: SideNumbers | None = None,
    of_b: SideNumbers | None = None,
) -> EntryNumbers:
    """The numbers of one class, or of all together where comparisons of several classes are given."""
    reduced = reduce_comparisons(comparisons)
    out = reduced if certainty is None else reduced.judged(certainty)
    if of_a is None or of_b is None:
        return out
    return replace(
        out,
        false_positives_a=of_a.false_positives,
        false_positives_b=of_b.false_positives,
        map50_a=of_a.map50,
        map50_b=of_b.map50,
        map50_95_a=of_a.map50_95,
        map50_95_b=of_b.map50_95,
        recall_a=of_a.recall,
        recall_b=of_b.recall,
    )


def add_pointwise(a: JudgedSet, b: JudgedSet, numbers: ComparisonNumbers) -> ComparisonNumbers:
    """Add the papers' pointwise numbers to those of a comparison of pairs."""
    rows_a, rows_b = pair_objects(a.frames, b.frames)
    distance = np.abs(a.assignment.performance[rows_a] - b.assignment.performance[rows_b])
    of_class = a.frames.objects.class_id[rows_a]

    def added(entry: EntryNumbers, chosen: FloatArray) -> EntryNumbers:
        mean = float(chosen.mean()) if len(chosen) else None
        return replace(entry, pointwise_pairs=len(chosen), pointwise_mean_difference=mean)

    by_class = {key: added(entry, distance[of_class == int(key)]) for key, entry in numbers.by_class.items()}
    return replace(numbers, by_class=by_class, overall=added(numbers.overall, distance))
