"""LabelMe: one JSON a picture, with polygons, rectangles, circles and masks; read only.

Points lie on the picture with the edges of pixels at whole numbers, as labelme's canvas shows them; a rectangle from
10 to 20 is ten columns. A mask's two points are its first and its last pixel. Shapes of one label and one group_id are
one thing. Source: labelme's `label_file.py`, `widgets/canvas.py` and `utils/shape.py`, https://github.com/wkentaro/labelme.
"""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.images import DAMAGED_IMAGE, IMAGE_SUFFIXES, check_image_size
from simjudge.core.object_tables import BoolImage
from simjudge.core.text import load_json, one_line, parse_integer
from simjudge.data.format_support.annotated_frames import (
    CROWD,
    FLAGS,
    NO_SHAPE,
    AnnotatedFrame,
    LabelledShape,
    build_annotated_set,
    by_alphabet,
    picture_sizes,
)
from simjudge.data.format_support.image_files import (
    Format,
    Source,
    count_images_aside,
    files_below,
    find_file,
    list_files,
)
from simjudge.data.format_support.mask_codec import NO_MASK, MaskCrop, crop_mask, mask_from_polygons, outline_box

_HEAD_BYTES = 4096
_LEAST_POINTS = 3
_TWO_POINTS = 2
# Labels that labelme's examples and its scripts for VOC and COCO take for no class.
_IGNORED = "__ignore__"
_NO_OBJECTS = (_IGNORED, "_background_")
_UNNAMED = "files that name no picture (imagePath), without one of the same name beside"
_EMBEDDED = "pictures that only the JSON holds (imageData; to be saved beside it)"


def sniff_labelme(source: Source) -> bool:
    """Tell whether a path is of this format."""
    if not source.is_folder:
        return isinstance(source.json, dict) and _is_annotation(source.json)
    first = next((file for pattern in ("*.json", "*/*.json") for file in list_files(source.path, pattern)), None)
    return first is not None and _begins_as_annotation(first)


def _begins_as_annotation(file: Path) -> bool:
    with file.open("rb") as stream:
        head = stream.read(_HEAD_BYTES)
    return b'"shapes"' in head and head.lstrip(b"\xef\xbb\xbf \r\n\t")[:1] == b"{"


def read_labelme(path: Path) -> FrameSet:
    """Read a folder of labelme's files with all folders below it, or one file.

    A frame is called by its JSON file, in a folder below with its path before. Class ids are the places of the labels
    in their alphabetical order, from 0.
    """
    losses = Losses()
    if not path.is_dir():
        return build_annotated_set(path, [_frame(path, losses)], by_alphabet, losses)
    files = [file for file in files_below(path, "*.json") if file.parent == path or _begins_as_annotation(file)]
    frames = [replace(_frame(file, losses), name=file.relative_to(path).with_suffix("").as_posix()) for file in files]
    count_images_aside(path, {frame.picture for frame in frames if frame.picture}, losses)
    return build_annotated_set(path, frames, by_alphabet, losses)


def _is_annotation(content: dict[str, object]) -> bool:
    return isinstance(content.get("shapes"), list) and "imagePath" in content


def _frame(file: Path, losses: Losses) -> AnnotatedFrame:
    content = load_json(file)
    if not isinstance(content, dict) or not _is_annotation(content):
        raise SimjudgeError(f"{file}: no annotation of labelme (shapes, imagePath); take the file out")
    picture = _picture(file, content["imagePath"])
    if picture is None and content.get("imageData"):
        losses.add(_EMBEDDED, str(file))
    elif picture is None and not _names_picture(content["imagePath"]):
        losses.add(_UNNAMED, str(file))
    width, height = (parse_integer(content.get(side)) or 0 for side in ("imageWidth", "imageHeight"))
    size = picture_sizes([picture], [(width, height)], lambda _: str(file), Losses())[0]
    shapes = [] if size is None else _merged(content["shapes"], size, str(file), losses)
    return AnnotatedFrame(file.stem, picture, (width, height), str(file), shapes)


def _picture(file: Path, named: Any) -> Path | None:
    """The picture that a file names; where it names none, that of the same name beside it."""
    if _names_picture(named):
        plain = named.replace("\\", "/")
        names = [plain, plain.rsplit("/", 1)[-1]]
    else:
        names = [file.stem + form for suffix in IMAGE_SUFFIXES for form in (suffix, suffix.upper())]
    return find_file([file.parent], names)


def _names_picture(named: Any) -> bool:
    return isinstance(named, str) and bool(named.strip())


def _merged(given: Sequence[Any], size: tuple[int, int], file: str, losses: Losses) -> list[LabelledShape]:
    """The shapes of a frame; those of one label and group are one."""
    regions: list[LabelledShape] = []
    groups: dict[tuple[str, str], list[LabelledShape]] = {}
    for index, outline in enumerate(given):
        where = f"{file}: shape {index}"
        try:
            shape = _shape(outline, size, where)
        except (SimjudgeError, KeyError, TypeError, ValueError, OverflowError) as error:
            losses.add("malformed rows", f"{where} ({type(error).__name__}: {one_line(error)})")
            continue
        if shape is None:
            losses.add(NO_SHAPE, f"{where} ({one_line(outline.get('shape_type'))})")
            continue
        if shape.name in _NO_OBJECTS:
            if shape.name == _IGNORED:
                regions.append(LabelledShape("", shape.box, where, ignored=True))
            else:
                losses.add(CROWD, f"{where} ({shape.name})")
            continue
        flags = outline.get("flags")
        if isinstance(flags, dict) and any(flags.values()):
            losses.add(FLAGS, where)
        group = outline.get("group_id")
        key = (shape.name, f"shape {index}" if group is None else f"group {one_line(group)}")
        groups.setdefault(key, []).append(shape)
    return [*(_union(shapes, size) for shapes in groups.values()), *regions]


def _shape(given: dict[str, object], size: tuple[int, int], where: str) -> LabelledShape | None:
    """A shape; None for a kind that has neither box nor mask."""
    label, kind = given["label"], given.get("shape_type") or "polygon"
    if not isinstance(label, str) or not label:
        raise ValueError("no label")
    if kind not in ("polygon", "rectangle", "circle", "mask"):
        return None
    points = np.array(given["points"], np.float64)
    if points.ndim != 2 or points.shape[1] != 2 or not np.isfinite(points).all():
        raise ValueError("no points")
    if kind == "polygon":
        if len(points) < _LEAST_POINTS:
            raise ValueError("not three or more points")
        return LabelledShape(label, outline_box(points, *size), where, mask_from_polygons([points], *size))
    if len(points) != _TWO_POINTS:
        # labelme itself writes rectangles of two points, its web version of four.
        if kind == "rectangle" and len(points) == 2 * _TWO_POINTS:
            return LabelledShape(label, _extent(points), where)
        raise ValueError("two points are needed")
    if kind == "rectangle":
        return LabelledShape(label, _extent(points), where)
    if kind == "circle":
        centre, radius = points[0], math.dist(*points.tolist())
        return LabelledShape(label, [*(centre - radius).tolist(), *(centre + radius).tolist()], where)
    return _mask_shape(label, given["mask"], points, size, where)


def _extent(points: FloatArray) -> list[float]:
    return [*points.min(0).tolist(), *points.max(0).tolist()]


def _mask_shape(label: str, data: Any, points: FloatArray, size: tuple[int, int], where: str) -> LabelledShape:
    """A mask: a PNG as base64, and the first and the last pixel that it covers. Some tools write it as the picture."""
    if not isinstance(data, str):
        raise ValueError("no mask")  # noqa: TRY004 - counted like other damage
    pixels = _pixels(base64.b64decode(data, validate=True))
    (left, top), last = (np.floor(corner).astype(int).tolist() for corner in (points.min(0), points.max(0)))
    if pixels.shape != (last[1] - top + 1, last[0] - left + 1):
        if pixels.shape != (size[1], size[0]):
            raise ValueError("a mask of another size than its points")
        left, top = 0, 0
    inside = pixels[max(0, -top) : max(0, size[1] - top), max(0, -left) : max(0, size[0] - left)]
    if not inside.any():
        raise ValueError("a mask without a pixel in the picture")
    crop, origin = crop_mask(inside, (max(left, 0), max(top, 0)))
    return LabelledShape(label, _crop_box(crop, origin), where, (crop, origin))


def _crop_box(crop: BoolImage | None, origin: tuple[int, int]) -> list[float]:
    height, width = (0, 0) if crop is None else crop.shape
    return [float(side) for side in (*origin, origin[0] + width, origin[1] + height)]


def _pixels(data: bytes) -> BoolImage:
    try:
        with Image.open(io.BytesIO(data), formats=("PNG",)) as image:
            check_image_size(image.width, image.height, "the mask")
            return np.asarray(image.convert("L")) > 0
    except DAMAGED_IMAGE as error:
        raise ValueError(f"a damaged PNG ({error})") from error


def _union(shapes: Sequence[LabelledShape], size: tuple[int, int]) -> LabelledShape:
    """One shape of those of a group: with a mask where each of them has one."""
    first = shapes[0]
    if len(shapes) == 1:
        return first
    boxes = np.array([shape.box for shape in shapes])
    box = [*boxes[:, :2].min(0).tolist(), *boxes[:, 2:].max(0).tolist()]
    return LabelledShape(first.name, box, first.where, _joined_mask([shape.mask for shape in shapes], size))


def _joined_mask(masks: Sequence[MaskCrop], size: tuple[int, int]) -> MaskCrop:
    whole = np.zeros((size[1], size[0]), np.bool_)
    for crop, (x, y) in masks:
        if crop is None:
            return NO_MASK
        whole[y : y + crop.shape[0], x : x + crop.shape[1]] |= crop
    return crop_mask(whole)


FORMATS = (
    Format(
        "labelme",
        "LabelMe",
        "a folder of labelme's .json, or one",
        sniff_labelme,
        26,
        read=lambda source, _options: read_labelme(source.path),
    ),
)
