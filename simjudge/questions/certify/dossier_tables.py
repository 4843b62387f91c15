"""The tables of a dossier: contexts and masks as text, which the script computes from."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simjudge.core.errors import SimjudgeError
from simjudge.core.files import hash_files
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import BoolImage, Masks
from simjudge.core.parquet import read_parquet
from simjudge.data.sets import read_set
from simjudge.results.context_table import ContextTable
from simjudge.results.saved_result import CONTEXTS, Result

COLUMNS = (
    "set",
    "unit",
    "block",
    "frame",
    "width",
    "height",
    "class_id",
    "x0",
    "y0",
    "x1",
    "y1",
    "predicted_x0",
    "predicted_y0",
    "predicted_x1",
    "predicted_y1",
    "score",
    "performance",
    "expected_performance",
    "expected_found",
)


def write_context_csv(contexts: ContextTable, path: Path) -> None:
    """Write what a comparison rests on as text: boxes, performance, sampling units; numbers with all their digits."""
    table = contexts.table
    columns = {name: table[name].to_pylist() for name in COLUMNS if name != "frame"}
    columns["frame"] = contexts.frame_number().tolist()
    with path.open("w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream, lineterminator="\n")
        rows.writerow(COLUMNS)
        rows.writerows(zip(*(columns[name] for name in COLUMNS), strict=True))


def write_context_parts(folder: Path, out: Path) -> None:
    """Write the contexts of each of several comparisons as text."""
    try:
        table = read_parquet(folder / CONTEXTS)
    except (OSError, pa.ArrowException) as error:
        raise SimjudgeError(f"{folder / CONTEXTS}: cannot be read; compare again") from error
    if missing := sorted({"part", *COLUMNS} - set(table.column_names)):
        raise SimjudgeError(f"{folder / CONTEXTS}: lacks the column {missing[0]}; compare again")
    for part in np.unique(table["part"].to_numpy()).tolist():
        write_context_csv(ContextTable(table.filter(pc.equal(table["part"], part))), out / f"contexts-{part}.csv")


MASK_COLUMNS = ("row", "left", "top", "width", "height", "runs")
"""Of masks.csv: the row of contexts.csv, from 0; the mask's place in the picture; lengths of its runs."""
_EDGES = ("x0", "y0", "x1", "y1")


def context_masks(result: Result, contexts: ContextTable) -> Masks:
    """The mask of every context of a result."""
    return Masks.concatenate([_masks_of_side(result, contexts, side) for side in ("a", "b")])


def write_mask_csv(masks: Masks, path: Path) -> None:
    """Write masks as text: lengths of runs of pixels in rows, outside and inside in turn, outside first."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream, lineterminator="\n")
        rows.writerow(MASK_COLUMNS)
        for row in range(len(masks)):
            if masks.has(row):
                crop, (left, top) = masks.crop(row), masks.origin[row].tolist()
                rows.writerow([row, left, top, crop.shape[1], crop.shape[0], " ".join(map(str, _runs(crop)))])


def _runs(crop: BoolImage) -> list[int]:
    pixels = np.concatenate([[False], crop.reshape(-1)])
    turns = np.flatnonzero(pixels[1:] != pixels[:-1])
    return [int(length) for length in np.diff(np.concatenate([[0], turns, [crop.size]]))]


def _masks_of_side(result: Result, contexts: ContextTable, side: str) -> Masks:
    frames = _read_again(result, side)
    objects = frames.objects
    numbers = defaultdict(list)
    for number, (frame, class_id, box) in enumerate(
        zip(objects.frame.tolist(), objects.class_id.tolist(), objects.box.tolist(), strict=True)
    ):
        numbers[frames.frame_name[frame], class_id, tuple(box)].append(number)
    # Objects of one frame, class and box are in the order of the set in both.
    queues: dict[object, Iterator[int]] = {key: iter(item) for key, item in numbers.items()}
    rows = np.flatnonzero(contexts.is_a == (side == "a"))
    boxes = np.column_stack([contexts[edge][rows] for edge in _EDGES]).tolist()
    found: list[int] = []
    for name, class_id, box in zip(contexts.text("frame", rows), contexts.class_id[rows].tolist(), boxes, strict=True):
        again = next(queues.get((name, class_id, tuple(box)), iter(())), None)
        if again is None:
            raise SimjudgeError(
                f"{result.folder}: {frames.name} holds no object of class {class_id} in frame {name} at the place"
                " that was compared, so its mask is not known; compare again"
            )
        found.append(again)
    taken = np.array(found, np.int64)
    return Masks.none(len(taken)) if objects.masks is None else objects.masks.take(taken)


def _read_again(result: Result, side: str) -> FrameSet:
    """The set as it was compared: a dossier with the masks of another one would say what was never compared."""
    given = result.header.sets[side]
    path = Path(given.path or "")
    if not given.path or not path.exists():
        raise SimjudgeError(
            f"{result.folder}: its contexts are painted from masks, and {given.path or 'the set in memory'},"
            " which holds them, is not there; put it back, or compare with --masks ignore"
        )
    if hash_files(path) != given.sha256:
        raise SimjudgeError(
            f"{result.folder}: its contexts are painted from masks, and {path}, which holds them, has changed since;"
            " compare again"
        )
    return read_set(path, allow_outside=True)
