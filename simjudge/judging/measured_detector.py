"""What else a detector does on two judged sets: false positives a frame, scores, recall, average precision."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr
from simjudge.detectors.assignment import participants, without_ignored
from simjudge.detectors.iou import overlapping_pairs
from simjudge.judging.box_neighbours import near_counts
from simjudge.judging.compare_settings import CompareSettings
from simjudge.judging.judged_set import JudgedSet, found_objects
from simjudge.judging.units.blocks import frame_blocks, frame_sequence
from simjudge.judging.units.sampling_units import SampleUnits
from simjudge.method.detector_measures import (
    CommonMix,
    DetectorMeasure,
    MeasureCode,
    MeasuredSets,
    SideEstimate,
    common_mix,
    judge_measures,
    mean_estimate,
)
from simjudge.method.method import Method
from simjudge.method.precision_curve import coco_precision, precision_influence
from simjudge.method.verdicts import FEWEST_UNITS

SURE_SCORE = 0.5
"""Score from which false positives are counted apart."""


def measure_detector(
    sets: tuple[JudgedSet, JudgedSet], units: SampleUnits, method: Method, settings: CompareSettings
) -> tuple[DetectorMeasure, ...]:
    """Judge what else the detector does on two sets."""
    a, b = (_MeasuredSide.of_set(judged, method) for judged in sets)
    margin, per_frame = settings.margin, len(sets[0].frames.objects) / len(sets[0].frames)
    frames = _FrameUnits.of_sets((a, b), units, settings)
    found = []
    for measure, least, away in (
        (MeasureCode.FALSE_POSITIVES, 0.0, False),
        (MeasureCode.FALSE_POSITIVES_AWAY, 0.0, True),
        (MeasureCode.FALSE_POSITIVES_SURE, SURE_SCORE, False),
    ):
        if least and least <= method.min_score:
            continue
        sides = [
            _recorded(side.false_positives(frames, i, least, away=away), frames.recording, i)
            for i, side in enumerate((a, b))
        ]
        found.append(MeasuredSets(measure, sides[0], sides[1], margin * max(1.0, per_frame)))
    return judge_measures([*found, *_object_measures((a, b), units, frames, margin)], settings.draws, settings.seed)


def _object_measures(
    sides: tuple[_MeasuredSide, _MeasuredSide], units: SampleUnits, frames: _FrameUnits, margin: float
) -> list[MeasuredSets]:
    """Score of matches, recall and average precision, over the classes that both sets hold."""
    classes = [side.judged.frames.objects.class_id for side in sides]
    shared = np.intersect1d(classes[0], classes[1])
    numbers = [_ObjectUnits.of_side(units, i) for i in range(2)]
    rows = [np.flatnonzero(np.isin(class_id, shared)) for class_id in classes]
    matched = [own[side.partner[own] >= 0] for side, own in zip(sides, rows, strict=True)]
    found = []
    for measure, chosen, event in ((MeasureCode.MATCH_SCORE, matched, None), (MeasureCode.RECALL, rows, 1.0)):
        mix = _mix(sides, chosen)
        both = []
        for i, side in enumerate(sides):
            own = chosen[i]
            value = side.found[own].astype(np.float64) if event else side.score[side.partner[own]]
            weight, cell = ((mix.weight_a, mix.cell_a), (mix.weight_b, mix.cell_b))[i]
            unit, block = numbers[i].unit[own], numbers[i].block[own]
            estimate = mean_estimate(value, unit, block, event=event, weight=weight, cell=cell)
            both.append(_recorded(estimate, units.recording, i, own))
        found.append(MeasuredSets(measure, both[0], both[1], margin, mix.adjusted))
    precise = _average_precision(sides, numbers, frames, margin, rows)
    return found if precise is None else [*found, precise]


def _recorded(
    estimate: SideEstimate | None, recording: tuple[IntArray, IntArray] | None, side: int, rows: IntArray | None = None
) -> SideEstimate | None:
    """The estimate, knowing of which recording its rows are."""
    if estimate is None or recording is None:
        return estimate
    return replace(estimate, recording=recording[side] if rows is None else recording[side][rows])


def _mix(sides: tuple[_MeasuredSide, _MeasuredSide], rows: list[IntArray]) -> CommonMix:
    kind, size = [], []
    for side, own in zip(sides, rows, strict=True):
        objects = side.judged.frames.objects
        # In a crowd a class is another kind of thing.
        kind.append(2 * objects.class_id[own] + (near_counts(objects.frame, objects.box) > 0)[own])
        size.append(np.log(np.maximum(objects.box[own, 2:] - objects.box[own, :2], 1.0)).sum(1))
    return common_mix(kind[0], size[0], kind[1], size[1])


def _average_precision(
    sides: tuple[_MeasuredSide, _MeasuredSide],
    numbers: list[_ObjectUnits],
    frames: _FrameUnits,
    margin: float,
    rows: list[IntArray],
) -> MeasuredSets | None:
    """The mean over the classes that both sets hold in enough units; None where it was not computed."""
    if not any(side.judged.ranked for side in sides):
        return None
    kinds = [side.judged.frames.objects.class_id for side in sides]
    classes = [
        int(k)
        for k in np.intersect1d(kinds[0], kinds[1])
        if all(len(np.unique(numbers[i].unit[kinds[i] == k])) >= FEWEST_UNITS for i in range(2))
    ]
    if not classes:
        return MeasuredSets(MeasureCode.MAP50, None, None, margin)
    kept = [own[np.isin(kind[own], classes)] for kind, own in zip(kinds, rows, strict=True)]
    mix = _mix(sides, kept)
    both = []
    for i, side in enumerate(sides):
        weight = np.zeros(len(side.judged.frames.objects))
        weight[kept[i]] = (mix.weight_a, mix.weight_b)[i]
        both.append(side.average_precision(classes, weight if mix.adjusted else None, numbers[i], frames, i))
    return MeasuredSets(MeasureCode.MAP50, both[0], both[1], margin, mix.adjusted)


@dataclass(frozen=True, repr=False)
class _ObjectUnits(ShortRepr):
    """Unit and block of time, or -1, of every object of a set."""

    unit: IntArray
    block: IntArray

    @classmethod
    def of_side(cls, units: SampleUnits, side: int) -> _ObjectUnits:
        own = units.unit[side]
        return cls(own, np.full(len(own), -1) if units.block is None else units.block[side])


@dataclass(frozen=True, repr=False)
class _MeasuredSide(ShortRepr):
    """A set with what became of its predictions."""

    judged: JudgedSet
    partner: IntArray  # int64 (N,), the prediction of each object, -1 without one
    found: BoolArray  # bool (N,), whether it fits from FOUND_IOU on
    wrong: IntArray  # int64 (K,), rows of the predictions that count and belong to no object
    away: BoolArray  # bool (K,), whether they overlap no object of any class
    score: FloatArray  # float64 (P,), of all predictions

    @classmethod
    def of_set(cls, judged: JudgedSet, method: Method) -> _MeasuredSide:
        frames = judged.frames
        _, chosen, predictions = participants(frames, method.min_score)
        partner = judged.assignment.prediction
        wrong = without_ignored(frames, np.setdiff1d(chosen, partner[partner >= 0]))
        touched = overlapping_pairs(
            frames, np.arange(len(frames.objects)), wrong, by_class=False, cuboid_iou=method.cuboid_iou
        )[1]
        found = found_objects(judged.frames, judged.assignment, method.cuboid_iou)
        return cls(judged, partner, found, wrong, ~np.isin(wrong, touched), predictions.score)

    def false_positives(self, frames: _FrameUnits, side: int, least: float, *, away: bool) -> SideEstimate | None:
        """How many there are a frame, of a score of `least` or more."""
        rows = self.wrong[(self.score[self.wrong] >= least) & (self.away | (not away))]
        count = np.bincount(self.frame_of(rows), minlength=len(self.judged.frames)).astype(np.float64)
        return mean_estimate(count, frames.own[side], frames.block[side], event=1.0)

    def frame_of(self, rows: IntArray) -> IntArray:
        """The frames of predictions."""
        predictions = self.judged.frames.predictions
        return np.zeros(0, np.int64) if predictions is None else predictions.frame[rows]

    def average_precision(
        self, classes: list[int], weight: FloatArray | None, own: _ObjectUnits, frames: _FrameUnits, side: int
    ) -> SideEstimate | None:
        """The mean over classes of COCO's average precision at IoU 0.5."""
        objects = self.judged.frames.objects
        heavy = np.ones(len(objects)) if weight is None else weight
        owner = np.full(len(self.score), -1)
        owner[self.partner[self.partner >= 0]] = np.flatnonzero(self.partner >= 0)
        values, events = [], []
        influence: list[FloatArray] = []
        held: list[FloatArray] = []
        unit: list[IntArray] = []
        block: list[IntArray] = []
        shown: list[IntArray] = []
        for k in classes:
            rows, ranked = self.judged.rows(k), self.judged.ranked[k]
            total = float(heavy[rows].sum())
            if total <= 0:
                return None
            # A prediction counts as much as the object that it is of; one of no object counts once.
            of = np.where(ranked.hit, ranked.matched, owner[ranked.prediction])
            each = None if weight is None else np.where(of >= 0, heavy[of], 1.0)
            values.append(coco_precision(ranked.hit, total, each))
            events.append(float((heavy[rows] ** 2).sum() ** 0.5) / total / np.sqrt(len(rows)))
            moved, of_object = precision_influence(ranked.hit, total, each)
            frame = self.frame_of(ranked.prediction)
            influence += [moved, of_object * heavy[rows]]
            # Units are counted over the objects: without them there is no recall.
            held += [np.zeros(len(moved)), heavy[rows]]
            unit += [np.where(of >= 0, own.unit[of], frames.own[side][frame]), own.unit[rows]]
            block += [np.where(of >= 0, own.block[of], frames.block[side][frame]), own.block[rows]]
            shown += [frame, objects.frame[rows]]
        shares = np.concatenate(influence) / len(classes)
        # Units are counted over the objects: without them there is no recall.
        # A miss and a false positive before all hits.
        event = float(np.sqrt(2 * np.square(events).sum())) / len(classes)
        numbers = np.concatenate(unit), np.concatenate(block), np.concatenate(held)
        estimate = SideEstimate(float(np.mean(values)), shares, *numbers, event)
        return _recorded(estimate, frames.recording, side, np.concatenate(shown))


@dataclass(frozen=True, repr=False)
class _FrameUnits(ShortRepr):
    """The units of what has no object, by frame of A and of B, in one numbering with the units of objects.

    `block` is the block of time of the frame's objects, -1 where none is drawn or there are no objects.
    """

    own: tuple[IntArray, IntArray]
    block: tuple[IntArray, IntArray]
    recording: tuple[IntArray, IntArray] | None

    @classmethod
    def of_sets(
        cls, sides: tuple[_MeasuredSide, _MeasuredSide], units: SampleUnits, settings: CompareSettings
    ) -> _FrameUnits:
        own = _joined_units(sides, units)
        blocks = []
        for i, side in enumerate(sides):
            frame, block = side.judged.frames.objects.frame, np.full(len(side.judged.frames), -1)
            if units.block is not None:
                block[frame] = units.block[i]
            blocks.append(block)
        if settings.block is None and settings.unit is None:
            longer = [_lasting_blocks(side, own[i]) for i, side in enumerate(sides)]
            if settings.paired:
                counts = [np.inf if length is None else length.max(initial=0) for length in longer]
                longer = [longer[int(np.argmin(counts))]] * 2
            first = max(int(entry.max(initial=-1)) for entry in own) + 1
            for i, length in enumerate(longer):
                if length is not None:
                    own[i], blocks[i] = first + length, np.full(len(length), -1)
                    first += 0 if settings.paired else int(length.max(initial=-1)) + 1
        return cls((own[0], own[1]), (blocks[0], blocks[1]), units.frame_recording)


def lasting_frame_units(
    sets: tuple[JudgedSet, JudgedSet], units: SampleUnits, method: Method, settings: CompareSettings
) -> tuple[IntArray, IntArray]:
    """(F,) the unit of the frames of A and of B: blocks of time where false positives last longer than places do."""
    a, b = (_MeasuredSide.of_set(judged, method) for judged in sets)
    return _FrameUnits.of_sets((a, b), units, settings).own


def _lasting_blocks(side: _MeasuredSide, unit: IntArray) -> IntArray | None:
    """Blocks of time as long as false positives last, where that makes fewer units than there are; else None."""
    frames = side.judged.frames
    count = np.bincount(side.frame_of(side.wrong), minlength=len(frames)).astype(np.float64)
    if frames.independent or (count == count[0]).all():
        return None
    sequence = frame_sequence(frames, wanted=False)
    if sequence is None:
        return None
    blocks = frame_blocks(frames, sequence, None, count)
    return blocks.unit if blocks.frames > 1 and blocks.count < len(np.unique(unit)) else None


def _joined_units(sides: tuple[_MeasuredSide, _MeasuredSide], units: SampleUnits) -> list[IntArray]:
    """The unit of every frame: that of its objects where a place, a block or a frame is one, else one of its own.

    What a place invents and what it misses go together, so a unit of frames takes the number of the unit of objects
    that it sees most of; no two take the same.
    """
    pairs = [
        np.stack([units.frame_unit[i][side.judged.frames.objects.frame], units.unit[i]]) for i, side in enumerate(sides)
    ]
    seen, count = np.unique(np.concatenate(pairs, axis=1), axis=1, return_counts=True)
    number = units.count + np.arange(units.frame_unit_count)
    taken, placed = np.zeros(units.count, np.bool_), np.zeros(units.frame_unit_count, np.bool_)
    for frame_unit, unit in seen[:, np.argsort(-count, kind="stable")].T.tolist():
        if not taken[unit] and not placed[frame_unit]:
            number[frame_unit], taken[unit], placed[frame_unit] = unit, True, True
    return [number[unit] for unit in units.frame_unit]
