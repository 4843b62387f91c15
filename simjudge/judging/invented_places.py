"""Where a detector invents: patches of both sets in like surroundings, and whether each holds an invention.

An invention is a prediction that overlaps no labelled object. The image is cut into patches; places are not chosen by
what was invented there, for in the few patches around A's inventions A would invent more than B by that choice alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.display import ShortRepr
from simjudge.core.frames import FrameSet
from simjudge.detectors.assignment import participants
from simjudge.detectors.iou import overlapping_pairs
from simjudge.judging.context_kinds import (
    MOST_CLASSES,
    MOST_ROWS,
    ContextKinds,
    Grouping,
    groups_by_place,
    most_kinds,
    tested_kinds,
)
from simjudge.judging.judged_set import JudgedSet
from simjudge.method.bootstrap import DrawSchedule, UnitNumbers
from simjudge.method.kinds import KindDifferences, KindSums
from simjudge.method.method import Method
from simjudge.method.patches import Contexts, place_contexts
from simjudge.method.pool import ClassPair, Samples

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
    return np.setdiff1d(chosen, touched)


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
    sets: tuple[JudgedSet, JudgedSet], frame_unit: tuple[IntArray, IntArray], method: Method, draws: int, seed: int
) -> KindDifferences | None:
    """Test kinds of places: the share of like places that hold an invention, B less A; None where there are none.

    `frame_unit`: (F,) the sampling unit of the frames of A and of B, see `SampleUnits`.
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
    count = max(int(unit.max(initial=-1)) for unit in frame_unit) + 1
    kinds = ContextKinds.of_groupings(groupings, (len(a.frame), len(b.frame)), most_kinds(count), ALL_PLACES)
    samples = [
        Samples(side.contexts.marked_empty(), side.invented, UnitNumbers(own[side.frame]))
        for side, own in zip((a, b), frame_unit, strict=True)
    ]
    sums = KindSums.zeros(len(kinds.names.names), count, 0)
    sums.add_class(ClassPair(samples[0], samples[1]), method, kinds.bits, MOST_ROWS)
    return tested_kinds(sums, kinds.names, DrawSchedule(count, 0, draws, seed))


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
