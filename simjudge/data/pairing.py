"""Which frames, or messages, belong together; and predictions or labels of one set put onto the frames of another.

Pairs are found by stamp, one to one, nearest first; by name where stamps are missing.
"""

from __future__ import annotations

import heapq
from dataclasses import replace
from shlex import quote

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import BoolArray, IntArray
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.names import NO_STAMP, free_class_id, normalized_name
from simjudge.core.object_tables import Predictions, order_by_frame
from simjudge.core.text import list_some, one_line
from simjudge.data.format_support.raw_rows import count_losses


def pair_stamps(a: npt.ArrayLike, b: npt.ArrayLike, tolerance_ns: int = 0) -> tuple[IntArray, IntArray]:
    """Pair two lists of stamps one to one.

    Of all pairs within the tolerance the nearest is taken first, then the nearest of what is left, and so on; of
    equally near ones the one with the earlier stamps. Equal stamps therefore always come together.
    """
    first, second = np.asarray(a, np.int64).reshape(-1), np.asarray(b, np.int64).reshape(-1)
    stamps = np.concatenate([first, second])
    order = np.argsort(stamps, kind="stable")
    sorted_stamps: list[int] = stamps[order].tolist()
    is_first: list[bool] = (order < len(first)).tolist()
    # The nearest pair that is left always stands side by side in the joint order of what is left: anything between
    # the two would be nearer to one of them. So only neighbours are candidates, new ones as pairs are taken out.
    before, after = list(range(-1, len(order) - 1)), list(range(1, len(order) + 1))
    candidates = [(sorted_stamps[k + 1] - sorted_stamps[k], k, k + 1) for k in range(len(order) - 1)]
    candidates = [c for c in candidates if c[0] <= tolerance_ns and is_first[c[1]] != is_first[c[2]]]
    heapq.heapify(candidates)
    taken = [False] * len(order)
    partner = np.full(len(first), -1, np.int64)
    while candidates:
        _, left, right = heapq.heappop(candidates)
        if taken[left] or taken[right]:
            continue
        taken[left] = taken[right] = True
        i, j = (left, right) if is_first[left] else (right, left)
        partner[order[i]] = order[j] - len(first)
        left, right = before[left], after[right]
        if left >= 0:
            after[left] = right
        if right < len(order):
            before[right] = left
        if left >= 0 and right < len(order) and is_first[left] != is_first[right]:
            distance = sorted_stamps[right] - sorted_stamps[left]
            if distance <= tolerance_ns:
                heapq.heappush(candidates, (distance, left, right))
    paired = np.flatnonzero(partner >= 0).astype(np.int64)
    return paired, partner[paired]


def pair_frames(a: FrameSet, b: FrameSet, tolerance_ns: int = 0) -> tuple[IntArray, IntArray]:
    """Pair the frames of two sets, one to one.

    Frames that both have a stamp are paired by it (see `pair_stamps`); where one of two frames has none, by equal
    names.
    """
    stamped_a, stamped_b = np.flatnonzero(a.stamp != NO_STAMP), np.flatnonzero(b.stamp != NO_STAMP)
    i, j = pair_stamps(a.stamp[stamped_a], b.stamp[stamped_b], tolerance_ns)
    pairs = dict(zip(stamped_a[i].tolist(), stamped_b[j].tolist(), strict=True))
    used = set(pairs.values())
    by_name = {name: index for index, name in enumerate(b.frame_name)}
    for index, name in enumerate(a.frame_name):
        other = by_name.get(name, -1)
        both_stamped = a.stamp[index] != NO_STAMP and b.stamp[other] != NO_STAMP
        if other >= 0 and index not in pairs and other not in used and not both_stamped:
            pairs[index] = other
    index_a = np.array(sorted(pairs), np.int64)
    return index_a, np.array([pairs[k] for k in index_a.tolist()], np.int64)


def count_unpaired(a: FrameSet, b: FrameSet, pairs: tuple[IntArray, IntArray]) -> Losses:
    """Count the frames of two sets that have no partner."""
    losses = Losses()
    for frames, other, paired in ((a, b, pairs[0]), (b, a, pairs[1])):
        for index in np.setdiff1d(np.arange(len(frames)), paired).tolist():
            losses.add(f"frames without a partner in {other.name}", frames.describe_frame(index))
    return losses


def attach_predictions(source: FrameSet, target: FrameSet) -> FrameSet:
    """Put the predictions of one set onto the frames of another, matched by frame name, else by stamp."""
    if source.predictions is None:
        raise SimjudgeError(f"{source.name}: holds no predictions")
    match = _same_size(match_frames(source, target, source.predicted), source, target)
    lost = np.flatnonzero(source.predicted & (match < 0))
    count_losses(target.losses, "predicted frames that the set lacks", lost, source.describe_frame)
    if not (match >= 0).any():
        raise SimjudgeError(f"{source.name}: has predictions for no frame of {target.name}; is it another set?")
    ids = class_map(source, target)
    predictions = source.predictions.take(np.flatnonzero(match[source.predictions.frame] >= 0))
    moved = replace(predictions, frame=match[predictions.frame], class_id=_mapped(predictions.class_id, ids))
    known = _with_known_class(moved, source, target)
    predicted = np.zeros(len(target), np.bool_)
    predicted[match[match >= 0]] = True
    return target.with_predictions(order_by_frame(known), predicted, source.detector)


def attach_labels(labels: FrameSet, target: FrameSet, tolerance_ns: int = 0) -> FrameSet:
    """Put the objects of one set onto the frames of another, matched by frame name, else by the nearest stamp."""
    losses = Losses()
    losses.extend(target.losses)
    losses.extend(labels.losses)
    base = replace(target, losses=losses)
    if not labels.labelled.any():
        what = "predictions only" if labels.predictions is not None else "no labels"
        raise SimjudgeError(f"{labels.name}: holds {what}; give a set whose frames are labelled")
    match = _same_size(match_frames(labels, base, labels.labelled, tolerance_ns), labels, base)
    lost = np.flatnonzero(labels.labelled & (match < 0))
    count_losses(losses, "labelled frames that match no frame", lost, labels.describe_frame)
    if not (match >= 0).any():
        raise SimjudgeError(
            f"{labels.name}: none of its labelled frames matches a frame of {target.name} by name or stamp;"
            " is it another recording, or does it need a larger --label-tolerance?"
        )
    ids = class_map(labels, target)
    kept = labels.objects.take(np.flatnonzero(match[labels.objects.frame] >= 0))
    objects = order_by_frame(replace(kept, frame=match[kept.frame], class_id=_mapped(kept.class_id, ids)))
    labelled = np.zeros(len(target), np.bool_)
    labelled[match[match >= 0]] = True
    names = dict(target.class_names)
    for class_id, name in labels.class_names.items():
        names.setdefault(ids.get(class_id, class_id), name)
    return replace(base, objects=objects, labelled=labelled, class_names=names)


def match_frames(source: FrameSet, target: FrameSet, wanted: BoolArray, tolerance_ns: int = 0) -> IntArray:
    """The frame of one set that each frame of another is, int64 (F,): by name, else by the nearest stamp; -1: none."""
    match = np.full(len(source), -1, np.int64)
    number = {name: i for i, name in enumerate(target.frame_name)}
    for i in np.flatnonzero(wanted).tolist():
        match[i] = number.get(source.frame_name[i], -1)
    free = np.ones(len(target), np.bool_)
    free[match[match >= 0]] = False
    open_rows = np.flatnonzero(wanted & (match < 0) & (source.stamp != NO_STAMP))
    targets = np.flatnonzero(free & (target.stamp != NO_STAMP))
    if not len(open_rows) or not len(targets):
        return match
    targets = targets[np.argsort(target.stamp[targets], kind="stable")]
    stamps = target.stamp[targets]
    pairs: list[tuple[int, int, int]] = []
    for i in open_rows.tolist():
        stamp = int(source.stamp[i])
        low, high = np.searchsorted(stamps, [stamp - tolerance_ns, stamp + tolerance_ns + 1])
        pairs.extend((abs(int(stamps[j]) - stamp), i, int(targets[j])) for j in range(int(low), int(high)))
    for _, i, j in sorted(pairs):
        if match[i] < 0 and free[j]:
            match[i], free[j] = j, False
    return match


def class_map(source: FrameSet, target: FrameSet) -> dict[int, int]:
    """Find the class id in one set for each of another, by name (any case), else a free id; empty without names."""
    if not source.class_names or not target.class_names:
        return {}
    by_name = {normalized_name(name): i for i, name in reversed(list(target.class_names.items()))}
    ids: dict[int, int] = {}
    taken = set(target.class_names)
    for class_id, given in source.class_names.items():
        name = normalized_name(given)
        same = class_id in target.class_names and normalized_name(target.class_names[class_id]) == name
        free = class_id if same else by_name.get(name, class_id)
        if name not in by_name and free in taken:
            free = free_class_id(taken | set(source.class_names))
        ids[class_id] = free
        taken.add(free)
    return ids


def _mapped(class_id: IntArray, ids: dict[int, int]) -> IntArray:
    if not ids:
        return class_id
    found, inverse = np.unique(class_id, return_inverse=True)
    return np.array([ids.get(int(i), int(i)) for i in found], np.int64)[inverse]


def _same_size(match: IntArray, source: FrameSet, target: FrameSet) -> IntArray:
    """`match` without the frames whose images differ in size, whose boxes would be somewhere else; counted."""
    rows = np.flatnonzero(match >= 0)
    wrong = rows[(source.size[rows] != target.size[match[rows]]).any(1)]
    count_losses(target.losses, "frames of another size than the set's", wrong, source.describe_frame)
    match[wrong] = -1
    return match


def _with_known_class(predictions: Predictions, source: FrameSet, target: FrameSet) -> Predictions:
    if not target.class_names:
        return predictions
    good = np.isin(predictions.class_id, list(target.class_names))
    if len(good) and not good.any():
        found = predictions if source.predictions is None else source.predictions
        theirs = [one_line(source.class_name(k)) for k in np.unique(found.class_id).tolist()]
        ours = [one_line(name) for name in target.class_names.values()]
        raise SimjudgeError(
            f"{source.name}: its predictions are of class {list_some(theirs)}, and {target.name} has {list_some(ours)}:"
            f" nothing tells which are the same; say it with --rename {quote(f'{theirs[0]}={ours[0]}')}"
        )

    def where(row: int) -> str:
        return f"{target.describe_frame(int(predictions.frame[row]))} (class {int(predictions.class_id[row])})"

    count_losses(target.losses, "predictions of a class without a name", np.flatnonzero(~good), where)
    return predictions.take(np.flatnonzero(good))
