"""Pascal VOC: one XML a picture, as labelImg and the VOC development kit write it; boxes only, read only.

Coordinates are those of the VOC2012 development kit (section 4.1): pixels counted from 1, the last one inside the box.
A box from xmin 1 to xmax 10 is therefore the ten columns 0 to 10 here. Tools that count edges from 0 are known by a box
that begins there.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.images import FileImages
from simjudge.core.names import name_to_stamp
from simjudge.core.text import load_xml, one_line, parse_integer, parse_number
from simjudge.data.format_support.annotated_frames import FLAGS, MISSING_PICTURE, NO_SHAPE, picture_sizes
from simjudge.data.format_support.image_files import Format, count_images_below, image_stem, images_below, list_images
from simjudge.data.format_support.raw_rows import RawRows, build_objects, mend_foreign_labels

log = logging.getLogger(__name__)

_LABEL_FOLDERS = ("Annotations", "annotations", "labels", ".")
_IMAGE_FOLDERS = ("JPEGImages", "Images", "images", ".")
_SIDES = ("xmin", "ymin", "xmax", "ymax")
_FLAGS = ("difficult", "truncated", "occluded")
_HEAD_BYTES = 512
_Key = tuple[str, ...]  # Folders below that of labels or pictures, and the file's name without its ending


def sniff_pascal_voc(path: Path) -> bool:
    """Tell whether a path is of this format: True for a folder with XML files of one <annotation> each in it."""
    first = next(iter(_label_files(path, Losses()).values()), None)
    if first is None:
        return False
    with first.open("rb") as stream:
        head = stream.read(_HEAD_BYTES)
    return b"<annotation>" in head or b"<annotation " in head


def read_pascal_voc(path: str | Path) -> FrameSet:
    """Read a folder of Pascal VOC.

    The picture of a file is the one of its name, else the one that the file names. A picture without a file is not
    labelled. Folders below those of labels and of pictures go together. Class ids are the places of the names in their
    alphabetical order, from 0.
    """
    path = Path(path)
    losses = Losses()
    files = _label_files(path, losses)
    roots = {key: _annotation(file) for key, file in files.items()}
    pictures = _pictures(path, losses)
    for key in sorted(files.keys() - pictures.keys()):
        if (named := (*key[:-1], _named_picture(roots[key]))) in pictures.keys() - files.keys():
            pictures[key] = pictures.pop(named)
            continue
        losses.add(MISSING_PICTURE, str(files[key]))
    stems = sorted(files.keys() | pictures.keys())
    stated = [_size(roots.get(stem)) for stem in stems]
    paths = [pictures.get(stem) for stem in stems]
    sizes = picture_sizes(paths, stated, lambda i: str(files.get(stems[i], "/".join(stems[i]))), losses)
    used = [i for i, size in enumerate(sizes) if size is not None]
    if not used:
        raise SimjudgeError(f"{path}: holds no usable image; an empty set cannot be used{losses.reason}")
    chosen = [stems[i] for i in used]
    again = Counter(key[-1] for key in chosen)
    names = ["_".join(key) if again[key[-1]] > 1 else key[-1] for key in chosen]
    size = np.array([sizes[i] for i in used], np.int64).reshape(-1, 2)
    found = [paths[i] for i in used]
    rows, class_names = _rows([(files[key], roots[key]) if key in files else None for key in chosen], losses)
    rows = mend_foreign_labels(_counted_from(rows, path), size, str(path), losses)
    return FrameSet.build(
        path.absolute().name,
        size,
        build_objects(rows, size, class_names, losses),
        frame_name=names,
        stamp=[name_to_stamp(name) for name in names],
        labelled=[key in files for key in chosen],
        class_names=class_names,
        images=FileImages(found) if any(found) else None,
        losses=losses,
    )


def _counted_from(rows: RawRows, path: Path) -> RawRows:
    """The boxes where the files count pixels from 1; where one begins at 0, all are edges counted from 0."""
    first = rows.box[:, :2]
    from_0 = int((first == 0).any(1).sum())
    if not from_0:
        return replace(rows, box=rows.box - [1, 1, 0, 0])
    log.warning(
        "%s: %d of %d boxes begin at 0, and Pascal VOC counts pixels from 1: all are taken as edges counted from 0,"
        " xmax - xmin wide; if only these are slips, write 1 for 0",
        path,
        from_0,
        len(first),
    )
    return rows


def _label_files(path: Path, losses: Losses) -> dict[_Key, Path]:
    for folder in (path / name for name in _LABEL_FOLDERS):
        files = folder.glob("*.xml") if folder == path else folder.rglob("*.xml")
        found = _by_key(folder, sorted(file for file in files if file.is_file() and file.name[0] != "."), losses)
        if found:
            return found
    return {}


def _pictures(path: Path, losses: Losses) -> dict[_Key, Path]:
    for folder in (path / name for name in _IMAGE_FOLDERS):
        files = [list_images(folder)] if folder == path else images_below(folder).values()
        found = _by_key(folder, [file for inside in files for file in inside], losses)
        if found:
            if folder == path:
                count_images_below(folder, losses)
            return found
    return {}


def _by_key(folder: Path, files: Sequence[Path], losses: Losses) -> dict[_Key, Path]:
    """The files by the folders below one that they lie in, and their names."""
    found: dict[_Key, Path] = {}
    for file in files:
        key = (*file.parent.relative_to(folder).parts, image_stem(file))
        if found.setdefault(key, file) != file:
            losses.add("images with the same name as another", f"{file} (beside {found[key].name})")
    return found


def _annotation(file: Path) -> Element:
    root = load_xml(file)
    if root.tag != "annotation":
        raise SimjudgeError(f"{file}: not of Pascal VOC (its root is <{one_line(root.tag)}>); take the file out")
    if root.find("object/polygon/pt") is not None and root.find("object/bndbox") is None:
        raise SimjudgeError(
            f"{file}: LabelMe's XML of polygons (CVAT's \"LabelMe 3.0\"), which simjudge does not read;"
            " export Pascal VOC or CVAT for images 1.1"
        )
    return root


def _named_picture(root: Element) -> str:
    """The name, without its ending, of the picture that a file says it is of."""
    return image_stem(Path(str(root.findtext("filename", "")).strip().replace("\\", "/")))


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
            box.append([x0, y0, x1, y1])
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
