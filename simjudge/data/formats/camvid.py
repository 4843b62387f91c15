"""CamVid: images, label pictures NAME_L.png in colours, and the table of colours and classes beside.

The table is `label_colors.txt` ("64 128 64 Animal", as published) or `class_dict.csv` ("name,r,g,b", as it is passed
around); label pictures lie in any folder below. Classes are numbered from 1 in the table's order.
Source: Brostow et al., "Semantic object classes in video: a high-definition ground truth database", Pattern Recognition
Letters 2009.
"""

from __future__ import annotations

import csv
import re
from functools import partial
from pathlib import Path

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import MOST_CLASSES, UNLABELLED, ColourTable, FrameSet, decode_label_colours
from simjudge.core.text import one_line, parse_integer, read_text
from simjudge.data.format_support.image_files import (
    Format,
    StreetFiles,
    build_street_set,
    image_stem,
    list_images,
    with_drives,
)

_TABLES = ("label_colors.txt", "class_dict.csv")
_MARK = "_L"
_DRIVE = re.compile(r"([^_]+)_f?\d+")  # As the four published drives name their frames: 0006R0_f00930
_DEEPEST = 3  # Folders below the data set's that are looked into
_UNLABELLED = {"void", "unlabelled", "unlabeled"}


def sniff_camvid(path: Path) -> bool:
    """Tell whether a path is a folder of CamVid: it holds a table of colours."""
    return path.is_dir() and _table(path) is not None


def read_camvid(path: Path) -> FrameSet:
    """Read a folder of CamVid."""
    file = _table(path)
    assert file is not None  # noqa: S101 - the sniffer has looked
    colours, names = read_class_table(file)
    found = [image for folder in _folders(path, _DEEPEST) for image in list_images(folder)]
    labels = {image_stem(image).removesuffix(_MARK): image for image in found if image_stem(image).endswith(_MARK)}
    pictures, losses = {}, Losses()
    for image in found:
        if image_stem(image).endswith(_MARK):
            continue
        if image_stem(image) in pictures:
            losses.add("images with the same name as another", str(image))
        else:
            pictures[image_stem(image)] = image
    if not pictures:
        raise SimjudgeError(f"{path}: holds no image beside its table {file.name}")
    files = StreetFiles(list(pictures), list(pictures.values()), [labels.get(name) for name in pictures])
    frames = build_street_set(path, files, partial(decode_label_colours, table=colours), names, losses)
    return with_drives(frames, _DRIVE)


def read_class_table(path: Path) -> tuple[ColourTable, dict[int, str]]:
    """Read a table of colours and classes."""
    colours: ColourTable = {}
    names: dict[int, str] = {}
    lines = read_text(path).splitlines()
    for number, line in enumerate(lines, 1):
        row = _row(line, is_csv=path.suffix.lower() == ".csv")
        if row is None or (number == 1 and row[1:4] == ["r", "g", "b"]):
            continue
        name, parts = row[0], [parse_integer(part) for part in row[1:4]]
        values = [part for part in parts if part is not None and 0 <= part <= UNLABELLED]
        if not name or len(values) != 3:
            raise SimjudgeError(
                f"{path}:{number}: {one_line(line)} is not a class with red, green and blue; correct it"
            )
        colour = values[0], values[1], values[2]
        if colour in colours:
            raise SimjudgeError(f"{path}:{number}: colour {colour} stands twice; give each class its own")
        if name.casefold() in _UNLABELLED:
            colours[colour] = UNLABELLED
            continue
        if len(names) + 1 >= MOST_CLASSES:
            raise SimjudgeError(f"{path}: more than {MOST_CLASSES - 2} classes; label pictures hold no more")
        colours[colour] = len(names) + 1
        names[len(names) + 1] = name
    if not names:
        raise SimjudgeError(f"{path}: names no class")
    return colours, names


def _row(line: str, *, is_csv: bool) -> list[str] | None:
    """Name, red, green and blue as texts; None for an empty line."""
    if not line.strip():
        return None
    if is_csv:
        try:
            cells = next(csv.reader([line]))
        except csv.Error:
            return [""]
        return [cell.strip() for cell in cells]
    parts = line.split()
    return [" ".join(parts[3:]), *parts[:3]]


def _table(path: Path) -> Path | None:
    return next((path / name for name in _TABLES if (path / name).is_file()), None)


def _folders(path: Path, depth: int) -> list[Path]:
    below = sorted(entry for entry in path.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    return [path, *(subfolder for folder in below for subfolder in (_folders(folder, depth - 1) if depth else []))]


FORMATS = (
    Format(
        "camvid",
        "CamVid",
        "a folder of CamVid (with label_colors.txt or class_dict.csv)",
        lambda source: sniff_camvid(source.path),
        43,
        read=lambda source, _options: read_camvid(source.path),
    ),
)
