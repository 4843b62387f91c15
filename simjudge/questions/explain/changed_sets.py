"""Both sets with some causes undone, and what is then left of the gap, by the code that `compare` uses.

Of scene content, nothing but A's pixels in B's pictures of the same places makes B's objects or background look like
A's. A's pixels carry A's camera too, so that this is asked last, once the causes that lie in the camera are undone:
what a part of the picture then still does is scene content.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from simjudge.core.arrays import NO_ARRAYS, BoolArray, FloatArray, IntArray, ShortRepr, hash_value
from simjudge.core.errors import Advance, Losses, ProgressBar, SimjudgeError, no_progress
from simjudge.core.files import atomic_file, hash_files
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import NO_INSTANCE, Objects, Predictions
from simjudge.detectors.detection import detect
from simjudge.detectors.detector import Detector, map_classes, record_detector
from simjudge.detectors.iou import box_iou
from simjudge.judging.class_numbering import chosen_classes, match_classes
from simjudge.judging.compare_settings import CompareSettings
from simjudge.judging.inputs import InputSet
from simjudge.judging.judged_set import JudgedSet, judge_set
from simjudge.judging.painted_masks import painted_geometry
from simjudge.judging.pair import compare_judged, painted_sets
from simjudge.judging.set_comparison import ScheduledComparison, SetComparison, compare_together
from simjudge.judging.units.sampling_units import SampleUnits
from simjudge.method.bootstrap import Bootstrap
from simjudge.method.certainty import Certainty, gap_draws
from simjudge.method.entry_numbers import reduce_comparisons
from simjudge.questions.explain.rendered_sets import RenderedSets
from simjudge.questions.explain.result import Causes, all_subsets, shapley_values
from simjudge.sim.sensors.camera.chain import FrameStep, Step, filtered
from simjudge.sim.sensors.camera.filters import AnyImage
from simjudge.sim.sensors.camera_matching.camera_difference import CameraDifference
from simjudge.sim.sensors.camera_matching.camera_estimation import EstimationError
from simjudge.sim.sensors.camera_matching.cause_names import (
    BACKGROUND,
    LABEL_MARGINS,
    OBJECTS,
    RENDERED_CAUSES,
    SCENE_CAUSES,
)

WORDS = "label margins"
"""The cause as sentences write it."""
LEAST_MARGIN = 0.01
"""Share of a box's side below which margins are taken for equal."""
_FEWEST = 20
"""Detected objects that both sets must hold."""
_MATCHED_IOU = 0.5


@dataclass(frozen=True, repr=False, eq=False)
class LabelMargins(ShortRepr):
    """By how much B's boxes must grow so that detections lie in them as they do in A's."""

    growth: FloatArray  # (4,), outward, of left, top, right and bottom, as shares of a box's width or height

    @property
    def matters(self) -> bool:
        """Whether an edge moves by more than can be neglected."""
        return bool(np.abs(self.growth).max() >= LEAST_MARGIN)

    def apply(self, frames: FrameSet) -> FrameSet:
        """The set with its boxes grown, inside its pictures; objects of masks are left alone."""
        objects = frames.objects
        if objects.masks is not None or not self.matters:
            return frames
        box = objects.box
        side = np.tile(box[:, 2:] - box[:, :2], 2)
        grown = box + np.array([-1, -1, 1, 1]) * self.growth * side
        limit = np.tile(frames.size[objects.frame], 2).astype(np.float64)
        changed: Objects = replace(objects, box=np.clip(grown, 0, limit))
        return replace(frames, objects=changed)


def estimate_margins(a: JudgedSet, b: JudgedSet) -> LabelMargins:
    """Estimate margins, by the median place of detections in their boxes.

    Cameras differ in how they move detections, too. So the sets are those with all camera effects undone.
    """
    offsets = [_offsets(side) for side in (a, b)]
    if min(map(len, offsets)) < _FEWEST:
        return LabelMargins(np.zeros(4))
    of_a, of_b = (np.median(offset, axis=0) for offset in offsets)
    # Grown by g, a side is 1 + G long, G = g_left + g_right: (of_b - g) / (1 + G) = of_a on both ends.
    both_a, both_b = (np.tile(side[:2] + side[2:], 2) for side in (of_a, of_b))
    grown = (both_b - both_a) / np.maximum(1 + both_a, 0.1)
    return LabelMargins(of_b - of_a * (1 + grown))


def _offsets(judged: JudgedSet) -> FloatArray:
    """(N, 4), how far detections reach beyond their boxes, as shares of a box's sides."""
    objects, predictions = judged.frames.objects, judged.frames.predictions
    rows = np.flatnonzero(judged.assignment.prediction >= 0)
    if predictions is None or not len(rows):
        return np.zeros((0, 4))
    label, found = objects.box[rows], predictions.box[judged.assignment.prediction[rows]]
    side = np.maximum(np.tile(label[:, 2:] - label[:, :2], 2), 1e-9)
    return np.asarray(((found - label) * np.array([-1, -1, 1, 1]) / side)[box_iou(label, found) >= _MATCHED_IOU])


NO_PAIRS = "they need pictures of the same scenes: --paired"
OTHER_SIZE = "A's pictures have another size than B's"
"""Why scene content cannot be tried, and what would help."""
_MARGIN = 2
"""Pixels by which boxes are grown: edges of objects are blurred."""


def why_not_scene(a: FrameSet, b: FrameSet, *, paired: bool) -> str | None:
    """Why A's pixels cannot be put into B's pictures."""
    if not paired:
        return NO_PAIRS
    return None if np.array_equal(a.size, b.size) else OTHER_SIZE


def paste_step(a: FrameSet, labels: tuple[Objects, Objects], causes: Collection[str]) -> FrameStep:
    """The last step of B's chain: A's pixels where the causes that are undone lie."""
    if a.images is None:
        raise ValueError("A has no images")
    images = a.images

    def paste(number: int, image: AnyImage) -> AnyImage:
        taken = _object_mask(labels, number, (image.shape[0], image.shape[1]))
        if BACKGROUND in causes:
            taken = np.ones_like(taken) if OBJECTS in causes else ~taken
        pixels = images.read(number).astype(image.dtype) / 255
        return np.where(taken[:, :, None], pixels, image).astype(image.dtype)

    return FrameStep("pixels_of_a " + " ".join(name for name in SCENE_CAUSES if name in causes), paste)


def _object_mask(labels: tuple[Objects, Objects], number: int, shape: tuple[int, int]) -> BoolArray:
    """(H, W), True in the boxes of a frame, edges included."""
    mask = np.zeros(shape, np.bool_)
    for objects in labels:
        box = objects.box[objects.frame == number]
        low = np.maximum(np.floor(box[:, :2]).astype(int) - _MARGIN, 0)
        high = np.maximum(np.ceil(box[:, 2:]).astype(int) + _MARGIN, 0)
        for (x0, y0), (x1, y1) in zip(low, high, strict=True):
            mask[y0:y1, x0:x1] = True
    return mask


_NOISE_SEED = 20
"""Of the noise that is added to pictures."""


@dataclass
class ChangedSets:
    """Both sets, and everything that was detected on them so far."""

    sides: tuple[InputSet, InputSet]  # A and B as they were read; frames of pairs in one order
    detector: Detector
    settings: CompareSettings
    folder: Path | None = None  # where detections are kept between runs; None keeps them in memory alone
    progress: ProgressBar = no_progress
    rendered: RenderedSets | None = None  # renders B again where causes ask for it; None where it cannot be rendered
    losses: Losses = field(default_factory=Losses)  # what the first detections left out
    runs: int = 0  # how often the detector ran over a set in this run
    _kept: dict[str, FrameSet] = field(default_factory=dict)
    _advance: Advance | None = None  # of a bar that is open over all sets
    _count: tuple[int, int] = (0, 0)  # sets that were judged since it is open, and those that will be
    _content: dict[int, str | None] = field(default_factory=dict)

    def judged(
        self, difference: CameraDifference, causes: Causes, margins: LabelMargins | None = None
    ) -> tuple[JudgedSet, JudgedSet]:
        """Both sets with some causes undone, and the performance of their objects."""
        a = self._detected(0, difference.steps("a", causes), causes)
        b = self._detected(1, difference.steps("b", causes), causes, difference.steps("a", causes))
        a, b = chosen_classes(a, b, self.settings.classes)
        if margins is not None and LABEL_MARGINS in causes:
            b = margins.apply(b)
        method, metric = self.settings.method, self.settings.metric
        losses = Losses()
        first = judge_set(a, method, metric, losses, precision=False)
        second = judge_set(match_classes(first.frames, b), method, metric, losses, precision=False)
        if not causes:
            self.losses.extend(losses)
        done, total = self._count
        self._count = (done + 1, max(done + 1, total))
        if self._advance is not None:
            self._advance(*self._count)
        return first, second

    @contextmanager
    def one_bar(self, words: str) -> Iterator[None]:
        """Show one bar over all sets that are judged within, in place of one for each."""
        bar, self.progress, self._count = self.progress, no_progress, (0, 0)
        try:
            with bar(words) as self._advance:
                yield
        finally:
            self.progress, self._advance = bar, None

    def expect(self, more: int) -> None:
        """Let the bar know that so many more sets will be judged."""
        self._count = (self._count[0], self._count[1] + more)

    def forget(self) -> None:
        """Drop from memory what was detected on changed pictures; what is kept in the folder stays."""
        self._kept.clear()

    def _detected(
        self, number: int, steps: Sequence[Step], causes: Causes, steps_of_a: Sequence[Step] = ()
    ) -> FrameSet:
        """A side, rendered again where causes ask for it, behind filters, with the detector's predictions."""
        frames, plan = self.sides[number].frames, None
        if number == 1 and self.rendered is not None:
            frames, plan = self.rendered.of(causes), self.rendered.digest(causes)
        recipe = [(step.name, dict(step.parameters)) for step in steps]
        content = [
            number,
            self._digest(number),
            recipe,
            record_detector(self.detector).to_json(),
            dict(self.settings.rename or ()),
            _NOISE_SEED,
        ]
        chain: list[Step | FrameStep] = list(steps)
        if number == 1 and not causes.isdisjoint(SCENE_CAUSES):
            chain.append(self._pixels_of_a(steps_of_a, frames, causes))
            of_a = [(step.name, dict(step.parameters)) for step in steps_of_a]
            content += [chain[-1].name, self._digest(0), of_a]
        key = hash_value(content if plan is None else [*content, plan])
        if key not in self._kept:
            found = self._read(key, number, frames)
            if found is None:
                seen = filtered(frames, chain, _NOISE_SEED) if chain else frames
                found = detect(seen, self.detector, rename=dict(self.settings.rename or ()), progress=self.progress)
                self.runs += 1
                if not chain and plan is None:
                    self.losses.extend(found.losses)
                self._write(key, number, found)
            self._kept[key] = replace(found, images=frames.images)
        return self._kept[key]

    def _pixels_of_a(self, steps: Sequence[Step], b: FrameSet, causes: Causes) -> FrameStep:
        """What puts A's pixels, behind A's filters, into B's pictures."""
        a = self.sides[0].frames
        return paste_step(filtered(a, steps, _NOISE_SEED) if steps else a, (a.objects, b.objects), causes)

    def _digest(self, number: int) -> str | None:
        """What a set's pictures are; None for sets that were never a file."""
        if number not in self._content:
            side = self.sides[number]
            names = [side.frames.name, list(side.frames.frame_name), side.frames.size]
            self._content[number] = None if side.path is None else hash_value([hash_files(side.path), *names])
        return self._content[number]

    def _path(self, key: str, number: int) -> Path | None:
        # B's pictures may hold pixels of A.
        known = all(self._digest(earlier) is not None for earlier in range(number + 1))
        return self.folder / f"{key[:32]}.npz" if self.folder is not None and known else None

    def _read(self, key: str, number: int, frames: FrameSet) -> FrameSet | None:
        """What an earlier run detected; nothing where the file is damaged."""
        path = self._path(key, number)
        if path is None or not path.is_file():
            return None
        try:
            with path.open("rb") as stream, np.load(stream, allow_pickle=False) as held:
                predictions = Predictions.build(held["frame"], held["class_id"], held["box"], held["score"])
                predicted = np.asarray(held["predicted"], np.bool_)
        except NO_ARRAYS:
            return None
        if len(predicted) != len(frames):
            return None
        classes = map_classes(self.detector.name, self.detector.class_names, frames, dict(self.settings.rename or ()))
        done = frames.with_predictions(predictions, predicted, record_detector(self.detector))
        return replace(done, class_names=classes.names)

    def _write(self, key: str, number: int, found: FrameSet) -> None:
        path, predictions = self._path(key, number), found.predictions
        if path is None or predictions is None or predictions.masks is not None:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SimjudgeError(f"{path.parent}: cannot be made: {error.strerror}") from error
        with atomic_file(path) as temporary, temporary.open("wb") as stream:
            np.savez_compressed(
                stream,
                frame=predictions.frame,
                class_id=predictions.class_id,
                box=predictions.box,
                score=predictions.score,
                predicted=found.predicted,
            )


def carried_units(units: SampleUnits, before: tuple[Objects, Objects], after: tuple[Objects, Objects]) -> SampleUnits:
    """The units of the objects that are labelled now: each takes that of what was in its place before."""
    a, b = (same_places(*both) for both in zip(before, after, strict=True))
    return units.of_objects(a, b)


def same_places(before: Objects, after: Objects) -> IntArray:
    """(N,) for each object after the one before that it is: of its frame, else of the nearest frame that shows any.

    Of several it is the one of the same class, then of the same instance number, then with the nearest centre.
    """
    filled = np.unique(before.frame)
    order = np.argsort(before.frame, kind="stable")
    centre, now = ((text.box[:, :2] + text.box[:, 2:]) / 2 for text in (before, after))
    out = np.empty(len(after), np.int64)
    for frame in np.unique(after.frame).tolist():
        nearest = filled[np.abs(filled - frame).argmin()]
        there = order[slice(*np.searchsorted(before.frame[order], [nearest, nearest + 1]))]
        for row in np.flatnonzero(after.frame == frame).tolist():
            other_class = before.class_id[there] != after.class_id[row]
            numbered = after.instance[row] != NO_INSTANCE
            other_thing = numbered & (before.instance[there] != after.instance[row])
            away = ((centre[there] - now[row]) ** 2).sum(1)
            out[row] = there[np.lexsort((away, other_thing, other_class))[0]]
    return out


_MOVING = frozenset({LABEL_MARGINS, *RENDERED_CAUSES})
"""Causes that change labels: sets with the same of them undone are compared on one join."""


@dataclass(repr=False, eq=False)
class ExcessJudge(ShortRepr):
    """Says what is left of the gap with some causes undone, by the code that `compare` uses."""

    sets: ChangedSets
    difference: CameraDifference
    settings: CompareSettings
    sample: int  # pictures of each set on which the cameras were compared
    refits: tuple[CameraDifference, ...] = ()  # the difference, estimated again on drawn pictures
    margins: LabelMargins | None = None
    certainty: Certainty | None = None  # of the sets as they are, once they have been compared
    mean_w1: float | None = None  # of the sets as they are
    # by set of causes, the gap: (D,), the estimate first, then what each draw makes of it
    excess: dict[Causes, FloatArray] = field(default_factory=dict)
    frames: tuple[int, int] = (0, 0)  # of A and B that were compared
    _units: SampleUnits | None = None
    _objects: tuple[Objects, Objects] | None = None

    def __call__(self, wanted: Sequence[Causes]) -> list[FloatArray]:
        """The gap with some causes undone.

        Returns for each (D,): the gap, the estimate first, then what each draw makes of it. Draws are the same for all,
        so that differences have the spread of pairs.
        """
        new = self.unknown(wanted)
        groups: dict[Causes, list[Causes]] = {}
        for causes in new:
            groups.setdefault(causes & _MOVING, []).append(causes)
        for group in groups.values():
            self._compare(group)
        return [self.excess[causes] for causes in wanted]

    def unknown(self, wanted: Sequence[Causes]) -> list[Causes]:
        """The sets of causes among some that are not judged yet."""
        return [causes for causes in dict.fromkeys([frozenset[str](), *wanted]) if causes not in self.excess]

    def with_difference(self, difference: CameraDifference) -> ExcessJudge:
        """The same sets, units and draws, with another difference between the cameras."""
        return replace(self, difference=difference, excess={frozenset(): self.excess[frozenset()]})

    def _compare(self, group: Sequence[Causes]) -> None:
        """Compare changed sets that have the same labels, on one join."""
        scheduled = []
        for causes in group:
            a, b = self.sets.judged(self.difference, causes, self.margins)
            objects = (a.frames.objects, b.frames.objects)
            if self._units is None or self._objects is None:
                # The very comparison that `compare` makes, so that both say the same.
                settings, painted = self.settings, painted_sets(a, b, self.settings)
                result = compare_judged((a, b), painted, settings, Losses())
                self.certainty, self.mean_w1 = result.overall, result.numbers.overall.mean_w1
                self._units, self._objects, self.frames = result.units, objects, (len(a.frames), len(b.frames))
            units = self._units
            if not causes.isdisjoint(RENDERED_CAUSES):
                units = carried_units(units, self._objects, objects)
            painted = painted_geometry((a.frames, b.frames), self.settings.masks)
            method = replace(self.settings.method, paint_masks=painted.use_masks)
            comparison = SetComparison((a, b), units, method, adjusts=self.settings.preset != "cpd")
            scheduled.append(ScheduledComparison(comparison, comparison.schedule(self.settings)))
        with self.sets.progress("comparing contexts") as advance:
            compared = compare_together(scheduled, advance=advance)
        for causes, plan, (by_theta, drawn) in zip(group, scheduled, compared, strict=True):
            _, overall = plan.comparison.certainty(by_theta[0], drawn, 0, self.settings.margin)
            mean = reduce_comparisons(list(by_theta[0].values())).mean_w1
            classes = [of_class[0] for of_class in drawn.values() if of_class]
            together = Bootstrap.together([one for one in classes if one is not None])
            if mean is None or overall.gap is None or together is None:
                raise SimjudgeError("no context of A has a like one in B: there is no W1 to explain")
            self.excess[causes] = np.concatenate([[overall.gap], gap_draws(together)])


_MOST_IN_FULL = 3
"""Causes up to which all sets of them are tried under every estimate: 2^3."""
_STREAM = 29


@dataclass(frozen=True, repr=False)
class PartErrors(ShortRepr):
    """By how much the parts of a gap move with the estimate: (D,) each, 0 first, then in each draw."""

    # parts, alone, last: by cause, of its part, and of what it closes alone and after the others
    parts: Mapping[str, FloatArray]
    alone: Mapping[str, FloatArray]
    last: Mapping[str, FloatArray]
    rest: FloatArray


def part_errors(judge: ExcessJudge, error: EstimationError, found: Sequence[str], players: Sequence[str]) -> PartErrors:
    """Share the gap anew under other estimates, and draw from how the parts differ."""
    truth = _numbers(judge, found, players)
    moved = [
        _numbers(judge.with_difference(estimate), found, players) - truth
        for estimate in (*error.refits, error.corrected)
    ]
    spread, known = np.array(moved[:-1]), moved[-1]
    count, draws = len(spread), len(judge.excess[frozenset()]) - 1
    random = np.random.default_rng([judge.settings.seed, _STREAM])
    # Student's t of the spread, so that few estimates do not pass for certain. What is known to be off may be so
    # either way.
    scale = np.sqrt(random.chisquare(count, draws) / count)
    drawn = random.standard_normal((draws, count)) @ spread / np.sqrt(count) / scale[:, None]
    drawn += random.standard_normal(draws)[:, None] * known
    columns = np.concatenate([np.zeros((1, len(truth))), drawn]).T
    parts, rest = columns[: len(players)], columns[len(players)]
    alone, last = np.split(columns[len(players) + 1 :], 2)
    by_name = [
        dict(zip(names, values, strict=True)) for names, values in ((players, parts), (found, alone), (found, last))
    ]
    return PartErrors(by_name[0], by_name[1], by_name[2], rest)


def needed_causes(found: Sequence[str], players: Sequence[str]) -> list[Causes]:
    """The sets of causes that must be judged under each estimate."""
    every = frozenset(found)
    wanted = [frozenset[str](), every, frozenset(players)]
    wanted += [frozenset({name}) for name in found] + [every - {name} for name in found]
    return list(dict.fromkeys([*wanted, *(all_subsets(players) if len(players) <= _MOST_IN_FULL else [])]))


def _numbers(judge: ExcessJudge, found: Sequence[str], players: Sequence[str]) -> FloatArray:
    """Parts of the players, what is left, and what each cause closes alone and after the others."""
    none, every, shared = frozenset[str](), frozenset(found), frozenset(players)
    wanted, full = needed_causes(found, players), len(players) <= _MOST_IN_FULL
    left = {causes: float(value[0]) for causes, value in zip(wanted, judge(wanted), strict=True)}
    alone = np.array([left[none] - left[frozenset({name})] for name in found])
    last = np.array([left[every - {name}] - left[every] for name in found])
    if full:
        shares = shapley_values({causes: np.array([left[causes]]) for causes in all_subsets(players)}, players)
        parts = np.array([shares[name][0] for name in players])
    else:
        # Between what a cause closes first and last; the parts and what is left are the whole.
        rows = [list(found).index(name) for name in players]
        parts = (alone + last)[rows] / 2
        parts += (left[none] - left[shared] - parts.sum()) / len(players)
    return np.concatenate([parts, [left[shared]], alone, last])
