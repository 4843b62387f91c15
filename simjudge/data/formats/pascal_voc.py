"""Pascal VOC: one XML a picture, as labelImg and the VOC development kit write it; boxes only, read only.

Coordinates are those of the VOC2012 development kit (section 4.1): pixels counted from 1, the last one inside the box.
A box from xmin 1 to xmax 10 is therefore the ten columns 0 to 10 here.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.images import FileImages
from simjudge.core.names import name_to_stamp
from simjudge.core.text import load_xml, one_line, parse_integer, parse_number
from simjudge.data.format_support.annotated_frames import FLAGS, MISSING_PICTURE, NO_SHAPE, picture_sizes
from simjudge.data.format_support.image_files import Format, drop_repeated_stems, list_images
from simjudge.data.format_support.raw_rows import RawRows, build_objects, mend_foreign_labels

_LABEL_FOLDERS = ("Annotations", "annotations", "labels", ".")
_IMAGE_FOLDERS = ("JPEGImages", "Images", "images", ".")
_SIDES = ("xmin", "ymin", "xmax", "ymax")
_FLAGS = ("difficult", "truncated", "occluded")
_HEAD_BYTES = 512


def sniff_pascal_voc(path: Path) -> bool:
    """Tell whether a path is of this format: True for a folder with XML files of one <annotation> each in it."""
    files = _label_files(path)
    if not files:
        return False
    with files[0].open("rb") as stream:
        head = stream.read(_HEAD_BYTES)
    return b"<annotation>" in head or b"<annotation " in head


def read_pascal_voc(path: str | Path) -> FrameSet:
    """Read a folder of Pascal VOC.

    The picture of a file is the one of its name, else the one that the file names. A picture without a file is not
    labelled. Class ids are the places of the names in their alphabetical order, from 0.
    """
    path = Path(path)
    losses = Losses()
    files = {file.stem: file for file in _label_files(path)}
    roots = {stem: _annotation(file) for stem, file in files.items()}
    pictures = {picture.stem: picture for picture in drop_repeated_stems(_pictures(path), losses)}
    for stem in sorted(files.keys() - pictures.keys()):
        if (named := _named_picture(roots[stem])) in pictures.keys() - files.keys():
            pictures[stem] = pictures.pop(named)
            continue
        losses.add(MISSING_PICTURE, str(files[stem]))
    stems = sorted(files.keys() | pictures.keys())
    stated = [_size(roots.get(stem)) for stem in stems]
    paths = [pictures.get(stem) for stem in stems]
    sizes = picture_sizes(paths, stated, lambda i: str(files.get(stems[i], stems[i])), losses)
    used = [i for i, size in enumerate(sizes) if size is not None]
    if not used:
        raise SimjudgeError(f"{path}: holds no usable image; an empty set cannot be used{losses.reason}")
    names = [stems[i] for i in used]
    size = np.array([sizes[i] for i in used], np.int64).reshape(-1, 2)
    found = [paths[i] for i in used]
    rows, class_names = _rows([(files[name], roots[name]) if name in files else None for name in names], losses)
    rows = mend_foreign_labels(rows, size, str(path), losses)
    return FrameSet.build(
        path.absolute().name,
        size,
        build_objects(rows, size, class_names, losses),
        frame_name=names,
        stamp=[name_to_stamp(name) for name in names],
        labelled=[name in files for name in names],
        class_names=class_names,
        images=FileImages(found) if any(found) else None,
        losses=losses,
    )


def _label_files(path: Path) -> list[Path]:
    for name in _LABEL_FOLDERS:
        files = sorted(file for file in (path / name).glob("*.xml") if file.is_file() and file.name[0] != ".")
        if files:
            return files
    return []


def _pictures(path: Path) -> list[Path]:
    return next((files for files in (list_images(path / name) for name in _IMAGE_FOLDERS) if files), [])


def _annotation(file: Path) -> Element:
    root = load_xml(file)
    if root.tag != "annotation":
        raise SimjudgeError(f"{file}: not of Pascal VOC (its root is <{one_line(root.tag)}>); take the file out")
    return root


def _named_picture(root: Element) -> str:
    """The name, without its ending, of the picture that a file says it is of."""
    return Path(str(root.findtext("filename", "")).strip().replace("\\", "/")).stem


def _size(root: Element | None) -> tuple[int, int]:
    """Width and height as the file states them; 0 where it does not."""
    if root is None:
        return 0, 0
    width, height = (parse_integer(str(root.findtext(f"size/{side}")).strip()) or 0 for side in ("width", "height"))
    return width, height


def _rows(files: Sequence[tuple[Path, Element] | None], losses: Losses) -> tuple[RawRows, dict[int, str]]:
    frame, box, names, where = [], [], [], []
    for number, label_file in enumerate(files):
        if label_file is None:
            continue
        file, root = label_file
        for index, element in enumerate(root.iterfind("object")):
            place = f"{file}: object {index}"
            name = str(element.findtext("name", "")).strip()
            bounds = element.find("bndbox")
            if bounds is None:
                losses.add(NO_SHAPE, place)
                continue
            sides = [parse_number(str(bounds.findtext(side)).strip()) for side in _SIDES]
            if not name or None in sides:
                losses.add("malformed rows", f"{place} (name {one_line(name)}, {', '.join(map(str, sides))})")
                continue
            x0, y0, x1, y1 = (float(side) for side in sides if side is not None)
            if any(str(element.findtext(flag)).strip() == "1" for flag in _FLAGS):
                losses.add(FLAGS, f"{place} ({one_line(name)})")
            frame.append(number)
            box.append([x0 - 1, y0 - 1, x1, y1])
            names.append(name)
            where.append(place)
    known = sorted(set(names))
    ids = {name: i for i, name in enumerate(known)}
    rows = RawRows(
        np.array(frame, np.int64),
        np.array([ids[name] for name in names], np.float64),
        np.array(box, np.float64).reshape(-1, 4),
        where.__getitem__,
    )
    return rows, dict(enumerate(known))


FORMATS = (
    Format(
        "voc",
        "Pascal VOC",
        "a Pascal VOC folder",
        lambda source: source.is_folder and sniff_pascal_voc(source.path),
        25,
        read=lambda source, _options: read_pascal_voc(source.path),
    ),
)
