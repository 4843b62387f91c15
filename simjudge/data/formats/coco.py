"""COCO: annotations (ground truth), and results (predictions) beside them or alone.

The format: https://cocodataset.org/#format-data and #format-results.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from simjudge.core.arrays import IntArray
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.files import atomic_folder
from simjudge.core.frames import FrameSet
from simjudge.core.names import class_names_from, composed, name_to_stamp
from simjudge.core.object_tables import Objects, Predictions
from simjudge.core.text import Json, load_json, one_line, parse_integer, parse_number
from simjudge.data.format_support.annotated_frames import AnnotatedFrames, find_images
from simjudge.data.format_support.image_files import Format, Source, file_stems, write_images
from simjudge.data.format_support.mask_codec import (
    DECIMALS,
    NO_MASK,
    MaskCrop,
    MaskList,
    mask_from_polygons,
    mask_from_rle,
    mask_to_rle,
)
from simjudge.data.format_support.raw_rows import (
    OPTIONAL_COLUMNS,
    RawRows,
    build_objects,
    build_predictions,
    count_likely_corners,
    drop_masks_outside,
    mend_foreign_labels,
    parse_numbers,
    used_class_ids,
)
from simjudge.data.format_support.sidecar import Sidecar, apply_sidecar, load_sidecar, write_sidecar
from simjudge.data.frame_sequences import class_map

log = logging.getLogger(__name__)

_FEWEST = 2  # Annotations that must agree: one alone may be a slip
_TOLERANCE = 0.01  # Of an area


def refuse_corners(annotations: Sequence[Any], path: Path) -> None:
    """Refuse boxes that are not x, y, width and height."""
    if _are_corners(annotations):
        raise SimjudgeError(
            f"{path}: the areas that it states are those of boxes x0, y0, x1, y1, and COCO's are x, y, width, height;"
            " subtract x0 and y0 from the last two"
        )


def _warn_of_corners(raw: RawRows, size: IntArray, path: Path) -> None:
    beyond = count_likely_corners(raw.frame, raw.box, size)
    if beyond:
        log.warning(
            "%s: %d of %d boxes reach beyond their pictures, and all are wider than x and higher than y: are they x0,"
            " y0, x1, y1? COCO's are x, y, width, height",
            path,
            beyond,
            len(raw.box),
        )


def _are_corners(annotations: Sequence[Any]) -> bool:
    rows = []
    for annotation in annotations:
        box, area = (annotation.get("bbox"), annotation.get("area")) if isinstance(annotation, dict) else (None, None)
        if isinstance(box, list) and len(box) == 4 and not annotation.get("segmentation"):
            rows.append([parse_number(value) for value in (*box, area)])
    stated = np.array([row for row in rows if all(value is not None for value in row)], np.float64).reshape(-1, 5)
    stated = stated[np.isfinite(stated).all(1) & (stated[:, 4] > 0)]
    if len(stated) < _FEWEST:
        return False
    x, y, third, fourth, area = stated.T
    of_corners = np.abs((third - x) * (fourth - y) - area) <= _TOLERANCE * area
    of_sides = np.abs(third * fourth - area) <= _TOLERANCE * area
    return bool((of_corners & (third > x) & (fourth > y)).all() and not of_sides.any())


def parse_region(row: Json, width: int, height: int, where: str, losses: Losses) -> tuple[list[float], MaskCrop] | None:
    """Read box and mask of an annotation or result; without a "bbox" the mask's extent counts; None without either."""
    mask = _mask(row.get("segmentation"), width, height, where, losses)
    try:
        numbers = [float(v) for v in row.get("bbox") or ()]
        if any(numbers) or (numbers and mask[0] is None):
            x, y, w, h = numbers
            return [round(x, DECIMALS), round(y, DECIMALS), round(x + w, DECIMALS), round(y + h, DECIMALS)], mask
    except (TypeError, ValueError, OverflowError):
        losses.add("malformed rows", f"{where} (bbox {one_line(row['bbox'])})")
        return None
    crop, (left, top) = mask
    if crop is None:
        losses.add("malformed rows", f"{where} (neither bbox nor segmentation)")
        return None
    return [float(left), float(top), float(left + crop.shape[1]), float(top + crop.shape[0])], mask


def _mask(shape: Any, width: int, height: int, where: str, losses: Losses) -> MaskCrop:
    # Exports write all of these for an object without a mask.
    if not shape or shape == [[]]:
        return NO_MASK
    try:
        mask = mask_from_rle(shape, width, height) if isinstance(shape, dict) else _polygons(shape, width, height)
    except (TypeError, ValueError) as error:
        mask, trouble = NO_MASK, one_line(error)
    else:
        trouble = "" if mask[0] is not None else "it covers no pixel of the picture"
    if trouble:
        losses.add("unusable masks (the box is kept)", f"{where} ({trouble})")
    return mask


def _polygons(shape: Any, width: int, height: int) -> MaskCrop:
    if any(isinstance(number, int | float) for number in shape):
        raise ValueError("a polygon is a list within the list: [[x, y, ...]]")
    if any(np.size(points) % 2 for points in shape):
        raise ValueError("a polygon with an x without y")
    polygons = [np.array(points, np.float64).reshape(-1, 2) for points in shape]
    if any(len(points) < 3 or not np.isfinite(points).all() for points in polygons):
        raise ValueError("a polygon of less than three finite points")
    return mask_from_polygons(polygons, width, height)


_STRANGE = "predictions for frames that the set lacks"


def is_coco_results(content: Any) -> bool:
    """Tell whether the content of a JSON file is a list of COCO results; an empty list counts."""
    return isinstance(content, list) and all(isinstance(r, dict) and "image_id" in r for r in content[:5])


def parse_results(
    rows: Any, path: Path, frame_of: Mapping[Any, int | None], names: Sequence[str], size: IntArray, losses: Losses
) -> RawRows:
    """Read results into rows, not yet checked (size: int64 (F, 2), width and height of all frames, pixels)."""
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
            losses.add(_STRANGE, f"{where} ({named})")
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

    A row with a "file_name", or whose image id is the name of a frame, belongs to the frame of that name. Numbers are
    ids of the annotations that `target` was read from, else of those beside the results, whose categories then are
    the results' too. Without annotations, numbers are refused, unless they can be nothing but the frames' names, as
    ultralytics writes them: each is one, and one is larger than any count of the frames.
    """
    own = _load_annotations(annotations, target)
    beside = own or _load_annotations(path.parent, target)
    ids, categories = beside or ({}, {})
    numbers, by_name = _numbers_given(rows, target), _frames_by_number(target)
    foreign = numbers - set(map(parse_integer, ids))
    if foreign and numbers <= by_name.keys() and (ids or max(numbers) > len(target)):
        ids, categories = by_name, {}
    elif numbers and not ids:
        raise SimjudgeError(
            f"{path}: its image ids are numbers (such as {min(numbers)}) of an annotations file, not names of frames;"
            " put the file beside its annotations.json, or give each row the name of its picture as file_name"
        )
    raw = parse_results(rows, path, ids, target.frame_name, target.size, losses)
    if len(rows) and not len(raw.frame):
        if not losses.counts.get(_STRANGE):
            raise SimjudgeError(f"{path}: holds no result that can be used{losses.reason}")
        raise SimjudgeError(
            f"{path}: no image_id belongs to a frame of {target.name}; put the file beside its annotations.json"
        )
    _warn_of_corners(raw, target.size, path)
    if own is None and categories:
        new = class_map(replace(target, class_names=categories), target)
        raw = replace(raw, class_id=np.array([new.get(k, k) for k in raw.class_id.tolist()], np.float64))
    else:
        raw = _counted_from_0(raw, path, target)
    return build_predictions(drop_masks_outside(raw, losses), target.size, target.class_names, losses)


def _counted_from_0(raw: RawRows, path: Path, target: FrameSet) -> RawRows:
    """Results with the set's class ids: ultralytics numbers classes from 1, whatever the set does."""
    count = len(target.class_names)
    if set(target.class_names) != set(range(count)) or not len(raw.class_id) or not raw.class_id.min() >= 1:
        return raw
    if raw.class_id.max() == count:
        log.warning(
            "%s: its category ids are 1 to %d, those of %s 0 to %d: each is taken for the one before",
            path,
            count,
            target.name,
            count - 1,
        )
        return replace(raw, class_id=raw.class_id - 1)
    log.warning(
        "%s: no result is of category 0: if it numbers classes from 1, as ultralytics does, subtract 1 from"
        " each category_id",
        path,
    )
    return raw


def _frame(row: Json, frame_of: Mapping[Any, int | None], names: dict[str, int]) -> int | None:
    """The frame that a result names: by its file, or an id that may be its name, as text or number (ultralytics)."""
    name, image = row.get("file_name"), row.get("image_id")
    if isinstance(name, str):
        return _frame_of_file(name, names)
    if not isinstance(image, int | float | str) or image in frame_of:
        return frame_of.get(image) if isinstance(image, int | float | str) else None
    if isinstance(image, str):
        found = _frame_of_file(image, names)
        return frame_of.get(parse_integer(image)) if found is None else found
    return frame_of.get(str(parse_integer(image)))


def _frame_of_file(name: str, names: dict[str, int]) -> int | None:
    file = PurePosixPath(name.replace("\\", "/"))
    return names.get(composed(file.stem), names.get(composed("_".join(file.with_suffix("").parts))))


def _frames_by_number(target: FrameSet) -> dict[Any, int | None]:
    """The frames whose names are numbers, by these; none where two names are one number."""
    named = [(int(name), i) for i, name in enumerate(target.frame_name) if name.isascii() and name.isdecimal()]
    numbers: dict[Any, int | None] = dict(named)
    return numbers if len(numbers) == len(named) else {}


def _numbers_given(rows: Any, target: FrameSet) -> set[int]:
    """The image ids that are numbers, of rows that do not name a frame."""
    given = (
        row.get("image_id")
        for row in (rows if isinstance(rows, list) else ())
        if isinstance(row, dict) and not isinstance(row.get("file_name"), str)
    )
    names = {name: i for i, name in enumerate(target.frame_name)}
    unnamed = {
        value
        for value in given
        if isinstance(value, int | float) or (isinstance(value, str) and _frame_of_file(value, names) is None)
    }
    return {number for number in map(parse_integer, unnamed) if number is not None}


def _load_annotations(path: Path | None, target: FrameSet) -> tuple[dict[Any, int | None], dict[int, str]] | None:
    """Frame by image id, and the categories, of the annotations at a path; None where none are of frames of the set."""
    number = {name: i for i, name in enumerate(target.frame_name)}
    for found in [] if path is None else _annotation_files(path):
        content: Any = load_json(found) if found.suffix.lower() == ".json" else None
        if not is_coco(content):
            continue
        images = [image for image in content["images"] if isinstance(image, dict)]
        named = [(image.get("id"), _frame_of_file(str(image.get("file_name")), number)) for image in images]
        ids = {key: at for key, at in named if isinstance(key, int | float | str)}
        if any(at is not None for at in ids.values()):
            return ids, _class_names(content, found)
    return None


ANNOTATIONS = "annotations.json"
RESULTS = "results.json"
_NAMES = (ANNOTATIONS, "_annotations.coco.json", "annotations/annotations.json", "instances.json")
_SHARED_NAMES = ("result.json", "labels.json")  # Of Label Studio and FiftyOne, and of others who write no COCO


def is_coco(content: Any) -> bool:
    """Tell whether the content of a JSON file is COCO annotations."""
    return isinstance(content, dict) and isinstance(content.get("images"), list) and "annotations" in content


def holds_coco(folder: Path) -> bool:
    """Whether a folder holds COCO annotations, usable or not."""
    return bool(_annotation_files(folder))


def read_coco(path: str | Path) -> FrameSet:
    """Read COCO annotations, and the predictions in `results.json` beside them where there is one.

    Class ids are the category ids. An image without annotations is labelled, with nothing in it.
    """
    path = Path(path)
    found = _annotations_in(path)
    if found is None:
        raise SimjudgeError(f"{path}: holds no {ANNOTATIONS}; give the annotations file itself")
    return read_coco_content(load_json(found), found)


def read_coco_content(content: Any, path: Path) -> FrameSet:
    """Read COCO annotations that are parsed already."""
    sidecar = load_sidecar(path.parent) if path.name == ANNOTATIONS else Sidecar(path)
    return apply_sidecar(_read_plain(content, path, sidecar, is_own=bool(sidecar.frame)), sidecar)


def write_coco(frames: FrameSet, path: str | Path) -> Losses:
    """Write a set as a folder: images/, annotations.json, results.json (where predicted) and the sidecar."""
    path = Path(path)
    stems = file_stems(frames.frame_name)
    used = used_class_ids(frames.objects) | used_class_ids(frames.predictions) | set(frames.class_names)
    with atomic_folder(path) as folder:
        names = write_images(frames, folder / "images", stems)
        images = []
        for i, stem in enumerate(stems):
            width, height = frames.size[i].tolist()
            image = {"id": i + 1, "file_name": names[i] or f"{stem}.png", "width": width, "height": height}
            images.append(image if frames.labelled[i] else image | {"labelled": False})
        crowds = frames.ignored.take(np.flatnonzero(frames.ignored.class_id >= 0))
        rows = [(row, crowd) for crowd, of in enumerate((frames.objects, crowds)) for row in _rows(of, frames.size)]
        annotations = [
            {"id": i + 1, **row, "area": row["bbox"][2] * row["bbox"][3], "iscrowd": crowd}
            for i, (row, crowd) in enumerate(rows)
        ]
        categories = [{"id": i, "name": frames.class_name(i)} for i in sorted(used)]
        content = {"images": images, "annotations": annotations, "categories": categories}
        (folder / ANNOTATIONS).write_text(json.dumps(content), encoding="utf-8")
        if frames.predictions is not None:
            results = _rows(frames.predictions, frames.size)
            (folder / RESULTS).write_text(json.dumps(results), encoding="utf-8")
        write_sidecar(frames, folder, stems, _read_folder)
    return Losses()


def _rows(table: Objects | Predictions, size: IntArray) -> list[Json]:
    box = np.round(np.concatenate([table.box[:, :2], table.box[:, 2:] - table.box[:, :2]], 1), DECIMALS).tolist()
    frame, class_id = table.frame.tolist(), table.class_id.tolist()
    optional = {name: getattr(table, name).tolist() for name in OPTIONAL_COLUMNS} if isinstance(table, Objects) else {}
    rows: list[Json] = []
    for i in range(len(table)):
        row: Json = {"image_id": frame[i] + 1, "category_id": class_id[i], "bbox": box[i]}
        if table.masks is not None and table.masks.has(i):
            row["segmentation"] = mask_to_rle(table.masks, i, int(size[frame[i], 0]), int(size[frame[i], 1]))
        if isinstance(table, Predictions):
            row["score"] = float(table.score[i])
        row |= {name: values[i] for name, values in optional.items() if not math.isnan(values[i])}
        rows.append(row)
    return rows


def _annotations_in(path: Path) -> Path | None:
    found = _annotation_files(path)
    if len(found) > 1:
        raise SimjudgeError(f"{path}: several annotation files in annotations/; give one of them, e.g. {found[0]}")
    return found[0] if found else None


def _annotation_files(path: Path) -> list[Path]:
    """The file at a path, the one of a usual name in a folder, or those of its annotations/."""
    if path.is_file():
        return [path]
    usual = [path / name for name in _NAMES if (path / name).is_file()]
    shared = (path / name for name in _SHARED_NAMES if (path / name).is_file())
    below = sorted((path / "annotations").glob("*.json"))
    return usual[:1] or below or [file for file in shared if is_coco(_parsed(file))][:1]


def _parsed(file: Path) -> Any:
    try:
        return load_json(file)
    except SimjudgeError:
        return None


def _read_folder(folder: Path) -> FrameSet:
    path = folder / ANNOTATIONS
    return _read_plain(load_json(path), path, load_sidecar(folder), is_own=True)


def _read_plain(content: Any, path: Path, sidecar: Sidecar, *, is_own: bool) -> FrameSet:
    if not is_coco(content):
        raise SimjudgeError(f"{path}: no COCO annotations; it needs 'images', 'annotations' and 'categories'")
    losses = Losses()
    class_names = _class_names(content, path)
    _check_ids(content["images"], "image", path)
    found, number = _frames(content["images"], path, sidecar, losses)
    if not found.names:
        raise SimjudgeError(f"{path}: names no usable image; an empty set cannot be used{losses.reason}")
    raw, crowds = _annotation_rows(content["annotations"], path, number, found.size, losses)
    # What simjudge has written is what it was given.
    if not is_own:
        refuse_corners(content["annotations"], path)
        _warn_of_corners(raw, found.size, path)
        raw = mend_foreign_labels(drop_masks_outside(raw, losses), found.size, str(path), losses)
    predictions = None
    predicted = np.zeros(len(found.names), np.bool_)
    results = path.parent / RESULTS
    if results.is_file() and path.name == ANNOTATIONS:
        scored = parse_results(load_json(results), results, number, found.names, found.size, losses)
        if not is_own:
            _warn_of_corners(scored, found.size, results)
            scored = drop_masks_outside(scored, losses)
        predictions = build_predictions(scored, found.size, class_names, losses)
        has = np.isin(np.arange(len(found.names)), scored.frame)
        predicted = has | np.array([not sidecar.rules_out("predicted", name) for name in found.names])
    return FrameSet.build(
        path.absolute().parent.name if path.name in _NAMES else path.stem,
        found.size,
        build_objects(raw, found.size, class_names, losses),
        predictions,
        frame_name=found.names,
        stamp=[name_to_stamp(name) for name in found.names],
        labelled=found.labelled,
        predicted=predicted,
        class_names=class_names,
        images=found.images(),
        losses=losses,
        recording=_videos(content["images"], number),
        ignored=crowds,
    )


def _videos(images: list[Any], number: dict[Any, int]) -> list[str]:
    """The video of each frame, as sets of video frames tell it; empty where an image does not."""
    told = {number[image["id"]]: image.get("video_id") for image in images if _entry(image) and image["id"] in number}
    known = [told[frame] for frame in range(len(told))]
    return [f"video {one}" for one in known] if all(isinstance(one, int | str) for one in known) else []


def _class_names(content: Json, path: Path) -> dict[int, str]:
    try:
        pairs = [(c["id"], c["name"]) for c in content.get("categories", [])]
    except (TypeError, KeyError) as error:
        raise SimjudgeError(f"{path}: a category without id and name; mend 'categories'") from error
    return class_names_from(pairs, f"{path}: categories")


def _check_ids(rows: Sequence[Any], what: str, path: Path) -> None:
    """Refuse two images or annotations of one id: what refers to it could mean either."""
    seen: dict[Any, int] = {}
    for i, row in enumerate(rows):
        given = row.get("id") if isinstance(row, dict) else None
        if isinstance(given, int | float | str) and seen.setdefault(given, i) != i:
            raise SimjudgeError(
                f"{path}: {what}s {seen[given]} and {i} both have the id {one_line(given)}; give each an id of its own"
            )


def _frames(images: list[Any], path: Path, sidecar: Sidecar, losses: Losses) -> tuple[AnnotatedFrames, dict[Any, int]]:
    """The usable images as frames, and the frame number by image id."""
    entries: list[tuple[str, int, int]] = []
    ids: list[Any] = []
    labelled: list[bool] = []
    for i, image in enumerate(images):
        entry = _entry(image)
        if entry is None:
            losses.add("images without id, name or size", f"{path}: image {i} ({one_line(image)})")
            continue
        entries.append(entry)
        ids.append(image["id"])
        labelled.append(image.get("labelled", True) is not False)
    found = find_images(entries, _stems(entries), path.parent, sidecar, losses, str(path))
    number = {ids[k]: i for i, k in enumerate(found.entry)}
    found.labelled = [labelled[k] for k in found.entry]
    return found, number


def _entry(image: Any) -> tuple[str, int, int] | None:
    """File name, width and height of an image; 0 where it does not say its size. None where it cannot be used."""
    if not isinstance(image, dict) or not isinstance(image.get("id"), int | float | str):
        return None
    name = image.get("file_name", f"{image['id']}.png")
    width, height = (parse_integer(image.get(side) or 0) for side in ("width", "height"))
    if not isinstance(name, str) or not name or width is None or height is None:
        return None
    return name, width, height


def _stems(entries: Sequence[tuple[str, int, int]]) -> list[str]:
    """Frame names: the file stems, or the paths with "/" made "_" where stems are not unique."""
    paths = [PurePosixPath(name.replace("\\", "/")) for name, _, _ in entries]
    stems = [p.stem for p in paths]
    if len(set(stems)) == len(stems):
        return stems
    return ["_".join(p.with_suffix("").parts) for p in paths]


def _annotation_rows(
    rows: Any, path: Path, number: dict[Any, int], size: IntArray, losses: Losses
) -> tuple[RawRows, Objects]:
    """The annotations that are objects, and crowds: regions in which predictions count neither way."""
    if not isinstance(rows, list):
        raise SimjudgeError(f"{path}: 'annotations' is not a list; export the annotations again")
    _check_ids(rows, "annotation", path)
    crowds: list[tuple[int, int, list[float]]] = []
    frame: list[int] = []
    index: list[int] = []
    classes: list[Any] = []
    boxes: list[list[float]] = []
    optional: dict[str, list[Any]] = {name: [] for name in OPTIONAL_COLUMNS}
    masks = MaskList()
    for i, row in enumerate(rows):
        where = f"{path}: annotation {i}"
        if not isinstance(row, dict) or "category_id" not in row:
            losses.add("malformed rows", f"{where} ({one_line(row)})")
            continue
        is_crowd = bool(row.get("iscrowd") or row.get("ignore"))
        if is_crowd:
            losses.add("crowd regions, which are no objects", where)
        image = row.get("image_id")
        if isinstance(image, str) and image not in number:
            image = parse_integer(image)  # exports write numbers as text
        if not isinstance(image, int | float | str) or image not in number:
            losses.add("annotations of images that are not there", f"{where} (image_id {one_line(image)})")
            continue
        of = number[image]
        shape = parse_region(row, int(size[of, 0]), int(size[of, 1]), where, losses)
        if is_crowd and shape is not None:
            crowds.append((of, parse_integer(row["category_id"]) or 0, shape[0]))
        elif shape is not None:
            frame.append(of)
            index.append(i)
            classes.append(row["category_id"])
            for name, values in optional.items():
                values.append(row.get(name))
            boxes.append(shape[0])
            masks.append(shape[1])
    box = np.array(boxes, np.float64).reshape(-1, 4)
    raw = RawRows(
        np.array(frame, np.int64),
        parse_numbers(classes),
        box,
        lambda i: f"{path}: annotation {index[i]}",
        masks=masks.masks(),
        distance=optional["distance"],
        visible=optional["visible"],
    )
    at, kinds, edges = [of for of, _, _ in crowds], [kind for _, kind, _ in crowds], [shape for *_, shape in crowds]
    return raw, Objects.build(at, kinds, edges)


__all__ = ["FORMATS", "is_coco", "is_coco_results", "read_coco", "read_coco_content", "read_results", "write_coco"]


def _sniff(source: Source) -> bool:
    return holds_coco(source.path) if source.is_folder else is_coco(source.json)


FORMATS = (
    Format(
        "coco",
        "COCO",
        "a COCO folder or annotations .json",
        _sniff,
        30,
        read=lambda source, _options: (
            read_coco(source.path) if source.is_folder else read_coco_content(source.json, source.path)
        ),
        write=write_coco,
    ),
    Format(
        "coco-results",
        "COCO results",
        "COCO results",
        lambda source: is_coco_results(source.json),
        35,
        read_predictions=lambda source, target, annotations, losses: read_results(
            source.json, source.path, target, annotations, losses
        ),
    ),
)
