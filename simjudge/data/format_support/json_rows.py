"""Objects and predictions as lists of JSON dictionaries, as the plain format and the sidecar hold them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from simjudge.core.arrays import IntArray
from simjudge.core.errors import Losses
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import NO_INSTANCE, Objects, Predictions
from simjudge.core.text import one_line
from simjudge.data.format_support.mask_codec import NO_MASK, MaskCrop, MaskList, mask_from_rle, mask_to_rle
from simjudge.data.format_support.raw_rows import OPTIONAL_COLUMNS, RawRows, parse_numbers

RowName = Callable[[int, int], str]
"""Names row `row` of frame `frame` to a person."""


def rows_to_json(table: Objects | Predictions, frames: FrameSet, chosen: IntArray) -> list[list[dict[str, Any]]]:
    """Turn the rows of some frames into dictionaries, as the plain format and the sidecar hold them.

    Args:
        chosen: int64 (K,), the frames.

    Returns:
        K lists of dictionaries with class and box, and with score, instance, distance, visible and mask where the table
        has them.
    """
    bounds = np.searchsorted(table.frame, np.stack([chosen, chosen + 1]))
    class_id, box = table.class_id.tolist(), table.box.tolist()
    score = table.score.tolist() if isinstance(table, Predictions) else None
    instance = table.instance.tolist() if isinstance(table, Objects) else None
    optional = {name: getattr(table, name).tolist() for name in OPTIONAL_COLUMNS} if isinstance(table, Objects) else {}
    lists = []
    for frame, start, end in zip(chosen.tolist(), *bounds.tolist(), strict=True):
        rows = []
        for i in range(start, end):
            row: dict[str, Any] = {"class": class_id[i], "box": box[i]}
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
    """Read dictionaries into rows, not yet checked.

    Args:
        lists: dictionaries with class, box and (where `scored`) score; others are counted and left out.
        size: int64 (F, 2), width and height of all frames, pixels.
        where: names a row to a person, by frame number and row.
    """
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


def _instance(row: dict[str, Any]) -> int:
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
