"""Predictions or labels of one set put onto the frames of another, matched by frame name, else by stamp."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import NO_STAMP, BoolArray, FrameSet, IntArray, Objects, Predictions
from simjudge.data.format_support.raw_rows import count_losses


def attach_predictions(source: FrameSet, onto: FrameSet) -> FrameSet:
    """`onto` with the predictions of `source`; what matches no frame is counted in `onto.losses`.

    Raises:
        SimjudgeError: no predicted frame of `source` matches a frame of `onto`.
    """
    if source.predictions is None:
        raise SimjudgeError(f"{source.name}: holds no predictions")
    match = _same_size(match_frames(source, onto, source.predicted), source, onto)
    lost = np.flatnonzero(source.predicted & (match < 0))
    count_losses(onto.losses, "predicted frames that the set lacks", lost, source.describe_frame)
    if not (match >= 0).any():
        raise SimjudgeError(f"{source.name}: has predictions for no frame of {onto.name}; is it another set?")
    ids = class_map(source, onto)
    predictions = source.predictions.take(np.flatnonzero(match[source.predictions.frame] >= 0))
    moved = replace(predictions, frame=match[predictions.frame], class_id=_mapped(predictions.class_id, ids))
    known = _with_known_class(moved, onto)
    table = Predictions.build(known.frame, known.class_id, known.box, known.score, known.masks)
    predicted = np.zeros(len(onto), np.bool_)
    predicted[match[match >= 0]] = True
    return onto.with_predictions(table, predicted)


def attach_labels(labels: FrameSet, onto: FrameSet, tolerance_ns: int = 0) -> FrameSet:
    """`onto` with the objects of `labels`; see `simjudge.data.sets.with_labels`."""
    losses = Losses()
    losses.extend(onto.losses)
    losses.extend(labels.losses)
    base = replace(onto, losses=losses)
    match = _same_size(match_frames(labels, base, labels.labelled, tolerance_ns), labels, base)
    lost = np.flatnonzero(labels.labelled & (match < 0))
    count_losses(losses, "labelled frames that match no frame", lost, labels.describe_frame)
    if not (match >= 0).any():
        raise SimjudgeError(
            f"{labels.name}: none of its labelled frames matches a frame of {onto.name} by name or stamp;"
            " is it another recording, or does it need a larger --label-tolerance?"
        )
    ids = class_map(labels, onto)
    kept = labels.objects.take(np.flatnonzero(match[labels.objects.frame] >= 0))
    objects = Objects.build(
        match[kept.frame], _mapped(kept.class_id, ids), kept.box, kept.instance, kept.masks
    )
    labelled = np.zeros(len(onto), np.bool_)
    labelled[match[match >= 0]] = True
    names = dict(onto.class_names)
    for class_id, name in labels.class_names.items():
        names.setdefault(ids.get(class_id, class_id), name)
    return replace(base, objects=objects, labelled=labelled, class_names=names)


def match_frames(source: FrameSet, onto: FrameSet, wanted: BoolArray, tolerance_ns: int = 0) -> IntArray:
    """The frame of `onto` that each wanted frame of `source` is, int64 (F,), -1 for none; no frame is matched twice.

    Frames of one name match; of the rest, those with the nearest stamps, no further apart than `tolerance_ns`.
    """
    match = np.full(len(source), -1, np.int64)
    number = {name: i for i, name in enumerate(onto.frame_name)}
    for i in np.flatnonzero(wanted).tolist():
        match[i] = number.get(source.frame_name[i], -1)
    free = np.ones(len(onto), np.bool_)
    free[match[match >= 0]] = False
    open_rows = np.flatnonzero(wanted & (match < 0) & (source.stamp != NO_STAMP))
    targets = np.flatnonzero(free & (onto.stamp != NO_STAMP))
    if not len(open_rows) or not len(targets):
        return match
    targets = targets[np.argsort(onto.stamp[targets], kind="stable")]
    stamps = onto.stamp[targets]
    pairs: list[tuple[int, int, int]] = []
    for i in open_rows.tolist():
        stamp = int(source.stamp[i])
        low, high = np.searchsorted(stamps, [stamp - tolerance_ns, stamp + tolerance_ns + 1])
        pairs.extend((abs(int(stamps[j]) - stamp), i, int(targets[j])) for j in range(int(low), int(high)))
    for _, i, j in sorted(pairs):
        if match[i] < 0 and free[j]:
            match[i], free[j] = j, False
    return match


def class_map(source: FrameSet, onto: FrameSet) -> dict[int, int]:
    """The class id in `onto` for each class id of `source`: by name where both have the name, else a free id.

    Empty where either has no names: ids are then taken as they are.
    """
    if not source.class_names or not onto.class_names:
        return {}
    by_name = {name: i for i, name in reversed(list(onto.class_names.items()))}
    ids: dict[int, int] = {}
    taken = set(onto.class_names)
    for class_id, name in source.class_names.items():
        same = onto.class_names.get(class_id) == name
        target = class_id if same else by_name.get(name, class_id)
        if name not in by_name and target in taken:
            target = max(taken | set(source.class_names)) + 1
        ids[class_id] = target
        taken.add(target)
    return ids


def _mapped(class_id: IntArray, ids: dict[int, int]) -> IntArray:
    if not ids:
        return class_id
    found, inverse = np.unique(class_id, return_inverse=True)
    return np.array([ids.get(int(i), int(i)) for i in found], np.int64)[inverse]


def _same_size(match: IntArray, source: FrameSet, onto: FrameSet) -> IntArray:
    """`match` without the frames whose images differ in size, whose boxes would be somewhere else; counted."""
    rows = np.flatnonzero(match >= 0)
    wrong = rows[(source.size[rows] != onto.size[match[rows]]).any(1)]
    count_losses(onto.losses, "frames of another size than the set's", wrong, source.describe_frame)
    match[wrong] = -1
    return match


def _with_known_class(predictions: Predictions, onto: FrameSet) -> Predictions:
    if not onto.class_names:
        return predictions
    good = np.isin(predictions.class_id, list(onto.class_names))

    def where(row: int) -> str:
        return f"{onto.describe_frame(int(predictions.frame[row]))} (class {int(predictions.class_id[row])})"

    count_losses(onto.losses, "predictions of a class without a name", np.flatnonzero(~good), where)
    return predictions.take(np.flatnonzero(good))
