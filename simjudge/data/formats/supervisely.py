"""Supervisely's projects, as FSOCO is published: `meta.json`, and `img/` and `ann/` for each of its sets; read only.

A rectangle's last column and row are inside it, so that it is right - left + 1 wide, as in Supervisely's own library
(`supervisely.Rectangle.width`). The format: https://developer.supervisely.com/getting-started/supervisely-annotation-format.
"""

from __future__ import annotations

import base64
import io
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.files import is_file
from simjudge.core.frames import FrameSet
from simjudge.core.images import DAMAGED_IMAGE, LARGEST_IMAGE, FileImages, check_image_size
from simjudge.core.names import name_to_stamp
from simjudge.core.object_tables import BoolImage
from simjudge.core.text import Json, load_json, one_line, parse_integer
from simjudge.data.format_support.annotated_frames import MISSING_PICTURE, NO_SHAPE, picture_sizes
from simjudge.data.format_support.image_files import Format, count_images_aside, files_below, find_file, folders_below
from simjudge.data.format_support.mask_codec import (
    NO_MASK,
    MaskCrop,
    MaskList,
    crop_mask,
    mask_from_polygons,
    outline_box,
)
from simjudge.data.format_support.raw_rows import RawRows, build_objects, mend_foreign_labels

META, LABELS, PICTURES = "meta.json", "ann", "img"
_LEVELS = 3  # So many folders up the classes are looked for: a project, and sets within sets
_CORNERS = 2
_LEAST_POINTS = 3
_BoxAndMask = tuple[list[float], MaskCrop]


def sniff_supervisely(path: Path) -> bool:
    """Tell whether a path is of this format."""
    if _is_set(path):
        return True
    return path.is_dir() and is_file(path / META) and any(map(_is_set, folders_below(path)))


def read_supervisely(path: str | Path) -> FrameSet:
    """Read a project or one of its sets.

    Class ids are the places of the titles in `meta.json`, from 0, or in alphabetical order where there is no such file.
    Tags are not read.
    """
    path = Path(path)
    losses = Losses()
    files = _label_files(path)
    texts = [_annotation(file) for file in files]
    names = _frame_names(files)
    paths = [_picture(file) for file in files]
    for folder in dict.fromkeys(_set_folder(file) for file in files):
        count_images_aside(folder / PICTURES, {picture for picture in paths if picture is not None}, losses)
    for file, picture in zip(files, paths, strict=True):
        if picture is None and any(paths):
            losses.add(MISSING_PICTURE, str(file))
    stated = [_size(text) for text in texts]
    sizes = picture_sizes(paths, stated, lambda i: str(files[i]), losses)
    used = [i for i, size in enumerate(sizes) if size is not None]
    if not used:
        raise SimjudgeError(f"{path}: holds no usable image; an empty set cannot be used{losses.reason}")
    class_names = _class_names(path, texts)
    size = np.array([sizes[i] for i in used], np.int64).reshape(-1, 2)
    rows = _ShapeRows({title: number for number, title in class_names.items()}, losses)
    for frame, i in enumerate(used):
        rows.add_frame(frame, texts[i].get("objects"), size[frame].tolist(), str(files[i]))
    pictures = [paths[i] for i in used]
    frame_names = [names[i] for i in used]
    return FrameSet.build(
        path.absolute().name,
        size,
        build_objects(mend_foreign_labels(rows.raw(), size, str(path), losses), size, class_names, losses),
        frame_name=frame_names,
        stamp=[name_to_stamp(name) for name in frame_names],
        class_names=class_names,
        images=FileImages(pictures) if any(pictures) else None,
        losses=losses,
    )


def _is_set(path: Path) -> bool:
    return (path / LABELS).is_dir() and (path / PICTURES).is_dir()


def _label_files(path: Path) -> list[Path]:
    """The labels of a set, or of all sets of a project; sets may lie in sets."""
    sets = sorted(filter(_is_set, folders_below(path)))
    return [file for folder in sets for file in files_below(folder / LABELS, "*.json")]


def _set_folder(file: Path) -> Path:
    """The set that a file of labels is of."""
    return next(folder for folder in file.parents if folder.name == LABELS and _is_set(folder.parent)).parent


def _annotation(file: Path) -> Json:
    content = load_json(file)
    if not isinstance(content, dict) or not isinstance(content.get("objects", []), list):
        raise SimjudgeError(f"{file}: no annotation of Supervisely (a list `objects`); take the file out")
    return content


def _frame_names(files: Sequence[Path]) -> list[str]:
    """The pictures' names without their endings, the set's in front where two sets have the same."""
    stems = [Path(file.stem).stem for file in files]
    count = Counter(stems)
    names = [
        stem if count[stem] == 1 else f"{_set_folder(file).name}_{stem}"
        for stem, file in zip(stems, files, strict=True)
    ]
    again = Counter(names)
    return [name if again[name] == 1 else f"{name}_{i}" for i, name in enumerate(names)]


def _picture(file: Path) -> Path | None:
    folder = _set_folder(file)
    return find_file([folder / PICTURES / file.parent.relative_to(folder / LABELS)], [file.stem])


def _size(content: Json) -> tuple[int, int]:
    size = content.get("size")
    sides = (parse_integer(size.get(side)) for side in ("width", "height")) if isinstance(size, dict) else (0, 0)
    width, height = (side or 0 for side in sides)
    return width, height


def _class_names(path: Path, texts: Sequence[Json]) -> dict[int, str]:
    candidates = [folder / META for folder in (path, *path.absolute().parents[:_LEVELS])]
    file = next((candidate for candidate in candidates if is_file(candidate)), None)
    content = None if file is None else load_json(file)
    if isinstance(content, dict) and isinstance(content.get("classes"), list):
        titles = [entry.get("title") for entry in content["classes"] if isinstance(entry, dict)]
        known = list(dict.fromkeys(title for title in titles if isinstance(title, str) and title))
        if known:
            return dict(enumerate(known))
    every = [entry.get("classTitle") for text in texts for entry in text.get("objects", []) if isinstance(entry, dict)]
    return dict(enumerate(sorted({title for title in every if isinstance(title, str) and title})))


@dataclass
class _ShapeRows:
    """The shapes of all frames, as they are read."""

    ids: dict[str, int]
    losses: Losses
    frame: list[int] = field(default_factory=list)
    class_id: list[float] = field(default_factory=list)
    box: list[list[float]] = field(default_factory=list)
    where: list[str] = field(default_factory=list)
    masks: MaskList = field(default_factory=MaskList)

    def add_frame(self, frame: int, objects: Any, size: Sequence[int], file: str) -> None:
        """Add the shapes of a frame (size: width and height of the picture, pixels)."""
        for index, raw_shape in enumerate(objects or ()):
            place = f"{file}: object {index}"
            title = raw_shape.get("classTitle") if isinstance(raw_shape, dict) else None
            if not isinstance(title, str) or title not in self.ids:
                self.losses.add("class ids without a name", f"{place} ({one_line(title)})")
                continue
            try:
                shape = _shape(raw_shape, size)
            except (SimjudgeError, KeyError, TypeError, ValueError, OverflowError, zlib.error) as error:
                self.losses.add("malformed rows", f"{place} ({type(error).__name__}: {one_line(error)})")
                continue
            if shape is None:
                self.losses.add(NO_SHAPE, place)
                continue
            self.frame.append(frame)
            self.class_id.append(float(self.ids[title]))
            self.box.append(shape[0])
            self.where.append(place)
            self.masks.append(shape[1])

    def raw(self) -> RawRows:
        """All rows, not yet checked."""
        return RawRows(
            np.array(self.frame, np.int64),
            np.array(self.class_id, np.float64),
            np.array(self.box, np.float64).reshape(-1, 4),
            self.where.__getitem__,
            masks=self.masks.masks(),
        )


def _shape(given: Json, size: Sequence[int]) -> _BoxAndMask | None:
    """Box and mask of an object; None for a kind that has neither."""
    kind = given.get("geometryType")
    if kind == "bitmap":
        return _bitmap(given["bitmap"], size)
    if kind not in ("rectangle", "polygon"):
        return None
    outline = _points(given["points"]["exterior"])
    low, high = outline.min(0), outline.max(0)
    if kind == "rectangle":
        if len(outline) != _CORNERS:
            raise ValueError("two corners are needed")
        return [*low.tolist(), *(high + 1).tolist()], NO_MASK
    if len(outline) < _LEAST_POINTS:
        raise ValueError("not three or more points")
    holes = [_points(hole) for hole in given["points"].get("interior") or ()]
    return outline_box(outline, *size), _without_holes(outline, holes, size)


def _points(given: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    points = np.array(given, np.float64)
    if points.ndim != 2 or points.shape[1] != 2 or not len(points) or not np.isfinite(points).all():
        raise ValueError("no points")
    return points


def _without_holes(outline: Any, holes: Sequence[Any], size: Sequence[int]) -> MaskCrop:
    crop, origin = mask_from_polygons([outline], *size)
    if crop is None or not holes:
        return crop, origin
    inside, corner = mask_from_polygons([hole for hole in holes if len(hole) >= _LEAST_POINTS], *size)
    if inside is None:
        return crop, origin
    whole = np.zeros((size[1], size[0]), np.bool_)
    whole[origin[1] : origin[1] + crop.shape[0], origin[0] : origin[0] + crop.shape[1]] = crop
    whole[corner[1] : corner[1] + inside.shape[0], corner[0] : corner[0] + inside.shape[1]] &= ~inside
    return crop_mask(whole)


def _bitmap(given: Json, size: Sequence[int]) -> _BoxAndMask:
    """A mask: a PNG, deflated, as base64."""
    inflate = zlib.decompressobj()
    data = inflate.decompress(base64.b64decode(given["data"], validate=True), LARGEST_IMAGE)
    image = _set_pixels(data)
    left, top = (int(number) for number in given["origin"])
    inside = image[max(0, -top) : max(0, size[1] - top), max(0, -left) : max(0, size[0] - left)]
    if not inside.any():
        raise ValueError("a mask without a pixel in the picture")
    crop, (x, y) = crop_mask(inside, (max(left, 0), max(top, 0)))
    height, width = inside.shape if crop is None else crop.shape
    return [float(x), float(y), float(x + width), float(y + height)], (crop, (x, y))


def _set_pixels(data: bytes) -> BoolImage:
    """What is opaque in a PNG, or not black where it has no transparency."""
    try:
        with Image.open(io.BytesIO(data), formats=("PNG",)) as image:
            check_image_size(image.width, image.height, "the bitmap")
            image.load()
            clear = image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info
            pixels = np.asarray(image.convert("RGBA"))[..., 3] if clear else np.asarray(image.convert("L"))
    except DAMAGED_IMAGE as error:
        raise ValueError(f"a damaged PNG ({error})") from error
    return pixels > 0


FORMATS = (
    Format(
        "supervisely",
        "Supervisely",
        "a Supervisely project",
        lambda source: source.is_folder and sniff_supervisely(source.path),
        15,
        read=lambda source, _options: read_supervisely(source.path),
    ),
)
