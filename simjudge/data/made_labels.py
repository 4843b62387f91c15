"""Labels that nobody drew: the predictions of a stronger detector, or the regions of label pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import cv2
import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import BoolArray, IntArray
from simjudge.core.errors import Losses, SimjudgeError, UsageError
from simjudge.core.frames import FrameSet
from simjudge.core.images import ImageError
from simjudge.core.label_pictures import UNLABELLED, LabelPicture
from simjudge.core.names import normalized_name
from simjudge.core.object_tables import Masks, Objects
from simjudge.core.text import list_some, one_line

SMALLEST_REGION = 16
"""Pixels of a region that becomes an object."""


def labels_from_predictions(source: FrameSet, least: float) -> FrameSet:
    """A set whose predictions of some score or more are its labels, which say of whom they are; its predictions go."""
    if not 0 < least <= 1:
        raise UsageError(f"--from-predictions {least:g}: a score above 0, up to 1, is needed")
    found = source.predictions
    if found is None:
        raise SimjudgeError(
            f"{source.name}: holds no predictions to take for labels; run the stronger detector before (simjudge"
            " detect)"
        )
    rows = np.flatnonzero(found.score >= least)
    if not len(rows):
        highest = f"the highest score is {found.score.max():.3g}" if len(found) else "it found nothing"
        raise SimjudgeError(f"{source.name}: no prediction has a score of {least:g}: {highest}")
    kept = found.take(rows)
    objects = Objects.build(kept.frame, kept.class_id, kept.box, masks=kept.masks, cuboid=kept.cuboid)
    who = source.name if source.detector is None else source.detector.name
    labelled = replace(source, objects=objects, labelled=source.predicted.copy(), label_source=teacher(who, least))
    return labelled.with_predictions(None)


def teacher(who: str, least: float) -> str:
    """How labels are called that are predictions of a detector."""
    return f"predictions of {who} at {least:g}, a teacher"


def labels_from_pictures(source: FrameSet, classes: Sequence[str], smallest: int = SMALLEST_REGION) -> FrameSet:
    """A set whose objects are the connected regions of its label pictures, each with its mask.

    Things of one class that touch become one object. `classes`: names of the classes that become objects; `smallest`:
    pixels below which a region is left out.
    """
    if source.semantic is None:
        raise SimjudgeError(f"{source.name}: holds no label pictures whose regions could be objects")
    wanted = {normalized_name(name): name for name in classes}
    ids = [k for k, name in sorted(source.class_names.items()) if normalized_name(name) in wanted]
    known = {normalized_name(source.class_names[k]) for k in ids}
    if lacking := [name for key, name in wanted.items() if key not in known]:
        raise UsageError(
            f"{source.name}: its label pictures have no class {one_line(lacking[0])}; they have"
            f" {list_some(list(source.class_names.values()))}"
        )
    losses = Losses()
    losses.extend(source.losses)
    frame, class_id, box, crops, origin = [], [], [], [], []
    labelled = np.zeros(len(source), np.bool_)
    for index in range(len(source)):
        picture = _picture(source, index, losses)
        if picture is None:
            continue
        labelled[index] = True
        for number, crop, (x, y) in _regions(picture, ids, smallest):
            frame.append(index)
            class_id.append(number)
            box.append([x, y, x + crop.shape[1], y + crop.shape[0]])
            crops.append(crop)
            origin.append((x, y))
    if not frame:
        raise SimjudgeError(f"{source.name}: no region of {list_some(list(classes))} has {smallest} pixels")
    masks = Masks.from_crops(crops, np.array(origin))
    text = f"regions of label pictures ({', '.join(source.class_names[k] for k in ids)})"
    return replace(
        source,
        objects=Objects.build(frame, class_id, box, masks=masks),
        labelled=labelled,
        losses=losses,
        label_source=text,
    )


def _picture(source: FrameSet, index: int, losses: Losses) -> LabelPicture | None:
    if source.semantic is None or not source.semantic.has(index):
        return None
    try:
        return source.semantic.read(index)
    except ImageError as error:
        losses.add("damaged label pictures", str(error))
        return None


def _regions(
    picture: LabelPicture, ids: Sequence[int], smallest: int
) -> Iterator[tuple[int, BoolArray, tuple[int, int]]]:
    """The class, pixels and upper left corner of each region, neighbours by edges and corners."""
    for class_id in ids:
        if class_id >= UNLABELLED:
            continue
        count, numbers, statistics, _ = cv2.connectedComponentsWithStats((picture == class_id).astype(np.uint8))
        for number in range(1, count):
            x, y, width, height, area = _integers(statistics[number])
            if area >= smallest:
                crop = np.asarray(numbers[y : y + height, x : x + width] == number)
                yield class_id, crop, (x, y)


def _integers(row: npt.NDArray[np.int32] | IntArray) -> tuple[int, int, int, int, int]:
    x, y, width, height, area = row.tolist()
    return x, y, width, height, area
