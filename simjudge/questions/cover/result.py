"""What a coverage search says: the overlap before and after, W1 on what is new, what stays uncovered, and why."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr
from simjudge.core.errors import Losses, ProgressBar
from simjudge.core.frames import FrameSet
from simjudge.core.installed import version
from simjudge.detectors.detection import detect
from simjudge.judging.compare_settings import IGNORE_MASKS, CompareSettings
from simjudge.judging.judged_set import JudgedSet, judge_set
from simjudge.judging.set_comparison import SetComparison, comparison_units
from simjudge.method.certainty import Certainty
from simjudge.method.compiled import choose_loops
from simjudge.method.context_tree import ContextTree
from simjudge.method.entry_numbers import reduce_comparisons
from simjudge.method.method import Method
from simjudge.method.patches import Contexts, object_contexts
from simjudge.method.similarity_join import join_blocks
from simjudge.questions.cover.label_sketch import SketchedThings
from simjudge.questions.cover.settings import CoverSettings
from simjudge.results.saved_result import write_json, write_rows
from simjudge.sim.capture.camera_poses import CLEARANCE
from simjudge.sim.capture.ground_truth import Labelling
from simjudge.sim.sensors.camera.lens import Lens

NEVER = np.iinfo(np.int64).max
"""The number of pictures of a context that no picture resembles."""


@dataclass(frozen=True, repr=False, eq=False)
class SimilarPairs(ShortRepr):
    """Pairs of similar contexts of one class."""

    row: IntArray  # int64 (K,), objects of the first set
    column: IntArray  # int64 (K,), objects of the second set
    similarity: FloatArray  # float64 (K,), S of each pair


def similar_pairs(a: FrameSet, b: FrameSet, method: Method, rows: IntArray | None = None) -> SimilarPairs:
    """Find all similar contexts of two sets, of objects of the same class.

    `b`: the second set, with the class ids of the first; `rows`: (N,) rows of `a.objects` that count; None for all.
    """
    wanted = np.arange(len(a.objects)) if rows is None else np.sort(rows)
    found = [
        (of_a[pairs.row], of_b[pairs.column], pairs.similarity)
        for of_a, of_b in _by_class(a, b, wanted)
        for pairs in _pairs(object_contexts(a, method, of_a), object_contexts(b, method, of_b), method)
    ]
    if not found:
        return SimilarPairs(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
    return SimilarPairs(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


def _by_class(a: FrameSet, b: FrameSet, wanted: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    for class_id in np.unique(a.objects.class_id[wanted]).tolist():
        of_a = wanted[a.objects.class_id[wanted] == class_id]
        of_b = np.flatnonzero(b.objects.class_id == class_id)
        if len(of_b):
            yield of_a, of_b


def _pairs(a: Contexts, b: Contexts, method: Method) -> Iterator[SimilarPairs]:
    """The similar pairs of two tables, block by block."""
    tree = ContextTree.by_area(Contexts.concatenate([a, b]))
    place = np.empty(len(tree), np.int64)
    place[tree.order] = np.arange(len(tree))
    ones = np.ones(len(tree), np.int64)
    for block in join_blocks(tree, place[: len(a)], ones, [method.theta], strict=method.strict):
        row = np.repeat(tree.order[block.row], np.diff(block.start))
        column = tree.order[block.place] - len(a)
        other = column >= 0
        yield SimilarPairs(row[other], column[other], block.similarity[other])


def first_pictures(pairs: SimilarPairs, objects: int, picture: IntArray) -> IntArray:
    """With how many pictures each context is first resembled.

    `picture`: (M,) the number of the picture of each object of the second set, from 1 on; 0 for those that were there
    before; returns int64 (objects,); NEVER where none resembles it.
    """
    first = np.full(objects, NEVER)
    np.minimum.at(first, pairs.row, picture[pairs.column])
    return first


def overlap_numbers(own: SimilarPairs, first: IntArray) -> IntArray:
    """With how many pictures each context enters the overlap (Algorithm 1 of arXiv 2208.01022).

    A context is in the overlap as soon as a context of its own set that is similar to it, or itself, is resembled.
    Returns int64 of the shape of `first`; NEVER where it stays outside.
    """
    entry = first.copy()
    np.minimum.at(entry, own.row, first[own.column])
    return entry


def coverage_curve(numbers: IntArray, pictures: int) -> FloatArray:
    """The share of contexts that are in after 0, 1, ... pictures.

    `numbers`: (N,) from `first_pictures` or `overlap_numbers`; returns float64 (pictures + 1,).
    """
    if not len(numbers):
        return np.zeros(pictures + 1)
    counts = np.bincount(numbers[numbers <= pictures], minlength=pictures + 1)
    return np.asarray(np.cumsum(counts) / len(numbers), np.float64)


def choose_pictures(covers: Sequence[IntArray], contexts: int, most: int) -> list[int]:
    """Choose pictures so that each one resembles as many further contexts as possible (greedy maximum coverage).

    The greedy choice reaches at least 1 - 1/e of what the best choice of as many pictures would (Nemhauser, Wolsey and
    Fisher 1978).
    """
    missing: BoolArray = np.ones(contexts, np.bool_)
    queue = [(-len(cover), number) for number, cover in enumerate(covers) if len(cover)]
    heapq.heapify(queue)
    chosen: list[int] = []
    while queue and len(chosen) < most:
        _, number = heapq.heappop(queue)
        gain = int(np.count_nonzero(missing[covers[number]]))
        # What a candidate adds only falls: the first one whose number still holds is the best.
        if queue and (-gain, number) > queue[0]:
            if gain:
                heapq.heappush(queue, (-gain, number))
        elif gain:
            chosen.append(number)
            missing[covers[number]] = False
    return chosen


@dataclass(frozen=True)
class NewlyCovered:
    """W1 of the contexts that the new pictures cover and B did not."""

    contexts: int
    mean_w1: float | None  # None where none takes part
    certainty: Certainty

    def content(self) -> dict[str, object]:
        """The entry of cover.json."""
        names = ("noise", "noise_q95", "gap", "gap_low", "gap_high", "p_value", "verdict")
        return {"contexts": self.contexts, "mean_w1": self.mean_w1} | {
            name: getattr(self.certainty, name) for name in names
        }


def judge_newly_covered(
    a: FrameSet, new: FrameSet, rows: IntArray, model: Path, settings: CoverSettings, progress: ProgressBar
) -> NewlyCovered:
    """Compare a detector on some contexts of A with the new pictures.

    Only these contexts of A count, as in a comparison of a set that holds nothing else; their patches are those of the
    whole frames. `rows`: (N,) rows of A's objects, ascending.
    """
    found = a if a.predictions is not None else detect(a, model, progress=progress)
    chosen = CompareSettings(theta=settings.theta, patch=settings.method.patch, masks=IGNORE_MASKS, seed=settings.seed)
    method = replace(chosen.method, paint_masks=False)
    both = found.labelled & found.predicted
    rows = rows[both[a.objects.frame[rows]]]
    if not len(rows):
        return NewlyCovered(0, None, Certainty())
    place = np.cumsum(both[a.objects.frame]) - 1
    losses = Losses()
    first = judge_set(found, method, chosen.metric, losses, precision=False)
    second = judge_set(detect(new, model, progress=progress), method, chosen.metric, losses, precision=False)
    return compare_resembled(first, second, place[rows], chosen)


def compare_resembled(first: JudgedSet, second: JudgedSet, rows: IntArray, settings: CompareSettings) -> NewlyCovered:
    """Compare some contexts of a set with those of another one that resemble them.

    The other objects of both sets are left out: contexts of A that B had covered before are not asked about. `rows`:
    (N,) rows of the first set's objects, ascending.
    """
    method = replace(settings.method, paint_masks=False)
    resembling = np.unique(similar_pairs(first.frames, second.frames, method, rows).column)
    a, b = (
        _only(judged, kept, object_contexts(judged.frames, method, kept))
        for judged, kept in ((first, rows), (second, resembling))
    )
    choose_loops()
    comparison = SetComparison((a, b), comparison_units(a, b, settings), method)
    (classes,), drawn = comparison.compare(comparison.schedule(settings))
    _, overall = comparison.certainty(classes, drawn, 0, settings.margin)
    return NewlyCovered(len(rows), reduce_comparisons(list(classes.values())).mean_w1, overall)


def _only(judged: JudgedSet, rows: IntArray, contexts: Any) -> JudgedSet:
    """A set in which only some objects are anchors."""
    old = judged.assignment
    kept = replace(
        old, performance=old.performance[rows], prediction=old.prediction[rows], taking_part=old.taking_part[rows]
    )
    return JudgedSet(replace(judged.frames, objects=judged.frames.objects.take(rows)), kept, contexts=contexts)


CLASS_MISSING = "class missing in the scene"
TOO_MANY = "more objects than the scene has"
TOO_NEAR = "nearer than a camera may stand"
TOO_SMALL = "smaller than what is labelled"
NOT_FOUND = "not found"
NOT_TAKEN = "found, but the pictures were used up"
REASONS = (CLASS_MISSING, TOO_MANY, TOO_NEAR, TOO_SMALL, NOT_FOUND, NOT_TAKEN)
"""Why a context stays uncovered. The first four are certain or nearly so; the last but one says only that the search
has not found it."""


class ReachRules:
    """What a scene can never show, by its things, the lens and the rules of labels."""

    def __init__(
        self,
        a: FrameSet,
        things: SketchedThings,
        lens: Lens,
        labelling: Labelling,
        theta: float,
        patch: tuple[int, int],
    ) -> None:
        """Take a scene. `patch`: height and width, pixels."""
        self._a, self._things, self._lens = a, things, lens
        self._labelling, self._patch = labelling, patch
        # Boxes around one centre with an IoU of theta have sides of at least theta times each other's.
        self._theta, self._least = theta, max(theta, 1e-9)
        self._present = {int(k): int(np.count_nonzero(things.class_id == k)) for k in np.unique(things.class_id)}

    def reason(self, row: int, planes: Mapping[int, npt.NDArray[np.bool_]]) -> str | None:
        """Say why a context cannot be had."""
        objects = self._a.objects
        class_id, box = int(objects.class_id[row]), objects.box[row]
        if class_id not in self._present:
            return CLASS_MISSING
        areas = {kind: int(np.count_nonzero(plane)) for kind, plane in planes.items()}
        if sum(area for kind, area in areas.items() if kind in self._present) < self._theta * sum(areas.values()):
            return CLASS_MISSING
        if any(number > self._present.get(kind, number) for kind, number in self._neighbours(row).items()):
            return TOO_MANY
        sides = (float(box[2] - box[0]), float(box[3] - box[1]))
        if min(sides) < self._labelling.min_size * self._least:
            return TOO_SMALL
        if sides[1] * self._least > self._highest(class_id):
            return TOO_NEAR
        return None

    def _highest(self, class_id: int) -> float:
        """The most rows that a thing of a class can take, seen from as near as a camera may be."""
        of_class = self._things.class_id == class_id
        reach = np.linalg.norm(np.ptp(self._things.points[of_class], axis=1), axis=1)
        # A sphere around the thing touches its nearest point, which is at least the clearance away.
        angle = 2 * np.arcsin(np.minimum(reach / 2 / (reach / 2 + CLEARANCE), 1.0))
        half = min(float(angle.max()) / 2, math.radians(80))
        return max(2 * math.tan(half) * self._lens.focal[1], float(reach.max()) * self._lens.focal[1] / CLEARANCE)

    def _neighbours(self, row: int) -> Mapping[int, int]:
        """How many objects of each class the patch of a context shows."""
        objects = self._a.objects
        others = np.flatnonzero(objects.frame == objects.frame[row])
        box, (height, width) = objects.box[row], self._patch
        x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
        at = objects.box[others]
        inside = (at[:, 0] < x + width / 2) & (at[:, 2] > x - width / 2)
        inside &= (at[:, 1] < y + height / 2) & (at[:, 3] > y - height / 2)
        kinds, counts = np.unique(objects.class_id[others[inside]], return_counts=True)
        return dict(zip(kinds.tolist(), counts.tolist(), strict=True))


COVER, CURVE, UNCOVERED = "cover.json", "curve.csv", "uncovered.csv"
"""Names of the files in the folder of a coverage search."""


@dataclass(frozen=True, repr=False, eq=False)
class CoverageCurve(ShortRepr):
    """Shares of A's contexts after 0, 1, ... pictures."""

    overlap: FloatArray  # float64 (N + 1,), O_A: those in the overlap of Algorithm 1
    resembled: FloatArray  # float64 (N + 1,), those that a context of the simulation resembles directly


@dataclass(frozen=True)
class UncoveredContext:
    """A context that no picture resembles."""

    row: int
    frame: str
    class_name: str
    reason: str


@dataclass(frozen=True, repr=False, eq=False)
class CoverResult(ShortRepr):
    """What to simulate next.

    Attributes:
        names: of A and of B; None where there is no B.
        contexts: labelled objects of A.
        wanted: those that B does not resemble.
        curve: measured on the labels of the rendered pictures.
        random: the same for random pictures, by the labels that they would have.
        pictures: path of the rendered set; None where none was rendered.
        same_labels: rendered pictures whose labels are exactly those that were predicted.
        uncovered: contexts that stay uncovered.
        candidates: pictures whose labels were looked at.
        parameters: settings and inputs.
        losses: what was left out.
        newly_covered: W1 on the newly covered contexts; None where no detector was given, or no picture rendered.
    """

    names: tuple[str, str | None]
    contexts: int
    wanted: int
    curve: CoverageCurve
    random: CoverageCurve
    pictures: Path | None
    same_labels: int
    uncovered: tuple[UncoveredContext, ...]
    candidates: int
    patch: tuple[int, int]  # height and width, pixels
    parameters: dict[str, object] = field(default_factory=dict)
    losses: Losses = field(default_factory=Losses)
    newly_covered: NewlyCovered | None = None

    @property
    def count(self) -> int:
        """The number of new pictures."""
        return len(self.curve.overlap) - 1

    def reasons(self) -> dict[str, int]:
        """How many contexts stay uncovered for each reason, in the order of REASONS; none that is 0."""
        counts = Counter(context.reason for context in self.uncovered)
        return {reason: counts[reason] for reason in REASONS if counts[reason]}

    def content(self) -> dict[str, object]:
        """The content of cover.json (docs/guides/cover.md)."""
        return {
            "version": version(),
            "a": self.names[0],
            "b": self.names[1],
            "contexts": self.contexts,
            "wanted": self.wanted,
            "pictures": self.count,
            "path": None if self.pictures is None else str(self.pictures),
            "overlap_before": float(self.curve.overlap[0]),
            "overlap_after": float(self.curve.overlap[-1]),
            "overlap_random": float(self.random.overlap[-1]),
            "resembled_before": float(self.curve.resembled[0]),
            "resembled_after": float(self.curve.resembled[-1]),
            "resembled_random": float(self.random.resembled[-1]),
            "random_pictures": len(self.random.overlap) - 1,
            "same_labels": self.same_labels,
            "candidates": self.candidates,
            "uncovered": self.reasons(),
            "newly_covered": None if self.newly_covered is None else self.newly_covered.content(),
            "parameters": self.parameters,
            "losses": self.losses.lines(),
        }

    def save(self, folder: Path) -> None:
        """Write cover.json, curve.csv and uncovered.csv.

        Args:
            folder: where; it exists.

        Raises:
            SimjudgeError: a file cannot be written.
        """
        write_json(folder / COVER, self.content())
        write_rows(folder / CURVE, curve_rows(self.curve, self.random))
        write_rows(folder / UNCOVERED, [vars(context) for context in self.uncovered])


def curve_rows(curve: CoverageCurve, random: CoverageCurve) -> list[dict[str, object]]:
    """The rows of curve.csv: O_A and the share resembled by number of pictures, chosen and random."""
    columns = {
        "overlap": curve.overlap,
        "resembled": curve.resembled,
        "random_overlap": random.overlap,
        "random_resembled": random.resembled,
    }
    return [
        {"pictures": k}
        | {name: round(float(values[k]), 6) if k < len(values) else "" for name, values in columns.items()}
        for k in range(max(map(len, columns.values())))
    ]


def uncovered_rows(rows: IntArray, reasons: Sequence[str], frames: Any) -> tuple[UncoveredContext, ...]:
    """The contexts that stay uncovered. `rows`: (N,) rows of the objects of a set."""
    frame = np.asarray(frames.objects.frame)[rows]
    return tuple(
        UncoveredContext(row, frames.frame_name[index], frames.class_name(int(frames.objects.class_id[row])), reason)
        for row, index, reason in zip(rows.tolist(), frame.tolist(), reasons, strict=True)
    )
