"""COCO results: a list of predictions, each with the id of its image."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from simjudge.core.arrays import IntArray
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Predictions
from simjudge.core.text import load_json, one_line, parse_number
from simjudge.data.format_support.mask_codec import MaskList
from simjudge.data.format_support.raw_rows import RawRows, build_predictions, parse_numbers
from simjudge.data.formats.coco.regions import parse_region


def is_coco_results(content: Any) -> bool:
    """Tell whether the content of a JSON file is a list of COCO results.

    Args:
        content: the parsed file.

    Returns:
        True where it is a list whose first entries have an image id; an empty list counts.
    """
    return isinstance(content, list) and all(isinstance(r, dict) and "image_id" in r for r in content[:5])


def parse_results(
    rows: Any, path: Path, frame_of: dict[Any, int], size: IntArray, losses: Losses
) -> RawRows:
    """Read results into rows, not yet checked.

    Args:
        rows: the parsed results file.
        path: of the results file, for messages.
        frame_of: the frame number by image id.
        size: int64 (F, 2), width and height of all frames, pixels.
        losses: takes rows that are malformed or belong to no frame.

    Returns:
        The rows, with scores.

    Raises:
        SimjudgeError: the file holds no list.
    """
    if not isinstance(rows, list):
        raise SimjudgeError(f"{path}: no list of COCO results; write the file anew")
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
        of = _frame(row, frame_of)
        if of is None:
            named = one_line(row.get("image_id"))
            losses.add("predictions for frames that the set lacks", f"{where} (image_id {named})")
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

    Image ids are looked up in the annotations that `target` was read from, else in those beside the results. Without
    any, an image id (or "file_name") is taken for a frame's name, as ultralytics writes them.

    Args:
        rows: the parsed results file.
        path: of the results file.
        target: the set.
        annotations: where `target` was read from, a file or a folder; None where nobody knows.
        losses: takes what cannot be used.

    Returns:
        The predictions.

    Raises:
        SimjudgeError: no result belongs to a frame.
    """
    ids = _ids_from_annotations(path.parent if annotations is None else annotations, target)
    if not ids:
        ids = _ids_from_annotations(path.parent, target) or _ids_from_names(target)
    raw = parse_results(rows, path, ids, target.size, losses)
    if len(rows) and not len(raw.frame):
        raise SimjudgeError(
            f"{path}: no image_id belongs to a frame of {target.name}; put the file beside its annotations.json"
        )
    return build_predictions(raw, target.size, target.class_names, losses)


def _frame(row: dict[str, Any], frame_of: dict[Any, int]) -> int | None:
    image = row.get("image_id")
    if isinstance(image, int | float | str) and image in frame_of:
        return frame_of[image]
    name = row.get("file_name")
    return frame_of.get(Path(name).stem) if isinstance(name, str) else None


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
