"""Kinds of contexts: by class, size, place in the image, neighbours, visible share and distance (method, section 6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import combinations, pairwise, product

import numpy as np

from simjudge.core.arrays import BoolArray, FloatArray, IntArray
from simjudge.core.frames import FrameSet
from simjudge.judging.box_neighbours import covered_shares, neighbour_counts
from simjudge.judging.judged_set import JudgedSet
from simjudge.judging.set_comparison import Comparisons, SetComparison, truncated_objects
from simjudge.judging.units.sampling_units import SampleUnits
from simjudge.method.bits import WORD
from simjudge.method.bootstrap import DrawSchedule
from simjudge.method.kinds import (
    FEWEST_CONTEXTS,
    KindBits,
    KindDifferences,
    KindNames,
    KindSums,
    kind_differences,
    pack_kinds,
)
from simjudge.method.pool import ClassPair
from simjudge.method.recordings import RecordingSides, SampleRecordings

EVERYWHERE = "all contexts"
BINS = 3
"""Kinds by size and the like, with about equally many contexts of A each."""
MOST_CLASSES = 12
"""Classes that are kinds: those with most objects in A."""
MOST_KINDS = 400
"""Those with most contexts: rare ones would show nothing."""
MOST_SUMS = 10_000_000
"""Kinds times units at most: their sums take 17 bytes each."""
MOST_SAMPLES = 50_000_000
"""Samples in the batches of a class that take part, about: of more, a drawn part of the contexts does."""
MOST_ROWS, FEWEST_ROWS = 20_000, 500
"""Distinct contexts of a class that take part, at most; where batches are very large, so many do all the same."""
_COVERED = 0.25
"""Share of a box that other labelled boxes cover, from which it is much."""

Grouping = list[tuple[str, BoolArray]]
"""Kinds by one property: what each is called, and which samples are of it, A's first."""


@dataclass(frozen=True)
class ContextKinds:
    """The kinds of the samples of both sets, A's first; the first kind is all of them."""

    names: KindNames
    bits: KindBits

    @classmethod
    def of_groupings(
        cls,
        groupings: Sequence[Grouping],
        counts: tuple[int, int],
        most: int,
        everywhere: str = EVERYWHERE,
        triples: int = 0,
    ) -> ContextKinds:
        """Every kind, and what any two by unlike properties, or three by the first ones, have in common.

        `triples`: so many properties come in threes too.
        """
        names, rows = [everywhere], [np.arange(sum(counts))]
        parts: list[frozenset[int]] = [frozenset()]
        known = {rows[0].tobytes()}

        def add(name: str, of: frozenset[int], of_kind: IntArray) -> None:
            of_a = int(np.searchsorted(of_kind, counts[0]))
            if min(of_a, len(of_kind) - of_a) < FEWEST_CONTEXTS or of_kind.tobytes() in known:
                return
            known.add(of_kind.tobytes())
            names.append(name)
            parts.append(of or frozenset([len(names) - 1]))
            rows.append(of_kind)

        singles: list[list[int]] = []
        for grouping in groupings:
            first = len(names)
            for name, mask in grouping:
                add(name, frozenset(), np.flatnonzero(mask))
            singles.append(list(range(first, len(names))))
        for groups in (*combinations(singles, 2), *combinations(singles[:triples], 3)):
            for chosen in product(*groups):
                common = reduce(partial(np.intersect1d, assume_unique=True), (rows[k] for k in chosen))
                add(", ".join(names[k] for k in chosen), frozenset(chosen), common)
        # What several have in common is left out before they are.
        by_size = sorted(range(1, len(names)), key=lambda k: (len(parts[k]), -int(np.searchsorted(rows[k], counts[0]))))
        kept = sorted([0, *by_size[: max(1, most - 1)]])
        place = {k: number for number, k in enumerate(kept)}
        above = [tuple(place[j] for j in kept if j and parts[j] < parts[k]) for k in kept]
        return cls(KindNames([names[k] for k in kept], above), pack_kinds([rows[k] for k in kept], sum(counts)))


def context_kinds(sets: tuple[JudgedSet, JudgedSet], patch: tuple[int, int], most: int = MOST_KINDS) -> ContextKinds:
    """The kinds of the objects of two sets, whose patches have this height and width, pixels."""
    frames = sets[0].frames, sets[1].frames
    counts = len(frames[0].objects), len(frames[1].objects)
    box = [frame.objects.box for frame in frames]
    names = frames[1].class_names | frames[0].class_names
    class_id = np.concatenate([frame.objects.class_id for frame in frames])
    found, held = np.unique(class_id[: counts[0]], return_counts=True)
    largest = sorted(found[np.argsort(-held, kind="stable")][:MOST_CLASSES].tolist())
    by_class = [(names.get(k) or f"class {k}", class_id == k) for k in largest]
    centre = [(edges[:, :2] + edges[:, 2:]) / 2 for edges in box]
    sizes = [frame.size[frame.objects.frame].astype(np.float64) for frame in frames]
    first, others = [by_class, *groups_by_place(sizes, centre)], []
    if sets[0].contexts is None:  # patches of label pictures are no objects
        edge = np.concatenate([truncated_objects(frame, np.arange(len(frame.objects))) for frame in frames])
        height = [edges[:, 3] - edges[:, 1] for edges in box]
        neighbours = [neighbour_counts(frame.objects.frame, frame.objects.box, patch) for frame in frames]
        first.append(quantile_groups(height, lambda v: f"{v:g} px", "high"))
        others = [
            [("at the image's edge", edge), ("inside the image", ~edge)],
            quantile_groups([neighbour.astype(np.float64) for neighbour in neighbours], str, "neighbours", whole=True),
            _by_visibility(frames),
            quantile_groups([frame.objects.distance for frame in frames], lambda v: f"{v:g} m", "away"),
        ]
    # Class, size and place together say what somebody would look for.
    groupings, threes = ([grouping for grouping in held if len(grouping) > 1] for held in (first + others, first))
    return ContextKinds.of_groupings(groupings, counts, most, triples=len(threes))


def where_sets_differ(
    comparison: SetComparison, classes: Comparisons, schedule: DrawSchedule
) -> KindDifferences | None:
    """Test the kinds of contexts of a comparison, over all its classes, under the same draws as its W1."""
    units, method = comparison.units, comparison.method
    if not schedule.draws:
        return None
    kinds = context_kinds(comparison.sets, method.patch, most_kinds(_numbers_of(units)))
    unit, count, recorded = recorded_units(units.unit, units.count, units.recording)
    comparison = replace(comparison, units=replace(units, unit=unit, count=count))
    sums = replace(KindSums.zeros(len(kinds.names.names), count, units.block_count), recorded=recorded)
    first_b = len(comparison.sets[0].frames.objects)
    for class_id, one in classes.items():
        held = int(one.batch[one.compared].sum())
        if not held:
            continue
        pair = ClassPair(*comparison.samples(class_id), expected=comparison.model(class_id))
        rows = [judged.rows(class_id) for judged in comparison.sets]
        most_rows = min(MOST_ROWS, max(FEWEST_ROWS, MOST_SAMPLES * len(rows[0]) // held))
        sums.add_class(pair, method, kinds.bits[np.concatenate([rows[0], first_b + rows[1]])], most_rows)
    return tested_kinds(sums, kinds.names, schedule)


def recorded_units(
    unit: tuple[IntArray, IntArray], count: int, recording: tuple[IntArray, IntArray] | None
) -> tuple[tuple[IntArray, IntArray], int, SampleRecordings | None]:
    """Units numbered by recording where sets have several: of A and of B, how many there are, and what each is of."""
    if recording is None:
        return unit, count, None
    sides = RecordingSides.of_rows(*recording)
    recordings = len(sides.in_a)
    cells, number = np.unique(np.concatenate(unit) * recordings + np.concatenate(recording), return_inverse=True)
    first, second = np.split(number.reshape(-1).astype(np.int64), [len(unit[0])])
    of_unit, of_recording = np.divmod(cells, recordings)
    known = SampleRecordings(of_recording, of_unit, np.full(len(cells), -1), sides)
    return (first, second), len(cells), known


def samples_of_kind(comparison: SetComparison, name: str) -> BoolArray:
    """(N,) which objects are of a kind that was tested, A's first."""
    kinds = context_kinds(comparison.sets, comparison.method.patch, most_kinds(_numbers_of(comparison.units)))
    k = list(kinds.names.names).index(name)
    return np.asarray((kinds.bits[:, k // WORD] >> np.uint64(k % WORD)) & np.uint64(1) != 0)


def _numbers_of(units: SampleUnits) -> int:
    """How many sums a kind has: of units, of blocks, and of what each unit shows in each block."""
    if units.block is None:
        return units.count
    cells = [unit * units.block_count + block for unit, block in zip(units.unit, units.block, strict=True)]
    return units.count + units.block_count + len(np.unique(np.concatenate(cells)))


def most_kinds(units: int) -> int:
    """How many kinds the sums of so many units leave room for."""
    return min(MOST_KINDS, max(2, MOST_SUMS // max(1, units)))


def tested_kinds(sums: KindSums, names: KindNames, schedule: DrawSchedule) -> KindDifferences | None:
    """Make the draws and test the kinds."""
    batches = []
    while (normals := schedule.next_batch()) is not None:
        batches.append(sums.drawn(normals))
    chance, noise = (np.concatenate([batch[k] for batch in batches], axis=1) for k in range(2))
    shifts = sums.shifts(schedule.draws, schedule.seed)
    return kind_differences(sums, chance, noise, names, None if shifts is None else shifts[:, : chance.shape[1]])


def quantile_groups(
    values: Sequence[FloatArray], text: Callable[[float], str], noun: str, *, whole: bool = False
) -> Grouping:
    """Kinds with about equally many contexts of A, between round numbers; samples without a value are of none."""
    value, known = np.concatenate(values), values[0][np.isfinite(values[0])]
    if not len(known) or known.min() == known.max():
        return []
    cuts = np.quantile(known, np.arange(1, BINS) / BINS).tolist()
    # Where very many have the smallest value, they are one kind.
    smallest = float(known[known > known.min()].min())
    edges = [float(np.ceil(cut)) if whole else float(f"{cut:.2g}") for cut in cuts]
    inside = sorted({edge if edge > known.min() else smallest for edge in edges})
    limits = [-np.inf, *(edge for edge in inside if edge <= known.max()), np.inf]
    naming = _count_name if whole else _range_name
    return [(naming(low, high, text, noun), (value >= low) & (value < high)) for low, high in pairwise(limits)]


def _range_name(low: float, high: float, text: Callable[[float], str], noun: str) -> str:
    if low == -np.inf:
        return f"under {text(high)} {noun}"
    return f"{text(low)} {noun} or more" if high == np.inf else f"{text(low)} to under {text(high)} {noun}"


def _count_name(low: float, high: float, _text: Callable[[float], str], noun: str) -> str:
    first = int(max(low, 0))
    counted = f"{first} {noun[:-1] if first == 1 else noun}"
    if high == np.inf:
        return f"{counted} or more"
    if first == high - 1:
        return f"no {noun}" if first == 0 else counted
    return f"{first} to {int(high) - 1} {noun}"


def groups_by_place(sizes: Sequence[FloatArray], centres: Sequence[FloatArray]) -> list[Grouping]:
    """By the third of the image that points are in, from left to right and from above to below.

    `sizes`: (N, 2) of the image of each point of A, and of B; `centres`: (N, 2) the points.
    """
    size, centre = np.concatenate(sizes), np.concatenate(centres)
    part = np.clip(np.floor(BINS * centre / np.maximum(size, 1)), 0, BINS - 1)
    across = ("on the left", "in the middle", "on the right")
    down = ("in the upper third", "at middle height", "in the lower third")
    return [[(name, part[:, axis] == k) for k, name in enumerate(names)] for axis, names in enumerate((across, down))]


def _by_visibility(frames: Sequence[FrameSet]) -> Grouping:
    """By visible share; where objects lack it, by the share of the box that other labelled boxes cover."""
    visible = [frame.objects.visible for frame in frames]
    if all(np.isfinite(share).all() for share in visible):
        return quantile_groups(visible, lambda v: f"{100 * v:g} %", "visible")
    covered = np.concatenate([covered_shares(frame.objects.frame, frame.objects.box) for frame in frames])
    limit = f"{100 * _COVERED:g} % covered"
    return [
        ("not covered", covered == 0),
        (f"up to {limit}", (covered > 0) & (covered <= _COVERED)),
        (f"more than {limit}", covered > _COVERED),
    ]
