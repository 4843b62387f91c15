"""Cityscapes: `leftImg8bit/SPLIT/CITY/NAME_leftImg8bit.png` and label pictures `gtFine/SPLIT/CITY/NAME_gtFine_*.png`.

Of `labelIds` and `color` pictures the first that is there counts; numbers and colours are those of the public scripts.
Source: Cordts et al., "The Cityscapes Dataset for Semantic Urban Scene Understanding", CVPR 2016.

Objects are those of `gtFine_polygons.json`. Polygons are drawn one over the other in the order of the file, as the
public scripts make `instanceIds` pictures of them: what a later polygon covers is not seen, and a polygon holds the
pixels on its line. A box is around what is left.
Source: `json2instanceImg.py` of https://github.com/mcordts/cityscapesScripts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet, LabelPicture, decode_label_colours, decode_label_numbers
from simjudge.core.images import LARGEST_IMAGE
from simjudge.core.object_tables import Objects
from simjudge.core.text import Json, load_json, one_line, parse_integer
from simjudge.data.format_support.annotated_frames import CROWD
from simjudge.data.format_support.image_files import (
    Format,
    StreetFiles,
    build_street_set,
    images_below,
    list_images,
    with_drives,
)
from simjudge.data.format_support.mask_codec import MaskList, crop_mask
from simjudge.data.format_support.raw_rows import FARTHEST_PX, RawRows, build_objects
from simjudge.data.semantic_classes import LABEL_COLOURS, LABEL_NAMES

_GROUP = "group"
_UNDRAWN = "license plate"  # Has the number -1: the scripts leave it out
_INSTANCES = range(24, 34)  # Numbers of the classes that have instances: person to bicycle
_IDS = {name: number for number, name in LABEL_NAMES.items()}
_LEAST_POINTS = 2


def with_instances(frames: FrameSet, files: Mapping[str, Path]) -> FrameSet:
    """Add the objects of polygons to a set."""
    frame, class_id, box, where, masks = [], [], [], [], MaskList()
    regions: list[tuple[int, int, list[int]]] = []
    labelled = np.zeros(len(frames), np.bool_)
    for index, name in enumerate(frames.frame_name):
        file = files.get(name)
        if file is None:
            frames.losses.add("images without a file of polygons", frames.describe_frame(index))
            continue
        content = _polygons(file)
        width, height = frames.size[index].tolist()
        stated = (parse_integer(content.get("imgWidth")), parse_integer(content.get("imgHeight")))
        if stated != (width, height):
            shown = f"{file} says {stated[0]}x{stated[1]}, the image is {width}x{height}"
            frames.losses.add("images of another size than annotated", shown)
            continue
        labelled[index] = True
        groups: list[tuple[int, list[int]]] = []
        seen_ones = _seen(content["objects"], (width, height), str(file), groups, frames.losses)
        for number, seen, corner, place in seen_ones:
            crop, (x, y) = crop_mask(seen, corner)
            rows, columns = seen.shape if crop is None else crop.shape
            frame.append(index)
            class_id.append(float(number))
            box.append([float(x), float(y), float(x + columns), float(y + rows)])
            where.append(place)
            masks.append((crop, (x, y)))
        regions += [(index, *group) for group in groups]
    raw = RawRows(
        np.array(frame, np.int64),
        np.array(class_id),
        np.array(box).reshape(-1, 4),
        where.__getitem__,
        masks=masks.masks(),
    )
    objects = build_objects(raw, frames.size, dict(frames.class_names), frames.losses)
    ignored = Objects.build(
        [at for at, _, _ in regions], [kind for _, kind, _ in regions], [edges for *_, edges in regions]
    )
    return replace(frames, objects=objects, labelled=labelled, ignored=ignored)


def _polygons(file: Path) -> Json:
    content = load_json(file)
    if not isinstance(content, dict) or not isinstance(content.get("objects"), list):
        raise SimjudgeError(f"{file}: no polygons of Cityscapes (a list `objects`); take the file out")
    return content


def _seen(
    objects: list[Any], size: tuple[int, int], file: str, groups: list[tuple[int, list[int]]], losses: Losses
) -> Iterator[tuple[int, np.ndarray[Any, np.dtype[np.bool_]], tuple[int, int], str]]:
    """The instances of a picture: class, visible pixels, column and row of their crop, and where they stand.

    Classes and extents of groups go to `groups`.
    """
    if size[0] * size[1] > LARGEST_IMAGE:
        raise SimjudgeError(f"{file}: an image of {size[0]}x{size[1]} is too large to be drawn")
    canvas = Image.new("I", size)
    draw = ImageDraw.Draw(canvas)
    instances: list[tuple[int, list[int], str]] = []
    for index, given in enumerate(objects):
        place = f"{file}: object {index}"
        label = given.get("label") if isinstance(given, dict) else None
        if label == _UNDRAWN or (isinstance(given, dict) and given.get("deleted")):
            continue
        points = _points(given)
        if not isinstance(label, str) or points is None:
            losses.add("malformed rows", f"{place} ({one_line(label)})")
            continue
        is_group = label not in _IDS and label.endswith(_GROUP)
        number = _IDS.get(label.removesuffix(_GROUP) if is_group else label)
        if number is None:
            losses.add("class ids without a name", f"{place} ({one_line(label)})")
            continue
        if is_group and number in _INSTANCES:
            losses.add(CROWD, f"{place} ({one_line(label)})")
            groups.append((number, _bounds(points, size)))
        is_instance = number in _INSTANCES and not is_group
        draw.polygon([(x, y) for x, y in points], fill=len(instances) + 1 if is_instance else 0)
        if is_instance:
            instances.append((number, _bounds(points, size), place))
    drawn = np.asarray(canvas)
    for at, (number, (x0, y0, x1, y1), place) in enumerate(instances):
        seen = drawn[y0:y1, x0:x1] == at + 1
        if seen.any():
            yield number, seen, (x0, y0), place
        else:
            losses.add("polygons of which no pixel is seen", place)


def _points(given: Any) -> list[tuple[float, float]] | None:
    try:
        points = np.array(given["polygon"], np.float64)
    except (TypeError, ValueError, KeyError, OverflowError):
        return None
    if points.ndim != 2 or points.shape[1] != 2 or len(points) < _LEAST_POINTS:
        return None
    if not (np.abs(points) < FARTHEST_PX).all():
        return None
    return [(x, y) for x, y in points.tolist()]


def _bounds(points: list[tuple[float, float]], size: tuple[int, int]) -> list[int]:
    """Columns and rows that hold all that is drawn of a polygon: x0, y0, x1, y1."""
    array = np.array(points)
    low = np.clip(np.floor(array.min(0)) - 1, 0, size)
    high = np.clip(np.ceil(array.max(0)) + 2, 0, size)
    return [*low.astype(int).tolist(), *high.astype(int).tolist()]


IMAGES = "leftImg8bit"
_LABELS = ("gtFine", "gtCoarse")
_DRIVE = re.compile(r"([^_]+)_\d{6}_\d{6}")  # CITY_SEQUENCE_FRAME; a sequence is a second of a drive through the city
_NUMBERS, _COLOURS = "labelIds", "color"


def sniff_cityscapes(path: Path) -> bool:
    """Tell whether a path is a folder of Cityscapes, or of a data set laid out like it."""
    return path.is_dir() and (path / IMAGES).is_dir()


def read_cityscapes(path: Path) -> FrameSet:
    """Read a folder of Cityscapes; frames are called CITY_SEQUENCE_FRAME."""
    root = path / IMAGES
    pictures = [file for split in _folders(root) for city in _folders(split) for file in list_images(city)]
    if not pictures:
        raise SimjudgeError(f"{path}: {IMAGES} holds no SPLIT/CITY/NAME_{IMAGES}.png")
    names = [file.stem.removesuffix(f"_{IMAGES}") for file in pictures]
    inside = [file.relative_to(root).parent for file in pictures]
    labels = [_label_file(path, folder, name) for folder, name in zip(inside, names, strict=True)]
    files = StreetFiles(names, pictures, labels)
    losses, chosen = Losses(), set(pictures)
    for place, images in images_below(root).items():
        aside = [image for image in images if image not in chosen]
        losses.add("images that lie in no SPLIT/CITY (left aside)", str(place), len(aside))
    frames = with_drives(build_street_set(path, files, _decode, LABEL_NAMES, losses), _DRIVE)
    polygons = {
        name: file for name, folder in zip(names, inside, strict=True) if (file := _polygon_file(path, folder, name))
    }
    return with_instances(frames, polygons) if polygons else frames


def _folders(root: Path) -> list[Path]:
    return sorted(entry for entry in root.iterdir() if entry.is_dir() and not entry.name.startswith("."))


def _label_file(root: Path, inside: Path, name: str) -> Path | None:
    kinds = ((kind, what) for kind in _LABELS for what in (_NUMBERS, _COLOURS))
    files = (root / kind / inside / f"{name}_{kind}_{what}.png" for kind, what in kinds)
    return next((file for file in files if file.is_file()), None)


def _polygon_file(root: Path, inside: Path, name: str) -> Path | None:
    files = (root / kind / inside / f"{name}_{kind}_polygons.json" for kind in _LABELS)
    return next((file for file in files if file.is_file()), None)


def _decode(data: bytes, where: str) -> LabelPicture:
    if where.endswith(f"{_COLOURS}.png"):
        return decode_label_colours(data, where, LABEL_COLOURS)
    return decode_label_numbers(data, where)


FORMATS = (
    Format(
        "cityscapes",
        "Cityscapes",
        "a folder of Cityscapes (leftImg8bit, gtFine)",
        lambda source: sniff_cityscapes(source.path),
        41,
        read=lambda source, _options: read_cityscapes(source.path),
    ),
)
