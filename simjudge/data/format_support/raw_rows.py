"""Rows of tables: those that can be used, the others counted by file and row; rows as lists of JSON dictionaries."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.names import LARGEST_CLASS_ID
from simjudge.core.object_tables import NO_INSTANCE, Masks, Objects, Predictions
from simjudge.core.text import Json, one_line, parse_number
from simjudge.data.format_support.mask_codec import NO_MASK, MaskCrop, MaskList, mask_from_rle, mask_to_rle

FARTHEST_PX = 1e9  # Pixels. What lies further off is a slip, and would overflow where pixels are counted.
MASK_SLACK_PX = 1  # Pixels by which a mask may hang over its box: boxes are rounded
_LEAST_INSIDE = 0.9  # Share of a mask's pixels that lies in its box, at least: outlines are drawn by hand
_FEW_BOXES = 5  # Boxes below which nothing is concluded from their shapes
_MANY_BEYOND = 0.2  # Share of boxes that reach beyond their pictures, which few objects do where a picture ends
# Columns of objects whose values a file may leave out, and their largest values; the smallest are 0.
OPTIONAL_COLUMNS = {"distance": 1e9, "visible": 1.0}
WRONG_CLASS_ID = f"class ids that are not a whole number from 0 to {LARGEST_CLASS_ID}"
_UNUSABLE = {
    "distance": "distances outside [0, 1e9] m (the box is kept)",
    "visible": "visible shares outside [0, 1] (the box is kept)",
}


@dataclass(frozen=True, repr=False)
class RawRows(ShortRepr):
    """N labelled or predicted things as a file holds them, not yet checked."""

    frame: IntArray  # int64 (N,)
    class_id: FloatArray  # float64 (N,), NaN where the file holds no number
    box: FloatArray  # float64 (N, 4), x0, y0, x1, y1 in pixels
    where: Callable[[int], str]  # names row i to a person: file and line
    score: FloatArray | None = None  # float64 (N,) for predictions, None for objects
    instance: IntArray | None = None  # int64 (N,) or None
    masks: Masks | None = None  # masks or None
    # distance, visible: N values of objects as the file holds them, None where it says nothing; None for all.
    distance: Sequence[Any] | None = None
    visible: Sequence[Any] | None = None


def build_objects(raw: RawRows, size: IntArray, class_names: dict[int, str], losses: Losses) -> Objects:
    """Make objects of the usable rows; the others are counted (size: int64 (F, 2); class_names: names by class id)."""
    rows = _usable(raw, size, class_names, losses)
    instance = None if raw.instance is None else raw.instance[rows]
    masks = None if raw.masks is None else raw.masks.take(rows)
    return Objects.build(
        raw.frame[rows],
        raw.class_id[rows].astype(np.int64),
        raw.box[rows],
        instance,
        masks,
        distance=_optional("distance", raw.distance, rows, raw.where, losses),
        visible=_optional("visible", raw.visible, rows, raw.where, losses),
    )


def build_predictions(raw: RawRows, size: IntArray, class_names: dict[int, str], losses: Losses) -> Predictions:
    """Make predictions of the usable rows; the others are counted (size: int64 (F, 2))."""
    if not np.isin(raw.class_id, list(class_names)).any():
        class_names = {}
    rows = _usable(raw, size, class_names, losses)
    score = np.ones(len(raw.frame)) if raw.score is None else raw.score
    masks = None if raw.masks is None else raw.masks.take(rows)
    return Predictions.build(raw.frame[rows], raw.class_id[rows].astype(np.int64), raw.box[rows], score[rows], masks)


def drop_masks_outside(raw: RawRows, losses: Losses) -> RawRows:
    """Leave out masks that lie elsewhere than their boxes: exports turn polygons upside down."""
    masks, box = raw.masks, raw.box
    if masks is None:
        return raw
    first = masks.origin.astype(np.float64)
    extent = np.hstack([first, first + masks.shape[:, ::-1]])
    near = np.hstack([box[:, :2] - MASK_SLACK_PX, box[:, 2:] + MASK_SLACK_PX])
    over = (extent[:, :2] < near[:, :2]).any(1) | (extent[:, 2:] > near[:, 2:]).any(1)
    # What is no box is counted as such.
    usable = np.isfinite(box).all(1) & (box[:, :2] < box[:, 2:]).all(1) & (np.abs(box) <= FARTHEST_PX).all(1)
    doubtful = np.flatnonzero(over & usable & (masks.shape[:, 0] > 0)).tolist()
    away = [i for i in doubtful if _share_inside(masks, i, near[i]) < _LEAST_INSIDE]
    kind = "masks that lie outside their boxes (the box is kept)"
    count_losses(losses, kind, np.array(away, np.int64), _naming(raw.where, box))
    lost = set(away)
    crops = [masks.crop(i) if i not in lost and masks.has(i) else None for i in range(len(masks))]
    return replace(raw, masks=Masks.from_crops(crops, masks.origin)) if lost else raw


def count_likely_corners(frame: IntArray, box: FloatArray, size: IntArray) -> int:
    """Boxes that reach beyond their pictures, where the widths and heights of all are likely corners; else 0.

    Read as x, y, width and height, a box x0, y0, x1, y1 is wider than x0 and higher than y0.

    Args:
        frame: int64 (N,), of each box.
        box: float64 (N, 4), as read: x0, y0, x1, y1 in pixels.
        size: int64 (F, 2), of the pictures, pixels.
    """
    known = np.isfinite(box).all(1)
    box, frame = box[known], frame[known]
    if len(box) < _FEW_BOXES:
        return 0
    beyond = int(np.any(box[:, 2:] > size[frame] + 1, axis=1).sum())
    wider = np.all(box[:, 2:] - box[:, :2] > box[:, :2])
    return beyond if wider and beyond > _MANY_BEYOND * len(box) else 0


def mend_foreign_labels(raw: RawRows, size: IntArray, where: str, losses: Losses) -> RawRows:
    """Leave out rows that say once more what a row before says: the same class and box in one frame, without a mask.

    A detector finds an object once; the other one would count as missed. Training tools leave repeats out likewise.
    """
    _refuse_shares(raw, size, where)
    if not len(raw.frame):
        return raw
    instance = np.full(len(raw.frame), NO_INSTANCE) if raw.instance is None else raw.instance
    said = np.column_stack([raw.frame, raw.class_id, raw.box, instance])
    _, first = np.unique(said, axis=0, return_index=True)
    repeats = np.setdiff1d(np.arange(len(said)), first)
    if raw.masks is not None:
        repeats = repeats[raw.masks.shape[repeats, 0] == 0]
    count_losses(losses, "labels that stand twice", repeats, _naming(raw.where, raw.box))
    rows = np.setdiff1d(np.arange(len(said)), repeats)
    chosen = rows.tolist()
    return RawRows(
        raw.frame[rows],
        raw.class_id[rows],
        raw.box[rows],
        lambda row: raw.where(chosen[row]),
        None if raw.score is None else raw.score[rows],
        None if raw.instance is None else raw.instance[rows],
        None if raw.masks is None else raw.masks.take(rows),
        None if raw.distance is None else [raw.distance[row] for row in chosen],
        None if raw.visible is None else [raw.visible[row] for row in chosen],
    )


def _refuse_shares(raw: RawRows, size: IntArray, where: str) -> None:
    # One alone may be a slip; VOC's corners count from 1.
    if len(raw.box) < 2 or not ((raw.box >= -1) & (raw.box <= 1)).all() or not (size[raw.frame] > 2).all():
        return
    if (raw.box % 1 > 0).any():
        raise SimjudgeError(
            f"{where}: all boxes lie between 0 and 1: they are shares of the picture, and pixels are wanted; multiply"
            " x and width by the width of the picture, y and height by its height"
        )


def usable_values(column: str, values: Sequence[Any], where: Callable[[int], str], losses: Losses) -> FloatArray:
    """Read values that a file may leave out; those that cannot be are counted, and unknown. Float64 (N,)."""
    stated = np.array([value is not None for value in values], np.bool_)
    if not stated.any():
        return np.full(len(values), np.nan)
    numbers = parse_numbers(values)
    usable = (numbers >= 0) & (numbers <= OPTIONAL_COLUMNS[column])
    wrong = np.flatnonzero(stated & ~usable)
    count_losses(losses, _UNUSABLE[column], wrong, lambda i: f"{where(i)} ({one_line(values[i])})")
    return np.where(usable, numbers, np.nan)


def used_class_ids(table: Objects | Predictions | None) -> set[int]:
    """List the classes that a table holds (table: objects, predictions, or None)."""
    return set() if table is None else {int(i) for i in np.unique(table.class_id)}


def count_losses(losses: Losses, kind: str, rows: npt.NDArray[np.int64], where: Callable[[int], str]) -> None:
    """Count rows as lost, naming only as many as are shown (rows: int64 (K,), the lost rows)."""
    shown = rows[: losses.named_per_kind]
    for row in shown:
        losses.add(kind, where(int(row)))
    if len(rows) > len(shown):
        losses.add(kind, where(int(rows[-1])), len(rows) - len(shown))


def parse_numbers(values: Sequence[Any]) -> FloatArray:
    """Read anything as numbers: float64 (N,), NaN where a value is no number; true and false are none."""
    if bool in set(map(type, values)):
        values = [None if isinstance(value, bool) else value for value in values]
    try:
        read = np.array(values, np.float64)
    except (TypeError, ValueError, OverflowError):
        read = np.empty(())
    if read.shape == (len(values),):
        return read
    # One of them is no number, perhaps a list.
    each = (parse_number(value) for value in values)
    return np.array([np.nan if value is None else value for value in each], np.float64)


def _share_inside(masks: Masks, index: int, box: FloatArray) -> float:
    """Which share of a mask's pixels lies in a box."""
    crop = masks.crop(index)
    corner = np.tile(masks.origin[index], 2)
    x0, y0, x1, y1 = np.clip(np.rint(box - corner), 0, np.tile(crop.shape[::-1], 2)).astype(int).tolist()
    return float(crop[y0:y1, x0:x1].sum() / crop.sum())


def _optional(
    column: str, values: Sequence[Any] | None, rows: IntArray, where: Callable[[int], str], losses: Losses
) -> FloatArray | None:
    """The values of the usable rows; None where the file has none."""
    if values is None:
        return None
    return usable_values(column, [values[i] for i in rows.tolist()], lambda i: where(int(rows[i])), losses)


def _usable(raw: RawRows, size: IntArray, class_names: dict[int, str], losses: Losses) -> IntArray:
    x0, y0, x1, y1 = raw.box.T
    width, height = size[raw.frame].T
    with np.errstate(invalid="ignore"):
        tests: list[tuple[str, Any, FloatArray]] = [
            ("boxes with NaN or infinite coordinates", ~np.isfinite(raw.box).all(1), raw.box),
            ("boxes with coordinates beyond a billion pixels", (np.abs(raw.box) > FARTHEST_PX).any(1), raw.box),
            ("inverted boxes", (x1 < x0) | (y1 < y0), raw.box),
            ("boxes with zero area", (x1 == x0) | (y1 == y0), raw.box),
            ("boxes outside the image", (x1 <= 0) | (y1 <= 0) | (x0 >= width) | (y0 >= height), raw.box),
            (WRONG_CLASS_ID, _no_id(raw.class_id), raw.class_id),
        ]
        if class_names:
            named = np.fromiter(class_names, np.float64)
            tests.append(("class ids without a name", ~np.isin(raw.class_id, named), raw.class_id))
        if raw.score is not None:
            outside = ~((raw.score >= 0) & (raw.score <= 1))
            tests.append(("scores outside [0, 1]", outside, raw.score))
    good = np.ones(len(raw.frame), np.bool_)
    for kind, bad, value in tests:
        rows = np.flatnonzero(good & bad)
        count_losses(losses, kind, rows, _naming(raw.where, value))
        good &= ~bad
    return np.flatnonzero(good)


def _no_id(class_id: FloatArray) -> BoolArray:
    whole: BoolArray = (class_id >= 0) & (class_id <= LARGEST_CLASS_ID) & (class_id == np.floor(class_id))
    return ~whole


def _naming(where: Callable[[int], str], value: FloatArray) -> Callable[[int], str]:
    def name(row: int) -> str:
        held = np.asarray(value[row]).tolist()
        whole = isinstance(held, float) and held.is_integer()  # a class id, read as a float
        return f"{where(row)} ({one_line(int(held) if whole else held)})"

    return name


RowName = Callable[[int, int], str]  # Names row `row` of frame `frame` to a person


def rows_to_json(table: Objects | Predictions, frames: FrameSet, chosen: IntArray) -> list[list[dict[str, object]]]:
    """Turn the rows of the chosen frames into dictionaries, as the plain format and the sidecar hold them."""
    bounds = np.searchsorted(table.frame, np.stack([chosen, chosen + 1]))
    class_id, box = table.class_id.tolist(), table.box.tolist()
    score = table.score.tolist() if isinstance(table, Predictions) else None
    instance = table.instance.tolist() if isinstance(table, Objects) else None
    optional = {name: getattr(table, name).tolist() for name in OPTIONAL_COLUMNS} if isinstance(table, Objects) else {}
    lists = []
    for frame, start, end in zip(chosen.tolist(), *bounds.tolist(), strict=True):
        rows = []
        for i in range(start, end):
            row: Json = {"class": class_id[i], "box": box[i]}
            if score is not None:
                row["score"] = score[i]
            if instance is not None and instance[i] != NO_INSTANCE:
                row["instance"] = instance[i]
            row |= {name: values[i] for name, values in optional.items() if not math.isnan(values[i])}
            if table.masks is not None and table.masks.has(i):
                width, height = (int(v) for v in frames.size[frame])
                row["mask"] = mask_to_rle(table.masks, i, width, height)
            rows.append(row)
        lists.append(rows)
    return lists


def rows_from_json(
    lists: Sequence[list[Any]], frame: Sequence[int], size: IntArray, where: RowName, losses: Losses, *, scored: bool
) -> RawRows:
    """Read dictionaries into rows, not yet checked (size: int64 (F, 2); where: names a row to a person)."""
    columns: list[tuple[int, int, Any, list[float], float, int, Any, Any]] = []
    masks = MaskList()
    for number, rows in zip(frame, lists, strict=True):
        width, height = (int(v) for v in size[number])
        for index, row in enumerate(rows):
            try:
                x0, y0, x1, y1 = row["box"]
                box = [float(x0), float(y0), float(x1), float(y1)]
                score = float(row["score"]) if scored else 1.0
                optional = row.get("distance"), row.get("visible")
                entry = (number, index, row["class"], box, score, _instance(row), *optional)
            except (TypeError, ValueError, KeyError, AttributeError, OverflowError):
                losses.add("malformed rows", f"{where(number, index)} ({one_line(row)})")
                continue
            columns.append(entry)
            masks.append(_mask(row.get("mask"), width, height, f"{where(number, index)}", losses))
    frames, indices, classes, boxes, scores, instances, distance, visible = (
        zip(*columns, strict=True) if columns else ((),) * 8
    )
    return RawRows(
        np.array(frames, np.int64),
        parse_numbers(list(classes)),
        np.array(boxes, np.float64).reshape(-1, 4),
        lambda i: where(frames[i], indices[i]),
        np.array(scores, np.float64) if scored else None,
        np.array(instances, np.int64),
        masks.masks(),
        distance,
        visible,
    )


ANY_CLASS = -1  # Of a region in which predictions of every class are ignored


def ignored_from_json(lists: Sequence[Any], where: RowName, losses: Losses) -> Objects:
    """Read regions in which predictions count neither way, of every frame: rows of "class" and "box"; None for none."""
    frame, class_id, box = [], [], []
    for number, rows in enumerate(lists):
        for index, row in enumerate(rows or ()):
            try:
                x0, y0, x1, y1 = (float(value) for value in row["box"])
                known = int(row.get("class", ANY_CLASS))
            except (TypeError, ValueError, KeyError, AttributeError, OverflowError):
                losses.add("malformed rows", f"{where(number, index)} ({one_line(row)})")
                continue
            frame.append(number)
            class_id.append(known)
            box.append([x0, y0, x1, y1])
    return Objects.build(frame, class_id, box)


def _instance(row: dict[str, object]) -> int:
    instance = row.get("instance", NO_INSTANCE)
    if type(instance) is not int or not -(2**63) <= instance < 2**63:
        raise ValueError(f"instance {instance} is no whole number")
    return instance


def _mask(runs: Any, width: int, height: int, where: str, losses: Losses) -> MaskCrop:
    if runs is None:
        return NO_MASK
    try:
        return mask_from_rle(runs, width, height)
    except ValueError as error:
        losses.add("unusable masks (the box is kept)", f"{where} ({error})")
        return NO_MASK
