"""Writing `simjudge.json` beside a data set: whatever reading the folder without it would lose."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simjudge.core.arrays import IntArray
from simjudge.core.frames import FrameSet
from simjudge.core.masks import Masks
from simjudge.core.object_tables import Objects, Predictions, row_offsets
from simjudge.data.format_support.json_rows import rows_to_json
from simjudge.data.format_support.sidecar import FILE, exact_columns, fingerprints

_TOLERANCE = 1e-9
"""Pixels. A format that holds a box to less than this needs no help."""


def write_sidecar(
    frames: FrameSet,
    folder: Path,
    stems: Sequence[str],
    read: Callable[[Path], FrameSet],
    class_ids: Sequence[int] | None = None,
) -> None:
    """Write the sidecar of a folder just written, holding whatever reading the folder without it would lose.

    Args:
        read: the format's reader, frames named by file stem. It is called on the folder with a sidecar in place that
            holds sizes, flags and `class_ids` only.
        class_ids: the class id that each number in the files stands for, where those are not the same.
    """
    known = [_frame_entry(frames, i, stem) for i, stem in enumerate(stems)]
    content: dict[str, Any] = {"format": "simjudge sidecar", "version": 1, "frames": known}
    if class_ids is not None:
        content["class_ids"] = list(class_ids)
    (folder / FILE).write_text(json.dumps(content), encoding="utf-8")
    plain = read(folder)
    number = {stem: i for i, stem in enumerate(stems)}
    order = np.array([number[name] for name in plain.frame_name], np.int64)
    if plain.class_names != frames.class_names:
        content["class_names"] = _names_to_json(frames.class_names)
        content["class_names_in_files"] = _names_to_json(plain.class_names)
    if frames.independent:
        content["independent"] = True
    if frames.detector is not None:
        content["detector"] = frames.detector.to_json()
        for name, made in zip(plain.frame_name, fingerprints(plain.predictions, len(plain)), strict=True):
            if made:
                known[number[name]]["detected"] = made
    for what in ("objects", "predictions"):
        exact = _exact(getattr(frames, what), getattr(plain, what), frames, plain, order)
        for index, entry in exact.items():
            known[index][what] = entry
    (folder / FILE).write_text(json.dumps(content), encoding="utf-8")


def _frame_entry(frames: FrameSet, index: int, stem: str) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": frames.frame_name[index],
        "size": frames.size[index].tolist(),
        "stamp": int(frames.stamp[index]),
    }
    if stem != entry["name"]:
        entry["file"] = stem
    flags = {"labelled": frames.labelled[index], "predicted": frames.predicted[index]}
    flags["picture"] = frames.images is not None and frames.images.has(index)
    return entry | {key: bool(value) for key, value in flags.items() if not value}


def _names_to_json(names: dict[int, str]) -> list[list[Any]]:
    return [[key, name] for key, name in names.items()]


def _exact(
    wanted: Objects | Predictions | None,
    held: Objects | Predictions | None,
    frames: FrameSet,
    plain: FrameSet,
    order: IntArray,
) -> dict[int, dict[str, Any]]:
    """The rows of the frames in which the files hold something else than `wanted`, by frame number in `frames`."""
    if wanted is None:
        return {}
    prints = fingerprints(held, len(plain))
    row_of = np.full(len(frames), -1, np.int64)
    row_of[order] = np.arange(len(order))
    mine = row_offsets(wanted.frame, len(frames))
    theirs = row_offsets(held.frame if held is not None else np.empty(0, np.int64), len(plain))
    different, alike = [], {}
    extras = exact_columns(wanted)
    for i in np.flatnonzero((np.diff(mine) > 0) | (row_of >= 0)).tolist():
        first, end = (theirs[row_of[i]], theirs[row_of[i] + 1]) if row_of[i] >= 0 else (0, 0)
        ours = wanted.take(np.arange(mine[i], mine[i + 1]))
        if not len(ours) and first == end:
            continue
        if held is None or len(ours) != end - first or not _same(ours, held.take(np.arange(first, end))):
            different.append(i)
        else:
            other = [
                name for name in extras
                if not np.array_equal(getattr(ours, name), getattr(held, name)[first:end], equal_nan=True)
            ]  # fmt: skip
            if other:
                alike[i] = {"of": prints[row_of[i]], **{name: _column_to_json(getattr(ours, name)) for name in other}}
    chosen = np.array(different, np.int64)
    lists = rows_to_json(wanted, frames, chosen)
    return alike | {
        i: {"of": prints[row_of[i]] if row_of[i] >= 0 else "", "rows": rows}
        for i, rows in zip(different, lists, strict=True)
    }


def _column_to_json(column: npt.NDArray[Any]) -> list[float | int | None]:
    return [None if math.isnan(value) else value for value in column.tolist()]


def _same(mine: Objects | Predictions, theirs: Objects | Predictions) -> bool:
    """Whether classes, boxes and masks are the same."""
    close = np.abs(mine.box - theirs.box).max(initial=0) <= _TOLERANCE
    return bool(close and np.array_equal(mine.class_id, theirs.class_id) and _same_masks(mine, theirs))


def _same_masks(mine: Objects | Predictions, theirs: Objects | Predictions) -> bool:
    a = mine.masks if mine.masks is not None else Masks.none(len(mine))
    b = theirs.masks if theirs.masks is not None else Masks.none(len(theirs))
    has = a.shape[:, 0] > 0
    placed = np.array_equal(a.origin[has], b.origin[has])
    return placed and np.array_equal(a.shape, b.shape) and np.array_equal(a.bits, b.bits)
