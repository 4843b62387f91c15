"""The rows of YOLO's text files: class and box (or polygon), normalised to the image, perhaps with a score."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from simjudge.core.arrays import BoolArray, FloatArray, IntArray, ShortRepr
from simjudge.core.errors import Losses
from simjudge.core.files import LARGEST_TEXT, read_bytes
from simjudge.core.names import composed
from simjudge.core.object_tables import Objects, Predictions, row_offsets
from simjudge.core.text import one_line, parse_number
from simjudge.data.format_support.mask_codec import (
    DECIMALS,
    NO_MASK,
    MaskCrop,
    MaskList,
    mask_from_polygons,
    mask_to_polygon,
    outline_box,
)
from simjudge.data.format_support.raw_rows import RawRows
from simjudge.data.format_support.sidecar import Sidecar


@dataclass(frozen=True, repr=False)
class LabelRows(ShortRepr):
    """R rows of numbers out of several files, each row with its own number of columns."""

    file: IntArray
    line: IntArray
    start: IntArray
    columns: IntArray
    values: FloatArray

    def at(self, rows: IntArray, first: int, count: int) -> FloatArray:
        """Take some columns of some rows: float64 (K, count); rows: int64 (K,), row numbers."""
        picked: FloatArray = self.values[(self.start[rows] + first)[:, None] + np.arange(count)]
        return picked


def read_label_rows(paths: Sequence[Path | None], losses: Losses) -> LabelRows:
    """Read all rows of some text files (paths: the files, None where a frame has none)."""
    file: list[int] = []
    line: list[int] = []
    columns: list[int] = []
    tokens: list[str] = []
    for index, path in enumerate(paths):
        if path is None:
            continue
        for row, text in enumerate(_lines(path), 1):
            fields = text.split()
            if fields:
                file.append(index)
                line.append(row)
                columns.append(len(fields))
                tokens.extend(fields)
    start = np.concatenate([[0], np.cumsum(columns, dtype=np.int64)]).astype(np.int64)
    bad: list[int] = []
    try:
        values = np.fromiter(map(float, tokens), np.float64, len(tokens))
    except ValueError:
        values, bad = _number_by_number(tokens, start)
    for row in bad:
        where = f"{paths[file[row]]}:{line[row]}"
        losses.add("malformed rows", f"{where} ({one_line(' '.join(tokens[start[row] : start[row + 1]]))})")
    good = np.setdiff1d(np.arange(len(file)), bad)
    rows = np.array([file, line, start[:-1], columns], np.int64)[:, good]
    return LabelRows(rows[0], rows[1], rows[2], rows[3], values)


def scale_to_pixels(
    rows: LabelRows,
    paths: Sequence[Path | None],
    frame: IntArray,
    size: IntArray,
    losses: Losses,
    *,
    scored: bool,
    keypoints: int = 0,
) -> RawRows:
    """Boxes and masks in pixels from rows of normalised numbers, with or without scores and keypoints."""
    poses = _has_keypoints(rows, keypoints, scored=scored)
    boxes = (rows.columns == 5) | (scored & (rows.columns == 6)) | poses
    corners = rows.columns % 2 == (0 if scored else 1)
    polygons = corners & (rows.columns >= 7) & ~poses
    wrong = np.flatnonzero(~boxes & ~polygons)
    for row in wrong:
        text = f"{paths[rows.file[row]]}:{rows.line[row]} ({rows.columns[row]} columns)"
        losses.add("malformed rows", text)
    kept = np.flatnonzero(boxes | polygons)
    of = frame[rows.file[kept]]
    scale = size[of].astype(np.float64)
    box = np.zeros((len(kept), 4))
    is_box = boxes[kept]
    centre, extent = np.split(rows.at(kept[is_box], 1, 4), 2, axis=1)
    wide = scale[is_box]
    box[is_box] = np.concatenate([(centre - extent / 2) * wide, (centre + extent / 2) * wide], 1)
    masks = MaskList()
    if not is_box.all():
        for i, row in enumerate(kept):
            if is_box[i]:
                masks.append(NO_MASK)
                continue
            try:
                masks.append(_polygon(rows, int(row), size[of[i]], box, i, scored=scored))
            except ValueError as error:
                masks.append(NO_MASK)
                where = f"{paths[rows.file[row]]}:{rows.line[row]}"
                losses.add("unusable masks (the box is kept)", f"{where} ({error})")
    last = rows.values[rows.start[kept] + rows.columns[kept] - 1] if len(kept) else np.empty(0)
    without = (rows.columns[kept] == 5) | (poses[kept] & ((rows.columns[kept] - 5) % max(keypoints, 1) == 0))
    score = np.where(without, 1.0, last) if scored else None
    file, line = rows.file[kept], rows.line[kept]
    return RawRows(
        of,
        rows.values[rows.start[kept]] if len(kept) else np.empty(0),
        np.round(box, DECIMALS),
        lambda i: f"{paths[file[i]]}:{line[i]}",
        score,
        masks=masks.masks(),
    )


def _has_keypoints(rows: LabelRows, keypoints: int, *, scored: bool) -> BoolArray:
    """Which rows hold a box and keypoints, of 2 or 3 numbers each, where a polygon could be taken for them.

    Without `kpt_shape` only those are known whose keypoints all end with 0, 1 or 2: not labelled, hidden, visible.
    """
    if keypoints:
        lengths = [5 + keypoints * numbers + score for numbers in (2, 3) for score in ((0, 1) if scored else (0,))]
        return np.isin(rows.columns, lengths)
    found = (rows.columns >= 8) & ((rows.columns - 5) % 3 == 0) & (not scored)
    for row in np.flatnonzero(found).tolist():
        numbers = rows.values[rows.start[row] + 7 : rows.start[row] + rows.columns[row] : 3]
        found[row] = bool(np.isin(numbers, (0, 1, 2)).all())
    return np.asarray(found, np.bool_)


def format_labels(
    table: Objects | Predictions, size: IntArray, *, scores: bool = False, ids: dict[int, int] | None = None
) -> list[str]:
    """The text of each frame's file: a row an object, its outline where it has a mask (size: int64 (F, 2))."""
    scale = size[table.frame].astype(np.float64)
    centre = (table.box[:, :2] + table.box[:, 2:]) / 2 / scale
    extent = (table.box[:, 2:] - table.box[:, :2]) / scale
    numbers = np.concatenate([centre, extent], 1).tolist()
    for i in range(len(table)):
        if table.masks is not None and table.masks.has(i):
            outline = mask_to_polygon(table.masks.crop(i), table.masks.origin[i].tolist()) / scale[i]
            numbers[i] = outline.ravel().tolist()
    if scores and isinstance(table, Predictions):
        numbers = [[*row, score] for row, score in zip(numbers, table.score.tolist(), strict=True)]
    classes = table.class_id.tolist()
    if ids is not None:
        classes = [ids[c] for c in classes]
    lines = [f"{c} {' '.join(map(repr, row))}\n" for c, row in zip(classes, numbers, strict=True)]
    start = row_offsets(table.frame, len(size)).tolist()
    return ["".join(lines[a:b]) for a, b in pairwise(start)]


def list_label_files(
    folder: Path | None, images: set[str], sidecar: Sidecar, kind: str, losses: Losses
) -> dict[str, Path]:
    """List the text files in a folder (folder: the folder; it may be missing, and None stands for none)."""
    if folder is None or not folder.is_dir():
        return {}
    with os.scandir(folder) as entries:
        names = sorted(e.name for e in entries if e.name.endswith(".txt") and not e.name.startswith("."))
    texts: dict[str, Path] = {}
    for name in names:
        stem = composed(name[:-4])
        if stem in texts:
            losses.add("label files with the same name as another", str(folder / name))
        elif stem in images or sidecar.size(stem) is not None:
            texts[stem] = folder / name
        elif name not in ("classes.txt", "README.txt"):
            losses.add(kind, str(folder / name))
    return texts


def write_label_files(folder: Path, stems: Sequence[str], texts: Sequence[str], wanted: Sequence[bool]) -> None:
    """Write texts into a new folder, STEM.txt each."""
    folder.mkdir(parents=True)
    for stem, text, write in zip(stems, texts, wanted, strict=True):
        if write:
            (folder / f"{stem}.txt").write_text(text, encoding="utf-8")


def _lines(path: Path) -> list[str]:
    return read_bytes(path, LARGEST_TEXT).decode("utf-8-sig", "replace").splitlines()


def _number_by_number(tokens: list[str], start: IntArray) -> tuple[FloatArray, list[int]]:
    """The values, 0 for what is no number, and the rows that hold such."""
    values = np.zeros(len(tokens))
    bad: set[int] = set()
    for i, token in enumerate(tokens):
        value = parse_number(token)
        if value is None:
            bad.add(int(np.searchsorted(start, i, "right")) - 1)
        else:
            values[i] = value
    return values, sorted(bad)


def _polygon(rows: LabelRows, row: int, size: IntArray, box: FloatArray, i: int, *, scored: bool) -> MaskCrop:
    """A polygon row's mask; its extent becomes `box[i]`."""
    count = int(rows.columns[row]) - (2 if scored else 1)
    first = int(rows.start[row]) + 1
    points = np.round(rows.values[first : first + count].reshape(-1, 2) * size, DECIMALS)
    box[i] = [*points.min(0), *points.max(0)]
    if not np.isfinite(points).all():
        return NO_MASK
    box[i] = outline_box(points, int(size[0]), int(size[1]))
    return mask_from_polygons([points], int(size[0]), int(size[1]))
