"""The shapes in CVAT XML: box, polygon and mask elements, both ways."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from simjudge.core.arrays import IntArray
from simjudge.core.errors import Losses
from simjudge.core.masks import BoolImage
from simjudge.core.object_tables import NO_INSTANCE, Objects, Predictions, row_offsets
from simjudge.core.text import one_line, parse_number
from simjudge.data.format_support.mask_codec import (
    DECIMALS,
    NO_MASK,
    MaskCrop,
    MaskList,
    check_mask_area,
    crop_mask,
    mask_from_polygons,
    outline_box,
)
from simjudge.data.format_support.raw_rows import OPTIONAL_COLUMNS, RawRows

Shape = tuple[list[float], MaskCrop]
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,18}")
"""Text that is a whole number, and fits an int64."""
_CORNERS = ("xtl", "ytl", "xbr", "ybr")


def read_shapes(
    images: Sequence[Element],
    frame: dict[str, int],
    size: IntArray,
    ids: dict[str, int],
    file: Path,
    losses: Losses,
    *,
    scored: bool,
) -> RawRows:
    """The shapes of all images as rows, not yet checked.

    Args:
        frame: the frame number by image name; images without one have been counted already.
        size: int64 (F, 2).
        losses: counts shapes of other kinds, rotated boxes, and what cannot be read.
        scored: whether each shape has a score.
    """
    frames: list[int] = []
    row_names: list[str] = []
    columns: list[tuple[float, list[float], float, int, str | None, str | None]] = []
    masks = MaskList()
    for image in images:
        name = image.attrib["name"]
        of = frame.get(name)
        if of is None:
            continue
        width, height = (int(v) for v in size[of])
        for index, element in enumerate(image):
            where = f"{file}: image {name} {element.tag} {index}"
            shape = _shape(element, width, height, where, losses)
            score = parse_number(element.get("score")) if scored else 1.0
            label = element.get("label")
            if shape is None:
                continue
            if score is None or label is None or label not in ids:
                kind = "malformed rows" if score is None else "class ids without a name"
                losses.add(kind, f"{where} (label {one_line(label)}, score {one_line(element.get('score'))})")
                continue
            frames.append(of)
            row_names.append(where)
            columns.append((float(ids[label]), shape[0], score, *_attributes(element)))
            masks.append(shape[1])
    classes, boxes, scores, instances, distance, visible = zip(*columns, strict=True) if columns else ((),) * 6
    return RawRows(
        np.array(frames, np.int64),
        np.array(classes, np.float64),
        np.array(boxes, np.float64).reshape(-1, 4),
        row_names.__getitem__,
        np.array(scores, np.float64) if scored else None,
        np.array(instances, np.int64),
        masks.masks(),
        distance,
        visible,
    )


def add_shapes(
    root: Element,
    entries: Sequence[tuple[str, int, int]],
    chosen: IntArray,
    table: Objects | Predictions,
    labels: dict[int, str],
) -> None:
    """Add an image element for each of the `chosen` frames with its objects or predictions.

    Args:
        chosen: int64, frame numbers.
    """
    start = row_offsets(table.frame, len(entries)).tolist()
    box = table.box.tolist()
    class_id = table.class_id.tolist()
    for i in chosen.tolist():
        name, width, height = entries[i]
        image = SubElement(root, "image", id=str(i), name=name, width=str(width), height=str(height))
        for row in range(start[i], start[i + 1]):
            attributes = {"label": labels[class_id[row]], "source": "simjudge", "occluded": "0"}
            if table.masks is not None and table.masks.has(row):
                attributes |= _mask_attributes(table.masks.crop(row), table.masks.origin[row].tolist())
                element = SubElement(image, "mask", attributes)
            else:
                corners = zip(_CORNERS, box[row], strict=True)
                element = SubElement(image, "box", attributes | {key: repr(value) for key, value in corners})
            if isinstance(table, Predictions):
                element.set("score", repr(float(table.score[row])))
                continue
            if table.instance[row] != NO_INSTANCE:
                SubElement(element, "attribute", name="instance").text = str(int(table.instance[row]))
            for attribute in OPTIONAL_COLUMNS:
                value = float(getattr(table, attribute)[row])
                if not math.isnan(value):
                    SubElement(element, "attribute", name=attribute).text = repr(value)


def _attributes(element: Element) -> tuple[int, str | None, str | None]:
    """Instance, distance and visible share; a text that is no number belongs to somebody else's attribute."""
    texts = {each.get("name"): str(each.text).strip() for each in element.iterfind("attribute")}
    instance = texts.get("instance", "")
    distance, visible = (text if parse_number(text) is not None else None for text in map(texts.get, OPTIONAL_COLUMNS))
    return int(instance) if _WHOLE_NUMBER.fullmatch(instance) else NO_INSTANCE, distance, visible


def _shape(element: Element, width: int, height: int, where: str, losses: Losses) -> Shape | None:
    try:
        if element.tag == "box":
            if parse_number(element.get("rotation", "0")) != 0:
                losses.add("rotated boxes", where)
                return None
            return [round(float(element.attrib[key]), DECIMALS) for key in _CORNERS], NO_MASK
        if element.tag == "polygon":
            return _polygon(element, width, height)
        if element.tag == "mask":
            return _mask(element, width, height)
    except (KeyError, ValueError, OverflowError) as error:
        losses.add("malformed rows", f"{where} ({type(error).__name__}: {one_line(error)})")
        return None
    if element.tag != "tag":
        losses.add("shapes that are neither box, polygon nor mask", where)
    return None


def _polygon(element: Element, width: int, height: int) -> Shape:
    points = np.array([p.split(",") for p in element.attrib["points"].split(";")], np.float64)
    if len(points) < 3 or points.shape[1] != 2 or not np.isfinite(points).all():
        raise ValueError("not three or more points")
    points = np.round(points, DECIMALS)
    return outline_box(points, width, height), mask_from_polygons([points], width, height)


def _mask(element: Element, width: int, height: int) -> Shape:
    left, top, wide, high = (int(float(element.attrib[key])) for key in ("left", "top", "width", "height"))
    counts = np.array(element.attrib["rle"].split(","), np.int64)
    check_mask_area(width, height)
    check_mask_area(wide, high)
    if wide < 1 or high < 1 or not 0 <= counts.min() <= counts.max() <= wide * high or counts.sum() != wide * high:
        raise ValueError("run lengths that do not fill the mask")
    values = np.arange(len(counts)) % 2 == 1
    whole = np.repeat(values, counts).reshape(high, wide)
    inside = whole[max(0, -top) : max(0, height - top), max(0, -left) : max(0, width - left)]
    if inside.size == 0 or not inside.any():
        return [float(left), float(top), float(left + wide), float(top + high)], NO_MASK
    crop, (x, y) = crop_mask(inside, (max(left, 0), max(top, 0)))
    shape = inside.shape if crop is None else crop.shape
    return [float(x), float(y), float(x + shape[1]), float(y + shape[0])], (crop, (x, y))


def _mask_attributes(crop: BoolImage, origin: Sequence[int]) -> dict[str, str]:
    """Run lengths row by row, the first of pixels that are not set, as CVAT writes them."""
    flat = np.concatenate([[False], crop.ravel()])
    edges = np.flatnonzero(np.diff(flat))
    counts = np.diff(np.concatenate([[0], edges, [crop.size]]))
    height, width = crop.shape
    where = {"left": origin[0], "top": origin[1], "width": width, "height": height}
    return {"rle": ", ".join(map(str, counts.tolist()))} | {key: str(value) for key, value in where.items()}
