"""What lies beside a folder of images and looks like labels of them, in no format that simjudge reads."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from simjudge.core.errors import SimjudgeError
from simjudge.core.text import load_json

_SUFFIXES = (".json", ".txt", ".xml", ".csv")
_MOST_LOOKED_AT = 200
"""Entries of a folder that are looked at."""
_LABEL_KEYS = {"annotations", "labels", "objects", "shapes"}
_NOT_READ = "which simjudge does not read"


def describe_labels_left_aside(folder: Path, images: Sequence[Path]) -> list[str]:
    """Say which files beside images look like their labels.

    Returns:
        A line for each folder of such files, and for each file that labels many images.
    """
    stems = {image.stem for image in images}
    root = folder.absolute().parent if folder.name == "images" else folder
    found = []
    for place in [root, *(each for each in _entries(root) if each.is_dir())]:
        files = [file for file in _entries(place) if file.suffix in _SUFFIXES and file.is_file()]
        alike = [file for file in files if file.stem in stems]
        if alike:
            kind = "DOTA" if place.name.startswith("labelTxt") else "a format"
            found.append(f"{place}: {alike[0].name} and others are named as the images, labels of {kind}, {_NOT_READ}")
        for file in files if place == root else []:
            what = "" if file.suffix != ".json" or file in alike else _named(file)
            found += [f"{file}: {what}, {_NOT_READ}"] if what else []
    return found


def name_labels(content: Any) -> str:
    """Name what the content of a JSON file looks like; "" where it looks like no labels."""
    first = content[0] if isinstance(content, list) and content else content
    if not isinstance(first, dict):
        return ""
    if "data" in first and ("annotations" in first or "completions" in first):
        return "labels of Label Studio (it exports COCO and YOLO, too)"
    return "labels of a format" if _LABEL_KEYS & set(first) else ""


def _entries(folder: Path) -> list[Path]:
    return sorted(islice((each for each in folder.iterdir() if not each.name.startswith(".")), _MOST_LOOKED_AT))


def _named(file: Path) -> str:
    try:
        return name_labels(load_json(file))
    except SimjudgeError:
        return ""
