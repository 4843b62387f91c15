"""COCO results: a list of predictions, each with the id of its image."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from simjudge.core.arrays import IntArray
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Predictions
from simjudge.core.text import load_json, one_line, parse_number
from simjudge.data.format_support.mask_codec import MaskList
from simjudge.data.format_support.raw_rows import RawRows, build_predictions, drop_masks_outside, parse_numbers
from simjudge.data.formats.coco.regions import parse_region

log = logging.getLogger(__name__)


def is_coco_results(content: Any) -> bool:
    """Tell whether the content of a JSON file is a list of COCO results.

    Returns:
        True where it is a list whose first entries have an image id; an empty list counts.
    """
    return isinstance(content, list) and all(isinstance(r, dict) and "image_id" in r for r in content[:5])


def parse_results(
    rows: Any, path: Path, frame_of: dict[Any, int], names: Sequence[str], size: IntArray, losses: Losses
) -> RawRows:
    """Read results into rows, not yet checked.

    Args:
        size: int64 (F, 2), width and height of all frames, pixels.
    """
    if not isinstance(rows, list):
        raise SimjudgeError(f"{path}: no list of COCO results; write the file anew")
    number = {name: i for i, name in enumerate(names)}
    frame: list[int] = []
    index: list[int] = []
    classes: list[Any] = []
    scores: list[float] = []
    boxes: list[list[float]] = []
    masks = MaskList()
    for i, row in enumerate(rows):
        where = f"{path}: result {i}"
        score = parse_number(row.get("score")) if isinstance(row, dict) else None
        if score is None or "category_id" not in row:
            losses.add("malformed rows", f"{where} ({one_line(row)})")
            continue
        of = _frame(row, frame_of, number)
        if of is None:
            named = one_line(row.get("file_name", f"image_id {row.get('image_id')}"))
            losses.add("predictions for frames that the set lacks", f"{where} ({named})")
            continue
        shape = parse_region(row, int(size[of, 0]), int(size[of, 1]), where, losses)
        if shape is not None:
            frame.append(of)
            index.append(i)
            classes.append(row["category_id"])
            scores.append(score)
            boxes.append(shape[0])
            masks.append(shape[1])
    return RawRows(
        np.array(frame, np.int64),
        parse_numbers(classes),
        np.array(boxes, np.float64).reshape(-1, 4),
        lambda i: f"{path}: result {index[i]}",
        np.array(scores, np.float64),
        masks=masks.masks(),
    )


def read_results(rows: Any, path: Path, target: FrameSet, annotations: Path | None, losses: Losses) -> Predictions:
    """Read results onto the frames of a set.

    A row with a "file_name" belongs to the frame of that name. Other image ids are looked up in the annotations that
    `target` was read from, else in those beside the results; where these know fewer of them than the frames' names do,
    or there are none, an image id is taken for a frame's name, as ultralytics writes them.

    Args:
        annotations: where `target` was read from, a file or a folder; None where nobody knows.
    """
    ids = _ids_from_annotations(path.parent if annotations is None else annotations, target)
    ids = ids or _ids_from_annotations(path.parent, target)
    by_name = _ids_from_names(target)
    given = {row["image_id"] for row in rows if isinstance(row, dict) and isinstance(row.get("image_id"), int | str)}
    ids = by_name if len(given & by_name.keys()) > len(given & ids.keys()) else ids
    raw = parse_results(rows, path, ids, target.frame_name, target.size, losses)
    if len(rows) and not len(raw.frame):
        raise SimjudgeError(
            f"{path}: no image_id belongs to a frame of {target.name}; put the file beside its annotations.json"
        )
    raw = drop_masks_outside(_counted_from_0(raw, path, target), losses)
    return build_predictions(raw, target.size, target.class_names, losses)


def _counted_from_0(raw: RawRows, path: Path, target: FrameSet) -> RawRows:
    """Results with the set's class ids: ultralytics numbers classes from 1, whatever the set does."""
    count = len(target.class_names)
    if set(target.class_names) != set(range(count)) or not len(raw.class_id) or not raw.class_id.min() >= 1:
        return raw
    if raw.class_id.max() == count:
        log.warning("%s: its category ids are 1 to %d, those of %s 0 to %d: each is taken for the one before",
                    path, count, target.name, count - 1)  # fmt: skip
        return replace(raw, class_id=raw.class_id - 1)
    log.warning("%s: no result is of category 0: if it numbers classes from 1, as ultralytics does, subtract 1 from"
                " each category_id", path)  # fmt: skip
    return raw


def _frame(row: dict[str, Any], frame_of: dict[Any, int], names: dict[str, int]) -> int | None:
    """The frame that a result names: by its file, because ultralytics numbers images by their names, not by ids."""
    name = row.get("file_name")
    if isinstance(name, str):
        file = PurePosixPath(name.replace("\\", "/"))
        return names.get(file.stem, names.get("_".join(file.with_suffix("").parts)))
    image = row.get("image_id")
    return frame_of.get(image) if isinstance(image, int | float | str) else None


def _ids_from_names(target: FrameSet) -> dict[Any, int]:
    ids: dict[Any, int] = {name: i for i, name in enumerate(target.frame_name)}
    for i, name in enumerate(target.frame_name):
        if name.isdecimal():
            ids.setdefault(int(name), i)
    return ids


def _ids_from_annotations(path: Path, target: FrameSet) -> dict[Any, int]:
    """The frame number by image id from the annotations at `path`, a file or a folder; empty where there are none."""
    candidates = [path] if path.is_file() else [path / "annotations.json", path / "_annotations.coco.json"]
    number = {name: i for i, name in enumerate(target.frame_name)}
    for candidate in candidates:
        if not candidate.is_file() or candidate.suffix.lower() != ".json":
            continue
        content = load_json(candidate)
        images = content.get("images") if isinstance(content, dict) else None
        if isinstance(images, list):
            named = [(i.get("id"), Path(str(i.get("file_name"))).stem) for i in images if isinstance(i, dict)]
            return {key: number[stem] for key, stem in named if isinstance(key, int | float | str) and stem in number}
    return {}
