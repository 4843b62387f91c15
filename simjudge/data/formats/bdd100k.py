"""BDD100K, and other labels that Scalabel writes: boxes in JSON, in the old forms and the new; read only.

| form | what a file holds |
| --- | --- |
| new (`det_20`, Scalabel) | a list of frames with `labels`, or an object with `frames` and `config` |
| old, a file a split | the same list, with lanes and areas among the labels |
| old, a file a picture (`labels/100k/SPLIT/NAME.json`) | `name`, and `objects` in its one frame |

The corners x1, y1 and x2, y2 are pixels of the box: it is x2 - x1 + 1 wide. Source: `box2d_to_bbox` in
`scalabel/label/transforms.py`, https://github.com/scalabel/scalabel, which BDD100K's own evaluation uses; the forms are
of https://doc.bdd100k.com/format.html and of `format.md` in https://github.com/ucbdrive/bdd100k.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.text import load_json, one_line, parse_integer, parse_number
from simjudge.data.format_support.annotated_frames import (
    FLAGS,
    NO_SHAPE,
    AnnotatedFrame,
    LabelledShape,
    build_annotated_set,
    known_first,
)
from simjudge.data.format_support.image_files import (
    Format,
    Source,
    files_below,
    image_stem,
    images_below,
    list_files,
    list_images,
)

# In the order of BDD100K's detection benchmark of 2020; other classes follow by their names.
CLASSES = (
    "pedestrian",
    "rider",
    "car",
    "truck",
    "bus",
    "train",
    "motorcycle",
    "bicycle",
    "traffic light",
    "traffic sign",
)
_SIZE = (1280, 720)  # Of BDD100K's pictures, taken where there is neither a picture nor a statement
_LABELS = ("labels/det_20", "labels/det_v2", "labels", "det_20", ".")
_SPLITS = ("train", "val", "test")
_LEVELS = 4  # So many folders up from a file of labels the pictures are looked for
_PICTURE_FOLDERS = (("images/100k",), ("images",), _SPLITS)
_HEAD_BYTES = 4096
_SIDES = ("x1", "y1", "x2", "y2")


def sniff_bdd100k(source: Source) -> bool:
    """Tell whether a path is of this format."""
    if not source.is_folder:
        return _is_labels(source.json)
    first = next(iter(_label_files(source.path)), None)
    if first is None:
        return False
    with first.open("rb") as stream:
        head = stream.read(_HEAD_BYTES)
    named = b'"name"' in head and any(key in head for key in (b'"labels"', b'"objects"'))
    return named and any(key in head for key in (b'"box2d"', b'"poly2d"', b'"timestamp"', b'"videoName"'))


def read_bdd100k(path: Path) -> FrameSet:
    """Read one file of labels, or all files of a folder together."""
    losses = Losses()
    files = _label_files(path) if path.is_dir() else [path]
    found: dict[str, AnnotatedFrame] = {}
    pictures: dict[Path, dict[str, Path]] = {}
    for file in files:
        for frame in _frames(file, pictures, losses):
            if frame.name in found:
                losses.add("images with the same name as another", frame.where)
            else:
                found[frame.name] = frame
    if path.is_dir():
        used = {frame.picture for frame in found.values()}
        aside = sorted({file for known in pictures.values() for file in known.values()} - used)
        losses.add("images that nothing names (left aside)", str(next(iter(aside), "")), len(aside))
    return build_annotated_set(path, list(found.values()), known_first(CLASSES), losses)


def _label_files(root: Path) -> list[Path]:
    """The files of labels of the first folder that holds some, old ones a picture included."""
    for name in _LABELS:
        folder = root / name
        files = list_files(folder, "*.json")
        below = [folder / "100k"] if folder == root else [folder]
        files = files or [file for inner in below for file in files_below(inner, "*.json")]
        if files:
            return files
    return []


def _is_labels(content: Any) -> bool:
    if isinstance(content, dict) and isinstance(content.get("frames"), list):
        first = next(iter(content["frames"]), None)
        if isinstance(content.get("name"), str):
            return isinstance(first, dict) and isinstance(first.get("objects"), list)
        content = content["frames"]
    first = next(iter(content), None) if isinstance(content, list) else None
    if not isinstance(first, dict) or not isinstance(first.get("name"), str):
        return False
    return isinstance(first.get("labels"), list) or bool({"videoName", "attributes"} & first.keys())


def _frames(file: Path, pictures: dict[Path, dict[str, Path]], losses: Losses) -> Iterator[AnnotatedFrame]:
    content = load_json(file)
    if not _is_labels(content):
        raise SimjudgeError(f"{file}: no labels of BDD100K (frames with name and labels); take the file out")
    there = _pictures(file, pictures)
    stated = _size(_field(_field(content, "config"), "imageSize"))
    if isinstance(content, dict) and isinstance(content.get("name"), str):
        rows = [{"name": content["name"], "labels": _old_objects(content["frames"], file, losses)}]
    else:
        rows = content if isinstance(content, list) else content["frames"]
    for index, row in enumerate(rows):
        where = f"{file}: frame {index}"
        name = row.get("name") if isinstance(row, dict) else None
        if not isinstance(name, str) or not name:
            losses.add("malformed frames", f"{where} ({one_line(row)})")
            continue
        stem = image_stem(Path(name.replace("\\", "/")))
        picture = there.get(stem)
        size = _size(row.get("size")) or stated or ((0, 0) if picture else _SIZE)
        shapes = list(_shapes(row.get("labels"), where, losses))
        yield AnnotatedFrame(
            stem, picture, size, f"{where} ({one_line(name)})", shapes, str(row.get("videoName") or "")
        )


def _old_objects(frames: list[Any], file: Path, losses: Losses) -> list[Any]:
    """The objects of the one frame of an old file a picture; those of further frames have no picture of their own."""
    first, *others = [frame.get("objects") if isinstance(frame, dict) else None for frame in frames]
    if others:
        losses.add("further frames of one picture", str(file), len(others))
    return first if isinstance(first, list) else []


def _pictures(file: Path, known: dict[Path, dict[str, Path]]) -> dict[str, Path]:
    """The pictures that may belong to a file of labels, by their names without endings."""
    folder = file.absolute().parent
    if folder not in known:
        bases = [folder, *list(folder.parents)[:_LEVELS]]
        files: dict[str, Path] = {}
        for base, group in product(bases, _PICTURE_FOLDERS):
            # Of a folder that need not be one of pictures alone, nothing below is read.
            found = [] if group[0].startswith("images") else [list_images(base)]
            found += [images for place in group for images in images_below(base / place).values()]
            for picture in (picture for images in found for picture in images):
                files.setdefault(image_stem(picture), picture)
            if files:
                break
        known[folder] = files
    return known[folder]


def _field(content: Any, name: str) -> Any:
    return content.get(name) if isinstance(content, dict) else None


def _size(given: Any) -> tuple[int, int] | None:
    width, height = (parse_integer(_field(given, side)) or 0 for side in ("width", "height"))
    return (width, height) if width and height else None


def _shapes(labels: Any, frame: str, losses: Losses) -> Iterator[LabelledShape]:
    if labels is not None and not isinstance(labels, list):
        losses.add("frames whose objects or predictions are not a list", f"{frame} ({one_line(labels)})")
        return
    for index, label in enumerate(labels or ()):
        where = f"{frame} label {index}"
        name, box = _field(label, "category"), _field(label, "box2d")
        if not isinstance(label, dict) or not isinstance(name, str) or not name:
            losses.add("malformed rows", f"{where} ({one_line(label)})")
            continue
        if not isinstance(box, dict):
            losses.add(NO_SHAPE, f"{where} ({one_line(name)})")
            continue
        x1, y1, x2, y2 = (parse_number(box.get(side)) for side in _SIDES)
        if x1 is None or y1 is None or x2 is None or y2 is None:
            losses.add("malformed rows", f"{where} ({one_line(box)})")
            continue
        if _flagged(label, ("occluded", "truncated")):
            losses.add(FLAGS, f"{where} ({one_line(name)})")
        ignored = _flagged(label, ("crowd", "ignored"))
        yield LabelledShape(name, [x1, y1, x2 + 1, y2 + 1], where, ignored=ignored)


def _flagged(label: Mapping[str, object], names: tuple[str, ...]) -> bool:
    """Whether one of some flags is set: in the attributes, or where old files have it."""
    flags = (_field(label.get("attributes"), name) or label.get(name) for name in names)
    return any(flag is True or flag == 1 or str(flag).lower() == "true" for flag in flags)


FORMATS = (
    Format(
        "bdd100k",
        "BDD100K",
        "labels of BDD100K or Scalabel (.json or their folder)",
        sniff_bdd100k,
        32,
        read=lambda source, _options: read_bdd100k(source.path),
    ),
)
